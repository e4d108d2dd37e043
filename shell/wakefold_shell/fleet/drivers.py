"""How a worker stays with its database: the queue's driver, and a connection that is kept.

A server that restarts ends no worker. What is asked meanwhile waits until it answers again; what the
worker listens to and which sessions it holds is taken up anew. This module decides when to try again;
it refuses to know what is asked.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Self, TypeAlias, TypeVar

import asyncpg
from pgqueuer.core.tm import TaskManager
from pgqueuer.ports.driver import Driver, NotifyCallback

from wakefold_shell.fleet.databases import (
    Connection,
    FleetError,
    LostConnectionError,
    Pool,
    connect,
    is_lost,
)

PAUSE_SECONDS: Final = 0.25
"""How long a server that does not answer is left alone."""

WORKER_NAME: Final = "wakefold worker"
"""What the kept connection of each worker is called on the server, before its machine and process."""

_NAME_BYTES_MAX: Final = 63  # of a connection's name
_LOCK: Final = "hashtextextended($1, 7813573)"  # another lock than a session's lease

_Answer = TypeVar("_Answer")
_Relay: TypeAlias = Callable[[Any, int, str, object], None]


async def persist(
    job: Callable[[], Awaitable[_Answer]],
    stopping: asyncio.Event,
    tell: Callable[[], None] = lambda: None,
) -> _Answer:
    """What a job answers, tried again while there is no server, until the worker is to stop.

    `tell` hears once that there is none.
    """
    while True:
        try:
            return await job()
        except Exception as error:
            away = isinstance(error, LostConnectionError) or is_lost(error)
            if not away or stopping.is_set():
                raise
        tell()
        tell = _say_nothing
        await asyncio.sleep(PAUSE_SECONDS)


def _say_nothing() -> None:
    """It was told."""


class Anchor:
    """One connection that a worker keeps: for what the queue tells, and for the sessions it holds.

    `keep` it in a task. The server takes the locks back when the connection ends; where it was only
    away, they are taken again.
    """

    def __init__(self, dsn: str, stopping: asyncio.Event) -> None:
        """Where the server is, and who says that the worker is to stop."""
        self._dsn, self._stopping = dsn, stopping
        self._connection: Connection | None = None
        self._heard: list[tuple[str, _Relay]] = []
        self._held: set[str] = set()
        self._lost = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    async def open(self) -> None:
        """Reach the server for the first time; `FleetError`."""
        await self._reach()

    async def keep(self) -> None:
        """Come back to the server whenever it was away, until the worker is to stop."""
        with suppress(FleetError):
            while True:
                await self._lost.wait()
                await persist(self._reach, self._stopping)

    async def listen(self, channel: str, relay: _Relay) -> None:
        """Have a function hear what is told on a channel, until `unlisten`."""
        async with self._one_at_a_time:
            await self._require().add_listener(channel, relay)
            self._heard.append((channel, relay))

    async def unlisten(self, channel: str, relay: _Relay) -> None:
        """Let it hear no more; a server that is away tells nothing."""
        self._heard.remove((channel, relay))
        with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            async with self._one_at_a_time:
                await self._require().remove_listener(channel, relay)

    async def hold(self, key: str) -> bool:
        """Whether a session's agent is this worker's to ask; nobody else asks it until `let_go`."""
        if key in self._held:
            return False
        self._held.add(key)
        try:
            granted = await persist(lambda: self._lock(key), self._stopping)
        except BaseException:
            self._held.discard(key)
            raise
        if not granted:
            self._held.discard(key)
        return granted

    async def let_go(self, key: str) -> None:
        """Give a session back; a server that is away has taken it already."""
        self._held.discard(key)
        with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            async with self._one_at_a_time:
                await self._require().execute(f"SELECT pg_advisory_unlock({_LOCK})", key)

    def close(self) -> None:
        """Leave the server."""
        if self._connection is not None:
            self._connection.terminate()

    async def _lock(self, key: str) -> bool:
        async with self._one_at_a_time:
            query = f"SELECT pg_try_advisory_lock({_LOCK})"
            granted: bool = await self._require().fetchval(query, key)
            return granted

    async def _reach(self) -> None:
        async with self._one_at_a_time:
            self._lost = asyncio.Event()
            connection = await connect(self._dsn)
            try:
                connection.add_termination_listener(self._note_loss)
                await connection.execute(
                    "SELECT set_config('application_name', $1, false)", _name_worker()
                )
                for channel, relay in self._heard:
                    await connection.add_listener(channel, relay)
                for key in self._held:
                    await connection.execute(f"SELECT pg_try_advisory_lock({_LOCK})", key)
            except BaseException:
                connection.terminate()
                raise
            self._connection = connection

    def _note_loss(self, _: object) -> None:
        self._lost.set()

    def _require(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            raise asyncpg.ConnectionDoesNotExistError("the connection is lost")
        return self._connection


class SteadyDriver(Driver):
    """The queue's way to the database: a pool, and the kept connection to listen by."""

    def __init__(
        self, pool: Pool, anchor: Anchor, stopping: asyncio.Event, tell_away: Callable[[], None]
    ) -> None:
        """Both, who says that the worker is to stop, and who hears that the server is away."""
        self._pool, self._anchor = pool, anchor
        self._stopping, self._tell_away = stopping, tell_away
        self._listening: list[tuple[str, _Relay]] = []

    async def fetch(self, query: str, *args: object) -> list[dict[str, object]]:
        """The rows of a query."""
        rows = await self._persist(lambda: self._pool.fetch(query, *args))
        return [dict(row) for row in rows]

    async def execute(self, query: str, *args: object) -> str:
        """The status of a statement."""
        return await self._persist(lambda: self._pool.execute(query, *args))

    async def add_listener(self, channel: str, callback: NotifyCallback) -> None:
        """Hear what is told on a channel, also after the server was away."""
        relay = _relay(callback)
        await self._persist(lambda: self._anchor.listen(channel, relay))
        self._listening.append((channel, relay))

    async def notify(self, channel: str, payload: str) -> None:
        """Tell something on a channel."""
        await self.execute("SELECT pg_notify($1, $2)", channel, payload)

    @property
    def shutdown(self) -> asyncio.Event:
        """Who says that the worker is to stop."""
        return self._stopping

    @property
    def tm(self) -> TaskManager:
        """No task is left to the queue's driver."""
        return TaskManager()

    async def __aenter__(self) -> Self:
        """The pool is somebody else's to open."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """And to close; the queue hears no more."""
        for channel, relay in self._listening:
            await self._anchor.unlisten(channel, relay)

    async def _persist(self, job: Callable[[], Awaitable[_Answer]]) -> _Answer:
        return await persist(job, self._stopping, self._tell_away)


def _name_worker() -> str:
    return f"{WORKER_NAME} {socket.gethostname()[:32]}:{os.getpid()}"[:_NAME_BYTES_MAX]


def _relay(hear: NotifyCallback) -> _Relay:
    """A listener of the connection's that passes on what is told alone."""

    def relay(_: object, __: int, ___: str, payload: object) -> None:
        if isinstance(payload, str):
            hear(payload)

    return relay
