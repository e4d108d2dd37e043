"""The guard's surroundings: the limits of each session, and the owner who is told of a stop."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import anyio
import anyio.lowlevel

from wakefold.guard_config import GuardConfig
from wakefold.guard_reports import (
    format_line,
    format_session_line,
    format_stop_line,
    list_report,
    list_startup_lines,
)
from wakefold.reaping import Reaped
from wakefold_shell.configurations import find_config
from wakefold_shell.errors import explain_os_error
from wakefold_shell.processes import end_process, start_process

NOTIFY_SECONDS_MAX: Final = 10.0
"""How long a `notifyCmd` may take."""


NO_GUARD_LINE: Final = (
    "schedule-guard [startup]: OFF (--no-guard): nothing limits how often this agent wakes itself"
)
"""What is told, loudly, where the guard is switched off."""


class Watchman:
    """The guard of a process: its limits, session by session, and its voice.

    :shape: `tell` hears whole lines; limits are a `GuardConfig`
    :units: `notifyCmd` has ten seconds
    :errors: `ConfigError` from `find_limits`; whatever goes wrong with `notifyCmd` is told in a line
    :source: spec section 12; ours, docs/guard.md
    """

    def __init__(
        self, named: Path | None, tell: Callable[[str], None], fallback: Path | None = None
    ) -> None:
        """The file named for all sessions, if any; else each has its own, or that of the fallback."""
        self._named, self._tell, self._fallback = named, tell, fallback
        self._total = 0
        self._told: set[GuardConfig] = set()

    def find_limits(self, directory: Path) -> GuardConfig:
        """The limits of the session in a directory, looked up anew; `ConfigError` for a bad file."""
        places = (directory,) if self._fallback is None else (directory, self._fallback)
        return find_config(self._named, *places)

    def greet(self, session_id: str, limits: GuardConfig) -> None:
        """Tell that a session is under guard, and under which limits, where those are new."""
        if limits not in self._told:
            self._told.add(limits)
            for line in list_startup_lines(limits):
                self._tell(line)
        self._total += 1
        self._tell(format_session_line(session_id, self._total))

    def tell_inert(self, session_id: str) -> None:
        """Tell that a session has no schedule tools, so that there is nothing to guard."""
        self._tell(format_line(session_id, "inert: no schedule tools in this session"))

    async def tell_stop(self, session_id: str, limits: GuardConfig, reaped: Reaped) -> None:
        """Tell of a stop, once in the log of the process and once to the owner; nothing is raised."""
        if reaped.stop is None:
            return
        report = list_report(reaped.stop, limits, reaped.now_ms)
        self._tell(format_stop_line(session_id, report))

        def complain(text: str) -> None:
            self._tell(format_line(session_id, text))

        if not reaped.confirmed:
            complain("the store does not confirm the deletes; they may have to be made again")
        await notify_owner(limits, report, complain)


async def notify_owner(config: GuardConfig, report: Sequence[str], tell: Callable[[str], None]) -> None:
    """Tell the owner of a stop by `notifyCmd`, once. Whatever goes wrong is told in a line.

    The report is the last argument, or, with `notifyVia = "stdin"`, stands on standard input. There is
    no shell, the output is discarded, and after ten seconds the command is ended.
    """
    if config.notify_cmd is None:
        return
    text = "\n".join(report)
    with TemporaryFile() as message:
        command = list(config.notify_cmd)
        if config.notify_via == "stdin":
            message.write(text.encode("utf-8", "surrogatepass"))
            message.seek(0)
        else:
            command.append(text)
        try:
            process = await start_process(
                command, message, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except (OSError, ValueError) as error:
            why = explain_os_error(error) if isinstance(error, OSError) else str(error)
            tell(f"notifyCmd cannot be started ({why}); the stop stands")
            return
    ended = None
    try:
        await anyio.lowlevel.checkpoint()
        with anyio.move_on_after(NOTIFY_SECONDS_MAX):
            await process.wait()
        ended = process.returncode
    finally:
        await end_process(process)
    if ended is None:
        tell(f"notifyCmd was ended after {NOTIFY_SECONDS_MAX:.0f} s; the stop stands")
    elif ended != 0:
        tell(f"notifyCmd failed with exit status {ended}; the stop stands")
