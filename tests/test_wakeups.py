"""Wakeups counted from the log alone."""

from __future__ import annotations

from functools import reduce

import pytest

from core_logs import T, created, deleted, dispatched, event, every
from wakefold.events import Event
from wakefold.wakeups import (
    COUNTED_TYPES,
    DAY_MS,
    HOUR_MS,
    KEPT_MS,
    NO_WAKEUPS,
    RESET_KINDS,
    Wakeups,
    count_wakeups,
    find_day_start,
    follow_wakeups,
    forget_wakeups,
)


def _wakeup(time_ms: int = 0, data: object = None) -> Event:
    return event(dispatched("x") if data is None else data, time_ms=time_ms)


def _word(kind: object = "user", seq: int = 0) -> Event:
    return event({"source": {"kind": kind}}, seq, kind="user/message")


def _follow(*events: Event) -> Wakeups:
    return reduce(follow_wakeups, events, NO_WAKEUPS)


def test_the_constants_are_those_of_the_page() -> None:
    """Human and coordinator; an hour, a day and eight days in milliseconds."""
    assert RESET_KINDS == ("user", "a2a")
    assert (HOUR_MS, DAY_MS, KEPT_MS) == (3_600_000, 86_400_000, 691_200_000)
    assert {"schedule/change", "user/message"} == COUNTED_TYPES


def test_a_log_without_dispatches_counts_none() -> None:
    """Nothing in a row, nothing at all."""
    assert count_wakeups([]) == NO_WAKEUPS == Wakeups(0, 0, (), 0, None)
    assert count_wakeups([_word(seq=3), event(created(every()), time_ms=T)]) == Wakeups(word_seq=3)


@pytest.mark.parametrize(
    ("events", "consecutive", "highest"),
    [
        ([_wakeup()], 1, 1),
        ([_wakeup(), _wakeup(), _wakeup()], 3, 3),
        ([_wakeup(), _wakeup(), _word()], 0, 2),
        ([_wakeup(), _wakeup(), _word(), _wakeup()], 1, 2),
        ([_wakeup(), _word(), _wakeup(), _wakeup()], 2, 2),
        ([_word(), _wakeup(), _word("a2a"), _wakeup()], 1, 1),
        ([_wakeup(), _word("plugin"), _wakeup()], 2, 2),
    ],
)
def test_an_external_word_ends_a_streak(events: list[Event], consecutive: int, highest: int) -> None:
    """The streak now and the highest one ever; the total is not touched."""
    found = count_wakeups(events)
    assert (found.consecutive, found.max_consecutive) == (consecutive, highest)
    assert found.total == sum(e.type == "schedule/change" for e in events)
    assert _follow(*events) == found


@pytest.mark.parametrize(
    "data",
    [
        dispatched("x"),
        dispatched("x", T),
        {"operation": "dispatch"},
        {"operation": "dispatch", "version": 9, "extra": []},
    ],
)
def test_every_dispatch_is_a_wakeup(data: object) -> None:
    """Whatever its kind, malformed ones too; its event's time is noted."""
    assert count_wakeups([_wakeup(7, data)]) == _follow(_wakeup(7, data)) == Wakeups(1, 1, (7,), 1)


@pytest.mark.parametrize(
    "other",
    [
        event(created(every())),
        event(deleted("x")),
        event({"operation": "Dispatch"}),
        event({"operation": ["dispatch"]}),
        event({"operation": None}),
        event({}),
        event(None),
        event("dispatch"),
        event([{"operation": "dispatch"}]),
        event(dispatched("x"), kind="plan/change"),
        event(dispatched("x"), kind="user/message"),
    ],
)
def test_no_other_event_is_a_wakeup(other: Event) -> None:
    """Only a `schedule/change` whose operation is a dispatch."""
    events = [_wakeup(1), other, _wakeup(2)]
    assert count_wakeups(events) == _follow(*events) == Wakeups(2, 2, (1, 2), 2)


@pytest.mark.parametrize(
    "other",
    [
        _word("plugin"),
        _word("User"),
        _word(None),
        _word(["user"]),
        _word(1),
        event({"source": "user"}, kind="user/message"),
        event({"source": None}, kind="user/message"),
        event({"source": {}}, kind="user/message"),
        event({"kind": "user"}, kind="user/message"),
        event(None, kind="user/message"),
        event(["user"], kind="user/message"),
        event({"source": {"kind": "user"}}, kind="assistant/text"),
        event({"source": {"kind": "user"}}),
    ],
)
def test_no_other_event_is_an_external_word(other: Event) -> None:
    """Only a `user/message` whose source is of a kind that resets."""
    events = [_wakeup(1), other, _wakeup(2)]
    assert count_wakeups(events) == _follow(*events) == Wakeups(2, 2, (1, 2), 2)
    assert count_wakeups(events, frozenset(RESET_KINDS)).consecutive == 2


@pytest.mark.parametrize(
    ("reset_kinds", "consecutive"),
    [((), 3), (("user",), 1), (["a2a"], 2), ({"user", "a2a"}, 1), (("use", "a2"), 3)],
)
def test_the_kinds_that_reset_are_the_callers(reset_kinds: tuple[str, ...], consecutive: int) -> None:
    """Whole names, in any collection."""
    events = [_wakeup(), _word("a2a"), _wakeup(), _word("user"), _wakeup()]
    found = count_wakeups(events, reset_kinds)
    assert (found.consecutive, found.total) == (consecutive, 3)
    assert reduce(lambda was, one: follow_wakeups(was, one, reset_kinds), events, NO_WAKEUPS) == found


def test_the_last_external_word_is_remembered_by_its_seq() -> None:
    """The last that resets, not one of another kind, and not its place in what is counted."""
    events = [_word(seq=4), _wakeup(1), _word("a2a", 7), _wakeup(2), _word("plugin", 9)]
    assert count_wakeups(events) == _follow(*events) == Wakeups(1, 1, (1, 2), 2, 7)


def test_an_external_word_touches_the_streak_alone() -> None:
    """What was counted and remembered stays."""
    before = _follow(_wakeup(1), _wakeup(2))
    assert follow_wakeups(before, _word(seq=5)) == Wakeups(0, 2, (1, 2), 2, 5)
    assert follow_wakeups(before, event(deleted("x"))) is before


@pytest.mark.parametrize(
    ("times_ms", "kept_ms"),
    [
        ((0, KEPT_MS), (0, KEPT_MS)),
        ((0, KEPT_MS + 1), (KEPT_MS + 1,)),
        ((0, 1, KEPT_MS + 1), (1, KEPT_MS + 1)),
        ((0, 0, KEPT_MS + 1, KEPT_MS + 2), (KEPT_MS + 1, KEPT_MS + 2)),
        ((T, T - KEPT_MS, T - 2 * KEPT_MS), (T, T - KEPT_MS, T - 2 * KEPT_MS)),
        ((T, 0, T + 1), (T, 0, T + 1)),
    ],
)
def test_times_too_old_for_any_limit_are_forgotten(
    times_ms: tuple[int, ...], kept_ms: tuple[int, ...]
) -> None:
    """Those at the beginning, more than eight days before the latest; the counts keep them."""
    found = _follow(*map(_wakeup, times_ms))
    assert found.dispatch_times_ms == kept_ms
    count = len(times_ms)
    assert (found.total, found.consecutive, found.max_consecutive) == (count, count, count)
    assert count_wakeups(map(_wakeup, times_ms)).dispatch_times_ms == times_ms


def test_times_stand_in_the_order_of_the_log() -> None:
    """A clock that was set back is not set right."""
    assert count_wakeups(iter([_wakeup(5), _wakeup(3), _wakeup(5)])).dispatch_times_ms == (5, 3, 5)


@pytest.mark.parametrize(("since_ms", "count"), [(2, 3), (3, 3), (4, 2), (5, 2), (6, 0)])
def test_wakeups_are_counted_from_an_instant_on(since_ms: int, count: int) -> None:
    """One at that very instant counts."""
    found = Wakeups(dispatch_times_ms=(5, 3, 5))
    assert found.count_since(since_ms) == count
    assert found.list_since(since_ms) == [time for time in (5, 3, 5) if time >= since_ms]


MIDNIGHT = T - 8 * 3_600_000


@pytest.mark.parametrize(
    ("now_ms", "offset_minutes", "start_ms"),
    [
        (T, 0, MIDNIGHT),
        (MIDNIGHT, 0, MIDNIGHT),
        (MIDNIGHT - 1, 0, MIDNIGHT - DAY_MS),
        (MIDNIGHT + DAY_MS - 1, 0, MIDNIGHT),
        (T, 60, MIDNIGHT - 3_600_000),
        (T, -60, MIDNIGHT + 3_600_000),
        (T, -480, T),
        (T - 1, -480, T - DAY_MS),
        (T, -481, T + 60_000 - DAY_MS),
        (T, 959, MIDNIGHT - 959 * 60_000),
        (T, 960, T),
        (T, 1_439, MIDNIGHT + 60_000),
        (-1, 0, -DAY_MS),
        (0, 0, 0),
        (T, 0.5, MIDNIGHT - 30_000),
        (MIDNIGHT - 30_000, 0.5, MIDNIGHT - 30_000),
        (MIDNIGHT - 30_001, 0.5, MIDNIGHT - 30_000 - DAY_MS),
        (MIDNIGHT + 89_999, -1.5, MIDNIGHT + 90_000 - DAY_MS),
        (MIDNIGHT + 90_000, -1.5, MIDNIGHT + 90_000),
        (T, 0.000_01, MIDNIGHT),
        (T, -0.000_01, MIDNIGHT),
        (T, 1_440, MIDNIGHT),
        (T, -1_440, MIDNIGHT),
    ],
)
def test_a_day_starts_at_midnight_moved_by_an_offset(
    now_ms: int, offset_minutes: float, start_ms: int
) -> None:
    """Midnight UTC of now plus the offset (in whole ms), minus the offset; within a day before now."""
    found = find_day_start(now_ms, offset_minutes)
    assert found == start_ms
    assert isinstance(found, int)
    assert 0 <= now_ms - start_ms < DAY_MS


def test_a_day_starts_at_midnight_utc_unless_told() -> None:
    """The default offset is none."""
    assert find_day_start(T) == MIDNIGHT


def test_times_before_an_instant_can_be_forgotten_and_the_counts_stay() -> None:
    """Whatever their order; a limit that looks back no farther sees no difference."""
    wakeups = _follow(_word(seq=3), *map(_wakeup, (10, 30, 20, 40)))
    kept = forget_wakeups(wakeups, 20)
    assert kept == Wakeups(4, 4, (30, 20, 40), 4, 3)
    assert kept.count_since(20) == wakeups.count_since(20) == 3
