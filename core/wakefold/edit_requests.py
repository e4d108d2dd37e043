"""Requests to change a reminder: text, rule, options, a pause, a snooze (calendar.md section 3).

This module decides which request is readable, and which change it comes to on a session's ledger at one
clock sample, each refused with the first fault in the order of the page. It refuses to append.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from wakefold.edits import Edit, NewRule, Pause, Resume, Snooze, Update
from wakefold.events import Json
from wakefold.implied_zones import RequestZone
from wakefold.instants import is_trimmed, read_safe_integer
from wakefold.ledger import Ledger, find_active
from wakefold.occurrences import can_evaluate, find_following
from wakefold.option_requests import (
    NOTHING_ASKED,
    OPTION_NAMES,
    AskedOptions,
    explain_options,
    is_local,
    read_options,
    resolve_future,
    resolve_options,
)
from wakefold.records import CalendarRecord, Record, is_recurring
from wakefold.recurrence import find_gate, is_exhausted
from wakefold.rejections import (
    InvalidPrompt,
    InvalidRule,
    InvalidSelector,
    InvalidTimeZone,
    LogFault,
    Rejection,
    TimeOutOfRange,
    shorten,
)
from wakefold.requests import (
    SELECTORS,
    CreateRequest,
    Rule,
    make_target,
    read_rule,
    repeats,
    rule_is_local,
    trim_prompt,
)
from wakefold.transitions import accept_edit

#: Why nothing was changed, which is no error.
UnchangedCode = Literal["schedule_not_found", "schedule_ended", "schedule_conflict"]


class Revision(Struct, frozen=True):
    """Another text, rule or options."""

    prompt: str | UnsetType = UNSET
    rule: Rule | UnsetType = UNSET
    options: AskedOptions = NOTHING_ASKED


class Pausing(Struct, frozen=True):
    """To be paused, or to go on."""

    paused: bool


class Snoozing(Struct, frozen=True):
    """To wait until what any form of `at` says."""

    until: object


class UpdateRequest(Struct, frozen=True):
    """A readable request to change a reminder; `revision` is the one that the caller saw, if told."""

    id: str
    revision: int | None
    wish: Revision | Pausing | Snoozing


class Unchanged(Struct, frozen=True):
    """Nothing is changed."""

    code: UnchangedCode


_REVISED: Final = frozenset({"prompt", *SELECTORS, *OPTION_NAMES})


def read_update_request(arguments: object) -> Result[UpdateRequest, Rejection]:
    """The shape checks of an update that need no clock and no log, in the order of the page.

    :shape: `arguments` is parsed JSON: `{id, revision?}` with `paused` alone, `snooze_until` alone, or
        any of prompt, options and one selector
    :units: `revision` counts edits from 0; otherwise as `read_create_request`
    :errors: `Failure` of `invalid_selector`, `invalid_rule`, `invalid_prompt`, `frequency_too_high` or,
        of a calendar rule, `invalid_time_zone`, the first that holds
    :source: calendar.md section 3
    """
    fields: Json = arguments if isinstance(arguments, dict) else {}
    wished = fields.keys() - {"id", "revision"}
    revised = bool(wished) and wished <= _REVISED and len(wished & {*SELECTORS}) <= 1
    if not revised and wished not in ({"paused"}, {"snooze_until"}):
        keys = tuple(key for key in fields if key != "id")
        return Failure(InvalidSelector(keys=keys, wanted="update"))
    schedule_id, revision = fields.get("id"), read_safe_integer(fields.get("revision", 0))
    if not is_trimmed(schedule_id):
        return Failure(InvalidRule(fault="not_trimmed_id", value=shorten(schedule_id)))
    if revision is None or revision < 0:
        return Failure(InvalidRule(fault="revision", value=shorten(fields["revision"])))
    seen = revision if "revision" in fields else None
    return _read_wish(fields).map(lambda wish: UpdateRequest(schedule_id, seen, wish))


def wants_zone(request: CreateRequest | UpdateRequest) -> bool:
    """Whether it says a local time that names no zone."""
    wish = request if isinstance(request, CreateRequest) else request.wish
    match wish:
        case Pausing():
            return False
        case Snoozing(until=until):
            return is_local(until)
        case CreateRequest() | Revision():
            local = wish.rule is not UNSET and rule_is_local(wish.rule)
            return local or is_local(wish.options.until)
        case _:
            assert_never(wish)


def make_edit(
    request: UpdateRequest, ledger: Ledger, now_ms: int, zone: RequestZone
) -> Result[Edit | Unchanged, Rejection]:
    """The change that a request comes to at one clock sample, or why nothing is changed.

    :shape: an `Edit` to append, or `Unchanged` with `schedule_not_found`, `schedule_ended` or
        `schedule_conflict`, which are values and no errors
    :units: `now_ms` is epoch milliseconds UTC
    :errors: `Failure` of `invalid_rule` (no such time, a snooze out of its range, options that do not
        go together or leave no occurrence), `invalid_time_zone`, `timezone_confirmation_required`,
        `not_future` or `time_out_of_range`
    :source: calendar.md section 3
    """
    record = find_active(ledger, request.id)
    if record is None:
        ended = request.id in ledger.seen_ids
        return Success(Unchanged("schedule_ended" if ended else "schedule_not_found"))
    standing = record.standing
    if request.revision is not None and request.revision != standing.revision:
        return Success(Unchanged("schedule_conflict"))
    wish = request.wish
    match wish:
        case Pausing(paused=paused):
            if paused == standing.paused:
                return Success(Unchanged("schedule_conflict"))
            made = Success(Pause(record.id)) if paused else _resume(record, now_ms)
        case Snoozing(until=until):
            if standing.paused:
                return Success(Unchanged("schedule_conflict"))
            made = _snooze(record, until, now_ms, zone)
        case Revision():
            made = _revise(record, wish, ledger, now_ms, zone)
        case _:
            assert_never(wish)
    gate_ms = find_gate(ledger.profile, ledger.last_accepted_at_ms)
    return made.bind(lambda edit: _require_lawful(record, edit, gate_ms))


def _read_wish(fields: Json) -> Result[Revision | Pausing | Snoozing, Rejection]:
    if "paused" in fields:
        paused = fields["paused"]
        if not isinstance(paused, bool):
            return Failure(InvalidRule(fault="paused", value=shorten(paused)))
        return Success(Pausing(paused))
    if "snooze_until" in fields:
        return Success(Snoozing(fields["snooze_until"]))
    prompt: str | UnsetType = UNSET
    if "prompt" in fields:
        trimmed = trim_prompt(fields["prompt"])
        if trimmed is None:
            return Failure(InvalidPrompt())
        prompt = trimmed
    rule: Rule | UnsetType = UNSET
    for selector in fields.keys() & {*SELECTORS}:
        read = read_rule(selector, fields[selector])
        if not is_successful(read):
            return Failure(read.failure())
        rule = read.unwrap()
    return read_options(fields, nullable=True).map(lambda options: Revision(prompt, rule, options))


def _resume(record: Record, now_ms: int) -> Result[Edit, Rejection]:
    """A recurring record keeps a future target, and takes the next occurrence otherwise."""
    if not is_recurring(record):
        return Success(Resume(record.id))
    target_ms: int | None = record.scheduled_at_ms
    if record.scheduled_at_ms <= now_ms:
        if isinstance(record, CalendarRecord) and not can_evaluate(record):
            return Failure(InvalidTimeZone(value=shorten(record.rule.time_zone)))
        target_ms = find_following(record, now_ms)
    if target_ms is None:
        return Failure(TimeOutOfRange())
    return Success(Resume(record.id, target_ms))


def _snooze(record: Record, until: object, now_ms: int, zone: RequestZone) -> Result[Edit, Rejection]:
    """After the target, before the rule's next occurrence, and not past the record's end."""
    resolved = resolve_future(until, now_ms, zone)
    if not is_successful(resolved):
        return Failure(resolved.failure())
    until_ms = resolved.unwrap()
    if isinstance(record, CalendarRecord) and not can_evaluate(record):
        return Failure(InvalidTimeZone(value=shorten(record.rule.time_zone)))
    next_ms = find_following(record, max(now_ms, record.scheduled_at_ms))
    end_ms = record.options.until_ms
    late = next_ms is not None and until_ms >= next_ms
    if until_ms <= record.scheduled_at_ms or late or (end_ms is not None and until_ms > end_ms):
        return Failure(InvalidRule(fault="snooze_range", value=shorten(until)))
    return Success(Snooze(record.id, until_ms))


def _revise(
    record: Record, wish: Revision, ledger: Ledger, now_ms: int, zone: RequestZone
) -> Result[Edit, Rejection]:
    """The new rule comes first, then `until`."""
    new: NewRule | UnsetType = UNSET
    if wish.rule is not UNSET:
        if repeats(wish.rule) and is_exhausted(ledger.profile, ledger.last_accepted_at_ms):
            return Failure(TimeOutOfRange())
        made = make_target(wish.rule, now_ms, zone)
        if not is_successful(made):
            return Failure(made.failure())
        new = NewRule(*made.unwrap())
    options = resolve_options(wish.options, now_ms, zone)
    return options.map(
        lambda changes: Update(record.id, replace(changes, prompt=wish.prompt, rule=new))
    )


def _require_lawful(
    record: Record, edit: Edit, gate_ms: int | None
) -> Result[Edit | Unchanged, Rejection]:
    """What would be corrupt in a log is refused: the options that result do not let it occur."""
    try:
        accept_edit(record, edit, gate_ms)
    except LogFault as fault:
        return Failure(explain_options(fault, record.id))
    return Success(edit)
