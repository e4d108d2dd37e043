"""The core at one end of a pipe: answers requests in order, and keeps values under chosen names.

This module drives live owners and programs as they are told to. It decides nothing, and it refuses to
know streams, so that a whole conversation can be held in a test.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any, Final, TypeVar, assert_never

from msgspec import Struct
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from wakefold import PUBLISHED, SEED, Ledger, count_wakeups, either, evolve, fold
from wakefold import signals as fact
from wakefold.effects import Effect
from wakefold.events import Event, Json
from wakefold.guard import Guard
from wakefold.guard_config import ConfigFault, GuardConfig, read_guard_config
from wakefold.guard_reports import list_report
from wakefold.lifecycle import advance
from wakefold.owners import Owner, open_owner
from wakefold.reaping import Reaped, ReapProgram, reap_reminders
from wakefold.rejections import CorruptScheduleLog, InternalError, shorten
from wakefold.tools import Program, StepAnswer, ToolAnswer, answer_value, open_call
from wakefold.wakeups import COUNTED_TYPES
from wakefold_shell.pipes import requests as ask
from wakefold_shell.pipes.messages import (
    PROTOCOL,
    MessageFault,
    accept,
    read_id,
    refuse,
    require_protocol,
)
from wakefold_shell.pipes.questions import answer_question, refuse_rejection, require
from wakefold_shell.pipes.spelling import Reader, spell

_PROFILES: Final = {"seed": SEED, "published": PUBLISHED}
_Kept = TypeVar("_Kept")


class Living(Struct, frozen=True):
    """A live owner, and what made its log corrupt, where that is known."""

    owner: Owner
    fault: CorruptScheduleLog | None


class Running(Struct, frozen=True):
    """A program between two steps; the reaper's reports by the limits."""

    program: Program | ReapProgram
    limits: GuardConfig | None = None


class CoreService:
    """One conversation, from its `hello` on."""

    def __init__(self) -> None:
        """Nothing is kept, and nobody has said hello."""
        self._kept: dict[str, Ledger | Guard | Living | Running] = {}
        self._greeted = False
        self._reader = Reader(self._find)

    def answer(self, message: Json) -> Json:
        """The reply to one message. Whatever it holds, there is one."""
        request_id: object = None
        try:
            request_id = read_id(message)
            request = self._read(message)
            if isinstance(request, ask.Question):
                return accept(request_id, answer_question(request))
            return accept(request_id, self._obey(request))
        except MessageFault as fault:
            return refuse(request_id, fault)
        except Exception as trouble:  # noqa: BLE001 - one request that breaks must not end the others
            sentence = f"An internal error ({type(trouble).__name__}): report the request."
            return refuse(request_id, MessageFault(InternalError().code, sentence))

    def _read(self, message: Json) -> ask.CoreRequest:
        fields = {name: value for name, value in message.items() if name != "id"}
        if fields.get("op") == "hello":
            require_protocol(fields)
            self._greeted = True
        elif not self._greeted:
            sentence = f'Say hello first: {{"id":0,"op":"hello","protocol":{PROTOCOL}}}.'
            raise MessageFault("bad_request", sentence, path="$.op")
        request: ask.CoreRequest = self._reader.read(ask.CoreRequest, fields, "$")
        return request

    def _obey(self, request: ask.Order) -> object:
        match request:
            case ask.Hello():
                return {"protocol": PROTOCOL}
            case ask.Fold():
                folded = fold(request.events, request.seed_length, _PROFILES[request.profile])
                return self._keep_ledger(request.as_, folded)
            case ask.Evolve():
                return self._keep_ledger(request.as_, _evolve_all(request.of, request.events))
            case ask.Count():
                return self._count(request)
            case ask.Open():
                return self._open(request)
            case ask.Advance():
                return self._advance(request)
            case ask.Call():
                return self._call(request)
            case ask.Reaper():
                self._kept[request.as_] = Running(reap_reminders(), request.guard.config)
                return self._go_on(request.as_, None)
            case ask.Step():
                return self._go_on(request.of, request.answer)
            case ask.Cancel():
                return self._cancel(request.of)
            case ask.Drop():
                self._look_up(request.of, Struct, "anything")
                del self._kept[request.of]
                return None
            case _:
                assert_never(request)

    def _find(self, name: str, kinds: tuple[Any, ...], path: str) -> object:
        """What a name stands for where a ledger or a guard is asked for; an owner has both."""
        kept = self._kept.get(name)
        if isinstance(kept, kinds):
            return kept
        if isinstance(kept, Living) and Ledger in kinds:
            if kept.owner.ledger is not None or NoneType in kinds:
                return kept.fault if kept.owner.ledger is None else kept.owner.ledger
            raise _refuse_lost(kept, path)
        if isinstance(kept, Living) and (kept.owner.guard is not None or NoneType in kinds):
            return kept.owner.guard
        wanted = "a ledger" if Ledger in kinds else "a guard"
        raise _refuse_name(name, wanted, path)

    def _look_up(self, name: str, kind: type[_Kept], wanted: str) -> _Kept:
        kept = self._kept.get(name)
        if isinstance(kept, kind):
            return kept
        raise _refuse_name(name, wanted, "$.of")

    def _keep_ledger(self, name: str, folded: Result[Ledger, CorruptScheduleLog]) -> Json:
        ledger = require(folded)
        self._kept[name] = ledger
        return {"position": ledger.position}

    def _count(self, request: ask.Count) -> object:
        limits = _read_limits(request.limits or {})
        own = request.events[max(request.seed_length, 0) :]
        counted = [event for event in own if event.type in COUNTED_TYPES]
        wakeups = count_wakeups(counted, limits.reset_kinds)
        self._kept[request.as_] = Guard(config=limits, seed_length=request.seed_length, wakeups=wakeups)
        return spell(wakeups)

    def _open(self, request: ask.Open) -> Json:
        limits = None if request.limits is None else _read_limits(request.limits)
        now_ms = _require_clock(request.now_ms, guarded=limits is not None)
        living = Living(Owner(ledger=None), None)
        if request.events is not None:
            opened = open_owner(
                request.events, request.seed_length, _PROFILES[request.profile], limits, now_ms
            )
            living = either(
                opened,
                lambda owner: Living(owner, None),
                lambda fault: Living(Owner(ledger=None), fault),
            )
        self._kept[request.as_] = living
        return {"fault": spell(living.fault)}

    def _advance(self, request: ask.Advance) -> Json:
        """Every signal in turn; of an event that breaks the log it is kept which rule it breaks."""
        living = self._look_up(request.of, Living, "an owner")
        owner, fault = living.owner, living.fault
        effects: list[Effect] = []
        for signal in request.signals:
            before = owner.ledger
            owner, ordered = advance(owner, signal)
            effects += ordered
            if before is not None and owner.ledger is None and isinstance(signal, fact.Recorded):
                fault = evolve(before, signal.event).failure()
        self._kept[request.of] = Living(owner, fault)
        return {"effects": spell(effects), "phase": spell(owner.phase)}

    def _call(self, request: ask.Call) -> Json:
        now_ms = _require_clock(request.now_ms, guarded=request.guard is not None)
        opened = open_call(request.tool, request.arguments, request.guard, now_ms, protocol=1)
        if not is_successful(opened):
            return _spell_answer(Failure(opened.failure()))
        self._kept[request.as_] = Running(opened.unwrap()())
        return self._go_on(request.as_, None)

    def _go_on(self, name: str, answer: StepAnswer | None) -> Json:
        """A program's next step, or what it has come to; then it is forgotten."""
        running = self._look_up(name, Running, "a program")
        try:
            wanted = running.program.send(answer) if answer else next(running.program)
        except StopIteration as end:
            del self._kept[name]
            return self._conclude(running, end.value)
        return {"step": spell(wanted)}

    def _conclude(self, running: Running, answer: ToolAnswer | Reaped) -> Json:
        if not isinstance(answer, Reaped):
            return _spell_answer(answer)
        report: Iterable[str] = ()
        if answer.stop is not None and running.limits is not None:
            report = list_report(answer.stop, running.limits, answer.now_ms)
        return {"reaped": spell(answer), "report": list(report)}

    def _cancel(self, name: str) -> Json:
        running = self._look_up(name, Running, "a program")
        del self._kept[name]
        if running.limits is not None:
            return self._conclude(running, Reaped())
        return _spell_answer(Failure(InternalError()))


def _evolve_all(ledger: Ledger, events: Iterable[Event]) -> Result[Ledger, CorruptScheduleLog]:
    """The ledger after more events; the first that breaks a rule is named."""
    for event in events:
        grown = evolve(ledger, event)
        if not is_successful(grown):
            return grown
        ledger = grown.unwrap()
    return Success(ledger)


def _require_clock(now_ms: int | None, *, guarded: bool) -> int:
    """The clock sample that a guard judges by; without one nobody looks at it."""
    if now_ms is None and guarded:
        sentence = "$.nowMs is missing: the guard needs it."
        raise MessageFault("bad_request", sentence, path="$.nowMs")
    return now_ms or 0


def _read_limits(values: Json) -> GuardConfig:
    def stop(fault: ConfigFault) -> GuardConfig:
        path = f"$.limits.{fault.field}"
        raise MessageFault("bad_request", f"{path} {fault.problem}.", path=path)

    return either(read_guard_config(values), lambda limits: limits, stop)


def _spell_answer(answer: ToolAnswer) -> Json:
    """The value that a call is answered with, and whether it is an error."""
    return {"answer": answer_value(answer), "failed": not is_successful(answer)}


def _refuse_name(name: str, wanted: str, path: str) -> MessageFault:
    sentence = f"{path} names nothing that is kept here as {wanted} (given {shorten(name)})."
    return MessageFault("unknown_name", sentence, path=path)


def _refuse_lost(living: Living, path: str) -> MessageFault:
    if living.fault is not None:
        return refuse_rejection(living.fault)
    return MessageFault("log_lost", f"{path}: the log of this owner cannot be read.", path=path)
