"""When reminders by the calendar occur, read a second time and plainly, date by date (calendar.md).

This module looks at each local date in turn and at each local time that a rule names on it, with the
standard library's zones and none of the core's rules, patterns and expressions, so that a fault there
shows. It refuses to know records: a rule is the JSON that a log stores of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final
from zoneinfo import ZoneInfo

Rule = tuple[str, str, tuple[int, ...], str]
"""The kind, the time or the expression, the weekdays, the zone."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)
_DAY: Final = timedelta(days=1)
_DAYS_MAX: Final = 366 * 9  # 29 February comes again after eight years at most
_SPANS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_WALK_FROM: Final = date(2027, 1, 1)


def read_rule(record: Any) -> Rule | None:  # noqa: ANN401 - JSON
    """The rule by the calendar that a stored record has; `None` for one of another kind."""
    kind = record["kind"]
    if kind not in {"daily", "weekly", "cron"}:
        return None
    text = record["expression"] if kind == "cron" else record["time"]
    return kind, text, tuple(record.get("weekdays", ())), record["timeZone"]


def find_next_ms(rule: Rule, after_ms: int) -> int | None:
    """The first occurrence after an instant."""
    day = _find_date(rule, after_ms) - _DAY
    for _ in range(_DAYS_MAX):
        later = [at_ms for at_ms in list_day_ms(rule, day) if at_ms > after_ms]
        if later:
            return later[0]
        day += _DAY
    return None


def find_latest_ms(rule: Rule, target_ms: int, end_ms: int) -> int:
    """The last occurrence from a target to an end; the target itself where there is none."""
    day, first = _find_date(rule, end_ms) + _DAY, _find_date(rule, target_ms)
    while day >= first:
        found = [at_ms for at_ms in list_day_ms(rule, day) if target_ms <= at_ms <= end_ms]
        if found:
            return found[-1]
        day -= _DAY
    return target_ms


def find_spacing_seconds(rule: Rule) -> int | None:
    """How near two local times of a rule lie on the wall clock, by a walk through nine years."""
    kind, text, weekdays, _ = rule
    return _measure(kind, text, weekdays)


@lru_cache(4096)
def list_day_ms(rule: Rule, day: date) -> tuple[int, ...]:
    """The occurrences on a local date, in order: none in a gap, the first of two in an overlap."""
    kind, text, weekdays, name = rule
    if not _names_date(kind, text, weekdays, day):
        return ()
    zone, found = ZoneInfo(name), []
    for clock in _list_times(kind, text):
        local = datetime.combine(day, clock)
        at = local.replace(tzinfo=zone).astimezone(UTC)
        if at.astimezone(zone).replace(tzinfo=None, fold=0) == local:
            found.append((at - _EPOCH) // _MS)
    return tuple(found)


def _find_date(rule: Rule, at_ms: int) -> date:
    return (_EPOCH + at_ms * _MS).astimezone(ZoneInfo(rule[3])).date()


@cache
def _measure(kind: str, text: str, weekdays: tuple[int, ...]) -> int | None:
    seconds = [_count_seconds(clock) for clock in _list_times(kind, text)]
    days = [day for day in _walk() if _names_date(kind, text, weekdays, day)]
    within = [later - earlier for earlier, later in pairwise(seconds)] if days else []
    around = seconds[0] - seconds[-1]
    across = [(later - earlier).days * 86_400 + around for earlier, later in pairwise(days)]
    return min(within + across, default=None)


def _walk() -> Iterator[date]:
    return (_WALK_FROM + number * _DAY for number in range(_DAYS_MAX))


def _count_seconds(clock: time) -> int:
    return clock.hour * 3600 + clock.minute * 60 + clock.second


@cache
def _list_times(kind: str, text: str) -> tuple[time, ...]:
    if kind != "cron":
        return (time.fromisoformat(text),)
    minutes, hours = (_read_field(place, text) for place in (0, 1))
    return tuple(time(hour, minute) for hour in sorted(hours) for minute in sorted(minutes))


@cache
def _read_field(place: int, text: str) -> frozenset[int]:
    """The values of one field of an expression."""
    values: set[int] = set()
    for item in text.split()[place].split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        least, most = _SPANS[place] if span == "*" else (int(first), int(last or first))
        values |= set(range(least, most + 1, int(step or 1)))
    return frozenset(values)


def _names_date(kind: str, text: str, weekdays: tuple[int, ...], day: date) -> bool:
    if kind == "daily":
        return True
    if kind == "weekly":
        return day.isoweekday() in weekdays
    days, months, named = (_read_field(place, text) for place in (2, 3, 4))
    by_day, by_weekday = day.day in days, bool({day.isoweekday() % 7, day.isoweekday()} & named)
    starred = any(text.split()[place].startswith("*") for place in (2, 4))
    return day.month in months and ((by_day and by_weekday) if starred else (by_day or by_weekday))
