"""How the guard's three counts went over time, as lines of steps, up and down.

A streak falls with an external word, an hour's count as a wakeup leaves the sliding window, a day's at
the boundary. This module decides where each step stands; it refuses to know the limits, and to judge.
Where a clock was set back, the streak's steps stand at the latest instant so far, and the hour and the
day count in the order of time, as an audit's busiest ones do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from wakefold.events import Event
from wakefold.wakeups import (
    DAY_MS,
    HOUR_MS,
    RESET_KINDS,
    find_day_start,
    find_word_kind,
    is_wakeup,
)


class StepLine(Struct, frozen=True):
    """A count that holds from each instant (epoch ms, rising) to the next; before the first it is 0."""

    at_ms: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()


class Counters(Struct, frozen=True):
    """The wakeups in a row, in the sliding hour, and in the day that begins at the boundary."""

    streak: StepLine
    hour: StepLine
    day: StepLine


def trace_counters(
    events: Iterable[Event],
    seed_length: int = 0,
    reset_kinds: Collection[str] = RESET_KINDS,
    day_boundary_offset_minutes: float = 0,
) -> Counters:
    """The counts over the own suffix of a log, each from its first wakeup on."""
    streak: list[tuple[int, int]] = []
    times_ms: list[int] = []
    in_a_row, latest_ms = 0, None
    for event in events:
        if event.seq < seed_length:
            continue
        if is_wakeup(event):
            in_a_row += 1
            times_ms.append(event.time_ms)
        elif in_a_row and find_word_kind(event, reset_kinds) is not None:
            in_a_row = 0
        else:
            continue
        latest_ms = event.time_ms if latest_ms is None else max(latest_ms, event.time_ms)
        streak.append((latest_ms, in_a_row))
    times_ms.sort()
    return Counters(
        streak=_join(streak),
        hour=_join(_count_hours(times_ms)),
        day=_join(_count_days(times_ms, day_boundary_offset_minutes)),
    )


def _count_hours(times_ms: list[int]) -> Iterator[tuple[int, int]]:
    """A wakeup counts for an hour, its last millisecond included."""
    comes = [(time_ms, 1) for time_ms in times_ms]
    goes = [(time_ms + HOUR_MS + 1, -1) for time_ms in times_ms]
    count = 0
    for at_ms, change in sorted(comes + goes):
        count += change
        yield at_ms, count


def _count_days(times_ms: list[int], offset_minutes: float) -> Iterator[tuple[int, int]]:
    """A day's count begins at 0, so that a boundary without a wakeup after it is a step, too."""
    count, end_ms = 0, None
    for time_ms in times_ms:
        if end_ms is not None and time_ms >= end_ms:
            yield end_ms, 0
            count = 0
        count += 1
        end_ms = find_day_start(time_ms, offset_minutes) + DAY_MS
        yield time_ms, count
    if end_ms is not None:
        yield end_ms, 0


def _join(steps: Iterable[tuple[int, int]]) -> StepLine:
    """One step an instant: the last of those that stand at it."""
    last = dict(steps)
    return StepLine(tuple(last), tuple(last.values()))
