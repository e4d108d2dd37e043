"""One visit to a session, in one transaction: it is locked, read, written, and its next wake armed.

A tool's call, a person's word, a wake and a turn that has ended are visits alike; what is written is
decided by the core (`wakefold.wakings`). This module decides in which order the database is asked, and
which job of the queue follows from what was written. It refuses to know who visits, and to read any
clock but the database's.

Nobody loses a race: the session's row is locked first, and its log's lines refer to that row, so that
even who asks for no lock waits for it. The log's key would refuse a line twice all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Final, Generic, TypeVar, cast
from uuid import uuid4

from msgspec import Struct
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver

from wakefold.json_text import format_json
from wakefold.wakings import Waking, look, open_waking, plan_look
from wakefold_shell.fleet.databases import Connection, FleetError, LostConnectionError, Pool, refusals
from wakefold_shell.fleet.leases import name_place, share_lease
from wakefold_shell.fleet.schema import find_queue
from wakefold_shell.fleet.tables import encode_lines, insert_lines, read_session, write_wake
from wakefold_shell.fleet.tails import Policy, keep_checkpoint, read_state
from wakefold_shell.stores.journal_store import OwnedError
from wakefold_shell.stores.rows import Header

WAKE: Final = "wake"
"""The jobs that visit a session at its time; the payload is the job's name."""

FOLLOWUP: Final = "followup"
"""The jobs that give the agent a session's first message; the payload is the job's name."""

_PRIORITY_MIN: Final = -(2**31)

_Answer = TypeVar("_Answer")
#: What a visit does: the session as it goes on, and the visitor's answer.
Act = Callable[[Waking], tuple[Waking, _Answer]]


class UnknownSessionError(FleetError):
    """The database holds no such session.

    :shape: as `FleetError`, with the session's key
    :units: none
    :errors: raised by whatever visits a session
    :source: ours, docs/fleet.md
    """

    def __init__(self, key: str) -> None:
        """The session's key."""
        super().__init__(f"{name_place(key)}: the database holds no such session; create it first.")


class UncertainError(LostConnectionError):
    """The server went away while it committed: what was written is there or is not.

    :shape: as `FleetError`, the same sentence each time
    :units: none
    :errors: a tool's call answers `persistence_uncertain` in its place
    :source: spec section 1; ours, docs/fleet.md
    """

    def __init__(self) -> None:
        """Its sentence is always the same."""
        super().__init__("the database went away while it committed: look whether the change is there.")


class Visit(Struct, Generic[_Answer], frozen=True):
    """What came of a visit, which is durable.

    `come_back_ms` is set where the job that visits has to see to the session's next instant itself: so
    long from now.
    """

    header: Header
    waking: Waking
    answer: _Answer
    come_back_ms: int | None


def do_nothing(waking: Waking) -> tuple[Waking, None]:
    """The act of who only looks."""
    return waking, None


def name_wake(key: str, next_seq: int) -> str:
    """What keeps one wake of a session from being queued twice.

    Not its instant: a job that fires early could not arm its own successor.
    """
    return f"{key}:{next_seq}"


def read_key(name: str) -> str:
    """The session of a job, by the job's name."""
    return name.rpartition(":")[0]


def find_priority(wake_at_ms: int) -> int:
    """What is due first goes first: the queue reads its backlog in this order, and no further."""
    return max(-(wake_at_ms // 60_000), _PRIORITY_MIN)


async def visit_session(
    pool: Pool, key: str, policy: Policy, act: Act[_Answer], job: str | None = None
) -> Visit[_Answer]:
    """Do something to a session, write it, and arm what follows.

    A job gives its own name. It looks what is due, too, since holds are decided under the limits of the
    workers alone; and what follows is armed whether it is news or not, unless that is what this job is
    for. Raises `FleetError`; `OwnedError` while a program lives in the session,
    `JournalError` where its log is damaged.
    """
    worked = False
    try:
        with refusals():
            async with pool.acquire() as pooled, pooled.transaction():
                visit = await _visit(cast("Connection", pooled), key, policy, act, job)
                worked = True
            return visit
    except LostConnectionError as error:
        if worked:
            raise UncertainError from error
        raise


async def _visit(
    connection: Connection, key: str, policy: Policy, act: Act[_Answer], job: str | None
) -> Visit[_Answer]:
    if not await share_lease(connection, key):
        raise OwnedError(name_place(key), "a program lives in this session", "stop it first, or ask it")
    session = await read_session(connection, key, lock=True)
    if session is None:
        raise UnknownSessionError(key)
    state = await read_state(connection, key, session, policy)
    opened = open_waking(state.checkpoint, state.now_ms, policy.limits, state.header.time_zone)
    acted, answer = act(opened)
    waking = acted if job is None else look(acted, str(uuid4()))
    next_seq = session.next_seq + len(waking.events)
    if waking.events:
        await insert_lines(connection, key, encode_lines(waking.events), next_seq)
    wake_at_ms, come_back_ms = plan_look(waking, heed_hold=job is not None), None
    is_news = await write_wake(connection, key, wake_at_ms)
    if not waking.events and not is_news:  # to have looked need not outlast a crash of the server
        await connection.execute("SET LOCAL synchronous_commit = off")
    if wake_at_ms is not None and (is_news or job is not None):
        name = _name_next(key, next_seq, waking)
        if name == job:
            come_back_ms = max(0, wake_at_ms - waking.now_ms)
        else:
            await _arm(connection, name, waking, wake_at_ms)
    await keep_checkpoint(connection, key, state.header.id, waking.checkpoint, state.kept_seq)
    return Visit(state.header, waking, answer, come_back_ms)


def _name_next(key: str, next_seq: int, waking: Waking) -> str:
    """What keeps one wake, or one offer of one message, from being queued twice."""
    given = waking.waiting
    if given is None:
        return name_wake(key, next_seq)
    told = format_json([given.message.get("id"), given.queued_at_ms, given.earlier_offers])
    return f"{key}:{sha256(told.encode()).hexdigest()}"  # an id may be of any length


async def _arm(connection: Connection, name: str, waking: Waking, wake_at_ms: int) -> None:
    """Queue what sees to the session's next instant, unless it is queued already."""
    await find_queue(AsyncpgDriver(connection)).enqueue(
        WAKE if waking.waiting is None else FOLLOWUP,
        name.encode(),
        priority=find_priority(wake_at_ms),
        execute_after=timedelta(milliseconds=wake_at_ms - waking.now_ms),
        dedupe_key=name,
        on_conflict="skip",
    )
