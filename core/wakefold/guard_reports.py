"""What the guard says: to the model, to the owner, and in the log of the process (spec section 12).

This module decides the wording alone. It refuses to decide anything else, and to know a model's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final, assert_never

from wakefold.events import Json
from wakefold.guard import Refusal, Stop
from wakefold.guard_config import GuardConfig, QuietHours, format_clock
from wakefold.instants import format_instant
from wakefold.json_text import format_json
from wakefold.records import RecurringRecord, find_interval

_PREFIX: Final = "schedule-guard"
_STOPPED: Final = "🔴 schedule-guard: stopped by the autonomous-wakeup limit."
_RESUME: Final = (
    "Resume: only by an external word "
    "(human or coordinator — any `resetKinds` message resets the counter)."
)
_NOT_APPLIED: Final = (
    "not applied to: wakeups by a human message (not a dispatch); "
    "an already-running turn (the cycle is stopped, not the turn); "
    "goal rounds and background jobs (not schedule dispatchers)"
)
_PROMPT_CHARACTERS_MAX: Final = 120


def describe_refusal(refusal: Refusal) -> str:
    """Why a reminder is not admitted, for the model that asked."""
    limit = _show_number(refusal.limit)
    minutes = count_minutes_until_free(refusal)
    if minutes is None:
        asked = _show_number(refusal.found)
        return f"repeating reminder no more often than every {limit}s (asked for {asked}s)"
    return f"hourly cap of {limit} autonomous wakeups reached: a slot frees in about {minutes} min"


def refusal_value(refusal: Refusal) -> Json:
    """The answer to the call: readable text, an error flag, and an error object for registries."""
    message = describe_refusal(refusal)
    info: Json = {"name": "ScheduleGuardError", "code": refusal.code}
    value: Json = {"code": refusal.code, "message": message}
    if refusal.free_in_ms is not None:
        value["secondsUntilFree"] = _count_until(refusal.free_in_ms, 1000)
        value["minutesUntilFree"] = count_minutes_until_free(refusal)
    return {
        **value,
        "content": [{"type": "text", "text": f"Error: {message}"}],
        "isError": True,
        "error": {"message": message, "info": info},
    }


def count_minutes_until_free(refusal: Refusal) -> int | None:
    """The minutes until a slot frees, rounded up, at least one; `None` where none is waited for."""
    return None if refusal.free_in_ms is None else _count_until(refusal.free_in_ms, 60_000)


def describe_reason(stop: Stop, config: GuardConfig) -> str:
    """Which limit was passed, in numbers."""
    limit = _show_number(stop.limit)
    match stop.key.reason:
        case "consecutive":
            kinds = ", ".join(map(_show_id, config.reset_kinds))
            row = f"{stop.consecutive} wakeups in a row without an external word"
            return f"{row} ({kinds}; limit {limit})"
        case "per_day":
            return f"{stop.per_day} wakeups today (limit {limit})"
        case "interval":
            intervals = ", ".join(f"{seconds}s" for seconds in stop.offending_seconds)
            return f"repeat faster than {limit}s (intervals: {intervals})"
        case _:
            assert_never(stop.key.reason)


def list_report(stop: Stop, config: GuardConfig, now_ms: int) -> tuple[str, ...]:
    """What the owner is told of a stop, line by line."""
    return (
        _STOPPED,
        f"Reason (in numbers): {describe_reason(stop, config)}",
        *_list_deleted(stop),
        f"Accomplished during the autonomous stretch: {stop.total} autonomous wakeups total",
        _RESUME,
        f"Time: {format_instant(now_ms)}",
    )


def format_stop_line(session_id: str, report: Sequence[str]) -> str:
    """The one line of a stop in the log of the process."""
    return f"{_PREFIX} [{_show_id(session_id)}]: {' | '.join(report)}"


def list_startup_lines(config: GuardConfig) -> tuple[str, ...]:
    """The limits in force, each configured or default, and what the guard is not applied to."""

    def show(name: str, value: str) -> str:
        return f"{name}={value} ({'configured' if name in config.configured else 'default'})"

    first = ", ".join(
        (
            show("maxConsecutiveWakeups", _show_number(config.max_consecutive_wakeups)),
            show("maxPerDay", _show_number(config.max_per_day)),
            show("minRepeatingIntervalSeconds", _show_number(config.min_repeating_interval_seconds)),
            show("dayBoundaryOffsetMinutes", _show_number(config.day_boundary_offset_minutes)),
            show("notifyCmd", _show_command(config)),
        )
    )
    second = ", ".join(
        (
            show("maxPerHour", _show_number(config.max_per_hour)),
            show("resetKinds", _escape(list(config.reset_kinds))),
        )
    )
    third = ", ".join(
        (
            show("hold", "on" if config.hold else "off"),
            show("quietHours", _show_quiet_hours(config.quiet_hours)),
        )
    )
    lines = [f"limits: {first}", f"limits: {second}"]
    if {"hold", "quietHours"} & config.configured:
        lines.append(f"holds: {third}")
    return tuple(f"{_PREFIX} [startup]: {line}" for line in (*lines, _NOT_APPLIED))


def format_session_line(session_id: str, total: int) -> str:
    """That a session is under guard, one of so many in this process."""
    return f"{_PREFIX} [startup]: session under guard: {_show_id(session_id)} (total {total})"


def format_line(session_id: str, text: str) -> str:
    """Anything else that the guard has to say of a session."""
    return f"{_PREFIX} [{_show_id(session_id)}]: {text}"


def _list_deleted(stop: Stop) -> tuple[str, ...]:
    if not stop.to_delete:
        return ("No repeating reminder was active (the loop ran on one-shots)",)
    return (
        "Deleted repeating reminders:",
        *map(_describe_record, stop.to_delete),
    )


def _describe_record(record: RecurringRecord) -> str:
    row = f"  - id {_show_id(record.id)}, interval {find_interval(record)}s"
    return f"{row}, text: {_quote(record.prompt)}"


def _show_id(schedule_id: str) -> str:
    """An id as it is, if it can stand in a line."""
    return schedule_id if schedule_id.isprintable() else _escape(schedule_id)


def _quote(prompt: str) -> str:
    """A prompt as one line of text that acts on no terminal, shortened."""
    if len(prompt) > _PROMPT_CHARACTERS_MAX:
        prompt = f"{prompt[: _PROMPT_CHARACTERS_MAX - 1]}…"
    return _escape(prompt)


def _escape(value: object) -> str:
    """JSON text without any character that is not printable."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in format_json(value))


def _show_number(number: float) -> str:
    """A number without a zero fraction; one that is not finite (`-1e400`) can be asked for, too."""
    return str(int(number) if number % 1 == 0 else number)


def _show_command(config: GuardConfig) -> str:
    if config.notify_cmd is None:
        return "unset (log only)"
    return " ".join(map(_show_id, config.notify_cmd))


def _show_quiet_hours(quiet: QuietHours | None) -> str:
    if quiet is None:
        return "none"
    start, end = format_clock(quiet.start_minutes), format_clock(quiet.end_minutes)
    return f"{start} to {end} {quiet.time_zone}"


def _count_until(free_in_ms: int, unit_ms: int) -> int:
    return max(1, ceil(free_in_ms / unit_ms))
