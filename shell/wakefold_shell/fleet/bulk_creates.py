"""Many new sessions with their first reminders, in one transaction and a handful of statements.

One session after the other costs several round trips and a commit each. This module decides which rows
stand for many; what a tool answers is the core's to say, as everywhere. It refuses to touch a session
that is there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver

from wakefold.checkpoints import begin_checkpoint
from wakefold.json_text import format_json
from wakefold.tools import ToolAnswer
from wakefold.wakeups import RESET_KINDS
from wakefold.wakings import call_tool, open_waking, plan_look
from wakefold_shell.fleet.databases import Connection
from wakefold_shell.fleet.schema import find_queue
from wakefold_shell.fleet.tables import Line, encode_lines, name_key, read_instant, read_now_ms
from wakefold_shell.fleet.tails import Policy
from wakefold_shell.fleet.transactions import WAKE, find_priority, name_wake
from wakefold_shell.stores.rows import Header, encode_header

_SESSIONS: Final = """
    INSERT INTO session (session_id, header, next_seq)
    SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[])
    ON CONFLICT DO NOTHING RETURNING session_id
"""
_LINES: Final = """
    INSERT INTO session_log (session_id, seq, type, data, at)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::bigint[])
"""
_WAKES: Final = """
    INSERT INTO session_wake (session_id, wake_at) SELECT * FROM unnest($1::text[], $2::timestamptz[])
"""


class NewSession(Struct, frozen=True):
    """A session to make, and the arguments of its creates, in order.

    :shape: `creates` are JSON objects as `schedule_create` takes them; `time_zone` is a canonical name
    :units: those of the tools, docs/tools.md
    :errors: none: a create that is refused is a `Failure` among the answers
    :source: ours, docs/fleet.md
    """

    session_id: str
    creates: tuple[object, ...] = ()
    time_zone: str | None = None


class _Begun(Struct, frozen=True):
    """What is written of one session, and what its creates are answered."""

    key: str
    header: bytes
    lines: list[Line]
    answers: tuple[ToolAnswer, ...]
    wake_at_ms: int | None


async def create_sessions(
    connection: Connection, policy: Policy, sessions: Sequence[NewSession]
) -> dict[str, tuple[ToolAnswer, ...]]:
    """Make those of the sessions that are not there; what their creates are answered, by id.

    Inside the transaction of whoever calls, by the database's clock.

    :shape: a dict of answers by session id, in the order of the creates; without the sessions that were
        there
    :units: as the tools' answers
    :errors: what asyncpg raises, with which the transaction is over; a create that is refused is a
        `Failure`
    :source: spec section 11; ours, docs/fleet.md
    """
    now_ms = await read_now_ms(connection)
    begun = {one.session_id: _begin(one, now_ms, policy) for one in sessions}
    rows = sorted(begun.values(), key=lambda one: one.key)  # so that two callers never wait crosswise
    made = await connection.fetch(
        _SESSIONS,
        [one.key for one in rows],
        [one.header for one in rows],
        [len(one.lines) for one in rows],
    )
    keys = {row["session_id"] for row in made}
    new = [one for one in rows if one.key in keys]
    await _insert_lines(connection, new)
    await _arm(connection, new, now_ms)
    return {session_id: one.answers for session_id, one in begun.items() if one.key in keys}


def _begin(session: NewSession, now_ms: int, policy: Policy) -> _Begun:
    header = Header(session.session_id, now_ms, time_zone=session.time_zone)
    kinds = RESET_KINDS if policy.limits is None else policy.limits.reset_kinds
    start = begin_checkpoint(header.seed_length, policy.profile, kinds)
    waking = open_waking(start, now_ms, policy.limits, session.time_zone)
    answers = list[ToolAnswer]()
    for arguments in session.creates:
        waking, answer = call_tool(waking, "schedule_create", arguments, policy.protocol)
        answers.append(answer)
    return _Begun(
        name_key(session.session_id),
        encode_header(header, "/").removesuffix(b"\n"),
        encode_lines(waking.events),
        tuple(answers),
        plan_look(waking, heed_hold=False),
    )


async def _insert_lines(connection: Connection, new: Sequence[_Begun]) -> None:
    """The first lines of their logs; a create owes nothing to the followups."""
    lines = [(one.key, line) for one in new for line in one.lines]
    await connection.execute(
        _LINES,
        [key for key, _ in lines],
        [line.row.seq for _, line in lines],
        [format_json(line.row.type)[1:-1] for _, line in lines],
        [line.data for _, line in lines],
        [line.row.time_ms for _, line in lines],
    )


async def _arm(connection: Connection, new: Sequence[_Begun], now_ms: int) -> None:
    """The next instants of sessions, and their jobs."""
    due = [(one, one.wake_at_ms) for one in new if one.wake_at_ms is not None]
    if not due:
        return
    await connection.execute(
        _WAKES,
        [one.key for one, _ in due],
        [read_instant(wake_at_ms) for _, wake_at_ms in due],
    )
    names = [name_wake(one.key, len(one.lines)) for one, _ in due]
    await find_queue(AsyncpgDriver(connection)).enqueue(
        [WAKE] * len(due),
        [name.encode() for name in names],
        [find_priority(wake_at_ms) for _, wake_at_ms in due],
        execute_after=[timedelta(milliseconds=wake_at_ms - now_ms) for _, wake_at_ms in due],
        dedupe_key=list(names),
        on_conflict="skip",
    )
