"""Calendar rules by name: what is read, what is refused, and what clocks do to them."""

from __future__ import annotations

import pytest
from returns.result import Failure, Success

from core_logs import FIRST_MS, LAST_MS
from wakefold.calendar_requests import CalendarKind, read_calendar_rule
from wakefold.calendar_rules import (
    CalendarRule,
    CronRule,
    DailyRule,
    WeeklyRule,
    find_rule_spacing,
    find_spacing_floor,
    is_canonical,
    make_pattern,
)
from wakefold.calendars import find_latest, find_next, list_skipped_between
from wakefold.implied_zones import RequestZone
from wakefold.instants import format_instant, parse_instant
from wakefold.rejections import (
    FrequencyTooHigh,
    InvalidRule,
    InvalidTimeZone,
    TimezoneConfirmationRequired,
)
from wakefold.rule_faults import RuleFault
from wakefold.wall_patterns import WallPattern

BERLIN = "Europe/Berlin"
IMPLIED = RequestZone(BERLIN, BERLIN)
UNKNOWN = RequestZone(None, BERLIN, ("Europe/Paris", "Europe/Rome"))


def following(rule: CalendarRule, after: str, count: int = 3) -> list[str]:
    found: list[str] = []
    at_ms = parse_instant(after)
    while at_ms is not None and len(found) < count:
        at_ms = find_next(make_pattern(rule), rule.time_zone, at_ms)
        found += [] if at_ms is None else [format_instant(at_ms)]
    return found


def before(rule: CalendarRule, until: str) -> str | None:
    until_ms = parse_instant(until)
    assert until_ms is not None
    at_ms = find_latest(make_pattern(rule), rule.time_zone, until_ms)
    return None if at_ms is None else format_instant(at_ms)


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        (
            "daily",
            {"time": "09:00:00", "time_zone": "europe/berlin"},
            DailyRule("09:00:00.000", BERLIN),
        ),
        ("daily", {"time": "09:00:00.5"}, DailyRule("09:00:00.500", BERLIN)),
        (
            "weekly",
            {"weekdays": [5, 1.0], "time": "23:59:59.99", "time_zone": "UTC"},
            WeeklyRule((1, 5), "23:59:59.990", "UTC"),
        ),
        ("cron", {"expression": "00 9 * * mon-fri"}, CronRule("0 9 * * 1-5", BERLIN)),
        ("cron", {"expression": "0 9 * * *".ljust(1000)}, CronRule("0 9 * * *", BERLIN)),
    ],
)
def test_a_request_has_one_canonical_rule(
    kind: CalendarKind, value: object, rule: CalendarRule
) -> None:
    """Zones by their canonical name, fractions of three digits, weekdays in order."""
    assert read_calendar_rule(kind, value, IMPLIED) == Success(rule)
    assert is_canonical(rule)


@pytest.mark.parametrize(
    ("kind", "value", "fault", "shown"),
    [
        ("daily", None, "daily_keys", "null"),
        ("daily", {}, "daily_keys", "{}"),
        ("daily", {"time": "09:00:00", "weekdays": [1]}, "daily_keys", None),
        ("weekly", {"time": "09:00:00"}, "weekly_keys", '{"time":"09:00:00"}'),
        ("cron", {"time": "09:00:00"}, "cron_keys", '{"time":"09:00:00"}'),
        ("cron", "0 9 * * *", "cron_keys", '"0 9 * * *"'),
        ("daily", {"time": 9}, "rule_time", "9"),
        ("daily", {"time": "09:00"}, "rule_time", '"09:00"'),
        ("weekly", {"time": "09:00:00", "weekdays": 1}, "weekdays", "1"),
        ("weekly", {"time": "09:00:00", "weekdays": []}, "weekdays", "[]"),
        ("weekly", {"time": "09:00:00", "weekdays": [0]}, "weekdays", "[0]"),
        ("weekly", {"time": "09:00:00", "weekdays": [1, "2"]}, "weekdays", '[1,"2"]'),
        ("weekly", {"time": "09:00:00", "weekdays": [3, 3]}, "weekdays", "[3,3]"),
        ("cron", {"expression": None}, "cron_fields", "null"),
        ("cron", {"expression": "0 9 * *"}, "cron_fields", '"0 9 * *"'),
        ("cron", {"expression": "60 9 * * *"}, "cron_minute", '"60"'),
        ("cron", {"expression": "0 9/2 * * *"}, "cron_hour", '"9/2"'),
        ("cron", {"expression": "0 9 L * *"}, "cron_day", '"L"'),
        ("cron", {"expression": "0 9 * MON *"}, "cron_month", '"MON"'),
        ("cron", {"expression": "0 9 * * SAT-SUN"}, "cron_weekday", '"SAT-SUN"'),
        ("cron", {"expression": "0 9 * * *X"}, "cron_weekday", '"*X"'),
        ("cron", {"expression": "0 9 * * *".ljust(1001)}, "cron_fields", None),
        ("cron", {"expression": "0 9 30 2 *"}, "no_date_ever", '"0 9 30 2 *"'),
    ],
)
def test_what_is_no_rule_is_refused_with_what_was_given(
    kind: CalendarKind, value: object, fault: RuleFault, shown: str | None
) -> None:
    """The first fault in the order of the page."""
    refused = read_calendar_rule(kind, value, IMPLIED).failure()
    assert isinstance(refused, InvalidRule)
    assert refused.fault == fault
    assert shown in (None, refused.value)


@pytest.mark.parametrize("name", ["Mars/Base", "", None, 7])
def test_a_zone_that_is_none_is_told(name: object) -> None:
    """After the shapes, before dates and spacing."""
    refused = read_calendar_rule("daily", {"time": "09:00:00", "time_zone": name}, IMPLIED).failure()
    assert isinstance(refused, InvalidTimeZone)
    never = {"expression": "0 9 30 2 *", "time_zone": "Mars/Base"}
    assert isinstance(read_calendar_rule("cron", never, IMPLIED).failure(), InvalidTimeZone)


def test_without_a_zone_somebody_must_tell_it() -> None:
    """What is known of the session and its people goes with the question."""
    asked = TimezoneConfirmationRequired(BERLIN, ("Europe/Paris", "Europe/Rome"))
    assert read_calendar_rule("daily", {"time": "09:00:00"}, UNKNOWN) == Failure(asked)
    misshapen = read_calendar_rule("daily", {"time": "9"}, UNKNOWN).failure()
    assert isinstance(misshapen, InvalidRule)


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [("*/4 * * * *", 240), ("0-1 * * * *", 60), ("58,2 23,0 * * *", 240)],
)
def test_what_comes_too_often_is_refused_with_how_often(expression: str, seconds: int) -> None:
    """Across midnight, too."""
    refused = read_calendar_rule("cron", {"expression": expression}, IMPLIED)
    assert refused == Failure(FrequencyTooHigh(every_seconds=seconds, minimum_seconds=300))


@pytest.mark.parametrize(
    "rule",
    [
        DailyRule("09:00:00", BERLIN),
        DailyRule("09:00:00.000", "Berlin"),
        DailyRule("09:00:00.000", "Europe/"),
        WeeklyRule((), "09:00:00.000", BERLIN),
        WeeklyRule((2, 1), "09:00:00.000", BERLIN),
        WeeklyRule((1, 8), "09:00:00.000", BERLIN),
        WeeklyRule((1,), "9:00:00.000", BERLIN),
        CronRule("0 9 * * MON", BERLIN),
        CronRule("0 9 * *", BERLIN),
        CronRule("0 9 30 2 *", BERLIN),
        CronRule("*/4 * * * *", BERLIN),
        CronRule("2,58 0,23 * * *", BERLIN),
    ],
)
def test_what_is_not_canonical_stands_in_no_log(rule: CalendarRule) -> None:
    """A rule has one spelling."""
    assert is_canonical(rule) is False


@pytest.mark.parametrize(
    "rule",
    [
        DailyRule("09:00:00.000", "Mars/Base"),
        WeeklyRule((1, 7), "00:00:00.000", "UTC"),
        CronRule("0 9 29 2 *", BERLIN),
        CronRule("2,58 0,23 1,15 * *", BERLIN),
        CronRule("*/5 * * * *", BERLIN),
    ],
)
def test_a_canonical_rule_stands_whatever_the_tz_database_knows(rule: CalendarRule) -> None:
    """Only the shape of the zone is looked at; times near midnight may be near on other dates only."""
    assert is_canonical(rule)


def test_a_skipped_time_does_not_occur_that_day() -> None:
    """Berlin, 28 March 2027: the clocks go from 02:00 to 03:00."""
    found = following(DailyRule("02:30:00.000", BERLIN), "2027-03-26T12:00:00.000Z")
    assert found == ["2027-03-27T01:30:00.000Z", "2027-03-29T00:30:00.000Z", "2027-03-30T00:30:00.000Z"]


def test_a_repeated_time_occurs_once_and_first() -> None:
    """Berlin, 31 October 2027: 02:00 to 03:00 comes twice."""
    daily = DailyRule("02:30:00.000", BERLIN)
    found = following(daily, "2027-10-30T12:00:00.000Z")
    assert found == ["2027-10-31T00:30:00.000Z", "2027-11-01T01:30:00.000Z", "2027-11-02T01:30:00.000Z"]
    assert before(daily, "2027-10-31T01:45:00.000Z") == "2027-10-31T00:30:00.000Z"
    quarters = CronRule("*/15 * * * *", BERLIN)
    found = following(quarters, "2027-10-31T00:40:00.000Z", 4)
    assert found == [
        "2027-10-31T00:45:00.000Z",
        "2027-10-31T02:00:00.000Z",
        "2027-10-31T02:15:00.000Z",
        "2027-10-31T02:30:00.000Z",
    ]
    assert before(quarters, "2027-10-31T01:59:00.000Z") == "2027-10-31T00:45:00.000Z"


def test_an_occurrence_is_the_latest_from_its_own_instant_on() -> None:
    """To the millisecond; also when the clocks are set back right after it."""
    at = "2027-01-05T09:00:00.990Z"
    assert before(DailyRule("09:00:00.990", "UTC"), at) == at
    daily = DailyRule("02:59:59.990", BERLIN)
    assert before(daily, "2027-10-31T01:00:00.000Z") == "2027-10-31T00:59:59.990Z"


def test_a_date_that_a_zone_never_had_has_no_occurrence() -> None:
    """Apia went over the date line: there was no 30 December 2011."""
    daily = DailyRule("10:00:00.000", "Pacific/Apia")
    found = following(daily, "2011-12-29T00:00:00.000Z")
    assert found == ["2011-12-29T20:00:00.000Z", "2011-12-30T20:00:00.000Z", "2011-12-31T20:00:00.000Z"]
    assert before(daily, "2011-12-30T19:00:00.000Z") == "2011-12-29T20:00:00.000Z"


@pytest.mark.parametrize(
    ("rule", "after", "until", "skipped"),
    [
        (DailyRule("02:30:00.000", BERLIN), "2027-01-01", "2027-12-31", ["2027-03-28T02:30:00"]),
        (DailyRule("02:30:00.000", BERLIN), "2027-03-28", "2027-03-28", ["2027-03-28T02:30:00"]),
        (DailyRule("02:30:00.000", BERLIN), "2027-03-29", "2027-12-31", []),
        (DailyRule("02:30:00.000", BERLIN), "2027-01-01", "2027-03-27", []),
        (DailyRule("03:00:00.000", BERLIN), "2027-01-01", "2027-12-31", []),
        (WeeklyRule((1,), "02:30:00.000", BERLIN), "2027-01-01", "2027-12-31", []),
        (
            CronRule("0,30 2 * * *", BERLIN),
            "2027-03-01",
            "2028-03-31",
            [
                *("2027-03-28T02:00:00", "2027-03-28T02:30:00"),
                *("2028-03-26T02:00:00", "2028-03-26T02:30:00"),
            ],
        ),
        (
            DailyRule("10:00:00.000", "Pacific/Apia"),
            "2011-12-01",
            "2011-12-31",
            ["2011-12-30T10:00:00"],
        ),
    ],
)
def test_what_the_clocks_skip_between_two_dates_is_told(
    rule: CalendarRule, after: str, until: str, skipped: list[str]
) -> None:
    """The dates of both instants are looked at whole."""
    after_ms, until_ms = (parse_instant(f"{date}T12:00:00.000Z") for date in (after, until))
    assert after_ms is not None
    assert until_ms is not None
    found = list_skipped_between(make_pattern(rule), rule.time_zone, after_ms, until_ms)
    assert [local.format_iso() for local in found] == skipped


def test_the_ends_of_the_calendar_are_ends() -> None:
    """Nothing comes after the last of year 9999, and nothing came before year 1."""
    for name in ("UTC", "Asia/Tokyo", "America/New_York"):
        daily = make_pattern(DailyRule("12:00:00.000", name))
        last_ms = find_latest(daily, name, LAST_MS)
        first_ms = find_next(daily, name, FIRST_MS - 1)
        assert last_ms is not None
        assert first_ms is not None
        assert find_next(daily, name, last_ms) is None
        assert find_next(daily, name, LAST_MS) is None
        assert find_latest(daily, name, first_ms) == first_ms
        assert find_latest(daily, name, first_ms - 1) is None
        assert find_latest(daily, name, FIRST_MS) is None


def test_a_pattern_without_a_date_ends_its_search() -> None:
    """30 February."""
    never = WallPattern((0,), days=frozenset({30}), months=frozenset({2}))
    assert find_next(never, "UTC", FIRST_MS) is None
    assert find_latest(never, "UTC", LAST_MS) is None
    assert list(list_skipped_between(never, "UTC", LAST_MS, LAST_MS)) == []


def test_the_first_instant_of_the_calendar_may_be_an_occurrence() -> None:
    """It comes after the one before, which has no reading."""
    midnight = make_pattern(DailyRule("00:00:00.000", "UTC"))
    assert find_next(midnight, "UTC", FIRST_MS - 1) == FIRST_MS


@pytest.mark.parametrize(
    ("rule", "days"),
    [
        (DailyRule("09:00:00.000", BERLIN), 1),
        (WeeklyRule((3,), "09:00:00.000", BERLIN), 7),
        (WeeklyRule((1, 4), "09:00:00.000", BERLIN), 3),
        (CronRule("0 9 1 * *", BERLIN), 28),
        (CronRule("0 9 29 2 *", BERLIN), 4 * 365 + 1),
        (CronRule("0 9 1 1 *", BERLIN), 365),
    ],
)
def test_the_spacing_of_a_rule_is_that_of_its_nearest_dates(rule: CalendarRule, days: int) -> None:
    """As the guard's floor asks for it, in whole seconds."""
    assert repr(find_rule_spacing(rule)) == str(days * 86_400)


@pytest.mark.parametrize(
    ("rule", "seconds"),
    [(DailyRule("09:00:00.000", BERLIN), 86_400), (CronRule("0 9,10 1 * *", BERLIN), 3600)],
)
def test_the_floor_of_a_spacing_is_found_without_dates(rule: CalendarRule, seconds: int) -> None:
    """As if every date were one of the rule's, in whole seconds."""
    assert repr(find_spacing_floor(rule)) == str(seconds)
