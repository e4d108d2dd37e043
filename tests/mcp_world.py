"""The official MCP client, connected to our server: in memory, or over the pipes of a process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    CallToolResult,
    ResourceUpdatedNotification,
    TextContent,
    TextResourceContents,
)

from command import EXECUTABLE
from memory_world import HandClock
from wakefold_shell.guarding import Watchman
from wakefold_shell.hosts.clients import ClientAgent
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.mcp.server import make_server
from wakefold_shell.mcp.sessions import Place, open_sessions
from wakefold_shell.protocols import Clock
from wakefold_shell.runners import Runner
from wakefold_shell.stores.rows import Header

Mode = Literal["legacy", "auto"]
MODES: Sequence[Mode] = ("legacy", "auto")


def leave_in_inbox(_: Path, __: Header) -> Agent:
    return ClientAgent()


class World:
    """A client, and what it was told beside its answers."""

    def __init__(self, client: Client, heard: list[Any]) -> None:
        self.client, self.heard = client, heard

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """What a tool answers, its text and its structure alike."""
        result = await self.ask(tool, **arguments)
        assert not result.is_error, texts_of(result)
        value = json.loads(texts_of(result)[0])
        structured = result.structured_content
        assert isinstance(structured, dict)
        assert {key: told for key, told in structured.items() if key != "inbox"} == value
        return structured

    async def refuse(self, tool: str, **arguments: object) -> dict[str, Any]:
        """How a tool refuses: in text alone."""
        result = await self.ask(tool, **arguments)
        assert result.is_error
        assert result.structured_content is None
        value: dict[str, Any] = json.loads(texts_of(result)[0])
        assert len(value["message"]) > 10
        return value

    async def ask(self, tool: str, **arguments: object) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)

    async def read(self, uri: str) -> Any:  # noqa: ANN401 - parsed JSON
        """What a resource holds."""
        result = await self.client.read_resource(uri)
        (content,) = result.contents
        assert isinstance(content, TextResourceContents)
        assert (content.uri, content.mime_type) == (uri, "application/json")
        return json.loads(content.text)

    async def until_inbox(self, total: int) -> list[dict[str, Any]]:
        """The messages of the inbox, once there are as many."""
        while True:
            inbox = (await self.call("schedule_list"))["inbox"]
            if inbox["total"] == total:
                messages: list[dict[str, Any]] = inbox["messages"]
                return messages
            await anyio.sleep(0.01)


def texts_of(result: CallToolResult) -> list[str]:
    """The blocks of a result, which are text."""
    found = [block.text for block in result.content if isinstance(block, TextContent)]
    assert len(found) == len(result.content)
    return found


@asynccontextmanager
async def serving(
    place: Path | Place, *, clock: Clock | None = None, watchman: Watchman | None = None
) -> AsyncIterator[Server[Any]]:
    """A server in this process, for clients in it."""
    make_runner = partial(
        Runner, make_agent=leave_in_inbox, clock=clock or HandClock(), watchman=watchman
    )
    at = place if isinstance(place, Place) else Place(place)
    with anyio.fail_after(30):
        async with open_sessions(at, make_runner) as sessions:
            yield make_server(sessions)


@asynccontextmanager
async def joined(
    server: Server[Any] | StdioServerParameters, mode: Mode = "auto"
) -> AsyncIterator[World]:
    """A client of a server; having listed the tools, it checks all answers by their schemas."""
    heard: list[Any] = []

    async def hear(message: object) -> None:
        heard.append(message)

    async with Client(server, mode=mode, message_handler=hear, read_timeout_seconds=20) as client:
        await client.list_tools()
        yield World(client, heard)


@asynccontextmanager
async def connected(
    place: Path | Place,
    mode: Mode = "auto",
    *,
    clock: Clock | None = None,
    watchman: Watchman | None = None,
) -> AsyncIterator[World]:
    """One client of a server in this process."""
    async with (
        serving(place, clock=clock, watchman=watchman) as server,
        joined(server, mode) as world,
    ):
        yield world


@asynccontextmanager
async def piped(*arguments: str | Path, mode: Mode = "auto") -> AsyncIterator[World]:
    """A client of the real command, in a process of its own."""
    server = StdioServerParameters(command=EXECUTABLE, args=["mcp", *map(str, arguments)])
    with anyio.fail_after(60):
        async with joined(server, mode) as world:
            yield world


def uris_heard(world: World) -> list[str]:
    """What the client was told of."""
    return [
        message.params.uri
        for message in world.heard
        if isinstance(message, ResourceUpdatedNotification)
    ]


@asynccontextmanager
async def subscribed(world: World, mode: Mode, *uris: str) -> AsyncIterator[None]:
    """A subscription of the client's era."""
    if mode == "legacy":
        for uri in uris:
            with pytest.warns(MCPDeprecationWarning):
                await world.client.session.subscribe_resource(uri)
        yield
        for uri in uris:
            with pytest.warns(MCPDeprecationWarning):
                await world.client.session.unsubscribe_resource(uri)
        return
    async with world.client.listen(resource_subscriptions=list(uris)):
        yield
