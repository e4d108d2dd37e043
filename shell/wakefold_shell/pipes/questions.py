"""What is asked of the core and changes nothing: from a request to the JSON of its answer.

Each branch is one call of a core function and the spelling of what came out. This module decides
nothing, keeps nothing and refuses to know names.
"""

from __future__ import annotations

from typing import TypeVar, assert_never

from returns.pipeline import is_successful
from returns.result import Result

from wakefold import (
    SEED,
    Decision,
    Ledger,
    Wait,
    admit,
    decide_due,
    encode_view,
    frame_decision,
    list_active,
    list_dispatches,
    list_receipts,
    list_views,
    plan_next_wake,
    present_dispatch,
    reap,
    validate,
)
from wakefold.events import Json, encode_record
from wakefold.guard import find_not_before
from wakefold.guard_reports import refusal_value
from wakefold.receipts import DispatchReceipt, Receipt, encode_receipt
from wakefold.rejections import (
    CorruptScheduleLog,
    TimeOutOfRange,
    describe_rejection,
)
from wakefold.tool_schemas import VERSION_1_DEFINITIONS
from wakefold.wakes import SkipDue, list_occurrences
from wakefold_shell.pipes import requests as ask
from wakefold_shell.pipes.messages import MessageFault
from wakefold_shell.pipes.spelling import list_fields, spell

_Value = TypeVar("_Value")


def answer_question(request: ask.Question) -> object:
    """The answer as JSON; `MessageFault` where the core refuses."""
    match request:
        case ask.Show():
            return _show(request.of)
        case ask.Validate():
            return require(validate(request.of, request.event).map(lambda _: None))
        case ask.Decide():
            decided = decide_due(request.of, request.now_ms, request.not_before_ms)
            return require(decided.map(_spell_decision))
        case ask.Plan():
            return spell(plan_next_wake(request.of, request.now_ms, request.not_before_ms))
        case ask.ListViews():
            views = list_views(request.of, request.now_ms, request.not_before_ms)
            return [encode_view(view) for view in views]
        case ask.Present():
            found = present_dispatch(request.events, request.dispatch_seq, request.seed_length)
            return require(found.map(_spell_receipt))
        case ask.Receipts():
            return [
                _spell_row(row) for row in require(list_receipts(request.events, request.seed_length))
            ]
        case ask.Admit(guard=guard, tool=tool, arguments=arguments, now_ms=now_ms):
            refusal = admit(guard.wakeups, guard.config, tool, arguments, now_ms)
            return None if refusal is None else refusal_value(refusal)
        case ask.Reap(guard=guard):
            return spell(reap(guard.wakeups, request.of, guard.config, request.now_ms))
        case ask.Hold():
            return find_not_before(request.guard, request.now_ms)
        case ask.Tools():
            return spell(VERSION_1_DEFINITIONS)
        case _:
            assert_never(request)


def require(result: Result[_Value, CorruptScheduleLog] | Result[_Value, TimeOutOfRange]) -> _Value:
    """The value; `MessageFault` with the core's own code, sentence and fields if there is none."""
    if is_successful(result):
        return result.unwrap()
    raise refuse_rejection(result.failure())


def refuse_rejection(rejection: CorruptScheduleLog | TimeOutOfRange) -> MessageFault:
    """What the core refuses, as an error on the pipe."""
    known = list_fields(type(rejection)).items()
    fields = {name: getattr(rejection, field.name) for name, field in known}
    return MessageFault(rejection.code, describe_rejection(rejection), **fields)


def _show(ledger: Ledger) -> Json:
    return {
        "profile": "seed" if ledger.profile is SEED else "published",
        "position": ledger.position,
        "seedLength": ledger.seed_length,
        "active": [encode_record(record) for record in list_active(ledger)],
        "seenIds": list(ledger.seen_ids),
        "lastAcceptedAtMs": ledger.last_accepted_at_ms,
    }


def _spell_decision(decision: Decision) -> Json:
    """What to do: the kind, and the instant waited for, or message, changes and occurrences."""
    kind = decision.__struct_config__.tag
    if isinstance(decision, Wait):
        return {"kind": kind, "untilMs": decision.until_ms}
    return {
        "kind": kind,
        "message": None if isinstance(decision, SkipDue) else frame_decision(decision),
        "changes": spell(list_dispatches(decision)),
        "occurrences": spell(list_occurrences(decision)),
    }


def _spell_receipt(receipt: Receipt | None) -> Json | None:
    return None if receipt is None else encode_receipt(receipt)


def _spell_row(row: DispatchReceipt) -> Json:
    return {"seq": row.seq, "dispatchedAtMs": row.dispatched_at_ms, **encode_receipt(row.receipt)}
