"""Laws of zones and local times: which instant a clock on a wall means, by a second reader of zones.

This module decides what a local time, an offset and a zone's name come to, by the standard library's
reading of the tz database. It refuses to know whose zone is meant.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

import whenever
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from wakefold.implied_zones import NO_ZONE
from wakefold.instants import MAX_INSTANT_MS, MIN_INSTANT_MS, is_representable
from wakefold.rejections import InvalidRule, InvalidTimeZone, Rejection, TimeOutOfRange
from wakefold.times import resolve_at
from wakefold.zone_aliases import ALIASES
from wakefold.zones import canonicalize_zone, format_local
from wakefold_laws.drawing import assume, st
from wakefold_laws.laws import law
from wakefold_laws.zone_changes import EPOCH, MS, list_moves

WRAPS: Final = (
    *(" {}", "{} ", "{}\n", "{}\0", "/{}", "{}/"),
    *("posix/{}", "Posix/{}", "RIGHT/{}", "Mars/{}", "{}+01:00"),
)
"""What makes nearly a zone of a zone's name."""

# Offsets from a change of the clocks, in ms: on it, around it, inside and outside usual gaps.
_NEAR_MS: Final = (0, 1, 999, 1000, 1_799_999, 1_800_000, 3_599_999, 3_600_000, 3_600_001, 7_200_000)
_near_changes = st.sampled_from(sorted({sign * ms for ms in _NEAR_MS for sign in (1, -1)}))


@cache
def list_names() -> list[str]:
    """The names of zones, aliases included."""
    known = whenever.available_timezones()
    return sorted(name for name in known if canonicalize_zone(name) is not None)


@cache
def list_zones() -> list[str]:
    """The canonical names."""
    return sorted({canonicalize_zone(name) or name for name in list_names()})


@cache
def list_changing_zones() -> list[str]:
    """The canonical names of the zones whose clocks skip an hour, or some of it, in 2027."""
    return [
        name for name in list_zones() if any(move > timedelta() for _, move in list_moves(name, 2027))
    ]


# The tz database is read when something is drawn, not when the laws are imported.
_names = st.deferred(lambda: st.sampled_from(list_names()))
#: The canonical name of any zone.
zones = st.deferred(lambda: st.sampled_from(list_zones()))
#: The canonical name of a zone whose clocks change.
changing_zones = st.deferred(lambda: st.sampled_from(list_changing_zones()))
_years = st.integers(1850, 2060) | st.integers(2007, 2037) | st.integers(2, 9998)


@st.composite
def local_times(draw: st.DrawFn, years: st.SearchStrategy[int]) -> tuple[datetime, str]:
    """A local time in whole milliseconds and a canonical zone, mostly where the clocks change."""
    name, year = draw(zones), draw(years)
    if not list_moves(name, year):
        name = draw(changing_zones)
    moves = list_moves(name, year)
    if not moves:
        day = datetime(year, 1, 1)  # noqa: DTZ001 - a local time
        return day + MS * draw(st.integers(0, 365 * 86_400_000)), name
    start, move = draw(st.sampled_from(moves))
    reading = draw(st.sampled_from((start, start + move, start + move / 2)))
    near = draw(_near_changes | st.integers(-10_800_000, 10_800_000))
    return reading + MS * near, name


@st.composite
def skipped_times(draw: st.DrawFn, years: st.SearchStrategy[int]) -> tuple[datetime, str, timedelta]:
    """A local time that the clocks of a canonical zone skip, and how long the gap is."""
    name, year = draw(changing_zones), draw(years)
    gaps = [gap for gap in list_moves(name, year) if gap[1] > timedelta()]
    while not gaps:
        year = min(year + 1, 2027)
        gaps = [gap for gap in list_moves(name, year) if gap[1] > timedelta()]
    start, length = draw(st.sampled_from(gaps))
    return start + MS * draw(st.integers(0, length // MS - 1)), name, length


def resolve(local: datetime, name: str) -> Result[int, Rejection]:
    """The instant that a local time of a zone resolves to."""
    date, time = local.isoformat(timespec="milliseconds").split("T")
    return resolve_at({"date": date, "time": time, "time_zone": name}, 0, NO_ZONE)


def list_readings(local: datetime, name: str) -> list[int]:
    """The instants (epoch ms) that read as a local time in a zone, by the standard library."""
    zone = ZoneInfo(name)
    instants = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    found = [at for at in instants if at.astimezone(zone).replace(tzinfo=None, fold=0) == local]
    return sorted((at - EPOCH) // MS for at in found)


@law(times=4, drawn=local_times(_years))
def a_local_time_is_the_earliest_instant_that_reads_so(drawn: tuple[datetime, str]) -> None:
    """A local time resolves to the earliest instant that reads so in its zone, and is refused as
    skipped exactly if none does.
    """
    local, name = drawn
    readings = list_readings(local, name)
    resolved = resolve(local, name)
    if readings:
        assert resolved == Success(readings[0])
        whole = local.isoformat(" ", "seconds")
        assert format_local(readings[0], name) == f"{whole} {name}"
    else:
        fault = resolved.failure()
        assert isinstance(fault, InvalidRule)
        assert fault.fault == "local_time_skipped"


@law(drawn=skipped_times(st.integers(1973, 2060)))
def the_alternatives_to_a_skipped_time_stand_on_both_sides(
    drawn: tuple[datetime, str, timedelta],
) -> None:
    """For a skipped local time two texts are offered that `at` takes: real readings in that zone, as
    far before and after the wish as the clocks were moved.
    """
    local, name, length = drawn
    fault = resolve(local, name).failure()
    assert isinstance(fault, InvalidRule)
    readings = [datetime.fromisoformat(text) for text in fault.alternatives]
    for reading, text in zip(readings, fault.alternatives, strict=True):
        assert resolve_at(text, 0, NO_ZONE) == Success((reading - EPOCH) // MS)
        assert reading.isoformat() == reading.astimezone(ZoneInfo(name)).isoformat()
    assert [reading.replace(tzinfo=None) for reading in readings] == [local - length, local + length]


@law()
def the_alternatives_in_the_days_of_local_mean_time_are_taken_too() -> None:
    """Where a zone's offset had seconds, the texts offered for a skipped time are taken as well."""
    fault = resolve(datetime(1972, 1, 7, 0, 10), "Africa/Monrovia").failure()  # noqa: DTZ001
    assert isinstance(fault, InvalidRule)
    assert all(is_successful(resolve_at(text, 0, NO_ZONE)) for text in fault.alternatives)


@law(
    name=changing_zones,
    edge=st.sampled_from((datetime(1, 1, 1), datetime(9999, 12, 31))),  # noqa: DTZ001 - local
    ms=st.integers(0, 86_399_999),
)
def at_the_ends_of_time_a_local_time_is_in_range_or_refused(name: str, edge: datetime, ms: int) -> None:
    """On the first and the last day a local time resolves exactly if its instant is in range."""
    local = edge + MS * ms
    offset = local.replace(tzinfo=ZoneInfo(name)).utcoffset()
    assert offset is not None
    instant_ms = (local.replace(tzinfo=UTC) - EPOCH) // MS - offset // MS
    in_range = is_representable(instant_ms)
    assert resolve(local, name) == (Success(instant_ms) if in_range else Failure(TimeOutOfRange()))


@law(
    local=st.datetimes(),
    offset_minutes=st.integers(-1439, 1439),
    digits=st.integers(0, 3),
    zulu=st.booleans(),
)
def an_offset_text_is_its_reading_minus_the_offset(
    local: datetime, offset_minutes: int, digits: int, *, zulu: bool
) -> None:
    """A text with an offset resolves to what its clock shows minus the offset, fractions padded."""
    fraction = f"{local.microsecond // 1000:03}"[:digits]
    local = local.replace(microsecond=1000 * int(fraction.ljust(3, "0")))
    hours, minutes = divmod(abs(offset_minutes), 60)
    sign = "-" if offset_minutes < 0 else "+"
    offset = "Z" if zulu else f"{sign}{hours:02}:{minutes:02}"
    text = local.isoformat(timespec="seconds") + (f".{fraction}" if digits else "") + offset
    ahead = timedelta() if zulu else timedelta(minutes=offset_minutes)
    instant_ms = (local.replace(tzinfo=UTC) - EPOCH) // MS - ahead // MS
    in_range = MIN_INSTANT_MS <= instant_ms <= MAX_INSTANT_MS
    assert resolve_at(text, 0, NO_ZONE) == (
        Success(instant_ms) if in_range else Failure(TimeOutOfRange())
    )
    for wrong in (f" {text}", f"{text}\n", text.replace("T", " "), text[:-1], text.lower()):
        assert isinstance(resolve_at(wrong, 0, NO_ZONE).failure(), InvalidRule)


@law(sign=st.sampled_from("+-"), hours=st.integers(0, 30), minutes=st.integers(0, 70))
def an_offset_stands_on_a_clock_face(sign: str, hours: int, minutes: int) -> None:
    """Offsets go to 23:59 in whole minutes of an hour, and `-00:00`, which says "unknown", is none."""
    resolved = resolve_at(f"2027-02-01T09:00:00{sign}{hours:02}:{minutes:02}", 0, NO_ZONE)
    known = (sign, hours, minutes) != ("-", 0, 0)
    assert is_successful(resolved) == (known and hours <= 23 and minutes <= 59)


@law(name=_names, raised=st.integers(0, 2**64 - 1))
def a_zone_has_one_canonical_name_in_any_letter_case(name: str, raised: int) -> None:
    """A zone's name in any letter case has one canonical name, which is its own canonical name."""
    assume(name != "UTC")
    cases = (str.lower, str.upper)
    mixed = "".join(cases[raised >> place & 1](letter) for place, letter in enumerate(name))
    canonical = canonicalize_zone(name)
    assert canonical is not None
    assert canonicalize_zone(mixed) == canonical
    assert canonicalize_zone(canonical) == canonical


@law(alias=st.sampled_from(sorted(ALIASES)))
def an_alias_has_the_name_of_the_table(alias: str) -> None:
    """A zone that the table of aliases names is called as the table says."""
    assert canonicalize_zone(alias.lower()) == canonicalize_zone(alias) == ALIASES[alias]


@law(name=_names, second=st.integers(0, 4 * 10**9))
def a_canonical_name_reads_the_same_clock(name: str, second: int) -> None:
    """Since 1970, from when on the tz database promises it, a zone and its canonical name agree."""
    canonical = canonicalize_zone(name)
    assert canonical is not None
    at = EPOCH + timedelta(seconds=second)
    assert at.astimezone(ZoneInfo(canonical)).isoformat() == at.astimezone(ZoneInfo(name)).isoformat()


@law(times=1 / 4, wrap={wrap: st.just(wrap) for wrap in WRAPS}, name=_names)
def what_is_nearly_a_zone_is_refused(wrap: str, name: str) -> None:
    """Space, another prefix or a stray slash around a zone's name make it no zone, and that is said
    before a gap is.
    """
    wrapped = wrap.format(name)
    assert canonicalize_zone(wrapped) is None
    at = {"date": "2027-03-14", "time": "02:30:00", "time_zone": wrapped}
    assert isinstance(resolve_at(at, 0, NO_ZONE).failure(), InvalidTimeZone)


@law()
def a_zone_is_utc_or_has_a_slash() -> None:
    """Of all names without a slash that the tz database knows, only `UTC` is a zone here."""
    plain = {name for name in whenever.available_timezones() if "/" not in name}
    assert {name for name in plain | {"utc"} if canonicalize_zone(name) is not None} == {"UTC"}
    assert len(plain) > 1
