"""The folded state of one session's reminders (spec section 4).

This module decides what a log means: which records are active, which ids were ever seen, when the last
recurring batch was accepted, and whether a further event may follow. It refuses to know the clock, the
tz database and every event that is not a `schedule/change` of the session's own suffix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.active_records import index_records
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    Record,
    read_change,
)
from wakefold.instants import is_representable, read_safe_integer
from wakefold.recurrence import SEED, Occurrence, Profile, find_gate, find_occurrence, is_exhausted
from wakefold.rejections import CorruptScheduleLog, LogFault
from wakefold.seen_ids import freeze_ids, index_ids


class Ledger(Struct, frozen=True, kw_only=True):
    """What a log has come to, still growing. Made by `fold` and `evolve`, never changed in place.

    `position` counts the events read, those before `seed_length` (the fork's inherited part) included.
    `records` holds by id, in create order, also those that exhaustion ended (the same batch or a delete
    may still name them): ask `list_active` for what is shown and planned. The keys of `seen_ids` are
    every id ever created, in order. `last_accepted_at_ms` is that of the last recurring batch.
    """

    profile: Profile = SEED
    seed_length: int = 0
    position: int = 0
    records: Mapping[str, Record] = {}
    seen_ids: Mapping[str, None] = {}
    last_accepted_at_ms: int | None = None


EMPTY: Final = Ledger()
"""The ledger of a log without events, under SEED."""


def fold(
    events: Iterable[Event], seed_length: int = 0, profile: Profile = SEED
) -> Result[Ledger, CorruptScheduleLog]:
    """The ledger of a whole log, read in one pass; the events may come from a generator.

    Only events from place `seed_length` on count. The first violation makes the whole log corrupt, and
    the failure names its place; so does a `seed_length` that is none in the log.
    """
    return fold_on(Ledger(profile=profile, seed_length=seed_length), events)


def fold_on(ledger: Ledger, events: Iterable[Event]) -> Result[Ledger, CorruptScheduleLog]:
    """The ledger after many more events, in one pass.

    `fold(xs + ys)` equals `fold(xs)` folded on with `ys`, the place of a violation included.
    """
    length = read_safe_integer(ledger.seed_length)
    if length is None or length < 0:
        return Failure(CorruptScheduleLog(rule="bad_seed_length"))
    profile = ledger.profile
    records, seen_ids = dict(ledger.records), dict(ledger.seen_ids)
    last_ms, position = ledger.last_accepted_at_ms, ledger.position
    try:
        for position, event in enumerate(events, start=ledger.position + 1):
            if event.type == SCHEDULE_CHANGE and position > length:
                change = read_change(event.data)
                schedule_id, record, last_ms = _judge(change, records, seen_ids, last_ms, profile)
                if record is None:
                    del records[schedule_id]
                else:
                    records[schedule_id] = record
                if isinstance(change, Create):
                    seen_ids[schedule_id] = None
    except LogFault as fault:
        return Failure(fault.located(position - 1))
    if length > position:
        return Failure(CorruptScheduleLog(rule="bad_seed_length"))
    grown = Ledger(
        profile=profile,
        seed_length=length,
        position=position,
        records=index_records(records),
        seen_ids=freeze_ids(seen_ids),
        last_accepted_at_ms=last_ms,
    )
    return Success(grown)


def evolve(ledger: Ledger, event: Event) -> Result[Ledger, CorruptScheduleLog]:
    """The ledger after one more event: `fold(xs + [x])` equals `fold(xs).bind(evolve x)`.

    The old ledger stays as it was, and the work grows with the logarithm of what it holds.
    """
    records, seen_ids, last_ms = ledger.records, ledger.seen_ids, ledger.last_accepted_at_ms
    if event.type == SCHEDULE_CHANGE and ledger.position >= ledger.seed_length:
        try:
            change = read_change(event.data)
            schedule_id, record, last_ms = _judge(change, records, seen_ids, last_ms, ledger.profile)
        except LogFault as fault:
            return Failure(fault.located(ledger.position))
        indexed = index_records(records)
        records = indexed.end(schedule_id) if record is None else indexed.put(record)
        if isinstance(change, Create):
            seen_ids = index_ids(seen_ids).add(schedule_id)
    return Success(
        Ledger(
            profile=ledger.profile,
            seed_length=ledger.seed_length,
            position=ledger.position + 1,
            records=records,
            seen_ids=seen_ids,
            last_accepted_at_ms=last_ms,
        )
    )


def validate(ledger: Ledger, event: Event) -> Result[Event, CorruptScheduleLog]:
    """The candidate event itself if it may be appended to the folded log, else why not."""
    return evolve(ledger, event).map(lambda _: event)


def list_active(ledger: Ledger) -> tuple[Record, ...]:
    """The active records in create order; an exhausted gate has ended the repeating ones."""
    records = tuple(ledger.records.values())
    if not is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
        return records
    return tuple(record for record in records if not isinstance(record, EveryRecord))


def find_shortest_interval(ledger: Ledger) -> int | None:
    """The shortest interval (seconds) of the active repeating records."""
    if is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
        return None
    return index_records(ledger.records).every_seconds


def _judge(
    change: Change,
    records: Mapping[str, Record],
    seen_ids: Mapping[str, None],
    last_ms: int | None,
    profile: Profile,
) -> tuple[str, Record | None, int | None]:
    """What a change comes to: the record that its id has from now on, if any, and the last batch.

    Raises `LogFault` where the change may not follow. No Struct is made, for the sake of long logs.
    """
    if isinstance(change, Create):
        record = change.schedule
        if record.id in seen_ids:
            raise LogFault("id_reused", "$.schedule.id", record.id)
        return record.id, record, last_ms
    found = records.get(change.id)
    if found is None:
        raise LogFault("id_not_active", "$.id", change.id)
    if isinstance(change, Delete):
        return change.id, None, last_ms
    remaining = accept_dispatch(found, change).remaining
    accepted_at_ms = change.accepted_at_ms
    if accepted_at_ms is None:
        return change.id, remaining, last_ms
    gate_ms = find_gate(profile, last_ms)
    if gate_ms is not None and last_ms != accepted_at_ms < gate_ms:
        raise LogFault("batches_too_close", "$.acceptedAt", change.id)
    return change.id, remaining, accepted_at_ms


class Accepted(Struct, frozen=True):
    """What one dispatch delivers of a record, and what it leaves; `None`: the record ends."""

    occurrence_ms: int
    remaining: Record | None


def accept_dispatch(record: Record, dispatch: Dispatch) -> Accepted:
    """The occurrence that a dispatch delivers of the record it names, and the record afterwards.

    Raises `LogFault` where the dispatch does not fit the record; batch distance is not looked at.
    """
    accepted_at_ms = dispatch.accepted_at_ms
    if not isinstance(record, EveryRecord):
        if accepted_at_ms is not None:
            raise LogFault("one_shot_with_accepted_at", "$.acceptedAt", record.id)
        return Accepted(record.scheduled_at_ms, None)
    if accepted_at_ms is None:
        raise LogFault("every_without_accepted_at", "$", record.id)
    found = accept_occurrence(record, accepted_at_ms)
    target_ms = found.next_target_ms
    if target_ms is None:
        return Accepted(found.occurrence_ms, None)
    following = EveryRecord(record.id, record.prompt, record.every_seconds, target_ms)
    return Accepted(found.occurrence_ms, following)


def accept_occurrence(record: EveryRecord, accepted_at_ms: float) -> Occurrence:
    """The occurrence of a repeating record that an acceptance stands for.

    Raises `LogFault` unless `accepted_at_ms` is a whole number of milliseconds within years 0001 to
    9999 and not before the record's target.
    """
    accepted = read_safe_integer(accepted_at_ms)
    if accepted is None or not is_representable(accepted):
        raise LogFault("bad_instant", "$.acceptedAt", record.id)
    if accepted < record.scheduled_at_ms:
        raise LogFault("accepted_before_target", "$.acceptedAt", record.id)
    return find_occurrence(record.scheduled_at_ms, record.every_seconds, accepted)
