"""`wakefold run`: own one session or many, and deliver what is due."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from wakefold_shell.cli.delivering import (
    Deliver,
    DeliverOption,
    Delivery,
    Limits,
    TargetArgument,
    choose_target,
)
from wakefold_shell.cli.option_groups import spread_groups
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
    ProtocolNumber,
    ProtocolOption,
    StoreOption,
    choose_clock,
)
from wakefold_shell.cli.waiting import StatusLine, Waits
from wakefold_shell.guarding import NO_GUARD_LINE, Watchman
from wakefold_shell.runners import Runner
from wakefold_shell.supervisors import Supervisor

OneSessionOption = Annotated[
    Path | None, typer.Option("--session", metavar="DIR", help="The session's directory.")
]
RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="All sessions below a directory, new ones too."),
]
OnceOption = Annotated[
    bool, typer.Option("--once", help="Deliver what is due and end, instead of waiting.")
]


@spread_groups
def run(  # noqa: PLR0913 - one option for each thing to choose
    limits: Limits,
    target: TargetArgument = None,
    *,
    session: OneSessionOption = None,
    root: RootOption = None,
    deliver: DeliverOption = Deliver.STDOUT,
    once: OnceOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    no_guard: NoGuardOption = False,
    protocol: ProtocolOption = ProtocolNumber.TWO,
    no_checkpoint: NoCheckpointOption = False,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Own a session, or all below a directory: deliver what is due, until SIGINT or SIGTERM."""
    if (session is None) == (root is None):
        raise typer.BadParameter("give either --session DIR or --root DIR")
    chosen = choose_target(deliver, target or [], limits)
    line, clock = StatusLine(), choose_clock(now)
    live_in = partial(
        Runner,
        make_agent=Delivery(chosen, limits, line, as_json=as_json).choose_agent,
        clock=clock,
        profile=profile.profile,
        store=store,
        watchman=choose_watchman(config, root, line, no_guard=no_guard),
        once=once,
        checkpoint=not no_checkpoint,
        protocol=protocol.number,
        line_bytes_max=line_bytes_max,
        tell=line.say,
    )
    _own(session, root, live_in, Waits(clock, line), line, once=once)


def _own(
    session: Path | None,
    root: Path | None,
    live_in: Callable[..., Runner],
    waits: Waits,
    line: StatusLine,
    *,
    once: bool,
) -> None:
    """Live in one session or in all; exit 1 where a session of many could not be lived in once."""
    make_runner = partial(_make_runner, live_in, waits)
    body: Runner | Supervisor = make_runner(session or Path())
    if root is not None:
        body = Supervisor(root, make_runner, once=once, tell=line.say)
    anyio.run(_live, body, waits, line)
    raise typer.Exit(1 if once and isinstance(body, Supervisor) and body.failures else 0)


def _make_runner(live_in: Callable[..., Runner], waits: Waits, directory: Path) -> Runner:
    return live_in(directory, on_wait=partial(waits.note, directory))


def choose_watchman(
    config: Path | None, root: Path | None, line: StatusLine, *, no_guard: bool
) -> Watchman | None:
    """The guard of this process; its absence is told."""
    if no_guard:
        line.print(NO_GUARD_LINE)
        return None
    return Watchman(config, line.print, fallback=root)


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


def _raise_file_limit() -> None:
    """As many open files as the system grants: a session takes three."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
