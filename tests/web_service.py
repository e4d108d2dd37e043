"""An MCP server over real HTTP on a loopback port, and clients that send raw bytes, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
)
from msgspec import Struct, structs

from wakefold.json_text import format_json
from wakefold_shell.mcp.endpoints import Endpoint, open_listener
from wakefold_shell.mcp.http import serve_listener

TOKEN: Final = "t0ken-of-the-tests"
BEARER: Final = f"Authorization: Bearer {TOKEN}"
KIND: Final = "Content-Type: application/json"
TAKES: Final = "Accept: application/json, text/event-stream"
BELL: Final = "bell://tower"

NAMES: Final = ["ring", "wait", "fail", "boom"]

_CLIENT: Final = {"name": "raw", "version": "1"}
_PARAMS: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}
INITIALIZE: Final = format_json(
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _PARAMS}
).encode()


class BellTower:
    """A small server: `ring` is heard by subscribers, `wait` and `boom` are long, `fail` refuses."""

    def __init__(self) -> None:
        self.rung: list[str] = []
        self.waiting = 0
        self.gone = anyio.Event()
        self._bus, self._sessions = InMemorySubscriptionBus(), dict[int, Any]()
        self.server: Server[None] = Server(
            "bell-tower",
            version="1",
            lifespan=self._live,
            on_list_tools=self._list_tools,
            on_call_tool=self._call,
            on_list_resources=self._list_resources,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    async def being_waited_for(self) -> None:
        """Return when somebody has called `wait`."""
        with anyio.fail_after(20):
            while not self.waiting:
                await anyio.sleep(0.01)

    @asynccontextmanager
    async def _live(self, _: Server[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self.gone.set()

    async def _list_tools(
        self, _: ServerRequestContext[None], __: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(
            tools=[Tool(name=name, input_schema={"type": "object"}) for name in NAMES]
        )

    async def _call(
        self, _: ServerRequestContext[None], params: CallToolRequestParams
    ) -> CallToolResult:
        said = format_json(params.arguments or {})
        if params.name == "wait":
            self.waiting += 1
            try:
                await anyio.sleep(float((params.arguments or {})["seconds"]))
            finally:
                self.waiting -= 1
        if params.name == "boom":
            self.waiting += 1
            said = "o" * 20_000_000
        if params.name == "ring":
            self.rung.append(said)
            await self._bus.publish(ResourceUpdated(BELL))
            for session in self._sessions.values():
                await session.send_resource_updated(BELL)
        return CallToolResult(
            content=[TextContent(type="text", text=said)], is_error=params.name == "fail"
        )

    async def _list_resources(
        self, _: ServerRequestContext[None], __: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return ListResourcesResult(resources=[Resource(uri=BELL, name="bell")])

    async def _read(
        self, _: ServerRequestContext[None], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        text = format_json(self.rung)
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=text)])

    async def _subscribe(
        self, context: ServerRequestContext[None], _: SubscribeRequestParams
    ) -> EmptyResult:
        self._sessions[id(context.session)] = context.session
        return EmptyResult()


class Service(Struct):
    """Where a server listens, what it told, and the event that ends it."""

    port: int
    told: list[str]
    stop: anyio.Event

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def send(self, content: bytes) -> bytes:
        """What comes back for these bytes until the server has closed the connection."""
        heard = b""
        with anyio.fail_after(10):
            async with await anyio.connect_tcp("127.0.0.1", self.port) as connection:
                with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
                    await connection.send(content)
                    while True:
                        heard += await connection.receive()
        return heard

    def write(
        self, *lines: str, method: str = "POST", path: str = "/mcp", body: bytes = b"{}"
    ) -> bytes:
        """The bytes of one request, its Host right where the lines name none."""
        given = [line for line in lines if line]
        if not any(line.lower().startswith("host:") for line in given):
            given.append(f"Host: 127.0.0.1:{self.port}")
        if not any("encoding:" in line.lower() for line in given):
            given.append(f"Content-Length: {len(body)}")
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *given, "Connection: close", "", ""])
        return head.encode("latin-1") + body

    async def ask(
        self, *lines: str, method: str = "POST", path: str = "/mcp", body: bytes = b"{}"
    ) -> bytes:
        """What comes back for one request."""
        return await self.send(self.write(*lines, method=method, path=path, body=body))

    async def initialize(self, *lines: str) -> int:
        """The status of an initialize request, which is 200 for whoever is let in."""
        return status(await self.ask(KIND, TAKES, *lines, body=INITIALIZE))


@asynccontextmanager
async def serving(server: Server[Any], **settings: object) -> AsyncIterator[Service]:
    """A service on a loopback port as long as the block lasts; its settings are the endpoint's."""
    endpoint = structs.replace(Endpoint("127.0.0.1", 0, TOKEN), **settings)
    told, stop = list[str](), anyio.Event()
    with open_listener(endpoint) as listener:
        port = listener.getsockname()[1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_listener, listener, server, endpoint, stop, told.append)
            try:
                yield Service(port, told, stop)
            finally:
                stop.set()


def status(answer: bytes) -> int:
    """The status of an answer; 0 if there is none."""
    return int(answer.split(b" ", 2)[1]) if answer else 0
