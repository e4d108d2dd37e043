"""Where the MCP server listens for HTTP, and what may come there.

It decides the names that a server answers to, and that nothing beyond loopback is open without a
token. It refuses to know the protocols, and needs no extra.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from msgspec import Struct

from wakefold_shell.errors import ShellError, explain_os_error
from wakefold_shell.mcp.tokens import TOKEN_VARIABLE

#: How long a request's body may be by default.
BODY_BYTES_MAX: Final = 1024 * 1024
#: How long the head of a request may take by default, and its body again.
REQUEST_SECONDS_MAX: Final = 10.0

_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORT: Final = 80  # which clients leave out of the Host header


class Endpoint(Struct, frozen=True):
    """Where to listen (port 0: any that is free), and who may come with what.

    Beyond loopback there is no way in without a `token`. `hosts` are answered to beside the names of
    loopback and the address, `origins` are the only ones; each is exactly what clients write into Host
    and Origin. A request has `request_seconds_max` for its head, and as long again for its body.
    """

    host: str
    port: int
    token: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    body_bytes_max: int = BODY_BYTES_MAX
    request_seconds_max: float = REQUEST_SECONDS_MAX


@contextmanager
def open_listener(endpoint: Endpoint) -> Iterator[socket.socket]:
    """The listening socket; `ShellError` if there can be none, or must be none."""
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
                f"--http {join_address(endpoint.host, endpoint.port)}: {problem}; "
                "give an address of this machine and a free port."
            ) from error
        yield listener


def list_hosts(endpoint: Endpoint, address: str, port: int) -> frozenset[str]:
    """What a Host header may say: the names of loopback, those of the address, and those given."""
    names = {*_LOOPBACK_NAMES, _bracket(address), _bracket(endpoint.host)}
    bare = names if port == _DEFAULT_PORT else set()
    return frozenset({f"{name}:{port}" for name in names} | bare | {*endpoint.hosts})


def join_address(host: str, port: int) -> str:
    """Host and port as a URL has them."""
    return f"{_bracket(host)}:{port}"


def _require_token(endpoint: Endpoint, address: str) -> None:
    """Refuse what would be open to a network."""
    if endpoint.token is not None or ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        return
    raise ShellError(
        f"--http {join_address(endpoint.host, endpoint.port)}: beyond loopback a token is required; "
        f"give --token-file FILE or set {TOKEN_VARIABLE}."
    )


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host
