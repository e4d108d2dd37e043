"""A fleet for tests: workers in this process and outside of it, and looks into its tables."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

from wakefold.conversations import Input
from wakefold.events import Event, Json
from wakefold_shell.fleet.clients import DEFAULT_POLICY, Fleet, open_fleet
from wakefold_shell.fleet.databases import connect
from wakefold_shell.fleet.tables import name_key
from wakefold_shell.fleet.tails import Policy
from wakefold_shell.fleet.workers import Pace, Worker
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.stores.logs import PARSED_TYPES
from wakefold_shell.stores.rows import Header, read_row

QUICK: Final = Pace(
    heartbeat_seconds=2, dequeue_seconds=0.3, sweep_seconds=0.3, drain_seconds=2, restart_seconds=0.1
)
"""A worker that nobody waits for."""


class Audience:
    """Who gets the messages of all sessions: notes them, and answers at once, or after a while."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Input]] = []
        self.seconds = 0.0
        self.under_way: set[str] = set()
        self.met = 0

    def make_agent(self, header: Header) -> Agent:
        """The agent of a session."""

        async def take_turn(given: Input) -> str:
            if header.id in self.under_way:
                self.met += 1
            self.under_way.add(header.id)
            self.heard.append((header.id, given))
            try:
                await anyio.sleep(self.seconds)
            finally:
                self.under_way.discard(header.id)
            return "done"

        return CallbackAgent(take_turn)

    def of(self, session_id: str) -> list[Input]:
        """What one session's agent was given."""
        return [given for name, given in self.heard if name == session_id]


@asynccontextmanager
async def working(
    dsn: str,
    make_agent: Callable[[Header], Agent],
    policy: Policy = DEFAULT_POLICY,
    pace: Pace = QUICK,
    **options: Any,  # noqa: ANN401 - whatever a worker takes
) -> AsyncIterator[Worker]:
    """A worker that works as long as the block lasts."""
    worker = Worker(dsn, policy, make_agent, pace=pace, **options)
    async with anyio.create_task_group() as tasks:
        await tasks.start(worker.run)
        try:
            yield worker
        finally:
            worker.stop()


@asynccontextmanager
async def peopled(dsn: str, *session_ids: str, **options: Any) -> AsyncIterator[Fleet]:  # noqa: ANN401
    """A fleet with these sessions."""
    async with open_fleet(dsn, **options) as fleet:
        for session_id in session_ids:
            assert await fleet.create_session(session_id, "Europe/Berlin") == session_id
        yield fleet


async def ask(dsn: str, query: str, *arguments: object) -> list[tuple[Any, ...]]:
    """The rows of a query, on a connection of its own."""
    connection = await connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(query, *arguments)]
    finally:
        await connection.close()


async def read_events(dsn: str, session_id: str) -> list[Event]:
    """The log of a session."""
    query = "SELECT data FROM session_log WHERE session_id = $1 ORDER BY seq"
    rows = [read_row(data, PARSED_TYPES) for (data,) in await ask(dsn, query, name_key(session_id))]
    return [row for row in rows if isinstance(row, Event)]


def count_operations(events: list[Event], operation: str) -> int:
    """How many changes of a kind a log has."""
    return sum(isinstance(one.data, dict) and one.data.get("operation") == operation for one in events)


async def until(check: Callable[[], bool | Awaitable[bool]], seconds: float = 20.0) -> None:
    """Wait until something holds."""
    with anyio.fail_after(seconds):
        while True:
            found = check()
            if found if isinstance(found, bool) else await found:
                return
            await anyio.sleep(0.02)


def reminder(**fields: object) -> Json:
    """The arguments of a create."""
    return {"prompt": "look", **fields}
