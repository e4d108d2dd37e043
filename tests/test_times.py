"""What an `at` means, and which fault of it is named first."""

from __future__ import annotations

import pytest

from core_logs import FIRST_MS, LAST_MS, T, ok, refused
from wakefold.implied_zones import UNAVAILABLE, RequestZone
from wakefold.instants import format_instant
from wakefold.rejections import (
    InvalidRule,
    InvalidTimeZone,
    Rejection,
    TimeOutOfRange,
    TimezoneConfirmationRequired,
)
from wakefold.times import resolve_at

NO_ZONE = RequestZone(implied=None, session_time_zone=UNAVAILABLE)
PARIS = RequestZone("Europe/Paris", "Europe/Paris", ("Europe/Paris",))


def _fields(date: object = "2027-02-01", time: object = "09:00:00", **more: object) -> object:
    return {"date": date, "time": time, **more}


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2027-02-01T09:00:00Z", "2027-02-01T09:00:00.000Z"),
        ("2027-02-01T09:00:00.5Z", "2027-02-01T09:00:00.500Z"),
        ("2027-02-01T09:00:00.05Z", "2027-02-01T09:00:00.050Z"),
        ("2027-02-01T09:00:00.12Z", "2027-02-01T09:00:00.120Z"),
        ("2027-02-01T09:00:00.123Z", "2027-02-01T09:00:00.123Z"),
        ("2027-02-01T09:00:00+00:00", "2027-02-01T09:00:00.000Z"),
        ("2027-02-01T09:00:00+01:00", "2027-02-01T08:00:00.000Z"),
        ("2027-02-01T09:00:00-01:00", "2027-02-01T10:00:00.000Z"),
        ("2027-02-01T09:00:00+05:30", "2027-02-01T03:30:00.000Z"),
        ("2027-02-01T09:00:00-00:01", "2027-02-01T09:01:00.000Z"),
        ("2027-02-01T09:00:00+23:59", "2027-01-31T09:01:00.000Z"),
        ("2027-02-01T09:00:00-23:59", "2027-02-02T08:59:00.000Z"),
        ("2027-02-01T00:00:00Z", "2027-02-01T00:00:00.000Z"),
        ("2027-02-01T23:59:59.999Z", "2027-02-01T23:59:59.999Z"),
        ("2028-02-29T09:00:00Z", "2028-02-29T09:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("9999-12-31T22:59:59.999-01:00", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_text_with_an_offset_names_an_instant(text: str, instant: str) -> None:
    """A short fraction is padded on the right, and the offset is subtracted."""
    assert format_instant(ok(resolve_at(text, T, NO_ZONE))) == instant


@pytest.mark.parametrize(
    "text",
    [
        *("", "tomorrow 9am", "17:30", "2027-02-01", "2027-02-01T09:00:00", "2027-02-01T09:00Z"),
        *("2027-02-01 09:00:00Z", "2027-02-01t09:00:00Z", "2027-02-01T09:00:00z"),
        *("2027-02-01T09:00:00.Z", "2027-02-01T09:00:00.1234Z", "2027-02-01T09:00:00,5Z"),
        *("2027-02-01T09:00:00+0100", "2027-02-01T09:00:00+01", "2027-02-01T09:00:00+1:00"),
        *("2027-02-01T09:00:00+01:00:00", "2027-02-01T09:00:00+24:00", "2027-02-01T09:00:00-24:00"),
        *("2027-02-01T09:00:00+23:60", "2027-02-01T09:00:00-23:60", "2027-02-01T09:00:00+99:99"),
        *("2027-02-01T09:00:00-00:00", "2027-02-01T09:00:00\u221201:00", "2027-02-01T09:00:00ZZ"),
        *(" 2027-02-01T09:00:00Z", "2027-02-01T09:00:00Z ", "2027-02-01T09:00:00Z\n"),
        *("12027-02-01T09:00:00Z", "+2027-02-01T09:00:00Z", "27-02-01T09:00:00Z"),
        *("2027-2-01T09:00:00Z", "2027-02-1T09:00:00Z", "2027-02-01T9:00:00Z", "2027-02-01T09:0:00Z"),
        *("\uff12027-02-01T09:00:00Z", "2027-02-01T09:00:0\u0660Z", "2027-W05-1T09:00:00Z"),
    ],
)
def test_no_other_text_is_read(text: str) -> None:
    """The grammar is strict and ASCII; the refusal brings an example built from now."""
    fault = refused(resolve_at(text, T, NO_ZONE))
    assert isinstance(fault, InvalidRule)
    assert fault.fault == "at_shape"
    assert fault.alternatives == ("2027-01-15T09:00:00.000Z",)


@pytest.mark.parametrize(
    "at", [None, True, 0, T, 1.5, [], ["2027-02-01T09:00:00Z"], b"2027-02-01T09:00:00Z"]
)
def test_an_at_is_text_or_an_object(at: object) -> None:
    """Any other value has the wrong shape."""
    fault = refused(resolve_at(at, T, NO_ZONE))
    assert isinstance(fault, InvalidRule)
    assert fault.fault == "at_shape"


@pytest.mark.parametrize(
    ("now_ms", "example"),
    [
        (None, ()),
        (T, ("2027-01-15T09:00:00.000Z",)),
        (T + 1, ("2027-01-15T09:00:00.000Z",)),
        (T + 999, ("2027-01-15T09:00:00.000Z",)),
        (T + 1_000, ("2027-01-15T09:00:01.000Z",)),
        (-1, ("1970-01-01T00:59:59.000Z",)),
        (LAST_MS - 3_600_000, ("9999-12-31T23:59:59.000Z",)),
        (LAST_MS - 3_599_999, ()),
        (FIRST_MS - 3_600_000, ("0001-01-01T00:00:00.000Z",)),
        (FIRST_MS - 3_600_001, ()),
        (2**53 - 1, ()),
    ],
)
def test_the_example_is_an_hour_from_now(now_ms: int | None, example: tuple[str, ...]) -> None:
    """Whole seconds; none without a clock sample or where it has no text."""
    expected = InvalidRule("at_shape", '"soon"', example)
    assert refused(resolve_at("soon", now_ms, NO_ZONE)) == expected


@pytest.mark.parametrize(
    ("date", "time"),
    [
        ("2027-02-29", "09:00:00"),
        ("2027-02-00", "09:00:00"),
        ("2027-00-01", "09:00:00"),
        ("2027-13-01", "09:00:00"),
        ("2027-04-31", "09:00:00"),
        ("1900-02-29", "09:00:00"),
        ("0000-01-01", "09:00:00"),
        ("2027-02-01", "24:00:00"),
        ("2027-02-01", "23:60:00"),
        ("2027-02-01", "23:59:60"),
        ("2027-02-01", "99:99:99"),
    ],
)
def test_a_date_and_a_time_must_exist(date: str, time: str) -> None:
    """In text and in fields alike, leap seconds and 24:00 do not."""
    text = f"{date}T{time}Z"
    assert refused(resolve_at(text, T, NO_ZONE)) == InvalidRule("no_such_date", f'"{text}"')
    fields = _fields(date, time, time_zone="UTC")
    assert refused(resolve_at(fields, T, NO_ZONE)) == InvalidRule("no_such_date", f'"{date} {time}"')


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:59:59.999+01:00",
        "9999-12-31T23:00:00-01:00",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59.999-00:01",
    ],
)
def test_a_text_outside_the_years_is_out_of_range(text: str) -> None:
    """The offset moves it over the edge."""
    assert refused(resolve_at(text, T, NO_ZONE)) == TimeOutOfRange()


@pytest.mark.parametrize(
    ("at", "instant"),
    [
        (_fields(time_zone="UTC"), "2027-02-01T09:00:00.000Z"),
        (_fields(time_zone="Europe/Paris"), "2027-02-01T08:00:00.000Z"),
        (_fields(time_zone="europe/paris"), "2027-02-01T08:00:00.000Z"),
        (_fields(time="09:00:00.5", time_zone="UTC"), "2027-02-01T09:00:00.500Z"),
        (_fields(time="09:00:00.07", time_zone="UTC"), "2027-02-01T09:00:00.070Z"),
        (_fields(time="09:00:00.007", time_zone="UTC"), "2027-02-01T09:00:00.007Z"),
        (_fields("2027-10-31", "02:30:00", time_zone="Europe/Paris"), "2027-10-31T00:30:00.000Z"),
        (_fields("0001-01-01", "00:00:00", time_zone="UTC"), "0001-01-01T00:00:00.000Z"),
        (_fields("9999-12-31", "23:59:59.999", time_zone="UTC"), "9999-12-31T23:59:59.999Z"),
        (_fields("1500-02-28", "09:00:00", time_zone="UTC"), "1500-02-28T09:00:00.000Z"),
    ],
)
def test_local_fields_name_an_instant(at: object, instant: str) -> None:
    """In the zone they name, whatever a session would imply."""
    assert format_instant(ok(resolve_at(at, T, NO_ZONE))) == instant
    assert format_instant(ok(resolve_at(at, None, PARIS))) == instant


def test_a_zone_is_implied_only_where_none_is_named() -> None:
    """The implied zone serves for the missing key, and for nothing else."""
    assert format_instant(ok(resolve_at(_fields(), T, PARIS))) == "2027-02-01T08:00:00.000Z"
    named = resolve_at(_fields(time_zone="Asia/Tokyo"), T, PARIS)
    assert format_instant(ok(named)) == "2027-02-01T00:00:00.000Z"


SKIPPED = InvalidRule(
    "local_time_skipped",
    "2027-03-28 02:30:00 Europe/Paris",
    ("2027-03-28T01:30:00+01:00", "2027-03-28T03:30:00+02:00"),
)
HALF_SKIPPED = InvalidRule(
    "local_time_skipped",
    "2027-03-28 02:30:00.5 Europe/Paris",
    ("2027-03-28T01:30:00.500+01:00", "2027-03-28T03:30:00.500+02:00"),
)
AMBIGUOUS = TimezoneConfirmationRequired("Asia/Tokyo", ("Asia/Tokyo", "UTC"))
DOUBT = RequestZone(None, "Asia/Tokyo", ("Asia/Tokyo", "UTC"))

# From the last check of spec section 5 to the first: each request also has later faults.
IN_ORDER: list[tuple[object, Rejection]] = [
    (_fields("2027-03-28", "02:30:00", time_zone="Europe/Paris"), SKIPPED),
    (_fields("2027-03-28", "02:30:00", time_zone="europe/paris"), SKIPPED),
    (_fields("2027-03-28", "02:30:00.5", time_zone="Europe/Paris"), HALF_SKIPPED),
    (_fields("0001-01-01", "00:00:00", time_zone="Asia/Tokyo"), TimeOutOfRange()),
    (_fields("9999-12-31", "23:00:00", time_zone="Etc/GMT+1"), TimeOutOfRange()),
    (_fields("2027-03-28", "02:30:00", time_zone="Mars/Base"), InvalidTimeZone('"Mars/Base"')),
    (_fields(time_zone="utc"), InvalidTimeZone('"utc"')),
    (_fields(time_zone=""), InvalidTimeZone('""')),
    (
        _fields("2027-02-30", "09:00:00", time_zone="Mars/Base"),
        InvalidRule("no_such_date", '"2027-02-30 09:00:00"'),
    ),
    (_fields("2027-02-30", "9:00", time_zone="Mars/Base"), InvalidRule("at_time", '"9:00"')),
    (_fields("2027-02-01", "09:00:00\n", time_zone="UTC"), InvalidRule("at_time", '"09:00:00\\n"')),
    (
        _fields("2027-02-01", "09:00:00.1234", time_zone="UTC"),
        InvalidRule("at_time", '"09:00:00.1234"'),
    ),
    (_fields("2027-02-01", "09:00:00.", time_zone="UTC"), InvalidRule("at_time", '"09:00:00."')),
    (_fields("2027-02-01", "09:00:00Z", time_zone="UTC"), InvalidRule("at_time", '"09:00:00Z"')),
    (_fields("1 May", "9:00", time_zone="Mars/Base"), InvalidRule("at_date", '"1 May"')),
    (_fields("2027-02-01 ", "09:00:00", time_zone="UTC"), InvalidRule("at_date", '"2027-02-01 "')),
    (_fields("1 May", "9:00"), AMBIGUOUS),
    (_fields(), AMBIGUOUS),
    (_fields("1 May", "9:00", time_zone=None), InvalidTimeZone("null")),
    (_fields("1 May", "9:00", time_zone=5), InvalidTimeZone("5")),
    (_fields("1 May", "9:00", time_zone=["UTC"]), InvalidTimeZone('["UTC"]')),
    (_fields("1 May", None), InvalidRule("at_time", "null")),
    (_fields("1 May", 900, time_zone=5), InvalidRule("at_time", "900")),
    (_fields(20270201, None, time_zone=5), InvalidRule("at_date", "20270201")),
    (_fields(None, 900), InvalidRule("at_date", "null")),
    ({}, InvalidRule("at_keys", "{}")),
    ({"date": 1}, InvalidRule("at_keys", '{"date":1}')),
    ({"time": "09:00:00"}, InvalidRule("at_keys", '{"time":"09:00:00"}')),
    (
        {"date": 1, "time": 2, "time_zone": 3, "x": 4},
        InvalidRule("at_keys", '{"date":1,"time":2,"time_zone":3,"x":4}'),
    ),
    (
        {"date": "2027-02-01", "time": "09:00:00", "timeZone": "UTC"},
        InvalidRule("at_keys", '{"date":"2027-02-01","time":"09:00:00","timeZone":"UTC"}'),
    ),
    (
        {"date": "2027-02-01", "time_zone": "UTC"},
        InvalidRule("at_keys", '{"date":"2027-02-01","time_zone":"UTC"}'),
    ),
]


@pytest.mark.parametrize(("at", "rejection"), IN_ORDER)
def test_the_first_fault_of_local_fields_is_named(at: object, rejection: Rejection) -> None:
    """Keys, types, zone missing, shapes, calendar, zone name, gap or range: in this order."""
    assert refused(resolve_at(at, T, DOUBT)) == rejection
    assert refused(resolve_at(at, None, DOUBT)) == rejection


def test_an_implied_zone_is_read_like_a_named_one() -> None:
    """A gap in it is a gap, and a time in it may leave the years."""
    assert refused(resolve_at(_fields("2027-03-28", "02:30:00"), T, PARIS)) == SKIPPED
    tokyo = RequestZone("Asia/Tokyo", "Asia/Tokyo", ("Asia/Tokyo",))
    assert refused(resolve_at(_fields("0001-01-01", "00:00:00"), T, tokyo)) == TimeOutOfRange()
