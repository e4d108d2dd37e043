"""When to wake, and what is due then (spec section 7).

This module decides which reminders one decision dispatches, how long to wait if none is due, and what
a healthy runner would deliver next. It refuses to sleep and to read a clock: `now_ms` is an argument.
"""

from __future__ import annotations

from typing import Final, assert_never

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.active_records import index_records
from wakefold.events import (
    SCHEDULE_CHANGE,
    Dispatch,
    Event,
    EveryRecord,
    OneShotRecord,
    Record,
    encode_change,
)
from wakefold.instants import is_representable
from wakefold.ledger import Ledger, evolve
from wakefold.recurrence import find_gate, find_occurrence, is_exhausted
from wakefold.rejections import TimeOutOfRange

MAX_DELAY_MS: Final = 2_147_483_647
"""The longest wait that one timer is given; longer ones are split (spec section 7)."""


class OneShotDue(Struct, frozen=True, tag="one-shot", tag_field="kind"):
    """One one-shot is due: one message, one dispatch."""

    record: OneShotRecord

    @property
    def occurrence_ms(self) -> int:
        """A one-shot occurs at its target."""
        return self.record.scheduled_at_ms


class BatchEntry(Struct, frozen=True):
    """One repeating record of a batch with its latest due occurrence."""

    record: EveryRecord
    occurrence_ms: int


class BatchDue(Struct, frozen=True, tag="recurring", tag_field="kind"):
    """All due repeating records go in one message; their dispatches share `accepted_at_ms`."""

    accepted_at_ms: int
    entries: tuple[BatchEntry, ...]


class Wait(Struct, frozen=True, tag="wait", tag_field="kind"):
    """Nothing may go now; look again at `until_ms` (`None`: nothing to wait for)."""

    until_ms: int | None


Decision = OneShotDue | BatchDue | Wait


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

    Nothing is dispatched before `not_before_ms` (a hold); what is due then waits for that instant. A
    batch at a `now_ms` outside years 0001 to 9999 fails.
    """
    decision = _decide(ledger, now_ms, not_before_ms)
    if isinstance(decision, BatchDue) and not is_representable(now_ms):
        return Failure(TimeOutOfRange())
    return Success(decision)


def plan_next_wake(ledger: Ledger, now_ms: int, not_before_ms: int | None = None) -> Wake | None:
    """When to call `decide_due` next; `None` if there is nothing to wait for."""
    decision = _decide(ledger, now_ms, not_before_ms)
    at_ms = decision.until_ms if isinstance(decision, Wait) else now_ms
    if at_ms is None:
        return None
    return delay_wake(at_ms, now_ms)


def delay_wake(at_ms: int, now_ms: int) -> Wake:
    """The wake at an instant, with the delay that one timer can be given from `now_ms`."""
    return Wake(at_ms=at_ms, delay_ms=min(at_ms - now_ms, MAX_DELAY_MS))


def list_dispatches(decision: Decision) -> tuple[Dispatch, ...]:
    """The changes to append once a decision's message is queued, in the message's order."""
    match decision:
        case OneShotDue(record=record):
            return (Dispatch(id=record.id),)
        case BatchDue(accepted_at_ms=accepted_at_ms, entries=entries):
            return tuple(
                Dispatch(id=entry.record.id, accepted_at_ms=accepted_at_ms) for entry in entries
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
        case Wait():
            return ()
        case _:
            assert_never(decision)


def preview(ledger: Ledger, now_ms: int, count: int) -> tuple[Upcoming, ...]:
    """The next `count` deliveries of a runner that is always live, with an agent that is always idle.

    Overdue reminders come first, at `now_ms`; the shared gate is kept. Fewer if reminders run out.
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
            case _:
                assert_never(decision)
        ledger = _dispatch_all(ledger, decision, now_ms)
    return tuple(upcoming[:count])


def _decide(ledger: Ledger, now_ms: int, not_before_ms: int | None) -> Decision:
    records = index_records(ledger.records)
    one_shot_ms, repeat_ms = records.one_shot_ms, records.repeat_ms
    if is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
        repeat_ms = None
    earliest_ms = _find_least(one_shot_ms, repeat_ms)
    if earliest_ms is None or earliest_ms > now_ms:
        return Wait(until_ms=earliest_ms)
    if not_before_ms is not None and now_ms < not_before_ms:
        return Wait(until_ms=not_before_ms)
    one_shot = records.find_one_shot(now_ms)
    if one_shot is not None:
        return OneShotDue(record=one_shot)
    gate_ms = find_gate(ledger.profile, ledger.last_accepted_at_ms)
    if gate_ms is not None and now_ms < gate_ms:
        return Wait(until_ms=_find_least(one_shot_ms, gate_ms))
    due = records.list_repeats(now_ms)
    return BatchDue(accepted_at_ms=now_ms, entries=tuple(_enter(record, now_ms) for record in due))


def _find_least(*instants_ms: int | None) -> int | None:
    return min((ms for ms in instants_ms if ms is not None), default=None)


def _enter(record: EveryRecord, now_ms: int) -> BatchEntry:
    found = find_occurrence(record.scheduled_at_ms, record.every_seconds, now_ms)
    return BatchEntry(record=record, occurrence_ms=found.occurrence_ms)


def _dispatch_all(ledger: Ledger, decision: Decision, now_ms: int) -> Ledger:
    for change in list_dispatches(decision):
        event = Event(SCHEDULE_CHANGE, ledger.position, now_ms, encode_change(change))
        ledger = evolve(ledger, event).unwrap()
    return ledger
