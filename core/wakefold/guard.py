"""What the guard decides: whom to admit, what to reap, how long to hold (spec section 12).

A governor for a cooperative loop: it caps how often an agent may wake itself, by counts that come from
the log alone. It is no security boundary. Admission sees the calls that pass the tools; the reaper sees
what any route has made; both stay. Every decision carries the numbers that it used; this module refuses
to do anything about them, and to word them (`guard_reports` does).
"""

from __future__ import annotations

from math import ceil
from typing import Final, Literal

from msgspec import Struct

from wakefold.calendar_requests import ANY_ZONE, CALENDAR_KINDS, read_calendar_rule
from wakefold.calendar_rules import find_rule_spacing
from wakefold.events import Event, Json
from wakefold.guard_config import GuardConfig, QuietHours
from wakefold.instants import MAX_INSTANT_MS
from wakefold.ledger import Ledger, find_shortest_interval, list_active
from wakefold.outcomes import either
from wakefold.records import RecurringRecord, find_interval, is_recurring
from wakefold.wakeups import (
    COUNTED_TYPES,
    DAY_MS,
    HOUR_MS,
    NO_WAKEUPS,
    Wakeups,
    find_day_start,
    follow_wakeups,
)
from wakefold.zones import find_clock_instant, read_clock_minutes

#: The codes of a refusal.
RefusalCode = Literal["SCHEDULE_HOURLY_CAP", "SCHEDULE_TOO_FREQUENT"]
#: The limits that end a loop: the streak, the day, the spacing.
StopReason = Literal["consecutive", "per_day", "interval"]


#: The tools that pass admission.
ADMITTED_TOOLS: Final = frozenset({"schedule_create", "schedule_update"})


class Refusal(Struct, frozen=True):
    """Why a `schedule_create` is not admitted, with the numbers used.

    For the hourly cap `limit` is the cap, `found` the wakeups of the last hour and `free_in_ms` the
    time until the oldest of them leaves it; for a repeat `limit` is the floor and `found` what was
    asked for, both in seconds.
    """

    code: RefusalCode
    limit: float
    found: float
    free_in_ms: int | None = None


def admit(
    wakeups: Wakeups, config: GuardConfig, tool: str, arguments: object, now_ms: int
) -> Refusal | None:
    """Why a tool call is refused before it runs, if it is. Streak and day are not looked at.

    :shape: the tool's name and its parsed JSON arguments in; any other tool passes, and a spacing that
        cannot be read is the tool's to refuse
    :units: `now_ms` is epoch milliseconds UTC; a `Refusal` counts wakeups or seconds
    :errors: none: a `Refusal` is a value, `None` admits (`SCHEDULE_HOURLY_CAP` is looked at before
        `SCHEDULE_TOO_FREQUENT`)
    :source: spec section 12; calendar.md section 3
    """
    if tool not in ADMITTED_TOOLS:
        return None
    hour_ago_ms = now_ms - HOUR_MS
    recent, oldest_ms = wakeups.count_since(hour_ago_ms), wakeups.find_since(hour_ago_ms)
    if oldest_ms is not None and 0 < config.max_per_hour <= recent:
        free_in_ms = oldest_ms - hour_ago_ms
        return Refusal("SCHEDULE_HOURLY_CAP", config.max_per_hour, recent, free_in_ms)
    floor = config.min_repeating_interval_seconds
    asked = _find_interval(arguments) if isinstance(arguments, dict) else None
    return None if asked is None or asked >= floor else Refusal("SCHEDULE_TOO_FREQUENT", floor, asked)


def _find_interval(arguments: Json) -> float | None:
    """The seconds between repeats that are asked for, if that can be read; the tool judges the rest."""
    every = arguments.get("every_seconds")
    if isinstance(every, int | float) and not isinstance(every, bool):
        return every
    for kind in CALENDAR_KINDS:
        if kind in arguments:
            rule = read_calendar_rule(kind, arguments[kind], ANY_ZONE)
            return either(rule, find_rule_spacing, lambda _: None)
    return None


class StopKey(Struct, frozen=True):
    """What makes two trips one stop: the reason, and the last external word, the day, or the ids."""

    reason: StopReason
    since: int | None = None
    ids: frozenset[str] = frozenset()


class Guard(Struct, frozen=True, kw_only=True):
    """What the guard knows of a session: its limits, the wakeups of the own suffix, the stops told."""

    config: GuardConfig
    seed_length: int = 0
    wakeups: Wakeups = NO_WAKEUPS
    told: frozenset[StopKey] = frozenset()


def watch(guard: Guard, event: Event) -> Guard:
    """The guard after one more event of the log; what a fork inherited does not count."""
    if event.type not in COUNTED_TYPES or event.seq < guard.seed_length:
        return guard
    wakeups = follow_wakeups(guard.wakeups, event, guard.config.reset_kinds)
    return Guard(config=guard.config, seed_length=guard.seed_length, wakeups=wakeups, told=guard.told)


def note_told(guard: Guard, *keys: StopKey) -> Guard:
    """The guard that has told of stops; it does not tell of them again."""
    return Guard(
        config=guard.config,
        seed_length=guard.seed_length,
        wakeups=guard.wakeups,
        told=guard.told.union(keys),
    )


class Stop(Struct, frozen=True):
    """A limit is passed: which, with every number, and the repeating records to delete.

    `offending_seconds` are the distinct intervals of the records that are too fast, in create order.
    """

    key: StopKey
    limit: float
    consecutive: int
    per_day: int
    total: int
    to_delete: tuple[RecurringRecord, ...]
    offending_seconds: tuple[int, ...]


def reap(wakeups: Wakeups, ledger: Ledger, config: GuardConfig, now_ms: int) -> Stop | None:
    """The stop that an idle session has come to, if any; only the first limit that is passed is named.

    Records that are too fast are deleted alone; where none is, all repeating records are. One-shots
    never are.

    :shape: a `Stop` with the records to delete, or `None`
    :units: `now_ms` is epoch milliseconds UTC; `limit` counts wakeups, for the spacing seconds, as
        `offending_seconds` does
    :errors: none: a `Stop` is a value; it deletes nothing itself
    :source: spec section 12
    """
    day_start_ms = find_day_start(now_ms, config.day_boundary_offset_minutes)
    per_day = wakeups.count_since(day_start_ms)
    floor = config.min_repeating_interval_seconds
    fastest = find_shortest_interval(ledger)
    if not ledger.seen_ids and not wakeups.total:
        return None
    within = wakeups.consecutive <= config.max_consecutive_wakeups and per_day <= config.max_per_day
    if within and (fastest is None or fastest >= floor):
        return None
    recurring = tuple(record for record in list_active(ledger) if is_recurring(record))
    too_fast = tuple(record for record in recurring if find_interval(record) < floor)
    if within and not too_fast:
        return None
    if wakeups.consecutive > config.max_consecutive_wakeups:
        key, limit = StopKey("consecutive", wakeups.word_seq), config.max_consecutive_wakeups
    elif per_day > config.max_per_day:
        key, limit = StopKey("per_day", day_start_ms), config.max_per_day
    else:
        key, limit = StopKey("interval", ids=frozenset(record.id for record in too_fast)), floor
    return Stop(
        key=key,
        limit=limit,
        consecutive=wakeups.consecutive,
        per_day=per_day,
        total=wakeups.total,
        to_delete=too_fast or recurring,
        offending_seconds=tuple(dict.fromkeys(map(find_interval, too_fast))),
    )


def resume_guard(guard: Guard, ledger: Ledger, now_ms: int) -> Guard:
    """The guard after a restart: a trip that has nothing left to delete is taken for told."""
    stop = reap(guard.wakeups, ledger, guard.config, now_ms)
    return guard if stop is None or stop.to_delete else note_told(guard, stop.key)


def find_not_before(guard: Guard, now_ms: int) -> int | None:
    """The hold as the planner takes it: nothing is dispatched before that instant."""
    hold = find_hold(guard.wakeups, guard.config, now_ms)
    if hold is None:
        return None
    return UNTIL_A_WORD if hold.until_ms is None else hold.until_ms


#: An instant that never comes: there is nothing to wake for, an external word is the next activity.
UNTIL_A_WORD: Final = MAX_INSTANT_MS + 1


class Hold(Struct, frozen=True):
    """Delivery waits until an instant, or (`None`) until the next external word."""

    until_ms: int | None


def find_hold(wakeups: Wakeups, config: GuardConfig, now_ms: int) -> Hold | None:
    """What holds delivery at an instant, if anything: the limits with `hold`, and the quiet hours.

    Of several the longest counts.
    """
    until_ms: list[int] = []
    if config.hold:
        if wakeups.consecutive >= config.max_consecutive_wakeups:
            return Hold(None)
        until_ms += _hold_by_limits(wakeups, config, now_ms)
    if config.quiet_hours is not None:
        until_ms += _hold_by_clock(config.quiet_hours, now_ms)
    return Hold(max(until_ms)) if until_ms else None


def _hold_by_limits(wakeups: Wakeups, config: GuardConfig, now_ms: int) -> list[int]:
    until_ms = []
    hour_ago_ms = now_ms - HOUR_MS
    used_up = wakeups.count_since(hour_ago_ms) - ceil(config.max_per_hour)
    if config.max_per_hour > 0 and used_up >= 0:
        recent_ms = sorted(wakeups.list_since(hour_ago_ms))
        until_ms.append(recent_ms[used_up] + HOUR_MS + 1)
    day_start_ms = find_day_start(now_ms, config.day_boundary_offset_minutes)
    if wakeups.count_since(day_start_ms) >= config.max_per_day:
        until_ms.append(day_start_ms + DAY_MS)
    return until_ms


def _hold_by_clock(quiet: QuietHours, now_ms: int) -> list[int]:
    """The end of the quiet hours that an instant lies in."""
    minutes = read_clock_minutes(now_ms, quiet.time_zone)
    if minutes is None:
        return []
    into = (minutes - quiet.start_minutes) % 1440
    if into >= (quiet.end_minutes - quiet.start_minutes) % 1440:
        return []
    end_ms = find_clock_instant(now_ms, quiet.end_minutes, quiet.time_zone)
    return [] if end_ms is None else [end_ms]
