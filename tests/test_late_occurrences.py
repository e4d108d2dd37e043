"""A live session leaves out what is too late: events without a message, and no turn."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from journal_files import NOON_MS
from memory_world import MINUTE_MS, Listener, MemoryStore, at, every, live_out
from wakefold.edits import Skip
from wakefold.events import decode_change
from wakefold.records import EDITABLE, Options, Record

pytestmark = pytest.mark.anyio

LATE = Options(missed="skip", grace_seconds=300)


def choosy(record: Record) -> Record:
    """The same, left out when it is more than five minutes late."""
    return replace(record, options=LATE, standing=EDITABLE)


async def test_what_is_too_late_is_written_down_and_wakes_nobody() -> None:
    """One write for all of it, before anything is handed over."""
    store = MemoryStore(
        choosy(every("e", NOON_MS - 10 * MINUTE_MS, 86_400)),
        choosy(at("a", NOON_MS - 6 * MINUTE_MS)),
    )
    agent = Listener()
    life = await live_out(store, agent.take_turn)
    assert store.batches == [["schedule/change", "schedule/change"]]
    assert agent.given == []
    assert life.warnings == []
    left_out = [decode_change(event.data).unwrap() for event in store.events[2:]]
    next_ms = NOON_MS - 10 * MINUTE_MS + 86_400_000
    assert left_out == [
        Skip("e", NOON_MS, NOON_MS - 10 * MINUTE_MS, next_ms),
        Skip("a", NOON_MS, NOON_MS - 6 * MINUTE_MS),
    ]
    assert life.waits[-1] == next_ms


async def test_what_is_in_time_goes_after_what_was_too_late() -> None:
    """Two hand-overs: the first has no message, the second is a turn."""
    store = MemoryStore(choosy(at("a", NOON_MS - 6 * MINUTE_MS)), choosy(at("b", NOON_MS - MINUTE_MS)))
    agent = Listener()
    await live_out(store, agent.take_turn)
    assert store.batches[:2] == [["schedule/change"], ["agent/inbox/spliced", "schedule/change"]]
    assert agent.occurrences == [(("b", NOON_MS - MINUTE_MS),)]


async def test_a_skip_that_the_store_refuses_stops_the_session() -> None:
    """As any hand-over that cannot be written: nothing is taken for done."""
    store = MemoryStore(choosy(at("a", NOON_MS - 6 * MINUTE_MS)))
    store.broken.add("append")
    agent = Listener()
    life = await live_out(store, agent.take_turn)
    assert len(store.events) == 1
    assert agent.given == []
    assert len(life.warnings) == 1
