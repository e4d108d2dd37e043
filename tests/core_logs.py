"""Short spellings of stored data, logs and ledgers for the tests of the core.

Data is written out by hand here, not by the core's encoders, so that a test compares two sources.
"""

from __future__ import annotations

from typing import Final, TypeVar

from returns.pipeline import is_successful
from returns.result import Result

from wakefold.events import SCHEDULE_CHANGE, AtRecord, Event, EveryRecord, Json
from wakefold.instants import format_instant
from wakefold.ledger import Ledger, fold
from wakefold.records import Standing
from wakefold.recurrence import SEED, Profile

_Value = TypeVar("_Value")
_Error = TypeVar("_Error")

T: Final = 1_800_000_000_000
"""2027-01-15T08:00:00.000Z, the instant around which the tests are set."""

GATE_MS: Final = 300_000
FIRST_MS: Final = -62_135_596_800_000
LAST_MS: Final = 253_402_300_799_999


def ok(result: Result[_Value, _Error]) -> _Value:
    """The value of a result that must have one."""
    assert is_successful(result), result
    return result.unwrap()


def refused(result: Result[_Value, _Error]) -> _Error:
    """The error of a result that must have one."""
    assert not is_successful(result), result
    return result.failure()


def after(name: str = "a", target_ms: int = T, seconds: int = 30) -> Json:
    """A stored one-shot made by a delay."""
    return {
        "id": name,
        "kind": "after",
        "prompt": f"p {name}",
        "afterSeconds": seconds,
        "scheduledAt": format_instant(target_ms),
    }


def at(name: str = "t", target_ms: int = T) -> Json:
    """A stored one-shot made by an absolute time."""
    return {
        "id": name,
        "kind": "at",
        "prompt": f"p {name}",
        "scheduledAt": format_instant(target_ms),
    }


def every(name: str = "e", target_ms: int = T, seconds: int = 300) -> Json:
    """A stored fixed-rate reminder."""
    return {
        "id": name,
        "kind": "every",
        "prompt": f"p {name}",
        "everySeconds": seconds,
        "scheduledAt": format_instant(target_ms),
    }


def created(schedule: Json) -> Json:
    """The data of a create."""
    return {"version": 1, "operation": "create", "schedule": schedule}


def deleted(name: str) -> Json:
    """The data of a delete."""
    return {"version": 1, "operation": "delete", "id": name}


def dispatched(name: str, accepted_at_ms: int | None = None) -> Json:
    """The data of a dispatch."""
    data: Json = {"version": 1, "operation": "dispatch", "id": name}
    if accepted_at_ms is not None:
        data["acceptedAt"] = format_instant(accepted_at_ms)
    return data


def event(data: object, seq: int = 0, kind: str = SCHEDULE_CHANGE, time_ms: int = 0) -> Event:
    """One event, of the schedule stream unless told otherwise."""
    return Event(type=kind, seq=seq, time_ms=time_ms, data=data)


def log(*changes: object) -> list[Event]:
    """A log of schedule changes and nothing else."""
    return [event(data, seq) for seq, data in enumerate(changes)]


def ledger_of(*changes: object, profile: Profile = SEED) -> Ledger:
    """What a sound log of schedule changes has come to."""
    return ok(fold(log(*changes), 0, profile))


def at_record(name: str = "t", target_ms: int = T, prompt: str = "p t") -> AtRecord:
    """A one-shot in memory."""
    return AtRecord(id=name, prompt=prompt, scheduled_at_ms=target_ms)


def every_record(name: str = "e", target_ms: int = T, seconds: int = 300, runs: int = 0) -> EveryRecord:
    """A fixed-rate reminder in memory, after some dispatches."""
    standing = Standing(runs=runs)
    return EveryRecord(name, f"p {name}", seconds, target_ms, standing=standing)
