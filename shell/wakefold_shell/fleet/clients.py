"""A fleet as a program uses it: sessions are made, changed and spoken to, from any process.

Whoever is free delivers (`workers`). This module decides nothing about a session: each of its calls is
one transaction (`transactions`), durable when it returns.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast
from uuid import uuid4

from returns.result import Failure

from wakefold.outcomes import either
from wakefold.rejections import Operation, PersistenceUncertain
from wakefold.tools import ToolAnswer, ToolName
from wakefold.wakings import Waking, call_tool, take_word
from wakefold_shell.fleet.bulk_creates import NewSession, create_sessions
from wakefold_shell.fleet.databases import Connection, Pool, open_pool, refusals
from wakefold_shell.fleet.schema import check_schema
from wakefold_shell.fleet.tables import insert_session, name_key, read_now_ms, read_session
from wakefold_shell.fleet.tails import Policy
from wakefold_shell.fleet.transactions import (
    UncertainError,
    UnknownSessionError,
    do_nothing,
    visit_session,
)
from wakefold_shell.stores.rows import Header, encode_header, read_header

CONNECTIONS_MAX: Final = 10
"""How many connections a program shares among its calls, by default."""

#: Sessions under the profile SEED, without a guard.
#:
#: :shape: a `Policy`
#: :units: none
#: :errors: none
#: :source: ours, docs/fleet.md
DEFAULT_POLICY: Final = Policy()

_OPERATIONS: Final[dict[ToolName, Operation]] = {
    "schedule_create": "create",
    "schedule_list": "list",
    "schedule_update": "update",
    "schedule_delete": "delete",
}


class Fleet:
    """The sessions of a database. Made by `open_fleet`; asyncio only.

    Each call is one transaction by the database's clock, durable when it returns.

    :shape: sessions are named by their ids; tools take and answer as everywhere
    :units: those of the tools, docs/tools.md
    :errors: each call: `FleetError` where the database cannot be used, `UnknownSessionError`,
        `OwnedError` while a program lives in the session, `JournalError` where its log is damaged; a
        tool's refusal is a `Failure`
    :source: spec section 11; ours, docs/fleet.md
    """

    def __init__(self, pool: Pool, policy: Policy) -> None:
        """Connections to share, and how sessions are read and written."""
        self._pool, self._policy = pool, policy

    async def create_session(
        self, session_id: str | None = None, time_zone: str | None = None
    ) -> str | None:
        """A new session's id; `None` where there is one of that id. The zone must be canonical."""
        name = f"session-{uuid4()}" if session_id is None else session_id
        with refusals():
            async with self._pool.acquire() as pooled, pooled.transaction():
                connection = cast("Connection", pooled)
                header = Header(name, await read_now_ms(connection), time_zone=time_zone)
                line = encode_header(header, "/").removesuffix(b"\n")
                made = await insert_session(connection, name_key(name), line)
        return name if made else None

    async def create_sessions(
        self, sessions: Sequence[NewSession]
    ) -> dict[str, tuple[ToolAnswer, ...]]:
        """Many new sessions with their reminders at once, some hundreds best; their answers by id.

        Sessions that are there already are left alone, and left out.
        """
        with refusals():
            async with self._pool.acquire() as pooled, pooled.transaction():
                return await create_sessions(cast("Connection", pooled), self._policy, sessions)

    async def call(self, session_id: str, tool: ToolName, arguments: object) -> ToolAnswer:
        """The answer of a tool. No turn is open in what it sees: a local time must name its zone.

        `persistence_uncertain` where the server went away while it committed.
        """
        answers: list[ToolAnswer] = []

        def act(waking: Waking) -> tuple[Waking, ToolAnswer]:
            waking, answer = call_tool(waking, tool, arguments, self._policy.protocol)
            answers.append(answer)
            return waking, answer

        try:
            visit = await visit_session(self._pool, name_key(session_id), self._policy, act)
        except UncertainError:
            return Failure(PersistenceUncertain(_OPERATIONS[tool], _find_id(answers[-1])))
        return visit.answer

    async def say(self, session_id: str, text: str, client_time_zone: str | None = None) -> str:
        """Put a person's word into the inbox; the message's id. The zone must be canonical."""
        message_id, rpc_id = str(uuid4()), str(uuid4())

        def act(waking: Waking) -> tuple[Waking, None]:
            return take_word(waking, message_id, rpc_id, text, client_time_zone), None

        await visit_session(self._pool, name_key(session_id), self._policy, act)
        return message_id

    async def wake(self, session_id: str) -> None:
        """Have a worker look what is due, as after an import."""
        await visit_session(self._pool, name_key(session_id), self._policy, do_nothing)

    async def read_header(self, session_id: str) -> Header:
        """The header of a session, with its zone; `UnknownSessionError`."""
        with refusals():
            async with self._pool.acquire() as pooled:
                session = await read_session(cast("Connection", pooled), name_key(session_id))
        if session is None:
            raise UnknownSessionError(name_key(session_id))
        return read_header(session.header)

    async def remove_empty(self, session_id: str) -> None:
        """Take back a session that was made for nothing; one that has a log stays."""
        with refusals():
            await self._pool.execute(
                "DELETE FROM session WHERE session_id = $1 AND next_seq = 0", name_key(session_id)
            )


@asynccontextmanager
async def open_fleet(
    dsn: str, policy: Policy = DEFAULT_POLICY, connections_max: int = CONNECTIONS_MAX
) -> AsyncIterator[Fleet]:
    """A fleet for as long as the block lasts.

    :shape: `dsn` is `postgresql://user@host/database`
    :units: `connections_max` counts connections that the calls share
    :errors: `FleetError` unless the database is there and prepared
    :source: ours, docs/fleet.md
    """
    async with open_pool(dsn, connections_max) as pool:
        with refusals():
            async with pool.acquire() as pooled:
                await check_schema(cast("Connection", pooled))
        yield Fleet(pool, policy)


def _find_id(answer: ToolAnswer) -> str | None:
    """The reminder that an answer is about, where it is about one."""
    value = either(answer, lambda value: value, lambda _: None)
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
