"""The options of a reminder as callers write them (calendar.md section 3).

This module decides which argument is a title, a number of runs, an end, or says what becomes of late
occurrences. Whether they may stand together, and with which rule, is the business of `transitions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import UNSET, Struct, UnsetType
from returns.result import Failure, Result, Success

from wakefold.edits import Changes
from wakefold.events import Json
from wakefold.implied_zones import RequestZone
from wakefold.instants import read_safe_integer, trim
from wakefold.records import Missed, Record
from wakefold.rejections import InvalidRule, LogFault, NotFuture, Rejection, TimeOutOfRange, shorten
from wakefold.rule_faults import RuleFault
from wakefold.stored_records import TITLE_CHARACTERS_MAX
from wakefold.stored_values import read_interval_seconds
from wakefold.times import resolve_at
from wakefold.transitions import check_options

OPTION_NAMES: Final = ("title", "max_runs", "until", "missed", "grace_seconds")
"""The arguments that are options."""


class AskedOptions(Struct, frozen=True):
    """Options as they were asked for: `until` is any form of `at`, `None` takes an option away."""

    title: str | UnsetType | None = UNSET
    max_runs: int | UnsetType | None = UNSET
    until: object = UNSET
    missed: Missed | UnsetType | None = UNSET
    grace_seconds: int | UnsetType | None = UNSET


NOTHING_ASKED: Final = AskedOptions()
"""No option."""


def read_options(fields: Json, *, nullable: bool) -> Result[AskedOptions, Rejection]:
    """The options among arguments; what `until` says is looked at later, by `read_instant`."""
    read: dict[str, object] = {}
    for name in OPTION_NAMES:
        if name not in fields:
            continue
        value = fields[name]
        if value is None:
            if not nullable:
                return Failure(InvalidRule(fault="option_null", value=name))
            read[name] = None
            continue
        if name == "until":
            read[name] = value
            continue
        fault, read_value = _READERS[name]
        found = read_value(value)
        if found is None:
            return Failure(InvalidRule(fault=fault, value=shorten(value)))
        read[name] = found
    return Success(AskedOptions(**read))  # type: ignore[arg-type]  # each was read as its field's type


def resolve_options(
    asked: AskedOptions, now_ms: int | None, zone: RequestZone
) -> Result[Changes, Rejection]:
    """The same with `until` as an instant, which must be future."""

    def state(until_ms: int | UnsetType | None) -> Changes:
        return Changes(
            title=asked.title,
            max_runs=asked.max_runs,
            until_ms=until_ms,
            missed=asked.missed,
            grace_seconds=asked.grace_seconds,
        )

    if asked.until is None:
        return Success(state(None))
    if asked.until is UNSET:
        return Success(state(UNSET))
    return resolve_future(asked.until, now_ms, zone).map(state)


def resolve_future(at: object, now_ms: int | None, zone: RequestZone) -> Result[int, Rejection]:
    """The instant (epoch ms) of an `at`, which must be strictly future."""

    def require(target_ms: int) -> Result[int, Rejection]:
        if now_ms is None:
            return Failure(TimeOutOfRange())
        if target_ms <= now_ms:
            return Failure(NotFuture(target_ms=target_ms, now_ms=now_ms))
        return Success(target_ms)

    return resolve_at(at, now_ms, zone).bind(require)


def require_options(record: Record) -> Result[Record, Rejection]:
    """The record itself if its options may stand together and let it occur."""
    try:
        return Success(check_options(record))
    except LogFault as fault:
        return Failure(explain_options(fault, record.id))


def explain_options(fault: LogFault, schedule_id: str) -> InvalidRule:
    """What would be corrupt in a log, as the caller's fault."""
    return InvalidRule(fault=_TOGETHER[fault.rule], value=shorten(schedule_id))


def is_local(value: object) -> bool:
    """Whether a value is a local time that names no zone."""
    return isinstance(value, dict) and "time_zone" not in value


def _read_title(value: object) -> str | None:
    title = trim(value) if isinstance(value, str) else ""
    return title if 0 < len(title) <= TITLE_CHARACTERS_MAX else None


def _read_max_runs(value: object) -> int | None:
    runs = read_safe_integer(value)
    return None if runs is None or runs < 1 else runs


def _read_missed(value: object) -> Missed | None:
    return value if value == "latest" or value == "skip" else None  # noqa: PLR1714 - told apart by type


def _read_grace_seconds(value: object) -> int | None:
    try:
        return read_interval_seconds(value, "$")
    except LogFault:
        return None


_READERS: Final[dict[str, tuple[RuleFault, Callable[[object], object]]]] = {
    "title": ("title", _read_title),
    "max_runs": ("max_runs", _read_max_runs),
    "missed": ("missed", _read_missed),
    "grace_seconds": ("grace_seconds", _read_grace_seconds),
}
_TOGETHER: Final[dict[str, RuleFault]] = {
    "option_of_recurring": "option_of_recurring",
    "grace_without_skip": "grace_without_skip",
    "ended_by_option": "ended_by_option",
}
