"""An agent that is a command, started anew for each input."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Final

import anyio
import anyio.lowlevel
from anyio.abc import Process

from wakefold.conversations import Input
from wakefold.events import Json
from wakefold.instants import format_instant
from wakefold.json_text import format_json
from wakefold_shell.errors import ShellError, explain_os_error
from wakefold_shell.hosts.inboxes import Answer
from wakefold_shell.hosts.streams import list_occurrences
from wakefold_shell.processes import end_process, start_process

ANSWER_BYTES_MAX: Final = 64 * 1024
"""How much of a command's output the log keeps as the agent's answer; the rest is passed on only."""

_PIPE_SECONDS: Final = 1.0  # for the rest of the output, once the command itself has ended
_VARIABLE_CHARACTERS_MAX: Final = 96 * 1024  # a system refuses a longer variable
_SINGLE: Final = ("WAKEFOLD_SCHEDULE_ID", "WAKEFOLD_OCCURRENCE_AT")
_CUT: Final = "\n[... cut]"


class CommandAgent:
    """Runs a command for each input: the message on its standard input, no shell in between.

    Its environment names the session (`WAKEFOLD_SESSION_ID`, `WAKEFOLD_SESSION`: the directory) and
    what is delivered: `WAKEFOLD_OCCURRENCES`, JSON `[{id, occurrenceAt}]`, and for a single reminder
    `WAKEFOLD_SCHEDULE_ID` and `WAKEFOLD_OCCURRENCE_AT`. Its output is the agent's answer, its exit
    status is kept in the log. The turn has begun when the command has been started, the message being
    whole in its input by then. It is ended, with all that it started, after the time limit.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        seconds_max: float,
        on_output: Callable[[bytes], None] = lambda _: None,
        on_end: Callable[[Input, Json], None] = lambda *_: None,
    ) -> None:
        """The argument vector, what names the session, the time limit, and who is told of what."""
        self._command, self._environment = list(command), dict(environment)
        self._seconds_max = seconds_max
        self._tell_output, self._tell_end = on_output, on_end

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """Run the command; `ShellError` if it cannot be started."""
        with TemporaryFile() as message:
            message.write(given.text.encode("utf-8", "surrogatepass"))
            message.seek(0)
            try:
                process = await self._start(given, message)
            except OSError as error:
                raise ShellError(
                    f"the command {self._command[0]!r} cannot be started ({explain_os_error(error)}); "
                    "the message stays in the inbox, mend the command and run again."
                ) from error
        try:
            await anyio.lowlevel.checkpoint()  # cancelled meanwhile: no turn begins
            begin()
            said, detail = await self._attend(process)
        finally:
            await end_process(process)
        failed = detail.get("exitStatus") != 0
        self._tell_end(given, detail)
        return Answer(said or None, "failed" if failed else "completed", detail)

    async def _start(self, given: Input, message: IO[bytes]) -> Process:
        inherited = {name: value for name, value in os.environ.items() if name not in _SINGLE}
        environment = {**inherited, **self._environment, **_name_occurrences(given)}
        return await start_process(
            self._command, message, stdout=subprocess.PIPE, environment=environment
        )

    async def _attend(self, process: Process) -> tuple[str, Json]:
        """What the command says, and how it ends: by itself, or by the time limit."""
        said = bytearray()

        async def listen() -> None:
            assert process.stdout is not None  # noqa: S101 - asked for above
            async for chunk in process.stdout:
                self._tell_output(chunk)
                said.extend(chunk[: ANSWER_BYTES_MAX + 1 - len(said)])
            heard.set()

        heard = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            with anyio.move_on_after(self._seconds_max) as limit:
                await process.wait()
                with anyio.move_on_after(_PIPE_SECONDS):  # something it left behind may hold the pipe
                    await heard.wait()
            tasks.cancel_scope.cancel()
        text = said[:ANSWER_BYTES_MAX].decode("utf-8", "replace")
        if len(said) > ANSWER_BYTES_MAX:
            text += _CUT
        late = limit.cancelled_caught and process.returncode is None
        return text, {"secondsMax": self._seconds_max} if late else {"exitStatus": process.returncode}


def _name_occurrences(given: Input) -> dict[str, str]:
    named = {"WAKEFOLD_SOURCE": "reminder" if given.occurrences else "person"}
    occurrences = format_json(list_occurrences(given))
    if len(occurrences) <= _VARIABLE_CHARACTERS_MAX:  # the message itself has them all
        named["WAKEFOLD_OCCURRENCES"] = occurrences
    if len(given.occurrences) != 1:
        return named
    (schedule_id, occurrence_ms), *_ = given.occurrences
    single = {"WAKEFOLD_OCCURRENCE_AT": format_instant(occurrence_ms)}
    with suppress(UnicodeEncodeError):  # an id may hold what no environment can: JSON has it
        schedule_id.encode("utf-8")
        if "\0" not in schedule_id:
            single["WAKEFOLD_SCHEDULE_ID"] = schedule_id
    return {**named, **single}
