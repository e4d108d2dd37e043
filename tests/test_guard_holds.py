"""How long the guard holds delivery: in its verdicts, in the owner, and in what a list shows."""

from __future__ import annotations

import pytest

from core_logs import (
    LAST_MS,
    T,
    at,
    created,
    dispatched,
    event,
    every,
    log,
    ok,
)
from wakefold.effects import Arm, Claim, Effect, EndTurn, HandOver, Release
from wakefold.events import Event
from wakefold.guard import (
    UNTIL_A_WORD,
    Guard,
    Hold,
    StopKey,
    find_hold,
    find_not_before,
)
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig, QuietHours
from wakefold.instants import parse_instant
from wakefold.lifecycle import advance
from wakefold.owners import Owner, Phase, open_owner
from wakefold.recurrence import SEED
from wakefold.signals import (
    ClaimGranted,
    Flushed,
    LogLost,
    Nudged,
    Recorded,
    Signal,
    StopTold,
    TurnCame,
)
from wakefold.tools import Barrier, Confirmed, ReadClock, Sampled, answer_value, open_call
from wakefold.wakeups import DAY_MS, HOUR_MS, NO_WAKEUPS, Wakeups
from wakefold.zones import find_clock_instant, read_clock_minutes

MIN_MS = 60_000
MIDNIGHT = T - 8 * HOUR_MS


def woken(*times_ms: int, streak: int = 0) -> Wakeups:
    """Wakeups at instants, the streak set apart from them."""
    return Wakeups(streak, streak, times_ms, len(times_ms))


def word(seq: int, kind: str = "user", time_ms: int = T) -> Event:
    """A message, external or not."""
    return event({"source": {"kind": kind}}, seq, "user/message", time_ms)


def wakeup(seq: int, time_ms: int = T, name: str = "a") -> Event:
    """The dispatch of a one-shot."""
    return event(dispatched(name), seq, time_ms=time_ms)


HOLD = GuardConfig(hold=True)


def held_until(wakeups: Wakeups, config: GuardConfig, now_ms: int = T) -> int | None:
    """The instant of the hold that there must be, `None` for a word."""
    hold = find_hold(wakeups, config, now_ms)
    assert hold is not None
    not_before_ms = find_not_before(Guard(config=config, wakeups=wakeups), now_ms)
    assert not_before_ms == (UNTIL_A_WORD if hold.until_ms is None else hold.until_ms)
    return hold.until_ms


def test_without_hold_no_limit_holds() -> None:
    """It is off by default, and with it on nothing below a limit is held."""
    assert find_hold(woken(*[T] * 99, streak=99), DEFAULT_CONFIG, T) is None
    busy = Guard(config=HOLD, wakeups=woken(*[T] * 3, *[T - HOUR_MS - 1] * 40, streak=5))
    assert find_hold(busy.wakeups, HOLD, T) is None
    assert find_not_before(busy, T) is None


@pytest.mark.parametrize(
    ("cap", "ages_ms", "rest_ms"),
    [
        (1, [0], HOUR_MS),
        (1, [HOUR_MS], 0),
        (2, [5, 3], HOUR_MS - 5),
        (2, [3, 5, 9], HOUR_MS - 5),
        (0.5, [7], HOUR_MS - 7),
        (1.5, [9, 7], HOUR_MS - 9),
        (2, [-10, 4], HOUR_MS - 4),
    ],
)
def test_an_hour_that_is_used_up_holds_until_a_slot_frees(
    cap: float, ages_ms: list[int], rest_ms: int
) -> None:
    """The first instant at which fewer than the cap lie in the sliding hour, whatever their order."""
    config = GuardConfig(hold=True, max_per_hour=cap)
    wakeups = woken(*(T - age_ms for age_ms in ages_ms))
    until_ms = held_until(wakeups, config)
    assert until_ms == T + rest_ms + 1
    assert find_hold(wakeups, config, until_ms - 1) == Hold(until_ms)
    assert find_hold(wakeups, config, until_ms) is None
    assert find_hold(wakeups, GuardConfig(hold=True, max_per_hour=0), T) is None


@pytest.mark.parametrize(("offset", "until_ms"), [(0, MIDNIGHT + DAY_MS), (-480, T + DAY_MS)])
def test_a_day_that_is_used_up_holds_until_the_next(offset: int, until_ms: int) -> None:
    """Its start by the configured boundary."""
    config = GuardConfig(hold=True, max_per_day=2, max_per_hour=0, day_boundary_offset_minutes=offset)
    assert held_until(woken(T, T), config) == until_ms
    assert find_hold(woken(T, T), config, until_ms) is None
    assert find_hold(woken(T - DAY_MS, T), config, T) is None


def test_a_streak_that_is_used_up_holds_until_a_word() -> None:
    """At the limit, not past it; no instant ends it."""
    assert held_until(woken(streak=6), HOLD) is None
    assert find_hold(woken(streak=5), HOLD, T) is None


def test_of_several_holds_the_longest_counts() -> None:
    """A word before any instant, and the later instant of two."""
    night = QuietHours(7 * 60, 8 * 60 + 30, "UTC")
    config = GuardConfig(hold=True, max_per_hour=1, max_per_day=2, quiet_hours=night)
    assert held_until(woken(T - HOUR_MS), config) == T + 30 * MIN_MS
    assert held_until(woken(T), config) == T + HOUR_MS + 1
    assert held_until(woken(T, T), config) == MIDNIGHT + DAY_MS
    assert held_until(woken(T, T, streak=6), config) is None


# Quiet hours

NIGHT = QuietHours(22 * 60, 6 * 60, "Europe/Berlin")
SHORT = QuietHours(60, 150, "Europe/Berlin")
IN_GAP = QuietHours(150, 360, "Europe/Berlin")
NIGHT_TO_GAP = QuietHours(22 * 60, 150, "Europe/Berlin")


def ms(text: str) -> int:
    """An instant by the minute, UTC."""
    instant_ms = parse_instant(f"{text}:00.000Z")
    assert instant_ms is not None
    return instant_ms


@pytest.mark.parametrize(
    ("quiet", "now", "until"),
    [
        (NIGHT, "2027-01-15T20:59", None),
        (NIGHT, "2027-01-15T21:00", "2027-01-16T05:00"),  # the start is included
        (NIGHT, "2027-01-15T23:30", "2027-01-16T05:00"),  # after midnight
        (NIGHT, "2027-01-16T04:59", "2027-01-16T05:00"),
        (NIGHT, "2027-01-16T05:00", None),  # the end is not
        (NIGHT, "2027-03-27T21:00", "2027-03-28T04:00"),  # the clock goes forward: seven hours
        (NIGHT, "2027-10-30T20:00", "2027-10-31T05:00"),  # and back: nine
        (SHORT, "2027-01-15T00:00", "2027-01-15T01:30"),
        (SHORT, "2027-01-15T01:30", None),
        (SHORT, "2027-10-31T00:15", "2027-10-31T00:30"),  # 02:15 for the first time
        (SHORT, "2027-10-31T00:45", None),  # 02:45
        (SHORT, "2027-10-31T01:00", "2027-10-31T01:30"),  # 02:00 for the second time
        (SHORT, "2027-10-31T01:30", None),
        (NIGHT_TO_GAP, "2027-03-28T00:59", "2027-03-28T01:00"),  # 01:59, then 03:00
        (NIGHT_TO_GAP, "2027-03-28T01:00", None),
        (IN_GAP, "2027-03-28T00:59", None),  # 01:59
        (IN_GAP, "2027-03-28T01:00", "2027-03-28T04:00"),  # 03:00, and 02:30 never was
    ],
)
def test_c85_quiet_hours_hold_by_the_clock(quiet: QuietHours, now: str, until: str | None) -> None:
    """From the start on until the end, which lies outside, as the zone's clock shows them."""
    hold = find_hold(NO_WAKEUPS, GuardConfig(quiet_hours=quiet), ms(now))
    assert hold == (None if until is None else Hold(ms(until)))
    if until is not None:
        assert find_hold(NO_WAKEUPS, GuardConfig(quiet_hours=quiet), ms(until) - 1) == hold
        assert find_hold(NO_WAKEUPS, GuardConfig(quiet_hours=quiet), ms(until)) is None


def test_off_the_calendar_no_clock_holds() -> None:
    """Where a zone's clock shows nothing, or never again what is waited for."""
    quiet = GuardConfig(quiet_hours=QuietHours(22 * 60, 6 * 60, "UTC"))
    for now_ms in (LAST_MS, LAST_MS + 1):
        assert find_hold(NO_WAKEUPS, quiet, now_ms) is None
    assert read_clock_minutes(LAST_MS, "UTC") == 1439
    assert read_clock_minutes(LAST_MS + 1, "UTC") is None
    assert find_clock_instant(LAST_MS, 360, "UTC") is None


@pytest.mark.parametrize(
    ("after_text", "clock", "found"),
    [
        ("2027-01-15T08:00", 9 * 60, "2027-01-16T08:00"),  # strictly after
        ("2027-01-15T07:59", 9 * 60, "2027-01-15T08:00"),
        ("2027-03-28T00:59", 150, "2027-03-28T01:00"),  # the gap: as the clock jumps past it
        ("2027-10-31T00:29", 150, "2027-10-31T00:30"),  # the overlap: twice
        ("2027-10-31T00:30", 150, "2027-10-31T01:30"),
        ("2027-10-31T01:30", 150, "2027-11-01T01:30"),
    ],
)
def test_a_clock_shows_a_minute_next_at(after_text: str, clock: int, found: str) -> None:
    """The first such instant, and there the clock shows it, unless it skips it."""
    assert find_clock_instant(ms(after_text), clock, "Europe/Berlin") == ms(found)
    skipped = found == "2027-03-28T01:00"
    assert read_clock_minutes(ms(found), "Europe/Berlin") == (180 if skipped else clock)


# The hold in the owner and in views


def owner_of(config: GuardConfig | None, *changes: object, now_ms: int = T) -> Owner:
    """The owner of a log of schedule changes, all of one instant."""
    events = [event(data, seq, time_ms=T) for seq, data in enumerate(changes)]
    return ok(open_owner(events, 0, SEED, config, now_ms))


def look(owner: Owner, now_ms: int) -> tuple[Owner, tuple[Effect, ...]]:
    """The owner after its run has come to a decision, and what it orders then."""
    signals: tuple[Signal, ...] = (Nudged(), TurnCame(), Flushed(now_ms))
    effects: tuple[Effect, ...] = ()
    for signal in signals:
        owner, effects = advance(owner, signal)
    return owner, effects


ONE_LEFT = (created(at("a")), dispatched("a"), created(at("b")))


def test_an_owner_on_hold_waits_for_the_instant() -> None:
    """Nothing is claimed before it; inside a claim the hold is looked at again."""
    owner = owner_of(GuardConfig(hold=True, max_per_hour=1), *ONE_LEFT)
    until_ms = T + HOUR_MS + 1
    resting, effects = look(owner, T + 5)
    assert effects == (Arm(until_ms=until_ms, delay_ms=until_ms - T - 5), EndTurn())
    assert look(resting, until_ms - 1)[1] == (Arm(until_ms=until_ms, delay_ms=1), EndTurn())
    claiming, effects = look(resting, until_ms)
    assert effects == (Claim(),)
    _, effects = advance(claiming, ClaimGranted(until_ms - 1))
    assert effects == (Arm(until_ms=until_ms, delay_ms=1), Release(), EndTurn())
    (order,) = advance(claiming, ClaimGranted(until_ms))[1]
    assert isinstance(order, HandOver)


def test_an_owner_on_hold_until_a_word_sets_no_timer() -> None:
    """The word itself is the next activity; before that it only wakes for what becomes due."""
    later = created(at("c", T + HOUR_MS))
    owner = owner_of(GuardConfig(hold=True, max_consecutive_wakeups=1), *ONE_LEFT[:2], later)
    _, effects = look(owner, T)
    assert effects == (Arm(until_ms=T + HOUR_MS, delay_ms=HOUR_MS), EndTurn())
    resting, effects = look(owner, T + HOUR_MS)
    assert effects == (EndTurn(),)
    spoken_to, _ = advance(resting, Recorded(word(3)))
    assert look(spoken_to, T + HOUR_MS)[1] == (Claim(),)


def test_c85_quiet_hours_reach_no_model() -> None:
    """A reminder due at 02:21 in the quiet hours is not handed over before they end at 06:00."""
    quiet = GuardConfig(quiet_hours=QuietHours(0, 6 * 60, "UTC"))
    due_ms, end_ms = MIDNIGHT + 141 * MIN_MS, MIDNIGHT + 360 * MIN_MS
    owner = owner_of(quiet, created(at("a", due_ms)))
    _, effects = look(owner, due_ms)
    assert effects == (Arm(until_ms=end_ms, delay_ms=end_ms - due_ms), EndTurn())
    assert look(owner, end_ms - 1)[1] == (Arm(until_ms=end_ms, delay_ms=1), EndTurn())
    assert look(owner, end_ms)[1] == (Claim(),)
    early = owner_of(quiet, created(at("a", MIDNIGHT)))
    assert look(early, MIDNIGHT)[1] == (Arm(until_ms=end_ms, delay_ms=360 * MIN_MS), EndTurn())
    late = owner_of(quiet, created(at("a", MIDNIGHT - 1)))
    assert look(late, MIDNIGHT - 1)[1] == (Claim(),)


def test_an_owner_opens_with_what_its_log_has_come_to() -> None:
    """Its guard counts the own suffix and takes an old trip for told; without limits there is none."""
    config = GuardConfig(max_consecutive_wakeups=0)
    guard = owner_of(config, *ONE_LEFT).guard
    assert guard is not None
    assert guard.told == {StopKey("consecutive")}
    assert guard.wakeups.total == 1
    fork = ok(open_owner(log(*ONE_LEFT), 2, SEED, config)).guard
    assert fork == Guard(config=config, seed_length=2)
    plain = owner_of(None, *ONE_LEFT)
    assert plain.guard is None
    assert advance(plain, StopTold(StopKey("consecutive"))) == (plain, ())
    assert open_owner(log(dispatched("a")), 0, SEED, config).failure().rule == "id_not_active"


def test_an_owner_s_guard_hears_of_events_and_stops() -> None:
    """Even once the log is lost, and the owner's phase is not touched."""
    owner = owner_of(DEFAULT_CONFIG, *ONE_LEFT)
    lost, _ = advance(owner, LogLost())
    assert lost.guard == owner.guard
    heard, effects = advance(lost, Recorded(wakeup(3)))
    noted, more = advance(heard, StopTold(StopKey("per_day", 5)))
    assert (effects, more, noted.phase) == ((), (), Phase.RESTING)
    assert noted.guard == Guard(
        config=DEFAULT_CONFIG,
        wakeups=Wakeups(2, 2, (T, T), 2),
        told=frozenset({StopKey("per_day", 5)}),
    )


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        (GuardConfig(hold=True, max_per_hour=1), "2027-01-15T09:00:00.001Z"),
        (GuardConfig(hold=True, max_consecutive_wakeups=1), "next-external-word"),
        (GuardConfig(quiet_hours=QuietHours(0, 601, "UTC")), "2027-01-15T10:01:00.000Z"),
        (DEFAULT_CONFIG, None),
        (None, None),
    ],
)
def test_a_list_shows_until_when_a_reminder_is_held(
    config: GuardConfig | None, shown: str | None
) -> None:
    """An overdue one alone, beside the gate that may hold it, too."""
    repeat = (created(every("e", T - 300_000)), dispatched("e", T - 1))
    owner = owner_of(config, *ONE_LEFT, created(at("c", T + 1)), *repeat)
    program = ok(open_call("schedule_list", {}, owner.guard, T))()
    assert isinstance(next(program), Barrier)
    assert isinstance(program.send(Confirmed(owner.ledger, owner.guard)), ReadClock)
    with pytest.raises(StopIteration) as end:
        program.send(Sampled(T))
    views = answer_value(end.value.value)
    assert isinstance(views, list)
    assert [view["id"] for view in views] == ["b", "c", "e"]
    assert [view.get("heldUntil") for view in views] == [shown, None, shown]
    assert "deliveryNotBefore" in views[2]
    assert all(("heldUntil" in view) == (view.get("heldUntil") is not None) for view in views)
