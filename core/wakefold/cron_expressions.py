"""Cron expressions of five fields, by a grammar that has no dialects.

This module decides which text is an expression, which values each field stands for and how the
expression is stored. It refuses to know dates: which days the fields mean together is the business of
`wall_patterns`.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct
from returns.result import Failure, Result, Success

#: The longest expression that is read.
CHARACTERS_MAX: Final = 1_000

#: The five fields, in the order of the text.
CronField = Literal["minute", "hour", "day", "month", "weekday"]


class CronExpression(Struct, frozen=True):
    """The values of each field, ascending (Sunday is weekday 0), and the text that is stored.

    `day_star` and `weekday_star` tell that the field begins with `*`, which decides how both go
    together.
    """

    canonical: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    day_star: bool
    weekday_star: bool


class CronFault(Struct, frozen=True):
    """What cannot be read: the text of one field, or without a field the whole expression."""

    field: CronField | None
    text: str


class _Kind(Struct, frozen=True):
    """What one field may hold."""

    name: CronField
    least: int
    most: int
    names: str = ""
    first_name: int = 0


_KINDS: Final = (
    _Kind("minute", 0, 59),
    _Kind("hour", 0, 23),
    _Kind("day", 1, 31),
    _Kind("month", 1, 12, "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1),
    _Kind("weekday", 0, 7, "SUN MON TUE WED THU FRI SAT"),
)
_SUNDAY_TOO: Final = 7
_VALUE: Final = "[0-9]+|[A-Za-z]{3}"
_ITEM: Final = re.compile(
    rf"(?:(?P<star>\*)|(?P<first>{_VALUE})(?:-(?P<last>{_VALUE}))?)(?:/(?P<step>[0-9]+))?"
)
_RUN_LENGTH: Final = 3


class _Unreadable(Exception):
    """A field is none."""


def parse_cron(text: str) -> Result[CronExpression, CronFault]:
    """The expression that a text is: minute, hour, day of month, month, day of week.

    A field is a comma list of `*`, a value, or a range `a-b`, the first and the last also with a step
    `/n` that counts from the range's start. Months and weekdays may be named by three letters.

    :shape: text of five fields separated by spaces or tabs, at most 1,000 characters
    :units: minute 0 to 59, hour 0 to 23, day 1 to 31, month 1 to 12, weekday 0 to 7 (0 and 7 are
        Sunday)
    :errors: `Failure` of a `CronFault` that names the field, or none where there are not five or the
        text is too long; dates and spacing are not looked at (`read_calendar_rule`)
    :source: calendar.md section 1
    """
    fields = re.split("[ \t]+", text.strip(" \t"))
    if len(text) > CHARACTERS_MAX or len(fields) != len(_KINDS):
        return Failure(CronFault(None, text))
    values, written = [], []
    for kind, field in zip(_KINDS, fields, strict=True):
        try:
            found = _read_field(kind, field)
        except _Unreadable:
            return Failure(CronFault(kind.name, field))
        values.append(found)
        written.append(_write_star(kind, field) if field.startswith("*") else _write_values(found))
    minutes, hours, days, months, weekdays = values
    return Success(
        CronExpression(
            canonical=" ".join(written),
            minutes=minutes,
            hours=hours,
            days=days,
            months=months,
            weekdays=weekdays,
            day_star=fields[2].startswith("*"),
            weekday_star=fields[4].startswith("*"),
        )
    )


def _read_field(kind: _Kind, field: str) -> tuple[int, ...]:
    values: set[int] = set()
    for item in field.split(","):
        found = _ITEM.fullmatch(item)
        if found is None:
            raise _Unreadable
        values.update(_read_item(kind, found))
    return tuple(sorted({0 if kind.most == value == _SUNDAY_TOO else value for value in values}))


def _read_item(kind: _Kind, found: re.Match[str]) -> range:
    step = 1 if found["step"] is None else int(found["step"])
    if step == 0:
        raise _Unreadable
    if found["star"] is not None:
        return range(kind.least, kind.most + 1, step)
    first = _read_value(kind, found["first"])
    if found["last"] is None:
        if found["step"] is not None:
            raise _Unreadable
        return range(first, first + 1)
    last = _read_value(kind, found["last"])
    if last < first:
        raise _Unreadable
    return range(first, last + 1, step)


def _read_value(kind: _Kind, text: str) -> int:
    names = kind.names.split()
    if text.upper() in names:
        return kind.first_name + names.index(text.upper())
    if not text.isdecimal() or not kind.least <= (value := int(text)) <= kind.most:
        raise _Unreadable
    return value


def _write_star(kind: _Kind, field: str) -> str:
    """A field that begins with `*`, as it was given, names and leading zeros apart."""

    def write(found: re.Match[str]) -> str:
        text = found[0]
        return str(int(text) if text.isdecimal() else _read_value(kind, text))

    return re.sub(_VALUE, write, field)


def _write_values(values: tuple[int, ...]) -> str:
    """Values in ascending order, runs of three or more as ranges."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) >= _RUN_LENGTH else ",".join(map(str, run)) for run in runs
    )
