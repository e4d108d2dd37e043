"""Workers of a fleet on a real server: wakes, messages, and what was learnt by trying."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from returns.pipeline import is_successful

from core_logs import ok, refused
from fleet_world import (
    Audience,
    ask,
    count_operations,
    peopled,
    read_events,
    reminder,
    until,
    working,
)
from postgres_servers import ask as ask_apart
from postgres_servers import open_server
from wakefold.conversations import Input
from wakefold.guard import Refusal
from wakefold.guard_config import read_guard_config
from wakefold.wakings import Waking
from wakefold_shell.errors import JournalError
from wakefold_shell.fleet.clients import open_fleet
from wakefold_shell.fleet.databases import FleetError, connect, open_pool
from wakefold_shell.fleet.schema import init_schema
from wakefold_shell.fleet.sweeps import retry_held, sweep_overdue
from wakefold_shell.fleet.tables import name_key
from wakefold_shell.fleet.tails import Policy
from wakefold_shell.fleet.transactions import (
    do_nothing,
    find_priority,
    name_wake,
    read_key,
    visit_session,
)
from wakefold_shell.fleet.workers import Pace
from wakefold_shell.guarding import Watchman
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.hosts.inboxes import Agent, Answer, RepeatableAgent
from wakefold_shell.stores.rows import Header

pytestmark = pytest.mark.anyio

JOBS = "SELECT entrypoint, status::text, dedupe_key FROM pgqueuer ORDER BY id"
SLOW_SWEEP = Pace(dequeue_seconds=0.3, sweep_seconds=600)
WORKER = """
import sys
import anyio
from wakefold_shell.fleet.clients import DEFAULT_POLICY
from wakefold_shell.fleet.workers import Worker
from wakefold_shell.hosts.callbacks import CallbackAgent

async def take_turn(given):
    print(given.text.replace("\\n", " "), flush=True)
    await anyio.sleep(600)

worker = Worker(sys.argv[1], DEFAULT_POLICY, lambda _: CallbackAgent(take_turn))
anyio.run(worker.run)
"""


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
    late_ms = events[1].time_ms - given.occurrences[0][1]
    assert 0 <= late_ms < 1000  # never before its time by the database's clock
    taken = await ask(fleet, "SELECT reminder_id, taken_seq FROM followup")
    assert taken == [('"schedule-1"', 6)]
    assert await ask(fleet, JOBS) == []


async def test_a_view_says_that_a_cold_session_is_woken(fleet: str) -> None:
    async with peopled(fleet, "s") as sessions:
        made: Any = ok(await sessions.call("s", "schedule_create", reminder(every_seconds=300)))
        edit = {"id": made["id"], "title": "tea"}
        edited: Any = ok(await sessions.call("s", "schedule_update", edit))
        (listed,) = cast("list[Any]", ok(await sessions.call("s", "schedule_list", {})))
    assert [view["deliveryMode"] for view in (made, edited, listed)] == ["host"] * 3


async def test_wakes_are_named_by_where_the_log_ends(fleet: str) -> None:
    async with peopled(fleet, "s") as sessions:
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=100)))
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=50)))
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=70)))  # arms nothing new
        ok(await sessions.call("s", "schedule_list", {}))
    assert await ask(fleet, JOBS) == [("wake", "queued", '"s":1'), ("wake", "queued", '"s":2')]
    assert read_key(name_wake('"a:b"', 3)) == '"a:b"'


async def test_a_wake_that_is_early_comes_back_and_a_stale_one_does_not(fleet: str) -> None:
    async with peopled(fleet, "s") as sessions, open_pool(fleet, 2) as pool:
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=100)))
        early = await visit_session(pool, '"s"', Policy(), do_nothing, '"s":1')
        assert early.come_back_ms is not None
        assert 99_000 < early.come_back_ms <= 100_000
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=50)))
        stale = await visit_session(pool, '"s"', Policy(), do_nothing, '"s":1')
        assert stale.come_back_ms is None
    names = [name for _, _, name in await ask(fleet, JOBS)]
    assert names == ['"s":1', '"s":2']


async def test_what_fires_early_is_dispatched_once_at_its_time(fleet: str) -> None:
    """A job that the queue gives away before its time, as another clock would have it."""
    audience = Audience()
    async with peopled(fleet, "s") as sessions:
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=2)))
        await ask(fleet, "UPDATE pgqueuer SET execute_after = now() - interval '1 hour'")
        async with working(fleet, audience.make_agent, pace=SLOW_SWEEP):
            await until(lambda: bool(audience.heard))
    events = await read_events(fleet, "s")
    assert events[1].time_ms >= audience.heard[0][1].occurrences[0][1]
    assert count_operations(events, "dispatch") == 1


def test_what_is_due_first_goes_first_whatever_the_year() -> None:
    assert find_priority(1_800_000_060_000) < find_priority(1_800_000_000_000) < 0
    assert find_priority(253_402_300_799_999) == -(2**31)


async def test_jobs_carry_their_priority(fleet: str) -> None:
    async with peopled(fleet, "s") as sessions:
        ok(await sessions.call("s", "schedule_create", reminder(at="9999-12-31T00:00:00Z")))
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=60)))
    query = "SELECT priority = -2147483648, execute_after > now() FROM pgqueuer ORDER BY id"
    assert await ask(fleet, query) == [(True, True), (False, True)]


async def test_simultaneous_wakes_give_one_message_for_each_session(fleet: str) -> None:
    names = [f"s{number}" for number in range(10)]
    async with peopled(fleet, *names) as sessions, open_pool(fleet, 10) as pool:
        for name in names:
            ok(await sessions.call(name, "schedule_create", reminder(every_seconds=300)))
            ok(await sessions.call(name, "schedule_create", reminder(after_seconds=1)))
        await anyio.sleep(1.1)
        async with anyio.create_task_group() as tasks:
            for key in [*map(name_key, names)] * 6:
                tasks.start_soon(visit_session, pool, key, Policy(), do_nothing, f"{key}:x")
        for name in names:
            events = await read_events(fleet, name)
            assert count_operations(events, "dispatch") == 1
            assert [one.seq for one in events] == list(range(len(events)))
    kinds = Counter(kind for kind, _, _ in await ask(fleet, JOBS))
    assert kinds["followup"] == len(names)


async def test_whoever_writes_without_a_lock_waits_all_the_same(fleet: str) -> None:
    async with peopled(fleet, "s") as sessions, open_pool(fleet, 2) as pool:
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=100)))
        rival = "INSERT INTO session_log SELECT session_id, 1, type, data, at FROM session_log"

        def act(waking: Waking) -> tuple[Waking, None]:
            with pytest.raises(FleetError, match="lock timeout"):  # while the session is locked
                ask_apart(fleet, lambda it: it.execute(f"SET lock_timeout = '100ms'; {rival}"))
            return waking, None

        await visit_session(pool, '"s"', Policy(), act)
        await ask(fleet, rival)
        with pytest.raises(JournalError, match="seq 0 stands where seq 1 is due"):
            await sessions.call("s", "schedule_list", {})
        await ask(fleet, "DELETE FROM session_log WHERE seq = 1")
        assert len(str(ok(await sessions.call("s", "schedule_list", {})))) > 2


async def test_two_workers_never_ask_one_agent_at_once_and_coalesce_what_comes_due(fleet: str) -> None:
    audience = Audience()
    audience.seconds = 1.0
    one, other = (working(fleet, audience.make_agent) for _ in range(2))
    async with peopled(fleet, "s") as sessions, one, other:
        for _ in range(3):
            await sessions.say("s", "hello")
        await until(lambda: bool(audience.heard))
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=1)))
        await until(lambda: len(audience.heard) == 4)
        await until(lambda: not audience.under_way)
    assert audience.met == 0
    assert [bool(given.occurrences) for given in audience.of("s")] == [False, False, False, True]


async def test_a_failed_job_is_held_and_tells_and_goes_on_when_retried(fleet: str) -> None:
    audience, told, broken = Audience(), list[str](), [True]

    def make_agent(header: Header) -> Agent:
        if broken:
            raise OSError("no such agent")
        return audience.make_agent(header)

    async with peopled(fleet, "s", "t") as sessions, working(fleet, make_agent, tell=told.append):
        await sessions.say("s", "hello")
        await until(lambda: bool(told))
        await anyio.sleep(1)  # the sweep leaves it alone
        held = [(kind, status) for kind, status, _ in await ask(fleet, JOBS)]
        assert held == [("followup", "failed")]
        assert len(told) == 1
        assert told[0].endswith("; the job is held.")
        broken.clear()
        await sessions.say("t", "others go on")
        await until(lambda: bool(audience.of("t")))
        connection = await connect(fleet)
        assert await retry_held(connection) == 1
        await connection.close()
        await until(lambda: bool(audience.of("s")))
    assert await ask(fleet, JOBS) == []


async def test_held_jobs_of_one_name_are_one(fleet: str) -> None:
    async with peopled(fleet, "s") as sessions:
        await sessions.say("s", "hello")
        await ask(fleet, "UPDATE pgqueuer SET status = 'failed'")
        await sessions.say("s", "again")  # arms the first message's job anew
        connection = await connect(fleet)
        assert await retry_held(connection) == 0
        await ask(fleet, "UPDATE pgqueuer SET status = 'failed'")
        assert await retry_held(connection) == 1
        await connection.close()
    assert [status for _, status, _ in await ask(fleet, JOBS)] == ["queued"]


async def test_the_sweep_revives_what_was_lost(fleet: str) -> None:
    audience = Audience()
    async with peopled(fleet, "s", "t") as sessions, open_pool(fleet, 2) as pool:
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=1)))
        await sessions.say("t", "hello")
        await ask(fleet, "DELETE FROM pgqueuer")
        assert await sweep_overdue(pool) == 0  # a job would be on its way
        await anyio.sleep(1.2)
        assert await sweep_overdue(pool, 0.0) == 2
        assert await sweep_overdue(pool, 0.0) == 2
        assert len(await ask(fleet, JOBS)) == 2
        async with working(fleet, audience.make_agent):
            await until(lambda: len(audience.heard) == 2)
    assert {name for name, _ in audience.heard} == {"s", "t"}


async def test_a_worker_that_is_killed_is_followed_within_ten_seconds(fleet: str) -> None:
    """With the pace that a worker has by default."""
    audience = Audience()
    async with peopled(fleet, "s") as sessions:
        command = [sys.executable, "-c", WORKER, fleet]
        async with await anyio.open_process(command, cwd=Path(__file__).parent, stderr=None) as doomed:
            try:
                await sessions.say("s", "hello")
                assert doomed.stdout is not None
                with anyio.fail_after(30):
                    said = await BufferedByteReceiveStream(doomed.stdout).receive_until(b"\n", 100)
                assert said == b"hello"
            finally:
                doomed.kill()  # or the end of the block would wait for it
        async with working(fleet, audience.make_agent, pace=Pace()):
            await until(lambda: bool(audience.heard), 10.0)
    assert [given.text for given in audience.of("s")] == ["hello"]


async def test_a_worker_that_must_stop_lets_agents_finish_and_leaves_the_rest(fleet: str) -> None:
    patient, hasty, heir = Audience(), Audience(), Audience()
    patient.seconds, hasty.seconds = 1.0, 600.0
    async with peopled(fleet, "s", "t") as sessions:
        async with working(fleet, patient.make_agent):
            await sessions.say("s", "hello")
            await until(lambda: bool(patient.heard))
        assert [one.type for one in await read_events(fleet, "s")][-1] == "turn/end"
        async with working(fleet, hasty.make_agent) as worker:
            await sessions.say("t", "hello")
            await until(lambda: bool(hasty.heard))
            worker.stop()  # asked again at the end of the block, it waits no more
        assert [one.type for one in await read_events(fleet, "t")] == ["agent/inbox/spliced"]
        async with working(fleet, heir.make_agent):
            await until(lambda: bool(heir.of("t")))


async def test_a_server_that_restarts_ends_no_worker_and_no_turn() -> None:
    audience, told = Audience(), list[str]()
    audience.seconds = 3.0
    with open_server() as server, server.make_database() as dsn:
        connection = await connect(dsn)
        await init_schema(connection)
        await connection.close()
        async with working(dsn, audience.make_agent, tell=told.append):
            async with peopled(dsn, "s", "t") as sessions:
                await sessions.say("s", "before")
                await until(lambda: bool(audience.heard))
            await anyio.to_thread.run_sync(server.stop)
            await anyio.sleep(0.5)
            await anyio.to_thread.run_sync(server.start)
            async with open_fleet(dsn) as sessions:
                await sessions.say("t", "after")
            await until(lambda: bool(audience.of("t")), 15.0)
            await until(lambda: not audience.under_way)
        assert [one.type for one in await read_events(dsn, "s")][-1] == "turn/end"
    assert [given.text for given in audience.of("s")] == ["before"]
    assert told
    assert all("cannot be reached" in sentence for sentence in told)


class Unwilling(RepeatableAgent):
    """Fails as often as it is told to, and knows what it is given again."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.offers: list[int] = []

    async def answer(self, given: Input, begin: object) -> Answer:
        """A failure, or not."""
        assert callable(begin)
        begin()
        self.offers.append(given.earlier_offers)
        self.left -= 1
        return Answer(kind="failed" if self.left >= 0 else "completed")


async def test_a_message_that_failed_waits_for_another_offer(
    fleet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wakefold.offers.PAUSES_SECONDS", (1, 1, 1, 1))
    agent = Unwilling(2)
    async with peopled(fleet, "s") as sessions, working(fleet, lambda _: agent):
        await sessions.say("s", "hello")
        await until(lambda: len(agent.offers) == 3)
        await anyio.sleep(1.5)
    assert agent.offers == [0, 1, 2]
    ends = [one.data for one in await read_events(fleet, "s") if one.type == "turn/end"]
    kinds = [end["reason"]["kind"] for end in ends if isinstance(end, dict)]
    assert kinds == ["failed", "failed", "completed"]


async def test_the_guard_refuses_holds_and_reaps_in_the_same_transactions(fleet: str) -> None:
    audience, told = Audience(), list[str]()
    limits = ok(read_guard_config({"maxConsecutiveWakeups": 0, "maxPerHour": 1}))
    policy = Policy(limits=limits)
    watchman = Watchman(None, told.append)
    async with peopled(fleet, "s", policy=policy) as sessions:
        ok(await sessions.call("s", "schedule_create", reminder(every_seconds=1800)))
        ok(await sessions.call("s", "schedule_create", reminder(after_seconds=1)))
        async with working(fleet, audience.make_agent, policy, watchman=watchman):
            await until(lambda: bool(told))
        refusal = refused(await sessions.call("s", "schedule_create", reminder(after_seconds=5)))
        assert isinstance(refusal, Refusal)
        assert refusal.code == "SCHEDULE_HOURLY_CAP"
        assert ok(await sessions.call("s", "schedule_list", {})) == []
    events = await read_events(fleet, "s")
    assert count_operations(events, "delete") == 1
    assert events[-1].type == "schedule/change"
    assert "in a row without an external word" in told[0]


async def test_a_hold_ends_with_a_persons_word(fleet: str) -> None:
    audience = Audience()
    limits = ok(read_guard_config({"maxConsecutiveWakeups": 1, "maxPerHour": 0, "hold": True}))
    policy = Policy(limits=limits)
    async with peopled(fleet, "s", policy=policy) as sessions:
        for _ in range(2):
            ok(await sessions.call("s", "schedule_create", reminder(after_seconds=1)))
        async with working(fleet, audience.make_agent, policy):
            await until(lambda: bool(audience.heard))
            await anyio.sleep(1)
            assert len(audience.heard) == 1
            await sessions.say("s", "go on")
            await until(lambda: len(audience.heard) == 3)
    assert [bool(given.occurrences) for given in audience.of("s")] == [True, False, True]


async def test_an_agent_may_call_tools_in_its_turn(fleet: str) -> None:
    async with peopled(fleet, "s") as sessions:

        async def take_turn(given: Input) -> str:
            if not given.occurrences:
                answer = await sessions.call("s", "schedule_create", reminder(after_seconds=1))
                assert is_successful(answer)
            heard.append(given)
            return "done"

        heard: list[Input] = []
        async with working(fleet, lambda _: CallbackAgent(take_turn)):
            await sessions.say("s", "remind me")
            await until(lambda: len(heard) == 2)
    assert [bool(given.occurrences) for given in heard] == [False, True]
