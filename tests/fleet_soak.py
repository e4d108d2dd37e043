"""A fleet under kills and restarts: sessions change at random while workers and the server die.

`run_soak` does it, and counts from the tables alone what came of it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import anyio
from anyio.abc import Process
from msgspec import Struct
from returns.pipeline import is_successful

from fleet_world import ask
from postgres_servers import Server
from wakefold import Event, Ledger, fold, list_active
from wakefold.events import Delete, Json, decode_change
from wakefold.records import find_due
from wakefold_shell.errors import ShellError
from wakefold_shell.fleet.clients import Fleet, open_fleet
from wakefold_shell.stores.logs import PARSED_TYPES
from wakefold_shell.stores.outboxes import list_given
from wakefold_shell.stores.rows import read_row

_AGENT_SECONDS: Final = 0.02
_CREATORS: Final = 8
_REST_SECONDS: Final = 60.0


class Plan(Struct, frozen=True):
    """How much of everything. Restarts are of the server, which crashes and comes back."""

    sessions: int
    seconds: float
    workers: int
    kills: int
    restarts: int
    seed: int = 0


class Outcome(Struct, frozen=True):
    """What the tables hold at the end; `lost` is active and overdue, or acknowledged and not there.

    `ended` counts the reminders that ended with a dispatch.
    """

    creates: int
    deletes: int
    dispatches: int
    ended: int
    left: int
    lost: int
    doubled: int
    followups: int
    untaken: int
    late_ms_max: int
    turn_ms_max: int


class Crew:
    """Worker processes, as many as are wanted, whatever kills them."""

    def __init__(self, dsn: str, size: int) -> None:
        self._dsn, self._size = dsn, size
        self.workers: list[Process] = []

    async def fill(self) -> None:
        """As many workers as are wanted; one that found no server when it began is begun again."""
        self.workers = [worker for worker in self.workers if worker.returncode is None]
        while len(self.workers) < self._size:
            command = [sys.executable, "fleet_crew.py", self._dsn, str(_AGENT_SECONDS)]
            here = Path(__file__).parent
            quiet = subprocess.DEVNULL
            worker = await anyio.open_process(command, cwd=here, stdout=quiet, stderr=quiet)
            self.workers.append(worker)

    async def kill(self, random: Random) -> None:
        """Kill one of them with SIGKILL, and start another."""
        victim = self.workers.pop(random.randrange(len(self.workers)))
        victim.send_signal(signal.SIGKILL)
        await victim.wait()
        await self.fill()

    async def end(self) -> None:
        """The end of all."""
        for worker in self.workers:
            worker.kill()
            await worker.wait()


@asynccontextmanager
async def staffed(dsn: str, size: int) -> AsyncIterator[Crew]:
    """A crew as long as the block lasts."""
    crew = Crew(dsn, size)
    await crew.fill()
    try:
        yield crew
    finally:
        await crew.end()


async def run_soak(server: Server, dsn: str, plan: Plan) -> Outcome:
    """Live through a plan, wait until all is delivered, and count."""
    random, acknowledged = Random(plan.seed), set[tuple[str, str]]()
    names = [f"s{number}" for number in range(plan.sessions)]
    async with open_fleet(dsn) as fleet:
        for name in names:
            assert await fleet.create_session(name, "Europe/Berlin") == name
    async with staffed(dsn, plan.workers) as crew:
        deadline = time.monotonic() + plan.seconds
        async with anyio.create_task_group() as tasks:
            for number in range(_CREATORS):
                own = Random(f"{plan.seed}/{number}")
                tasks.start_soon(_change, dsn, names, own, deadline, acknowledged)
            tasks.start_soon(_break, server, crew, plan, random)
        await _until_done(dsn, crew)
    return await count_outcome(dsn, acknowledged)


async def _change(
    dsn: str, names: list[str], random: Random, deadline: float, acknowledged: set[tuple[str, str]]
) -> None:
    """Create and delete until the deadline; what the server refuses meanwhile is tried no more."""
    while time.monotonic() < deadline:
        try:
            async with open_fleet(dsn, connections_max=2) as fleet:
                while time.monotonic() < deadline:
                    await _change_one(fleet, random.choice(names), random, acknowledged)
                    await anyio.sleep(random.uniform(0, 0.05))
        except ShellError:
            await anyio.sleep(0.2)


async def _change_one(
    fleet: Fleet, name: str, random: Random, acknowledged: set[tuple[str, str]]
) -> None:
    if random.random() < 0.1:
        listed = await fleet.call(name, "schedule_list", {})
        views: Any = listed.value_or([])
        if views:
            await fleet.call(name, "schedule_delete", {"id": random.choice(views)["id"]})
        return
    seconds = random.choice((1, 2, 3, 5, 8, 13))
    clock = time.strftime("%H:%M:%S", time.gmtime(time.time() + seconds))
    after: Json = {"after_seconds": seconds}
    daily: Json = {"daily": {"time": clock, "time_zone": "UTC"}, "max_runs": 1}
    rule = random.choice((after, after, after, daily, {"every_seconds": 300}))
    made = await fleet.call(name, "schedule_create", {"prompt": "look", **rule})
    if is_successful(made):
        view: Any = made.unwrap()
        acknowledged.add((name, view["id"]))


async def _break(server: Server, crew: Crew, plan: Plan, random: Random) -> None:
    """Kills and restarts, spread evenly over the time."""
    events = ["kill"] * plan.kills + ["restart"] * plan.restarts
    random.shuffle(events)
    pause = plan.seconds / (len(events) + 1)
    for event in events:
        await anyio.sleep(pause)
        await crew.fill()
        if event == "kill":
            await crew.kill(random)
        else:
            await anyio.to_thread.run_sync(server.stop)
            await anyio.to_thread.run_sync(server.start)


async def _until_done(dsn: str, crew: Crew) -> None:
    """Nothing is overdue any more but what the gate holds back, and no message waits."""
    with anyio.move_on_after(_REST_SECONDS):
        while True:
            (row,) = await ask(
                dsn,
                "SELECT (SELECT count(*) FROM session_wake WHERE wake_at < now() + interval '20 s'),"
                " (SELECT count(*) FROM followup WHERE taken_seq IS NULL)",
            )
            if row == (0, 0):
                return
            await crew.fill()
            await anyio.sleep(0.5)


async def count_outcome(dsn: str, acknowledged: set[tuple[str, str]]) -> Outcome:
    """What the tables say: every log is folded, every dispatch compared with its followup."""
    (clock,) = await ask(dsn, "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
    logs: dict[str, list[Event]] = {}
    for key, data in await ask(
        dsn, "SELECT session_id, data FROM session_log ORDER BY session_id, seq"
    ):
        row = read_row(data, PARSED_TYPES)
        assert isinstance(row, Event)
        logs.setdefault(key, []).append(row)
    counts, given = Counter[str](), Counter[tuple[str, str, int]]()
    late, turns, left, lost, ended = [0], [0], 0, 0, 0
    there: set[tuple[str, str]] = set()
    for key, events in logs.items():
        ledger = fold(events).unwrap()  # a dispatch too many would not fold
        left += len(list_active(ledger))
        lost += sum(find_due(one) < clock[0] - 15_000 for one in _list_free(ledger, clock[0]))
        there |= {(key.strip('"'), name) for name in ledger.seen_ids}
        handed_ms, deleted = 0, 0
        for event in events:
            if event.type == "schedule/change":
                change = decode_change(event.data).unwrap()
                counts[type(change).__name__] += 1
                deleted += isinstance(change, Delete)
            elif event.type == "agent/inbox/spliced" and list_given(event):
                handed_ms = event.time_ms
            elif event.type == "turn/end":
                turns.append(event.time_ms - handed_ms)
        ended += len(ledger.seen_ids) - deleted - len(list_active(ledger))
    rows = await ask(
        dsn,
        "SELECT f.session_id, f.reminder_id, f.occurrence, f.taken_seq,"
        " (SELECT l.at FROM session_log l WHERE l.session_id = f.session_id AND l.seq = f.taken_seq)"
        " FROM followup f",
    )
    for key, name, occurrence_ms, taken_seq, at_ms in rows:
        given[(key, name, occurrence_ms)] += 1
        if taken_seq is not None:
            late.append(at_ms - occurrence_ms)
    dispatches = counts["Dispatch"] + counts["StatedDispatch"]
    return Outcome(
        creates=counts["Create"],
        deletes=counts["Delete"],
        dispatches=dispatches,
        ended=ended,
        left=left,
        lost=lost + len(acknowledged - there),
        doubled=sum(count - 1 for count in given.values()) + dispatches - len(given),
        followups=len(rows),
        untaken=sum(taken is None for *_, taken, _ in rows),
        late_ms_max=max(late),
        turn_ms_max=max(turns),
    )


def _list_free(ledger: Ledger, now_ms: int) -> list[Any]:
    """What no gate holds back."""
    gate_ms = (ledger.last_accepted_at_ms or 0) + 300_000
    return [
        one
        for one in list_active(ledger)
        if now_ms >= gate_ms or type(one).__name__ in {"AfterRecord", "AtRecord"}
    ]
