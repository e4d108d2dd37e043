"""The instants of a session's wakeups: kept in log order, asked for by time."""

from __future__ import annotations

import pickle
import random

import pytest

from wakefold.dispatch_times import DispatchTimes, index_times


def test_times_read_like_a_tuple() -> None:
    """In order, by place, in comparison, as a key and as text."""
    times = index_times((5, 3)).append(5)
    assert times == (5, 3, 5) == tuple(times)
    assert (len(times), times[0], times[-2], times[1:]) == (3, 5, 3, (3, 5))
    assert (3 in times, 4 in times, times.count(5), list(reversed(times))) == (
        True,
        False,
        2,
        [5, 3, 5],
    )
    assert (repr(times), hash(times)) == ("(5, 3, 5)", hash((5, 3, 5)))
    assert times != index_times((3, 5, 5))
    assert times != [5, 3, 5]
    assert all(type(time_ms) is int for time_ms in times)
    with pytest.raises(IndexError):
        times[3]


def test_times_are_indexed_once_and_survive_being_stored() -> None:
    """The same value comes back, and an equal one."""
    times = index_times([7, 8])
    assert index_times(times) is times
    again = pickle.loads(pickle.dumps(times))
    assert (again, type(again)) == (times, DispatchTimes)


def test_only_the_old_ones_at_the_beginning_are_dropped() -> None:
    """Those behind a later one stay, for the clock was set back there."""
    times = index_times((10, 20, 5, 30))
    assert times.drop_before(10) == (10, 20, 5, 30)
    assert times.drop_before(11) == (20, 5, 30)
    assert times.drop_before(20) == (20, 5, 30)
    assert times.drop_before(21) == times.drop_before(30) == (30,)
    assert times.drop_before(31) == index_times(()).drop_before(0) == ()
    assert times.drop_before(5) is times
    assert times.drop_before(31).append(1) == (1,)


def test_times_since_an_instant_are_counted_and_listed() -> None:
    """From the instant itself on, in log order."""
    times = index_times((10, 20, 5, 30, 20))
    assert [times.count_since(ms) for ms in (0, 5, 6, 20, 21, 30, 31)] == [5, 5, 4, 3, 1, 1, 0]
    assert times.list_since(20) == [20, 30, 20]
    assert [times.find_since(ms) for ms in (0, 10, 11, 21, 30, 31)] == [10, 10, 20, 30, 30, None]
    assert index_times((7,)).find_since(7) == 7
    assert index_times(()).find_since(0) is None
    assert times.list_since(31) == index_times(()).list_since(0) == []
    assert index_times(()).count_since(0) == 0


def test_it_keeps_what_a_list_keeps() -> None:
    """After each of six hundred wakeups under a clock that is set back now and then."""
    draw = random.Random(5)
    times, plain, now_ms = index_times(()), list[int](), 0
    for _ in range(600):
        now_ms += draw.choice((0, 1, 5, 40, -30))
        plain.append(now_ms)
        while plain[0] < now_ms - 100:
            plain.pop(0)
        times = times.append(now_ms).drop_before(now_ms - 100)
        since_ms = now_ms - draw.randrange(-5, 120)
        scanned = [time_ms for time_ms in plain if time_ms >= since_ms]
        assert (times.list_since(since_ms), times.count_since(since_ms)) == (scanned, len(scanned))
        assert times == tuple(plain)
