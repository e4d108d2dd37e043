"""Packages from npm, the released JavaScript one first of all, installed outside the repository."""

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


def install_package(directory: Path, source: Path = INTERPLAY) -> str | None:
    """Install a package into a directory, by npm; why not in one sentence, where that fails.

    `source` is copied there first: its `package.json` names what is installed.
    """
    shutil.copytree(source, directory, dirs_exist_ok=True)
    return install_from_npm(directory, "the released JavaScript package")


def install_from_npm(directory: Path, what: str, *packages: str) -> str | None:
    """Install packages, by default those that the directory names; why not, where that fails."""
    manifest = directory / "package.json"
    if not manifest.exists():
        manifest.write_text('{"private": true}')
    command = [shutil.which("npm") or "npm", "install", *_FLAGS.split(), *packages]
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=240, check=False
        )
        reason = (done.stderr.strip() or f"exit status {done.returncode}") if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    return f"npm could not install {what}: {reason}" if reason else None
