"""Dispatches of version 2 that a crash cut off behind their messages."""

from __future__ import annotations

import pytest

from core_logs import LAST_MS, T, at, at_record, every, every_record, ledger_of
from wakefold.conversations import (
    INBOX_SPLICED,
    REMINDER_SOURCE,
    Conversation,
    follow,
    make_message,
)
from wakefold.edits import StatedDispatch
from wakefold.events import Dispatch, Event, Json
from wakefold.framing import frame_batch, frame_one_shot
from wakefold.instants import format_instant
from wakefold.recoveries import list_missing_dispatches
from wakefold.wakes import BatchEntry

DAY_MS = 86_400_000
DAILY = {"kind": "daily", "time": "08:00:00.000", "timeZone": "UTC"}


def made(schedule: Json, **options: object) -> Json:
    """The data of a create of version 2."""
    return {"version": 2, "operation": "create", "schedule": {**schedule, **options}}


def daily(zone: str = "UTC", target_ms: int = T) -> Json:
    """The data of the create of a daily reminder `e`, due at 08:00."""
    head = {"id": "e", "prompt": "p e", "scheduledAt": format_instant(target_ms)}
    return made({**head, **DAILY, "timeZone": zone})


def pause(name: str) -> Json:
    """The data of a pause."""
    return {"version": 2, "operation": "pause", "id": name}


def waiting(text: str, queued_at_ms: int) -> Conversation:
    """An inbox with one reminder's message."""
    message = make_message("m", text, REMINDER_SOURCE)
    data = {"target": "next-turn", "start": 0, "inserted": [message]}
    return follow(Conversation(), Event(INBOX_SPLICED, 0, queued_at_ms, data))


BATCH = frame_batch([BatchEntry(every_record("e"), T)])
ONE_SHOT = frame_one_shot(at_record("t"))


@pytest.mark.parametrize(
    ("changes", "text", "queued_ms", "missing"),
    [
        ([daily()], BATCH, T + 9, [StatedDispatch("e", T + 9, T, T + DAY_MS)]),
        ([made(at(), title="x")], ONE_SHOT, T + 9, [StatedDispatch("t", T + 9, T)]),
        ([made(at(), title="x")], ONE_SHOT, LAST_MS, [StatedDispatch("t", LAST_MS, T)]),
        ([made(every(), maxRuns=1)], BATCH, T + 9, [StatedDispatch("e", T + 9, T, T + 300_000)]),
        ([daily()], BATCH, T + DAY_MS, []),
        ([daily()], BATCH, T - 1, []),
        ([daily("No/Such_Zone")], BATCH, T + 9, []),
        ([daily(), pause("e")], BATCH, T + 9, []),
        ([made(at(), title="x"), pause("t")], ONE_SHOT, T + 9, []),
        ([made(at(), title="x")], ONE_SHOT, LAST_MS + 1, []),
        ([made(at(), title="x")], ONE_SHOT, 2**53 - 1, []),
        ([daily(target_ms=LAST_MS)], BATCH, 2**53 - 1, []),
    ],
)
def test_a_message_without_its_stated_dispatch_gets_it(
    changes: list[Json],
    text: str,
    queued_ms: int,
    missing: list[Dispatch | StatedDispatch],
) -> None:
    """Where it would stand for the occurrence named, be lawful, and be written by some text."""
    found = list_missing_dispatches(waiting(text, queued_ms), ledger_of(*changes))
    assert found == tuple(missing)
