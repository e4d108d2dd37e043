"""The official client over HTTP, in both eras: one, two at once, a killed one, and an ending server."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Literal

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ResourceUpdatedNotification, TextContent, TextResourceContents
from starlette.types import Message, Receive, Scope, Send

from wakefold.json_text import format_json
from wakefold_shell.mcp.gates import MCP_PATH, Admission, Gate
from web_service import (
    BEARER,
    BELL,
    INITIALIZE,
    KIND,
    NAMES,
    TAKES,
    TOKEN,
    BellTower,
    Service,
    serving,
    status,
)

pytestmark = pytest.mark.anyio

Era = Literal["legacy", "auto"]
ERAS: Final = pytest.mark.parametrize("era", ["legacy", "auto"])


@pytest.fixture
def anyio_backend() -> str:
    """uvicorn runs on asyncio alone."""
    return "asyncio"


@asynccontextmanager
async def connecting(
    url: str, era: Era, token: str = TOKEN, hear: MessageHandlerFnT | None = None
) -> AsyncIterator[Client]:
    """The official client, as long as the block lasts."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False) as http_client:
        transport = streamable_http_client(url, http_client=http_client)
        async with Client(transport, mode=era, read_timeout_seconds=10, message_handler=hear) as client:
            yield client


async def call(client: Client, tool: str, **arguments: object) -> str:
    """The text that a tool answers with, refusal or not."""
    (block,) = (await client.call_tool(tool, arguments)).content
    assert isinstance(block, TextContent)
    return block.text


async def ring(client: Client, number: int) -> bool:
    """Ring the bell; whether the answer is the one to this call."""
    return await call(client, "ring", n=number) == f'{{"n":{number}}}'


def find_error(error: BaseException) -> BaseException:
    """The one error within groups of one."""
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    return error


@ERAS
async def test_tools_refusals_errors_and_resources_come_through(era: Era) -> None:
    """All that a server offers passes the gate."""
    async with serving(BellTower().server) as service, connecting(service.url, era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
        assert await ring(client, 1)
        assert (await client.call_tool("fail", {})).is_error
        assert [resource.uri for resource in (await client.list_resources()).resources] == [BELL]
        (read,) = (await client.read_resource(BELL)).contents
        assert isinstance(read, TextResourceContents)
        assert read.text == '["{\\"n\\":1}"]'
        with pytest.raises(MCPError):
            await client.get_prompt("none")
        assert await ring(client, 2)


async def test_a_subscriber_of_the_handshake_era_hears_what_another_client_does() -> None:
    """On the stream that it holds open beside its requests."""
    heard = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification) and message.params.uri == BELL:
            heard.set()

    async with (
        serving(BellTower().server) as service,
        connecting(service.url, "legacy", hear=hear) as client,
        connecting(service.url, "auto") as other,
    ):
        with pytest.warns(MCPDeprecationWarning):
            await client.session.subscribe_resource(BELL)
        with anyio.fail_after(5):
            while not heard.is_set():  # its stream may come to stand a moment later
                assert await ring(other, 1)
                await anyio.sleep(0.05)


async def test_a_listener_of_the_modern_era_hears_what_another_client_does() -> None:
    """Within the stream that it opened for it."""
    async with (
        serving(BellTower().server) as service,
        connecting(service.url, "auto") as client,
        client.listen(resource_subscriptions=[BELL]) as events,
        connecting(service.url, "legacy") as other,
    ):
        assert await ring(other, 1)
        with anyio.fail_after(5):
            assert await anext(aiter(events)) == ResourceUpdated(BELL)


@ERAS
async def test_a_client_without_the_token_is_told_so(era: Era) -> None:
    """In the gate's own words, and at once."""
    async with serving(BellTower().server) as service:
        with pytest.raises(ExceptionGroup) as refused, anyio.fail_after(5):
            async with connecting(service.url, era, "wrong"):
                pytest.fail("it came in")
    assert str(find_error(refused.value)) == "the token is missing or wrong"


async def test_two_clients_at_once_get_their_own_answers() -> None:
    """Fifty calls each, of both eras, on one server."""
    tower = BellTower()

    async def ring_often(url: str, era: Era, first: int) -> None:
        async with connecting(url, era) as client:
            for number in range(first, first + 50):
                assert await ring(client, number)

    async with serving(tower.server) as service, anyio.create_task_group() as clients:
        clients.start_soon(ring_often, service.url, "legacy", 0)
        clients.start_soon(ring_often, service.url, "auto", 100)
    assert len(tower.rung) == len(set(tower.rung)) == 100


CALLER: Final = """
import anyio, httpx2, sys
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main(url, era, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False) as http_client:
        async with Client(streamable_http_client(url, http_client=http_client), mode=era) as client:
            await client.call_tool("wait", {"seconds": 600})

anyio.run(main, *sys.argv[1:])
"""


@ERAS
async def test_a_client_that_is_killed_amid_a_call_leaves_the_server_well(era: Era) -> None:
    """The others are answered as ever, and nothing holds the server up when it is to end."""
    tower = BellTower()
    async with serving(tower.server) as service, connecting(service.url, "auto") as other:
        caller = await anyio.open_process([sys.executable, "-c", CALLER, service.url, era, TOKEN])
        try:
            await tower.being_waited_for()
        finally:
            caller.kill()
            await caller.aclose()
        for number in range(5):
            assert await ring(other, number)
    assert tower.gone.is_set()
    assert tower.waiting == 0


@ERAS
async def test_what_is_under_way_comes_to_its_end_before_the_server_does(era: Era) -> None:
    """A call that takes a moment is answered."""
    tower = BellTower()
    answers: list[str] = []

    async def wait(client: Client) -> None:
        answers.append(await call(client, "wait", seconds=0.4))

    async with (
        serving(tower.server) as service,
        connecting(service.url, era) as client,
        anyio.create_task_group() as tasks,
    ):
        await client.list_tools()  # else the client asks for them after its call
        tasks.start_soon(wait, client)
        await tower.being_waited_for()
        service.stop.set()
    assert answers == ['{"seconds":0.4}']


@ERAS
async def test_what_does_not_end_is_ended(era: Era, caplog: pytest.LogCaptureFixture) -> None:
    """Its client is told that there will be no answer, and uvicorn has nothing to complain of."""
    tower = BellTower()

    async def wait(client: Client) -> None:
        with pytest.raises(MCPError):
            await call(client, "wait", seconds=600)

    async with (
        serving(tower.server) as service,
        connecting(service.url, era) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(wait, client)
        await tower.being_waited_for()
        service.stop.set()
        with anyio.fail_after(10):
            await tower.gone.wait()
    assert tower.waiting == 0
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


async def open_session(service: Service) -> str:
    """The header of a client of the handshake era, which has shaken hands."""
    opened = await service.ask(BEARER, KIND, TAKES, body=INITIALIZE)
    lines = opened.decode().split("\r\n")
    (session,) = [line for line in lines if line.startswith("mcp-session-id")]
    shaken = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert status(await service.ask(BEARER, KIND, TAKES, session, body=shaken)) == 202
    return session


async def test_an_open_stream_ends_in_order() -> None:
    """Its last chunk is sent, so that no client takes the end for a broken connection."""
    heard: list[bytes] = []
    async with serving(BellTower().server) as service, anyio.create_task_group() as tasks:
        session = await open_session(service)

        async def listen() -> None:
            heard.append(await service.ask(BEARER, TAKES, session, method="GET", body=b""))

        tasks.start_soon(listen)
        await anyio.sleep(0.3)
        assert heard == []
        service.stop.set()
    assert status(heard[0]) == 200
    assert heard[0].endswith(b"0\r\n\r\n")


async def test_a_client_that_reads_nothing_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    """Neither the others nor the end of the server, though an answer waits for it."""
    tower = BellTower()
    params = {"name": "boom", "arguments": {}}
    body = format_json({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).encode()
    async with serving(tower.server) as service:
        session = await open_session(service)
        request = service.write(BEARER, KIND, TAKES, session, body=body)
        async with await anyio.connect_tcp("127.0.0.1", service.port) as silent:
            await silent.send(request)
            async with connecting(service.url, "auto") as other:
                await tower.being_waited_for()
                assert await ring(other, 1)
            service.stop.set()
            with anyio.fail_after(10):
                await tower.gone.wait()
    assert not any(record.exc_info for record in caplog.records)


async def test_a_cancelled_server_leaves_nothing_open() -> None:
    """Neither its port, nor a connection that rests, nor what lives within it."""
    tower = BellTower()
    with anyio.move_on_after(0.5):
        async with serving(tower.server) as service:
            resting = await anyio.connect_tcp("127.0.0.1", service.port)
            assert await service.ask(BEARER, path="/") != b""
            assert not tower.gone.is_set()
            await anyio.sleep_forever()
    with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
        await resting.receive()
    await resting.aclose()
    with pytest.raises(OSError, match="connection attempts failed"):
        await anyio.connect_tcp("127.0.0.1", service.port)
    assert tower.gone.is_set()


async def test_what_cannot_be_sent_any_more_is_not_waited_for() -> None:
    """The end of a stream, to a client that takes nothing."""
    started = anyio.Event()

    async def stream(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        started.set()
        await anyio.sleep_forever()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body" and not message["more_body"]:
            await anyio.sleep_forever()

    async def receive() -> Message:
        return {"type": "http.request"}

    gate = Gate(stream, Admission(frozenset({"here"}), frozenset(), None, 10, 1.0))
    scope = {"type": "http", "path": MCP_PATH, "headers": [(b"host", b"here")]}
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gate, scope, receive, send)
            await started.wait()
            gate.close()
