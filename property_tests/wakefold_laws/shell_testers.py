"""Putting a program on trial as a shell: transcript after transcript, process after process.

It decides when a process is not trusted any more and when a program is given up. What a transcript
expects is its caller's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wakefold_laws import shell_messages as say
from wakefold_laws.piped_shells import PipedShell
from wakefold_laws.scripts import Play, play_owner, play_tools
from wakefold_laws.shell_processes import Breach, ShellProcess
from wakefold_laws.virtual_world import Json, VirtualWorld

ANSWER_SECONDS_MAX: Final = 10.0
"""How long a shell may take for one thing that happens, by default."""

BREACHES_MAX: Final = 5
"""After so many breaches in a row a program is not started again."""


class ShellTester:
    """A program under test: one process for as many transcripts as it stands, then the next."""

    def __init__(self, command: Sequence[str], seconds_max: float = ANSWER_SECONDS_MAX) -> None:
        """The command line, and how long the program may take for one thing that happens."""
        self._command, self._seconds_max = command, seconds_max
        self._process: ShellProcess | None = None
        self._breaches = 0
        self._greeted = False
        self._given_up: str | None = None
        self._said: tuple[str, ...] = ()

    def start(self) -> None:
        """Start the program before any transcript; `ShellError` if it cannot be started."""
        if self._process is None:
            self._process = ShellProcess(self._command)

    def close(self) -> None:
        """Tell the program to end, and see that it does."""
        if self._process is not None:
            self._process.close()

    def run_owner(self, case: Json) -> object:
        """What the program does in an `owner` case; `Breach` if that cannot be told."""
        world = VirtualWorld(case["session"], case["start"], case.get("host", {}))
        return self._run("owner", world, play_owner(world, case))

    def run_tools(self, case: Json) -> object:
        """What the program does in a `tools` case, likewise."""
        world = VirtualWorld(case["session"], 0, {})
        return self._run("tools", world, play_tools(world, case))

    def take_said(self) -> tuple[str, ...]:
        """The last lines of its standard error in this case."""
        said = self._said if self._process is None else self._process.take_said()
        self._said = ()
        return said

    def _run(self, mode: say.Mode, world: VirtualWorld, play: Play) -> object:
        if self._given_up is not None:
            raise Breach(self._given_up)
        try:
            shell = PipedShell(self._open(), self._seconds_max)
            shell.begin(world, mode)
            while True:
                try:
                    next(play)
                except StopIteration as end:
                    self._breaches = 0
                    return end.value
                shell.settle()
        except Breach:
            self._abandon()
            raise

    def _open(self) -> ShellProcess:
        """The process that runs, or a new one, once it speaks our protocol."""
        self.start()
        assert self._process is not None
        if self._greeted:
            self._process.take_said()  # that belongs to the transcripts before
        else:
            try:
                PipedShell(self._process, self._seconds_max).greet()
            except Breach:
                self._given_up = "not played: the shell does not get past 'hello', see the case before."
                raise
            self._greeted = True
        return self._process

    def _abandon(self) -> None:
        """What has broken the protocol once is not trusted again: another process takes over."""
        if self._process is not None:
            self._process.kill()
            self._said = self._process.take_said()
            self._process.close()
        self._process, self._greeted = None, False
        self._breaches += 1
        if self._breaches >= BREACHES_MAX and self._given_up is None:
            self._given_up = f"not played: the shell broke {BREACHES_MAX} transcripts in a row."
