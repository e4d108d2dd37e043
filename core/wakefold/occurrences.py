"""What a record comes to when it is evaluated: its latest occurrence, and the next target.

The one place where rules of all kinds are evaluated as of an instant, which needs the tz database for
calendar rules; what comes out is stored, and never evaluated again (calendar.md section 2). This module
refuses to know gates, batches and other records.
"""

from __future__ import annotations

from typing import assert_never

from wakefold.calendar_rules import make_pattern
from wakefold.calendars import find_latest, find_next
from wakefold.edits import StatedDispatch
from wakefold.events import Dispatch
from wakefold.records import (
    AfterRecord,
    AtRecord,
    CalendarRecord,
    EveryRecord,
    Record,
    is_recurring,
)
from wakefold.recurrence import Occurrence, find_occurrence
from wakefold.transitions import find_stated
from wakefold.zones import is_known


def can_evaluate(record: Record) -> bool:
    """Whether the tz database has the record's zone, if it has one."""
    return not isinstance(record, CalendarRecord) or is_known(record.rule.time_zone)


def evaluate(record: Record, at_ms: int) -> Occurrence:
    """What a dispatch at an instant, not before the record's target, delivers and what comes then.

    The latest occurrence by then and by the record's end, never one before its target: a backlog is
    not replayed, and a target that this tz database would place elsewhere is honoured once.
    """
    match record:
        case AfterRecord() | AtRecord():
            return Occurrence(record.scheduled_at_ms, None)
        case EveryRecord():
            return find_stated(record, at_ms)
        case CalendarRecord(rule=rule, scheduled_at_ms=target_ms):
            until_ms = record.options.until_ms
            end_ms = at_ms if until_ms is None else min(at_ms, until_ms)
            latest_ms = find_latest(make_pattern(rule), rule.time_zone, end_ms)
            occurrence_ms = target_ms if latest_ms is None else max(target_ms, latest_ms)
            return Occurrence(occurrence_ms, find_following(record, at_ms))
        case _:
            assert_never(record)


def state_dispatch(record: Record, accepted_at_ms: int) -> Dispatch | StatedDispatch:
    """The dispatch of a record, accepted at an instant that is not before its target."""
    if record.standing.version == 1:
        return Dispatch(record.id, accepted_at_ms if is_recurring(record) else None)
    found = evaluate(record, accepted_at_ms)
    return StatedDispatch(record.id, accepted_at_ms, found.occurrence_ms, found.next_target_ms)


def find_following(record: Record, after_ms: int) -> int | None:
    """The first occurrence of a recurring record's rule after an instant; `None`: there is none."""
    match record:
        case AfterRecord() | AtRecord():
            return None
        case EveryRecord(scheduled_at_ms=target_ms, every_seconds=seconds):
            if after_ms < target_ms:
                return target_ms
            return find_occurrence(target_ms, seconds, after_ms).next_target_ms
        case CalendarRecord(rule=rule):
            return find_next(make_pattern(rule), rule.time_zone, after_ms)
        case _:
            assert_never(record)
