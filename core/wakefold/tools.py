"""The four tools as pure programs (spec section 11).

A program is a generator: it yields a step (barrier, clock, append), is sent what came of it, and
returns the answer. So the same lines run in a synchronous driver, in the anyio shell and in a fleet.
This module decides what a tool does and in which order; it refuses to know queues: `open_call` makes
the checks that come before the FIFO, its program is run when the call's turn has come.

What a driver must keep: cancellation is looked at when the turn comes and just before an append; after
each acknowledged barrier the session's owner is nudged, and a failure to do so changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Literal, TypeVar, assert_never

from msgspec import Struct
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from wakefold.edit_requests import (
    Unchanged,
    UpdateRequest,
    make_edit,
    read_update_request,
    wants_zone,
)
from wakefold.events import SCHEDULE_CHANGE, Change, Create, Delete, Event, Json, Record, encode_change
from wakefold.guard import Guard, Refusal, admit, find_not_before
from wakefold.guard_reports import refusal_value
from wakefold.implied_zones import NO_ZONE, RequestZone, find_request_zone
from wakefold.instants import is_trimmed
from wakefold.json_text import format_json
from wakefold.ledger import Ledger, evolve, find_active
from wakefold.outcomes import either
from wakefold.rejections import (
    CorruptScheduleLog,
    InternalError,
    InvalidRule,
    InvalidSelector,
    Operation,
    PersistenceUncertain,
    Rejection,
    error_value,
    shorten,
)
from wakefold.requests import (
    VERSION_2_NAMES,
    CreateRequest,
    build_record,
    read_create_request,
)
from wakefold.views import DeliveryMode, encode_view, list_views, view_record

_Value = TypeVar("_Value")

#: The tools, by the names that a model calls them.
ToolName = Literal["schedule_create", "schedule_list", "schedule_update", "schedule_delete"]


class Barrier(Struct, frozen=True, tag=True):
    """Ask for the barrier; answer `Confirmed` or `Refused`."""


class ReadClock(Struct, frozen=True, tag=True):
    """Ask for a clock sample; answer `Sampled` or `Refused`."""


class ReadLog(Struct, frozen=True, tag=True):
    """Ask for the whole log, for the implied zone; answer `LogRead` or `Refused`."""


class Append(Struct, frozen=True, tag=True):
    """Append one change; answer `Appended` or `Refused`."""

    change: Change


class Confirmed(Struct, frozen=True, tag=True):
    """The barrier is acknowledged. `log` is what it folds to, why it is corrupt; `None`: unreadable.

    `guard` is what the guard knows of it, where there is one.
    """

    log: Ledger | CorruptScheduleLog | None
    guard: Guard | None = None


class Sampled(Struct, frozen=True, tag=True):
    """A clock sample in epoch milliseconds."""

    now_ms: int


class LogRead(Struct, frozen=True, tag=True):
    """The whole log, and the zone of the session's header."""

    header_time_zone: str | None
    events: Sequence[Event]


class Appended(Struct, frozen=True, tag=True):
    """The change is appended; durable only after the next barrier."""


class Refused(Struct, frozen=True, tag=True):
    """The step failed: no acknowledgement, no clock, or nothing appended."""


#: What a program asks of its driver.
ToolStep = Barrier | ReadClock | ReadLog | Append
#: What a driver answers to a step.
StepAnswer = Confirmed | Sampled | LogRead | Appended | Refused
#: What a call comes to: a JSON value, an error of the tool, or a refusal by the guard.
ToolAnswer = Result[object, Rejection | Refusal]
#: One call of a tool, to be driven step by step.
Program = Generator[ToolStep, StepAnswer, ToolAnswer]


def open_call(
    tool: ToolName,
    arguments: object,
    guard: Guard | None = None,
    now_ms: int = 0,
    protocol: Literal[1, 2] = 2,
    delivery_mode: DeliveryMode = "session-local",
) -> Result[Callable[[], Program], Rejection | Refusal]:
    """The program of a call, or the refusal that needs no queue; `arguments` is parsed JSON.

    A guard comes first: `now_ms` is the clock sample for its admission, and for nothing else. Under
    protocol 1 nothing is read that would be written by version 2 of the durable change.
    """
    refusal = None if guard is None else admit(guard.wakeups, guard.config, tool, arguments, now_ms)
    if refusal is not None:
        return Failure(refusal)
    beyond = refuse_version_2(tool, arguments) if protocol == 1 else None
    if beyond is not None:
        return Failure(beyond)
    match tool:
        case "schedule_create":
            read = read_create_request(arguments)
            if protocol == 1:
                read = read.alt(_narrow)
            return read.map(lambda request: lambda: _run(_create(request, delivery_mode)))
        case "schedule_list":
            if arguments != {}:
                return Failure(InvalidSelector(keys=_list_keys(arguments), wanted="nothing"))
            return Success(lambda: _run(_list(delivery_mode)))
        case "schedule_update":
            asked = read_update_request(arguments)
            return asked.map(lambda request: lambda: _run(_update(request, delivery_mode)))
        case "schedule_delete":
            fields: Json = arguments if isinstance(arguments, dict) else {}
            schedule_id = fields.get("id")
            if not is_trimmed(schedule_id):
                return Failure(InvalidRule(fault="not_trimmed_id", value=shorten(schedule_id)))
            return Success(lambda: _run(_delete(schedule_id)))
        case _:
            assert_never(tool)


def refuse_version_2(tool: str, arguments: object) -> InvalidSelector | None:
    """Why protocol 1 refuses a call: version 1 of the durable change has no words for it."""
    keys = _list_keys(arguments)
    wanted = tool == "schedule_update" or (
        tool == "schedule_create" and not VERSION_2_NAMES.isdisjoint(keys)
    )
    return InvalidSelector(keys=keys, wanted="version_1") if wanted else None


def _list_keys(arguments: object) -> tuple[str, ...]:
    return tuple(arguments) if isinstance(arguments, dict) else ()


def _narrow(rejection: Rejection) -> Rejection:
    """The refusal without advice that version 1 cannot follow."""
    if isinstance(rejection, InvalidSelector):
        return InvalidSelector(keys=rejection.keys, wanted="version_1")
    return rejection


def answer_value(answer: ToolAnswer) -> object:
    """The JSON value that a call is answered with, an error's `{code, message, ...}` included."""

    def tell(error: Rejection | Refusal) -> object:
        return refusal_value(error) if isinstance(error, Refusal) else error_value(error)

    return either(answer, lambda value: value, tell)


def render_answer(answer: ToolAnswer) -> str:
    """The text that a model reads: compact JSON of the value, keys in a fixed order.

    :shape: text of one JSON value (`answer_value`), an error's `{code, message, ...}` included
    :units: instants in it are canonical text
    :errors: none for what a program answers: its values are JSON
    :source: spec section 11
    """
    return format_json(answer_value(answer))


class _Stop(Exception):
    """Carries a rejection out of a program's middle to its end."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.code)
        self.rejection = rejection


_Body = Generator[ToolStep, StepAnswer, _Value]


def _run(body: _Body[object]) -> Program:
    try:
        return Success((yield from body))
    except _Stop as stop:
        return Failure(stop.rejection)


def _create(request: CreateRequest, delivery_mode: DeliveryMode) -> _Body[object]:
    ledger = _read((yield from _confirm("create", None)))
    zone = (yield from _find_zone()) if wants_zone(request) else NO_ZONE
    now_ms = yield from _sample()
    record = _require(build_record(request, ledger, now_ms, zone))
    yield from _append(Create(schedule=record))
    ledger = _read((yield from _confirm("create", record.id)))
    now_ms = yield from _sample()
    return _view(record, ledger, now_ms, delivery_mode)


def _list(delivery_mode: DeliveryMode) -> _Body[object]:
    confirmed = yield from _confirm("list", None)
    ledger = _read(confirmed)
    now_ms = yield from _sample()
    guard = confirmed.guard
    not_before_ms = None if guard is None else find_not_before(guard, now_ms)
    return [encode_view(view) for view in list_views(ledger, now_ms, not_before_ms, delivery_mode)]


def _update(request: UpdateRequest, delivery_mode: DeliveryMode) -> _Body[object]:
    ledger = _read((yield from _confirm("update", request.id)))
    zone = (yield from _find_zone()) if wants_zone(request) else NO_ZONE
    now_ms = yield from _sample()
    edit = _require(make_edit(request, ledger, now_ms, zone))
    if isinstance(edit, Unchanged):
        return {"id": request.id, "updated": False, "code": edit.code}
    yield from _append(edit)
    written = Event(SCHEDULE_CHANGE, ledger.position, now_ms, encode_change(edit))
    before = ledger
    ledger = _read((yield from _confirm("update", request.id)))
    now_ms = yield from _sample()
    record = find_active(ledger, request.id)
    if record is None:  # it has been edited, and somebody has ended it since
        record = evolve(before, written).unwrap().records[request.id]
    return _view(record, ledger, now_ms, delivery_mode)


def _view(record: Record, ledger: Ledger, now_ms: int, delivery_mode: DeliveryMode) -> Json:
    batch_ms = ledger.last_accepted_at_ms
    return encode_view(
        view_record(record, now_ms, ledger.profile, batch_ms, delivery_mode=delivery_mode)
    )


def _delete(schedule_id: str) -> _Body[object]:
    ledger = _read((yield from _confirm("delete", schedule_id)))
    if find_active(ledger, schedule_id) is None:
        return {"id": schedule_id, "deleted": False, "code": "schedule_not_found"}
    yield from _append(Delete(id=schedule_id))
    yield from _confirm("delete", schedule_id)
    return {"id": schedule_id, "deleted": True}


def _confirm(operation: Operation, schedule_id: str | None) -> _Body[Confirmed]:
    answer = yield Barrier()
    if not isinstance(answer, Confirmed):
        raise _Stop(PersistenceUncertain(operation=operation, schedule_id=schedule_id))
    return answer


def _sample() -> _Body[int]:
    answer = yield ReadClock()
    if not isinstance(answer, Sampled):
        raise _Stop(InternalError())
    return answer.now_ms


def _append(change: Change) -> _Body[None]:
    if not isinstance((yield Append(change)), Appended):
        raise _Stop(InternalError())


def _read(confirmed: Confirmed) -> Ledger:
    log = confirmed.log
    if isinstance(log, Ledger):
        return log
    raise _Stop(InternalError() if log is None else log)


def _find_zone() -> _Body[RequestZone]:
    """What spec 5.1 yields for a local time that names no zone."""
    answer = yield ReadLog()
    if not isinstance(answer, LogRead):
        raise _Stop(InternalError())
    return _require(find_request_zone(answer.header_time_zone, answer.events))


def _require(result: Result[_Value, Rejection] | Result[_Value, InternalError]) -> _Value:
    if is_successful(result):
        return result.unwrap()
    raise _Stop(result.failure())
