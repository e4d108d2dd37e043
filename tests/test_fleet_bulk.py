"""Many sessions in one call: they are what they would be one by one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core_logs import ok, refused
from fleet_world import Audience, ask, peopled, read_events, reminder, until, working
from wakefold.tools import ToolAnswer
from wakefold.wakings import plan_look
from wakefold_shell.fleet.bulk_creates import NewSession
from wakefold_shell.fleet.databases import connect, open_pool
from wakefold_shell.fleet.schema import NEXT_DUE
from wakefold_shell.fleet.sweeps import OVERDUE
from wakefold_shell.fleet.tables import name_key
from wakefold_shell.fleet.tails import Policy
from wakefold_shell.fleet.transactions import do_nothing, visit_session

pytestmark = pytest.mark.anyio

JOBS = "SELECT entrypoint, status::text, dedupe_key, priority < 0 FROM pgqueuer ORDER BY dedupe_key"
WAKES = "SELECT floor(extract(epoch FROM wake_at) * 1000)::bigint FROM session_wake"


@pytest.fixture
def anyio_backend() -> str:
    """The queue and its driver know asyncio alone."""
    return "asyncio"


def find_id(answer: ToolAnswer) -> str:
    """The id of what was created."""
    view = ok(answer)
    assert isinstance(view, dict)
    return str(view["id"])


async def test_sessions_made_at_once_are_those_made_one_by_one(fleet: str) -> None:
    wanted = (reminder(after_seconds=100), reminder(every_seconds=300))
    async with peopled(fleet) as sessions:
        made = await sessions.create_sessions(
            [NewSession("many-1", wanted, "Europe/Berlin"), NewSession("many-2", wanted)]
        )
        await sessions.create_session("single", "Europe/Berlin")
        for arguments in wanted:
            ok(await sessions.call("single", "schedule_create", arguments))
        zones = [
            (await sessions.read_header(name)).time_zone for name in ("many-1", "single", "many-2")
        ]
    assert zones == ["Europe/Berlin", "Europe/Berlin", None]
    assert [[find_id(answer) for answer in answers] for answers in made.values()] == [
        ["schedule-1", "schedule-2"]
    ] * 2
    shapes = [
        [(one.type, one.seq, one.data) for one in await read_events(fleet, name)]
        for name in ("many-1", "many-2")
    ]
    assert shapes[0] == shapes[1]
    single = await read_events(fleet, "single")
    assert [(one[0], one[1]) for one in shapes[0]] == [(one.type, one.seq) for one in single]
    jobs = await ask(fleet, JOBS)
    assert jobs[:2] == [("wake", "queued", f'"many-{n}":2', True) for n in (1, 2)]


async def test_sessions_made_at_once_wake_when_their_logs_say_and_are_delivered(fleet: str) -> None:
    audience = Audience()
    names = [f"s{number}" for number in range(5)]
    async with peopled(fleet) as sessions, open_pool(fleet, 1) as pool:
        await sessions.create_sessions(
            [NewSession(name, (reminder(after_seconds=2),)) for name in names]
        )
        kept = {at_ms for (at_ms,) in await ask(fleet, WAKES)}
        visits = [await visit_session(pool, name_key(name), Policy(), do_nothing) for name in names]
        assert {plan_look(visit.waking) for visit in visits} == kept
        async with working(fleet, audience.make_agent):
            await until(lambda: len(audience.heard) == len(names))
    assert {name for name, _ in audience.heard} == set(names)


async def test_a_session_that_is_there_is_left_alone_and_a_refused_create_is_answered(
    fleet: str,
) -> None:
    async with peopled(fleet, "old") as sessions:
        made = await sessions.create_sessions(
            [
                NewSession("old", (reminder(after_seconds=100),)),
                NewSession("new", (reminder(every_seconds=1), reminder(after_seconds=100))),
                NewSession("empty"),
            ]
        )
        assert await sessions.create_sessions([]) == {}
    assert list(made) == ["new", "empty"]
    assert refused(made["new"][0]).code == "frequency_too_high"
    assert find_id(made["new"][1]) == "schedule-1"
    assert made["empty"] == ()
    assert await read_events(fleet, "old") == []
    assert [name for _, _, name, _ in await ask(fleet, JOBS)] == ['"new":1']


async def test_what_is_asked_again_and_again_asks_an_index(fleet: str) -> None:
    """With sessions enough that a scan of all of them would cost more."""
    many = [NewSession(f"s{number}", (reminder(after_seconds=9999),)) for number in range(2000)]
    async with peopled(fleet) as sessions:
        await sessions.create_sessions(many)
    connection = await connect(fleet)
    await connection.execute("ANALYZE")
    queries = {
        OVERDUE: (5.0, datetime.min.replace(tzinfo=UTC), "", 1000),
        NEXT_DUE: (["wake", "followup"],),
    }
    for query, arguments in queries.items():
        rows = await connection.fetch(f"EXPLAIN (ANALYZE) {query}", *arguments)
        scans = [row[0] for row in rows if "Seq Scan" in row[0] and "never executed" not in row[0]]
        assert scans == []
    await connection.close()
