"""Laws of the guard: what it counts and decides, whichever way it comes to know the log.

This module decides what counting, restarting, words and reaping owe each other. It refuses to know what
the limits are good for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from msgspec import Struct

from wakefold.events import (
    SCHEDULE_CHANGE,
    AtRecord,
    Create,
    Delete,
    Event,
    EveryRecord,
    encode_change,
)
from wakefold.guard import (
    Guard,
    Hold,
    Refusal,
    Stop,
    admit,
    find_hold,
    find_not_before,
    reap,
    watch,
)
from wakefold.guard_config import GuardConfig, QuietHours
from wakefold.ledger import Ledger, evolve, fold, list_active
from wakefold.lifecycle import advance
from wakefold.owners import open_owner
from wakefold.records import find_interval
from wakefold.recurrence import PUBLISHED
from wakefold.requests import allocate_id
from wakefold.signals import Recorded
from wakefold.wakeups import (
    DAY_MS,
    HOUR_MS,
    KEPT_MS,
    NO_WAKEUPS,
    Wakeups,
    count_wakeups,
    follow_wakeups,
)
from wakefold_laws.drawing import st
from wakefold_laws.guard_bench import START_MS, Bench
from wakefold_laws.laws import law
from wakefold_laws.log_model import BrokenLog, Log
from wakefold_laws.strategies import broken_logs, logs

_WEEK_MS: Final = 7 * DAY_MS
_STEPS_MS: Final = (0, 1, 60_000, 600_000, HOUR_MS, HOUR_MS + 1, DAY_MS, 9 * DAY_MS, -HOUR_MS, -DAY_MS)

_steps = st.sampled_from(_STEPS_MS)
_words = st.sampled_from(("user", "user", "a2a", "plugin", None))
#: Limits of the guard, narrow enough to be met.
configs = st.builds(
    GuardConfig,
    max_consecutive_wakeups=st.integers(0, 3),
    max_per_day=st.integers(0, 4),
    max_per_hour=st.sampled_from((0, 1, 1.5, 2, 3)),
    reset_kinds=st.sampled_from((("user", "a2a"), ("user",), ())),
    min_repeating_interval_seconds=st.sampled_from((0, 301, 1800, 86_400.5)),
    day_boundary_offset_minutes=st.sampled_from((0, -90, 0.5, 840)),
    hold=st.booleans(),
    quiet_hours=st.none() | st.just(QuietHours(22 * 60, 6 * 60, "Europe/Berlin")),
)


def retell(draw: st.DrawFn, events: Sequence[Event]) -> tuple[Event, ...]:
    """The events with other times, and with messages from outside in the place of foreign ones."""
    time_ms = START_MS
    told: list[Event] = []
    for one in events:
        time_ms += draw(_steps)
        kind = None if one.type == SCHEDULE_CHANGE else draw(_words)
        if kind is None:
            told.append(Event(one.type, one.seq, time_ms, one.data))
        else:
            told.append(Event("user/message", one.seq, time_ms, {"source": {"kind": kind}}))
    return tuple(told)


@st.composite
def stories(draw: st.DrawFn) -> Log:
    """Valid logs in which people speak, and in which a clock goes by hours, days and backwards."""
    log = draw(logs(steps_max=20))
    return Log(retell(draw, log.events), log.seed_length, log.profile, log.ledger, log.occurrences)


@st.composite
def broken_stories(draw: st.DrawFn) -> BrokenLog:
    """The same with a fault: counting looks at less than folding does."""
    log = draw(broken_logs())
    return BrokenLog(retell(draw, log.events), log.seed_length, log.profile, log.index, log.rule)


class Verdicts(Struct, frozen=True):
    """Everything that the guard has to say at an instant."""

    one_shot: Refusal | None
    repeat: Refusal | None
    stop: Stop | None
    hold: Hold | None


def judge(wakeups: Wakeups, ledger: Ledger, config: GuardConfig, now_ms: int) -> Verdicts:
    """Every verdict at an instant."""
    return Verdicts(
        admit(wakeups, config, "schedule_create", {"after_seconds": 1}, now_ms),
        admit(wakeups, config, "schedule_create", {"every_seconds": 600}, now_ms),
        reap(wakeups, ledger, config, now_ms),
        find_hold(wakeups, config, now_ms),
    )


def numbers_of(wakeups: Wakeups) -> tuple[int | None, ...]:
    """All that is counted, without the times, of which the old ones may be forgotten."""
    return wakeups.consecutive, wakeups.max_consecutive, wakeups.total, wakeups.word_seq


#: The place of an event and how far away from it in ms; no place is that of the latest event.
Moment = tuple[int | None, int]

_places = st.integers(0, 2**16)
_moments = st.tuples(_places, _steps) | st.tuples(st.none(), st.integers(-_WEEK_MS, 2 * DAY_MS))


def find_moment(events: Sequence[Event], moment: Moment) -> int:
    """The instant (epoch ms) of a moment; not more than a week before the latest of the events."""
    times_ms = [one.time_ms for one in events] or [START_MS]
    latest_ms = max(times_ms)
    place, away_ms = moment
    near_ms = latest_ms if place is None else times_ms[place % len(times_ms)]
    return max(near_ms + away_ms, latest_ms - _WEEK_MS)


@law(times=3, log=stories() | broken_stories(), config=configs, moment=_moments)
def counting_on_the_way_is_counting_over_the_log(
    log: Log | BrokenLog, config: GuardConfig, moment: Moment
) -> None:
    """Event by event, old times forgotten, every verdict is that of a count over the own suffix."""
    own = log.events[log.seed_length :]
    counted = count_wakeups(own, config.reset_kinds)
    followed = NO_WAKEUPS
    for one in own:
        followed = follow_wakeups(followed, one, config.reset_kinds)
    watched = reduce(watch, log.events, Guard(config=config, seed_length=log.seed_length))
    assert watched.wakeups == followed
    assert numbers_of(followed) == numbers_of(counted)
    assert counted.total == len(counted.dispatch_times_ms)
    ledger = log.ledger if isinstance(log, Log) else Ledger()
    now_ms = find_moment(own, moment)
    expected = judge(counted, ledger, config, now_ms)
    assert judge(followed, ledger, config, now_ms) == expected


@law(log=stories() | broken_stories(), moment=_moments)
def looking_back_is_scanning_the_times(log: Log | BrokenLog, moment: Moment) -> None:
    """At each length of a log the wakeups since an instant are those that a look at every time that is
    kept finds, and kept are all but the old ones at the beginning, whatever the clock did.
    """
    followed = NO_WAKEUPS
    times_ms: list[int] = []
    for one in log.events[log.seed_length :]:
        before = followed.total
        followed = follow_wakeups(followed, one)
        times_ms += [one.time_ms] * (followed.total - before)
        while times_ms and times_ms[0] < times_ms[-1] - KEPT_MS:
            times_ms.pop(0)
        assert followed.dispatch_times_ms == tuple(times_ms)
        since_ms = find_moment(log.events, moment)
        for edge_ms in (since_ms, *times_ms[:1]):
            scanned = [time_ms for time_ms in times_ms if time_ms >= edge_ms]
            assert followed.list_since(edge_ms) == scanned
            assert followed.count_since(edge_ms) == len(scanned)
            assert followed.find_since(edge_ms) == (scanned[0] if scanned else None)


@law(times=3, log=stories(), config=configs, place=_places, restart=_moments, later=_moments)
def a_restart_changes_no_verdict(
    log: Log, config: GuardConfig, place: int, restart: Moment, later: Moment
) -> None:
    """Opened over any prefix, an owner that hears the rest has the ledger and the wakeups of one that
    never stopped; after the restart it may only take an old stop that deletes nothing for told.
    """
    place = log.seed_length + place % (len(log.events) - log.seed_length + 1)
    now_ms = find_moment(log.events[:place], restart)
    owner = open_owner(log.events[:place], log.seed_length, log.profile, config, now_ms).unwrap()
    assert owner.guard is not None
    old = reap(owner.guard.wakeups, owner.ledger or Ledger(), config, now_ms)
    assert owner.guard.told == ({old.key} if old is not None and not old.to_delete else set())
    for one in log.events[place:]:
        owner, effects = advance(owner, Recorded(one))
        assert effects == ()
    whole = open_owner(log.events, log.seed_length, log.profile, config).unwrap()
    assert owner.ledger == whole.ledger == log.ledger
    assert owner.guard is not None
    assert whole.guard is not None
    assert numbers_of(owner.guard.wakeups) == numbers_of(whole.guard.wakeups)
    later_ms = find_moment(log.events, later)
    assert find_not_before(owner.guard, later_ms) == find_not_before(whole.guard, later_ms)
    assert judge(owner.guard.wakeups, log.ledger, config, later_ms) == judge(
        count_wakeups(log.events[log.seed_length :], config.reset_kinds), log.ledger, config, later_ms
    )


@law(
    times=3,
    log=stories(),
    config=configs,
    kind=st.sampled_from(("user", "a2a", "plugin")),
    moment=_moments,
)
def a_word_resets_the_streak_and_nothing_else(
    log: Log, config: GuardConfig, kind: str, moment: Moment
) -> None:
    """An external word ends the streak, so that no stop is a streak's any more; admission and the
    limits of hour and day do not hear it.
    """
    guard = reduce(watch, log.events, Guard(config=config, seed_length=log.seed_length))
    seq = len(log.events)
    spoken = watch(guard, Event("user/message", seq, START_MS, {"source": {"kind": kind}}))
    now_ms = find_moment(log.events, moment)
    before, after = (judge(g.wakeups, log.ledger, config, now_ms) for g in (guard, spoken))
    assert (after.one_shot, after.repeat) == (before.one_shot, before.repeat)
    if kind not in config.reset_kinds:
        assert spoken == guard
        return
    was, now = guard.wakeups, spoken.wakeups
    assert (now.consecutive, now.word_seq) == (0, seq)
    assert (now.max_consecutive, now.total) == (was.max_consecutive, was.total)
    assert now.dispatch_times_ms == was.dispatch_times_ms
    assert after.stop is None or after.stop.key.reason != "consecutive"
    if before.stop is None or before.stop.key.reason != "consecutive":
        assert (after.stop is None) == (before.stop is None)
    if config.max_consecutive_wakeups > was.consecutive:
        assert after.hold == before.hold


@law(times=3, log=stories(), config=configs, moment=_moments)
def a_reap_ends_what_caused_it_and_leaves_one_shots(
    log: Log, config: GuardConfig, moment: Moment
) -> None:
    """The deletes of a stop may be appended; then no repeating record that caused it is active, every
    one-shot is, and a second look deletes nothing more for the same reason.
    """
    wakeups = count_wakeups(log.events[log.seed_length :], config.reset_kinds)
    now_ms = find_moment(log.events, moment)
    stop = reap(wakeups, log.ledger, config, now_ms)
    if stop is None:
        return
    ledger = log.ledger
    for record in stop.to_delete:
        data_ = encode_change(Delete(record.id))
        ledger = evolve(ledger, Event(SCHEDULE_CHANGE, ledger.position, now_ms, data_)).unwrap()
    left = list_active(ledger)
    gone = {record.id for record in stop.to_delete}
    assert [record for record in list_active(log.ledger) if record.id not in gone] == list(left)
    assert all(isinstance(record, EveryRecord) for record in stop.to_delete)
    repeating = [record for record in left if isinstance(record, EveryRecord)]
    floor = config.min_repeating_interval_seconds
    assert not any(record.every_seconds < floor for record in repeating)
    if not any(find_interval(record) < floor for record in stop.to_delete):
        assert not repeating
    again = reap(wakeups, ledger, config, now_ms)
    assert again is None or again.key.reason != "interval"
    if stop.key.reason == "interval":
        assert again is None
    else:
        assert again is not None
        assert again.key == stop.key


_deeds = st.tuples(
    st.sampled_from(("every", "every", "shot", "go", "go", "go", "idle", "idle", "word", "later")),
    st.integers(0, 9),
)


def do(bench: Bench, deed: str, choice: int) -> None:
    """One deed of a session's life."""
    match deed:
        case "every":
            seconds = (300, 600, 1800, 86_400)[choice % 4]
            record = EveryRecord(allocate_id(bench.ledger), "p", seconds, bench.now_ms)
            bench.change(Create(record))
        case "shot":
            bench.change(Create(AtRecord(allocate_id(bench.ledger), "p", bench.now_ms)))
        case "go":
            bench.dispatch(choice)
        case "word":
            bench.append({"source": {"kind": "user"}}, "user/message")
        case "later":
            bench.now_ms += _STEPS_MS[choice]
        case _:
            look(bench)


def look(bench: Bench) -> None:
    """An idle: nothing that can be deleted for its stop is left, no one-shot is touched, no stop is
    told that was told before, and none is kept back.
    """
    assert bench.owner.guard is not None
    guard, before = bench.owner.guard, bench.ledger
    trip = reap(guard.wakeups, before, guard.config, bench.now_ms)
    known = set(bench.told)
    reaped = bench.idle()
    assert reaped.stop == (None if trip is None or trip.key in known else trip)
    assert len(set(bench.told)) == len(bench.told)
    shots = [record for record in list_active(before) if not isinstance(record, EveryRecord)]
    assert [r for r in list_active(bench.ledger) if not isinstance(r, EveryRecord)] == shots
    deleted = {} if trip is None else {record.id: None for record in trip.to_delete}
    assert before.records.keys() - bench.ledger.records.keys() == deleted.keys()
    left = reap(guard.wakeups, bench.ledger, guard.config, bench.now_ms)
    if left is not None and trip is not None and not trip.offending_seconds:
        assert left.to_delete == ()


@law(times=12, config=configs, life=st.lists(_deeds, min_size=4, max_size=40))
def no_stop_is_told_twice(config: GuardConfig, life: list[tuple[str, int]]) -> None:
    """Through any life of a session: every stop is acted on at each idle and told once, and its log
    can be folded at the end as it was followed on the way.
    """
    bench = Bench(config)
    for deed, choice in [*life, ("idle", 0)]:
        do(bench, deed, choice)
    assert fold(bench.events, 0, PUBLISHED).unwrap() == bench.ledger
    assert bench.owner.guard is not None
    counted = count_wakeups(bench.events, config.reset_kinds)
    assert bench.owner.guard.wakeups.total == counted.total
    assert bench.owner.guard.told == set(bench.told)
