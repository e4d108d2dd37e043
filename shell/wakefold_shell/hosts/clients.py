"""An agent that comes by itself: each message stays in the inbox until it is acknowledged by its id.

This module decides which message an acknowledgement means. It refuses to know how the agent reads its
inbox, and whether it acts on what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2s

import anyio
from msgspec import Struct

from wakefold import Event
from wakefold.conversations import USER_MESSAGE, Input, read_input
from wakefold.events import Json
from wakefold.json_text import format_json
from wakefold_shell.errors import show_time
from wakefold_shell.hosts.inboxes import Answer
from wakefold_shell.hosts.streams import list_occurrences


class _Ticket(Struct, frozen=True):
    """A message's way: somebody acknowledges it, then its turn has been taken."""

    acknowledged: anyio.Event
    taken: anyio.Event


class ClientAgent:
    """Takes the turn of a message once a client has acknowledged it, and says nothing in it.

    Until then the turn has not begun, so that the next life of the session offers the message again.

    :shape: a message is named by its id (`identify`)
    :units: none
    :errors: none
    :source: ours, docs/mcp.md
    """

    def __init__(self) -> None:
        """Nothing is acknowledged yet."""
        self._tickets: dict[str, _Ticket] = {}

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """Wait for the acknowledgement; then the turn is over as it begins."""
        name = identify(given)
        ticket = self._find(name)
        await ticket.acknowledged.wait()
        try:
            begin()
        finally:
            ticket.taken.set()
            del self._tickets[name]
        return Answer()

    async def acknowledge(self, name: str) -> None:
        """Have the message of that id taken; return once it is, durable with the next barrier.

        It waits until that message is the inbox's first; for ever, if no such message comes.
        """
        ticket = self._find(name)
        ticket.acknowledged.set()
        await ticket.taken.wait()

    def _find(self, name: str) -> _Ticket:
        return self._tickets.setdefault(name, _Ticket(anyio.Event(), anyio.Event()))


def identify(given: Input) -> str:
    """A message's id as plain text; a digest where its own is none, as a log may hold."""
    own = given.message.get("id")
    if isinstance(own, str) and own.isprintable() and own != "":
        return own
    return f"message-{blake2s(format_json(given.message).encode(), digest_size=8).hexdigest()}"


def was_taken(events: Iterable[Event], name: str) -> bool:
    """Whether a turn has taken the message of that id, as the log tells."""
    return any(
        event.type == USER_MESSAGE
        and isinstance(event.data, dict)
        and identify(read_input(event.data, event.time_ms)) == name
        for event in events
    )


def encode_input(given: Input) -> Json:
    """A message of the inbox as JSON: `{id, queuedAt, source, text, occurrences}`."""
    return {
        "id": identify(given),
        "queuedAt": show_time(given.queued_at_ms),
        "source": "reminder" if given.occurrences else "message",
        "text": given.text,
        "occurrences": list_occurrences(given),
    }
