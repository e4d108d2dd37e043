"""The rows of a fleet: sessions, lines of their logs, followups, wakes, checkpoints.

This module decides how they are read and written, inside the transaction of whoever calls. It refuses
to know what is due. Ids are JSON texts (`name_key`); instants are epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from wakefold import Event
from wakefold.json_text import format_json
from wakefold_shell.fleet.databases import Connection
from wakefold_shell.stores.outboxes import OUTBOX_TYPES, find_taken, list_given
from wakefold_shell.stores.rows import PackedRow, encode_event, encode_line, read_row

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PAGE_ROWS: Final = 128
_INSERT: Final = (
    "INSERT INTO followup (session_id, reminder_id, occurrence, at, body, message_id)"
    " SELECT $1, *, $4, $5, $6 FROM unnest($2::text[], $3::bigint[])"
)
_INSERT_AGAIN: Final = f"{_INSERT} ON CONFLICT DO NOTHING"
WRITE_WAKE: Final = """
    INSERT INTO session_wake (session_id, wake_at) VALUES ($1, $2)
    ON CONFLICT (session_id) DO UPDATE SET wake_at = excluded.wake_at
    WHERE session_wake.wake_at <> excluded.wake_at
"""
"""When a session is to be looked at next; no row is touched where that is no news."""

_BYTES_MAX: Final = 2**31 - 1  # no value of PostgreSQL is longer


class SessionRow(Struct, frozen=True):
    """A session as it is kept: the journal's first line, and where the next event goes."""

    header: bytes
    next_seq: int


class Line(Struct, frozen=True):
    """One line of a log, without its LF, and what it holds."""

    data: bytes
    row: Event | PackedRow


def name_key(session_id: str) -> str:
    """What stands for an id in the tables: an id may hold what a text of PostgreSQL may not."""
    return format_json(session_id)


def read_instant(at_ms: int) -> datetime:
    """An instant (epoch ms) as PostgreSQL takes one, to the millisecond."""
    return _EPOCH + timedelta(milliseconds=at_ms)


def encode_lines(events: Sequence[Event]) -> list[Line]:
    """Events as lines of the journal."""
    return [Line(encode_line(encode_event(event)).removesuffix(b"\n"), event) for event in events]


def read_line(data: bytes) -> Line:
    """A line of a journal; `RowFault` if it is none."""
    return Line(data, read_row(data, OUTBOX_TYPES))


async def insert_session(connection: Connection, key: str, header: bytes) -> bool:
    """A session without events; false where there is one of that id already."""
    status = await connection.execute(
        "INSERT INTO session (session_id, header, next_seq) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING",
        key,
        header,
    )
    return status.endswith(" 1")


async def read_session(connection: Connection, key: str, *, lock: bool = False) -> SessionRow | None:
    """A session, locked against other writers until the transaction ends where that is asked for."""
    query = "SELECT header, next_seq FROM session WHERE session_id = $1"
    row = await connection.fetchrow(f"{query} FOR UPDATE" if lock else query, key)
    return None if row is None else SessionRow(row["header"], row["next_seq"])


async def list_keys(connection: Connection, after: str) -> list[str]:
    """The keys of some sessions after another one, in order; none where there are no more."""
    rows = await connection.fetch(
        "SELECT session_id FROM session WHERE session_id > $1 ORDER BY session_id LIMIT $2",
        after,
        _PAGE_ROWS,
    )
    return [row["session_id"] for row in rows]


async def count_sessions(connection: Connection) -> int:
    """How many sessions there are."""
    sessions: int = await connection.fetchval("SELECT count(*) FROM session")
    return sessions


async def read_now_ms(connection: Connection) -> int:
    """The database's clock, which is the only one that a fleet goes by."""
    now_ms: int = await connection.fetchval(
        "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    )
    return now_ms


async def read_lines(connection: Connection, key: str, start: int) -> list[bytes]:
    """The lines of a log from a seq on, in order, each without its LF."""
    rows = await connection.fetch(
        "SELECT data FROM session_log WHERE session_id = $1 AND seq >= $2 ORDER BY seq", key, start
    )
    return [row["data"] for row in rows]


async def read_page(
    connection: Connection, key: str, start: int, end: int, line_bytes_max: int
) -> list[tuple[int, bytes]]:
    """Some lines from a seq on and before another, each with its seq; none where there are no more.

    Of a line that is longer than it may be only so much is given that this can be seen.
    """
    rows = await connection.fetch(
        "SELECT seq, substring(data FOR $4) AS data FROM session_log"
        " WHERE session_id = $1 AND seq >= $2 AND seq < $3 ORDER BY seq LIMIT $5",
        key,
        start,
        end,
        min(line_bytes_max + 1, _BYTES_MAX),
        _PAGE_ROWS,
    )
    return [(row["seq"], row["data"]) for row in rows]


async def insert_lines(
    connection: Connection, key: str, lines: Sequence[Line], next_seq: int, *, again: bool = False
) -> None:
    """More lines at the end of a log, with what the followups owe to them; `next_seq` comes after them.

    `asyncpg.UniqueViolationError` where somebody else was first, or has handed an occurrence over; not
    for the latter `again`, where lines tell what was done elsewhere.
    """
    await connection.execute(
        "INSERT INTO session_log (session_id, seq, type, data, at)"
        " SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::bigint[])",
        key,
        [line.row.seq for line in lines],
        [format_json(line.row.type)[1:-1] for line in lines],
        [line.data for line in lines],
        [line.row.time_ms for line in lines],
    )
    for line in lines:
        await _note_followups(connection, key, line.row, again=again)
    await connection.execute("UPDATE session SET next_seq = $2 WHERE session_id = $1", key, next_seq)


async def _note_followups(
    connection: Connection, key: str, row: Event | PackedRow, *, again: bool
) -> None:
    insert = _INSERT_AGAIN if again else _INSERT
    for given in list_given(row):
        back = await connection.execute(
            "UPDATE followup SET taken_seq = NULL"
            " WHERE session_id = $1 AND message_id = $2 AND taken_seq IS NOT NULL",
            key,
            format_json(given.message_id),
        )
        if given.occurrences and back.endswith(" 0"):
            await connection.execute(
                insert,
                key,
                [format_json(reminder_id) for reminder_id, _ in given.occurrences],
                [occurrence_ms for _, occurrence_ms in given.occurrences],
                row.time_ms,
                given.message.encode(),
                format_json(given.message_id),
            )
    taken = find_taken(row)
    if taken is not None:
        await connection.execute(
            "UPDATE followup SET taken_seq = $3 WHERE session_id = $1 AND message_id = $2",
            key,
            format_json(taken),
            row.seq,
        )


async def write_wake(connection: Connection, key: str, wake_at_ms: int | None) -> bool:
    """When a session is to be looked at next; whether that is news."""
    if wake_at_ms is None:
        await connection.execute("DELETE FROM session_wake WHERE session_id = $1", key)
        return False
    status = await connection.execute(WRITE_WAKE, key, read_instant(wake_at_ms))
    return status.endswith(" 1")


async def read_checkpoint(connection: Connection, key: str) -> bytes | None:
    """What a session had come to at some place of its log, as it was written down."""
    content: bytes | None = await connection.fetchval(
        "SELECT content FROM checkpoint WHERE session_id = $1", key
    )
    return content


async def write_checkpoint(connection: Connection, key: str, seq: int, content: bytes) -> None:
    """What a session has come to before the event `seq`, in place of the one before."""
    await connection.execute(
        "INSERT INTO checkpoint (session_id, seq, content) VALUES ($1, $2, $3)"
        " ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, content = excluded.content",
        key,
        seq,
        content,
    )
