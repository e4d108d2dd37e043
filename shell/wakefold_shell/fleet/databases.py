"""Reaching PostgreSQL, and what goes wrong there as one sentence each.

This module decides how a database is connected to, and what a refusal of the server's means to people.
It refuses to know what is kept there. A DSN is never repeated: it may hold a password.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TypeAlias

from wakefold_shell.errors import ShellError, explain_os_error

try:
    import asyncpg
except ModuleNotFoundError as error:
    sentence = "wakefold: a fleet needs the extra 'fleet': pip install 'wakefold[fleet]'."
    raise ImportError(sentence, name=error.name) from None

#: A connection of asyncpg, whose rows are its own.
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
#: Connections of asyncpg to share.
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

SCHEMA: Final = "wakefold"
"""The schema of PostgreSQL that holds everything."""

CONNECT_SECONDS: Final = 10.0
"""How long a server may take to answer."""

_SETTINGS: Final = {"search_path": SCHEMA, "application_name": "wakefold"}

_REMEDIES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (asyncpg.InvalidPasswordError, "check the user and the password of the DSN"),
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        "check the user of the DSN and the server's rules",
    ),
    (asyncpg.InvalidCatalogNameError, "create that database, or check the DSN"),
    (
        asyncpg.InsufficientPrivilegeError,
        f"grant the user the schema {SCHEMA} and its tables, or use the one who made them",
    ),
    (asyncpg.InvalidSchemaNameError, "prepare the database with 'wakefold fleet init'"),
    (asyncpg.UndefinedTableError, "prepare the database with 'wakefold fleet init'"),
    (asyncpg.DiskFullError, "make room on the server, nothing was written, then try again"),
    (asyncpg.TooManyConnectionsError, "raise the server's max_connections, or run fewer workers"),
    (asyncpg.ReadOnlySQLTransactionError, "give the DSN of the server that takes writes"),
)


class FleetError(ShellError):
    """The database cannot be used as it is. Nothing was written by what failed.

    :shape: as `ShellError`; the DSN is never in its text
    :units: none
    :errors: raised by whatever asks the database
    :source: ours, docs/fleet.md
    """


class LostConnectionError(FleetError):
    """The server went away, or was not there; what was under way may or may not have been committed.

    :shape: as `FleetError`
    :units: none
    :errors: raised in the place of `FleetError`
    :source: ours, docs/fleet.md
    """


async def connect(dsn: str) -> Connection:
    """A connection; `FleetError`."""
    with refusals(), _dsn_faults():
        return await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, server_settings=_SETTINGS)


@asynccontextmanager
async def open_pool(dsn: str, size_max: int, *, waits_for_disk: bool = True) -> AsyncIterator[Pool]:
    """Connections to share, as long as the block lasts; `FleetError` if there is none to be had.

    Where a crash of the server may take back what was done last, nobody need wait for its disk.
    """
    settings = _SETTINGS if waits_for_disk else _SETTINGS | {"synchronous_commit": "off"}
    with refusals(), _dsn_faults():
        pool = await asyncpg.create_pool(
            dsn,
            min_size=1,
            max_size=size_max,
            timeout=CONNECT_SECONDS,
            server_settings=settings,
            reset=_leave_as_it_is,
        )
    try:
        yield pool
    finally:
        await pool.close()


async def _leave_as_it_is(_: object) -> None:
    """Nobody sets up a shared connection beyond a transaction: to reset it would be one trip more."""


@contextmanager
def refusals() -> Iterator[None]:
    """Whatever the server refuses inside the block, as a `FleetError`."""
    try:
        yield
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        OSError,
    ) as error:
        raise explain_refusal(error) from error


@contextmanager
def _dsn_faults() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise FleetError(
            "this is no DSN such as postgresql://user@host/database: check its parts."
        ) from error


def explain_refusal(error: Exception) -> FleetError:
    """What a refusal means, and what to do."""
    if is_lost(error):
        why = _explain_os_error(error) if isinstance(error, OSError) else _first_line(error)
        return LostConnectionError(
            f"the database cannot be reached ({why or type(error).__name__}): check that the server "
            "runs and that the DSN names it, then try again."
        )
    for kind, remedy in _REMEDIES:
        if isinstance(error, kind):
            return FleetError(f"the database refuses ({_first_line(error)}): {remedy}.")
    return FleetError(f"the database refuses ({_first_line(error)}): look into the server's log.")


def is_lost(error: BaseException) -> bool:
    """Whether an exception says that there is no connection any more, or none to be had."""
    if isinstance(error, asyncpg.InterfaceError):
        return "closed" in str(error) or "released" in str(error)
    return isinstance(
        error,
        OSError
        | asyncpg.PostgresConnectionError
        | asyncpg.CannotConnectNowError
        | asyncpg.AdminShutdownError
        | asyncpg.CrashShutdownError
        | asyncpg.InternalClientError,  # severed between two messages, the driver loses its thread
    )


def _explain_os_error(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if error.errno is not None and error.errno > 0:  # asyncio has put the address in place of the words
        return os.strerror(error.errno).lower()
    return explain_os_error(error)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].removesuffix(".")
