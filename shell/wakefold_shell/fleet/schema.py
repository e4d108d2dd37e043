"""The tables of a fleet and their versions: made, brought up to date, and checked.

Ours and those of the queue (pgqueuer's own) lie in one schema, so that one transaction writes both.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.persistence.qb import (
    QueryBuilderEnvironment,
    QueryQueueBuilder,
    QuerySchedulerBuilder,
)
from pgqueuer.domain.settings import DBSettings
from pgqueuer.domain.types import QueueEntrypoint
from pgqueuer.ports.driver import Driver
from pgqueuer.queries import Queries
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from wakefold_shell.fleet.databases import SCHEMA, Connection, FleetError, refusals

_LOCK: Final = 0x77616B65  # held while the schema is made or brought up to date

# One script for each version of the schema, from the one before it. Ids are JSON texts, for they may
# hold what a text of PostgreSQL may not; a `data` is a line of the journal, byte for byte; `at` and
# `occurrence` are epoch milliseconds, for a log may hold times that no timestamp can.
_MIGRATIONS: Final = (
    """
    CREATE TABLE session (
        session_id text PRIMARY KEY,
        header bytea NOT NULL,
        next_seq bigint NOT NULL
    );
    CREATE TABLE session_log (
        session_id text NOT NULL REFERENCES session,
        seq bigint NOT NULL,
        type text NOT NULL,
        data bytea NOT NULL,
        at bigint NOT NULL,
        PRIMARY KEY (session_id, seq)
    );
    CREATE TABLE followup (
        session_id text NOT NULL REFERENCES session,
        reminder_id text NOT NULL,
        occurrence bigint NOT NULL,
        at bigint NOT NULL,
        body bytea NOT NULL,
        message_id text NOT NULL,
        taken_seq bigint,
        PRIMARY KEY (session_id, reminder_id, occurrence)
    );
    CREATE INDEX followup_message ON followup (session_id, message_id);
    CREATE INDEX followup_at ON followup USING brin (at);
    CREATE TABLE session_wake (
        session_id text PRIMARY KEY REFERENCES session,
        wake_at timestamptz NOT NULL
    );
    CREATE INDEX session_wake_at ON session_wake (wake_at);
    CREATE TABLE checkpoint (
        session_id text PRIMARY KEY REFERENCES session,
        seq bigint NOT NULL,
        content bytea NOT NULL
    );
    """,
)

VERSION: Final = len(_MIGRATIONS)
"""The version of our tables, which the table `schema_version` keeps."""


NEXT_DUE: Final = """
    SELECT min(first.eta) AS eta FROM unnest($1::text[]) AS kind, LATERAL (
        SELECT execute_after - now() AS eta FROM pgqueuer
        WHERE entrypoint = kind AND status = 'queued' AND execute_after > now()
        ORDER BY execute_after LIMIT 1
    ) AS first
"""
"""How long until the queue's next job of some kinds is due."""


class _QueueNames(DBSettings):
    """The queue's names: ours to say, whatever the environment of the process says."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library's own shape
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing but what is given here."""
        return (init_settings,)


QUEUE_NAMES: Final = _QueueNames(db_schema=SCHEMA)
"""Where the queue's tables lie, and the channel on which it tells of jobs."""


class _Queue(Queries):
    """The queue, asked for its next instant kind by kind: else it sorts its whole backlog."""

    async def next_deferred_eta(self, entrypoints: list[QueueEntrypoint]) -> timedelta | None:
        rows = await self.driver.fetch(NEXT_DUE, entrypoints)
        eta = rows[0]["eta"]
        return eta if isinstance(eta, timedelta) else None


def find_queue(driver: Driver) -> Queries:
    """The queue, by a connection or a pool of them."""
    return _Queue(
        driver,
        QueryBuilderEnvironment(QUEUE_NAMES),
        QueryQueueBuilder(QUEUE_NAMES),
        QuerySchedulerBuilder(QUEUE_NAMES),
    )


async def init_schema(connection: Connection) -> bool:
    """Make the schema whole, or leave one that is there; whether it was made. `FleetError`."""
    with refusals():
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            if await read_version(connection) is not None:
                return False
            await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            await connection.execute("CREATE TABLE schema_version (version integer NOT NULL)")
            await connection.execute("INSERT INTO schema_version VALUES (0)")
            await _run_scripts(connection, 0)
            await find_queue(AsyncpgDriver(connection)).install(create_schema=False)
    return True


async def migrate_schema(connection: Connection) -> tuple[int, int]:
    """Bring our tables and the queue's up to date: the version before, and now. `FleetError`."""
    with refusals():
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            version = _require(await read_version(connection))
            if version < VERSION:
                await _run_scripts(connection, version)
        await find_queue(AsyncpgDriver(connection)).apply_upgrade()
    return version, VERSION


async def check_schema(connection: Connection) -> None:
    """`FleetError` unless the schema is the one that this program knows."""
    with refusals():
        version = _require(await read_version(connection))
    if version < VERSION:
        raise FleetError(
            f"the database has version {version} of the schema, this program needs {VERSION}: "
            "run 'wakefold fleet migrate'."
        )


async def read_version(connection: Connection) -> int | None:
    """The version of our tables; `None` where there are none."""
    found = await connection.fetchval("SELECT to_regclass($1)", f"{SCHEMA}.schema_version")
    if found is None:
        return None
    version: int = await connection.fetchval("SELECT version FROM schema_version")
    return version


def _require(version: int | None) -> int:
    if version is None:
        raise FleetError("the database holds no fleet: prepare it with 'wakefold fleet init'.")
    if version > VERSION:
        raise FleetError(
            f"the database has version {version} of the schema, this program knows up to {VERSION}: "
            "use a later one."
        )
    return version


async def _run_scripts(connection: Connection, version: int) -> None:
    for script in _MIGRATIONS[version:]:
        await connection.execute(script)
    await connection.execute("UPDATE schema_version SET version = $1", VERSION)
