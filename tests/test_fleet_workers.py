"""Workers of a fleet on a real server: wakes, messages, and what was learnt by trying."""

from __future__ import annotations

import pytest

from core_logs import ok
from fleet_world import Audience, count_operations, peopled, read_events, reminder, until, working

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The queue and its driver know asyncio alone."""
    return "asyncio"


async def test_a_reminder_is_delivered_at_its_time_and_its_turn_written(fleet: str) -> None:
    audience = Audience()
    async with peopled(fleet, "s") as sessions, working(fleet, audience.make_agent):
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=1)))
        await until(lambda: bool(audience.heard))
    (given,) = audience.of("s")
    assert [name for name, _ in given.occurrences] == ["schedule-1"]
    events = await read_events(fleet, "s")
    assert [one.type for one in events] == [
        *("schedule/change", "agent/inbox/spliced", "schedule/change"),
        *("turn/start", "agent/inbox/spliced", "step/start", "user/message", "user/message"),
        *("assistant/message", "step/end", "turn/end"),
    ]
    assert count_operations(events, "dispatch") == 1
