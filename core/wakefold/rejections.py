"""The closed error codes, as data, and the one place for their sentences (spec section 11).

A rejection says whose fault it is and carries what a caller needs to do better. This module decides
how refusals read; it refuses to know how they came about. A sentence is a function of the request and
its clock sample alone, so that no backend's words reach a model.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never

from msgspec import Struct

from wakefold.instants import format_instant, is_representable
from wakefold.json_text import format_json
from wakefold.log_rules import LOG_SENTENCES, LogRule
from wakefold.rule_faults import RuleFault, describe_rule_fault

#: Which keys were wanted: a new reminder's, a change's, none, or what version 1 has words for.
SelectorForm = Literal["create", "update", "nothing", "version_1"]


class Coded(Struct, frozen=True, tag_field="code"):
    """What all rejections share: a stable code, their tag."""

    @property
    def code(self) -> str:
        """One of the eleven codes of spec section 11."""
        return str(self.__struct_config__.tag)


class InvalidPrompt(Coded, frozen=True, tag="invalid_prompt"):
    """The caller's prompt is no text, or nothing is left of it after trimming. Remedy: give a text."""


class InvalidSelector(Coded, frozen=True, tag="invalid_selector"):
    """The caller's keys do not go together, or one is unknown. Remedy: those that `wanted` asks for."""

    keys: tuple[str, ...]
    wanted: SelectorForm = "create"


class InvalidRule(Coded, frozen=True, tag="invalid_rule"):
    """The caller's rule cannot be read. `fault` says why, `alternatives` what would be readable."""

    fault: RuleFault
    value: str
    alternatives: tuple[str, ...] = ()


class InvalidTimeZone(Coded, frozen=True, tag="invalid_time_zone"):
    """The caller's zone is no `UTC` and no Area/Location name that the tz database knows."""

    value: str


class TimezoneConfirmationRequired(Coded, frozen=True, tag="timezone_confirmation_required"):
    """A local time came without a zone and none is implied (spec 5.1). Remedy: name `time_zone`."""

    session_time_zone: str
    client_time_zones: tuple[str, ...]


class NotFuture(Coded, frozen=True, tag="not_future"):
    """The target is not strictly after now. Both in epoch milliseconds."""

    target_ms: int
    now_ms: int


class TimeOutOfRange(Coded, frozen=True, tag="time_out_of_range"):
    """An instant leaves years 0001 to 9999, or the clock's sample is no safe integer."""


class FrequencyTooHigh(Coded, frozen=True, tag="frequency_too_high"):
    """The caller's interval is below the floor. Remedy: ask for at least `minimum_seconds`."""

    every_seconds: int
    minimum_seconds: int


class CorruptScheduleLog(Coded, frozen=True, tag="corrupt_schedule_log"):
    """The log's writer broke a rule; nothing partial is believed. Remedy: repair the named event.

    `index` is the event's place in the log (its seq in a sound log), `None` where the fault is no
    event's; `path` points into its data, as in `$.schedule.id`.

    :shape: `{code, message}` to a caller (`error_value`), the rest of it in the message
    :units: `index` counts events from 0
    :errors: none, it is one
    :source: spec section 4
    """

    rule: LogRule
    path: str = "$"
    index: int | None = None
    schedule_id: str | None = None


#: What a tool was about when the store did not acknowledge.
Operation = Literal["create", "list", "update", "delete"]


class PersistenceUncertain(Coded, frozen=True, tag="persistence_uncertain"):
    """The store did not acknowledge the barrier. Remedy: list again before repeating the call."""

    operation: Operation
    schedule_id: str | None = None


class InternalError(Coded, frozen=True, tag="internal_error"):
    """The program's own fault, or a log whose writer left a time zone that is none."""


#: Why a request or a log is refused, closed: eleven codes.
#:
#: :shape: a union told apart by `code`; `error_value` makes JSON of one
#: :units: fields that end in `_ms` are epoch milliseconds UTC, in `_seconds` whole seconds
#: :errors: none, these are the errors
#: :source: spec section 11
Rejection = (
    InvalidPrompt
    | InvalidSelector
    | InvalidRule
    | InvalidTimeZone
    | TimezoneConfirmationRequired
    | NotFuture
    | TimeOutOfRange
    | FrequencyTooHigh
    | CorruptScheduleLog
    | PersistenceUncertain
    | InternalError
)


class LogFault(Exception):
    """Carries a broken log rule up to the boundary, where it becomes a `CorruptScheduleLog`.

    Exceptions inside, one `Result` outside: a `Result` for every event would cost more than the fold.
    """

    def __init__(self, rule: LogRule, path: str = "$", schedule_id: str | None = None) -> None:
        """The rule, the JSON path of what broke it, and the id if one is known."""
        super().__init__(rule)
        self.rule: LogRule = rule
        self.path = path
        self.schedule_id = schedule_id
        self.index: int | None = None

    def located(self, index: int | None = None) -> CorruptScheduleLog:
        """The fault as data; `index` is the event's place, unless the fault knows its own."""
        index = index if self.index is None else self.index
        return CorruptScheduleLog(
            rule=self.rule, path=self.path, index=index, schedule_id=self.schedule_id
        )


_SHOWN_CHARACTERS_MAX: Final = 80


_SELECTOR_SENTENCES: Final[dict[SelectorForm, str]] = {
    "create": (
        "Give exactly one of after_seconds, at, every_seconds, daily, weekly and cron beside the "
        "prompt, and no other key but options"
    ),
    "update": (
        "Give the id with any of prompt, one selector and options, or with paused alone, or with "
        "snooze_until alone"
    ),
    "nothing": "Give no arguments",
    "version_1": (
        "Only version 1 of the durable change is written here: give exactly one of after_seconds, at "
        "and every_seconds beside the prompt, no options, and change nothing but by a delete"
    ),
}


def shorten(value: object) -> str:
    """JSON text of a value, cut with a mark, for a sentence that names it."""
    try:
        text = format_json(value)
    except (TypeError, ValueError, RecursionError):
        text = str(type(value).__name__)
    if len(text) <= _SHOWN_CHARACTERS_MAX:
        return text
    return f"{text[:_SHOWN_CHARACTERS_MAX]}..."


def describe_rejection(rejection: Rejection) -> str:
    """One sentence for people and models: what is wrong, and what to do instead.

    :shape: a rejection in, text that ends in a full stop out; values in it are shortened JSON text
    :units: instants in it are canonical text, distances are seconds
    :errors: none, it is total
    :source: spec section 11
    """
    match rejection:
        case InvalidPrompt():
            return "The prompt must be text that is more than white space."
        case InvalidSelector(keys=keys):
            given = shorten(keys) if keys else "none"
            return f"{_SELECTOR_SENTENCES[rejection.wanted]} (given: {given})."
        case InvalidRule():
            return describe_rule_fault(rejection.fault, rejection.value, rejection.alternatives)
        case InvalidTimeZone(value=value):
            return (
                f"{value} is no known time zone: use UTC or an IANA Area/Location name "
                "such as Europe/Berlin."
            )
        case TimezoneConfirmationRequired():
            return _describe_confirmation(rejection)
        case NotFuture(target_ms=target_ms, now_ms=now_ms):
            return f"{_instant(target_ms)} is not after now, {_instant(now_ms)}."
        case TimeOutOfRange():
            return "The time lies outside the years 0001 to 9999."
        case FrequencyTooHigh(every_seconds=seconds, minimum_seconds=minimum):
            return f"A reminder can repeat every {minimum} s or slower (asked for {seconds} s)."
        case CorruptScheduleLog():
            return describe_log_rule(rejection)
        case PersistenceUncertain(operation=operation):
            return f"The store did not confirm the {operation}; list the reminders before trying again."
        case InternalError():
            return "An internal error: list the reminders before trying again."
        case _:
            assert_never(rejection)


def error_value(rejection: Rejection) -> dict[str, object]:
    """The JSON object that a tool answers with, keys in that order.

    :shape: `{code, message}`; `timezone_confirmation_required` adds `sessionTimeZone` and
        `clientTimeZones`, `persistence_uncertain` `operation` and, once known, `id`
    :units: none
    :errors: none, it is total
    :source: spec section 11
    """
    value: dict[str, object] = {
        "code": rejection.code,
        "message": describe_rejection(rejection),
    }
    if isinstance(rejection, TimezoneConfirmationRequired):
        value["sessionTimeZone"] = rejection.session_time_zone
        value["clientTimeZones"] = list(rejection.client_time_zones)
    if isinstance(rejection, PersistenceUncertain):
        value["operation"] = rejection.operation
        if rejection.schedule_id is not None:
            value["id"] = rejection.schedule_id
    return value


def describe_log_rule(fault: CorruptScheduleLog) -> str:
    """One sentence: which rule of the log is broken, at which event and path, for which id."""
    where = "" if fault.index is None else f" at event {fault.index}"
    path = "" if fault.path == "$" else f" ({fault.path})"
    whose = "" if fault.schedule_id is None else f", id {shorten(fault.schedule_id)}"
    return f"{fault.rule}{where}{path}{whose}: {LOG_SENTENCES[fault.rule]}."


def _describe_confirmation(rejection: TimezoneConfirmationRequired) -> str:
    clients = ", ".join(rejection.client_time_zones) or "none"
    return (
        "This local time names no time_zone and none can be implied "
        f"(session: {rejection.session_time_zone}; clients: {clients}): name time_zone."
    )


def _instant(instant_ms: int) -> str:
    return format_instant(instant_ms) if is_representable(instant_ms) else f"{instant_ms} ms"
