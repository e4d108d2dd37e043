"""Counting wakeups from the log alone (spec section 12).

This module decides how often a session has woken itself: every dispatch is one wakeup, whatever its
kind, and only an external word ends a streak. It refuses to keep a count anywhere but in the log, so
that no restart can reset it, and to judge whether a count is too high.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from msgspec import Struct

from wakefold.dispatch_times import DispatchTimes, index_times
from wakefold.events import SCHEDULE_CHANGE, Event

#: The kinds of source whose messages are external words, by default: human and coordinator.
RESET_KINDS: Final = ("user", "a2a")

#: An hour in milliseconds.
HOUR_MS: Final = 3_600_000
#: A day of 24 hours in milliseconds.
DAY_MS: Final = 86_400_000

#: How far back `follow_wakeups` remembers, from the latest: a day, and a clock set back by a week.
KEPT_MS: Final = 8 * DAY_MS

#: The types of the events that count, in one way or the other.
COUNTED_TYPES: Final = frozenset({SCHEDULE_CHANGE, "user/message"})


class Wakeups(Struct, frozen=True):
    """A session's wakeups: the streak now and at its highest, and the epoch ms of the dispatches.

    `total` counts all of them, `dispatch_times_ms` holds those that limits can still ask for, in the
    order of the log. `word_seq` is the seq of the last external word.
    """

    consecutive: int = 0
    max_consecutive: int = 0
    dispatch_times_ms: Sequence[int] = ()
    total: int = 0
    word_seq: int | None = None

    def list_since(self, since_ms: int) -> list[int]:
        """The wakeups at or after an instant (the day's start, an hour ago), in log order."""
        return index_times(self.dispatch_times_ms).list_since(since_ms)

    def find_since(self, since_ms: int) -> int | None:
        """The first wakeup, in log order, at or after an instant."""
        return index_times(self.dispatch_times_ms).find_since(since_ms)

    def count_since(self, since_ms: int) -> int:
        """How many wakeups there were at or after an instant."""
        return index_times(self.dispatch_times_ms).count_since(since_ms)


#: Those of a log without events.
NO_WAKEUPS: Final = Wakeups()


def follow_wakeups(
    wakeups: Wakeups, event: Event, reset_kinds: Collection[str] = RESET_KINDS
) -> Wakeups:
    """The wakeups after one more event of the own suffix, for limits that are looked at soon.

    Only `data.operation` is looked at: a malformed dispatch still counts.
    """
    if is_wakeup(event):
        streak = wakeups.consecutive + 1
        return Wakeups(
            consecutive=streak,
            max_consecutive=max(streak, wakeups.max_consecutive),
            dispatch_times_ms=_keep(wakeups.dispatch_times_ms, event.time_ms),
            total=wakeups.total + 1,
            word_seq=wakeups.word_seq,
        )
    if find_word_kind(event, reset_kinds) is not None:
        return Wakeups(
            max_consecutive=wakeups.max_consecutive,
            dispatch_times_ms=wakeups.dispatch_times_ms,
            total=wakeups.total,
            word_seq=event.seq,
        )
    return wakeups


def count_wakeups(
    events: Iterable[Event],
    reset_kinds: Collection[str] = RESET_KINDS,
    before: Wakeups = NO_WAKEUPS,
) -> Wakeups:
    """The wakeups in the events of a session's own suffix, the times of all of them kept.

    `before` are those of the events that went before these.

    :shape: any events in, those of other types included; `Wakeups` out
    :units: `dispatch_times_ms` are epoch milliseconds UTC, `word_seq` counts places from 0, the rest
        wakeups
    :errors: none: only `data.operation` and `data.source.kind` are looked at
    :source: spec section 12
    """
    streak, highest = before.consecutive, before.max_consecutive
    times_ms = list(before.dispatch_times_ms)
    word_seq = before.word_seq
    known = len(times_ms)
    for event in events:
        if is_wakeup(event):
            streak += 1
            highest = max(highest, streak)
            times_ms.append(event.time_ms)
        elif find_word_kind(event, reset_kinds) is not None:
            streak, word_seq = 0, event.seq
    return Wakeups(
        consecutive=streak,
        max_consecutive=highest,
        dispatch_times_ms=index_times(times_ms),
        total=before.total + len(times_ms) - known,
        word_seq=word_seq,
    )


def forget_wakeups(wakeups: Wakeups, before_ms: int) -> Wakeups:
    """The same counts without the times before an instant, where no limit is asked farther back."""
    return Wakeups(
        consecutive=wakeups.consecutive,
        max_consecutive=wakeups.max_consecutive,
        dispatch_times_ms=index_times(wakeups.list_since(before_ms)),
        total=wakeups.total,
        word_seq=wakeups.word_seq,
    )


def is_wakeup(event: Event) -> bool:
    """Whether an event is a dispatch, whatever else is in it."""
    if event.type != SCHEDULE_CHANGE or not isinstance(event.data, dict):
        return False
    return event.data.get("operation") == "dispatch"


def find_word_kind(event: Event, reset_kinds: Collection[str] = RESET_KINDS) -> str | None:
    """The kind of source of an external word; `None` for any other event."""
    if event.type != "user/message" or not isinstance(event.data, dict):
        return None
    source = event.data.get("source")
    kind = source.get("kind") if isinstance(source, dict) else None
    return kind if isinstance(kind, str) and kind in reset_kinds else None


def find_day_start(now_ms: int, offset_minutes: float = 0) -> int:
    """The start (epoch ms) of the day that holds `now_ms`, the boundary moved by an offset from UTC."""
    offset_ms = int(offset_minutes * 60_000)
    local_ms = now_ms + offset_ms
    return local_ms - local_ms % DAY_MS - offset_ms


def _keep(times_ms: Sequence[int], time_ms: int) -> DispatchTimes:
    """With one more, and without the times at the beginning that are too old for any limit."""
    return index_times(times_ms).append(time_ms).drop_before(time_ms - KEPT_MS)
