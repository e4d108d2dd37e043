"""Absolute times as callers write them (spec section 5).

This module decides what an `at` means: text with an offset, or an object of local fields read in a
named or implied zone, each refused with the first fault in the order of the page. It refuses fuzzy
words: a model or a helper translates "tomorrow morning", never this code.
"""

from __future__ import annotations

import re
from typing import Final, assert_never

from returns.result import Failure, Result, Success
from whenever import PlainDateTime

from wakefold.events import Json
from wakefold.implied_zones import RequestZone
from wakefold.instants import format_instant, is_representable
from wakefold.rejections import (
    InvalidRule,
    InvalidTimeZone,
    Rejection,
    TimeOutOfRange,
    TimezoneConfirmationRequired,
    shorten,
)
from wakefold.zones import Resolved, Skipped, Unrepresentable, canonicalize_zone, resolve_local

_DATE: Final = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME: Final = (
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,3}))?"
)
_DATE_TEXT: Final = re.compile(_DATE)
_TIME_TEXT: Final = re.compile(_TIME)
_OFFSET_TEXT: Final = re.compile(
    rf"{_DATE}T{_TIME}(?:Z|(?P<sign>[+-])(?P<ahead_hour>[0-9]{{2}}):(?P<ahead_minute>[0-9]{{2}}))"
)
_HOUR_MS: Final = 3_600_000


def resolve_at(at: object, now_ms: int | None, zone: RequestZone) -> Result[int, Rejection]:
    """The target (epoch ms, within years 0001 to 9999) of an `at`, not yet compared with now.

    `now_ms` serves for an example in the refusal only.
    """
    if isinstance(at, str):
        return _resolve_text(at, now_ms)
    if isinstance(at, dict):
        return _resolve_fields(at, zone)
    return Failure(_misshapen(at, now_ms))


def _resolve_text(text: str, now_ms: int | None) -> Result[int, Rejection]:
    found = _OFFSET_TEXT.fullmatch(text)
    offset_ms = None if found is None else _read_offset(found)
    if found is None or offset_ms is None:
        return Failure(_misshapen(text, now_ms))
    local = _read_local(found, found)
    if local is None:
        return Failure(InvalidRule(fault="no_such_date", value=shorten(text)))
    target_ms = _count_ms(local) - offset_ms
    return Success(target_ms) if is_representable(target_ms) else Failure(TimeOutOfRange())


def _resolve_fields(fields: Json, zone: RequestZone) -> Result[int, Rejection]:
    date, time = fields.get("date"), fields.get("time")
    named = fields.get("time_zone", zone.implied)
    if fields.keys() | {"time_zone"} != {"date", "time", "time_zone"}:
        return Failure(InvalidRule(fault="at_keys", value=shorten(fields)))
    if not isinstance(date, str):
        return Failure(InvalidRule(fault="at_date", value=shorten(date)))
    if not isinstance(time, str):
        return Failure(InvalidRule(fault="at_time", value=shorten(time)))
    if named is None and "time_zone" not in fields:
        return Failure(TimezoneConfirmationRequired(zone.session_time_zone, zone.client_time_zones))
    if not isinstance(named, str):
        return Failure(InvalidTimeZone(value=shorten(named)))
    return _read_fields(date, time).bind(lambda local: _resolve_in_zone(local, named))


def _read_fields(date: str, time: str) -> Result[PlainDateTime, Rejection]:
    day, clock = _DATE_TEXT.fullmatch(date), _TIME_TEXT.fullmatch(time)
    if day is None:
        return Failure(InvalidRule(fault="at_date", value=shorten(date)))
    if clock is None:
        return Failure(InvalidRule(fault="at_time", value=shorten(time)))
    local = _read_local(day, clock)
    if local is None:
        return Failure(InvalidRule(fault="no_such_date", value=shorten(f"{date} {time}")))
    return Success(local)


def _resolve_in_zone(local: PlainDateTime, name: str) -> Result[int, Rejection]:
    zone = canonicalize_zone(name)
    if zone is None:
        return Failure(InvalidTimeZone(value=shorten(name)))
    resolution = resolve_local(local, zone)
    match resolution:
        case Resolved(instant_ms=instant_ms):
            return Success(instant_ms)
        case Skipped(before=before, after=after):
            value = f"{local.format_iso(sep=' ')} {zone}"
            return Failure(InvalidRule("local_time_skipped", value, (before, after)))
        case Unrepresentable():
            return Failure(TimeOutOfRange())
        case _:
            assert_never(resolution)


def _read_local(day: re.Match[str], clock: re.Match[str]) -> PlainDateTime | None:
    fraction = clock["fraction"] or ""
    try:
        return PlainDateTime(
            int(day["year"]),
            int(day["month"]),
            int(day["day"]),
            int(clock["hour"]),
            int(clock["minute"]),
            int(clock["second"]),
            nanosecond=int(fraction.ljust(3, "0")) * 1_000_000,
        )
    except ValueError:
        return None


def _read_offset(found: re.Match[str]) -> int | None:
    """The offset from UTC in ms; `None` beyond 23:59 and for `-00:00`, which says "unknown"."""
    if found["sign"] is None:
        return 0
    hour, minute = int(found["ahead_hour"]), int(found["ahead_minute"])
    behind = found["sign"] == "-"
    if hour > 23 or minute > 59 or (behind and hour == minute == 0):  # noqa: PLR2004 - clock face
        return None
    offset_ms = (hour * 60 + minute) * 60_000
    return -offset_ms if behind else offset_ms


def _count_ms(local: PlainDateTime) -> int:
    """Milliseconds of a local time since 1970 on its own clock: its instant before the offset."""
    return local.assume_utc().timestamp(unit="millisecond")


def _misshapen(at: object, now_ms: int | None) -> InvalidRule:
    soon_ms = None if now_ms is None else now_ms - now_ms % 1000 + _HOUR_MS
    example = () if soon_ms is None or not is_representable(soon_ms) else (format_instant(soon_ms),)
    return InvalidRule(fault="at_shape", value=shorten(at), alternatives=example)
