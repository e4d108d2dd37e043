"""What an outbox owes to a line of the log: the same in every database.

A hand-over puts a row into the outbox for each occurrence; the turn that takes the message marks it,
and unmarks it where it puts the message back. This module decides which; it refuses to know tables.
"""

from __future__ import annotations

from msgspec import Struct

from wakefold import Event
from wakefold.conversations import INBOX_SPLICED, USER_MESSAGE, Conversation, follow
from wakefold.json_text import format_json
from wakefold_shell.stores.rows import PackedRow

OUTBOX_TYPES = frozenset({INBOX_SPLICED, USER_MESSAGE})
"""The types of the events that an outbox looks at; their data must be parsed."""


class Given(Struct, frozen=True):
    """A message that comes into the inbox, as JSON text, with what it delivers as (id, epoch ms)."""

    message_id: str
    message: str
    occurrences: tuple[tuple[str, int], ...]


def list_given(row: Event | PackedRow) -> tuple[Given, ...]:
    """The messages that an event puts into the inbox."""
    if not isinstance(row, Event) or row.type != INBOX_SPLICED:
        return ()
    return tuple(
        Given(str(given.message.get("id")), format_json(given.message), given.occurrences)
        for given in follow(Conversation(), row).inbox
    )


def find_taken(row: Event | PackedRow) -> str | None:
    """The id of the message that an event gives to the agent."""
    if not isinstance(row, Event) or row.type != USER_MESSAGE or not isinstance(row.data, dict):
        return None
    return str(row.data.get("id"))
