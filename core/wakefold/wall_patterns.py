"""Which dates and times of day a rule names, on a calendar without zones.

This module decides which local dates match a pattern, how close two of its times can come, and whether
it matches any date at all. It refuses to know instants, zones and clocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from whenever import Date

#: A day of the wall clock in milliseconds.
DAY_MS: Final = 86_400_000
_CYCLE_YEARS: Final = 400  # after so many years the calendar comes again, weekdays included
_CYCLE_START: Final = 2000
_CYCLE_DAYS: Final = 146_097
_YEAR_MIN: Final = 1
_YEAR_MAX: Final = 9999
_MONTHS: Final = tuple(range(1, 13))


class WallPattern(Struct, frozen=True):
    """Times of day (ms from midnight, ascending) on certain dates; weekdays count from Sunday 0.

    A date in one of the months matches by its day and its weekday, or by `either` of them.
    """

    times_ms: tuple[int, ...]
    days: frozenset[int] = frozenset(range(1, 32))
    months: frozenset[int] = frozenset(_MONTHS)
    weekdays: frozenset[int] = frozenset(range(7))
    either: bool = False


def list_dates(pattern: WallPattern, start: Date) -> Iterator[Date]:
    """The dates that match, from one on, in their order."""
    for year in range(start.year, _YEAR_MAX + 1):
        for month in _MONTHS:
            yield from (date for date in _list_month(pattern, year, month) if date >= start)


def list_dates_back(pattern: WallPattern, start: Date) -> Iterator[Date]:
    """The dates that match, from one on backwards."""
    for year in range(start.year, _YEAR_MIN - 1, -1):
        for month in reversed(_MONTHS):
            dates = _list_month(pattern, year, month)
            yield from (date for date in reversed(dates) if date <= start)


def has_date(pattern: WallPattern) -> bool:
    """Whether any date matches; in 400 years all are seen, weekdays included."""
    first = next(list_dates(pattern, Date(_CYCLE_START, 1, 1)), None)
    return first is not None and first.year < _CYCLE_START + _CYCLE_YEARS


def find_spacing(pattern: WallPattern) -> int | None:
    """The least distance (ms) between two of its times, on the wall; `None`: it matches no date."""
    days = _find_date_distance(pattern)
    return None if days is None else min([*_list_distances(pattern), _count_across(pattern, days)])


def find_spacing_within(pattern: WallPattern) -> int:
    """The least distance (ms) that two of its times could have, were every date one of its dates."""
    return min([*_list_distances(pattern), _count_across(pattern, 1)])


def comes_closer(pattern: WallPattern, least_ms: int) -> bool:
    """Whether two of its times lie nearer to each other than that, on the wall."""
    if min(_list_distances(pattern), default=least_ms) < least_ms:
        return True
    return _count_across(pattern, 1) < least_ms and _find_date_distance(pattern) == 1


def _list_distances(pattern: WallPattern) -> list[int]:
    """Within a day."""
    times_ms = pattern.times_ms
    return [times_ms[at + 1] - times_ms[at] for at in range(len(times_ms) - 1)]


def _count_across(pattern: WallPattern, days: int) -> int:
    """From the last time of a date to the first of another."""
    return days * DAY_MS + pattern.times_ms[0] - pattern.times_ms[-1]


def _find_date_distance(pattern: WallPattern) -> int | None:
    """The least number of days from a matching date to the next one, over all 400 years."""
    start, first, last, least = Date(_CYCLE_START, 1, 1), None, 0, _CYCLE_DAYS
    before, weekday = 0, start.day_of_week().value - 1
    months: dict[tuple[int, int], list[int]] = {}  # there are 28 months, told by their calendar page
    for number in range(12 * _CYCLE_YEARS):
        year, month = _CYCLE_START + number // 12, number % 12 + 1
        length = Date(year, month, 1).days_in_month()
        if month in pattern.months:
            page = (length, weekday)
            if page not in months:
                months[page] = _match_days(pattern, length, weekday)
            for day in months[page]:
                least = least if first is None else min(least, before + day - last)
                first, last = before + day if first is None else first, before + day
        if least == 1:
            return 1
        before, weekday = before + length, (weekday + length) % 7
    return None if first is None else min(least, first + _CYCLE_DAYS - last)


def _list_month(pattern: WallPattern, year: int, month: int) -> list[Date]:
    if month not in pattern.months:
        return []
    first = Date(year, month, 1)
    days = _match_days(pattern, first.days_in_month(), first.day_of_week().value - 1)
    return [Date(year, month, day) for day in days]


def _match_days(pattern: WallPattern, length: int, weekday: int) -> list[int]:
    """The days of a month that match; the weekday is that of the day before, Sunday 0."""
    days, weekdays = pattern.days, pattern.weekdays
    numbers = range(1, length + 1)
    if pattern.either:
        return [day for day in numbers if day in days or (weekday + day) % 7 in weekdays]
    return [day for day in numbers if day in days and (weekday + day) % 7 in weekdays]
