"""The tables of a fleet: made once, brought up to date, refused where they are not what is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from postgres_servers import ask
from wakefold_shell.fleet.databases import Connection, FleetError
from wakefold_shell.fleet.schema import (
    VERSION,
    check_schema,
    init_schema,
    migrate_schema,
    read_version,
)


def on(dsn: str, *jobs: Callable[[Connection], Awaitable[Any]]) -> list[Any]:
    """What each job answers, one after the other."""
    return [ask(dsn, job) for job in jobs]


def test_a_schema_is_made_whole_and_once(empty_database: str) -> None:
    """With the queue's tables in it; who makes it again is told that it is there."""
    made = on(empty_database, read_version, init_schema, init_schema, read_version, check_schema)
    assert made == [None, True, False, VERSION, None]
    assert on(empty_database, list_tables) == [
        [
            "checkpoint",
            "followup",
            "pgqueuer",
            "pgqueuer_log",
            "pgqueuer_schedules",
            "pgqueuer_statistics",
            "schema_version",
            "session",
            "session_log",
            "session_wake",
        ]
    ]


async def list_tables(connection: Connection) -> list[str]:
    rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'wakefold'")
    return sorted(row["tablename"] for row in rows)


def set_version(version: int) -> Callable[[Connection], Awaitable[Any]]:
    return lambda connection: connection.execute("UPDATE schema_version SET version = $1", version)


def test_what_is_missing_old_or_new_is_told_with_its_remedy(empty_database: str) -> None:
    with pytest.raises(FleetError, match="prepare it with 'wakefold fleet init'"):
        on(empty_database, check_schema)
    with pytest.raises(FleetError, match="prepare it with 'wakefold fleet init'"):
        on(empty_database, migrate_schema)
    on(empty_database, init_schema, set_version(VERSION + 1))
    with pytest.raises(FleetError, match=f"version {VERSION + 1} .* up to {VERSION}: use a later"):
        on(empty_database, check_schema)
    on(empty_database, set_version(0))
    with pytest.raises(FleetError, match=f"needs {VERSION}: run 'wakefold fleet migrate'"):
        on(empty_database, check_schema)


def test_an_old_schema_is_brought_up_to_date(empty_database: str) -> None:
    """From nothing but the table that keeps the version; a second time nothing is left to do."""

    async def make_old(connection: Connection) -> None:
        await init_schema(connection)
        await connection.execute("DROP TABLE checkpoint, session_wake, followup, session_log, session")
        await connection.execute("UPDATE schema_version SET version = 0")

    assert on(empty_database, make_old, migrate_schema, migrate_schema, check_schema) == [
        None,
        (0, VERSION),
        (VERSION, VERSION),
        None,
    ]
    assert "session_log" in on(empty_database, list_tables)[0]
