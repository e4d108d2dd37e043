"""Who owns a session that lies in PostgreSQL: one program for as long as it lives, or the fleet.

A writer that lives in a session holds its lease exclusively, by a lock of its connection, which the
server takes back when the connection ends. A transaction of the fleet takes a share in it. So both
never work on one session, and any number of workers may. This module decides nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from asyncpg import LockNotAvailableError

from wakefold_shell.fleet.databases import Connection
from wakefold_shell.stores.journal_store import OwnedError

_LOCK: Final = "hashtextextended($1, 7813572)"  # two sessions of one hash exclude each other, too
_PATIENCE: Final = "1s"  # for a server to notice that the owner before was killed


async def take_lease(connection: Connection, key: str) -> None:
    """Own a session until the connection ends or is reset; `OwnedError` if somebody else does."""
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
            await connection.execute(f"SELECT pg_advisory_lock({_LOCK})", key)
    except LockNotAvailableError as error:
        problem = "another program owns this session, or the fleet is just at work on it"
        raise OwnedError(name_place(key), problem, "stop it first, or try again") from error


async def share_lease(connection: Connection, key: str) -> bool:
    """Whether a transaction of the fleet may go on; until it ends, nobody else becomes the owner."""
    shared: bool = await connection.fetchval(f"SELECT pg_try_advisory_xact_lock_shared({_LOCK})", key)
    return shared


def name_place(key: str) -> Path:
    """What stands for a session's file where errors name one."""
    return Path(f"session {key}")
