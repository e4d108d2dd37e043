"""Changes of version 2: edits, and dispatches that state what was evaluated (calendar.md section 3).

This module decides which JSON object is such a change, and how it is written. It refuses to know
whether a change may follow at its place in a log.

The names here are the storage format of every session log: they never change.
"""

from __future__ import annotations

from typing import Final, assert_never

from msgspec import UNSET, Struct, UnsetType

from wakefold.instants import format_instant
from wakefold.records import Missed, StoredRule
from wakefold.rejections import LogFault
from wakefold.stored_records import (
    encode_target,
    read_max_runs,
    read_missed,
    read_target,
    read_title,
)
from wakefold.stored_values import (
    Json,
    read_instant,
    read_interval_seconds,
    read_object,
    read_text,
    require_keys,
)


class StatedDispatch(Struct, frozen=True, tag_field="operation", tag="stated-dispatch"):
    """A message was queued, for an occurrence that is stated; `next_ms` is the next target, if any."""

    id: str
    accepted_at_ms: int
    occurrence_ms: int
    next_ms: int | None = None


class Skip(Struct, frozen=True, tag_field="operation", tag="skip"):
    """An occurrence was left out, for it was too late."""

    id: str
    accepted_at_ms: int
    occurrence_ms: int
    next_ms: int | None = None


class NewRule(Struct, frozen=True):
    """Another rule, with its first target."""

    rule: StoredRule
    scheduled_at_ms: int


class Changes(Struct, frozen=True):
    """What an update changes; `None` takes an option away, `UNSET` leaves it."""

    title: str | UnsetType | None = UNSET
    prompt: str | UnsetType = UNSET
    rule: NewRule | UnsetType = UNSET
    max_runs: int | UnsetType | None = UNSET
    until_ms: int | UnsetType | None = UNSET
    missed: Missed | UnsetType | None = UNSET
    grace_seconds: int | UnsetType | None = UNSET


class Update(Struct, frozen=True, tag_field="operation", tag="update"):
    """A reminder's text, rule or options are others from now on."""

    id: str
    changes: Changes


class Pause(Struct, frozen=True, tag_field="operation", tag="pause"):
    """A reminder is not due until it is resumed."""

    id: str


class Resume(Struct, frozen=True, tag_field="operation", tag="resume"):
    """A paused reminder goes on; a recurring one states its target."""

    id: str
    scheduled_at_ms: int | None = None


class Snooze(Struct, frozen=True, tag_field="operation", tag="snooze"):
    """The next delivery waits until an instant; the rule's sequence stays as it is."""

    id: str
    until_ms: int


#: The changes of version 2 beside its create.
Edit = StatedDispatch | Skip | Update | Pause | Resume | Snooze

_HEAD: Final = frozenset({"version", "operation", "id"})
_TIMES: Final = frozenset({"acceptedAt", "occurrenceAt"})
_CHANGES: Final = frozenset({"title", "prompt", "rule", "maxRuns", "until", "missed", "graceSeconds"})


def read_edit(fields: Json) -> Edit:
    """The change of version 2, not a create, that an object holds. Raises `LogFault`."""
    operation = fields.get("operation")
    if operation in ("dispatch", "skip"):
        require_keys(fields, _HEAD | _TIMES | (fields.keys() & {"nextScheduledAt"}), "$")
        make = StatedDispatch if operation == "dispatch" else Skip
        return make(
            _read_id(fields),
            read_instant(fields["acceptedAt"], "$.acceptedAt"),
            read_instant(fields["occurrenceAt"], "$.occurrenceAt"),
            _read_next(fields, "nextScheduledAt"),
        )
    if operation == "update":
        require_keys(fields, _HEAD | {"changes"}, "$")
        return Update(_read_id(fields), _read_changes(fields["changes"]))
    if operation == "pause":
        require_keys(fields, _HEAD, "$")
        return Pause(_read_id(fields))
    if operation == "resume":
        require_keys(fields, _HEAD | (fields.keys() & {"scheduledAt"}), "$")
        return Resume(_read_id(fields), _read_next(fields, "scheduledAt"))
    if operation == "snooze":
        require_keys(fields, _HEAD | {"until"}, "$")
        return Snooze(_read_id(fields), read_instant(fields["until"], "$.until"))
    raise LogFault("unknown_operation", "$.operation")


def encode_edit(edit: Edit) -> Json:
    """The `data` of the event that stores a change, keys in the order of calendar.md."""
    operation = "dispatch" if isinstance(edit, StatedDispatch) else str(edit.__struct_config__.tag)
    head: Json = {"version": 2, "operation": operation, "id": edit.id}
    match edit:
        case StatedDispatch() | Skip():
            value = {
                **head,
                "acceptedAt": format_instant(edit.accepted_at_ms),
                "occurrenceAt": format_instant(edit.occurrence_ms),
            }
            if edit.next_ms is None:
                return value
            return {**value, "nextScheduledAt": format_instant(edit.next_ms)}
        case Update(changes=changes):
            return {**head, "changes": _encode_changes(changes)}
        case Pause():
            return head
        case Resume(scheduled_at_ms=target_ms):
            return head if target_ms is None else {**head, "scheduledAt": format_instant(target_ms)}
        case Snooze(until_ms=until_ms):
            return {**head, "until": format_instant(until_ms)}
        case _:
            assert_never(edit)


def _read_id(fields: Json) -> str:
    return read_text(fields["id"], "bad_id", "$.id")


def _read_next(fields: Json, key: str) -> int | None:
    return read_instant(fields[key], f"$.{key}") if key in fields else None


def _read_changes(data: object) -> Changes:
    at = "$.changes"
    fields = read_object(data, at)
    if not fields or not fields.keys() <= _CHANGES:
        raise LogFault("wrong_keys", at)
    read: dict[str, object] = {}
    if "prompt" in fields:
        read["prompt"] = read_text(fields["prompt"], "bad_prompt", f"{at}.prompt")
    if "rule" in fields:
        read["rule"] = NewRule(*read_target(fields["rule"], f"{at}.rule"))
    for key, (name, read_option) in _OPTIONS.items():
        if key in fields:
            value = fields[key]
            read[name] = None if value is None else read_option(value, f"{at}.{key}")
    return Changes(**read)  # type: ignore[arg-type]  # each was read as its field's type


_OPTIONS: Final = {
    "title": ("title", read_title),
    "maxRuns": ("max_runs", read_max_runs),
    "until": ("until_ms", read_instant),
    "missed": ("missed", read_missed),
    "graceSeconds": ("grace_seconds", read_interval_seconds),
}


def _encode_changes(changes: Changes) -> Json:
    until_ms, new = changes.until_ms, changes.rule
    value: dict[str, object] = {
        "title": changes.title,
        "prompt": changes.prompt,
        "rule": encode_target(new.rule, new.scheduled_at_ms) if isinstance(new, NewRule) else UNSET,
        "maxRuns": changes.max_runs,
        "until": format_instant(until_ms) if isinstance(until_ms, int) else until_ms,
        "missed": changes.missed,
        "graceSeconds": changes.grace_seconds,
    }
    return {key: given for key, given in value.items() if given is not UNSET}
