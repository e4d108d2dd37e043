"""Reaching a session for one thing: under its lock, or through the runner that lives in it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from msgspec import Struct

from wakefold import SEED, Profile
from wakefold.conversations import draft_change
from wakefold.events import Json
from wakefold.guard_config import GuardConfig
from wakefold.rejections import error_value
from wakefold.retargets import Move, list_moves, make_move
from wakefold.tools import ToolName, answer_value, refuse_version_2
from wakefold_shell.cli.fleet_ways import FleetWay, call_in_fleet, refuse_files, say_in_fleet
from wakefold_shell.cli.options import Address, Means, choose_clock
from wakefold_shell.cli.speech import say
from wakefold_shell.configurations import find_config
from wakefold_shell.errors import ShellError, UnconfirmedError
from wakefold_shell.hosts.absent import AbsentHost
from wakefold_shell.owner import Session
from wakefold_shell.runners import explain_warning
from wakefold_shell.sockets import ask
from wakefold_shell.stores.checkpoints import CheckpointKeeper, Reading
from wakefold_shell.stores.journal_store import OwnedError, choose_store, open_store
from wakefold_shell.stores.journals import StoreKind

_PATIENCE_SECONDS: Final = 5.0
"""How long an owner without an open door is waited for: it is about to open it, or to end."""

_PAUSE_SECONDS: Final = 0.02


class Way(Struct, frozen=True):
    """How a session is reached: `now_ms` fixes the clock, `limits` are the guard's, if it is on.

    Both hold only where no runner lives, as does whether a `checkpoint` is used; a runner has its own.
    """

    directory: Path
    line_bytes_max: int
    store: StoreKind | None = None
    profile: Profile = SEED
    now_ms: int | None = None
    limits: GuardConfig | None = None
    checkpoint: bool = True
    protocol: Literal[1, 2] = 2


def find_way(session: Path, means: Means) -> Way:
    """The way to a session that a command's options describe."""
    limits = None if means.no_guard else find_config(means.config, session)
    return Way(
        session,
        means.line_bytes_max,
        means.store,
        means.profile.profile,
        means.now,
        limits,
        not means.no_checkpoint,
        means.protocol.number,
    )


def find_any_way(session: str, address: Address) -> Way | FleetWay:
    """The same for a session that may lie in a fleet, where its name is its id."""
    if address.fleet is None:
        return find_way(Path(session), address)
    refuse_files(store=address.store, now_ms=address.now)
    limits = None if address.no_guard else find_config(address.config)
    profile, protocol = address.profile.profile, address.protocol.number
    return FleetWay(address.fleet, session, profile, limits, protocol)


def call_tool(
    way: Way | FleetWay, tool: ToolName, arguments: dict[str, object]
) -> tuple[Any, str | None]:
    """A tool's value, and the zone of the session; `ShellError` where there is no value."""
    if isinstance(way, FleetWay):
        return call_in_fleet(way, tool, arguments)

    async def call(session: Session, _: AbsentHost) -> object:
        return answer_value(await session.call(tool, arguments))

    beyond = refuse_version_2(tool, arguments) if way.protocol == 1 else None
    if beyond is not None:  # whatever a runner that lives there would write
        return error_value(beyond), None
    request: Json = {"tool": tool, "arguments": arguments}
    return _reach(way, call, request)


def say_word(way: Way | FleetWay, text: str, client_time_zone: str | None) -> dict[str, Any]:
    """Put a person's word into the session: its id, and whether it is queued for a live host."""
    if isinstance(way, FleetWay):
        return say_in_fleet(way, text, client_time_zone)

    async def tell(session: Session, host: AbsentHost) -> object:
        return {"id": await host.say(session, text, client_time_zone), "queued": False}

    request: Json = {"say": text, "clientTimeZone": client_time_zone}
    value, _ = _reach(way, tell, request)
    said: dict[str, Any] = value
    return said


def write_moves(way: Way, schedule_id: str | None, *, write: bool) -> Sequence[Move]:
    """The targets that this tz database moves, of one reminder or of all; written if that is wanted.

    `OwnedError` where somebody lives in the session, `ShellError` under protocol 1.
    """
    if write and way.protocol == 1:
        raise ShellError("a moved target is version 2 of the log's format: leave --protocol 1 out.")

    async def move(session: Session, _: AbsentHost) -> object:
        ledger = session.owner.ledger
        found = () if ledger is None else list_moves(ledger, session.clock.read_ms())
        wanted = [one for one in found if schedule_id in {None, one.record.id}]
        if write and wanted:
            session.record([draft_change(make_move(one)) for one in wanted])
            if not await session.confirm():
                raise UnconfirmedError
        return wanted

    moves, _ = _do(way, move)
    found: Sequence[Move] = moves
    return found


_Job = Callable[[Session, AbsentHost], Awaitable[object]]


def _reach(way: Way, job: _Job, request: Json) -> tuple[Any, str | None]:
    """Do the job under the writer's lock; where somebody holds it, ask them instead."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return _do(way, job)
        except OwnedError as owned:
            if way.now_ms is not None:
                raise ShellError(f"{str(owned).partition(';')[0]}; leave --now out.") from owned
            reply = anyio.run(ask, way.directory, request)
            if reply is None and time.monotonic() > deadline:
                raise
        if reply is not None:
            if "error" in reply:
                raise ShellError(str(reply["error"]))
            zone = reply.get("timeZone")
            return reply.get("value"), zone if isinstance(zone, str) else None
        time.sleep(_PAUSE_SECONDS)


def _do(way: Way, job: _Job) -> tuple[Any, str | None]:
    place = choose_store(way.directory, None if way.store is None else way.store)
    with open_store(place, way.line_bytes_max, say) as store:
        host = AbsentHost()
        clock = choose_clock(way.now_ms)
        session = Session(
            store, host, clock, profile=way.profile, guard=way.limits, protocol=way.protocol
        )
        reading = Reading.under(way.profile, way.limits)
        keeper = CheckpointKeeper(store, reading, say, wanted=way.checkpoint)
        session.checkpoint = keeper.recall()
        host.follow(session)
        keeper.keep(session.checkpoint)
        value = anyio.run(_live, session, host, job)
        if session.fault is not None:
            raise explain_warning(session, store, "corrupt_log")
        if session.trouble is not None:
            raise explain_warning(session, store, "preflight_failed")
        if isinstance(value, Exception):
            raise value
        return value, store.time_zone


async def _live(session: Session, host: AbsentHost, job: _Job) -> object:
    """One life of a session that lasts as long as the job; an error of the job's comes back."""
    value: object = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.run)
        try:
            value = await job(session, host)
        except ShellError as error:
            value = error
        session.dispose()
    return value
