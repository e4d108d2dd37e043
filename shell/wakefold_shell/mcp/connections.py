"""The connections of the MCP server over HTTP: how many there are, and how long one may be owing.

It decides where no ASGI application can: before the head of a request is whole, and after an answer
that did not wait for the body. It refuses to know what a request is about.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_OWING: Final = frozenset({(h11.IDLE, h11.IDLE), (h11.DONE, h11.SEND_BODY)})
"""Our state and the client's, as h11 has them, while the next step is the client's alone."""


class BoundedProtocol(H11Protocol):
    """uvicorn's own protocol, which closes a connection that is one too many or keeps us waiting.

    The client has `request_seconds_max` for the head of a request, from the connection or from its
    first byte on, and as long again for what is left of a body once the answer has been given. No
    status is sent: nothing that could be answered has come.
    """

    connections_max: ClassVar[int]
    request_seconds_max: ClassVar[float]

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or close it at once."""
        super().connection_made(transport)
        if len(self.connections) > self.connections_max:
            transport.abort()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._forgive()

    def _watch(self) -> None:
        """Set the deadline while the client owes us something, and lift it otherwise."""
        if (self.conn.our_state, self.conn.their_state) not in _OWING:
            self._forgive()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.request_seconds_max, self.transport.close)

    def _forgive(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bound_connections(connections_max: int, request_seconds_max: float) -> type[BoundedProtocol]:
    """The protocol with its bounds, which uvicorn does not hand on to those that it makes."""

    class Bounded(BoundedProtocol):
        """As told."""

    Bounded.connections_max, Bounded.request_seconds_max = connections_max, request_seconds_max
    return Bounded
