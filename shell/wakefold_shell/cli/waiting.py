"""What a runner waits for, on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

import anyio

from wakefold import format_instant
from wakefold_shell.cli.output import show_duration
from wakefold_shell.cli.speech import say
from wakefold_shell.protocols import Clock

_QUIET_SECONDS: Final = 10.0  # between two plain lines about many sessions
_COLUMNS: Final = 80  # where a terminal does not know its width


class StatusLine:
    """One line that is written over on a terminal; elsewhere, a line more."""

    def __init__(self) -> None:
        """Whether it is live is decided once, by standard error and `TERM`."""
        self.live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = False
        self.amid_line = False  # where the output of a command has left the cursor

    def show(self, text: str) -> None:
        """Show where things stand."""
        if not self.live:
            say(text)
            return
        self.clear()
        if self.amid_line:
            sys.stderr.write("\n")
            self.amid_line = False
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
        sys.stderr.write(f"wakefold: {text}"[: max(columns - 1, 1)])
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Make room for something else."""
        if self._drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._drawn = False

    def say(self, sentence: str) -> None:
        """One sentence that stays."""
        self.clear()
        say(sentence)

    def print(self, text: str) -> None:
        """One line that stays, as it is."""
        self.clear()
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class Waits:
    """What the sessions wait for, as one line: the earliest instant of all."""

    def __init__(self, clock: Clock, line: StatusLine) -> None:
        """The clock that tells how long, and the line to show it on."""
        self._clock, self._line = clock, line
        self._until_ms: dict[Path, int | None] = {}
        self._shown: str | None = None
        self._quiet_until_seconds = 0.0

    def note(self, directory: Path, until_ms: int | None) -> None:
        """A session has come to rest; plain lines are written only where something has changed."""
        self._until_ms[directory] = until_ms
        key = self._name_earliest()
        if key == self._shown:
            return
        several = len(self._until_ms) > 1
        if several and not self._line.live and time.monotonic() < self._quiet_until_seconds:
            return
        self._quiet_until_seconds = time.monotonic() + _QUIET_SECONDS
        self._shown = key
        self._line.show(self.describe())

    def describe(self) -> str:
        """What is waited for, and how long."""
        until_ms = self._find_earliest()
        left = "" if until_ms is None else f" ({show_duration(until_ms - self._clock.read_ms())})"
        return f"{self._name_earliest()}{left}"

    def _name_earliest(self) -> str:
        sessions = "" if len(self._until_ms) < 2 else f"{len(self._until_ms)} sessions, "  # noqa: PLR2004 - several
        until_ms = self._find_earliest()
        if until_ms is None:
            return f"{sessions}nothing planned; waiting until stopped."
        return f"{sessions}waiting until {format_instant(until_ms)}"

    def _find_earliest(self) -> int | None:
        return min((until for until in self._until_ms.values() if until is not None), default=None)

    async def keep_showing(self) -> None:
        """On a terminal, count down."""
        while self._line.live:
            await anyio.sleep(1)
            if self._shown is not None:
                self._line.show(self.describe())
