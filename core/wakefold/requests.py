"""From a caller's arguments to a record (spec section 5).

This module decides which requests are readable, in which order their faults are named, and which
record they make. It refuses to know the store and the clock: the caller brings one clock sample, the
id and what is known of the requester's zone.
"""

from __future__ import annotations

from typing import Final, assert_never

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.calendar_requests import ANY_ZONE, CALENDAR_KINDS, CalendarKind, read_calendar_rule
from wakefold.calendar_rules import CalendarRule, make_pattern
from wakefold.calendars import find_next
from wakefold.edits import Changes
from wakefold.events import Json, Record
from wakefold.implied_zones import RequestZone
from wakefold.instants import MAX_SAFE_INTEGER, is_representable, read_safe_integer, trim
from wakefold.ledger import Ledger
from wakefold.option_requests import (
    NOTHING_ASKED,
    OPTION_NAMES,
    AskedOptions,
    is_local,
    read_options,
    require_options,
    resolve_future,
    resolve_options,
)
from wakefold.records import (
    EDITABLE,
    FRESH,
    PLAIN,
    AfterRule,
    AtRule,
    EveryRule,
    StoredRule,
    assemble_record,
)
from wakefold.recurrence import MIN_EVERY_SECONDS, is_exhausted
from wakefold.rejections import (
    FrequencyTooHigh,
    InvalidPrompt,
    InvalidRule,
    InvalidSelector,
    Rejection,
    TimeOutOfRange,
    shorten,
)
from wakefold.transitions import change_options


class After(Struct, frozen=True, tag=True):
    """A delay in seconds from the clock sample."""

    after_seconds: int


class Every(Struct, frozen=True, tag=True):
    """A fixed rate in seconds; the first target is one interval after the clock sample."""

    every_seconds: int


class At(Struct, frozen=True, tag=True):
    """An absolute time as the caller gave it: offset text, or an object of local fields."""

    at: object


class Calendar(Struct, frozen=True, tag=True):
    """A calendar rule as the caller gave it; the zone may be left out."""

    kind: CalendarKind
    value: object


#: When to remind, as a request says it; `at` and a calendar rule are not resolved yet.
Rule = After | Every | At | Calendar


class CreateRequest(Struct, frozen=True):
    """A readable request to create: the trimmed prompt, exactly one rule, and options."""

    prompt: str
    rule: Rule
    options: AskedOptions = NOTHING_ASKED


#: The arguments that are rules.
SELECTORS: Final = ("after_seconds", "at", "every_seconds", *CALENDAR_KINDS)

#: The arguments that version 2 of the durable change is needed for.
VERSION_2_NAMES: Final = frozenset({*CALENDAR_KINDS, *OPTION_NAMES})

_CALENDARS: Final[dict[str, CalendarKind]] = {kind: kind for kind in CALENDAR_KINDS}


def read_create_request(arguments: object) -> Result[CreateRequest, Rejection]:
    """The shape checks of a create that need no clock and no log, in the order of the specification.

    What `at` and `until` say is looked at later, by `build_record`.

    :shape: `arguments` is parsed JSON: `{prompt, after_seconds? | at? | every_seconds? | daily? |
        weekly? | cron?}`, exactly one selector, any options, and no other key
    :units: `after_seconds` whole seconds from 1, `every_seconds` and `grace_seconds` from 300,
        `max_runs` dispatches from 1
    :errors: `Failure` of `invalid_selector`, `invalid_prompt`, `invalid_rule`, `frequency_too_high` or,
        of a calendar rule, `invalid_time_zone`, the first that holds
    :source: spec sections 5 and 11; calendar.md section 3
    """
    fields: Json = arguments if isinstance(arguments, dict) else {}
    given = [key for key in fields if key in SELECTORS]
    if len(given) != 1 or not fields.keys() <= {"prompt", *SELECTORS, *OPTION_NAMES}:
        return Failure(InvalidSelector(keys=tuple(key for key in fields if key != "prompt")))
    prompt = trim_prompt(fields.get("prompt"))
    if prompt is None:
        return Failure(InvalidPrompt())
    options = read_options(fields, nullable=False)
    return read_rule(given[0], fields[given[0]]).bind(
        lambda rule: options.map(lambda asked: CreateRequest(prompt, rule, asked))
    )


def trim_prompt(value: object) -> str | None:
    """The trimmed prompt, or `None` if it is no text or nothing is left of it."""
    return (trim(value) or None) if isinstance(value, str) else None


def read_rule(selector: str, value: object) -> Result[Rule, Rejection]:
    """The rule of a selector: whole seconds above 0, whole seconds from 300, any `at`, a calendar's.

    Of a calendar rule everything is looked at but the zone that is left out.
    """
    if selector == "at":
        return Success(At(at=value))
    if selector in _CALENDARS:
        kind = _CALENDARS[selector]
        return read_calendar_rule(kind, value, ANY_ZONE).map(lambda _: Calendar(kind, value))
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


def rule_is_local(rule: Rule) -> bool:
    """Whether a rule says a local time that names no zone."""
    match rule:
        case At(at=value) | Calendar(value=value):
            return is_local(value)
        case After() | Every():
            return False
        case _:
            assert_never(rule)


def repeats(rule: Rule) -> bool:
    """Whether a rule may come again."""
    return isinstance(rule, Every | Calendar)


def build_record(
    request: CreateRequest, ledger: Ledger, now_ms: float, zone: RequestZone
) -> Result[Record, Rejection]:
    """The durable record that a request makes at one clock sample, under the session's next free id.

    :shape: `request` comes from `read_create_request`, `zone` from `find_request_zone`; the id is
        `schedule-N`
    :units: `now_ms` is epoch milliseconds UTC, as the clock gave it
    :errors: `Failure` of `invalid_rule` (no such time, options that do not go together),
        `invalid_time_zone`, `timezone_confirmation_required`, `time_out_of_range` (a target, a clock
        that is no safe integer, a repeat once the gate is exhausted) or `not_future`
    :source: spec section 5; calendar.md sections 1 and 3
    """
    if repeats(request.rule) and is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
        return Failure(TimeOutOfRange())
    return make_record(request, allocate_id(ledger), now_ms, zone)


def make_record(
    request: CreateRequest, schedule_id: str, now_ms: float, zone: RequestZone
) -> Result[Record, Rejection]:
    """The record of a request under a given id, whatever the session's gate says."""
    now, asked = read_safe_integer(now_ms), request.options
    return make_target(request.rule, now, zone).bind(
        lambda target: resolve_options(asked, now, zone).bind(
            lambda options: _assemble(request.prompt, schedule_id, target, options)
        )
    )


def make_target(
    rule: Rule, now: int | None, zone: RequestZone
) -> Result[tuple[StoredRule, int], Rejection]:
    """The stored rule that a request means at one clock sample, with its first target (epoch ms)."""
    match rule:
        case After(after_seconds=seconds):
            return _add_seconds(now, seconds).map(lambda at_ms: (AfterRule(seconds), at_ms))
        case Every(every_seconds=seconds):
            return _add_seconds(now, seconds).map(lambda at_ms: (EveryRule(seconds), at_ms))
        case At(at=at):
            return resolve_future(at, now, zone).map(lambda at_ms: (AtRule(), at_ms))
        case Calendar(kind=kind, value=value):
            return read_calendar_rule(kind, value, zone).bind(lambda read: _find_first(read, now))
        case _:
            assert_never(rule)


def allocate_id(ledger: Ledger) -> str:
    """The next id of a session, `schedule-N`: counted from the ids ever seen, never one of them."""
    number = len(ledger.seen_ids) + 1
    while f"schedule-{number}" in ledger.seen_ids:
        number += 1
    return f"schedule-{number}"


def _assemble(
    prompt: str, schedule_id: str, target: tuple[StoredRule, int], asked: Changes
) -> Result[Record, Rejection]:
    """The record, of version 2 only where it uses something of that."""
    rule, at_ms = target
    options = change_options(PLAIN, asked)
    plain = options is PLAIN and not isinstance(rule, CalendarRule)
    standing = FRESH if plain else EDITABLE
    return require_options(assemble_record(schedule_id, prompt, rule, at_ms, options, standing))


def _find_first(rule: CalendarRule, now: int | None) -> Result[tuple[StoredRule, int], Rejection]:
    at_ms = None if now is None else find_next(make_pattern(rule), rule.time_zone, now)
    return Failure(TimeOutOfRange()) if at_ms is None else Success((rule, at_ms))


def _add_seconds(now: int | None, seconds: int) -> Result[int, Rejection]:
    delay_ms = 1000 * seconds
    if now is None or delay_ms > MAX_SAFE_INTEGER or not is_representable(now + delay_ms):
        return Failure(TimeOutOfRange())
    return Success(now + delay_ms)
