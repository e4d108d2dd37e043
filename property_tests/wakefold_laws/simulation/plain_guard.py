"""The guard read a second time and plainly, by the numbers of a chronicle (spec section 12).

This module says what the guard has to refuse, to delete and to hold, in words of its own and without
the core's; it refuses to say what a shell makes of it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from wakefold.guard_config import GuardConfig
from wakefold.wakeups import DAY_MS, HOUR_MS
from wakefold_laws.simulation.chronicles import Chronicle
from wakefold_laws.simulation.plain_calendars import find_spacing_seconds, read_rule


def find_refusal(
    limits: GuardConfig | None,
    chronicle: Chronicle,
    now_ms: int,
    arguments: Any,  # noqa: ANN401 - JSON
) -> str | None:
    """Why a create or an update has to be refused, in words; `None` if it must not be."""
    if limits is None:
        return None
    used = chronicle.count_wakeups(now_ms - HOUR_MS)
    if 0 < limits.max_per_hour <= used:
        return f"there were {used} wakeups in the last hour"
    every = _find_spacing(arguments)
    if every is not None and every < limits.min_repeating_interval_seconds:
        return f"it comes every {every} s"
    return None


def list_reapable(limits: GuardConfig | None, chronicle: Chronicle, now_ms: int) -> list[str]:
    """The repeating reminders that have to be deleted once the agent is idle."""
    if limits is None:
        return []
    over_day = chronicle.count_wakeups(_find_day(limits, now_ms)) > limits.max_per_day
    if chronicle.streak <= limits.max_consecutive_wakeups and not over_day:
        return []
    return [name for name, found in chronicle.active.items() if found.repeats]


def find_hold_reason(limits: GuardConfig | None, chronicle: Chronicle, now_ms: int) -> str | None:
    """Why nothing may be handed over, in words; `None` if it may."""
    if limits is None:
        return None
    if limits.hold:
        if chronicle.streak >= limits.max_consecutive_wakeups:
            return f"there were {chronicle.streak} wakeups without a word"
        if 0 < limits.max_per_hour <= chronicle.count_wakeups(now_ms - HOUR_MS):
            return "the hour is used up"
        if chronicle.count_wakeups(_find_day(limits, now_ms)) >= limits.max_per_day:
            return "the day is used up"
    quiet = limits.quiet_hours
    if quiet is None:
        return None
    local = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(ZoneInfo(quiet.time_zone))
    minutes = local.hour * 60 + local.minute
    into = (minutes - quiet.start_minutes) % 1440
    if into < (quiet.end_minutes - quiet.start_minutes) % 1440:
        return f"it is {local:%H:%M} in {quiet.time_zone}"
    return None


def _find_spacing(arguments: Any) -> int | None:  # noqa: ANN401 - JSON
    for kind in ("daily", "weekly", "cron"):
        if kind in arguments:
            asked = arguments[kind]
            rule = read_rule({"kind": kind, **asked, "timeZone": asked.get("time_zone", "UTC")})
            return None if rule is None else find_spacing_seconds(rule)
    every: int | None = arguments.get("every_seconds")
    return every


def _find_day(limits: GuardConfig, now_ms: int) -> int:
    offset_ms = int(limits.day_boundary_offset_minutes * 60_000)
    return now_ms - (now_ms + offset_ms) % DAY_MS
