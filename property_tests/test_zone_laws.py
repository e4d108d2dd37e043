from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
import whenever
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from wakefold.implied_zones import RequestZone
from wakefold.instants import MAX_INSTANT_MS, MIN_INSTANT_MS, is_representable
from wakefold.rejections import InvalidRule, InvalidTimeZone, Rejection, TimeOutOfRange
from wakefold.times import resolve_at
from wakefold.zone_aliases import ALIASES
from wakefold.zones import canonicalize_zone, format_local

NO_ZONE = RequestZone(implied=None, session_time_zone="unavailable")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)
NAMES = sorted(name for name in whenever.available_timezones() if canonicalize_zone(name) is not None)
ZONES = sorted({canonicalize_zone(name) or name for name in NAMES})

# Offsets from a change of the clocks, in ms: on it, around it, inside and outside usual gaps.
NEAR_MS = (0, 1, 999, 1000, 1_799_999, 1_800_000, 3_599_999, 3_600_000, 3_600_001, 7_200_000)
near_changes = st.sampled_from(sorted({sign * ms for ms in NEAR_MS for sign in (1, -1)}))


@cache
def list_changes(name: str, year: int) -> tuple[datetime, ...]:
    """The instants of a year at which a zone's offset changes, to the second, found by halving."""
    zone = ZoneInfo(name)
    start = datetime(year, 1, 1, tzinfo=UTC)
    months = [start + timedelta(days=days) for days in range(0, 366, 10)]
    changes = []
    for low, high in itertools.pairwise(months):
        if low.astimezone(zone).utcoffset() == high.astimezone(zone).utcoffset():
            continue
        while high - low > timedelta(seconds=1):
            middle = low + (high - low) // 2
            middle = middle.replace(microsecond=0)
            same = middle.astimezone(zone).utcoffset() == low.astimezone(zone).utcoffset()
            low, high = (middle, high) if same else (low, middle)  # noqa: PLW2901 - halving
        changes.append(high)
    return tuple(changes)


@cache
def list_moves(name: str, year: int) -> tuple[tuple[datetime, timedelta], ...]:
    """The local readings at which a year's changes begin, and how far the clocks then move."""
    zone = ZoneInfo(name)
    moves = []
    for change in list_changes(name, year):
        before, after = (change - MS).astimezone(zone), change.astimezone(zone)
        start = before.replace(tzinfo=None, fold=0) + MS
        moves.append((start, after.replace(tzinfo=None, fold=0) - start))
    return tuple(moves)


@st.composite
def local_times(draw: st.DrawFn, years: st.SearchStrategy[int]) -> tuple[datetime, str]:
    """A local time in whole milliseconds and a canonical zone, mostly where the clocks change."""
    name, year = draw(st.sampled_from(ZONES)), draw(years)
    if not list_moves(name, year):
        name = draw(st.sampled_from(CHANGING))
    moves = list_moves(name, year)
    if not moves:
        day = datetime(year, 1, 1)  # noqa: DTZ001 - a local time
        return day + MS * draw(st.integers(0, 365 * 86_400_000)), name
    start, move = draw(st.sampled_from(moves))
    reading = draw(st.sampled_from((start, start + move, start + move / 2)))
    near = draw(near_changes | st.integers(-10_800_000, 10_800_000))
    return reading + MS * near, name


@st.composite
def skipped_times(draw: st.DrawFn, years: st.SearchStrategy[int]) -> tuple[datetime, str, timedelta]:
    """A local time that the clocks of a canonical zone skip, and how long the gap is."""
    name, year = draw(st.sampled_from(CHANGING)), draw(years)
    gaps = [gap for gap in list_moves(name, year) if gap[1] > timedelta()]
    while not gaps:
        year = min(year + 1, 2027)
        gaps = [gap for gap in list_moves(name, year) if gap[1] > timedelta()]
    start, length = draw(st.sampled_from(gaps))
    return start + MS * draw(st.integers(0, length // MS - 1)), name, length


def resolve(local: datetime, name: str) -> Result[int, Rejection]:
    date, time = local.isoformat(timespec="milliseconds").split("T")
    return resolve_at({"date": date, "time": time, "time_zone": name}, 0, NO_ZONE)


def list_readings(local: datetime, name: str) -> list[int]:
    """The instants (epoch ms) that read as a local time in a zone, by the standard library."""
    zone = ZoneInfo(name)
    instants = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    found = [at for at in instants if at.astimezone(zone).replace(tzinfo=None, fold=0) == local]
    return sorted((at - EPOCH) // MS for at in found)


CHANGING = [name for name in ZONES if any(move > timedelta() for _, move in list_moves(name, 2027))]
years = st.integers(1850, 2060) | st.integers(2007, 2037) | st.integers(2, 9998)


@settings(max_examples=4 * settings().max_examples)
@given(drawn=local_times(years))
def test_a_local_time_is_the_earliest_instant_that_reads_so(drawn: tuple[datetime, str]) -> None:
    """A local time resolves to the earliest instant that reads so in its zone, and is refused as
    skipped exactly if none does."""
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


@given(drawn=skipped_times(st.integers(1973, 2060)))
def test_the_alternatives_to_a_skipped_time_stand_on_both_sides(
    drawn: tuple[datetime, str, timedelta],
) -> None:
    """For a skipped local time two texts are offered that `at` takes: real readings in that zone, as
    far before and after the wish as the clocks were moved."""
    local, name, length = drawn
    fault = resolve(local, name).failure()
    assert isinstance(fault, InvalidRule)
    readings = [datetime.fromisoformat(text) for text in fault.alternatives]
    for reading, text in zip(readings, fault.alternatives, strict=True):
        assert resolve_at(text, 0, NO_ZONE) == Success((reading - EPOCH) // MS)
        assert reading.isoformat() == reading.astimezone(ZoneInfo(name)).isoformat()
    assert [reading.replace(tzinfo=None) for reading in readings] == [local - length, local + length]


def test_the_alternatives_in_the_days_of_local_mean_time_are_taken_too() -> None:
    """Where a zone's offset had seconds, the texts offered for a skipped time are taken as well."""
    fault = resolve(datetime(1972, 1, 7, 0, 10), "Africa/Monrovia").failure()  # noqa: DTZ001
    assert isinstance(fault, InvalidRule)
    assert all(is_successful(resolve_at(text, 0, NO_ZONE)) for text in fault.alternatives)


@given(
    name=st.sampled_from(CHANGING),
    edge=st.sampled_from((datetime(1, 1, 1), datetime(9999, 12, 31))),  # noqa: DTZ001 - local
    ms=st.integers(0, 86_399_999),
)
def test_at_the_ends_of_time_a_local_time_is_in_range_or_refused(
    name: str, edge: datetime, ms: int
) -> None:
    """On the first and the last day a local time resolves exactly if its instant is in range."""
    local = edge + MS * ms
    offset = local.replace(tzinfo=ZoneInfo(name)).utcoffset()
    assert offset is not None
    instant_ms = (local.replace(tzinfo=UTC) - EPOCH) // MS - offset // MS
    in_range = is_representable(instant_ms)
    assert resolve(local, name) == (Success(instant_ms) if in_range else Failure(TimeOutOfRange()))


@given(
    local=st.datetimes(),
    offset_minutes=st.integers(-1439, 1439),
    digits=st.integers(0, 3),
    zulu=st.booleans(),
)
def test_an_offset_text_is_its_reading_minus_the_offset(
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


@given(sign=st.sampled_from("+-"), hours=st.integers(0, 30), minutes=st.integers(0, 70))
def test_an_offset_stands_on_a_clock_face(sign: str, hours: int, minutes: int) -> None:
    """Offsets go to 23:59 in whole minutes of an hour, and `-00:00`, which says "unknown", is none."""
    resolved = resolve_at(f"2027-02-01T09:00:00{sign}{hours:02}:{minutes:02}", 0, NO_ZONE)
    known = (sign, hours, minutes) != ("-", 0, 0)
    assert is_successful(resolved) == (known and hours <= 23 and minutes <= 59)


@given(name=st.sampled_from(NAMES), data=st.data())
def test_a_zone_has_one_canonical_name_in_any_letter_case(name: str, data: st.DataObject) -> None:
    """A zone's name in any letter case has one canonical name, which is its own canonical name."""
    assume(name != "UTC")
    upper = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    mixed = "".join(c.upper() if up else c.lower() for c, up in zip(name, upper, strict=True))
    canonical = canonicalize_zone(name)
    assert canonical is not None
    assert canonicalize_zone(mixed) == canonical
    assert canonicalize_zone(canonical) == canonical


@given(alias=st.sampled_from(sorted(ALIASES)))
def test_an_alias_has_the_name_of_the_table(alias: str) -> None:
    """A zone that the table of aliases names is called as the table says."""
    assert canonicalize_zone(alias.lower()) == canonicalize_zone(alias) == ALIASES[alias]


@given(name=st.sampled_from(NAMES), second=st.integers(0, 4 * 10**9))
def test_a_canonical_name_reads_the_same_clock(name: str, second: int) -> None:
    """Since 1970, from when on the tz database promises it, a zone and its canonical name agree."""
    canonical = canonicalize_zone(name)
    assert canonical is not None
    at = EPOCH + timedelta(seconds=second)
    assert at.astimezone(ZoneInfo(canonical)).isoformat() == at.astimezone(ZoneInfo(name)).isoformat()


@pytest.mark.parametrize(
    "wrap",
    [
        " {}",
        "{} ",
        "{}\n",
        "{}\0",
        "/{}",
        "{}/",
        "posix/{}",
        "Posix/{}",
        "RIGHT/{}",
        "Mars/{}",
        "{}+01:00",
    ],
)
@settings(max_examples=settings().max_examples // 4)
@given(name=st.sampled_from(NAMES))
def test_what_is_nearly_a_zone_is_refused(wrap: str, name: str) -> None:
    """Space, another prefix or a stray slash around a zone's name make it no zone, before the gap."""
    wrapped = wrap.format(name)
    assert canonicalize_zone(wrapped) is None
    at = {"date": "2027-03-14", "time": "02:30:00", "time_zone": wrapped}
    assert isinstance(resolve_at(at, 0, NO_ZONE).failure(), InvalidTimeZone)


def test_a_zone_is_utc_or_has_a_slash() -> None:
    """Of all names without a slash that the tz database knows, only `UTC` is a zone here."""
    plain = {name for name in whenever.available_timezones() if "/" not in name}
    assert {name for name in plain | {"utc"} if canonicalize_zone(name) is not None} == {"UTC"}
    assert len(plain) > 1
