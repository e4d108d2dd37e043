"""The way in to the MCP server over HTTP: who is let in, how much is taken, how long is waited."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
import pytest

from wakefold_shell.mcp import http
from web_service import BEARER, INITIALIZE, KIND, TAKES, TOKEN, BellTower, Service, serving, status

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """uvicorn runs on asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="module")
async def service() -> AsyncIterator[Service]:
    """A bell tower that is quick to lose patience."""
    async with serving(BellTower().server, body_bytes_max=2000, request_seconds_max=0.5) as found:
        yield found


async def test_who_has_the_token_comes_in(service: Service) -> None:
    """The scheme in any letter case, whatever it is that a client writes around the token."""
    assert await service.initialize(BEARER) == 200
    assert await service.initialize(f"authorization: bearer   {TOKEN}") == 200


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["Authorization: Bearer"],
        ["Authorization: Bearer wrong"],
        [f"{BEARER}x"],
        [BEARER[:-1]],
        [f"Authorization: Bearer {TOKEN.upper()}"],
        [f"Authorization: Basic {TOKEN}"],
        [f"Authorization: {TOKEN}"],
        ["Authorization: Bearer t\xf6ken"],
        [BEARER, BEARER],
        [BEARER, "Authorization: Bearer wrong"],
    ],
    ids=[
        "none",
        "empty",
        "wrong",
        "longer",
        "shorter",
        "upper",
        "basic",
        "bare",
        "latin",
        "twice",
        "two",
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_without_the_token_nobody_comes_in(
    service: Service, lines: list[str], method: str
) -> None:
    """Whatever is asked, one is told how to come in."""
    answer = await service.ask(KIND, TAKES, *lines, method=method, body=INITIALIZE)
    assert status(answer) == 401
    assert b'\r\nwww-authenticate: Bearer realm="wakefold"\r\n' in answer
    assert TOKEN.encode() not in answer


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS", "PUT"])
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://localhost:evil",
        "http://localhost:1",
        "http://localhost",
    ],
)
async def test_no_page_comes_in_whose_origin_is_not_named(
    service: Service, origin: str, method: str
) -> None:
    """Not even with the token, nor from another port of this machine."""
    assert status(await service.ask(BEARER, f"Origin: {origin}", KIND, method=method)) == 403


async def test_not_even_a_page_from_the_servers_own_address_comes_in(service: Service) -> None:
    """It serves no pages."""
    own = f"Origin: http://127.0.0.1:{service.port}"
    assert status(await service.ask(BEARER, own, KIND)) == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "localhost",
        "localhost:evil",
        "127.0.0.1:1",
        "127.0.0.1:*",
        "",
    ],
)
async def test_another_host_is_not_answered_for(service: Service, host: str) -> None:
    """A name that was bound to this address elsewhere does not reach it."""
    assert status(await service.ask(BEARER, f"Host: {host.format(port=service.port)}", KIND)) == 421


async def test_a_request_of_old_without_a_host_is_not_answered(service: Service) -> None:
    """HTTP/1.0 does not demand one, we do."""
    assert status(await service.send(b"GET /mcp HTTP/1.0\r\n\r\n")) == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_loopback_has_three_names(service: Service, host: str) -> None:
    """With the port that is listened on."""
    assert await service.initialize(BEARER, f"Host: {host}:{service.port}") == 200


async def test_a_named_host_and_a_named_origin_come_in_exactly() -> None:
    """As behind a proxy, whose clients write its name."""
    named = {"hosts": ("bells.example",), "origins": ("https://bells.example",)}
    page = "Origin: https://bells.example"
    async with serving(BellTower().server, **named) as service:
        assert await service.initialize(BEARER, "Host: bells.example", page) == 200
        assert await service.initialize(BEARER, page) == 200
        assert await service.initialize(BEARER, "Host: bells.example:443") == 421
        assert await service.initialize(BEARER, "Origin: https://bells.example:8000") == 403
        assert await service.initialize(BEARER, "Origin: http://bells.example") == 403
        assert await service.initialize(BEARER, page, "Origin: https://evil.example") == 403


async def test_a_browser_may_ask_for_a_named_page_what_it_may_send() -> None:
    """Before it has shown a token; the answer to a page that is not named allows nothing."""
    asks = "Access-Control-Request-Method: POST"
    wants = "Access-Control-Request-Headers: authorization,mcp-protocol-version"
    async with serving(BellTower().server, origins=("https://bells.example",)) as service:
        allowed = await service.ask("Origin: https://bells.example", asks, wants, method="OPTIONS")
        refused = await service.ask("Origin: https://evil.example", asks, wants, method="OPTIONS")
        answered = await service.ask(
            KIND, TAKES, BEARER, "Origin: https://bells.example", body=INITIALIZE
        )
    assert status(allowed) == 200
    assert b"access-control-allow-origin: https://bells.example\r\n" in allowed
    assert b"access-control-allow-headers: authorization,mcp-protocol-version\r\n" in allowed
    assert status(refused) == 400
    assert b"access-control-allow-origin" not in refused
    assert b"access-control-expose-headers: Mcp-Session-Id, WWW-Authenticate\r\n" in answered


@pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp2", "/.well-known/oauth-protected-resource"])
async def test_there_is_one_place(service: Service, path: str) -> None:
    """Whoever has no token is not even told where."""
    assert status(await service.ask(BEARER, path=path)) == 404
    assert status(await service.ask(path=path)) == 401


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"[" * 1900, b"\xff\xfe"])
async def test_what_is_no_request_is_told_so(service: Service, body: bytes) -> None:
    """By the SDK; the server is well afterwards."""
    assert status(await service.ask(KIND, TAKES, BEARER, body=body)) == 400
    assert await service.initialize(BEARER) == 200


async def test_what_the_protocol_does_not_have_is_told_so(service: Service) -> None:
    """By the SDK: another method, another Accept, another kind of body, a client that is not known."""
    forgotten = "Mcp-Session-Id: 0123456789abcdef"
    assert status(await service.ask(BEARER, KIND, TAKES, method="PUT")) == 405
    assert status(await service.ask(BEARER, KIND, "Accept: text/html", body=INITIALIZE)) == 406
    assert status(await service.ask(BEARER, "Content-Type: text/plain", TAKES, body=INITIALIZE)) == 400
    assert status(await service.ask(BEARER, KIND, TAKES, forgotten)) == 404


async def test_a_body_over_the_limit_is_not_taken(service: Service) -> None:
    """Declared or found out on the way, it is answered at once; one at the limit is read."""
    huge = f"Content-Length: {10**12}"
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n{BEARER}\r\n"
    assert status(await service.ask(BEARER, KIND, TAKES, body=b" " * 2001)) == 413
    assert status(await service.ask(BEARER, KIND, TAKES, body=b" " * 2000)) == 400
    assert status(await service.send(f"{head}{huge}\r\n\r\n".encode())) == 413
    chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
    endless = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 2
    assert status(await service.send(endless)) == 413


async def test_a_client_that_sends_all_of_a_great_body_still_reads_the_answer(service: Service) -> None:
    """What is left of it is passed over, so that no reset takes the answer away."""
    assert status(await service.ask(BEARER, KIND, TAKES, body=b" " * 3_000_000)) == 413
    assert status(await service.ask(KIND, TAKES, body=b" " * 3_000_000)) == 401


async def test_a_body_in_chunks_is_taken(service: Service) -> None:
    """As the same in one piece."""
    cut = len(INITIALIZE) // 2
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in (INITIALIZE[:cut], INITIALIZE[cut:], b""))
    chunked = "Transfer-Encoding: chunked"
    assert status(await service.ask(BEARER, KIND, TAKES, chunked, body=chunks)) == 200


async def drip(service: Service, start: bytes, piece: bytes) -> tuple[bytes, float]:
    """What comes back to a client that sends a piece every so often, and after how many seconds."""
    began = time.monotonic()
    heard = b""

    async def send() -> None:
        with suppress(anyio.BrokenResourceError):
            await connection.send(start)
            while piece:
                await anyio.sleep(0.05)
                await connection.send(piece)

    with anyio.fail_after(10):
        async with (
            await anyio.connect_tcp("127.0.0.1", service.port) as connection,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(send)
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    heard += await connection.receive()
            tasks.cancel_scope.cancel()
    return heard, time.monotonic() - began


@pytest.mark.parametrize("said", [b"", b"POST /mcp HT", b"{head}", b"{head}{"])
async def test_a_client_that_leaves_amid_its_request_is_let_go(
    service: Service, said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is handed on, nothing is complained of, and others are answered."""
    head = service.write(BEARER, body=b" " * 9)[:-9]
    async with await anyio.connect_tcp("127.0.0.1", service.port) as connection:
        await connection.send(said.replace(b"{head}", head))
        await anyio.sleep(0.05)
    assert await service.initialize(BEARER) == 200
    assert caplog.records == []


@pytest.mark.parametrize("piece", [b"", b" "], ids=["silent", "dripping"])
@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
async def test_a_slow_body_is_told_so(service: Service, framing: str, piece: bytes) -> None:
    """However small the pieces; the connection is closed, and others are answered meanwhile."""
    if "chunked" in framing:
        piece = piece and b"1\r\n \r\n"
    start = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n{BEARER}\r\n{framing}\r\n\r\n"
    heard: list[tuple[bytes, float]] = []

    async def wait() -> None:
        heard.append(await drip(service, start.encode(), piece))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        assert await service.initialize(BEARER) == 200
    ((answer, seconds),) = heard
    assert status(answer) == 408
    assert b"\r\nconnection: close\r\n" in answer
    assert seconds >= 0.5


async def test_a_connection_on_which_nothing_comes_is_closed(service: Service) -> None:
    """As if something had begun to come."""
    heard, seconds = await drip(service, b"", b"")
    assert heard == b""
    assert seconds >= 0.5


@pytest.mark.parametrize("piece", [b"", b"a"], ids=["silent", "dripping"])
@pytest.mark.parametrize("start", [b"P", b"POST /mcp HTTP/1.1\r\nHost: "], ids=["letter", "half"])
async def test_a_slow_head_closes_the_connection(service: Service, start: bytes, piece: bytes) -> None:
    """There is nothing that could be answered."""
    heard, seconds = await drip(service, start, piece)
    assert heard == b""
    assert seconds >= 0.5


async def test_a_second_request_must_be_as_quick_as_the_first(service: Service) -> None:
    """A connection that is kept open is no place to be slow in."""
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n\r\n".encode()
    heard, seconds = await drip(service, request * 2 + b"GET /", b"x")
    assert heard.count(b"HTTP/1.1 401 ") == 2
    assert seconds >= 0.5


async def test_after_a_refusal_the_rest_of_a_body_is_not_waited_for(service: Service) -> None:
    """It is passed over for a while, and no longer."""
    start = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nContent-Length: 1000\r\n\r\n"
    heard, seconds = await drip(service, start.encode(), b"x")
    assert status(heard) == 401
    assert seconds >= 0.5


async def test_a_head_of_any_length_is_not_read(service: Service) -> None:
    """It is bad as soon as 64 KiB of it have come, and it is not whole."""
    assert status(await service.ask(BEARER, KIND, TAKES, f"X-Long: {'x' * 2_000_000}")) == 400


async def test_a_connection_is_kept_for_the_next_request(service: Service) -> None:
    """And may rest between two of them."""
    body = INITIALIZE
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost:{service.port}\r\n{BEARER}\r\n{KIND}\r\n{TAKES}\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    async with await anyio.connect_tcp("127.0.0.1", service.port) as connection:
        for _ in range(3):
            await connection.send(request)
            with anyio.fail_after(5):
                heard = b""
                while not heard.endswith(b"0\r\n\r\n"):
                    heard += await connection.receive()
            assert status(heard) == 200
            await anyio.sleep(0.2)


async def test_who_comes_when_too_many_are_there_is_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half of the connections are for requests; one beyond all of them is closed at once."""
    monkeypatch.setattr(http, "CONNECTIONS_MAX", 6)
    async with serving(BellTower().server) as service:
        silent = [await anyio.connect_tcp("127.0.0.1", service.port) for _ in range(4)]
        assert await service.initialize(BEARER) == 503
        silent += [await anyio.connect_tcp("127.0.0.1", service.port) for _ in range(2)]
        assert await service.send(b"GET ") == b""
        for connection in silent:
            await connection.aclose()
        await anyio.sleep(0.1)
        assert await service.initialize(BEARER) == 200


async def test_beyond_loopback_the_same_is_refused() -> None:
    """Every address is listened on; the names are still exact, and the token is asked for."""
    async with serving(BellTower().server, host="0.0.0.0", hosts=("bells.example:80",)) as service:
        assert await service.initialize(BEARER) == 200
        assert await service.initialize(BEARER, "Host: bells.example:80") == 200
        assert await service.initialize() == 401
        assert await service.initialize(BEARER, "Host: evil.example") == 421
        assert await service.initialize(BEARER, "Origin: http://evil.example") == 403
        assert await service.initialize(BEARER, "Origin: null") == 403
        assert await service.initialize(BEARER, "Origin: http://localhost:evil") == 403


async def test_without_a_token_loopback_is_open_and_it_is_told() -> None:
    """To every program of this machine, but to no page."""
    async with serving(BellTower().server, token=None) as service:
        assert await service.initialize() == 200
        assert service.told == [
            "no token is set: every program on this machine can come in; see --token-file.",
            f"listening on {service.url}",
        ]
        assert await service.initialize("Origin: http://evil.example") == 403
        assert await service.initialize(f"Host: evil.example:{service.port}") == 421
