"""Zone names, and local times read in a zone (spec section 5).

The only module that reads a tz database; folding never comes here, so that no tz release can change
what a log means. It decides which names are zones, what their canonical spelling is, and which instant
a local time stands for. It refuses to know the process's own zone.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct
from whenever import (
    Instant,
    PlainDateTime,
    RepeatedTime,
    SkippedTime,
    Time,
    TimeZoneNotFoundError,
    ZonedDateTime,
)

from wakefold.zone_aliases import ALIASES

_AREA_LOCATION: Final = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)+")
_NO_AREAS: Final = ("posix/", "right/")  # copies of the tz database, not areas


class Resolved(Struct, frozen=True, tag=True):
    """The instant (epoch ms) that a local time stands for; the earlier one where it is repeated."""

    instant_ms: int


class Skipped(Struct, frozen=True, tag=True):
    """A local time that a gap swallows, with the readable times on both sides, offset included."""

    before: str
    after: str


class Unrepresentable(Struct, frozen=True, tag=True):
    """A local time whose instant lies outside years 0001 to 9999."""


#: What a local time comes to in a zone.
Resolution = Resolved | Skipped | Unrepresentable


def canonicalize_zone(name: str) -> str | None:
    """The canonical spelling of a zone name in any letter case, or `None` if it is no zone.

    `UTC`, or an Area/Location name that the tz database knows; aliases follow the CLDR table, and a
    zone newer than that table is its own canonical name.
    """
    if name == "UTC":
        return name
    if _AREA_LOCATION.fullmatch(name) is None or name.lower().startswith(_NO_AREAS):
        return None
    try:
        known = Instant.from_timestamp(0, unit="second").to_tz(name).tz_id
    except TimeZoneNotFoundError:
        return None
    return ALIASES.get(known, known) if known is not None else None


def is_known(name: str) -> bool:
    """Whether the tz database has a zone, by a name that is stored."""
    try:
        Instant.from_timestamp(0, unit="second").to_tz(name)
    except TimeZoneNotFoundError:
        return False
    return True


def resolve_local(local: PlainDateTime, zone: str) -> Resolution:
    """What a local time means in a canonical zone (`canonicalize_zone` first).

    A time inside a gap is told with both neighbours and never shifted (spec section 5).
    """
    try:
        zoned = _assume(local, zone)
    except SkippedTime:
        return Skipped(
            before=_format_offset(local.assume_tz(zone, disambiguation="earlier")),
            after=_format_offset(local.assume_tz(zone, disambiguation="later")),
        )
    except ValueError:  # the library's word for an instant outside years 1 to 9999
        return Unrepresentable()
    return Resolved(instant_ms=zoned.timestamp(unit="millisecond"))


def format_local(instant_ms: int, zone: str) -> str:
    """A local reading for people.

    :shape: `2027-02-01 00:00:00 Europe/Amsterdam`
    :units: `instant_ms` is epoch milliseconds UTC; the text shows whole seconds, rounded down
    :errors: raises `ValueError` if there is no such zone or if the reading leaves years 1 to 9999
    :source: ours, docs/calendar.md; IANA tz database
    """
    zoned = Instant.from_timestamp(instant_ms, unit="millisecond").to_tz(zone)
    return f"{zoned.to_plain().format_iso(unit='second', sep=' ')} {zone}"


def read_clock_minutes(instant_ms: int, zone: str) -> int | None:
    """The minutes of the day that a clock of a canonical zone shows; `None` off the calendar."""
    try:
        zoned = Instant.from_timestamp(instant_ms, unit="millisecond").to_tz(zone)
    except ValueError:
        return None
    return 60 * zoned.hour + zoned.minute


def find_clock_instant(after_ms: int, minutes: int, zone: str) -> int | None:
    """The first instant after another at which a canonical zone's clock comes to a minute of the day.

    Where the clock skips that minute it comes to it, and past it, as it jumps. `None` off the calendar.
    """
    found: list[int] = []
    try:
        today = Instant.from_timestamp(after_ms, unit="millisecond").to_tz(zone).date()
        for day in (today, today.add(days=1)):
            local = day.at(Time(minutes // 60, minutes % 60))
            before, after = (_stamp(local, zone, choice) for choice in _CHOICES)
            skipped = Instant.from_timestamp(after, unit="millisecond").to_tz(zone).to_plain() != local
            found += [_find_jump(before, after, zone)] if skipped else [before, after]
    except ValueError:
        return None
    return min(instant_ms for instant_ms in found if instant_ms > after_ms)


_CHOICES: Final[tuple[Literal["earlier", "later"], ...]] = ("earlier", "later")


def _stamp(local: PlainDateTime, zone: str, choice: Literal["earlier", "later"]) -> int:
    return local.assume_tz(zone, disambiguation=choice).timestamp(unit="millisecond")


def _find_jump(before_ms: int, after_ms: int, zone: str) -> int:
    """The instant of the one clock change between two instants; `after_ms` lies behind it."""
    old = Instant.from_timestamp(before_ms, unit="millisecond").to_tz(zone).offset
    while after_ms - before_ms > 1:
        middle_ms = (before_ms + after_ms) // 2
        zoned = Instant.from_timestamp(middle_ms, unit="millisecond").to_tz(zone)
        if zoned.offset == old:
            before_ms = middle_ms
        else:
            after_ms = middle_ms
    return after_ms


def _assume(local: PlainDateTime, zone: str) -> ZonedDateTime:
    try:
        return local.assume_tz(zone, disambiguation="raise")
    except RepeatedTime:
        return local.assume_tz(zone, disambiguation="earlier")


def _format_offset(zoned: ZonedDateTime) -> str:
    """Text that `at` takes: with the offset if that is whole minutes, as it is today, else in UTC."""
    unit: Literal["millisecond", "second"] = "millisecond" if zoned.nanosecond else "second"
    if zoned.offset.total("seconds") % 60:
        return zoned.to_instant().format_iso(unit=unit)
    return zoned.to_fixed_offset().format_iso(unit=unit)
