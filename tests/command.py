"""The real executable, for tests."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from contextlib import suppress
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


def on_terminal(kind: str, columns: int, *arguments: str | Path, **environment: str) -> tuple[str, int]:
    """What a command shows on a terminal of a width, and how long its longest line is."""
    shown = show_raw(kind, columns, *arguments, **{"NO_COLOR": "1", **environment})
    rows = re.sub(r"\x1b\[[0-9;]*m", "", shown).split("\n")
    return "\n".join(rows), max(map(len, rows))


def show_raw(kind: str, columns: int, *arguments: str | Path, **environment: str) -> str:
    """All that a command sends to a terminal of a width; its locale is one of UTF-8 by default."""
    unset = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "LC_ALL", "LANG", "PYTHONIOENCODING"}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    shown = b""
    runner = subprocess.Popen(
        [EXECUTABLE, *map(str, arguments)],
        stdout=follower,
        stderr=follower,
        env={**inherited, "TERM": kind, "LANG": "C.UTF-8", **environment},
    )
    os.close(follower)
    with suppress(OSError):  # the terminal is gone once the command has ended
        while chunk := os.read(leader, 65_536):
            shown += chunk
    os.close(leader)
    runner.wait()
    return shown.decode().replace("\r", "")
