"""A fleet in a storm: far more wakes at once than there are sessions with something to deliver."""

from __future__ import annotations

from typing import Final, cast

from msgspec import Struct
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver

from fleet_soak import staffed
from fleet_world import ask, until
from wakefold import SCHEDULE_CHANGE, Create, Event, encode_change
from wakefold.events import EveryRecord
from wakefold_shell.fleet.databases import Connection, open_pool
from wakefold_shell.fleet.schema import find_queue
from wakefold_shell.fleet.tables import (
    encode_lines,
    insert_lines,
    insert_session,
    name_key,
    read_now_ms,
)
from wakefold_shell.fleet.transactions import WAKE
from wakefold_shell.stores.rows import Header, encode_header

REMINDERS: Final = 2
"""How many repeating reminders of each session are due."""


class Storm(Struct, frozen=True):
    """What came of it, counted from the tables."""

    messages: int
    dispatches: int
    followups: int
    sessions_with_more: int


async def raise_storm(dsn: str, sessions: int, wakes: int, workers: int) -> Storm:
    """Sessions with due reminders, and many wakes for all of them, before any worker begins."""
    async with open_pool(dsn, 1) as pool, pool.acquire() as pooled, pooled.transaction():
        connection = cast("Connection", pooled)
        now_ms = await read_now_ms(connection)
        for number in range(sessions):
            await _insert_due(connection, f"s{number}", now_ms)
        names = [f"{name_key(f's{number % sessions}')}:{number}" for number in range(wakes)]
        queue = find_queue(AsyncpgDriver(connection))
        payload: list[bytes | None] = [name.encode() for name in names]
        await queue.enqueue([WAKE] * wakes, payload, [0] * wakes, dedupe_key=list(names))

    async def is_over() -> bool:
        (row,) = await ask(dsn, "SELECT count(*) FROM pgqueuer WHERE execute_after < now()")
        return row == (0,)

    async with staffed(dsn, workers):
        await until(is_over, 600)
    (row,) = await ask(
        dsn,
        "WITH given AS (SELECT session_id, count(DISTINCT message_id) AS n FROM followup GROUP BY 1)"
        " SELECT (SELECT sum(n) FROM given)::int,"
        " (SELECT count(*) FROM session_log WHERE type = 'schedule/change')::int - $1,"
        " (SELECT count(*) FROM followup)::int, (SELECT count(*) FROM given WHERE n > 1)::int",
        sessions * REMINDERS,
    )
    return Storm(*row)


async def _insert_due(connection: Connection, name: str, now_ms: int) -> None:
    records = [
        EveryRecord(f"schedule-{index}", "look", 300, now_ms - 60_000)
        for index in range(1, REMINDERS + 1)
    ]
    events = [
        Event(SCHEDULE_CHANGE, seq, now_ms, encode_change(Create(record)))
        for seq, record in enumerate(records)
    ]
    line = encode_header(Header(name, now_ms), "/").removesuffix(b"\n")
    await insert_session(connection, name_key(name), line)
    await insert_lines(connection, name_key(name), encode_lines(events), len(events))
