"""What is overdue in a fleet, and jobs that are held: found, and queued again.

Each session's next instant stands in a table beside the queue, so that a job that was lost delays a
reminder by one sweep at most. A job that failed is held, and its session is left alone until somebody
has looked: this module decides both. It refuses to know why a job failed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, cast

from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver

from wakefold_shell.fleet.databases import Connection, Pool, refusals
from wakefold_shell.fleet.schema import find_queue
from wakefold_shell.fleet.transactions import WAKE, find_priority, name_wake

GRACE_SECONDS: Final = 5.0
"""How late a wake must be to be overdue: until then its job is on its way."""

_PAGE_ROWS: Final = 1000
# By `statement_timestamp`, which an index can be asked for, as it cannot for a clock that moves on.
OVERDUE: Final = """
    SELECT session_id, next_seq, wake_at, floor(extract(epoch FROM wake_at) * 1000)::bigint AS wake_ms
    FROM session_wake JOIN session USING (session_id)
    WHERE wake_at < statement_timestamp() - make_interval(secs => $1)
        AND (wake_at, session_id) > ($2, $3)
        AND session_id NOT IN (
            SELECT regexp_replace(convert_from(payload, 'UTF8'), ':[^:]*$', '')
            FROM pgqueuer WHERE status = 'failed' AND payload IS NOT NULL
        )
    ORDER BY wake_at, session_id LIMIT $4
"""
"""Sessions that are overdue, a page of them after another."""

# Of several held jobs of one name one is enough, and none where another one is queued already.
_FORGET: Final = """
    DELETE FROM pgqueuer AS held WHERE status = 'failed' AND EXISTS (
        SELECT FROM pgqueuer AS other WHERE other.dedupe_key = held.dedupe_key
            AND (other.status IN ('queued', 'picked') OR other.status = 'failed' AND other.id > held.id)
    )
"""


async def sweep_overdue(pool: Pool, grace_seconds: float = GRACE_SECONDS) -> int:
    """Queue a wake for each session that is overdue, unless one is queued; how many are overdue."""
    found, last = 0, (datetime.min.replace(tzinfo=UTC), "")
    with refusals():
        while True:
            async with pool.acquire() as pooled:
                connection = cast("Connection", pooled)
                rows = await connection.fetch(OVERDUE, grace_seconds, *last, _PAGE_ROWS)
                if not rows:
                    return found
                names = [name_wake(row["session_id"], row["next_seq"]) for row in rows]
                await find_queue(AsyncpgDriver(connection)).enqueue(
                    [WAKE] * len(rows),
                    [name.encode() for name in names],
                    [find_priority(row["wake_ms"]) for row in rows],
                    dedupe_key=list(names),
                    on_conflict="skip",
                )
            found, last = found + len(rows), (rows[-1]["wake_at"], rows[-1]["session_id"])


async def retry_held(connection: Connection) -> int:
    """Queue all jobs again that are held; how many. `FleetError`."""
    with refusals():
        async with connection.transaction():
            await connection.execute(_FORGET)
            held = await connection.fetch("SELECT id FROM pgqueuer WHERE status = 'failed' FOR UPDATE")
            ids = [row["id"] for row in held]
            await find_queue(AsyncpgDriver(connection)).requeue_jobs(ids)
    return len(ids)
