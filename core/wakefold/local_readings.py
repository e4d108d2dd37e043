"""What local clocks show of an occurrence of a calendar rule, and what a clock change did to it.

This module decides which of a rule's local times were skipped before an occurrence, whether its own is
shown twice that day, and how either reads. It refuses to know when an occurrence is delivered.
"""

from __future__ import annotations

from msgspec import Struct
from whenever import Instant, PlainDateTime

from wakefold.calendar_rules import make_pattern
from wakefold.calendars import list_skipped_before
from wakefold.events import Json
from wakefold.occurrences import can_evaluate
from wakefold.records import CalendarRecord, Record
from wakefold.zones import Resolved, format_local, resolve_local


class LocalReading(Struct, frozen=True):
    """An occurrence on the clocks of its rule's zone.

    `repeated`: they show that time twice, and this is the first. `skipped` are the local times of the
    rule that they left out since its occurrence before.
    """

    time_zone: str
    local: str
    repeated: bool
    skipped: tuple[str, ...]


def read_occurrence(record: Record, occurrence_ms: int) -> LocalReading | None:
    """How the clocks of its rule read an occurrence.

    `None` for a rule without a zone, for a zone that this tz database lacks, and off the calendar.
    """
    if not isinstance(record, CalendarRecord) or not can_evaluate(record):
        return None
    zone = record.rule.time_zone
    try:
        local = format_local(occurrence_ms, zone).removesuffix(f" {zone}")
    except ValueError:
        return None
    zoned = Instant.from_timestamp(occurrence_ms, unit="millisecond").to_tz(zone)
    first = resolve_local(zoned.to_plain(), zone) == Resolved(occurrence_ms)
    skipped = list_skipped_before(make_pattern(record.rule), zone, occurrence_ms)
    return LocalReading(zone, local, first and zoned.is_repeated(), tuple(map(_format, skipped)))


def describe_clock_change(reading: LocalReading) -> str | None:
    """What a clock change did, for people; `None` if nothing."""
    said = [f"{text} is skipped" for text in reading.skipped[:1]]
    if len(reading.skipped) > 1:
        said = [f"{reading.skipped[0]} to {reading.skipped[-1]} are skipped ({len(reading.skipped)})"]
    if reading.repeated:
        said.append(f"first of two {_shorten(reading.local.partition(' ')[2])}")
    return ", ".join(said) or None


def encode_reading(reading: LocalReading) -> Json:
    """The reading as JSON."""
    return {
        "timeZone": reading.time_zone,
        "local": reading.local,
        "repeated": reading.repeated,
        "skipped": list(reading.skipped),
        "note": describe_clock_change(reading),
    }


def _format(local: PlainDateTime) -> str:
    date, _, time = local.format_iso(unit="second", sep=" ").partition(" ")
    return f"{date} {_shorten(time)}"


def _shorten(time: str) -> str:
    """A time of day without seconds that are none."""
    return time.removesuffix(":00")
