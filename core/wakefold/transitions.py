"""What a change makes of the one record that it names (spec section 4, calendar.md sections 2 and 3).

This module decides whether a change may follow on a record and what the record is afterwards. It
evaluates no calendar: what a rule came to was decided when it was accepted, and is stated. It refuses
to know other records, and the distance of batches but for what a skip counts from.
"""

from __future__ import annotations

from typing import assert_never

from msgspec import UNSET, Struct
from msgspec.structs import replace

from wakefold.edits import (
    Changes,
    Edit,
    NewRule,
    Pause,
    Resume,
    Skip,
    Snooze,
    StatedDispatch,
    Update,
)
from wakefold.instants import MAX_INSTANT_MS, is_representable, read_safe_integer
from wakefold.records import (
    PLAIN,
    CalendarRecord,
    EveryRecord,
    Options,
    Record,
    Standing,
    assemble_record,
    find_due,
    is_recurring,
)
from wakefold.recurrence import Occurrence, find_occurrence
from wakefold.rejections import LogFault
from wakefold.stored_records import encode_record, read_editable_record


class Accepted(Struct, frozen=True):
    """What one dispatch delivers of a record, and what it leaves; `None`: the record ends."""

    occurrence_ms: int
    remaining: Record | None


def accept_plain(record: Record, accepted_at_ms: int | None) -> Accepted:
    """What a dispatch of version 1 delivers of the record it names, and the record afterwards.

    Raises `LogFault` where the dispatch does not fit the record; batch distance is not looked at.
    """
    standing = record.standing
    if standing.version != 1:
        raise LogFault("other_version", "$.version", record.id)
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
    following = EveryRecord(
        record.id,
        record.prompt,
        record.every_seconds,
        target_ms,
        standing=Standing(runs=standing.runs + 1),
    )
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


def check_options(record: Record) -> Record:
    """The record itself if its options may stand together and let it occur; raises `LogFault`."""
    options = record.options
    if options is PLAIN:
        return record
    ending = options.max_runs is not None or options.until_ms is not None
    if ending and not is_recurring(record):
        raise LogFault("option_of_recurring", "$", record.id)
    if (options.missed == "skip") != (options.grace_seconds is not None):
        raise LogFault("grace_without_skip", "$", record.id)
    if options.max_runs is not None and record.standing.runs >= options.max_runs:
        raise LogFault("ended_by_option", "$", record.id)
    if options.until_ms is not None and record.scheduled_at_ms > options.until_ms:
        raise LogFault("ended_by_option", "$", record.id)
    return record


def is_reachable(record: Record) -> bool:
    """Whether changes can come to a record's options, calendar rule and standing."""
    standing, until_ms = record.standing, record.standing.snoozed_until_ms
    plain = record.options == PLAIN and not isinstance(record, CalendarRecord)
    if standing.runs < 0 or (standing.runs > 0 and not is_recurring(record) and standing.revision == 0):
        return False
    if standing.version == 1:
        return plain and standing == Standing(runs=standing.runs)
    if standing.revision < (plain or standing.paused or until_ms is not None):
        return False
    if until_ms is not None and not record.scheduled_at_ms < until_ms <= MAX_INSTANT_MS:
        return False
    return plain or _can_be_created(record)


def _can_be_created(record: Record) -> bool:
    try:
        check_options(record)
        read_editable_record(encode_record(record))
    except (LogFault, ValueError):  # the latter of an `until` that no text can tell
        return False
    return True


def accept_edit(record: Record, edit: Edit, gate_ms: int | None) -> Record | None:
    """The record after a change of version 2; `None`: it ends. Raises `LogFault`.

    `gate_ms` is when the shared gate opens for recurring records, if there is one.
    """
    if record.standing.paused and isinstance(edit, StatedDispatch | Skip | Snooze):
        raise LogFault("paused", "$", record.id)
    match edit:
        case StatedDispatch():
            return accept_stated(record, edit).remaining
        case Skip():
            return _skip(record, edit, gate_ms)
        case Update(changes=changes):
            return check_options(_revise(_change(record, changes)))
        case Pause():
            if record.standing.paused:
                raise LogFault("paused", "$", record.id)
            return _revise(record, paused=True)
        case Resume(scheduled_at_ms=scheduled_at_ms):
            return _resume(record, scheduled_at_ms)
        case Snooze(until_ms=until_ms):
            if until_ms <= record.scheduled_at_ms:
                raise LogFault("snoozed_to_target", "$.until", record.id)
            return _revise(record, snoozed_until_ms=until_ms)
        case _:
            assert_never(edit)


def accept_stated(record: Record, dispatch: StatedDispatch) -> Accepted:
    """What a dispatch of version 2 delivers of the record it names, and the record afterwards.

    Raises `LogFault` where the dispatch does not fit the record; batch distance is not looked at.
    """
    if record.standing.paused:
        raise LogFault("paused", "$", record.id)
    _check_stated(record, dispatch)
    return Accepted(dispatch.occurrence_ms, _move(record, dispatch.next_ms, runs=1))


def measure_lateness(record: Record, occurrence_ms: int, at_ms: int, gate_ms: int | None) -> int:
    """How late (ms) an occurrence is: since it, a pending snooze, and a recurring record's gate."""
    snoozed_until_ms = record.standing.snoozed_until_ms
    since_ms = occurrence_ms if snoozed_until_ms is None else max(occurrence_ms, snoozed_until_ms)
    if gate_ms is not None and is_recurring(record):
        since_ms = max(since_ms, gate_ms)
    return at_ms - since_ms


def _skip(record: Record, skip: Skip, gate_ms: int | None) -> Record | None:
    _check_stated(record, skip)
    grace_seconds = record.options.grace_seconds
    late_ms = measure_lateness(record, skip.occurrence_ms, skip.accepted_at_ms, gate_ms)
    if record.options.missed != "skip" or grace_seconds is None or late_ms <= 1000 * grace_seconds:
        raise LogFault("not_too_late", "$", record.id)
    return _move(record, skip.next_ms, runs=0)


def _check_stated(record: Record, stated: StatedDispatch | Skip) -> None:
    """That what is stated fits the record, as far as that needs no calendar."""
    accepted_at_ms, occurrence_ms, next_ms = stated.accepted_at_ms, stated.occurrence_ms, stated.next_ms
    _check_accepted(record, accepted_at_ms)
    if not record.scheduled_at_ms <= occurrence_ms <= accepted_at_ms:
        raise LogFault("bad_occurrence", "$.occurrenceAt", record.id)
    if not isinstance(record, EveryRecord | CalendarRecord):
        if next_ms is not None:
            raise LogFault("bad_next", "$.nextScheduledAt", record.id)
        if occurrence_ms != record.scheduled_at_ms:
            raise LogFault("bad_occurrence", "$.occurrenceAt", record.id)
        return
    until_ms = record.options.until_ms
    if until_ms is not None and occurrence_ms > until_ms:
        raise LogFault("bad_occurrence", "$.occurrenceAt", record.id)
    if isinstance(record, EveryRecord):
        found = find_stated(record, accepted_at_ms)
        if occurrence_ms != found.occurrence_ms:
            raise LogFault("bad_occurrence", "$.occurrenceAt", record.id)
        if next_ms != found.next_target_ms:
            raise LogFault("bad_next", "$.nextScheduledAt", record.id)
    elif next_ms is not None and next_ms <= accepted_at_ms:
        raise LogFault("bad_next", "$.nextScheduledAt", record.id)


def _check_accepted(record: Record, accepted_at_ms: int) -> None:
    if record.standing.version == 1:
        raise LogFault("other_version", "$.version", record.id)
    if not is_representable(accepted_at_ms):
        raise LogFault("bad_instant", "$.acceptedAt", record.id)
    if accepted_at_ms < max(find_due(record), record.scheduled_at_ms):
        raise LogFault("accepted_before_target", "$.acceptedAt", record.id)


def find_stated(record: EveryRecord, accepted_at_ms: int) -> Occurrence:
    """What a dispatch states of a fixed rate: an occurrence not after its end, and the next target."""
    target_ms, seconds, until_ms = record.scheduled_at_ms, record.every_seconds, record.options.until_ms
    following = find_occurrence(target_ms, seconds, accepted_at_ms)
    if until_ms is None or following.occurrence_ms <= until_ms:
        return following
    latest = find_occurrence(target_ms, seconds, until_ms)
    return Occurrence(latest.occurrence_ms, following.next_target_ms)


def _move(record: Record, next_ms: int | None, runs: int) -> Record | None:
    """The record at its next target, if it goes on."""
    options, standing = record.options, record.standing
    count = standing.runs + runs
    if next_ms is None or (options.max_runs is not None and count >= options.max_runs):
        return None
    if options.until_ms is not None and next_ms > options.until_ms:
        return None
    moved = replace(standing, runs=count, snoozed_until_ms=None)
    return replace(record, scheduled_at_ms=next_ms, standing=moved)


def _resume(record: Record, scheduled_at_ms: int | None) -> Record:
    if not record.standing.paused:
        raise LogFault("not_paused", "$", record.id)
    if is_recurring(record) != (scheduled_at_ms is not None):
        raise LogFault("wrong_keys", "$", record.id)
    if scheduled_at_ms is None:
        return check_options(_revise(record, paused=False))
    ahead_ms = scheduled_at_ms - record.scheduled_at_ms
    off = isinstance(record, EveryRecord) and ahead_ms % (1000 * record.every_seconds)
    if ahead_ms < 0 or off:
        raise LogFault("bad_next", "$.scheduledAt", record.id)
    moved = replace(record, scheduled_at_ms=scheduled_at_ms)
    return check_options(_revise(moved, paused=False, snoozed_until_ms=None))


def _change(record: Record, changes: Changes) -> Record:
    """The record with another text, rule or options; what may not stand together is not looked at."""
    prompt = record.prompt if changes.prompt is UNSET else changes.prompt
    options = change_options(record.options, changes)
    if not isinstance(changes.rule, NewRule):
        return replace(record, prompt=prompt, options=options)
    standing = replace(record.standing, snoozed_until_ms=None)
    new = changes.rule
    return assemble_record(record.id, prompt, new.rule, new.scheduled_at_ms, options, standing)


def change_options(options: Options, changes: Changes) -> Options:
    """The options after an update; leaving `skip` drops the grace, unless that is given, too."""
    missed = options.missed if changes.missed is UNSET else changes.missed
    kept = options.grace_seconds if missed == "skip" else None
    changed = Options(
        title=options.title if changes.title is UNSET else changes.title,
        max_runs=options.max_runs if changes.max_runs is UNSET else changes.max_runs,
        until_ms=options.until_ms if changes.until_ms is UNSET else changes.until_ms,
        missed=missed,
        grace_seconds=kept if changes.grace_seconds is UNSET else changes.grace_seconds,
    )
    return PLAIN if changed == PLAIN else changed


def _revise(record: Record, **standing: object) -> Record:
    """The record after an edit: one revision more, and version 2 from then on."""
    before = record.standing
    return replace(
        record, standing=replace(before, version=2, revision=before.revision + 1, **standing)
    )
