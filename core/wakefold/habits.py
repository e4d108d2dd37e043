"""What an agent and its people do in the coming days, as a forecast takes it.

A model, simple on purpose: people speak at fixed hours or never, the agent sets the same reminders in
each of its turns or none. This module decides when the words come; it refuses to know reminders.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from wakefold.wakeups import HOUR_MS
from wakefold.zones import find_clock_instant


class Habits(Struct, frozen=True):
    """Who speaks when, and what the agent does. By default nobody speaks, and it asks for nothing.

    `word_minutes` are minutes of the day by the clock of `time_zone`, a canonical name: at each of them
    a person speaks, every day. Each message, a person's or a reminder's, has a turn of `turn_ms`. At
    its end the agent asks for a one-shot after `after_seconds`, and for a repeat of `every_seconds`
    where none is active; `None` asks for nothing.
    """

    word_minutes: frozenset[int] = frozenset()
    time_zone: str = "UTC"
    turn_ms: int = 0
    after_seconds: int | None = None
    every_seconds: int | None = None


#: Nobody speaks, and the agent asks for nothing.
NO_HABITS: Final = Habits()

#: Longer than any clock is set back, and shorter than any day.
_REPEATED_MS: Final = 12 * HOUR_MS


def list_words(habits: Habits, start_ms: int, end_ms: int) -> Iterator[int]:
    """The instants at which somebody speaks, in order, from `start_ms` on and before `end_ms`.

    One a day for each hour: a clock that shows it twice is heeded once, and where a clock skips it the
    word comes as the clock jumps.
    """
    coming: list[tuple[int, int]] = []

    def plan(after_ms: int, minutes: int) -> None:
        instant_ms = find_clock_instant(after_ms, minutes, habits.time_zone)
        if instant_ms is not None and instant_ms < end_ms:
            insort(coming, (instant_ms, minutes))

    for minutes in habits.word_minutes:
        plan(start_ms - 1, minutes)
    while coming:
        instant_ms, minutes = coming.pop(0)
        yield instant_ms
        plan(instant_ms + _REPEATED_MS, minutes)
