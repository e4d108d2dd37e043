"""The life of each reminder that a log tells of: its create, what happened to it, and its end.

This module decides which life a change belongs to and how a life ended, those included that a fork
inherited and left to its parent. It refuses to know a clock, and to judge the log: that is the fold's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from wakefold.edits import Edit, Skip, StatedDispatch
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    Record,
    read_change,
)
from wakefold.ledger import accept_dispatch
from wakefold.records import is_recurring
from wakefold.rejections import LogFault
from wakefold.transitions import accept_edit

#: How a reminder ended: by a wish, by its only occurrence, by an option, or with its rule.
Ending = Literal["deleted", "delivered", "skipped", "max_runs", "until", "no_next"]

#: Each ending as the beginning of a sentence for people.
ENDINGS: Final[dict[Ending, str]] = {
    "deleted": "it was deleted",
    "delivered": "it was delivered, and comes once",
    "skipped": "its only occurrence was skipped, for it was too late",
    "max_runs": "it ended with the last of its deliveries, as max_runs says",
    "until": "its next occurrence would lie after its until",
    "no_next": "its rule has no further occurrence",
}


class Passage(Struct, frozen=True):
    """One change in a life. A member of a recurring batch names that by its `acceptedAt`."""

    seq: int
    time_ms: int
    change: Delete | Dispatch | Edit
    batch_ms: int | None = None


class Life(Struct, frozen=True):
    """A reminder from its create to its end, if that has come; `record` is what it was at last.

    `prompts` are its texts, each with the seq from which on it held. What a fork inherited is as its
    parent had left it there, and goes on elsewhere.
    """

    id: str
    seq: int
    time_ms: int
    record: Record
    prompts: tuple[tuple[int, str], ...]
    passages: tuple[Passage, ...]
    ending: Ending | None
    inherited: bool


def list_lives(events: Iterable[Event], seed_length: int = 0) -> tuple[Life, ...]:
    """Every life of a log that folds, in the order of their creates, in one pass.

    Of an inherited part that does not fold, what can be read; what is not understood is passed over.
    """
    lives: list[_Life] = []
    living: dict[str, _Life] = {}
    for place, event in enumerate(events):
        if place == seed_length:
            living = {}
        if event.type != SCHEDULE_CHANGE:
            continue
        inherited = place < seed_length
        try:
            change = read_change(event.data)
            if isinstance(change, Create):
                life = living[change.schedule.id] = _Life(event, change.schedule, inherited=inherited)
                lives.append(life)
            elif change.id in living and living[change.id].take(event, change):
                del living[change.id]
        except LogFault:
            if not inherited:
                raise
    return tuple(life.close() for life in lives)


def find_ending(record: Record, change: Change) -> Ending:
    """How the last change of a reminder ended it; `record` is what it was before."""
    if not isinstance(change, Dispatch | StatedDispatch | Skip):
        return "deleted"
    if not is_recurring(record):
        return "skipped" if isinstance(change, Skip) else "delivered"
    max_runs = record.options.max_runs
    if max_runs is not None and not isinstance(change, Skip) and record.standing.runs + 1 >= max_runs:
        return "max_runs"
    stated_next = not isinstance(change, Dispatch) and change.next_ms is not None
    return "until" if stated_next else "no_next"


class _Life:
    """A life while it goes on."""

    __slots__ = ("_ending", "_event", "_inherited", "_passages", "_prompts", "_record")

    def __init__(self, event: Event, record: Record, *, inherited: bool) -> None:
        self._event, self._record, self._inherited = event, record, inherited
        self._passages: list[Passage] = []
        self._prompts = [(event.seq, record.prompt)]
        self._ending: Ending | None = None

    def take(self, event: Event, change: Delete | Dispatch | Edit) -> bool:
        """One more change; whether it ends the life. Raises `LogFault` where it may not follow."""
        record, batch_ms = self._record, None
        if isinstance(change, Delete):
            remaining = None
        elif isinstance(change, Dispatch | StatedDispatch):
            remaining = accept_dispatch(record, change).remaining
            batch_ms = change.accepted_at_ms if is_recurring(record) else None
        else:
            remaining = accept_edit(record, change, None)
        self._passages.append(Passage(event.seq, event.time_ms, change, batch_ms))
        if remaining is None:
            self._ending = find_ending(record, change)
            return True
        if remaining.prompt != record.prompt:
            self._prompts.append((event.seq, remaining.prompt))
        self._record = remaining
        return False

    def close(self) -> Life:
        """The life as far as the log goes."""
        return Life(
            id=self._record.id,
            seq=self._event.seq,
            time_ms=self._event.time_ms,
            record=self._record,
            prompts=tuple(self._prompts),
            passages=tuple(self._passages),
            ending=self._ending,
            inherited=self._inherited,
        )
