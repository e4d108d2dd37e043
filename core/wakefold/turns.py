"""The turns that a log tells of, and the words that somebody outside said.

This module decides when a turn began and how it ended, as far as the log goes. It refuses to know what
was said in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from wakefold.conversations import Conversation, follow
from wakefold.events import Event
from wakefold.wakeups import RESET_KINDS, find_word_kind


class Turn(Struct, frozen=True):
    """A turn by its number; `ended` is its reason to end, and no end means that it is open.

    A turn whose end the log lacks, since another one began, ended when that began, with no reason.
    """

    number: int
    seq: int
    start_ms: int
    end_ms: int | None = None
    ended: str | None = None


class Word(Struct, frozen=True):
    """A word from outside, by the kind of its source."""

    seq: int
    time_ms: int
    kind: str


def list_turns(events: Iterable[Event]) -> Iterator[Turn]:
    """Every turn, in the order of the log."""
    conversation = Conversation()
    current: Turn | None = None
    for event in events:
        before, conversation = conversation, follow(conversation, event)
        if conversation is before:
            continue
        changed = (conversation.turn, conversation.turn_open) != (before.turn, before.turn_open)
        if current is not None and changed:
            reason = None if conversation.turn_open else _read_reason(event.data)
            yield Turn(current.number, current.seq, current.start_ms, event.time_ms, reason)
            current = None
        if conversation.turn_open and changed:
            current = Turn(conversation.turn, event.seq, event.time_ms)
    if current is not None:
        yield current


def list_external_words(
    events: Iterable[Event], seed_length: int = 0, reset_kinds: Collection[str] = RESET_KINDS
) -> Iterator[Word]:
    """Every external word of the own suffix: those that end a streak."""
    for event in events:
        kind = None if event.seq < seed_length else find_word_kind(event, reset_kinds)
        if kind is not None:
            yield Word(event.seq, event.time_ms, kind)


def _read_reason(data: object) -> str | None:
    reason = data.get("reason") if isinstance(data, dict) else None
    kind = reason.get("kind") if isinstance(reason, dict) else None
    return kind if isinstance(kind, str) else None
