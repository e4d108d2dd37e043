"""The real executable, for tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

EXECUTABLE = shutil.which("wakefold", path=str(Path(sys.executable).parent)) or "wakefold"


def wakefold(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, with a pipe for each stream."""
    return subprocess.run(
        [EXECUTABLE, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said on standard error, without the guard's lines."""
    lines = done.stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("schedule-guard ["))


def wakefold_json(*arguments: str | Path) -> Any:  # noqa: ANN401 - parsed JSON
    """The JSON document that a command prints; it must end well and say nothing else."""
    done = wakefold(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
