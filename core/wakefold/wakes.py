"""When to wake, and what is due then (spec section 7).

This module decides which reminders one decision dispatches, how long to wait if none is due, and what
a healthy runner would deliver next. It refuses to sleep and to read a clock: `now_ms` is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.active_records import index_records
from wakefold.edits import Skip, StatedDispatch
from wakefold.events import SCHEDULE_CHANGE, Dispatch, Event, encode_change
from wakefold.instants import is_representable
from wakefold.ledger import Ledger, evolve, list_active
from wakefold.occurrences import can_evaluate, evaluate
from wakefold.records import (
    CalendarRecord,
    OneShotRecord,
    Record,
    RecurringRecord,
    find_due,
    is_recurring,
)
from wakefold.recurrence import find_gate, is_exhausted
from wakefold.rejections import TimeOutOfRange
from wakefold.transitions import measure_lateness

#: The longest wait that one timer is given; longer ones are split (spec section 7).
MAX_DELAY_MS: Final = 2_147_483_647


class OneShotDue(Struct, frozen=True, tag="one-shot", tag_field="kind"):
    """One one-shot is due: one message, one dispatch.

    `accepted_at_ms` is set where the dispatch states it, which it does from version 2 on.
    """

    record: OneShotRecord
    accepted_at_ms: int | None = None

    @property
    def occurrence_ms(self) -> int:
        """A one-shot occurs at its target."""
        return self.record.scheduled_at_ms


class BatchEntry(Struct, frozen=True):
    """One recurring record of a batch with its latest due occurrence.

    `next_ms` is the target after it, where the dispatch states it: `None` if there is none.
    """

    record: RecurringRecord
    occurrence_ms: int
    next_ms: int | None = None


class BatchDue(Struct, frozen=True, tag="recurring", tag_field="kind"):
    """All due recurring records go in one message; their dispatches share `accepted_at_ms`."""

    accepted_at_ms: int
    entries: tuple[BatchEntry, ...]


class SkipEntry(Struct, frozen=True):
    """One occurrence that is too late to be delivered, and the target after it, if any."""

    record: Record
    occurrence_ms: int
    next_ms: int | None


class SkipDue(Struct, frozen=True, tag="skip", tag_field="kind"):
    """Occurrences are left out: no message, and no wakeup (calendar.md section 3)."""

    accepted_at_ms: int
    entries: tuple[SkipEntry, ...]


class Wait(Struct, frozen=True, tag="wait", tag_field="kind"):
    """Nothing may go now; look again at `until_ms` (`None`: nothing to wait for).

    :shape: `{kind: "wait", untilMs}` over a pipe
    :units: `until_ms` is epoch milliseconds UTC, past year 9999 where a hold waits for an external word
    :errors: none when it is made, which checks nothing
    :source: spec section 7
    """

    until_ms: int | None


#: What to do now, closed.
#:
#: :shape: a union told apart by `kind`: `OneShotDue`, `BatchDue`, `SkipDue` and `Wait`
#: :units: instants are epoch milliseconds UTC
#: :errors: none; `decide_due` makes it, `list_dispatches` tells what it appends
#: :source: spec section 7; calendar.md section 3
Decision = OneShotDue | BatchDue | SkipDue | Wait


class Wake(Struct, frozen=True):
    """When to decide again: the instant, and the delay to give one timer (at most `MAX_DELAY_MS`).

    A delay of 0 means that something is due already.
    """

    at_ms: int
    delay_ms: int


class Upcoming(Struct, frozen=True):
    """One coming delivery of a preview: which occurrence, and when a healthy runner hands it over."""

    record: Record
    occurrence_ms: int
    delivered_at_ms: int


def decide_due(
    ledger: Ledger, now_ms: int, not_before_ms: int | None = None
) -> Result[Decision, TimeOutOfRange]:
    """What to dispatch now, or how long to wait.

    Nothing is dispatched before `not_before_ms` (a hold); what is due then waits for that instant.

    :shape: a `Decision`; calendar rules are evaluated here, by the tz database at hand
    :units: `now_ms` and `not_before_ms` are epoch milliseconds UTC
    :errors: `Failure` of `time_out_of_range` where the changes would state a `now_ms` outside years
        0001 to 9999
    :source: spec section 7; calendar.md sections 2 and 3
    """
    decision = _decide(ledger, now_ms, not_before_ms)
    states_now = not isinstance(decision, Wait) and decision.accepted_at_ms is not None
    if states_now and not is_representable(now_ms):
        return Failure(TimeOutOfRange())
    return Success(decision)


def plan_next_wake(ledger: Ledger, now_ms: int, not_before_ms: int | None = None) -> Wake | None:
    """When to call `decide_due` next; `None` if there is nothing to wait for.

    :shape: a `Wake`, or `None`
    :units: `at_ms` is epoch milliseconds UTC, past year 9999 where a hold waits for an external word;
        `delay_ms` milliseconds from 0 to 2,147,483,647
    :errors: none, it is total
    :source: spec section 7
    """
    decision = _decide(ledger, now_ms, not_before_ms)
    at_ms = decision.until_ms if isinstance(decision, Wait) else now_ms
    if at_ms is None:
        return None
    return delay_wake(at_ms, now_ms)


def delay_wake(at_ms: int, now_ms: int) -> Wake:
    """The wake at an instant, with the delay that one timer can be given from `now_ms`."""
    return Wake(at_ms=at_ms, delay_ms=min(at_ms - now_ms, MAX_DELAY_MS))


def list_dispatches(decision: Decision) -> tuple[Dispatch | StatedDispatch | Skip, ...]:
    """The changes to append once a decision's message is queued, in the message's order.

    :shape: a `Dispatch`, `StatedDispatch` or `Skip` for each record; `()` for a `Wait`
    :units: instants are epoch milliseconds UTC
    :errors: none, it is total
    :source: spec section 8; calendar.md section 2
    """
    match decision:
        case OneShotDue(record=record, accepted_at_ms=accepted_at_ms):
            if accepted_at_ms is None:
                return (Dispatch(id=record.id),)
            return (StatedDispatch(record.id, accepted_at_ms, decision.occurrence_ms),)
        case BatchDue(accepted_at_ms=accepted_at_ms, entries=entries):
            return tuple(_dispatch(entry, accepted_at_ms) for entry in entries)
        case SkipDue(accepted_at_ms=accepted_at_ms, entries=late):
            return tuple(
                Skip(entry.record.id, accepted_at_ms, entry.occurrence_ms, entry.next_ms)
                for entry in late
            )
        case Wait():
            return ()
        case _:
            assert_never(decision)


def list_occurrences(decision: Decision) -> tuple[tuple[str, int], ...]:
    """What a decision's message delivers, as (id, occurrence in epoch ms), in the message's order."""
    match decision:
        case OneShotDue(record=record):
            return ((record.id, decision.occurrence_ms),)
        case BatchDue(entries=entries):
            return tuple((entry.record.id, entry.occurrence_ms) for entry in entries)
        case SkipDue() | Wait():
            return ()
        case _:
            assert_never(decision)


def list_passed_over(ledger: Ledger, now_ms: int) -> tuple[CalendarRecord, ...]:
    """What is due and cannot be evaluated, since this tz database lacks its zone."""
    due = index_records(ledger.records).list_repeats(now_ms)
    return tuple(
        record for record in due if isinstance(record, CalendarRecord) and not can_evaluate(record)
    )


def preview(ledger: Ledger, now_ms: int, count: int) -> tuple[Upcoming, ...]:
    """The next `count` deliveries of a runner that is always live, with an agent that is always idle.

    Overdue reminders come first, at `now_ms`; the shared gate is kept. Fewer if reminders run out.

    :shape: a tuple of `Upcoming`
    :units: `now_ms` is epoch milliseconds UTC, `count` deliveries from 0
    :errors: none: it ends where a change could not be written any more (past year 9999)
    :source: spec section 7
    """
    upcoming: list[Upcoming] = []
    while len(upcoming) < count:
        decision = decide_due(ledger, now_ms).value_or(Wait(until_ms=None))
        match decision:
            case Wait(until_ms=until_ms):
                if until_ms is None:
                    break
                now_ms = until_ms
            case OneShotDue(record=record):
                upcoming.append(Upcoming(record, decision.occurrence_ms, now_ms))
            case BatchDue(entries=entries):
                upcoming.extend(Upcoming(e.record, e.occurrence_ms, now_ms) for e in entries)
            case SkipDue():
                pass
            case _:
                assert_never(decision)
        ledger = _dispatch_all(ledger, decision, now_ms)
    return tuple(upcoming[:count])


def _decide(ledger: Ledger, now_ms: int, not_before_ms: int | None) -> Decision:
    records = index_records(ledger.records)
    ended = is_exhausted(ledger.profile, ledger.last_accepted_at_ms)  # whatever is recurring
    one_shot_ms = records.one_shot_ms
    earliest_ms = _find_least(one_shot_ms, None if ended else records.repeat_ms)
    if earliest_ms is None or earliest_ms > now_ms:
        return Wait(until_ms=earliest_ms)
    if not_before_ms is not None and now_ms < not_before_ms:
        return Wait(until_ms=not_before_ms)
    gate_ms = find_gate(ledger.profile, ledger.last_accepted_at_ms)
    late = _list_late(records.list_late(now_ms), now_ms, gate_ms, ended=ended)
    if late:
        return SkipDue(accepted_at_ms=now_ms, entries=late)
    one_shot = records.find_one_shot(now_ms)
    if one_shot is not None:
        states_now = one_shot.standing.version != 1
        return OneShotDue(record=one_shot, accepted_at_ms=now_ms if states_now else None)
    repeats = [] if ended else records.list_repeats(now_ms)
    due = [record for record in repeats if can_evaluate(record)]
    if not due:
        coming = (find_due(record) for record in list_active(ledger) if not record.standing.paused)
        return Wait(until_ms=min((due_ms for due_ms in coming if due_ms > now_ms), default=None))
    if gate_ms is not None and now_ms < gate_ms:
        return Wait(until_ms=_find_least(one_shot_ms, gate_ms))
    return BatchDue(accepted_at_ms=now_ms, entries=tuple(_enter(record, now_ms) for record in due))


def _find_least(*instants_ms: int | None) -> int | None:
    return min((ms for ms in instants_ms if ms is not None), default=None)


def _list_late(
    records: Iterable[Record], now_ms: int, gate_ms: int | None, *, ended: bool
) -> tuple[SkipEntry, ...]:
    """What is later than its grace, evaluated as of now; nothing recurring where that has ended."""
    late = []
    for record in records:
        grace_seconds = record.options.grace_seconds
        if grace_seconds is None or (ended and is_recurring(record)) or not can_evaluate(record):
            continue
        found = evaluate(record, now_ms)
        late_ms = measure_lateness(record, found.occurrence_ms, now_ms, gate_ms)
        if late_ms > 1000 * grace_seconds:
            late.append(SkipEntry(record, found.occurrence_ms, found.next_target_ms))
    return tuple(late)


def _enter(record: RecurringRecord, now_ms: int) -> BatchEntry:
    found = evaluate(record, now_ms)
    states_next = record.standing.version != 1
    return BatchEntry(record, found.occurrence_ms, found.next_target_ms if states_next else None)


def _dispatch(entry: BatchEntry, accepted_at_ms: int) -> Dispatch | StatedDispatch:
    record = entry.record
    if record.standing.version == 1:
        return Dispatch(id=record.id, accepted_at_ms=accepted_at_ms)
    return StatedDispatch(record.id, accepted_at_ms, entry.occurrence_ms, entry.next_ms)


def _dispatch_all(ledger: Ledger, decision: Decision, now_ms: int) -> Ledger:
    for change in list_dispatches(decision):
        event = Event(SCHEDULE_CHANGE, ledger.position, now_ms, encode_change(change))
        ledger = evolve(ledger, event).unwrap()
    return ledger
