"""The runners of the vector files of version 2: folding, deciding and editing (calendar.md).

As `vector_runners`, this module decides nothing about right and wrong: it reads a state as the files
spell it, calls the core, and spells what comes out.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace
from returns.pipeline import is_successful
from returns.result import Result, Success

from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Event,
    Record,
    decode_change,
    encode_change,
    encode_record,
)
from wakefold.instants import format_instant, parse_instant
from wakefold.ledger import Ledger, evolve, fold, list_active
from wakefold.outcomes import either
from wakefold.records import Standing
from wakefold.recurrence import PROFILES
from wakefold.tools import (
    Append,
    Appended,
    Barrier,
    Confirmed,
    LogRead,
    Program,
    ReadClock,
    ReadLog,
    Sampled,
    StepAnswer,
    ToolStep,
    open_call,
)
from wakefold.wakes import (
    BatchDue,
    BatchEntry,
    Decision,
    OneShotDue,
    SkipDue,
    SkipEntry,
    Wait,
    decide_due,
)

#: One line of a vector file, or a part of it.
Case = dict[str, Any]
_PROFILES: Final = {profile.name: profile for profile in PROFILES}
_STANDING: Final = ("version", "runs", "revision", "paused", "snoozedUntil")


def run_fold(case: Case) -> object:
    """The states that a log of either version folds to."""
    folded = fold(read_events(case), 0, _PROFILES[case["profile"]])
    return either(folded, lambda ledger: {"ok": _spell_ledger(ledger)}, _spell_error)


def run_decision(case: Case) -> object:
    """What is due of a folded state."""
    ledger = restore_ledger(case["folded"], case["profile"])
    return either(decide_due(ledger, case["now"]), spell_decision, _spell_error)


def run_update(case: Case) -> object:
    """What a create or an update comes to: the change and the view after it, a value, or an error."""
    folded = (
        fold(read_events(case), 0, _PROFILES[case["profile"]])
        if "events" in case
        else Success(restore_ledger(case["folded"], case["profile"]))
    )
    program = open_call(case["tool"], case["arguments"])
    if not is_successful(program):
        return _spell_error(program.failure())
    return _Play(case, folded).play(program.unwrap()())


class _Play:
    """A tool's program, played on a folded log."""

    def __init__(self, case: Case, folded: Result[Ledger, Any]) -> None:
        self._case = case
        self._log = either(folded, lambda ledger: ledger, lambda fault: fault)
        self._change: Change | None = None

    def play(self, program: Program) -> object:
        """What comes out of it."""
        try:
            step = next(program)
            while True:
                step = program.send(self._answer(step))
        except StopIteration as end:
            return either(end.value, self._spell, _spell_error)

    def _answer(self, step: ToolStep) -> StepAnswer:
        match step:
            case Barrier():
                return Confirmed(log=self._log)
            case ReadClock():
                return Sampled(self._case["now"])
            case ReadLog():
                return self._tell_zone()
            case Append(change=change):
                event = Event(
                    SCHEDULE_CHANGE, self._log.position, self._case["now"], encode_change(change)
                )
                self._change, self._log = change, evolve(self._log, event).unwrap()
                return Appended()

    def _tell_zone(self) -> LogRead:
        """A log whose open turn implies the case's zone."""
        zone = self._case.get("implicitTimeZone")
        sections = [{"name": "time-context", "text": "now"}]
        context = {"kind": "plugin", "plugin": "time-context", "form": "snapshot", "sections": sections}
        person = {"kind": "user", "rpcId": "r", **({} if zone is None else {"clientTimeZone": zone})}
        turn: Case = {"turn": 1}
        told: Case = {"content": [{"type": "text", "text": "now"}], "source": context}
        rows: list[tuple[str, Case]] = [
            ("turn/start", turn),
            ("step/start", turn),
            ("user/message", told),
            ("user/message", {"source": person}),
        ]
        return LogRead(zone, [Event(kind, seq, 0, data) for seq, (kind, data) in enumerate(rows)])

    def _spell(self, value: object) -> object:
        if self._change is None:
            return {"value": value}
        return {"event": encode_change(self._change), "view": value}


def read_events(case: Case) -> list[Event]:
    """The events of a case."""
    return [Event(row["type"], row["seq"], row["time"], row["data"]) for row in case["events"]]


def restore_ledger(folded: Case, profile: str) -> Ledger:
    """The ledger that a folded state stands for."""
    records = [_restore_record(state) for state in folded["active"]]
    return Ledger(
        profile=_PROFILES[profile],
        position=len(folded["seenIds"]),
        records={record.id: record for record in records},
        seen_ids=dict.fromkeys(folded["seenIds"]),
        last_accepted_at_ms=parse_instant(folded.get("lastRecurringAcceptedAt")),
    )


def _restore_record(state: Case) -> Record:
    stored = {key: value for key, value in state.items() if key not in _STANDING}
    creates = [
        decode_change({"version": version, "operation": "create", "schedule": stored})
        for version in (1, 2)
    ]
    (change,) = (create.unwrap() for create in creates if is_successful(create))
    assert isinstance(change, Create)
    standing = Standing(
        version=state["version"],
        runs=state["runs"],
        revision=state["revision"],
        paused=state.get("paused", False),
        snoozed_until_ms=parse_instant(state.get("snoozedUntil")),
    )
    return replace(change.schedule, standing=standing)


def _spell_ledger(ledger: Ledger) -> Case:
    value: Case = {
        "active": [_spell_record(record) for record in list_active(ledger)],
        "seenIds": list(ledger.seen_ids),
    }
    if ledger.last_accepted_at_ms is not None:
        value["lastRecurringAcceptedAt"] = format_instant(ledger.last_accepted_at_ms)
    return value


def _spell_record(record: Record) -> Case:
    standing = record.standing
    value: Case = {
        **encode_record(record),
        "version": standing.version,
        "runs": standing.runs,
        "revision": standing.revision,
    }
    if standing.paused:
        value["paused"] = True
    if standing.snoozed_until_ms is not None:
        value["snoozedUntil"] = format_instant(standing.snoozed_until_ms)
    return value


def spell_decision(decision: Decision) -> Case:
    """A decision, with what the dispatches of version 2 state."""
    kind = str(decision.__struct_config__.tag)
    match decision:
        case OneShotDue(record=record):
            value: Case = {"kind": kind, "id": record.id}
            if decision.accepted_at_ms is None:
                return value
            value["acceptedAt"] = format_instant(decision.accepted_at_ms)
            return {**value, "occurrenceAt": format_instant(decision.occurrence_ms)}
        case BatchDue(accepted_at_ms=accepted_at_ms, entries=entries):
            accepted_at = format_instant(accepted_at_ms)
            return {
                "kind": kind,
                "acceptedAt": accepted_at,
                "reminders": list(map(_spell_entry, entries)),
            }
        case SkipDue(accepted_at_ms=accepted_at_ms, entries=late):
            head = {"kind": kind, "acceptedAt": format_instant(accepted_at_ms)}
            return {**head, "skips": list(map(_spell_entry, late))}
        case Wait(until_ms=None):
            return {"kind": kind}
        case Wait(until_ms=until_ms):
            return {"kind": kind, "target": until_ms}


def _spell_entry(entry: BatchEntry | SkipEntry) -> Case:
    value = {"id": entry.record.id, "occurrenceAt": format_instant(entry.occurrence_ms)}
    next_ms = entry.next_ms
    return value if next_ms is None else {**value, "nextScheduledAt": format_instant(next_ms)}


def _spell_error(rejection: Any) -> object:  # noqa: ANN401 - of any code
    return {"error": rejection.code}
