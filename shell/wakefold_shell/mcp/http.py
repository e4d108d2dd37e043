"""The MCP server over streamable HTTP, for any number of clients: how it is served, and how it ends.

uvicorn serves it, and therefore asyncio. This module refuses to know what the server offers, and has
no other way in than the gate.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Final

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from wakefold_shell.mcp.connections import bound_connections
from wakefold_shell.mcp.endpoints import Endpoint, join_address, list_hosts, open_listener
from wakefold_shell.mcp.gates import MCP_PATH, Admission, Gate
from wakefold_shell.mcp.server import make_server
from wakefold_shell.mcp.sessions import Sessions

CONNECTIONS_MAX: Final = 128
"""Beyond half of it a request is answered with 503, beyond all of it a connection is closed."""

CLIENTS_MAX: Final = 256
"""How many clients of the handshake era are kept, each until it has rested for half an hour."""

_CLIENT_IDLE_SECONDS_MAX: Final = 30 * 60.0
_ANSWER_SECONDS_MAX: Final = 1.0  # for what is under way when the server is to end
_SHUTDOWN_SECONDS_MAX: Final = 2  # for all of it: uvicorn takes whole seconds


async def serve_http(
    sessions: AbstractAsyncContextManager[Sessions], endpoint: Endpoint, tell: Callable[[str], None]
) -> None:
    """Serve the sessions until SIGINT or SIGTERM comes; `ShellError` if it cannot listen there.

    `tell` hears where it listens, once it does, what is unsafe about it, and of the signal.
    """
    stop = anyio.Event()
    with open_listener(endpoint) as listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, stop, tell)
            async with sessions as opened:
                await serve_listener(listener, make_server(opened), endpoint, stop, tell)
            tasks.cancel_scope.cancel()


async def serve_listener(
    listener: socket.socket,
    server: Server[Any],
    endpoint: Endpoint,
    stop: anyio.Event,
    tell: Callable[[str], None],
) -> None:
    """Serve any server until `stop`, then let what is under way come to its end for a moment.

    Cancellation is taken for a stop.
    """
    address, port = listener.getsockname()[:2]
    admission = Admission(
        hosts=list_hosts(endpoint, address, port),
        origins=frozenset(endpoint.origins),
        token=endpoint.token,
        body_bytes_max=endpoint.body_bytes_max,
        body_seconds_max=endpoint.request_seconds_max,
    )
    clients = StreamableHTTPSessionManager(
        server,
        security_settings=TransportSecuritySettings(  # its defaults would let in too many
            allowed_hosts=sorted(admission.hosts), allowed_origins=sorted(admission.origins)
        ),
        session_idle_timeout=_CLIENT_IDLE_SECONDS_MAX,
        max_request_body_size=endpoint.body_bytes_max,
        max_sessions=CLIENTS_MAX,
    )
    gate = Gate(clients.handle_request, admission)
    web = _WebServer(_configure(_open_to_pages(gate, endpoint), endpoint))
    async with clients.run():
        if endpoint.token is None:
            tell("no token is set: every program on this machine can come in; see --token-file.")
        tell(f"listening on http://{join_address(address, port)}{MCP_PATH}")
        await _serve(web, listener, gate, stop)


async def _serve(web: uvicorn.Server, listener: socket.socket, gate: Gate, stop: anyio.Event) -> None:
    ended = anyio.Event()

    async def run() -> None:
        with anyio.CancelScope(shield=True):  # it ends by itself, soon after it is told to
            await web.serve([listener])
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            await stop.wait()
        finally:
            web.should_exit = True
            with anyio.move_on_after(_ANSWER_SECONDS_MAX, shield=True):
                await ended.wait()
            gate.close()


async def _stop_on_signal(stop: anyio.Event, tell: Callable[[str], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            tell(f"stopped by {number.name}.")
            stop.set()


class _WebServer(uvicorn.Server):
    """uvicorn, which leaves the signals to us."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _configure(app: ASGIApp, endpoint: Endpoint) -> uvicorn.Config:
    """Nothing but HTTP, bounded, and not a word on standard output."""
    return uvicorn.Config(
        app,
        http=bound_connections(CONNECTIONS_MAX, endpoint.request_seconds_max),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX // 2,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS_MAX,
    )


def _open_to_pages(gate: Gate, endpoint: Endpoint) -> ASGIApp:
    """The gate, and before it the answer to what a browser asks, without a token, for a named page."""
    if not endpoint.origins:
        return gate
    return CORSMiddleware(
        gate,
        allow_origins=endpoint.origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        expose_headers=("Mcp-Session-Id", "WWW-Authenticate"),
    )
