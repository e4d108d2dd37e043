"""Calendar rules as callers write them (calendar.md section 1).

This module decides which request is a rule and what its canonical form is, each refused with the first
fault in the order of the page: keys and types, shapes, zone, dates, spacing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from returns.result import Failure, Result, Success

from wakefold.calendar_rules import (
    CalendarRule,
    CronRule,
    DailyRule,
    WeeklyRule,
    are_weekdays,
    canonicalize_time,
    find_rule_spacing,
)
from wakefold.cron_expressions import CronFault, CronField, parse_cron
from wakefold.events import Json
from wakefold.implied_zones import RequestZone
from wakefold.instants import read_safe_integer
from wakefold.recurrence import MIN_EVERY_SECONDS
from wakefold.rejections import (
    FrequencyTooHigh,
    InvalidRule,
    InvalidTimeZone,
    Rejection,
    TimezoneConfirmationRequired,
    shorten,
)
from wakefold.rule_faults import RuleFault
from wakefold.zones import canonicalize_zone

#: The name of a calendar rule, in requests and in the log alike.
CalendarKind = Literal["daily", "weekly", "cron"]

#: The selectors of a request that are calendar rules.
CALENDAR_KINDS: Final[tuple[CalendarKind, ...]] = ("daily", "weekly", "cron")

#: For whoever asks of a rule everything but the zone that it leaves out.
ANY_ZONE: Final = RequestZone(implied="UTC", session_time_zone="UTC")

_Shaped = Result[Callable[[str], CalendarRule], Rejection]
_KEYS: Final[dict[CalendarKind, frozenset[str]]] = {
    "daily": frozenset({"time"}),
    "weekly": frozenset({"weekdays", "time"}),
    "cron": frozenset({"expression"}),
}
_KEY_FAULTS: Final[dict[CalendarKind, RuleFault]] = {
    "daily": "daily_keys",
    "weekly": "weekly_keys",
    "cron": "cron_keys",
}
_FIELD_FAULTS: Final[dict[CronField | None, RuleFault]] = {
    None: "cron_fields",
    "minute": "cron_minute",
    "hour": "cron_hour",
    "day": "cron_day",
    "month": "cron_month",
    "weekday": "cron_weekday",
}


def read_calendar_rule(
    kind: CalendarKind, value: object, zone: RequestZone
) -> Result[CalendarRule, Rejection]:
    """The canonical rule that a selector's value means.

    :shape: `value` is parsed JSON: `{time}`, `{weekdays, time}` or `{expression}`, each with
        `time_zone`, which may be left out where `zone` implies one
    :units: `weekdays` are ISO, Monday 1 to Sunday 7; `time` is local, to the millisecond
    :errors: `Failure` of `invalid_rule` (keys, shape, no date ever), `invalid_time_zone`,
        `timezone_confirmation_required` or `frequency_too_high` (times nearer than 300 s), the first
        that holds
    :source: calendar.md section 1
    """
    fields: Json = value if isinstance(value, dict) else {}
    if fields.keys() | {"time_zone"} != _KEYS[kind] | {"time_zone"}:
        return Failure(_fault(_KEY_FAULTS[kind], value))
    named = fields.get("time_zone", zone.implied)
    if "time_zone" in fields and not isinstance(named, str):
        return Failure(InvalidTimeZone(value=shorten(named)))
    shaped = _read_cron(fields) if kind == "cron" else _read_timed(kind, fields)
    if named is None:
        return shaped.bind(lambda _: _ask_for_zone(zone))
    return shaped.bind(lambda make: _read_zone(str(named)).map(make)).bind(_check_times)


def _read_timed(kind: CalendarKind, fields: Json) -> _Shaped:
    text = fields["time"]
    time = canonicalize_time(text) if isinstance(text, str) else None
    if time is None:
        return Failure(_fault("rule_time", text))
    if kind == "daily":
        return Success(lambda name: DailyRule(time, name))
    given = fields["weekdays"]
    days = [read_safe_integer(day) for day in given] if isinstance(given, list) else []
    weekdays = tuple(day for day in days if day is not None)
    if len(weekdays) != len(days) or not are_weekdays(weekdays):
        return Failure(_fault("weekdays", given))
    return Success(lambda name: WeeklyRule(tuple(sorted(weekdays)), time, name))


def _read_cron(fields: Json) -> _Shaped:
    text = fields["expression"]
    if not isinstance(text, str):
        return Failure(_fault("cron_fields", text))

    def explain(fault: CronFault) -> Rejection:
        return _fault(_FIELD_FAULTS[fault.field], fault.text)

    return parse_cron(text).alt(explain).map(lambda cron: lambda name: CronRule(cron.canonical, name))


def _read_zone(name: str) -> Result[str, Rejection]:
    zone = canonicalize_zone(name)
    return Failure(InvalidTimeZone(value=shorten(name))) if zone is None else Success(zone)


def _check_times(rule: CalendarRule) -> Result[CalendarRule, Rejection]:
    seconds = find_rule_spacing(rule)
    if seconds is None:
        return Failure(
            _fault("no_date_ever", rule.expression if isinstance(rule, CronRule) else rule.time)
        )
    if seconds < MIN_EVERY_SECONDS:
        return Failure(FrequencyTooHigh(every_seconds=seconds, minimum_seconds=MIN_EVERY_SECONDS))
    return Success(rule)


def _ask_for_zone(zone: RequestZone) -> Result[CalendarRule, Rejection]:
    return Failure(TimezoneConfirmationRequired(zone.session_time_zone, zone.client_time_zones))


def _fault(fault: RuleFault, value: object) -> InvalidRule:
    return InvalidRule(fault=fault, value=shorten(value))
