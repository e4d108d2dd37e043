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
from wakefold.edits import StatedDispatch
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    Record,
    read_change,
)
from wakefold.instants import read_safe_integer
from wakefold.records import is_recurring
from wakefold.recurrence import SEED, Profile, find_gate, is_exhausted
from wakefold.rejections import CorruptScheduleLog, LogFault
from wakefold.seen_ids import freeze_ids, index_ids
from wakefold.transitions import (
    Accepted,
    accept_edit,
    accept_plain,
    accept_stated,
    check_options,
)


class Ledger(Struct, frozen=True, kw_only=True):
    """What a log has come to, still growing. Made by `fold` and `evolve`, never changed in place.

    `position` counts the events read, those before `seed_length` (the fork's inherited part) included.
    `records` holds by id, in create order, also those that exhaustion ended (the same batch or a delete
    may still name them): ask `list_active` for what is shown and planned. The keys of `seen_ids` are
    every id ever created, in order. `last_accepted_at_ms` is that of the last recurring batch.

    :shape: `records` and `seen_ids` map ids to records and to `None`, both in create order
    :units: `position` and `seed_length` count events from 0, `last_accepted_at_ms` is epoch
        milliseconds UTC
    :errors: none when it is made, which checks nothing; `Ledger()` is that of a log without events
    :source: spec section 4
    """

    profile: Profile = SEED
    seed_length: int = 0
    position: int = 0
    records: Mapping[str, Record] = {}
    seen_ids: Mapping[str, None] = {}
    last_accepted_at_ms: int | None = None


#: The ledger of a log without events, under SEED.
EMPTY: Final = Ledger()


def fold(
    events: Iterable[Event], seed_length: int = 0, profile: Profile = SEED
) -> Result[Ledger, CorruptScheduleLog]:
    """The ledger of a whole log, read in one pass; the events may come from a generator.

    Only events from place `seed_length` on count. The first violation makes the whole log corrupt.

    :shape: `events` is the log from its first event, each with parsed `data`
    :units: `seed_length` counts events from 0
    :errors: `Failure` of `corrupt_schedule_log`: a broken rule with its place, or `bad_seed_length`
        without one; what the iterable raises passes through
    :source: spec section 4; calendar.md section 2
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

    :shape: the event follows on what the ledger has read: its place is `ledger.position`, its `seq` is
        not looked at
    :units: none
    :errors: `Failure` of `corrupt_schedule_log`: a broken rule with its place, `ledger.position`
    :source: spec section 4; ours, docs/decisions/persistent-ledger.md
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
    """The candidate event itself if it may be appended to the folded log, else why not.

    :shape: the same event comes back, unchanged
    :units: none
    :errors: `Failure` of `corrupt_schedule_log`: a broken rule with its place, `ledger.position`
    :source: spec section 4
    """
    return evolve(ledger, event).map(lambda _: event)


def list_active(ledger: Ledger) -> tuple[Record, ...]:
    """The active records in create order; an exhausted gate has ended the repeating ones.

    :shape: a tuple of records
    :units: none
    :errors: none, it is total
    :source: spec section 4
    """
    records = tuple(ledger.records.values())
    if not is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
        return records
    return tuple(record for record in records if not is_recurring(record))


def find_active(ledger: Ledger, schedule_id: str) -> Record | None:
    """The active record of an id, without a look at the others."""
    record = ledger.records.get(schedule_id)
    if record is None or not is_recurring(record):
        return record
    return None if is_exhausted(ledger.profile, ledger.last_accepted_at_ms) else record


def find_shortest_interval(ledger: Ledger) -> int | None:
    """An interval (seconds) that no active recurring record comes faster than; `None`: there is none.

    It is that of the fastest fixed rate; of a calendar rule it may be less than its spacing.
    """
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
        return record.id, check_options(record), last_ms
    found = records.get(change.id)
    if found is None:
        raise LogFault("id_not_active", "$.id", change.id)
    if isinstance(change, Delete):
        return change.id, None, last_ms
    gate_ms = find_gate(profile, last_ms)
    if isinstance(change, Dispatch) or (isinstance(change, StatedDispatch) and is_recurring(found)):
        remaining, accepted_at_ms = accept_dispatch(found, change).remaining, change.accepted_at_ms
    else:
        remaining, accepted_at_ms = accept_edit(found, change, gate_ms), None
    if accepted_at_ms is None:
        return change.id, remaining, last_ms
    if gate_ms is not None and last_ms != accepted_at_ms < gate_ms:
        raise LogFault("batches_too_close", "$.acceptedAt", change.id)
    return change.id, remaining, accepted_at_ms


def accept_dispatch(record: Record, dispatch: Dispatch | StatedDispatch) -> Accepted:
    """The occurrence that a dispatch delivers of the record it names, and the record afterwards.

    Raises `LogFault` where the dispatch does not fit the record; batch distance is not looked at.
    """
    if isinstance(dispatch, Dispatch):
        return accept_plain(record, dispatch.accepted_at_ms)
    return accept_stated(record, dispatch)
