"""The MCP server over streamable HTTP: where it listens, whom it lets in, and how it ends.

It serves any server of the official SDK, by uvicorn and therefore on asyncio. It refuses to know what
the server offers, and has no other way in than the gate.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from msgspec import Struct
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from wakefold_shell.errors import ShellError, explain_os_error
from wakefold_shell.mcp.connections import bound_connections
from wakefold_shell.mcp.gates import MCP_PATH, Admission, Gate
from wakefold_shell.mcp.tokens import TOKEN_VARIABLE

BODY_BYTES_MAX: Final = 1024 * 1024
REQUEST_SECONDS_MAX: Final = 10.0
CONNECTIONS_MAX: Final = 128
"""Beyond half of it a request is answered with 503, beyond all of it a connection is closed."""

SESSIONS_MAX: Final = 256
SESSION_IDLE_SECONDS_MAX: Final = 30 * 60.0

_ANSWER_SECONDS_MAX: Final = 1.0  # for what is under way when the server is to end
_SHUTDOWN_SECONDS_MAX: Final = 2  # for all of it: uvicorn takes whole seconds
_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORT: Final = 80  # which clients leave out of the Host header


class Endpoint(Struct, frozen=True):
    """Where to listen (port 0: any that is free), and who may come.

    Beyond loopback there is no way in without a `token`. `hosts` and `origins` are let in beside the
    names of loopback, and are exactly what clients write into Host and Origin.
    """

    host: str
    port: int
    token: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    body_bytes_max: int = BODY_BYTES_MAX
    request_seconds_max: float = REQUEST_SECONDS_MAX

    @property
    def shown(self) -> str:
        """As it was given on the command line."""
        return _join(self.host, self.port)


async def serve_http(
    server: Server[Any],
    endpoint: Endpoint,
    stop: anyio.Event,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until `stop`, then let what is under way come to its end for a moment.

    Cancellation is taken for a stop. `tell` hears where the server listens, once it does, and what is
    unsafe about it. `ShellError` if it cannot listen there, or must not.
    """
    with _listen(endpoint) as listener:
        address, port = listener.getsockname()[:2]
        admission = _admit(endpoint, address, port)
        sessions = StreamableHTTPSessionManager(
            server,
            security_settings=TransportSecuritySettings(
                allowed_hosts=sorted(admission.hosts), allowed_origins=sorted(admission.origins)
            ),
            session_idle_timeout=SESSION_IDLE_SECONDS_MAX,
            max_request_body_size=endpoint.body_bytes_max,
            max_sessions=SESSIONS_MAX,
        )
        gate = Gate(sessions.handle_request, admission)
        web = _WebServer(_configure(_open_to_pages(gate, endpoint), endpoint))
        async with sessions.run():
            if endpoint.token is None:
                tell("no token is set: every program on this machine can come in; see --token-file.")
            tell(f"listening on http://{_join(address, port)}{MCP_PATH}")
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


class _WebServer(uvicorn.Server):
    """uvicorn, which leaves the signals to the command."""

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
    """The gate, and before it what a browser asks first; it asks for a page of a named origin only."""
    if not endpoint.origins:
        return gate
    return CORSMiddleware(
        gate,
        allow_origins=endpoint.origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        expose_headers=("Mcp-Session-Id", "WWW-Authenticate"),
    )


@contextmanager
def _listen(endpoint: Endpoint) -> Iterator[socket.socket]:
    """The listening socket; `ShellError` if there can be none."""
    with ExitStack() as opened:
        try:
            family, kind, _, _, address = socket.getaddrinfo(
                endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            _require_token(endpoint, str(address[0]))
            listener = opened.enter_context(socket.socket(family, kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
        except (OSError, UnicodeError) as error:
            problem = explain_os_error(error) if isinstance(error, OSError) else "no name of a host"
            raise ShellError(
                f"--http {endpoint.shown}: {problem}; give an address of this machine and a free port."
            ) from error
        yield listener


def _require_token(endpoint: Endpoint, address: str) -> None:
    """Refuse what would be open to a network."""
    if ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        return
    if endpoint.token is None:
        raise ShellError(
            f"--http {endpoint.shown}: beyond loopback a token is required; "
            f"give --token-file FILE or set {TOKEN_VARIABLE}."
        )


def _admit(endpoint: Endpoint, address: str, port: int) -> Admission:
    """Whom the gate lets in: by the names of loopback, by that of the address, and by those given."""
    names = {*_LOOPBACK_NAMES, _bracket(address), _bracket(endpoint.host)}
    hosts = {f"{name}:{port}" for name in names}
    return Admission(
        hosts=frozenset(hosts | (names if port == _DEFAULT_PORT else set()) | {*endpoint.hosts}),
        origins=frozenset(endpoint.origins),
        token=endpoint.token,
        body_bytes_max=endpoint.body_bytes_max,
        body_seconds_max=endpoint.request_seconds_max,
    )


def _join(host: str, port: int) -> str:
    return f"{_bracket(host)}:{port}"


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host
