"""What the guard decides: whom it admits, what it reaps and what it takes for told."""

from __future__ import annotations

from functools import reduce

import pytest

from core_logs import (
    LAST_MS,
    T,
    after,
    at,
    created,
    deleted,
    dispatched,
    event,
    every,
    ledger_of,
    ok,
)
from wakefold.events import Event, Json
from wakefold.guard import (
    Guard,
    Refusal,
    Stop,
    StopKey,
    admit,
    note_told,
    reap,
    resume_guard,
    watch,
)
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig
from wakefold.ledger import Ledger
from wakefold.tools import answer_value, open_call
from wakefold.wakeups import DAY_MS, HOUR_MS, NO_WAKEUPS, Wakeups

MIN_MS = 60_000
MIDNIGHT = T - 8 * HOUR_MS
CREATE = "schedule_create"


def woken(*times_ms: int, streak: int = 0, word_seq: int | None = None) -> Wakeups:
    """Wakeups at instants, the streak set apart from them."""
    return Wakeups(streak, streak, times_ms, len(times_ms), word_seq)


def word(seq: int, kind: str = "user", time_ms: int = T) -> Event:
    """A message, external or not."""
    return event({"source": {"kind": kind}}, seq, "user/message", time_ms)


def wakeup(seq: int, time_ms: int = T, name: str = "a") -> Event:
    """The dispatch of a one-shot."""
    return event(dispatched(name), seq, time_ms=time_ms)


# Admission


def test_a_create_is_admitted_until_the_hour_is_used_up() -> None:
    """The wakeups of the last sixty minutes count, one exactly an hour ago among them."""
    three = (T - HOUR_MS, T - 2, T - 1)
    assert admit(woken(*three), DEFAULT_CONFIG, CREATE, {}, T) is None
    assert admit(woken(T - HOUR_MS - 1, *three), DEFAULT_CONFIG, CREATE, {}, T) is None
    refusal = admit(woken(T - HOUR_MS, *three), DEFAULT_CONFIG, CREATE, {}, T)
    assert refusal == Refusal("SCHEDULE_HOURLY_CAP", 4, 4, free_in_ms=0)


@pytest.mark.parametrize("count", [4, 5, 40])
def test_the_time_until_a_slot_frees_is_that_of_the_first(count: int) -> None:
    """How long the first of the hour, in the order of the log, stays in it."""
    times_ms = (T - 12 * MIN_MS, *range(T - 13 * MIN_MS, T - 13 * MIN_MS + count - 1))
    refusal = admit(woken(*times_ms), DEFAULT_CONFIG, CREATE, {}, T)
    assert refusal == Refusal("SCHEDULE_HOURLY_CAP", 4, count, free_in_ms=48 * MIN_MS)


def test_the_hourly_cap_comes_before_the_floor() -> None:
    """Of two reasons to refuse, the cap is named."""
    used_up = woken(*[T] * 4)
    for wakeups, code in ((used_up, "SCHEDULE_HOURLY_CAP"), (NO_WAKEUPS, "SCHEDULE_TOO_FREQUENT")):
        refusal = admit(wakeups, DEFAULT_CONFIG, CREATE, {"every_seconds": 600}, T)
        assert refusal is not None
        assert refusal.code == code


@pytest.mark.parametrize("cap", [0.5, 1])
def test_the_least_cap_admits_nothing_after_one_wakeup(cap: float) -> None:
    """It is off at zero, not at one."""
    config = GuardConfig(max_per_hour=cap)
    assert admit(NO_WAKEUPS, config, CREATE, {}, T) is None
    refusal = admit(woken(T), config, CREATE, {}, T)
    assert refusal == Refusal("SCHEDULE_HOURLY_CAP", cap, 1, free_in_ms=HOUR_MS)


@pytest.mark.parametrize("cap", [0, -1, -0.5])
def test_a_cap_at_or_below_zero_is_off(cap: float) -> None:
    """The floor stays."""
    config = GuardConfig(max_per_hour=cap)
    assert admit(woken(*[T] * 99), config, CREATE, {"after_seconds": 1}, T) is None
    refusal = admit(woken(*[T] * 99), config, CREATE, {"every_seconds": 1}, T)
    assert refusal == Refusal("SCHEDULE_TOO_FREQUENT", 1800, 1)


@pytest.mark.parametrize("seconds", [1799, 1799.5, 0, -5, -1e400])
def test_a_repeat_below_the_floor_is_refused(seconds: float) -> None:
    """Whatever number was asked for."""
    refusal = admit(NO_WAKEUPS, DEFAULT_CONFIG, CREATE, {"every_seconds": seconds}, T)
    assert refusal == Refusal("SCHEDULE_TOO_FREQUENT", 1800, seconds)
    assert refusal.free_in_ms is None  # nothing to wait for


@pytest.mark.parametrize(
    "arguments",
    [
        {"every_seconds": 1800},
        {"every_seconds": 1800.0},
        {"every_seconds": 1e400},
        {"every_seconds": "600"},
        {"every_seconds": True},
        {"every_seconds": False},
        {"every_seconds": None},
        {"every_seconds": [600]},
        {"after_seconds": 1},
        {},
        [],
        None,
        "every_seconds",
    ],
)
def test_what_is_no_number_below_the_floor_passes(arguments: object) -> None:
    """Its faults are the tool's to name; streak and day are not looked at here."""
    busy = woken(*[T - HOUR_MS - 1] * 99, streak=99)
    assert admit(busy, DEFAULT_CONFIG, CREATE, arguments, T) is None


@pytest.mark.parametrize(
    ("tool", "arguments", "asked_seconds"),
    [
        ("schedule_create", {"cron": {"expression": "0 9,10 * * *"}}, 3600),
        ("schedule_update", {"cron": {"expression": "0 9,10 * * *", "time_zone": "UTC"}}, 3600),
        ("schedule_create", {"daily": {"time": "09:00:00"}}, None),
        ("schedule_create", {"cron": {"expression": "never"}}, None),
        ("schedule_update", {"title": "x"}, None),
    ],
)
def test_admission_looks_at_the_smallest_spacing(
    tool: str, arguments: Json, asked_seconds: int | None
) -> None:
    """Whatever the zone; what cannot be read is the tool's to refuse."""
    config = GuardConfig(min_repeating_interval_seconds=7200)
    refusal = admit(NO_WAKEUPS, config, tool, arguments, T)
    assert refusal == (
        None if asked_seconds is None else Refusal("SCHEDULE_TOO_FREQUENT", 7200, asked_seconds)
    )


@pytest.mark.parametrize("tool", ["schedule_list", "schedule_delete", "bash", ""])
def test_other_tools_pass(tool: str) -> None:
    """The guard owns none of them."""
    assert admit(woken(*[T] * 9), DEFAULT_CONFIG, tool, {"every_seconds": 1}, T) is None


def test_a_call_under_a_guard_is_refused_before_the_queue() -> None:
    """The guard's reason comes before the tool's own checks, and without a guard there is none."""
    guard = Guard(config=DEFAULT_CONFIG, wakeups=woken(*[T] * 4))
    refused = open_call("schedule_create", {"prompt": ""}, guard, T)
    assert refused.failure() == Refusal("SCHEDULE_HOURLY_CAP", 4, 4, free_in_ms=HOUR_MS)
    value = answer_value(refused)
    assert isinstance(value, dict)
    assert value["isError"] is True
    assert open_call("schedule_create", {"prompt": ""}, guard, T + HOUR_MS + 1).failure().code == (
        "invalid_selector"
    )
    call: Json = {"prompt": "x", "after_seconds": 1}
    ok(open_call("schedule_create", call))
    ok(open_call("schedule_create", call, Guard(config=DEFAULT_CONFIG), T))
    ok(open_call("schedule_list", {}, guard, T))


# The reaper

SLOW, SLOWER = every("s", seconds=1800), every("m", seconds=86_400)
FAST, FASTER = every("f", seconds=600), every("g", seconds=300)
ALL = ledger_of(*map(created, (after("a"), SLOW, FAST, at("t"), FASTER, every("h", seconds=600))))
CALM = ledger_of(*map(created, (after("a"), SLOW, at("t"), SLOWER)))


def stop_of(wakeups: Wakeups, ledger: Ledger, config: GuardConfig = DEFAULT_CONFIG) -> Stop:
    """The stop that there must be."""
    stop = reap(wakeups, ledger, config, T)
    assert stop is not None
    return stop


def test_the_first_limit_that_is_passed_is_named() -> None:
    """The streak, then the day, then the floor; the numbers of all stand in the stop."""
    day = [T] * 49
    streak = stop_of(woken(*day, streak=7, word_seq=5), ALL)
    assert (streak.key, streak.limit) == (StopKey("consecutive", 5), 6)
    assert (streak.key.since, streak.key.ids) == (5, frozenset())
    assert (streak.consecutive, streak.per_day, streak.total) == (7, 49, 49)
    assert stop_of(woken(*day, streak=6), ALL).key == StopKey("per_day", MIDNIGHT)
    assert stop_of(woken(*day, streak=6), ALL).limit == 48
    floor = stop_of(woken(*day[1:], streak=6), ALL)
    assert (floor.key, floor.limit) == (StopKey("interval", ids=frozenset("fgh")), 1800)
    assert reap(woken(*day[1:], streak=6), CALM, DEFAULT_CONFIG, T) is None


@pytest.mark.parametrize("wakeups", [woken(streak=7), woken(*[T] * 49), NO_WAKEUPS])
def test_the_too_fast_alone_are_deleted(wakeups: Wakeups) -> None:
    """Whatever the reason; their distinct intervals stand in create order."""
    stop = stop_of(wakeups, ALL)
    assert [record.id for record in stop.to_delete] == ["f", "g", "h"]
    assert stop.offending_seconds == (600, 300)


@pytest.mark.parametrize("wakeups", [woken(streak=7), woken(*[T] * 49)])
def test_without_a_too_fast_one_every_repeat_is_deleted(wakeups: Wakeups) -> None:
    """Repeating records in create order, never a one-shot."""
    stop = stop_of(wakeups, CALM)
    assert [record.id for record in stop.to_delete] == ["s", "m"]
    assert stop.offending_seconds == ()
    assert stop_of(wakeups, ledger_of(created(at()))).to_delete == ()


def test_the_floor_itself_is_not_too_fast() -> None:
    """Nor is anything else exactly at its limit."""
    assert reap(woken(*[T] * 48, streak=6), CALM, DEFAULT_CONFIG, T) is None
    config = GuardConfig(min_repeating_interval_seconds=1800.5)
    assert stop_of(NO_WAKEUPS, CALM, config).key.ids == {"s"}


@pytest.mark.parametrize(
    ("times_ms", "offset_minutes", "since_ms"),
    [
        ((MIDNIGHT, T), 0, MIDNIGHT),
        ((MIDNIGHT - 1, T), 0, None),
        ((MIDNIGHT - HOUR_MS, T), 60, MIDNIGHT - HOUR_MS),
        ((MIDNIGHT + HOUR_MS - 1, T), -60, None),
        ((T + DAY_MS, T), 0, MIDNIGHT),
    ],
)
def test_a_day_counts_from_its_start(
    times_ms: tuple[int, ...], offset_minutes: int, since_ms: int | None
) -> None:
    """At the configured boundary; a wakeup that a clock set back left in the future counts, too."""
    config = GuardConfig(max_per_day=1, day_boundary_offset_minutes=offset_minutes)
    stop = reap(woken(*times_ms), CALM, config, T)
    assert (None if stop is None else stop.key.since) == since_ms


def test_a_session_without_schedule_events_is_left_alone() -> None:
    """Even under limits of zero nothing happens; what was deleted long ago is an event."""
    none = GuardConfig(max_consecutive_wakeups=0, max_per_day=0)
    assert reap(woken(streak=1), Ledger(), none, T) is None
    gone = ledger_of(created(FAST), deleted("f"))
    assert reap(NO_WAKEUPS, gone, none, T) is None
    assert stop_of(woken(streak=1), gone, none).to_delete == ()
    assert stop_of(woken(T, streak=1), Ledger(), none).to_delete == ()


def test_what_exhaustion_has_ended_is_not_deleted() -> None:
    """Only active records can be too fast."""
    late = ledger_of(created(every("f", LAST_MS - 1)), dispatched("f", LAST_MS))
    assert reap(NO_WAKEUPS, late, DEFAULT_CONFIG, T) is None


# Watching, telling, resuming


def test_a_guard_counts_as_it_watches() -> None:
    """Dispatches and messages; nothing else touches it."""
    guard = Guard(config=GuardConfig(reset_kinds=("boss",)))
    assert watch(guard, event(None, 3, "turn/end")) is guard
    seen = reduce(watch, (wakeup(0), word(1), wakeup(2), word(3, "boss"), wakeup(4)), guard)
    assert seen.wakeups == Wakeups(1, 2, (T, T, T), 3, word_seq=3)
    assert (seen.config, seen.told) == (guard.config, frozenset())


def test_a_fork_counts_its_own_suffix() -> None:
    """What it inherited wakes and resets nothing."""
    told = frozenset({StopKey("per_day", 1)})
    guard = Guard(config=DEFAULT_CONFIG, seed_length=3, told=told)
    assert watch(guard, wakeup(2)) is guard
    assert watch(guard, word(2)) is guard
    seen = watch(guard, wakeup(3))
    assert (seen.wakeups.total, seen.seed_length, seen.told) == (1, 3, told)


def test_a_stop_that_was_told_is_remembered() -> None:
    """Beside the earlier ones; nothing else changes."""
    guard = Guard(config=DEFAULT_CONFIG, seed_length=2, wakeups=woken(T))
    one, two = StopKey("consecutive"), StopKey("interval", ids=frozenset("f"))
    noted = note_told(note_told(guard, one), two)
    assert noted.told == {one, two}
    assert (noted.config, noted.seed_length, noted.wakeups) == (DEFAULT_CONFIG, 2, woken(T))


@pytest.mark.parametrize(
    ("ledger", "streak", "told"),
    [
        (ledger_of(created(at())), 7, {StopKey("consecutive")}),
        (ledger_of(created(at())), 6, set()),
        (CALM, 7, set()),
        (ALL, 0, set()),
    ],
)
def test_a_restart_takes_a_trip_without_deletes_for_told(
    ledger: Ledger, streak: int, told: set[StopKey]
) -> None:
    """A trip that has something to delete is news, and so is everything later."""
    guard = Guard(config=DEFAULT_CONFIG, wakeups=woken(streak=streak))
    assert resume_guard(guard, ledger, T).told == told
