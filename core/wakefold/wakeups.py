"""Counting wakeups from the log alone (spec section 12).

This module decides how often a session has woken itself: every dispatch is one wakeup, whatever its
kind, and only an external word ends a streak. It refuses to keep a count anywhere but in the log, so
that no restart can reset it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec import Struct

from wakefold.events import SCHEDULE_CHANGE, Event

RESET_KINDS: Final = ("user", "a2a")
"""The kinds of source whose messages are external words, by default: human and coordinator."""

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000


class Wakeups(Struct, frozen=True):
    """A session's wakeups: the streak now and at its highest, and the epoch ms of every dispatch."""

    consecutive: int
    max_consecutive: int
    dispatch_times_ms: tuple[int, ...]

    @property
    def total(self) -> int:
        """All wakeups."""
        return len(self.dispatch_times_ms)

    def count_since(self, since_ms: int) -> int:
        """The wakeups at or after an instant: since the day's start, or in the last hour."""
        return sum(time_ms >= since_ms for time_ms in self.dispatch_times_ms)


def count_wakeups(events: Iterable[Event], reset_kinds: Collection[str] = RESET_KINDS) -> Wakeups:
    """The wakeups in the events of a session's own suffix.

    Only `data.operation` is looked at: a malformed dispatch still counts.
    """
    streak = highest = 0
    times_ms: list[int] = []
    for event in events:
        data = event.data
        if not isinstance(data, dict):
            continue
        if event.type == SCHEDULE_CHANGE and data.get("operation") == "dispatch":
            streak += 1
            highest = max(highest, streak)
            times_ms.append(event.time_ms)
        elif event.type == "user/message" and _is_external_word(data, reset_kinds):
            streak = 0
    return Wakeups(consecutive=streak, max_consecutive=highest, dispatch_times_ms=tuple(times_ms))


def find_day_start(now_ms: int, offset_minutes: int = 0) -> int:
    """The start (epoch ms) of the day that holds `now_ms`, the boundary moved by an offset from UTC."""
    offset_ms = offset_minutes * 60_000
    local_ms = now_ms + offset_ms
    return local_ms - local_ms % DAY_MS - offset_ms


def _is_external_word(data: dict[str, object], reset_kinds: Collection[str]) -> bool:
    source = data.get("source")
    kind = source.get("kind") if isinstance(source, dict) else None
    return isinstance(kind, str) and kind in reset_kinds
