"""The folded state of one session's reminders (spec section 4).

This module decides what a log means: which records are active, which ids were ever seen, when the last
recurring batch was accepted, and whether a further event may follow. It refuses to know the clock, the
tz database and every event that is not a `schedule/change` of the session's own suffix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, assert_never

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
from wakefold.recurrence import SEED, Occurrence, Profile, find_occurrence, is_exhausted
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

    Only events from place `seed_length` on count. The first violation makes the whole log corrupt,
    and the failure names its place; so does a seed length that is no safe integer from 0 to the log's
    length.
    """
    length = read_safe_integer(seed_length)
    if length is None or length < 0:
        return Failure(CorruptScheduleLog(rule="bad_seed_length"))
    draft = _Draft(profile, length)
    try:
        for event in events:
            draft.take(event)
    except LogFault as fault:
        return Failure(fault.located(draft.position))
    if length > draft.position:
        return Failure(CorruptScheduleLog(rule="bad_seed_length"))
    return Success(draft.freeze())


def evolve(ledger: Ledger, event: Event) -> Result[Ledger, CorruptScheduleLog]:
    """The ledger after one more event: `fold(xs + [x])` equals `fold(xs).bind(evolve x)`.

    The old ledger stays as it was, and the work grows with the logarithm of what it holds.
    """
    if event.type != SCHEDULE_CHANGE or ledger.position < ledger.seed_length:
        return Success(_follow(ledger, ledger.records, ledger.seen_ids, ledger.last_accepted_at_ms))
    records, seen_ids = index_records(ledger.records), index_ids(ledger.seen_ids)
    try:
        step = _judge(ledger, read_change(event.data))
    except LogFault as fault:
        return Failure(fault.located(ledger.position))
    if step.record is None:
        records = records.end(step.id)
    else:
        records = records.put(step.record)
    if step.is_new:
        seen_ids = seen_ids.add(step.id)
    return Success(_follow(ledger, records, seen_ids, step.last_accepted_at_ms))


def validate(ledger: Ledger, event: Event) -> Result[Event, CorruptScheduleLog]:
    """The candidate event itself if it may be appended to the folded log, else why not."""
    return evolve(ledger, event).map(lambda _: event)


def list_active(ledger: Ledger) -> tuple[Record, ...]:
    """The active records in create order; an exhausted gate has ended the repeating ones."""
    records = tuple(ledger.records.values())
    if not is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
        return records
    return tuple(record for record in records if not isinstance(record, EveryRecord))


class _Draft:
    """A ledger while a whole log is read: one mutable loop inside, frozen at the end."""

    __slots__ = ("last_accepted_at_ms", "position", "profile", "records", "seed_length", "seen_ids")

    def __init__(self, profile: Profile, seed_length: int) -> None:
        self.profile = profile
        self.seed_length = seed_length
        self.position = 0
        self.records: dict[str, Record] = {}
        self.seen_ids: dict[str, None] = {}
        self.last_accepted_at_ms: int | None = None

    def take(self, event: Event) -> None:
        if event.type == SCHEDULE_CHANGE and self.position >= self.seed_length:
            step = _judge(self, read_change(event.data))
            if step.record is None:
                del self.records[step.id]
            else:
                self.records[step.id] = step.record
            if step.is_new:
                self.seen_ids[step.id] = None
            self.last_accepted_at_ms = step.last_accepted_at_ms
        self.position += 1

    def freeze(self) -> Ledger:
        return Ledger(
            profile=self.profile,
            seed_length=self.seed_length,
            position=self.position,
            records=index_records(self.records),
            seen_ids=freeze_ids(self.seen_ids),
            last_accepted_at_ms=self.last_accepted_at_ms,
        )


def _follow(
    ledger: Ledger,
    records: Mapping[str, Record],
    seen_ids: Mapping[str, None],
    last_accepted_at_ms: int | None,
) -> Ledger:
    """The ledger one event later."""
    return Ledger(
        profile=ledger.profile,
        seed_length=ledger.seed_length,
        position=ledger.position + 1,
        records=records,
        seen_ids=seen_ids,
        last_accepted_at_ms=last_accepted_at_ms,
    )


class _Step(Struct, frozen=True):
    """What one lawful change comes to: the record that its id has from now on; `None`: it ends."""

    id: str
    record: Record | None
    last_accepted_at_ms: int | None
    is_new: bool = False


def _judge(state: Ledger | _Draft, change: Change) -> _Step:
    """The step that a change makes from a state; raises `LogFault` where it may not follow."""
    match change:
        case Create(schedule=record):
            if record.id in state.seen_ids:
                raise LogFault("id_reused", "$.schedule.id", record.id)
            return _Step(record.id, record, state.last_accepted_at_ms, is_new=True)
        case Delete(id=schedule_id):
            _find(state, schedule_id)
            return _Step(schedule_id, None, state.last_accepted_at_ms)
        case Dispatch(id=schedule_id, accepted_at_ms=accepted_at_ms):
            remaining = accept_dispatch(_find(state, schedule_id), change).remaining
            if accepted_at_ms is None:
                return _Step(schedule_id, remaining, state.last_accepted_at_ms)
            _keep_distance(state, schedule_id, accepted_at_ms)
            return _Step(schedule_id, remaining, accepted_at_ms)
        case _:
            assert_never(change)


def _find(state: Ledger | _Draft, schedule_id: str) -> Record:
    record = state.records.get(schedule_id)
    if record is None:
        raise LogFault("id_not_active", "$.id", schedule_id)
    return record


def _keep_distance(state: Ledger | _Draft, schedule_id: str, accepted_at_ms: int) -> None:
    last = state.last_accepted_at_ms
    distance = state.profile.batch_distance_ms
    if last is None or distance is None or accepted_at_ms == last:
        return
    if accepted_at_ms < last + distance:
        raise LogFault("batches_too_close", "$.acceptedAt", schedule_id)


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
        return Accepted(occurrence_ms=record.scheduled_at_ms, remaining=None)
    if accepted_at_ms is None:
        raise LogFault("every_without_accepted_at", "$", record.id)
    found = accept_occurrence(record, accepted_at_ms)
    if found.next_target_ms is None:
        return Accepted(occurrence_ms=found.occurrence_ms, remaining=None)
    following = EveryRecord(
        id=record.id,
        prompt=record.prompt,
        every_seconds=record.every_seconds,
        scheduled_at_ms=found.next_target_ms,
    )
    return Accepted(occurrence_ms=found.occurrence_ms, remaining=following)


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
