"""An agent that is a command, started anew for each input."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
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
from wakefold_shell.hosts.inboxes import Answer, Hearing
from wakefold_shell.hosts.streams import list_occurrences
from wakefold_shell.processes import end_process, start_process

#: How much a command may write by default before it is ended.
#:
#: :shape: an integer
#: :units: bytes
#: :errors: none
#: :source: ours, docs/running.md
OUTPUT_BYTES_MAX: Final = 16 * 1024 * 1024

#: What a command inherits of this process's environment, beside `LC_*`: no secret is among it.
#:
#: :shape: a set of names
#: :units: none
#: :errors: none
#: :source: ours, docs/running.md
INHERITED: Final = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"}
    | {"WAKEFOLD_LINE_BYTES_MAX", "WAKEFOLD_NO_CHECKPOINT"}  # so that both read a session alike
)

_PIPE_SECONDS: Final = 1.0  # for the rest of the output, once the command itself has ended
_VARIABLE_CHARACTERS_MAX: Final = 96 * 1024  # a system refuses a longer variable


class CommandAgent:
    """Runs a command for each input: the message on its standard input, no shell in between.

    Of this process's environment it inherits what `INHERITED` lists and what is passed by name. The
    rest names the session (`WAKEFOLD_SESSION_ID`, `WAKEFOLD_SESSION`: the directory) and what is
    delivered: `WAKEFOLD_OCCURRENCES`, JSON `[{id, occurrenceAt}]`, and for a single reminder
    `WAKEFOLD_SCHEDULE_ID` and `WAKEFOLD_OCCURRENCE_AT`. Its output is the agent's answer, its exit
    status and its duration are kept in the log. The turn has begun when the command has been started,
    the message being whole in its input by then. It is ended, with all that it started, after the time
    limit, and once it has written more than the output limit.

    :shape: the answer's `detail` is `{exitStatus}`, or which limit ended the command: `{secondsMax}` or
        `{outputBytesMax}`
    :units: seconds and bytes for the limits, milliseconds for the duration
    :errors: `ShellError` where the command cannot be started, before the turn begins; another exit
        status than 0, or a limit, is a failed turn
    :source: ours, docs/running.md
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        seconds_max: float,
        on_output: Callable[[bytes], None] = lambda _: None,
        on_end: Callable[[Input, Answer], None] = lambda *_: None,
        *,
        output_bytes_max: int = OUTPUT_BYTES_MAX,
        pass_env: Collection[str] = (),
    ) -> None:
        """The argument vector, what names the session, limits, listeners, and what else to inherit."""
        self._command, self._environment = list(command), dict(environment)
        self._passed = INHERITED.union(pass_env)
        self._seconds_max, self._output_bytes_max = seconds_max, output_bytes_max
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
            start_seconds = anyio.current_time()
            said, detail = await self._attend(process)
            duration_ms = round((anyio.current_time() - start_seconds) * 1000)
        finally:
            await end_process(process)
        failed = detail.get("exitStatus") != 0
        answer = Answer(said, "failed" if failed else "completed", detail, duration_ms)
        self._tell_end(given, answer)
        return answer

    async def _start(self, given: Input, message: IO[bytes]) -> Process:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in self._passed or name.startswith("LC_")
        }
        environment = {**inherited, **self._environment, **_name_occurrences(given)}
        return await start_process(
            self._command, message, stdout=subprocess.PIPE, environment=environment
        )

    async def _attend(self, process: Process) -> tuple[str | None, Json]:
        """What the command says, and how it ends: by itself, or by a limit."""
        hearing, heard = Hearing(), anyio.Event()

        async def listen(limit: anyio.CancelScope) -> None:
            assert process.stdout is not None  # noqa: S101 - asked for above
            async for chunk in process.stdout:
                left = self._output_bytes_max - hearing.size_bytes
                hearing.hear(chunk)
                self._tell_output(chunk[:left])
                if len(chunk) > left:
                    limit.cancel()
                    return
            heard.set()

        async with anyio.create_task_group() as tasks:
            with anyio.move_on_after(self._seconds_max) as limit:
                tasks.start_soon(listen, limit)
                await process.wait()
                with anyio.move_on_after(_PIPE_SECONDS):  # something it left behind may hold the pipe
                    await heard.wait()
            tasks.cancel_scope.cancel()
        if hearing.size_bytes > self._output_bytes_max:
            return hearing.text, {"outputBytesMax": self._output_bytes_max}
        late = limit.cancelled_caught and process.returncode is None
        ended: Json = {"secondsMax": self._seconds_max}
        return hearing.text, ended if late else {"exitStatus": process.returncode}


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
