"""From a caller's arguments to a record (spec section 5).

This module decides which requests are readable, in which order their faults are named, and which
record they make. It refuses to know the store and the clock: the caller brings one clock sample, the
id and what is known of the requester's zone.
"""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.events import AfterRecord, AtRecord, EveryRecord, Json, Record
from wakefold.implied_zones import RequestZone
from wakefold.instants import (
    MAX_SAFE_INTEGER,
    is_representable,
    read_safe_integer,
    trim,
)
from wakefold.ledger import Ledger
from wakefold.recurrence import MIN_EVERY_SECONDS, is_exhausted
from wakefold.rejections import (
    FrequencyTooHigh,
    InvalidPrompt,
    InvalidRule,
    InvalidSelector,
    NotFuture,
    Rejection,
    TimeOutOfRange,
    shorten,
)
from wakefold.times import resolve_at


class After(Struct, frozen=True, tag=True):
    """A delay in seconds from the clock sample."""

    after_seconds: int


class Every(Struct, frozen=True, tag=True):
    """A fixed rate in seconds; the first target is one interval after the clock sample."""

    every_seconds: int


class At(Struct, frozen=True, tag=True):
    """An absolute time as the caller gave it: offset text, or an object of local fields."""

    at: object


Rule = After | Every | At


class CreateRequest(Struct, frozen=True):
    """A readable request to create: the trimmed prompt and exactly one rule."""

    prompt: str
    rule: Rule


_SELECTORS = ("after_seconds", "at", "every_seconds")


def read_create_request(arguments: object) -> Result[CreateRequest, Rejection]:
    """The shape checks of a create that need no clock and no log, in the order of spec section 11.

    `arguments` is parsed JSON: `{prompt, after_seconds? | at? | every_seconds?}`, exactly one selector
    and no other key. What `at` says is looked at later, by `build_record`.
    """
    fields: Json = arguments if isinstance(arguments, dict) else {}
    given = [key for key in fields if key in _SELECTORS]
    if len(given) != 1 or not fields.keys() <= {"prompt", *_SELECTORS}:
        return Failure(InvalidSelector(keys=tuple(key for key in fields if key != "prompt")))
    prompt = trim_prompt(fields.get("prompt"))
    if prompt is None:
        return Failure(InvalidPrompt())
    return read_rule(given[0], fields[given[0]]).map(
        lambda rule: CreateRequest(prompt=prompt, rule=rule)
    )


def trim_prompt(value: object) -> str | None:
    """The trimmed prompt, or `None` if it is no text or nothing is left of it."""
    return (trim(value) or None) if isinstance(value, str) else None


def read_rule(selector: str, value: object) -> Result[Rule, Rejection]:
    """The rule of one selector: whole seconds above 0, whole seconds from 300, or any `at`."""
    if selector == "at":
        return Success(At(at=value))
    seconds = read_safe_integer(value)
    if selector == "after_seconds":
        if seconds is None or seconds <= 0:
            return Failure(InvalidRule(fault="not_positive_seconds", value=shorten(value)))
        return Success(After(after_seconds=seconds))
    if seconds is None:
        return Failure(InvalidRule(fault="not_whole_seconds", value=shorten(value)))
    if seconds < MIN_EVERY_SECONDS:
        return Failure(FrequencyTooHigh(every_seconds=seconds, minimum_seconds=MIN_EVERY_SECONDS))
    return Success(Every(every_seconds=seconds))


def build_record(
    request: CreateRequest, ledger: Ledger, now_ms: float, zone: RequestZone
) -> Result[Record, Rejection]:
    """The durable record that a request makes at one clock sample, under the session's next free id.

    `zone` is what spec 5.1 yields for a local time that names none. Fails with `time_out_of_range`
    where the target or the clock cannot be represented, and for a repeat when the gate is exhausted.
    """
    if isinstance(request.rule, Every) and is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
        return Failure(TimeOutOfRange())
    return make_record(request, allocate_id(ledger), now_ms, zone)


def make_record(
    request: CreateRequest, schedule_id: str, now_ms: float, zone: RequestZone
) -> Result[Record, Rejection]:
    """The record of a request under a given id, whatever the session's gate says."""
    now = read_safe_integer(now_ms)
    prompt, rule = request.prompt, request.rule
    match rule:
        case After(after_seconds=seconds):
            return _add_seconds(now, seconds).map(
                lambda target_ms: AfterRecord(schedule_id, prompt, seconds, target_ms)
            )
        case Every(every_seconds=seconds):
            return _add_seconds(now, seconds).map(
                lambda target_ms: EveryRecord(schedule_id, prompt, seconds, target_ms)
            )
        case At(at=at):
            return (
                resolve_at(at, now, zone)
                .bind(lambda target_ms: _require_future(target_ms, now))
                .map(lambda target_ms: AtRecord(schedule_id, prompt, target_ms))
            )
        case _:
            assert_never(rule)


def allocate_id(ledger: Ledger) -> str:
    """The next id of a session, `schedule-N`: counted from the ids ever seen, never one of them."""
    number = len(ledger.seen_ids) + 1
    while f"schedule-{number}" in ledger.seen_ids:
        number += 1
    return f"schedule-{number}"


def _add_seconds(now: int | None, seconds: int) -> Result[int, Rejection]:
    delay_ms = 1000 * seconds
    if now is None or delay_ms > MAX_SAFE_INTEGER or not is_representable(now + delay_ms):
        return Failure(TimeOutOfRange())
    return Success(now + delay_ms)


def _require_future(target_ms: int, now: int | None) -> Result[int, Rejection]:
    if now is None:
        return Failure(TimeOutOfRange())
    if target_ms <= now:
        return Failure(NotFuture(target_ms=target_ms, now_ms=now))
    return Success(target_ms)
