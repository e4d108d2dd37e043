"""Session events and the durable change union, version 1 (spec sections 1 and 3).

This module decides what a `schedule/change` event may hold: exactly the shapes of spec section 3, any
other key, type or value being corrupt. It refuses to know order and state: whether a change is
allowed at its place in the log is the ledger's business.

The tags and the names in the encoders are the storage format of every session log: they never change.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.instants import (
    MAX_SAFE_INTEGER,
    format_instant,
    is_trimmed,
    parse_instant,
    read_safe_integer,
)
from wakefold.recurrence import MIN_EVERY_SECONDS
from wakefold.rejections import CorruptScheduleLog, LogFault

SCHEDULE_CHANGE: Final = "schedule/change"
"""The type of the events that are the schedule stream."""

Json = dict[str, object]


class Event(Struct, frozen=True):
    """One event of a session log: its place `seq` from 0, `time_ms` in epoch ms, `data` any JSON."""

    type: str
    seq: int
    time_ms: int
    data: object


class AfterRecord(Struct, frozen=True, tag_field="kind", tag="after"):
    """A one-shot made by a delay: due once, `after_seconds` after its creation."""

    id: str
    prompt: str
    after_seconds: int
    scheduled_at_ms: int


class AtRecord(Struct, frozen=True, tag_field="kind", tag="at"):
    """A one-shot made by an absolute time; the submitted offset or zone is not kept."""

    id: str
    prompt: str
    scheduled_at_ms: int


class EveryRecord(Struct, frozen=True, tag_field="kind", tag="every"):
    """A fixed-rate reminder; `scheduled_at_ms` is its earliest target not yet accepted."""

    id: str
    prompt: str
    every_seconds: int
    scheduled_at_ms: int


Record = AfterRecord | AtRecord | EveryRecord
OneShotRecord = AfterRecord | AtRecord


class Create(Struct, frozen=True, tag_field="operation", tag="create"):
    """A new reminder."""

    schedule: Record


class Delete(Struct, frozen=True, tag_field="operation", tag="delete"):
    """The end of an active reminder, by somebody's wish."""

    id: str


class Dispatch(Struct, frozen=True, tag_field="operation", tag="dispatch"):
    """A reminder's message was queued; `accepted_at_ms` is set for repeating records only."""

    id: str
    accepted_at_ms: int | None = None


Change = Create | Delete | Dispatch


def decode_change(data: object) -> Result[Change, CorruptScheduleLog]:
    """The change that one event's `data` (parsed JSON) holds; strict in every key, type and value."""
    try:
        return Success(read_change(data))
    except LogFault as fault:
        return Failure(fault.located())


def read_change(data: object) -> Change:
    """The same as `decode_change` for callers inside the core: raises `LogFault`."""
    fields = _read_object(data, "$")
    version = fields.get("version")
    if version != 1 or version is True:
        raise LogFault("unknown_version", "$.version")
    operation = fields.get("operation")
    if operation == "dispatch":
        return _read_dispatch(fields)
    if operation == "create":
        _require_keys(fields, _CREATE_KEYS, "$")
        return Create(_read_record(fields["schedule"]))
    if operation == "delete":
        _require_keys(fields, _ID_KEYS, "$")
        return Delete(_read_text(fields["id"], "bad_id", "$.id"))
    raise LogFault("unknown_operation", "$.operation")


def encode_change(change: Change) -> Json:
    """The `data` of the event that stores a change, keys in the order of spec section 3."""
    match change:
        case Create(schedule=record):
            return {"version": 1, "operation": "create", "schedule": encode_record(record)}
        case Delete(id=schedule_id):
            return {"version": 1, "operation": "delete", "id": schedule_id}
        case Dispatch(id=schedule_id, accepted_at_ms=accepted_at_ms):
            head: Json = {"version": 1, "operation": "dispatch", "id": schedule_id}
            if accepted_at_ms is None:
                return head
            return {**head, "acceptedAt": format_instant(accepted_at_ms)}
        case _:
            assert_never(change)


def encode_record(record: Record) -> Json:
    """The stored form of a record, keys in the order of spec section 3."""
    scheduled_at = format_instant(record.scheduled_at_ms)
    head: Json = {"id": record.id, "kind": kind_of(record), "prompt": record.prompt}
    match record:
        case AfterRecord(after_seconds=seconds):
            return {**head, "afterSeconds": seconds, "scheduledAt": scheduled_at}
        case AtRecord():
            return {**head, "scheduledAt": scheduled_at}
        case EveryRecord(every_seconds=seconds):
            return {**head, "everySeconds": seconds, "scheduledAt": scheduled_at}
        case _:
            assert_never(record)


def kind_of(record: Record) -> str:
    """The stored name of a record's kind."""
    return str(record.__struct_config__.tag)


_CREATE_KEYS: Final = frozenset({"version", "operation", "schedule"})
_ID_KEYS: Final = frozenset({"version", "operation", "id"})
_ACCEPTED_KEYS: Final = _ID_KEYS | {"acceptedAt"}
_AT_KEYS: Final = frozenset({"id", "kind", "prompt", "scheduledAt"})
_AFTER_KEYS: Final = _AT_KEYS | {"afterSeconds"}
_EVERY_KEYS: Final = _AT_KEYS | {"everySeconds"}


def _read_dispatch(fields: Json) -> Dispatch:
    if "acceptedAt" not in fields:
        _require_keys(fields, _ID_KEYS, "$")
        return Dispatch(_read_text(fields["id"], "bad_id", "$.id"))
    _require_keys(fields, _ACCEPTED_KEYS, "$")
    schedule_id = _read_text(fields["id"], "bad_id", "$.id")
    return Dispatch(schedule_id, _read_instant(fields["acceptedAt"], "$.acceptedAt"))


def _read_record(data: object) -> Record:
    fields = _read_object(data, "$.schedule")
    kind = fields.get("kind")
    seconds = 0
    if kind == "every":
        _require_keys(fields, _EVERY_KEYS, "$.schedule")
        seconds = _read_seconds(fields["everySeconds"], MIN_EVERY_SECONDS, "$.schedule.everySeconds")
        if seconds * 1000 > MAX_SAFE_INTEGER:
            raise LogFault("bad_seconds", "$.schedule.everySeconds")
    elif kind == "after":
        _require_keys(fields, _AFTER_KEYS, "$.schedule")
    elif kind == "at":
        _require_keys(fields, _AT_KEYS, "$.schedule")
    else:
        raise LogFault("unknown_kind", "$.schedule.kind")
    schedule_id = _read_text(fields["id"], "bad_id", "$.schedule.id")
    prompt = _read_text(fields["prompt"], "bad_prompt", "$.schedule.prompt")
    if kind == "after":
        seconds = _read_seconds(fields["afterSeconds"], 1, "$.schedule.afterSeconds")
    scheduled_at_ms = _read_instant(fields["scheduledAt"], "$.schedule.scheduledAt")
    if kind == "every":
        return EveryRecord(schedule_id, prompt, seconds, scheduled_at_ms)
    if kind == "after":
        return AfterRecord(schedule_id, prompt, seconds, scheduled_at_ms)
    return AtRecord(schedule_id, prompt, scheduled_at_ms)


def _read_object(value: object, path: str) -> Json:
    if not isinstance(value, dict):
        raise LogFault("not_an_object", path)
    return value


def _require_keys(fields: Json, keys: frozenset[str], path: str) -> None:
    if fields.keys() != keys:
        raise LogFault("wrong_keys", path)


def _read_text(value: object, rule: Literal["bad_id", "bad_prompt"], path: str) -> str:
    if not is_trimmed(value):
        raise LogFault(rule, path)
    return value


def _read_seconds(value: object, least: int, path: str) -> int:
    seconds = read_safe_integer(value)
    if seconds is None or seconds < least:
        raise LogFault("bad_seconds", path)
    return seconds


def _read_instant(value: object, path: str) -> int:
    instant_ms = parse_instant(value)
    if instant_ms is None:
        raise LogFault("bad_instant", path)
    return instant_ms
