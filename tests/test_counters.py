"""The guard's counts over time: each step up, and each step down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_logs import T, created, dispatched, event, every
from wakefold.counters import Counters, StepLine, trace_counters
from wakefold.events import Event
from wakefold.wakeups import DAY_MS, HOUR_MS, count_wakeups, find_day_start

MINUTE_MS = 60_000


def _lay(*told: tuple[str, int]) -> list[Event]:
    """Wakeups (`w`) and people's words (`u`), each at its time."""
    return [
        event(dispatched("x"), seq, time_ms=time_ms)
        if what == "w"
        else event({"source": {"kind": "user"}}, seq, "user/message", time_ms)
        for seq, (what, time_ms) in enumerate(told)
    ]


def _steps(line: StepLine) -> list[tuple[int, int]]:
    return list(zip(line.at_ms, line.counts, strict=True))


def test_a_streak_falls_with_a_word_and_a_word_alone_is_no_step() -> None:
    """A log without wakeups has no steps at all."""
    events = _lay(("u", 1), ("w", 2), ("w", 3), ("u", 4), ("u", 5), ("w", 6))
    assert _steps(trace_counters(events).streak) == [(2, 1), (3, 2), (4, 0), (6, 1)]
    assert trace_counters(_lay(("u", 1))) == Counters(StepLine(), StepLine(), StepLine())
    assert trace_counters([event(created(every()))]).hour == StepLine()


def test_an_hours_count_falls_as_a_wakeup_leaves_it() -> None:
    """It counts for sixty minutes, the last millisecond included."""
    line = trace_counters(_lay(("w", T), ("w", T + 30 * MINUTE_MS))).hour
    assert _steps(line) == [
        (T, 1),
        (T + 30 * MINUTE_MS, 2),
        (T + HOUR_MS + 1, 1),
        (T + 90 * MINUTE_MS + 1, 0),
    ]


@pytest.mark.parametrize("offset_minutes", [0, 120, -300])
def test_a_days_count_falls_at_the_boundary(offset_minutes: int) -> None:
    """Where the configuration puts it; a day without a wakeup has the count 0."""
    start_ms = find_day_start(T, offset_minutes)
    line = trace_counters(
        _lay(("w", T), ("w", T), ("w", T + 3 * DAY_MS)), day_boundary_offset_minutes=offset_minutes
    ).day
    assert _steps(line) == [
        (T, 2),
        (start_ms + DAY_MS, 0),
        (T + 3 * DAY_MS, 1),
        (start_ms + 4 * DAY_MS, 0),
    ]


def test_a_wakeup_at_the_boundary_belongs_to_the_new_day() -> None:
    """One step, not two at one instant."""
    start_ms = find_day_start(T) + DAY_MS
    assert _steps(trace_counters(_lay(("w", T), ("w", start_ms))).day)[1] == (start_ms, 1)


def test_a_clock_set_back_bends_no_line() -> None:
    """The streak's steps stand at the latest instant so far; the others count in the order of time."""
    counters = trace_counters(_lay(("w", T + HOUR_MS), ("w", T)))
    assert _steps(counters.streak) == [(T + HOUR_MS, 2)]
    assert _steps(counters.hour)[:2] == [(T, 1), (T + HOUR_MS, 2)]


def test_what_a_fork_inherited_does_not_count() -> None:
    """As for the guard; and which words count is the configuration's."""
    events = _lay(("w", T), ("w", T + 1), ("u", T + 2))
    assert _steps(trace_counters(events, seed_length=1).streak) == [(T + 1, 1), (T + 2, 0)]
    assert _steps(trace_counters(events, reset_kinds=("a2a",)).streak) == [(T, 1), (T + 1, 2)]


@given(
    st.lists(st.tuples(st.sampled_from("wwwu"), st.integers(0, 3 * DAY_MS)), max_size=30),
    st.integers(0, 4 * DAY_MS),
    st.integers(-1440, 1440),
)
def test_at_every_instant_each_line_says_what_the_guard_counts(
    told: list[tuple[str, int]], now_ms: int, offset_minutes: int
) -> None:
    """Of the wakeups that there had been by then."""
    events = _lay(*sorted(told, key=lambda each: each[1]))
    counters = trace_counters(events, day_boundary_offset_minutes=offset_minutes)
    wakeups = count_wakeups([e for e in events if e.time_ms <= now_ms])

    def read(line: StepLine) -> int:
        assert list(line.at_ms) == sorted(set(line.at_ms))
        return ([0] + [n for at_ms, n in _steps(line) if at_ms <= now_ms])[-1]

    assert read(counters.streak) == wakeups.consecutive
    assert read(counters.hour) == wakeups.count_since(now_ms - HOUR_MS)
    assert read(counters.day) == wakeups.count_since(find_day_start(now_ms, offset_minutes))
