"""Checkpoints: what a session's log has come to, as a value to go on from.

This module decides what belongs to it (ledger, conversation, wakeups) and how it goes on with more
events, so that whoever has one need read only the rest of the log. It refuses to know how one is
written down (`snapshots`), and where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from returns.result import Result

from wakefold.conversations import CONVERSATION_TYPES, Conversation, follow
from wakefold.events import Event
from wakefold.ledger import Ledger, fold_on
from wakefold.recurrence import Profile
from wakefold.rejections import CorruptScheduleLog
from wakefold.wakeups import COUNTED_TYPES, NO_WAKEUPS, RESET_KINDS, Wakeups, count_wakeups

# Words can be long: no more of them are held than counting at one go is worth.
_KEPT_EVENTS_MAX: Final = 4096


class Checkpoint(Struct, frozen=True, kw_only=True):
    """What a log has come to. Made by `begin_checkpoint` and `extend_checkpoint`, or decoded.

    `wakeups` keeps the times of all of them, counted with `reset_kinds`. The place in the log is the
    ledger's `position`.
    """

    ledger: Ledger
    conversation: Conversation
    wakeups: Wakeups = NO_WAKEUPS
    reset_kinds: tuple[str, ...] = RESET_KINDS


def begin_checkpoint(
    seed_length: int, profile: Profile, reset_kinds: Iterable[str] = RESET_KINDS
) -> Checkpoint:
    """What a log without events has come to; of a fork, its inherited ones are still to come.

    :shape: a `Checkpoint` to extend with the log from its first event
    :units: `seed_length` counts events from 0
    :errors: none: a `seed_length` that is none is told by `extend_checkpoint`
    :source: ours, docs/decisions/checkpoints.md
    """
    return Checkpoint(
        ledger=Ledger(profile=profile, seed_length=seed_length),
        conversation=Conversation(seed_length=seed_length),
        reset_kinds=tuple(reset_kinds),
    )


def extend_checkpoint(
    checkpoint: Checkpoint, events: Iterable[Event]
) -> Result[Checkpoint, CorruptScheduleLog]:
    """What the log has come to after more events, read in one pass.

    :shape: the events that follow on the checkpoint; `data` must be parsed of the types that a ledger,
        a conversation or a guard looks at
    :units: none
    :errors: `Failure` of `corrupt_schedule_log`, as that of `fold`
    :source: ours, docs/decisions/checkpoints.md
    """
    onlooker = _Onlooker(checkpoint)

    def freeze(ledger: Ledger) -> Checkpoint:
        return Checkpoint(
            ledger=ledger,
            conversation=onlooker.conversation,
            wakeups=onlooker.count(),
            reset_kinds=checkpoint.reset_kinds,
        )

    return fold_on(checkpoint.ledger, onlooker.watch(events)).map(freeze)


class _Onlooker:
    """What is noticed of events on their way into the fold."""

    __slots__ = ("_counted", "_reset_kinds", "_seed_length", "_wakeups", "conversation")

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._seed_length = checkpoint.ledger.seed_length
        self._reset_kinds = checkpoint.reset_kinds
        self._wakeups = checkpoint.wakeups
        self._counted: list[Event] = []
        self.conversation = checkpoint.conversation

    def watch(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            kind = event.type
            if kind in CONVERSATION_TYPES:
                self.conversation = follow(self.conversation, event)
            elif kind in COUNTED_TYPES and event.seq >= self._seed_length:
                self._counted.append(event)
                if len(self._counted) == _KEPT_EVENTS_MAX:
                    self.count()
            yield event

    def count(self) -> Wakeups:
        """The wakeups so far."""
        self._wakeups = count_wakeups(self._counted, self._reset_kinds, self._wakeups)
        self._counted.clear()
        return self._wakeups
