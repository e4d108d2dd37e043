"""Reaching a session of a fleet for one thing: a transaction of its own, whoever else is at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import typer
from msgspec import Struct

from wakefold import SEED, Profile
from wakefold.guard_config import GuardConfig
from wakefold.tools import ToolName, answer_value
from wakefold_shell.errors import ShellError
from wakefold_shell.stores.journals import Journal

if TYPE_CHECKING:
    from wakefold_shell.fleet.clients import Fleet

_Answer = TypeVar("_Answer")


class FleetWay(Struct, frozen=True):
    """Where a session of a fleet is, and how it is read; `limits` are the guard's, if it is on."""

    dsn: str
    session_id: str
    profile: Profile = SEED
    limits: GuardConfig | None = None
    protocol: Literal[1, 2] = 2


@contextmanager
def fleet_extra() -> Iterator[None]:
    """Imports of the fleet inside the block; what is missing is named in a sentence."""
    try:
        yield
    except ImportError as error:
        raise ShellError("a fleet needs the extra 'fleet': pip install 'wakefold[fleet]'.") from error


def refuse_files(*, store: object, now_ms: int | None) -> None:
    """`BadParameter` for what has no meaning in a fleet."""
    if now_ms is not None:
        raise typer.BadParameter("--now does not go with --fleet, whose database has the clock")
    if store is not None:
        raise typer.BadParameter("--store does not go with --fleet, which is one")


def call_in_fleet(
    way: FleetWay, tool: ToolName, arguments: dict[str, object]
) -> tuple[Any, str | None]:
    """A tool's value, and the zone of the session."""

    async def call(fleet: Fleet) -> tuple[object, str | None]:
        answer = await fleet.call(way.session_id, tool, arguments)
        return answer_value(answer), (await fleet.read_header(way.session_id)).time_zone

    return _reach(way, call)


def say_in_fleet(way: FleetWay, text: str, client_time_zone: str | None) -> dict[str, Any]:
    """Put a person's word into the session: its id. Some worker gives it to the agent."""

    async def tell(fleet: Fleet) -> dict[str, Any]:
        message_id = await fleet.say(way.session_id, text, client_time_zone)
        return {"id": message_id, "queued": True}

    return _reach(way, tell)


def make_in_fleet(way: FleetWay, time_zone: str | None) -> bool:
    """Make a session if there is none; whether there was none."""

    async def make(fleet: Fleet) -> bool:
        return await fleet.create_session(way.session_id, time_zone) is not None

    return _reach(way, make)


def remove_from_fleet(way: FleetWay) -> None:
    """Take a session back that was made for nothing."""

    async def remove(fleet: Fleet) -> None:
        await fleet.remove_empty(way.session_id)

    _reach(way, remove)


@contextmanager
def open_in_fleet(way: FleetWay, line_bytes_max: int) -> Iterator[Journal]:
    """The log of a session, to be read as a journal."""
    with fleet_extra():
        from wakefold_shell.fleet.leases import name_place  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.links import open_link  # noqa: PLC0415 - as above
        from wakefold_shell.fleet.postgres_store import PostgresSource  # noqa: PLC0415 - as above
        from wakefold_shell.fleet.tables import name_key  # noqa: PLC0415 - as above
    key = name_key(way.session_id)
    with open_link(way.dsn) as link:
        yield Journal(name_place(key), PostgresSource(link, key), line_bytes_max)


def _reach(way: FleetWay, job: Callable[[Fleet], Awaitable[_Answer]]) -> _Answer:
    with fleet_extra():
        from wakefold_shell.fleet.clients import open_fleet  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.tails import Policy  # noqa: PLC0415 - as above
    policy = Policy(profile=way.profile, limits=way.limits, protocol=way.protocol)

    async def reach() -> _Answer:
        async with open_fleet(way.dsn, policy, connections_max=1) as fleet:
            return await job(fleet)

    return anyio.run(reach)
