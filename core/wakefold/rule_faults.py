"""What can be wrong with the rule of a request, and how that reads.

This module decides the sentences of `invalid_rule`: what was given, and what could be given instead. It
refuses to know how the fault was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

#: Each way in which a request's rule can be wrong.
RuleFault = Literal[
    "not_positive_seconds",
    "not_whole_seconds",
    "at_shape",
    "at_keys",
    "at_date",
    "at_time",
    "no_such_date",
    "local_time_skipped",
    "not_trimmed_id",
    "daily_keys",
    "weekly_keys",
    "cron_keys",
    "rule_time",
    "weekdays",
    "cron_fields",
    "cron_minute",
    "cron_hour",
    "cron_day",
    "cron_month",
    "cron_weekday",
    "no_date_ever",
    "option_null",
    "title",
    "max_runs",
    "missed",
    "grace_seconds",
    "revision",
    "paused",
    "snooze_range",
    "option_of_recurring",
    "grace_without_skip",
    "ended_by_option",
]

_FORMS: Final = (
    "2027-02-01T09:00:00Z, 2027-02-01T09:00:00+01:00, or "
    '{"date": "2027-02-01", "time": "09:00:00", "time_zone": "Europe/Berlin"}'
)
_CRON_FIELD: Final = (
    "The {} of expression takes *, numbers from {}, ranges such as {}, steps such as */2, "
    "and lists of those with commas"
)
_ASKED: Final[dict[RuleFault, str]] = {
    "not_positive_seconds": "after_seconds must be a whole number above 0",
    "not_whole_seconds": "every_seconds must be a whole number",
    "at_shape": f"at takes forms such as {_FORMS}",
    "at_keys": f"at takes forms such as {_FORMS}",
    "at_date": "date must read like 2027-02-01",
    "at_time": "time must read like 09:00:00 or 09:00:00.000",
    "not_trimmed_id": "An id is non-empty text without white space around it",
    "daily_keys": 'daily takes {"time": "09:00:00", "time_zone": "Europe/Berlin"}',
    "weekly_keys": (
        'weekly takes {"weekdays": [1, 5], "time": "09:00:00", "time_zone": "Europe/Berlin"}'
    ),
    "cron_keys": 'cron takes {"expression": "0 9 * * 1-5", "time_zone": "Europe/Berlin"}',
    "rule_time": "time must read like 09:00:00 or 09:00:00.000",
    "weekdays": "weekdays is a list of numbers from 1 (Monday) to 7 (Sunday), each once",
    "cron_fields": "expression must have five fields: minute, hour, day of month, month, day of week",
    "cron_minute": _CRON_FIELD.format("minute", "0-59", "0-59"),
    "cron_hour": _CRON_FIELD.format("hour", "0-23", "0-23"),
    "cron_day": _CRON_FIELD.format("day of month", "1-31", "1-31"),
    "cron_month": _CRON_FIELD.format("month", "1-12", "1-12"),
    "cron_weekday": _CRON_FIELD.format("day of week", "0-7", "0-7"),
    "option_null": "An option that is not wanted is left out, and never null",
    "title": "title is text of 1 to 120 characters",
    "max_runs": "max_runs is a whole number above 0",
    "missed": "missed is latest or skip",
    "grace_seconds": "grace_seconds is a whole number from 300",
    "revision": "revision is a whole number from 0, as schedule_list gave it",
    "paused": "paused is true or false",
    "snooze_range": "snooze_until lies after the target, before the next occurrence and not past until",
}
_SAID: Final[dict[RuleFault, str]] = {
    "option_of_recurring": "max_runs and until are for reminders that repeat: leave them out.",
    "grace_without_skip": "grace_seconds goes with missed: skip, and only with that: give both.",
    "ended_by_option": "max_runs and until must leave an occurrence: delete the reminder instead.",
}


def describe_rule_fault(fault: RuleFault, value: str, alternatives: Sequence[str]) -> str:
    """One sentence; `value` is what was given, `alternatives` are what would be readable."""
    if fault == "no_such_date":
        return f"{value} is no real date and time: look at the calendar."
    if fault == "no_date_ever":
        return f"No date ever matches {value}: look at the day and the month."
    if fault == "local_time_skipped":
        return f"{value} does not exist, the clocks skip it: use {' or '.join(alternatives)}."
    if fault in _SAID:
        return _SAID[fault]
    near = "".join(f" An hour from now is {text}." for text in alternatives)
    return f"{_ASKED[fault]} (given {value}).{near}"
