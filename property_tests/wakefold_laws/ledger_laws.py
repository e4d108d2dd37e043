"""Laws of the ledger: what a log comes to, and when it is corrupt.

This module decides what folding, evolving and validating owe each other and a model that never folds
(`log_model`). It refuses to know what a ledger is good for.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, TypeVar

from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from wakefold.events import (
    SCHEDULE_CHANGE,
    AtRecord,
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    decode_change,
    encode_change,
)
from wakefold.instants import MAX_INSTANT_MS
from wakefold.ledger import Ledger, evolve, fold, list_active, validate
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold.rejections import CorruptScheduleLog
from wakefold.requests import allocate_id
from wakefold_laws.drawing import st
from wakefold_laws.laws import law
from wakefold_laws.log_model import BROKEN_RULES, BrokenLog, Log
from wakefold_laws.strategies import (
    broken_logs,
    changes,
    foreign_events,
    ids,
    json_values,
    logs,
    moments,
)

#: What folding a log comes to.
Folded = Result[Ledger, CorruptScheduleLog]

_AnyLog = TypeVar("_AnyLog", bound=Log | BrokenLog)

_any_data = changes().map(encode_change) | json_values()
_garbage_rows = st.tuples(st.sampled_from((SCHEDULE_CHANGE, "user/message")), _any_data)
_places = st.integers(0, 2**16)


def fold_by_steps(events: Sequence[Event], seed_length: int, profile: Profile) -> Folded:
    """The fold of a log by one `evolve` for each of its events."""
    empty: Folded = Success(Ledger(profile=profile, seed_length=seed_length))
    return reduce(lambda state, event: state.bind(partial(_evolve, event)), events, empty)


def _evolve(event: Event, ledger: Ledger) -> Folded:
    return evolve(ledger, event)


@st.composite
def candidates(draw: st.DrawFn, ledger: Ledger) -> Event:
    """An event that may or may not follow: any at all, or one that names an id of the ledger."""
    kind, data = draw(st.tuples(st.just(SCHEDULE_CHANGE), _any_data) | foreign_events())
    if len(ledger.seen_ids) > 0 and draw(st.booleans()):
        named = draw(st.sampled_from(list(ledger.seen_ids)))
        accepted = st.none() | moments(ledger)
        change = draw(st.just(Delete(named)) | st.builds(Dispatch, st.just(named), accepted))
        kind, data = SCHEDULE_CHANGE, encode_change(change)
    return Event(kind, ledger.position, 0, data)


@law(log=logs())
def a_valid_log_folds_to_what_its_writer_did(log: Log) -> None:
    """Folding a valid log gives the records, ids and last batch of the model that wrote it.

    :shape: `log`: a `Log`, drawn by `logs` or given by `retrace_log`
    :units: none
    :errors: `AssertionError` where fold and model differ
    :source: spec section 4
    """
    ledger = fold(log.events, log.seed_length, log.profile).unwrap()
    assert ledger == log.ledger
    assert list(ledger.records) == list(log.ledger.records)
    assert list(ledger.seen_ids) == list(log.ledger.seen_ids)


@law(log=logs() | broken_logs())
def fold_equals_evolving_step_by_step(log: Log | BrokenLog) -> None:
    """One pass over a log, valid or broken, gives the same value as one evolve for each event."""
    whole = fold(iter(log.events), log.seed_length, log.profile)
    assert whole == fold_by_steps(log.events, log.seed_length, log.profile)


@law(log=logs())
def an_earlier_ledger_stays_as_it_was(log: Log) -> None:
    """However a session goes on, the ledger of every earlier length is that of a fold up to there, and
    can go on from there again.
    """
    grown = [Ledger(profile=log.profile, seed_length=log.seed_length)]
    for event in log.events:
        grown.append(evolve(grown[-1], event).unwrap())
    for length in range(log.seed_length, len(log.events) + 1):
        ledger = grown[length]
        assert Success(ledger) == fold(log.events[:length], log.seed_length, log.profile)
        again = reduce(lambda held, event: evolve(held, event).unwrap(), log.events[length:], ledger)
        assert list(again.records.items()) == list(log.ledger.records.items())
        assert list(again.seen_ids) == list(log.ledger.seen_ids)


@st.composite
def continued_logs(draw: st.DrawFn, any_logs: st.SearchStrategy[_AnyLog]) -> tuple[_AnyLog, Event]:
    """A log, and an event that may or may not follow it."""
    log = draw(any_logs)
    ledger = log.ledger if isinstance(log, Log) else Ledger(position=len(log.events))
    return log, draw(candidates(ledger))


@law(continued=continued_logs(logs() | broken_logs()))
def one_more_event_folds_as_it_evolves(continued: tuple[Log | BrokenLog, Event]) -> None:
    """`fold(xs + [x])` equals `fold(xs)` followed by evolving `x`, whether `x` may follow or not."""
    log, event = continued
    before = fold(log.events, log.seed_length, log.profile)
    after = fold([*log.events, event], log.seed_length, log.profile)
    assert after == before.bind(partial(_evolve, event))


@law(continued=continued_logs(logs()))
def validate_agrees_with_fold_on_a_candidate(continued: tuple[Log, Event]) -> None:
    """`validate` gives the candidate back exactly if the log with it folds, else the fold's failure."""
    log, event = continued
    ledger = fold(log.events, log.seed_length, log.profile).unwrap()
    after = fold([*log.events, event], log.seed_length, log.profile)
    assert validate(ledger, event) == after.map(lambda _: event)


@law(log=logs(steps_max=10))
def every_prefix_of_a_valid_log_is_valid(log: Log) -> None:
    """A valid log cut anywhere in its own part is valid, and folds to its length."""
    for length in range(log.seed_length, len(log.events) + 1):
        ledger = fold(log.events[:length], log.seed_length, log.profile).unwrap()
        assert ledger.position == length


@law(times=1 / 3, log={rule: broken_logs(rule=rule) for rule in BROKEN_RULES})
def a_broken_log_fails_at_the_planted_fault(log: BrokenLog) -> None:
    """A broken log folds up to its fault and fails there, by place and rule, whatever follows."""
    assert is_successful(fold(log.events[: log.index], log.seed_length, log.profile))
    fault = fold(log.events, log.seed_length, log.profile).failure()
    assert (fault.code, fault.index, fault.rule) == ("corrupt_schedule_log", log.index, log.rule)


@law(log=logs(), garbage=st.lists(_garbage_rows, min_size=4, max_size=4))
def inherited_events_are_not_read(log: Log, garbage: list[tuple[str, object]]) -> None:
    """A fork folds the same whatever stands in the place of its inherited events.

    :shape: `log` as drawn by `logs`, `garbage`: rows (type, data) that stand in the places of the first
        inherited events
    :units: none
    :errors: `AssertionError` where the fold differs
    :source: spec section 4
    """
    inherited = [Event(kind, seq, 0, data) for seq, (kind, data) in enumerate(garbage)]
    replaced = inherited[: log.seed_length]
    events = [*replaced, *log.events[len(replaced) :]]
    assert fold(events, log.seed_length, log.profile) == Success(log.ledger)


@law(log=logs(), place=_places, rows=st.lists(foreign_events()))
def foreign_events_change_nothing_but_the_position(
    log: Log, place: int, rows: list[tuple[str, object]]
) -> None:
    """Events of other types, put anywhere, leave what a log comes to as it was."""
    place = log.seed_length + place % (len(log.events) - log.seed_length + 1)
    foreign = [Event(kind, 0, 0, held) for kind, held in rows]
    events = [*log.events[:place], *foreign, *log.events[place:]]
    ledger = fold(events, log.seed_length, log.profile).unwrap()
    assert ledger.position == len(events)
    assert (ledger.records, ledger.seen_ids) == (log.ledger.records, log.ledger.seen_ids)
    assert ledger.last_accepted_at_ms == log.ledger.last_accepted_at_ms


@law(
    log=logs(steps_max=4),
    beyond=st.integers(min_value=1),
    strange=st.sampled_from((None, True, "0", 0.5, float("nan"), float("inf"), [0])),
)
def a_seed_length_outside_the_log_is_corrupt(log: Log, beyond: int, strange: Any) -> None:  # noqa: ANN401 - no type fits
    """A seed length that is no safe integer from 0 to the log's length makes the log corrupt."""
    fault = CorruptScheduleLog(rule="bad_seed_length")
    for seed_length in (-beyond, len(log.events) + beyond, strange):
        assert fold(log.events, seed_length, log.profile) == Failure(fault)


@law(
    log=logs(),
    last_ms=st.sampled_from((MAX_INSTANT_MS - 300_000, MAX_INSTANT_MS - 299_999, MAX_INSTANT_MS))
    | st.integers(MAX_INSTANT_MS - 600_000, MAX_INSTANT_MS),
)
def an_exhausted_gate_ends_exactly_the_repeating_records(log: Log, last_ms: int) -> None:
    """Repeating records are shown exactly while the gate, if there is one, opens before year 10,000."""
    for profile, open_again in ((SEED, last_ms + 300_000 <= MAX_INSTANT_MS), (PUBLISHED, True)):
        records = log.ledger.records
        ledger = Ledger(profile=profile, records=records, last_accepted_at_ms=last_ms)
        shown = [r for r in records.values() if open_again or not isinstance(r, EveryRecord)]
        assert list_active(ledger) == tuple(shown)


@law(log=logs())
def seen_ids_are_the_created_ids_each_once(log: Log) -> None:
    """Every id that a session created is seen once, in create order, ended or not."""
    ledger = fold(log.events, log.seed_length, log.profile).unwrap()
    own = [event for event in log.events[log.seed_length :] if event.type == SCHEDULE_CHANGE]
    made = [change for event in own if isinstance(change := decode_change(event.data).unwrap(), Create)]
    assert list(ledger.seen_ids) == [change.schedule.id for change in made]
    assert len(set(ledger.seen_ids)) == len(made)


@law(seen=st.lists(st.integers(1, 9).map("schedule-{}".format) | ids(), unique=True))
def an_allocated_id_is_the_first_free_one_from_the_count(seen: list[str]) -> None:
    """A new id is `schedule-N` for the least N above the number of seen ids that none of them has."""
    numbers = itertools.count(len(seen) + 1)
    free = next(number for number in numbers if f"schedule-{number}" not in seen)
    assert allocate_id(Ledger(seen_ids=dict.fromkeys(seen))) == f"schedule-{free}"


@law(log=logs(), count=st.integers(1, 12))
def allocated_ids_are_never_used_again(log: Log, count: int) -> None:
    """However many records are created and deleted, each allocated id is new and its create valid."""
    ledger = log.ledger
    for _ in range(count):
        new = allocate_id(ledger)
        assert new not in ledger.seen_ids
        for change in (Create(AtRecord(new, "p", 0)), Delete(new)):
            event = Event(SCHEDULE_CHANGE, ledger.position, 0, encode_change(change))
            ledger = evolve(ledger, event).unwrap()
