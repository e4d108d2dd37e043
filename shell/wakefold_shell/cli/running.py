"""`wakefold run`: own one session or many, and give what is due to standard output or to a command."""

from __future__ import annotations

import resource
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from wakefold.conversations import Input
from wakefold.deliveries import describe_end
from wakefold.events import Json
from wakefold.json_text import format_json
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    ConfigOption,
    JsonOption,
    LineBytesOption,
    NoCheckpointOption,
    NoGuardOption,
    NowOption,
    ProfileName,
    ProfileOption,
    StoreOption,
    choose_clock,
)
from wakefold_shell.cli.output import show_text
from wakefold_shell.cli.speech import print_line
from wakefold_shell.cli.waiting import StatusLine, Waits
from wakefold_shell.guarding import NO_GUARD_LINE, Watchman
from wakefold_shell.hosts.commands import CommandAgent
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.hosts.streams import StreamAgent, list_occurrences
from wakefold_shell.runners import Runner
from wakefold_shell.stores.rows import Header
from wakefold_shell.supervisors import Supervisor


class Deliver(StrEnum):
    """Who gets the messages."""

    STDOUT = "stdout"
    EXEC = "exec"


CommandArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND ...]", help="With --deliver exec: what to run, no shell."),
]
OneSessionOption = Annotated[
    Path | None, typer.Option("--session", metavar="DIR", help="The session's directory.")
]
RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="All sessions below a directory, new ones too."),
]
DeliverOption = Annotated[
    Deliver,
    typer.Option(
        "--deliver",
        help="stdout: each reminder's frame. exec: a command per message, on its standard input.",
    ),
]
TimeLimitOption = Annotated[
    float,
    typer.Option("--time-limit", metavar="SECONDS", min=0.1, help="End a command after it."),
]
OnceOption = Annotated[
    bool, typer.Option("--once", help="Deliver what is due and end, instead of waiting.")
]


def run(  # noqa: PLR0913 - one option for each thing to choose
    command: CommandArgument = None,
    *,
    session: OneSessionOption = None,
    root: RootOption = None,
    deliver: DeliverOption = Deliver.STDOUT,
    time_limit: TimeLimitOption = 600.0,
    once: OnceOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    no_guard: NoGuardOption = False,
    no_checkpoint: NoCheckpointOption = False,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Own a session, or all below a directory: deliver what is due, until SIGINT or SIGTERM."""
    _check(session, root, deliver, command)
    line, clock = StatusLine(), choose_clock(now)
    waits = Waits(clock, line)
    live_in = partial(
        Runner,
        make_agent=_Delivery(command or [], time_limit, line, as_json=as_json).choose_agent,
        clock=clock,
        profile=profile.profile,
        store=store,
        watchman=_choose_watchman(config, root, line, no_guard=no_guard),
        once=once,
        checkpoint=not no_checkpoint,
        line_bytes_max=line_bytes_max,
        tell=line.say,
    )

    make_runner = partial(_make_runner, live_in, waits)
    body: Runner | Supervisor = make_runner(session or Path())
    if root is not None:
        body = Supervisor(root, make_runner, once=once, tell=line.say)
    anyio.run(_live, body, waits, line)
    raise typer.Exit(1 if once and isinstance(body, Supervisor) and body.failures else 0)


def _make_runner(live_in: Callable[..., Runner], waits: Waits, directory: Path) -> Runner:
    return live_in(directory, on_wait=partial(waits.note, directory))


def _choose_watchman(
    config: Path | None, root: Path | None, line: StatusLine, *, no_guard: bool
) -> Watchman | None:
    if no_guard:
        line.print(NO_GUARD_LINE)
        return None
    return Watchman(config, line.print, fallback=root)


def _check(
    session: Path | None, root: Path | None, deliver: Deliver, command: list[str] | None
) -> None:
    """Refuse options that do not go together, and a command that is not there."""
    if (session is None) == (root is None):
        raise typer.BadParameter("give either --session DIR or --root DIR")
    if (deliver is Deliver.EXEC) != bool(command):
        raise typer.BadParameter("--deliver exec and -- COMMAND go together")
    if command and shutil.which(command[0]) is None:
        raise typer.BadParameter(f"the command {command[0]!r} is not found or cannot be executed")


async def _live(body: Runner | Supervisor, waits: Waits, line: StatusLine) -> None:
    """Run until all is done or a signal asks for the end."""
    _raise_file_limit()
    failure: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, body, line)
        tasks.start_soon(waits.keep_showing)
        try:
            await body.run()
        except Exception as error:  # noqa: BLE001 - raised below, outside the group
            failure.append(error)
        tasks.cancel_scope.cancel()
    line.clear()
    if failure:
        raise failure[0]


async def _stop_on_signal(body: Runner | Supervisor, line: StatusLine) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            line.say(f"stopped by {number.name}.")
            body.stop()


class _Delivery:
    """How messages are given away, and what is shown of it."""

    def __init__(
        self, command: list[str], seconds_max: float, line: StatusLine, *, as_json: bool
    ) -> None:
        self._command, self._seconds_max = command, seconds_max
        self._line, self._as_json = line, as_json

    def choose_agent(self, directory: Path, header: Header) -> Agent:
        """The agent of one session."""
        if not self._command:
            return StreamAgent(sys.stdout, partial(self._render, header))
        named = {"WAKEFOLD_SESSION": str(directory.absolute()), "WAKEFOLD_SESSION_ID": header.id}
        environment = {name: value for name, value in named.items() if "\0" not in value}
        return CommandAgent(
            self._command,
            environment,
            self._seconds_max,
            self._pass_on,
            partial(self._tell_end, header),
        )

    def _render(self, header: Header, given: Input) -> str:
        self._line.clear()
        return self._format(header, given, {}) if self._as_json else given.text

    def _pass_on(self, chunk: bytes) -> None:
        if not self._as_json:
            self._line.clear()
            with suppress(BrokenPipeError):  # the answer is in the log, whoever reads along
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
            self._line.amid_line = sys.stdout.isatty() and not chunk.endswith(b"\n")

    def _tell_end(self, header: Header, given: Input, detail: Json) -> None:
        if self._as_json:
            print_line(self._format(header, given, detail))
            sys.stdout.flush()
        if detail.get("exitStatus") != 0:
            self._line.say(f"{show_text(header.id)}: the command {describe_end(detail)}.")

    @staticmethod
    def _format(header: Header, given: Input, detail: Json) -> str:
        named = {"session": header.id, "message": given.text, "occurrences": list_occurrences(given)}
        return format_json({**named, **detail})


def _raise_file_limit() -> None:
    """As many open files as the system grants: a session takes three."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
