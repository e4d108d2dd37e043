"""What the guard is told: its limits, each configured or default (spec section 12).

This module decides which configuration is sound and names the field that is not. It refuses to read
files: the values come parsed, under the names of the seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.wakeups import RESET_KINDS
from wakefold.zones import canonicalize_zone

#: How a notice reaches the command that tells the owner.
NotifyVia = Literal["argument", "stdin"]


class QuietHours(Struct, frozen=True):
    """Hours by the clock of a zone in which nothing is delivered: `start` included, `end` excluded.

    Both count minutes of the day; an end before its start lies on the next day.
    """

    start_minutes: int
    end_minutes: int
    time_zone: str


class GuardConfig(Struct, frozen=True, kw_only=True):
    """The limits in force. `configured` names those that somebody chose, as the file writes them.

    `max_per_hour` at 0 or below switches the hourly cap off. `notify_cmd` is an argument vector.
    """

    max_consecutive_wakeups: float = 6
    max_per_day: float = 48
    max_per_hour: float = 4
    reset_kinds: tuple[str, ...] = RESET_KINDS
    min_repeating_interval_seconds: float = 1800
    day_boundary_offset_minutes: float = 0
    notify_cmd: tuple[str, ...] | None = None
    notify_via: NotifyVia = "argument"
    hold: bool = False
    quiet_hours: QuietHours | None = None
    configured: frozenset[str] = frozenset()


#: What holds where nobody says otherwise.
DEFAULT_CONFIG: Final = GuardConfig()


class ConfigFault(Struct, frozen=True):
    """A configuration that is not sound: the field, as the file writes it, and what is wrong."""

    field: str
    problem: str


def read_guard_config(values: Mapping[str, object]) -> Result[GuardConfig, ConfigFault]:
    """The configuration in parsed values; what is absent is default. Fails with the first bad field."""
    chosen: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _READERS:
            import difflib  # noqa: PLC0415 - for a misspelt field alone

            near = difflib.get_close_matches(name, _READERS, 1)
            meant = f"did you mean {near[0]}" if near else f"known are {', '.join(_READERS)}"
            return Failure(ConfigFault(name, f"is no field of the guard; {meant}"))
        attribute, read = _READERS[name]
        try:
            chosen[attribute] = read(value)
        except _Bad as bad:
            return Failure(ConfigFault(name, str(bad)))
    return Success(GuardConfig(**chosen, configured=frozenset(values)))


_DAY_MINUTES: Final = 1440
_CLOCK: Final = re.compile("([01][0-9]|2[0-3]):([0-5][0-9])")


class _Bad(Exception):
    """Carries what is wrong with a value, in words, to where its field is known."""


def _read_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Bad("must be a number")
    if not abs(value) < float("inf"):
        raise _Bad("must be a finite number")
    return value


def _read_limit(value: object) -> float:
    number = _read_number(value)
    if number < 0:
        raise _Bad("must not be negative")
    return number


def _read_offset(value: object) -> float:
    number = _read_number(value)
    if abs(number) > _DAY_MINUTES:
        raise _Bad(f"must lie within one day, {_DAY_MINUTES} minutes either way")
    return number


def _read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _Bad('must be a list of texts such as ["user", "a2a"]')
    return tuple(value)


def _read_command(value: object) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words:
        raise _Bad("must be a path, or a list that holds a path and its arguments")
    if not all(isinstance(word, str) and "\0" not in word for word in words) or words[0] == "":
        raise _Bad("must hold texts alone, the first of them a path")
    return tuple(words)


def _read_via(value: object) -> NotifyVia:
    if value == "argument":
        return "argument"
    if value == "stdin":
        return "stdin"
    raise _Bad('must be "argument" or "stdin"')


def _read_switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Bad("must be true or false")
    return value


def _read_quiet_hours(value: object) -> QuietHours:
    if not isinstance(value, dict) or value.keys() != {"from", "to", "timeZone"}:
        raise _Bad('must hold exactly from, to and timeZone, such as {from = "22:00", ...}')
    start, end = (_read_clock(value[name], name) for name in ("from", "to"))
    if start == end:
        raise _Bad("must not begin and end at the same minute")
    name = value["timeZone"]
    zone = canonicalize_zone(name) if isinstance(name, str) else None
    if zone is None:
        raise _Bad("needs a timeZone such as UTC or Europe/Berlin")
    return QuietHours(start, end, zone)


def _read_clock(value: object, name: str) -> int:
    minutes = parse_clock(value) if isinstance(value, str) else None
    if minutes is None:
        raise _Bad(f"needs a time such as 22:00 in {name}")
    return minutes


_READERS: Final[dict[str, tuple[str, Callable[[object], object]]]] = {
    "maxConsecutiveWakeups": ("max_consecutive_wakeups", _read_limit),
    "maxPerDay": ("max_per_day", _read_limit),
    "maxPerHour": ("max_per_hour", _read_number),
    "resetKinds": ("reset_kinds", _read_texts),
    "minRepeatingIntervalSeconds": ("min_repeating_interval_seconds", _read_limit),
    "dayBoundaryOffsetMinutes": ("day_boundary_offset_minutes", _read_offset),
    "notifyCmd": ("notify_cmd", _read_command),
    "notifyVia": ("notify_via", _read_via),
    "hold": ("hold", _read_switch),
    "quietHours": ("quiet_hours", _read_quiet_hours),
}

#: The fields as a file writes them.
FIELD_NAMES: Final = tuple(_READERS)


def config_values(config: GuardConfig) -> dict[str, object]:
    """Every field as a file would write it; what is not set is `None`."""
    quiet = config.quiet_hours
    shown: dict[str, object] = {
        "resetKinds": list(config.reset_kinds),
        "notifyCmd": None if config.notify_cmd is None else list(config.notify_cmd),
        "quietHours": None if quiet is None else _write_quiet_hours(quiet),
    }
    return {
        name: shown[name] if name in shown else getattr(config, attribute)
        for name, (attribute, _) in _READERS.items()
    }


def parse_clock(text: str) -> int | None:
    """The minute of the day that a time such as `22:00` names, `None` if it is none."""
    found = _CLOCK.fullmatch(text)
    return None if found is None else 60 * int(found[1]) + int(found[2])


def format_clock(minutes: int) -> str:
    """A minute of the day as a clock shows it."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _write_quiet_hours(quiet: QuietHours) -> dict[str, object]:
    return {
        "from": format_clock(quiet.start_minutes),
        "to": format_clock(quiet.end_minutes),
        "timeZone": quiet.time_zone,
    }
