"""The gate before the MCP server: which request over HTTP may come in, and how much of one is taken.

It decides by the Host, the Origin, the token, and the size and pace of the body, in this order, and
gives the application a body that is whole. It refuses to know what a request asks for; of the
transport it knows ASGI alone.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping
from typing import Final

import anyio
from mcp_types import INVALID_REQUEST
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wakefold.json_text import format_json

#: The one path that is served.
MCP_PATH: Final = "/mcp"

_END_SECONDS_MAX: Final = 0.5
_log = logging.getLogger(__name__)


class Admission(Struct, frozen=True):
    """Who may come in: with which `token`, if one is set, and under which names, each of them exact.

    A `host` is what a client writes in its Host header, an `origin` what a browser writes for a page.
    A body may have `body_bytes_max`, and take `body_seconds_max` to come.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    token: str | None
    body_bytes_max: int
    body_seconds_max: float


class Refusal(Struct, frozen=True):
    """Why a request does not come in: a status, a sentence for people, and what the status demands."""

    status: int
    sentence: str
    headers: Mapping[str, str] = {}


_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="wakefold"'}
_PARTING: Final = {"Connection": "close"}
_CLOSING: Final = Refusal(503, "the server is closing", _PARTING)


class Gate:
    """An ASGI application before another: it refuses, or hands on the request with its whole body.

    After `close`, what is under way is ended, and nothing more comes in.
    """

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        """The application behind the gate, and whom to let in."""
        self._app, self._admission = app, admission
        self._open: set[anyio.CancelScope] = set()
        self._closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Attend to one request, to its end or to that of the gate."""
        reply = _Reply(send)
        with anyio.CancelScope() as attendance:
            self._open.add(attendance)
            try:
                await self._attend(scope, receive, reply)
            finally:
                self._open.discard(attendance)
        if attendance.cancelled_caught:
            with anyio.move_on_after(_END_SECONDS_MAX):  # whoever reads nothing is not waited for
                await reply.end(scope, receive)

    def close(self) -> None:
        """End every request that is under way: a stream in order, another with 503."""
        self._closed = True
        for attendance in self._open:
            attendance.cancel()

    async def _attend(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        headers = Headers(scope=scope)
        refusal = _CLOSING if self._closed else _find_refusal(headers, scope["path"], self._admission)
        if refusal is None:
            body = await _read_body(receive, self._admission)
            if body is None:  # the client has gone
                return
            if isinstance(body, bytes):
                await self._app(scope, _replay(body, receive), reply.send)
                return
            refusal = body
        await reply.refuse(refusal, scope, receive)


def _find_refusal(headers: Headers, path: str, admission: Admission) -> Refusal | None:
    """Why a request is refused before a byte of its body is read, if it is."""
    if headers.get("host") not in admission.hosts:
        return Refusal(421, "this server does not answer to that Host; see --allow-host")
    if not admission.origins.issuperset(headers.getlist("origin")):
        return Refusal(403, "no page of that Origin may come in; see --allow-origin")
    if admission.token is not None and not _bears(headers, admission.token):
        return Refusal(401, "the token is missing or wrong", _CHALLENGE)
    if path != MCP_PATH:
        return Refusal(404, f"there is nothing but {MCP_PATH}")
    if int(headers.get("content-length", "0")) > admission.body_bytes_max:
        return _explain_size(admission)
    return None


def _bears(headers: Headers, token: str) -> bool:
    """Whether the one Authorization header has the token; how long that takes tells nothing of it."""
    given = headers.getlist("authorization")
    if len(given) != 1:
        return False
    scheme, _, credentials = given[0].partition(" ")
    presented = credentials.strip().encode("latin-1")
    return scheme.lower() == "bearer" and hmac.compare_digest(presented, token.encode("latin-1"))


async def _read_body(receive: Receive, admission: Admission) -> bytes | Refusal | None:
    """The whole body, or why it is not taken; `None` if the client has gone."""
    body = bytearray()
    with anyio.move_on_after(admission.body_seconds_max):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > admission.body_bytes_max:
                return _explain_size(admission)
            if not message.get("more_body", False):
                return bytes(body)
    return Refusal(408, f"the body did not come within {admission.body_seconds_max:g} s", _PARTING)


def _explain_size(admission: Admission) -> Refusal:
    return Refusal(413, f"a body may have {admission.body_bytes_max} bytes; see --body-bytes-max")


def _replay(body: bytes, receive: Receive) -> Receive:
    """What the application receives: the body in one piece, then what becomes of the connection."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


class _Reply:
    """What goes back for one request, and how far it has come."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = self._ended = False

    async def send(self, message: Message) -> None:
        self._begun = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def refuse(self, refusal: Refusal, scope: Scope, receive: Receive) -> None:
        _log.info("refused with %d: %s", refusal.status, refusal.sentence)
        error = {"code": INVALID_REQUEST, "message": refusal.sentence}
        body = format_json({"jsonrpc": "2.0", "id": None, "error": error})  # which clients show
        response = Response(body, refusal.status, refusal.headers, "application/json")
        await response(scope, receive, self.send)

    async def end(self, scope: Scope, receive: Receive) -> None:
        """Bring to its end what was cut short."""
        if not self._begun:
            await self.refuse(_CLOSING, scope, receive)
        elif not self._ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
