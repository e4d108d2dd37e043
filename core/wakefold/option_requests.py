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
from wakefold.instants import trim
from wakefold.records import Missed, Record
from wakefold.rejections import InvalidRule, LogFault, NotFuture, Rejection, TimeOutOfRange, shorten
from wakefold.rule_faults import RuleFault
from wakefold.stored_records import read_max_runs, read_missed, read_title
from wakefold.stored_values import read_interval_seconds
from wakefold.times import resolve_at
from wakefold.transitions import check_options

#: The arguments that are options.
OPTION_NAMES: Final = ("title", "max_runs", "until", "missed", "grace_seconds")


class AskedOptions(Struct, frozen=True):
    """Options as they were asked for: `until` is any form of `at`, `None` takes an option away."""

    title: str | UnsetType | None = UNSET
    max_runs: int | UnsetType | None = UNSET
    until: object = UNSET
    missed: Missed | UnsetType | None = UNSET
    grace_seconds: int | UnsetType | None = UNSET


#: No option.
NOTHING_ASKED: Final = AskedOptions()


def read_options(fields: Json, *, nullable: bool) -> Result[AskedOptions, Rejection]:
    """The options among arguments; what `until` says is looked at later, by `resolve_options`."""
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
        try:
            read[name] = read_value(value, "$")
        except LogFault:
            return Failure(InvalidRule(fault=fault, value=shorten(value)))
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


def _read_trimmed_title(value: object, path: str) -> str:
    return read_title(trim(value) if isinstance(value, str) else value, path)


_READERS: Final[dict[str, tuple[RuleFault, Callable[[object, str], object]]]] = {
    "title": ("title", _read_trimmed_title),
    "max_runs": ("max_runs", read_max_runs),
    "missed": ("missed", read_missed),
    "grace_seconds": ("grace_seconds", read_interval_seconds),
}
_TOGETHER: Final[dict[str, RuleFault]] = {
    "option_of_recurring": "option_of_recurring",
    "grace_without_skip": "grace_without_skip",
    "ended_by_option": "ended_by_option",
}
