"""A connection to PostgreSQL for code that has no event loop of asyncio, such as a store under trio.

It lives on a thread of its own, and comes back after the server was away. This module decides who runs
when; it refuses to know what is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias, TypeVar

import asyncpg
from anyio.from_thread import BlockingPortal, start_blocking_portal

from wakefold_shell.fleet.databases import Connection, LostConnectionError, connect, refusals

_Answer = TypeVar("_Answer")
#: What is done with each new connection before anything else.
Prepare: TypeAlias = Callable[[Connection], Awaitable[object]]

_CLOSE_SECONDS: Final = 5.0


class Link:
    """One connection, used by one at a time. Made by `open_link`."""

    def __init__(self, dsn: str, prepare: Prepare | None, portal: BlockingPortal) -> None:
        """Where the server is, what a new connection begins with, and the thread's way in."""
        self._dsn, self._prepare, self._portal = dsn, prepare, portal
        self._connection: Connection | None = None
        self._closed = False
        self._one_at_a_time = asyncio.Lock()

    def run(self, job: Callable[[Connection], Awaitable[_Answer]]) -> _Answer:
        """What a job answers, from any other thread; `FleetError`. The caller's thread waits for it.

        Where the connection was lost, a new one is made first.
        """
        return self._portal.call(self._run, job)

    async def _run(self, job: Callable[[Connection], Awaitable[_Answer]]) -> _Answer:
        async with self._one_at_a_time:
            try:
                with refusals():
                    return await job(await self._reach())
            except LostConnectionError:
                if self._connection is not None:
                    self._connection.terminate()  # whatever the driver still thinks of it
                raise

    async def _reach(self) -> Connection:
        if self._closed:
            raise LostConnectionError("the connection to the database was closed: open it again.")
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        connection = await connect(self._dsn)
        try:
            if self._prepare is not None:
                await self._prepare(connection)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection
        return connection

    async def close(self) -> None:
        """Let the connection go, with all that it holds; on its own thread.

        A job that the server does not end in time is ended here.
        """
        self._closed = True
        if self._connection is None:
            return
        try:
            async with asyncio.timeout(_CLOSE_SECONDS), self._one_at_a_time:
                await self._connection.reset()
                await self._connection.close()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            self._connection.terminate()


@contextmanager
def open_link(dsn: str, prepare: Prepare | None = None) -> Iterator[Link]:
    """A link to a server that can be reached, as long as the block lasts; `FleetError`."""
    with start_blocking_portal("asyncio") as portal:
        link = Link(dsn, prepare, portal)
        try:
            link.run(lambda connection: connection.execute("SELECT"))
            yield link
        finally:
            portal.call(link.close)
