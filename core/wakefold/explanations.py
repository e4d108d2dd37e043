"""Why a reminder has or has not been delivered, from a session's log as of an instant.

This module decides which one thing stands in a reminder's way, in the order in which an owner meets
them, and how that reads. It refuses to know whether an owner lives: that is in no log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, assert_never

import msgspec
from msgspec import Struct
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from wakefold.conversations import Conversation, follow
from wakefold.edits import Pause, Skip
from wakefold.events import SCHEDULE_CHANGE, Change, Create, Event, Json, read_change
from wakefold.guard import UNTIL_A_WORD, Guard, find_not_before, watch
from wakefold.guard_config import GuardConfig
from wakefold.instants import format_instant, is_representable
from wakefold.ledger import Ledger, fold
from wakefold.lives import ENDINGS, Ending, find_ending
from wakefold.occurrences import can_evaluate, evaluate
from wakefold.receipts import list_receipts
from wakefold.records import CalendarRecord, Record, find_due, is_recurring
from wakefold.recurrence import SEED, Profile, find_gate, is_exhausted
from wakefold.rejections import CorruptScheduleLog
from wakefold.transitions import measure_lateness


class _Verdict(Struct, frozen=True, tag_field="why", rename="camel"):
    """What stands in the way; names that end in `_ms` are epoch milliseconds."""


class NeverCreated(_Verdict, frozen=True, tag="never-created"):
    """No reminder of that id was ever made."""


class Ended(_Verdict, frozen=True, tag="ended", rename="camel"):
    """An event ended it: its place in the log, and its time."""

    how: Ending
    seq: int
    at_ms: int


class Paused(_Verdict, frozen=True, tag="paused", rename="camel"):
    """It waits to be resumed, since an event."""

    seq: int
    at_ms: int


class ZoneUnknown(_Verdict, frozen=True, tag="zone-unknown", rename="camel"):
    """This tz database lacks its zone."""

    time_zone: str


class NotDue(_Verdict, frozen=True, tag="not-due", rename="camel"):
    """Its instant has not come: that of its target, or the end of a snooze."""

    due_ms: int
    snoozed: bool


class Exhausted(_Verdict, frozen=True, tag="exhausted"):
    """The gate between repeating batches opens after the year 9999 only."""


class Held(_Verdict, frozen=True, tag="held", rename="camel"):
    """The guard holds every delivery; `None`: until the next external word."""

    until_ms: int | None


class Busy(_Verdict, frozen=True, tag="busy", rename="camel"):
    """The agent has a turn open, or inputs that wait for one."""

    turn_open: bool
    inputs: int


class TooLate(_Verdict, frozen=True, tag="too-late", rename="camel"):
    """It is later than its grace, so that it will be skipped."""

    late_ms: int
    grace_seconds: int


class Gated(_Verdict, frozen=True, tag="gated", rename="camel"):
    """The gate between repeating batches is closed."""

    until_ms: int


class Due(_Verdict, frozen=True, tag="due", rename="camel"):
    """Nothing in the log stands in its way, since an instant."""

    since_ms: int


#: Why a reminder comes now, or does not.
Verdict = (
    NeverCreated
    | Ended
    | Paused
    | ZoneUnknown
    | NotDue
    | Exhausted
    | Held
    | Busy
    | TooLate
    | Gated
    | Due
)


class Mark(Struct, frozen=True, rename="camel"):
    """An occurrence that an event delivered, or left out."""

    seq: int
    at_ms: int
    occurrence_ms: int


class Explanation(Struct, frozen=True):
    """What stands in a reminder's way, and what became of it last; its deliveries are counted."""

    id: str
    verdict: Verdict
    deliveries: int
    last_delivery: Mark | None
    last_skip: Mark | None


def explain(
    events: Sequence[Event],
    schedule_id: str,
    now_ms: int,
    config: GuardConfig | None = None,
    seed_length: int = 0,
    profile: Profile = SEED,
) -> Result[Explanation, CorruptScheduleLog]:
    """Why a reminder has or has not been delivered as of `now_ms`; `config` is a guard's."""
    folded, receipts = fold(events, seed_length, profile), list_receipts(events, seed_length)
    if not is_successful(folded):
        return Failure(folded.failure())
    if not is_successful(receipts):
        return Failure(receipts.failure())
    own = [told for told in _read_own(events, seed_length) if told[1] == schedule_id]
    rows = [row for row in receipts.unwrap() if row.seq >= seed_length]
    deliveries = [
        Mark(row.seq, row.dispatched_at_ms, row.receipt.occurrence_ms)
        for row in rows
        if row.receipt.schedule_id == schedule_id
    ]
    skips = [
        Mark(event.seq, event.time_ms, change.occurrence_ms)
        for event, _, change in own
        if isinstance(change, Skip)
    ]
    last, skipped = (marks[-1] if marks else None for marks in (deliveries, skips))
    verdict = _find_verdict(folded.unwrap(), events, own, now_ms, config)
    return Success(Explanation(schedule_id, verdict, len(deliveries), last, skipped))


def describe_verdict(verdict: Verdict) -> str:
    """One sentence for people, without its end."""
    match verdict:
        case NeverCreated():
            return "no reminder of this id was ever made in this session"
        case Ended(how=how, seq=seq, at_ms=at_ms):
            return f"{ENDINGS[how]} ({_show(at_ms)}, event {seq})"
        case Paused(seq=seq, at_ms=at_ms):
            return f"it is paused (since {_show(at_ms)}, event {seq}): resume it"
        case ZoneUnknown(time_zone=zone):
            return f"this tz database lacks its zone, {zone}: update that, or the reminder's rule"
        case NotDue(due_ms=due_ms, snoozed=snoozed):
            return f"it is {'snoozed until' if snoozed else 'not due before'} {_show(due_ms)}"
        case Exhausted():
            return "no repeating reminder comes any more: the gate opens after the year 9999"
        case Held(until_ms=until_ms):
            until = "the next external word" if until_ms is None else _show(until_ms)
            return f"it is due, and the guard holds every delivery until {until}"
        case Busy(turn_open=turn_open, inputs=inputs):
            what = "a turn is open" if turn_open else "an input waits for its turn"
            return f"it is due, and the agent is busy: {what} ({inputs} in the inbox)"
        case TooLate(late_ms=late_ms, grace_seconds=grace):
            return f"it is {late_ms // 1000} s late, its grace is {grace} s: it will be skipped"
        case Gated(until_ms=until_ms):
            return f"it is due, and repeats stand apart: the gate opens at {_show(until_ms)}"
        case Due(since_ms=since_ms):
            return f"it is due since {_show(since_ms)}, and nothing in the log stands in its way"
        case _:
            assert_never(verdict)


def encode_explanation(explanation: Explanation) -> Json:
    """The explanation as JSON, its sentence included."""
    return {
        "id": explanation.id,
        **_encode(explanation.verdict),
        "sentence": describe_verdict(explanation.verdict),
        "deliveries": explanation.deliveries,
        "lastDelivery": _encode(explanation.last_delivery),
        "lastSkip": _encode(explanation.last_skip),
    }


def _read_own(events: Sequence[Event], seed_length: int) -> Iterator[tuple[Event, str, Change]]:
    """The changes of the own suffix, each with the id that it names."""
    for event in events[seed_length:]:
        if event.type == SCHEDULE_CHANGE:
            change = read_change(event.data)
            yield event, change.schedule.id if isinstance(change, Create) else change.id, change


def _find_verdict(
    ledger: Ledger,
    events: Sequence[Event],
    own: Sequence[tuple[Event, str, Change]],
    now_ms: int,
    config: GuardConfig | None,
) -> Verdict:
    if not own:
        return NeverCreated()
    last, schedule_id, change = own[-1]
    record = ledger.records.get(schedule_id)
    if record is None:
        before = fold(events[: last.seq], ledger.seed_length, ledger.profile).unwrap()
        return Ended(find_ending(before.records[schedule_id], change), last.seq, last.time_ms)
    if record.standing.paused:
        event = next(event for event, _, edit in reversed(own) if isinstance(edit, Pause))
        return Paused(event.seq, event.time_ms)
    return _judge(record, ledger, events, now_ms, config)


def _judge(
    record: Record, ledger: Ledger, events: Sequence[Event], now_ms: int, config: GuardConfig | None
) -> Verdict:
    """What stands in the way of an active reminder that is not paused."""
    due_ms = find_due(record)
    if isinstance(record, CalendarRecord) and not can_evaluate(record):
        return ZoneUnknown(record.rule.time_zone)
    if is_recurring(record) and is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
        return Exhausted()
    if now_ms < due_ms:
        return NotDue(due_ms, record.standing.snoozed_until_ms is not None)
    conversation = Conversation(seed_length=ledger.seed_length)
    guard = None if config is None else Guard(config=config, seed_length=ledger.seed_length)
    for event in events:
        conversation = follow(conversation, event)
        guard = None if guard is None else watch(guard, event)
    held_ms = None if guard is None else find_not_before(guard, now_ms)
    if held_ms is not None and held_ms > now_ms:
        return Held(None if held_ms == UNTIL_A_WORD else held_ms)
    if conversation.turn_open or conversation.inbox:
        return Busy(conversation.turn_open, len(conversation.inbox))
    gate_ms = find_gate(ledger.profile, ledger.last_accepted_at_ms)
    grace = record.options.grace_seconds
    late_ms = measure_lateness(record, evaluate(record, now_ms).occurrence_ms, now_ms, gate_ms)
    if grace is not None and late_ms > 1000 * grace:
        return TooLate(late_ms, grace)
    if is_recurring(record) and gate_ms is not None and now_ms < gate_ms:
        return Gated(gate_ms)
    return Due(due_ms)


def _encode(value: Verdict | Mark | None) -> Any:  # noqa: ANN401 - JSON
    """A verdict or a mark; instants as text under their names without the unit."""
    if value is None:
        return None
    fields = msgspec.to_builtins(value)
    return {
        name.removesuffix("Ms") if name in _INSTANTS else name: _spell(name, told)
        for name, told in fields.items()
    }


_INSTANTS: Final = frozenset({"atMs", "dueMs", "untilMs", "sinceMs", "occurrenceMs"})


def _spell(name: str, value: object) -> object:
    return _show(value) if name in _INSTANTS and isinstance(value, int) else value


def _show(instant_ms: int) -> str:
    return format_instant(instant_ms) if is_representable(instant_ms) else f"{instant_ms} ms"
