"""What local clocks show of occurrences, where the clocks change and where they do not."""

from __future__ import annotations

import pytest

from wakefold.calendar_rules import CalendarRule, CronRule, DailyRule
from wakefold.instants import MAX_INSTANT_MS, parse_instant
from wakefold.local_readings import (
    LocalReading,
    describe_clock_change,
    encode_reading,
    read_occurrence,
)
from wakefold.records import AtRecord, CalendarRecord

HALF_PAST_TWO = DailyRule("02:30:00.000", "Europe/Berlin")


def read(rule: CalendarRule, at: str) -> LocalReading | None:
    at_ms = parse_instant(at)
    assert at_ms is not None
    return read_occurrence(CalendarRecord("a", "x", rule, at_ms), at_ms)


@pytest.mark.parametrize(
    ("rule", "at", "local", "note"),
    [
        (HALF_PAST_TWO, "2027-01-05T01:30:00.000Z", "2027-01-05 02:30:00", None),
        (
            HALF_PAST_TWO,
            "2027-03-29T00:30:00.000Z",
            "2027-03-29 02:30:00",
            "2027-03-28 02:30 is skipped",
        ),
        (HALF_PAST_TWO, "2027-10-31T00:30:00.000Z", "2027-10-31 02:30:00", "first of two 02:30"),
        (HALF_PAST_TWO, "2027-10-31T01:30:00.000Z", "2027-10-31 02:30:00", None),
        (HALF_PAST_TWO, "2027-11-01T01:30:00.000Z", "2027-11-01 02:30:00", None),
        (
            CronRule("*/15 * * * *", "Europe/Berlin"),
            "2027-03-28T01:00:00.000Z",
            "2027-03-28 03:00:00",
            "2027-03-28 02:00 to 2027-03-28 02:45 are skipped (4)",
        ),
        (
            DailyRule("12:00:00.000", "Pacific/Apia"),
            "2011-12-30T22:00:00.000Z",
            "2011-12-31 12:00:00",
            "2011-12-30 12:00 is skipped",
        ),
        (DailyRule("09:00:00.000", "UTC"), "0001-01-01T09:00:00.000Z", "0001-01-01 09:00:00", None),
    ],
)
def test_a_clock_change_is_told_where_it_did_something(
    rule: CalendarRule, at: str, local: str, note: str | None
) -> None:
    """A skipped time with its date, before the occurrence after it; a repeated one at the first."""
    reading = read(rule, at)
    assert reading is not None
    assert (reading.local, reading.time_zone) == (local, rule.time_zone)
    assert describe_clock_change(reading) == note
    assert encode_reading(reading)["note"] == note


def test_both_changes_are_told_where_both_come_together() -> None:
    """As data they stay apart."""
    reading = LocalReading("Europe/Berlin", "2027-10-31 02:30:01", True, ("2027-03-28 02:30",))
    assert describe_clock_change(reading) == "2027-03-28 02:30 is skipped, first of two 02:30:01"
    assert encode_reading(reading) == {
        "timeZone": "Europe/Berlin",
        "local": "2027-10-31 02:30:01",
        "repeated": True,
        "skipped": ["2027-03-28 02:30"],
        "note": "2027-03-28 02:30 is skipped, first of two 02:30:01",
    }


def test_without_a_zone_that_can_be_read_there_is_no_reading() -> None:
    """A one-shot, a zone that this tz database lacks, an instant whose reading leaves the calendar."""
    assert read_occurrence(AtRecord("a", "x", 0), 0) is None
    assert read(DailyRule("09:00:00.000", "Mars/Base"), "2027-01-05T08:00:00.000Z") is None
    late = CalendarRecord("a", "x", DailyRule("09:00:00.000", "Asia/Tokyo"), MAX_INSTANT_MS)
    assert read_occurrence(late, MAX_INSTANT_MS) is None
