"""The instants at which a pattern of local times occurs in a zone (calendar.md section 1).

This module decides what becomes of local times that the clocks skip or repeat: a skipped one does not
occur, a repeated one occurs at the earlier instant. The work for an answer does not grow with how long
ago the last one was. It refuses to know what is asked for and what was accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whenever import Instant, PlainDateTime, Time

from wakefold.wall_patterns import DAY_MS, WallPattern, list_dates, list_dates_back
from wakefold.zones import Resolved, Skipped, resolve_local

_CHANGE_HOURS_MAX: Final = 26  # clocks were never set further at once: a whole day, over the date line


def find_next(pattern: WallPattern, zone: str, after_ms: int) -> int | None:
    """The first occurrence strictly after an instant; `None` if year 9999 ends before.

    :shape: a pattern from `make_pattern` with its zone, an instant out
    :units: `after_ms` and the answer are epoch milliseconds UTC
    :errors: none; the zone must be canonical and known (`zones.canonicalize_zone`): of one that is
        unknown the answer is `None`
    :source: calendar.md section 1
    """
    start = _read_local(after_ms, zone)
    times = list(map(_make_time, pattern.times_ms))
    local = (date.at(time) for date in list_dates(pattern, start.date()) for time in times)
    coming = _resolve((one for one in local if one >= start), zone)
    return next((at_ms for at_ms in coming if at_ms > after_ms), None)


def list_skipped_before(pattern: WallPattern, zone: str, occurrence_ms: int) -> list[PlainDateTime]:
    """The local times that the clocks skip between an occurrence and the one before it, in order."""
    start = _read_local(occurrence_ms, zone)
    skipped: list[PlainDateTime] = []
    for local in _list_back(pattern, start):
        if local == start:
            continue
        if not _is_skipped(local, zone):
            break
        skipped.append(local)
    return skipped[::-1]


def find_latest(pattern: WallPattern, zone: str, until_ms: int) -> int | None:
    """The last occurrence at or before an instant; `None` if there is none since year 1."""
    start = max(_read_local(until_ms, zone), _read_ahead(until_ms, zone))
    gone = _resolve(_list_back(pattern, start), zone)
    return next((at_ms for at_ms in gone if at_ms <= until_ms), None)


def list_skipped_between(
    pattern: WallPattern, zone: str, after_ms: int, until_ms: int
) -> Iterator[PlainDateTime]:
    """The local times that the clocks skip on the dates between two instants, theirs included."""
    start, end = (_read_local(at_ms, zone).date() for at_ms in (after_ms, until_ms))
    times = list(map(_make_time, pattern.times_ms))
    dates = list_dates(pattern, start)
    while (date := next(dates, None)) is not None and date <= end:
        noon_ms = date.at(Time(12)).assume_utc().timestamp(unit="millisecond")
        if _find_offset(noon_ms - 2 * DAY_MS, zone) < _find_offset(noon_ms + 2 * DAY_MS, zone):
            yield from (local for local in map(date.at, times) if _is_skipped(local, zone))


def _is_skipped(local: PlainDateTime, zone: str) -> bool:
    return isinstance(resolve_local(local, zone), Skipped)


def _list_back(pattern: WallPattern, start: PlainDateTime) -> Iterator[PlainDateTime]:
    """The local times that match, from one on backwards."""
    times = [_make_time(time_ms) for time_ms in reversed(pattern.times_ms)]
    local = (date.at(time) for date in list_dates_back(pattern, start.date()) for time in times)
    return (one for one in local if one <= start)


def _find_offset(instant_ms: int, zone: str) -> float:
    """How far (seconds) a zone's clocks are ahead of UTC."""
    return Instant.from_timestamp(instant_ms, unit="millisecond").to_tz(zone).offset.total("seconds")


def _resolve(local: Iterable[PlainDateTime], zone: str) -> Iterator[int]:
    """The instants of local times, without those that the clocks skip."""
    for one in local:
        resolution = resolve_local(one, zone)
        if isinstance(resolution, Resolved):
            yield resolution.instant_ms


def _read_local(instant_ms: int, zone: str) -> PlainDateTime:
    """The local reading of an instant; the end of the calendar where it lies beyond."""
    try:
        return Instant.from_timestamp(instant_ms, unit="millisecond").to_tz(zone).to_plain()
    except ValueError:
        return PlainDateTime.MIN if instant_ms < 0 else PlainDateTime.MAX


def _read_ahead(instant_ms: int, zone: str) -> PlainDateTime:
    """What the clocks would show had none been set since a while: they may have shown so much."""
    before = _read_local(instant_ms - _CHANGE_HOURS_MAX * 3_600_000, zone)
    try:
        return before.add(hours=_CHANGE_HOURS_MAX, naive_arithmetic_ok=True)
    except ValueError:
        return PlainDateTime.MAX


def _make_time(time_ms: int) -> Time:
    seconds, milliseconds = divmod(time_ms, 1000)
    minutes, second = divmod(seconds, 60)
    return Time(minutes // 60, minutes % 60, second, nanosecond=milliseconds * 1_000_000)
