"""Session events and the durable change union (spec sections 1 and 3, calendar.md section 3).

This module decides what a `schedule/change` event may hold: exactly the shapes of version 1 and 2, any
other key, type or value being corrupt. It refuses to know order and state: whether a change is allowed
at its place in the log is the ledger's business.

The tags and the names in the encoders are the storage format of every session log: they never change.
"""

from __future__ import annotations

from typing import Final, assert_never

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.edits import (
    Edit,
    Pause,
    Resume,
    Skip,
    Snooze,
    StatedDispatch,
    Update,
    encode_edit,
    read_edit,
)
from wakefold.instants import format_instant
from wakefold.records import (
    AfterRecord,
    AtRecord,
    CalendarRecord,
    EveryRecord,
    OneShotRecord,
    Record,
    RecurringRecord,
    kind_of,
)
from wakefold.rejections import CorruptScheduleLog, LogFault
from wakefold.stored_records import encode_record, read_editable_record, read_record
from wakefold.stored_values import Json, read_instant, read_object, read_text, require_keys

__all__ = [
    "SCHEDULE_CHANGE",
    "AfterRecord",
    "AtRecord",
    "CalendarRecord",
    "Change",
    "Create",
    "Delete",
    "Dispatch",
    "Event",
    "EveryRecord",
    "Json",
    "OneShotRecord",
    "Record",
    "RecurringRecord",
    "decode_change",
    "encode_change",
    "encode_record",
    "kind_of",
    "read_change",
]

#: The type of the events that are the schedule stream.
#:
#: :shape: text, the `type` of an `Event`
#: :units: none
#: :errors: none
#: :source: spec section 1
SCHEDULE_CHANGE: Final = "schedule/change"


class Event(Struct, frozen=True):
    """One event of a session log.

    :shape: `{type, seq, time, data}` in a journal; `data` is parsed JSON of any shape, with numbers as
        `int` or `float`
    :units: `seq` counts places from 0, `time_ms` is epoch milliseconds UTC
    :errors: none when it is made, which checks nothing; `decode_change` reads the `data` of a
        `schedule/change`
    :source: spec section 1
    """

    type: str
    seq: int
    time_ms: int
    data: object


class Create(Struct, frozen=True, tag_field="operation", tag="create"):
    """A new reminder.

    :shape: `{version, operation: "create", schedule}`, version 2 exactly where
        `schedule.standing.version` is 2
    :units: none beside those of the record
    :errors: none when it is made, which checks nothing; `validate` says whether it may follow on a log
        (the id must be new)
    :source: spec section 3; calendar.md section 3
    """

    schedule: Record


class Delete(Struct, frozen=True, tag_field="operation", tag="delete"):
    """The end of an active reminder, by somebody's wish.

    :shape: `{version: 1, operation: "delete", id}`
    :units: none
    :errors: none when it is made, which checks nothing; `validate` says whether the id is active
    :source: spec section 3
    """

    id: str


class Dispatch(Struct, frozen=True, tag_field="operation", tag="dispatch"):
    """A reminder's message was queued; `accepted_at_ms` is set for repeating records only.

    :shape: `{version: 1, operation: "dispatch", id, acceptedAt?}`; of a record of version 2 a
        `StatedDispatch` is written instead
    :units: `accepted_at_ms` is epoch milliseconds UTC
    :errors: none when it is made, which checks nothing; `validate` says whether it may follow
    :source: spec section 3
    """

    id: str
    accepted_at_ms: int | None = None


#: What a `schedule/change` event can hold, closed.
#:
#: :shape: a union told apart by `operation`: `Create`, `Delete`, `Dispatch` of version 1 and
#:     `StatedDispatch`, `Skip`, `Update`, `Pause`, `Resume`, `Snooze` of version 2
#: :units: instants are epoch milliseconds UTC, text only in the encoded `data`
#: :errors: none; `decode_change` reads one, `encode_change` writes it
#: :source: spec section 3; calendar.md section 3
Change = Create | Delete | Dispatch | Edit


def decode_change(data: object) -> Result[Change, CorruptScheduleLog]:
    """The change that one event's `data` (parsed JSON) holds; strict in every key, type and value.

    :shape: `data` is the JSON object of one event, with its names as the log has them
    :units: instants are read from canonical text into epoch milliseconds UTC
    :errors: `Failure` of `corrupt_schedule_log`, without a place; order and state are not looked at
        (`validate`)
    :source: spec section 3; calendar.md sections 2 and 3
    """
    try:
        return Success(read_change(data))
    except LogFault as fault:
        return Failure(fault.located())


def read_change(data: object) -> Change:
    """The same as `decode_change` for callers inside the core: raises `LogFault`."""
    fields = read_object(data, "$")
    version = fields.get("version")
    if version not in (1, 2) or version is True:
        raise LogFault("unknown_version", "$.version")
    operation = fields.get("operation")
    if version == 2:  # noqa: PLR2004 - the format's
        if operation != "create":
            return read_edit(fields)
        require_keys(fields, _CREATE_KEYS, "$")
        return Create(read_editable_record(fields["schedule"]))
    if operation == "dispatch":
        return _read_dispatch(fields)
    if operation == "create":
        require_keys(fields, _CREATE_KEYS, "$")
        return Create(read_record(fields["schedule"]))
    if operation == "delete":
        require_keys(fields, _ID_KEYS, "$")
        return Delete(read_text(fields["id"], "bad_id", "$.id"))
    raise LogFault("unknown_operation", "$.operation")


def encode_change(change: Change) -> Json:
    """The `data` of the event that stores a change, keys in the order of the specification.

    :shape: a JSON object; `decode_change` gives the same change back
    :units: epoch milliseconds UTC become canonical text
    :errors: raises `ValueError` on an instant outside years 0001 to 9999, which no decoded change has
    :source: spec section 3; calendar.md section 3
    """
    match change:
        case Create(schedule=record):
            version = record.standing.version
            return {"version": version, "operation": "create", "schedule": encode_record(record)}
        case Delete(id=schedule_id):
            return {"version": 1, "operation": "delete", "id": schedule_id}
        case Dispatch(id=schedule_id, accepted_at_ms=accepted_at_ms):
            head: Json = {"version": 1, "operation": "dispatch", "id": schedule_id}
            if accepted_at_ms is None:
                return head
            return {**head, "acceptedAt": format_instant(accepted_at_ms)}
        case StatedDispatch() | Skip() | Update() | Pause() | Resume() | Snooze():
            return encode_edit(change)
        case _:
            assert_never(change)


_CREATE_KEYS: Final = frozenset({"version", "operation", "schedule"})
_ID_KEYS: Final = frozenset({"version", "operation", "id"})
_ACCEPTED_KEYS: Final = _ID_KEYS | {"acceptedAt"}


def _read_dispatch(fields: Json) -> Dispatch:
    if "acceptedAt" not in fields:
        require_keys(fields, _ID_KEYS, "$")
        return Dispatch(read_text(fields["id"], "bad_id", "$.id"))
    require_keys(fields, _ACCEPTED_KEYS, "$")
    schedule_id = read_text(fields["id"], "bad_id", "$.id")
    return Dispatch(schedule_id, read_instant(fields["acceptedAt"], "$.acceptedAt"))
