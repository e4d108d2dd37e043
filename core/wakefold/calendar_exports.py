"""What a calendar shows of a session's reminders: starts, and the rules of iCalendar that fit exactly.

This module decides which reminders repeat by one rule of RFC 5545, where that rule ends and which of
its instances the clocks skip; whatever no such rule says exactly comes as single occurrences,
so many at most. It refuses to know bytes, files and libraries, and it changes nothing.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from wakefold.calendar_rules import CronRule, make_pattern
from wakefold.calendars import find_latest, find_next, list_skipped_between
from wakefold.cron_expressions import parse_cron
from wakefold.ledger import Ledger, list_active
from wakefold.occurrences import can_evaluate, evaluate, find_following
from wakefold.records import (
    AfterRecord,
    AtRecord,
    CalendarRecord,
    EveryRecord,
    Record,
    RecurringRecord,
    is_recurring,
)
from wakefold.recurrence import find_gate, find_occurrence
from wakefold.transitions import measure_lateness
from wakefold.wall_patterns import WallPattern

#: 2038-01-01T00:00:00.000Z: so far a calendar file describes zones, and skipped instances are named.
HORIZON_MS: Final = 2_145_916_800_000

#: How a calendar spells a rule that repeats.
Frequency = Literal["MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY"]

_UNITS: Final[tuple[tuple[Frequency, int], ...]] = (
    ("DAILY", 86_400),
    ("HOURLY", 3_600),
    ("MINUTELY", 60),
)
_WALKED_MAX: Final = 10_000
_DAYS: Final = 31
_WEEKDAYS: Final = 7
_MONTHS: Final = 12


class Repeat(Struct, frozen=True):
    """A rule of RFC 5545, from its first start on; an empty part restricts nothing.

    `weekdays` count from Sunday 0. The rule ends after `runs` instances or with the one at `last_ms`;
    `skipped` are the local times (`2027-03-28T02:30:00`) of instances that do not occur.
    """

    frequency: Frequency
    interval: int = 1
    months: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    runs: int | None = None
    last_ms: int | None = None
    skipped: tuple[str, ...] = ()


class Entry(Struct, frozen=True):
    """A reminder as a calendar shows it: its occurrences, of which a rule has the first one alone.

    `zone` is the one that a rule repeats in. `moved_ms` is where a pending snooze has moved the first
    occurrence.
    """

    record: Record
    occurrences_ms: tuple[int, ...]
    repeat: Repeat | None = None
    zone: str = "UTC"
    moved_ms: int | None = None


def list_entries(ledger: Ledger, now_ms: int, count: int) -> tuple[Entry, ...]:
    """What a calendar shows of the active reminders, in create order.

    A backlog is shown as the one occurrence that is delivered of it. At most `count` occurrences stand
    for a reminder that has no rule. What this tz database cannot evaluate is left out
    (`retargets.list_zoneless`).
    """
    gate_ms = find_gate(ledger.profile, ledger.last_accepted_at_ms)
    found = []
    for record in list_active(ledger):
        first_ms = _find_first(record, now_ms, gate_ms) if can_evaluate(record) else None
        until_ms = record.options.until_ms
        if first_ms is not None and (until_ms is None or first_ms <= until_ms):
            found.append(_enter(record, first_ms, count))
    return tuple(found)


def _find_first(record: Record, now_ms: int, gate_ms: int | None) -> int | None:
    """The occurrence that is delivered next, unless the reminder's end comes before."""
    target_ms, grace_seconds = record.scheduled_at_ms, record.options.grace_seconds
    if now_ms < target_ms:
        return target_ms
    if record.standing.paused:
        return find_following(record, now_ms) if is_recurring(record) else target_ms
    found = evaluate(record, now_ms)
    if grace_seconds is None:
        return found.occurrence_ms
    late_ms = measure_lateness(record, found.occurrence_ms, now_ms, gate_ms)
    return found.next_target_ms if late_ms > 1000 * grace_seconds else found.occurrence_ms


def _enter(record: Record, first_ms: int, count: int) -> Entry:
    snoozed_until_ms = record.standing.snoozed_until_ms
    moved_ms = None if snoozed_until_ms is None or snoozed_until_ms <= first_ms else snoozed_until_ms
    repeat = _describe(record, first_ms)
    if repeat is not None:
        zone = record.rule.time_zone if isinstance(record, CalendarRecord) else "UTC"
        return Entry(record, (first_ms,), repeat, zone, moved_ms)
    return Entry(record, _list_singles(record, first_ms, count), moved_ms=moved_ms)


def _list_singles(record: Record, first_ms: int, count: int) -> tuple[int, ...]:
    """The occurrences from the first on that its options leave, so many at most."""
    left, until_ms = _count_left(record), record.options.until_ms
    found, at_ms = [first_ms], find_following(record, first_ms)
    while at_ms is not None and len(found) < min(count, left or count):
        if until_ms is not None and at_ms > until_ms:
            break
        found.append(at_ms)
        at_ms = find_following(record, at_ms)
    return tuple(found)


def _count_left(record: Record) -> int | None:
    """How many dispatches are left; `None`: there is no such end."""
    max_runs = record.options.max_runs
    return None if max_runs is None else max_runs - record.standing.runs


def _describe(record: Record, first_ms: int) -> Repeat | None:
    """The rule that says exactly when a record occurs from its first start on, if one does."""
    match record:
        case AfterRecord() | AtRecord():
            return None
        case EveryRecord(every_seconds=seconds):
            for frequency, unit in _UNITS:
                if seconds % unit == 0 and find_following(record, first_ms) is not None:
                    return _end(Repeat(frequency, interval=seconds // unit), record, first_ms)
            return None
        case CalendarRecord(rule=rule):
            pattern, zone = make_pattern(rule), rule.time_zone
            off = find_next(pattern, zone, first_ms - 1) != first_ms  # as another tz database placed it
            if off or not 0 <= first_ms < HORIZON_MS:
                return None
            repeat = _read_dates(pattern)
            if repeat is None:
                return None
            if isinstance(rule, CronRule):
                cron = parse_cron(rule.expression).unwrap()
                repeat = replace(repeat, hours=cron.hours, minutes=cron.minutes)
            gaps = list_skipped_between(pattern, zone, first_ms, HORIZON_MS)
            skipped = tuple(local.format_iso(unit="second") for local in gaps)
            if skipped and len(pattern.times_ms) > 1:
                return None  # readers take an exception in a gap for an instance beside it
            return _end(replace(repeat, skipped=skipped), record, first_ms)
        case _:
            assert_never(record)


def _read_dates(pattern: WallPattern) -> Repeat | None:
    """The dates of a pattern as one rule; `None` where a day or a weekday is enough."""
    days = () if len(pattern.days) == _DAYS else tuple(sorted(pattern.days))
    weekdays = () if len(pattern.weekdays) == _WEEKDAYS else tuple(sorted(pattern.weekdays))
    months = () if len(pattern.months) == _MONTHS else tuple(sorted(pattern.months))
    if pattern.either and days and weekdays:
        return None
    if pattern.either:
        return Repeat("DAILY", months=months)
    if days and weekdays:
        return Repeat("DAILY", months=months, days=days, weekdays=weekdays)
    if weekdays:
        return Repeat("WEEKLY", months=months, weekdays=weekdays)
    return Repeat("MONTHLY" if days else "DAILY", months=months, days=days)


def _end(repeat: Repeat, record: RecurringRecord, first_ms: int) -> Repeat | None:
    """The rule with the end that a record's options give it; `None` where that is too far to find.

    A rule counts the instances that are skipped, too, so that such a one ends at an instant.
    """
    left, until_ms = _count_left(record), record.options.until_ms
    if left is not None and until_ms is None and not repeat.skipped:
        return replace(repeat, runs=left)
    last_ms = None if until_ms is None else _find_latest(record, first_ms, until_ms)
    if left is not None:
        counted_ms = _find_counted(record, first_ms, left, last_ms)
        if counted_ms is None:
            return None
        last_ms = counted_ms
    if repeat.skipped and (last_ms is None or last_ms > HORIZON_MS):
        last_ms = _find_latest(record, first_ms, HORIZON_MS)
    return replace(repeat, last_ms=last_ms)


def _find_latest(record: RecurringRecord, first_ms: int, until_ms: int) -> int:
    """The last occurrence by an instant that is not before the first."""
    if isinstance(record, EveryRecord):
        return find_occurrence(first_ms, record.every_seconds, until_ms).occurrence_ms
    return find_latest(make_pattern(record.rule), record.rule.time_zone, until_ms) or first_ms


def _find_counted(
    record: RecurringRecord, first_ms: int, count: int, last_ms: int | None
) -> int | None:
    """The occurrence of a number, or the last one if that comes first; `None`: too far to count."""
    if isinstance(record, EveryRecord):
        counted_ms = first_ms + (count - 1) * 1000 * record.every_seconds
        return counted_ms if last_ms is None else min(counted_ms, last_ms)
    at_ms = first_ms
    for _ in range(min(count - 1, _WALKED_MAX)):
        next_ms = find_following(record, at_ms)
        if next_ms is None or (last_ms is not None and next_ms > last_ms):
            return at_ms
        at_ms = next_ms
    return at_ms if count - 1 <= _WALKED_MAX else None
