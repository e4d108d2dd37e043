"""The released JavaScript package, installed from npm outside the repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

INTERPLAY: Final = Path(__file__).parent / "interplay"
"""What is copied to where the package is installed: `package.json` names it and what it imports."""

_FLAGS: Final = (
    "--legacy-peer-deps --no-package-lock --no-audit --no-fund --ignore-scripts --prefer-offline"
)


def install_package(directory: Path) -> str | None:
    """Install the package into a directory, by npm; why not in one sentence, where that fails."""
    shutil.copytree(INTERPLAY, directory, dirs_exist_ok=True)
    command = [shutil.which("npm") or "npm", "install", *_FLAGS.split()]
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=240, check=False
        )
        reason = (done.stderr.strip() or f"exit status {done.returncode}") if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    return f"npm could not install the released JavaScript package: {reason}" if reason else None
