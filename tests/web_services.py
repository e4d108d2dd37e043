"""A web service for tests: a real server on loopback, plain or with TLS, that does as told."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
"""The example of Standard Webhooks."""


class Request(NamedTuple):
    """What a POST said."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Connection(BaseHTTPRequestHandler):
    """One connection of the service."""

    protocol_version = "HTTP/1.1"
    service: WebService

    def do_POST(self) -> None:
        """Note the request, and do what the service was told to do next."""
        length = int(self.headers["Content-Length"])
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.service.requests.append(Request(self.path, headers, self.rfile.read(length)))
        act = self.service.acts.pop(0) if len(self.service.acts) > 1 else self.service.acts[0]
        with self.service.one_turn():
            act(self)

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        """A whole response."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Nothing is logged."""


Act = Callable[[Connection], object]


class WebService:
    """What was asked of it, and `acts`: what it does next; the last one for ever."""

    def __init__(self, *acts: Act) -> None:
        self.acts = list(acts)
        self.requests: list[Request] = []
        self.at_once = self.at_once_max = 0
        self.url = ""
        self._lock = threading.Lock()

    @contextmanager
    def one_turn(self) -> Iterator[None]:
        """Counts how many requests are under way at once."""
        with self._lock:
            self.at_once += 1
            self.at_once_max = max(self.at_once_max, self.at_once)
        try:
            yield
        finally:
            with self._lock:
                self.at_once -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes is no news."""


@contextmanager
def serving(*acts: Act, tls: ssl.SSLContext | None = None) -> Iterator[WebService]:
    """A service that lives as long as the block."""
    service = WebService(*acts)
    handler = type("Handler", (Connection,), {"service": service})
    with _Server(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        service.url = f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_port}/wake"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()


def status(code: int, body: bytes = b"", **headers: str) -> Act:
    """A response with that status."""
    return lambda connection: connection.reply(code, body, **headers)


def hang(connection: Connection) -> None:
    """No answer, until the client has gone."""
    connection.connection.settimeout(10)
    connection.connection.recv(1)
    connection.close_connection = True


def trickle(connection: Connection) -> None:
    """A good status, and then a byte now and then."""
    connection.send_response(200)
    connection.send_header("Content-Length", "100000")
    connection.end_headers()
    for _ in range(100):
        connection.wfile.write(b"x")
        time.sleep(0.05)


def flood(connection: Connection) -> None:
    """A good status, and then more than anybody wants."""
    connection.send_response(200)
    connection.send_header("Content-Length", "1000000000")
    connection.end_headers()
    connection.close_connection = True
    for _ in range(1000):
        connection.wfile.write(b"x" * 1_000_000)


def break_off(connection: Connection) -> None:
    """The connection ends without an answer."""
    connection.close_connection = True


def break_within(connection: Connection) -> None:
    """The connection ends in the middle of the answer."""
    connection.send_response(200)
    connection.send_header("Content-Length", "100")
    connection.end_headers()
    connection.wfile.write(b"half")
    connection.close_connection = True
