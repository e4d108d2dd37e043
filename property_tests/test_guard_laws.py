"""What the guard counts and decides, whichever way it comes to know the log."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from wakefold.events import (
    SCHEDULE_CHANGE,
    AtRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    encode_change,
)
from wakefold.guard import (
    Guard,
    Hold,
    Refusal,
    Stop,
    StopKey,
    admit,
    find_hold,
    find_not_before,
    reap,
    watch,
)
from wakefold.guard_config import GuardConfig, QuietHours
from wakefold.ledger import Ledger, evolve, fold, list_active
from wakefold.lifecycle import advance
from wakefold.owners import Owner, open_owner
from wakefold.reaping import Reaped, reap_reminders
from wakefold.recurrence import PUBLISHED
from wakefold.requests import allocate_id
from wakefold.signals import Recorded, StopTold
from wakefold.tools import Append, Appended, Barrier, Confirmed, Sampled, StepAnswer, ToolStep
from wakefold.wakeups import (
    DAY_MS,
    HOUR_MS,
    NO_WAKEUPS,
    Wakeups,
    count_wakeups,
    follow_wakeups,
)
from wakefold_laws.log_model import BrokenLog, Log
from wakefold_laws.strategies import broken_logs, logs

START_MS: Final = 1_801_472_400_000  # 2027-02-01T09:00:00Z
WEEK_MS: Final = 7 * DAY_MS
STEPS_MS: Final = (0, 1, 60_000, 600_000, HOUR_MS, HOUR_MS + 1, DAY_MS, 9 * DAY_MS, -HOUR_MS, -DAY_MS)

steps = st.sampled_from(STEPS_MS)
words = st.sampled_from(("user", "user", "a2a", "plugin", None))
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
        time_ms += draw(steps)
        kind = None if one.type == SCHEDULE_CHANGE else draw(words)
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


def draw_moment(data: st.DataObject, events: Sequence[Event]) -> int:
    """A moment near an event, or any; not more than a week before the latest of them."""
    times_ms = [one.time_ms for one in events] or [START_MS]
    latest_ms = max(times_ms)
    near = st.builds(int.__add__, st.sampled_from(times_ms), steps)
    any_time = st.integers(latest_ms - WEEK_MS, latest_ms + 2 * DAY_MS)
    return max(data.draw(near | any_time), latest_ms - WEEK_MS)


@settings(max_examples=3 * settings().max_examples)
@given(log=stories() | broken_stories(), config=configs, data=st.data())
def test_counting_on_the_way_is_counting_over_the_log(
    log: Log | BrokenLog, config: GuardConfig, data: st.DataObject
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
    now_ms = draw_moment(data, own)
    expected = judge(counted, ledger, config, now_ms)
    assert judge(followed, ledger, config, now_ms) == expected


@settings(max_examples=3 * settings().max_examples)
@given(log=stories(), config=configs, data=st.data())
def test_a_restart_changes_no_verdict(log: Log, config: GuardConfig, data: st.DataObject) -> None:
    """Opened over any prefix, an owner that hears the rest has the ledger and the wakeups of one that
    never stopped; after the restart it may only take an old stop that deletes nothing for told."""
    place = data.draw(st.integers(log.seed_length, len(log.events)))
    now_ms = draw_moment(data, log.events[:place])
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
    later_ms = draw_moment(data, log.events)
    assert find_not_before(owner.guard, later_ms) == find_not_before(whole.guard, later_ms)
    assert judge(owner.guard.wakeups, log.ledger, config, later_ms) == judge(
        count_wakeups(log.events[log.seed_length :], config.reset_kinds), log.ledger, config, later_ms
    )


@settings(max_examples=3 * settings().max_examples)
@given(log=stories(), config=configs, data=st.data())
def test_a_word_resets_the_streak_and_nothing_else(
    log: Log, config: GuardConfig, data: st.DataObject
) -> None:
    """Admission and the limits of hour and day do not hear it; no stop is a streak's any more."""
    guard = reduce(watch, log.events, Guard(config=config, seed_length=log.seed_length))
    kind = data.draw(st.sampled_from(("user", "a2a", "plugin")))
    seq = len(log.events)
    spoken = watch(guard, Event("user/message", seq, START_MS, {"source": {"kind": kind}}))
    now_ms = draw_moment(data, log.events)
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


@settings(max_examples=3 * settings().max_examples)
@given(log=stories(), config=configs, data=st.data())
def test_a_reap_ends_what_caused_it_and_leaves_one_shots(
    log: Log, config: GuardConfig, data: st.DataObject
) -> None:
    """Its deletes may be appended; then no repeating record that caused the stop is active, every
    one-shot is, and a second look deletes nothing more for the same reason."""
    wakeups = count_wakeups(log.events[log.seed_length :], config.reset_kinds)
    now_ms = draw_moment(data, log.events)
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
    if not any(record.every_seconds < floor for record in stop.to_delete):
        assert not repeating
    again = reap(wakeups, ledger, config, now_ms)
    assert again is None or again.key.reason != "interval"
    if stop.key.reason == "interval":
        assert again is None
    else:
        assert again is not None
        assert again.key == stop.key


class Bench:
    """An owner whose log is written as it goes, and whose agent becomes idle now and then."""

    def __init__(self, config: GuardConfig) -> None:
        self.now_ms = START_MS
        self.events: list[Event] = []
        self.told: list[StopKey] = []
        self.owner: Owner = open_owner((), 0, PUBLISHED, config).unwrap()

    @property
    def ledger(self) -> Ledger:
        """What the log has come to; it is never corrupt here."""
        assert self.owner.ledger is not None
        return self.owner.ledger

    def append(self, data: object, kind: str = SCHEDULE_CHANGE) -> None:
        """Write an event, and report it."""
        self.events.append(Event(kind, len(self.events), self.now_ms, data))
        self.owner, _ = advance(self.owner, Recorded(self.events[-1]))

    def change(self, change: Change) -> None:
        """Write a schedule change."""
        self.append(encode_change(change))

    def dispatch(self, place: int) -> None:
        """Let one of the active records go, if there is any."""
        active = list_active(self.ledger)
        if active:
            record = active[place % len(active)]
            accepted_ms = max(self.now_ms, record.scheduled_at_ms)
            self.change(Dispatch(record.id, accepted_ms if isinstance(record, EveryRecord) else None))

    def idle(self) -> Reaped:
        """Run the reaper, and tell what it finds."""
        program = reap_reminders()
        step = next(program)
        while True:
            try:
                step = program.send(self._answer(step))
            except StopIteration as end:
                reaped = end.value
                assert isinstance(reaped, Reaped)
                if reaped.stop is not None:
                    self.told.append(reaped.stop.key)
                    self.owner, _ = advance(self.owner, StopTold(reaped.stop.key))
                return reaped

    def _answer(self, step: ToolStep) -> StepAnswer:
        if isinstance(step, Barrier):
            return Confirmed(self.owner.ledger, self.owner.guard)
        if isinstance(step, Append):
            self.change(step.change)
            return Appended()
        return Sampled(self.now_ms)


deeds = st.tuples(
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
            bench.now_ms += STEPS_MS[choice]
        case _:
            look(bench)


def look(bench: Bench) -> None:
    """An idle: nothing that can be deleted for its stop is left, no one-shot is touched, no stop is
    told that was told before, and none is kept back."""
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


@settings(max_examples=12 * settings().max_examples)
@given(config=configs, life=st.lists(deeds, min_size=4, max_size=40))
def test_no_stop_is_told_twice(config: GuardConfig, life: list[tuple[str, int]]) -> None:
    """Through any life of a session: every stop is acted on at each idle and told once, and its log
    can be folded at the end as it was followed on the way."""
    bench = Bench(config)
    for deed, choice in [*life, ("idle", 0)]:
        do(bench, deed, choice)
    assert fold(bench.events, 0, PUBLISHED).unwrap() == bench.ledger
    assert bench.owner.guard is not None
    counted = count_wakeups(bench.events, config.reset_kinds)
    assert bench.owner.guard.wakeups.total == counted.total
    assert bench.owner.guard.told == set(bench.told)
