"""How a fleet stands: what is due and late, which jobs are held, who works, and how late messages were.

It reads and never writes, in one moment of the database. This module decides what is worth telling an
operator or a monitor; it refuses to judge it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from wakefold.json_text import parse_json
from wakefold_shell.fleet.databases import Connection, refusals
from wakefold_shell.fleet.drivers import WORKER_NAME
from wakefold_shell.fleet.sweeps import GRACE_SECONDS
from wakefold_shell.fleet.tables import read_now_ms
from wakefold_shell.fleet.transactions import read_key

LATENESS_SECONDS: Final = 3600
"""How far back the lateness of messages is told."""

HELD_MAX: Final = 100
"""How many of the held jobs are told one by one."""

_COUNTS: Final = """
    SELECT (SELECT count(*) FROM session) AS sessions,
        count(*) FILTER (WHERE wake_at > clock_timestamp()) AS planned,
        count(*) FILTER (WHERE wake_at <= clock_timestamp()) AS due,
        count(*) FILTER (WHERE wake_at < clock_timestamp() - make_interval(secs => $1)) AS late,
        (SELECT count(*) FROM followup WHERE taken_seq IS NULL) AS waiting,
        (SELECT count(*) FROM pgqueuer WHERE status = 'failed') AS held
    FROM session_wake
"""
_HELD: Final = """
    SELECT id, entrypoint, convert_from(payload, 'UTF8') AS name,
        floor(extract(epoch FROM updated) * 1000)::bigint AS held_at_ms,
        (SELECT traceback ->> 'exception_message' FROM pgqueuer_log
         WHERE job_id = pgqueuer.id AND traceback IS NOT NULL
         ORDER BY pgqueuer_log.id DESC LIMIT 1) AS why
    FROM pgqueuer WHERE status = 'failed' ORDER BY updated, id LIMIT $1
"""
_WORKERS: Final = """
    SELECT application_name AS name, floor(extract(epoch FROM backend_start) * 1000)::bigint AS since_ms
    FROM pg_stat_activity
    WHERE datname = current_database() AND starts_with(application_name, $1)
    ORDER BY backend_start, pid
"""
_LATENESS: Final = """
    SELECT count(*) AS count, max(at - occurrence) AS greatest_ms,
        percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY at - occurrence) AS places
    FROM followup WHERE at >= $1
"""


class Held(Struct, frozen=True):
    """A job that failed and waits for `fleet retry`."""

    id: int
    kind: str
    session_id: str
    held_at_ms: int
    why: str | None


class Working(Struct, frozen=True):
    """A worker that has a connection: its machine and process, and since when."""

    name: str
    since_ms: int


class Lateness(Struct, frozen=True):
    """How long after their occurrences messages were handed over, in ms; `None` without any."""

    count: int
    p50_ms: int | None
    p90_ms: int | None
    p99_ms: int | None
    greatest_ms: int | None


class Report(Struct, frozen=True):
    """A fleet at one instant of the database's clock.

    Of the `sessions`, `planned` have an instant to come, `due` one that has come (a message that waits
    for its agent counts, too), and `late` one that should have been looked at by now. `waiting` counts
    occurrences that no turn has taken, `held` all held jobs, of which `jobs` are the oldest.
    """

    now_ms: int
    sessions: int
    planned: int
    due: int
    late: int
    waiting: int
    held: int
    jobs: tuple[Held, ...]
    workers: tuple[Working, ...]
    lateness: Lateness


async def read_report(connection: Connection) -> Report:
    """How the fleet stands; `FleetError`."""
    with refusals():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            now_ms = await read_now_ms(connection)
            counts = await connection.fetchrow(_COUNTS, GRACE_SECONDS)
            held = await connection.fetch(_HELD, HELD_MAX)
            workers = await connection.fetch(_WORKERS, WORKER_NAME)
            late = await connection.fetchrow(_LATENESS, now_ms - 1000 * LATENESS_SECONDS)
    assert counts is not None  # noqa: S101 - an aggregate has one row
    assert late is not None  # noqa: S101 - as above
    p50_ms, p90_ms, p99_ms = late["places"] or (None, None, None)
    return Report(
        now_ms=now_ms,
        **counts,
        jobs=tuple(
            Held(row["id"], row["entrypoint"], _read_id(row["name"]), row["held_at_ms"], row["why"])
            for row in held
        ),
        workers=tuple(
            Working(row["name"].removeprefix(WORKER_NAME).strip(), row["since_ms"]) for row in workers
        ),
        lateness=Lateness(late["count"], p50_ms, p90_ms, p99_ms, late["greatest_ms"]),
    )


def _read_id(name: str) -> str:
    return str(parse_json(read_key(name)))
