"""Zone names and local times, by name and at the edges of gaps, overlaps and years."""

from __future__ import annotations

import pytest
from whenever import PlainDateTime

from core_logs import FIRST_MS, LAST_MS, T
from wakefold.instants import format_instant
from wakefold.zones import (
    Resolved,
    Skipped,
    Unrepresentable,
    canonicalize_zone,
    format_local,
    resolve_local,
)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("UTC", "UTC"),
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("EUROPE/BERLIN", "Europe/Berlin"),
        ("america/argentina/buenos_aires", "America/Buenos_Aires"),
        ("America/Port-au-Prince", "America/Port-au-Prince"),
        ("Asia/Kolkata", "Asia/Calcutta"),
        ("Asia/Calcutta", "Asia/Calcutta"),
        ("Europe/Kyiv", "Europe/Kiev"),
        ("US/Eastern", "America/New_York"),
        ("Etc/UTC", "UTC"),
        ("etc/utc", "UTC"),
        ("Etc/GMT+5", "Etc/GMT+5"),
        ("Etc/GMT-14", "Etc/GMT-14"),
    ],
)
def test_a_known_name_has_one_canonical_spelling(name: str, canonical: str) -> None:
    """Any letter case is read, aliases follow the table, and the canonical name names itself."""
    assert canonicalize_zone(name) == canonical
    assert canonicalize_zone(canonical) == canonical


@pytest.mark.parametrize(
    "name",
    [
        *("", "utc", "Utc", "UTC ", " UTC", "UTC\n", "Z", "GMT", "GB", "EST5EDT", "local", "Zulu"),
        *("+02:00", "-05:00", "+0200", "UTC+2", "Europe", "Berlin", "Mars/Base", "Europe/Atlantis"),
        *(" Europe/Berlin", "Europe/Berlin ", "Europe/Berlin\n", "Europe /Berlin", "Europe\\Berlin"),
        *("/Europe/Berlin", "Europe/Berlin/", "Europe//Berlin", "Europe/../Berlin", "../UTC"),
        *("posix/Europe/Berlin", "right/Europe/Berlin", "Posix/Europe/Berlin", "RIGHT/UTC"),
        *("America/Argentina", "Europe/Berlin/x", "Europe/Z\u00fcrich", "Europe/\u212aiev"),
        *("\uff35TC", "\ud800/x", "x/\x00", f"A/{'b' * 5_000}", "a/" * 3_000 + "b"),
    ],
)
def test_anything_else_is_no_zone(name: str) -> None:
    """Offsets, short names, copies of the database, near misses and hostile names alike."""
    assert canonicalize_zone(name) is None


def _local(text: str) -> PlainDateTime:
    return PlainDateTime.parse_iso(text)


@pytest.mark.parametrize(
    ("zone", "local", "instant"),
    [
        ("UTC", "2027-01-15T08:00:00", "2027-01-15T08:00:00.000Z"),
        ("UTC", "2027-01-15T08:00:00.123", "2027-01-15T08:00:00.123Z"),
        ("Europe/Berlin", "2027-01-15T09:00:00", "2027-01-15T08:00:00.000Z"),
        ("Asia/Calcutta", "2027-01-15T13:30:00", "2027-01-15T08:00:00.000Z"),
        ("America/New_York", "2027-03-14T01:59:59.999", "2027-03-14T06:59:59.999Z"),
        ("America/New_York", "2027-03-14T03:00:00", "2027-03-14T07:00:00.000Z"),
        ("America/New_York", "2027-11-07T00:59:59.999", "2027-11-07T04:59:59.999Z"),
        ("America/New_York", "2027-11-07T01:00:00", "2027-11-07T05:00:00.000Z"),
        ("America/New_York", "2027-11-07T01:59:59.999", "2027-11-07T05:59:59.999Z"),
        ("America/New_York", "2027-11-07T02:00:00", "2027-11-07T07:00:00.000Z"),
    ],
)
def test_a_local_time_stands_for_one_instant(zone: str, local: str, instant: str) -> None:
    """A time that is repeated stands for the earlier of its two instants."""
    resolution = resolve_local(_local(local), zone)
    assert isinstance(resolution, Resolved)
    assert format_instant(resolution.instant_ms) == instant


@pytest.mark.parametrize(
    ("zone", "local", "before", "after"),
    [
        (
            "America/New_York",
            "2027-03-14T02:00:00",
            "2027-03-14T01:00:00-05:00",
            "2027-03-14T03:00:00-04:00",
        ),
        (
            "America/New_York",
            "2027-03-14T02:59:59.999",
            "2027-03-14T01:59:59.999-05:00",
            "2027-03-14T03:59:59.999-04:00",
        ),
        (
            "Australia/Lord_Howe",
            "2027-10-03T02:15:00",
            "2027-10-03T01:45:00+10:30",
            "2027-10-03T02:45:00+11:00",
        ),
        (
            "Pacific/Apia",
            "2011-12-30T12:00:00",
            "2011-12-29T12:00:00-10:00",
            "2011-12-31T12:00:00+14:00",
        ),
    ],
)
def test_a_time_inside_a_gap_is_told_with_its_neighbours(
    zone: str, local: str, before: str, after: str
) -> None:
    """It is never shifted; the readable times on both sides carry their offset."""
    assert resolve_local(_local(local), zone) == Skipped(before=before, after=after)


@pytest.mark.parametrize(
    ("zone", "local", "resolution"),
    [
        ("UTC", "0001-01-01T00:00:00", Resolved(FIRST_MS)),
        ("UTC", "9999-12-31T23:59:59.999", Resolved(LAST_MS)),
        ("Etc/GMT-1", "0001-01-01T00:59:59.999", Unrepresentable()),
        ("Etc/GMT-1", "0001-01-01T01:00:00", Resolved(FIRST_MS)),
        ("Etc/GMT+1", "9999-12-31T22:59:59.999", Resolved(LAST_MS)),
        ("Etc/GMT+1", "9999-12-31T23:00:00", Unrepresentable()),
    ],
)
def test_an_instant_outside_the_years_is_none(
    zone: str, local: str, resolution: Resolved | Unrepresentable
) -> None:
    """A local time may be written that no instant within years 1 to 9999 stands for."""
    assert resolve_local(_local(local), zone) == resolution


@pytest.mark.parametrize(
    ("instant_ms", "zone", "text"),
    [
        (T, "UTC", "2027-01-15 08:00:00 UTC"),
        (T + 999, "UTC", "2027-01-15 08:00:00 UTC"),
        (T - 1, "Europe/Amsterdam", "2027-01-15 08:59:59 Europe/Amsterdam"),
        (T, "America/New_York", "2027-01-15 03:00:00 America/New_York"),
        (LAST_MS, "Etc/GMT+1", "9999-12-31 22:59:59 Etc/GMT+1"),
    ],
)
def test_an_instant_reads_in_a_zone(instant_ms: int, zone: str, text: str) -> None:
    """Whole seconds, cut and not rounded, and the zone by name."""
    assert format_local(instant_ms, zone) == text


@pytest.mark.parametrize(("instant_ms", "zone"), [(T, "Mars/Base"), (LAST_MS, "Etc/GMT-1")])
def test_a_reading_that_does_not_exist_is_a_value_error(instant_ms: int, zone: str) -> None:
    """No such zone, or a reading past year 9999."""
    with pytest.raises(ValueError, match=r"not found|out of range"):
        format_local(instant_ms, zone)
