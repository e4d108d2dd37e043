"""Laws of deciding and planning: what goes now, and when to look again.

This module decides what a decision must be, by a second writing of spec section 7, and what a wake owes
it. It refuses to know who sleeps and who delivers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from returns.result import Failure, Success

from wakefold.events import (
    SCHEDULE_CHANGE,
    AfterRecord,
    AtRecord,
    Event,
    EveryRecord,
    OneShotRecord,
    Record,
    encode_change,
)
from wakefold.instants import MAX_INSTANT_MS, MIN_INSTANT_MS
from wakefold.ledger import Ledger, evolve, fold, list_active
from wakefold.recurrence import PUBLISHED, SEED
from wakefold.rejections import TimeOutOfRange
from wakefold.wakes import (
    MAX_DELAY_MS,
    BatchDue,
    BatchEntry,
    Decision,
    OneShotDue,
    Upcoming,
    Wait,
    Wake,
    decide_due,
    list_dispatches,
    plan_next_wake,
    preview,
)
from wakefold_laws.drawing import st
from wakefold_laws.laws import law
from wakefold_laws.log_model import BrokenLog, Level, Log, renew, retrace_log
from wakefold_laws.strategies import broken_logs, logs, moments

#: A ledger, an instant, and an instant before which nothing may go.
Scene = tuple[Ledger, int, int]
#: A log, and the instants at which it is asked, each with one before which nothing may go.
Life = tuple[Log | BrokenLog, list[tuple[int, int | None]]]
_TICK_MS: Final = 100_000
_TEMPLATES: Final[tuple[Record, ...]] = (
    *(EveryRecord("schedule-1", "p", seconds, 0) for seconds in (300, 301, 600, 86_400)),
    AfterRecord("schedule-1", "p", 1, 0),
    AtRecord("schedule-1", "p", 0),
)
_templates = st.lists(st.sampled_from(_TEMPLATES), max_size=6)


@st.composite
def crowds(draw: st.DrawFn) -> Scene:
    """A scene of few instants, 100 s apart, in this century or at the end of time, so that targets,
    gate and moments often coincide or miss each other by 1 ms.
    """
    start_ms = draw(st.sampled_from((1_801_472_400_000, MAX_INSTANT_MS - 9 * _TICK_MS)))
    ticks = st.integers(0, 9).map(lambda count: start_ms + count * _TICK_MS)
    near = st.builds(int.__add__, ticks, st.sampled_from((0, 0, 1, -1)))
    active = [
        renew(template, f"schedule-{number}", draw(ticks))
        for number, template in enumerate(draw(_templates), start=1)
    ]
    ledger = Ledger(
        profile=draw(st.sampled_from((SEED, SEED, PUBLISHED))),
        records={record.id: record for record in active},
        seen_ids={record.id: None for record in active},
        last_accepted_at_ms=draw(st.none() | ticks),
    )
    return ledger, min(draw(near), MAX_INSTANT_MS), min(draw(near), MAX_INSTANT_MS)


@st.composite
def grown_scenes(draw: st.DrawFn) -> Scene:
    """A scene whose ledger is that of a whole log."""
    ledger = draw(logs()).ledger
    return ledger, draw(moments(ledger)), draw(moments(ledger))


# A ledger, a moment, and a moment before which nothing may go.
_holds = crowds() | crowds() | grown_scenes()
_scenes = _holds.map(lambda scene: scene[:2])
_ledgers = _holds.map(lambda scene: scene[0])


def find_gate_ms(ledger: Ledger) -> int:
    """From when a batch may go, by the words of spec section 4."""
    last_ms = ledger.last_accepted_at_ms
    return MIN_INSTANT_MS if ledger.profile != SEED or last_ms is None else last_ms + 300_000


def split_kinds(ledger: Ledger) -> tuple[list[OneShotRecord], list[EveryRecord]]:
    """The active one-shots and repeating records, by target; those of one target in create order."""
    active = sorted(list_active(ledger), key=lambda record: record.scheduled_at_ms)
    repeating = [record for record in active if isinstance(record, EveryRecord)]
    return [record for record in active if isinstance(record, OneShotRecord)], repeating


def enter(record: EveryRecord, now_ms: int) -> BatchEntry:
    """A repeating record's part of a batch: its latest due occurrence."""
    interval_ms = record.every_seconds * 1000
    missed = (now_ms - record.scheduled_at_ms) // interval_ms
    return BatchEntry(record, record.scheduled_at_ms + missed * interval_ms)


def decide_by_the_page(ledger: Ledger, now_ms: int) -> Decision:
    """The three cases of spec section 7, written down a second time."""
    one_shots, repeating = split_kinds(ledger)
    gate_ms = find_gate_ms(ledger)
    if one_shots and one_shots[0].scheduled_at_ms <= now_ms:
        return OneShotDue(one_shots[0])
    due = [record for record in repeating if record.scheduled_at_ms <= now_ms]
    if due and gate_ms <= now_ms:
        return BatchDue(now_ms, tuple(enter(record, now_ms) for record in due))
    ahead: list[Record] = [*one_shots] if due else [*one_shots, *repeating]
    wakes_ms = [record.scheduled_at_ms for record in ahead] + [gate_ms] * bool(due)
    return Wait(min(wakes_ms, default=None))


def hold_by_the_page(ledger: Ledger, now_ms: int, not_before_ms: int | None) -> Decision:
    """The same under a hold, before whose end nothing that is due may go."""
    due = any(record.scheduled_at_ms <= now_ms for record in list_active(ledger))
    if due and not_before_ms is not None and now_ms < not_before_ms:
        return Wait(not_before_ms)
    return decide_by_the_page(ledger, now_ms)


def dispatch(ledger: Ledger, decision: Decision, now_ms: int) -> Ledger:
    """The ledger after a decision's changes; raises if one of them may not follow."""
    for change in list_dispatches(decision):
        event = Event(SCHEDULE_CHANGE, ledger.position, now_ms, encode_change(change))
        ledger = evolve(ledger, event).unwrap()
    return ledger


def deliver_by_hand(ledger: Ledger, now_ms: int) -> Iterator[Upcoming]:
    """Every delivery of a runner that never sleeps: ask when the next can go, let it go, go on."""
    while True:
        one_shots, repeating = split_kinds(ledger)
        one_shot_ms = max(now_ms, one_shots[0].scheduled_at_ms) if one_shots else None
        batch_ms = None
        if repeating:
            batch_ms = max(now_ms, repeating[0].scheduled_at_ms, find_gate_ms(ledger))
        if one_shot_ms is not None and (batch_ms is None or one_shot_ms <= batch_ms):
            now_ms = one_shot_ms
            yield Upcoming(one_shots[0], one_shots[0].scheduled_at_ms, now_ms)
        elif batch_ms is not None:
            now_ms = batch_ms
            for record in repeating:
                if record.scheduled_at_ms <= now_ms:
                    yield Upcoming(record, enter(record, now_ms).occurrence_ms, now_ms)
        else:
            return
        ledger = dispatch(ledger, decide_by_the_page(ledger, now_ms), now_ms)


@law(times=3, scene=_scenes)
def a_decision_is_that_of_the_page(scene: tuple[Ledger, int]) -> None:
    """What is decided is the least one-shot, else all due repeating records if the gate is open, else
    a wait for the first instant at which that can change.
    """
    ledger, now_ms = scene
    assert decide_due(ledger, now_ms) == Success(decide_by_the_page(ledger, now_ms))


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """A log, valid or broken, and instants at which its session is asked after every event."""
    log = draw(logs() | broken_logs())
    sound = log.events if isinstance(log, Log) else log.events[: log.index]
    around = moments(retrace_log(sound, log.seed_length, log.profile).ledger)
    return log, draw(st.lists(st.tuples(around, st.none() | around), min_size=1, max_size=4))


@law(times=2, life=lives())
def living_on_is_scanning_the_log(life: Life) -> None:
    """After each event of a log, valid or broken, the ledger that grew with it holds, decides and plans
    what a plain model of the events so far does that is looked through from end to end, held or not.
    """
    log, asked = life
    grown = Ledger(profile=log.profile, seed_length=log.seed_length)
    level = Level(log.profile, log.seed_length, 0)
    for place, event in enumerate(log.events):
        following = evolve(grown, event)
        if isinstance(log, BrokenLog) and place == log.index:
            assert following == fold(log.events, log.seed_length, log.profile)
            assert following.failure().index == place
            return
        grown = following.unwrap()
        if place < log.seed_length:
            continue
        level.retrace(event)
        plain = level.freeze()
        assert list(grown.records.items()) == list(plain.records.items())
        assert list(grown.seen_ids) == list(plain.seen_ids)
        assert grown == plain
        for now_ms, not_before_ms in asked:
            expected = hold_by_the_page(plain, now_ms, not_before_ms)
            assert decide_due(grown, now_ms, not_before_ms) == Success(expected)
            wake = plan_next_wake(grown, now_ms, not_before_ms)
            at_ms = expected.until_ms if isinstance(expected, Wait) else now_ms
            assert (None if wake is None else wake.at_ms) == at_ms


@law(hold=_holds)
def nothing_is_dispatched_early(hold: Scene) -> None:
    """No decision dispatches what is not due, before the hold's end, or two batches too close."""
    ledger, now_ms, not_before_ms = hold
    decision = decide_due(ledger, now_ms, not_before_ms).unwrap()
    if isinstance(decision, OneShotDue):
        assert decision.record.scheduled_at_ms <= now_ms
        assert decision.occurrence_ms == decision.record.scheduled_at_ms
    if isinstance(decision, BatchDue):
        assert decision.accepted_at_ms == now_ms >= find_gate_ms(ledger)
        for entry in decision.entries:
            assert entry.record.scheduled_at_ms <= entry.occurrence_ms <= now_ms
    if not isinstance(decision, Wait):
        assert now_ms >= not_before_ms


@law(hold=_holds)
def a_hold_only_delays(hold: Scene) -> None:
    """Before its end a hold turns a decision into a wait for that end if something is due, behind the
    gate or not, and changes nothing else.
    """
    ledger, now_ms, not_before_ms = hold
    due = any(record.scheduled_at_ms <= now_ms for record in list_active(ledger))
    held = decide_due(ledger, now_ms, not_before_ms).unwrap()
    if due and now_ms < not_before_ms:
        assert held == Wait(not_before_ms)
    else:
        assert held == decide_due(ledger, now_ms).unwrap()


@law(times=3, scene=_scenes)
def decide_and_dispatch_come_to_rest(scene: tuple[Ledger, int]) -> None:
    """At one moment every decision's changes may be appended, and after each due one-shot and at most
    one batch nothing is left to do but wait for a later moment.
    """
    ledger, now_ms = scene
    one_shots = [r for r in list_active(ledger) if not isinstance(r, EveryRecord)]
    steps_max = sum(record.scheduled_at_ms <= now_ms for record in one_shots) + 1
    for _ in range(steps_max):
        decision = decide_due(ledger, now_ms).unwrap()
        assert decision == decide_by_the_page(ledger, now_ms)
        if isinstance(decision, Wait):
            break
        changes = list_dispatches(decision)
        assert len({change.id for change in changes}) == len(changes) > 0
        ledger = dispatch(ledger, decision, now_ms)
    rest = decide_due(ledger, now_ms).unwrap()
    assert isinstance(rest, Wait)
    assert rest.until_ms is None or rest.until_ms > now_ms


@law(hold=_holds)
def the_wake_is_when_the_decision_changes(hold: Scene) -> None:
    """The next wake is the instant that a wait names, now if something goes now, and none if none."""
    ledger, now_ms, not_before_ms = hold
    for held_ms in (None, not_before_ms):
        decision = decide_due(ledger, now_ms, held_ms).unwrap()
        at_ms = decision.until_ms if isinstance(decision, Wait) else now_ms
        wake = plan_next_wake(ledger, now_ms, held_ms)
        if at_ms is None:
            assert wake is None
        else:
            assert wake == Wake(at_ms, min(at_ms - now_ms, 2_147_483_647))


@law(hold=_holds)
def a_wake_dispatches_or_moves_on(hold: Scene) -> None:
    """At its wake's instant, if nothing happened, a session dispatches or has a strictly later wake."""
    ledger, now_ms, not_before_ms = hold
    for held_ms in (None, not_before_ms):
        wake = plan_next_wake(ledger, now_ms, held_ms)
        if wake is None:
            continue
        assert 0 <= wake.delay_ms <= MAX_DELAY_MS
        assert now_ms + wake.delay_ms <= wake.at_ms
        decision = decide_due(ledger, min(wake.at_ms, MAX_INSTANT_MS), held_ms).unwrap()
        if isinstance(decision, Wait):
            later = plan_next_wake(ledger, wake.at_ms, held_ms)
            assert later is not None
            assert later.at_ms > wake.at_ms


@law(
    now_ms=st.integers(0, 10**12),
    wait_ms=st.sampled_from((1, 2**31 - 1, 2**31, 2**32)) | st.integers(1, 10**12),
)
def a_long_wait_is_split_and_ends_on_the_target(now_ms: int, wait_ms: int) -> None:
    """Slept delay by delay, a wait of any length ends exactly at its target, by as few timers of at
    most 2 ** 31 - 1 ms as can be.
    """
    target_ms = now_ms + wait_ms
    ledger = Ledger(records={"a": AtRecord("a", "p", target_ms)}, seen_ids={"a": None})
    for _ in range(-(-wait_ms // (2**31 - 1))):
        assert now_ms < target_ms
        assert decide_due(ledger, now_ms) == Success(Wait(target_ms))
        wake = plan_next_wake(ledger, now_ms)
        assert wake is not None
        assert 0 < wake.delay_ms < 2**31
        now_ms += wake.delay_ms
    assert now_ms == target_ms


@law(scene=_scenes, later_ms=st.integers(0, 9) | st.integers(0, 10**15))
def nothing_becomes_due_before_the_wake(scene: tuple[Ledger, int], later_ms: int) -> None:
    """At every moment between now and the planned wake the decision is to wait for that wake."""
    ledger, now_ms = scene
    wake = plan_next_wake(ledger, now_ms)
    end_ms = MAX_INSTANT_MS if wake is None else min(wake.at_ms - 1, MAX_INSTANT_MS)
    if now_ms <= end_ms:
        expected = Wait(None if wake is None else wake.at_ms)
        for between_ms in (now_ms, now_ms + later_ms % (end_ms - now_ms + 1), end_ms):
            assert decide_due(ledger, between_ms) == Success(expected)


@law(ledger=_ledgers, beyond_ms=st.integers(1, 10**15))
def a_batch_at_no_instant_fails(ledger: Ledger, beyond_ms: int) -> None:
    """Past year 9999 one-shots still go, and a batch, which would have to store its instant, fails."""
    now_ms = MAX_INSTANT_MS + beyond_ms
    expected = decide_by_the_page(ledger, now_ms)
    decided = decide_due(ledger, now_ms)
    if isinstance(expected, BatchDue):
        assert decided == Failure(TimeOutOfRange())
    else:
        assert decided == Success(expected)
    early_ms = MIN_INSTANT_MS - beyond_ms
    assert isinstance(decide_due(ledger, early_ms).unwrap(), Wait)


@law(scene=_scenes, count=st.integers(0, 12))
def a_preview_is_the_hand_simulation(scene: tuple[Ledger, int], count: int) -> None:
    """A preview has the first `count` deliveries of a runner that is always live, and no more."""
    ledger, now_ms = scene
    by_hand = list(itertools.islice(deliver_by_hand(ledger, now_ms), count))
    assert list(preview(ledger, now_ms, count)) == by_hand


@law(scene=_scenes, count=st.integers(0, 12))
def a_preview_is_sorted_and_bounded(scene: tuple[Ledger, int], count: int) -> None:
    """Previewed deliveries come in order, none before now or before its occurrence, never too many."""
    ledger, now_ms = scene
    upcoming = preview(ledger, now_ms, count)
    assert len(upcoming) <= count
    delivered = [one.delivered_at_ms for one in upcoming]
    assert delivered == sorted(delivered)
    assert all(max(now_ms, one.occurrence_ms) <= one.delivered_at_ms for one in upcoming)
    assert upcoming == preview(ledger, now_ms, count + 3)[:count]
