"""Calendar rules as they are stored: daily, weekly, cron (calendar.md section 1).

This module decides the one canonical form of each rule and which local dates and times it names. It
refuses to know whether a zone exists: tz databases change, and what was stored stays lawful.
"""

from __future__ import annotations

import re
from typing import Final, assert_never

from msgspec import Struct

from wakefold.cron_expressions import CronExpression, parse_cron
from wakefold.outcomes import either
from wakefold.recurrence import MIN_EVERY_SECONDS
from wakefold.wall_patterns import (
    WallPattern,
    comes_closer,
    find_spacing,
    find_spacing_within,
    has_date,
)


class DailyRule(Struct, frozen=True, tag_field="kind", tag="daily"):
    """Every local date at one local time (`HH:mm:ss.SSS`).

    :shape: `{kind: "daily", time, timeZone}` in a record
    :units: `time` is local, to the millisecond
    :errors: none when it is made, which checks nothing; `read_calendar_rule` makes a checked one
    :source: calendar.md section 1
    """

    time: str
    time_zone: str


class WeeklyRule(Struct, frozen=True, tag_field="kind", tag="weekly"):
    """Some weekdays at one local time.

    :shape: `{kind: "weekly", weekdays, time, timeZone}` in a record; `time` is `HH:mm:ss.SSS`
    :units: weekdays are ISO, Monday 1 to Sunday 7, ascending; `time` is local, to the millisecond
    :errors: none when it is made, which checks nothing; `read_calendar_rule` makes a checked one
    :source: calendar.md section 1
    """

    weekdays: tuple[int, ...]
    time: str
    time_zone: str


class CronRule(Struct, frozen=True, tag_field="kind", tag="cron"):
    """Every local minute that a canonical expression matches.

    :shape: `{kind: "cron", expression, timeZone}` in a record
    :units: none; a match is a local minute, second 0
    :errors: none when it is made, which checks nothing; `read_calendar_rule` makes a checked one
    :source: calendar.md section 1
    """

    expression: str
    time_zone: str


#: A rule that names local times, with the zone whose clocks they are.
CalendarRule = DailyRule | WeeklyRule | CronRule

_TIME: Final = re.compile(
    r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9])"
    r"(?:\.(?P<fraction>[0-9]{1,3}))?"
)
_ZONE: Final = re.compile(r"UTC|[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)+")
_SUNDAY: Final = 7


def canonicalize_time(text: str) -> str | None:
    """A time of day with its three digits of a fraction; `None` if it is none.

    It may be given with one to three digits, or without a fraction.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    fraction = (found["fraction"] or "").ljust(3, "0")
    return f"{found['hour']}:{found['minute']}:{found['second']}.{fraction}"


def are_weekdays(values: tuple[int, ...]) -> bool:
    """Whether these are weekdays, at least one and each once, in any order."""
    return 0 < len(set(values)) == len(values) and min(values) >= 1 and max(values) <= _SUNDAY


def find_rule_spacing(rule: CalendarRule) -> int | None:
    """The least distance (whole seconds) of two of its times, on the wall; `None`: no date matches."""
    spacing_ms = find_spacing(make_pattern(rule))
    return None if spacing_ms is None else spacing_ms // 1000


def find_spacing_floor(rule: CalendarRule) -> int:
    """Seconds that no two of its times lie nearer than, found without a look at its dates."""
    return find_spacing_within(make_pattern(rule)) // 1000


def is_canonical(rule: CalendarRule) -> bool:
    """Whether a rule may stand in a log: canonical, of some date, and never too often.

    Its zone is looked at by its shape only.
    """
    if _ZONE.fullmatch(rule.time_zone) is None:
        return False
    match rule:
        case DailyRule(time=time):
            return canonicalize_time(time) == time
        case WeeklyRule(time=time, weekdays=weekdays):
            in_order = are_weekdays(weekdays) and sorted(weekdays) == list(weekdays)
            return in_order and canonicalize_time(time) == time
        case CronRule(expression=expression):
            return either(
                parse_cron(expression),
                lambda cron: cron.canonical == expression and _is_lawful(make_cron_pattern(cron)),
                lambda _: False,
            )
        case _:
            assert_never(rule)


def make_pattern(rule: CalendarRule) -> WallPattern:
    """The local dates and times that a canonical rule names.

    :shape: a stored rule without its zone in, the times of day and the dates that match out
    :units: `times_ms` are milliseconds from local midnight, weekdays count from Sunday 0
    :errors: the rule must be canonical (`is_canonical`); an expression that cannot be read raises
        `UnwrapFailedError`, a time without two colons `ValueError`
    :source: calendar.md section 1
    """
    match rule:
        case DailyRule(time=time):
            return WallPattern((_count_ms(time),))
        case WeeklyRule(time=time, weekdays=weekdays):
            return WallPattern((_count_ms(time),), weekdays=frozenset(day % 7 for day in weekdays))
        case CronRule(expression=expression):
            return make_cron_pattern(parse_cron(expression).unwrap())
        case _:
            assert_never(rule)


def make_cron_pattern(cron: CronExpression) -> WallPattern:
    """The local dates and times that an expression names.

    Where a day field begins with `*` a date must match both; otherwise one is enough.
    """
    minutes = (60 * hour + minute for hour in cron.hours for minute in cron.minutes)
    return WallPattern(
        times_ms=tuple(60_000 * minute for minute in minutes),
        days=frozenset(cron.days),
        months=frozenset(cron.months),
        weekdays=frozenset(cron.weekdays),
        either=not (cron.day_star or cron.weekday_star),
    )


def _is_lawful(pattern: WallPattern) -> bool:
    return has_date(pattern) and not comes_closer(pattern, 1000 * MIN_EVERY_SECONDS)


def _count_ms(time: str) -> int:
    hour, minute, second = time.split(":")
    return (int(hour) * 60 + int(minute)) * 60_000 + int(second.replace(".", ""))
