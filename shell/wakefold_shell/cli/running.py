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
from wakefold_shell.cli.options import JsonOption, NowOption, Ownership, choose_clock
from wakefold_shell.cli.waiting import StatusLine, Waits
from wakefold_shell.guarding import NO_GUARD_LINE, Watchman
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.protocols import Clock
from wakefold_shell.runners import Runner
from wakefold_shell.stores.rows import Header
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
    ownership: Ownership,
    limits: Limits,
    target: TargetArgument = None,
    *,
    session: OneSessionOption = None,
    root: RootOption = None,
    deliver: DeliverOption = Deliver.STDOUT,
    once: OnceOption = False,
    now: NowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Own a session, or all below a directory: deliver what is due, until SIGINT or SIGTERM."""
    place = require_one_place(session, root)
    chosen = choose_target(deliver, target or [], limits)
    line, clock = StatusLine(), choose_clock(now)
    waits = Waits(clock, line)
    make_agent = Delivery(chosen, limits, line, as_json=as_json).choose_agent
    live_in = choose_runner(ownership, root, make_agent, clock, line)

    def make_runner(directory: Path) -> Runner:
        return live_in(directory, once=once, on_wait=partial(waits.note, directory))

    body: Runner | Supervisor = make_runner(place)
    if root is not None:
        body = Supervisor(root, make_runner, once=once, tell=line.say)
    anyio.run(_live, body, waits, line)
    # Where a session of many could not be lived in, the others went on.
    raise typer.Exit(1 if once and isinstance(body, Supervisor) and body.failures else 0)


def require_one_place(session: Path | None, root: Path | None) -> Path:
    """The directory that is named; refuses to be told both, or neither."""
    named = session or root
    if named is None or (session is not None and root is not None):
        raise typer.BadParameter("give either --session DIR or --root DIR")
    return named


def choose_runner(
    ownership: Ownership,
    root: Path | None,
    make_agent: Callable[[Path, Header], Agent],
    clock: Clock,
    line: StatusLine,
) -> Callable[..., Runner]:
    """How a directory is lived in, as a command's options say; that there is no guard is told."""
    watchman: Watchman | None = None
    if ownership.no_guard:
        line.print(NO_GUARD_LINE)
    else:
        watchman = Watchman(ownership.config, line.print, fallback=root)
    return partial(
        Runner,
        make_agent=make_agent,
        clock=clock,
        profile=ownership.profile.profile,
        store=ownership.store,
        watchman=watchman,
        checkpoint=not ownership.no_checkpoint,
        protocol=ownership.protocol.number,
        line_bytes_max=ownership.line_bytes_max,
        tell=line.say,
    )


async def _live(body: Runner | Supervisor, waits: Waits, line: StatusLine) -> None:
    """Run until all is done or a signal asks for the end."""
    _raise_file_limit()
    failure: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, body.stop, line)
        tasks.start_soon(waits.keep_showing)
        try:
            await body.run()
        except Exception as error:  # noqa: BLE001 - raised below, outside the group
            failure.append(error)
        tasks.cancel_scope.cancel()
    line.clear()
    if failure:
        raise failure[0]


async def stop_on_signal(stop: Callable[[], None], line: StatusLine) -> None:
    """Ask for the end whenever a signal asks for it."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            line.say(f"stopped by {number.name}.")
            stop()


def _raise_file_limit() -> None:
    """As many open files as the system grants: a session takes three."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
