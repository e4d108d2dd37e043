"""A fleet with many sessions, `python -m tests.benchmarks.fleets`; docs/fleet.md tells how to read it.

Nothing here judges. The server is one of its own that syncs to a disk; workers are processes.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import uuid4

import anyio
import typer
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.domain.types import QueueEntrypoint, QueueManagerId
from returns.pipeline import is_successful

from fleet_crew import Crew
from fleet_world import ask, reminder
from postgres_servers import open_server
from wakefold.events import Json
from wakefold_shell.cli.output import print_json, print_table
from wakefold_shell.errors import show_time
from wakefold_shell.fleet import sweeps, tables, tails
from wakefold_shell.fleet.bulk_creates import NewSession
from wakefold_shell.fleet.clients import Fleet, open_fleet
from wakefold_shell.fleet.databases import Connection, connect
from wakefold_shell.fleet.schema import NEXT_DUE, find_queue, init_schema
from wakefold_shell.fleet.tables import name_key
from wakefold_shell.fleet.transactions import WAKE

_AT_ONCE: Final = 500  # sessions in one call
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_STARTED: Final = """
    SELECT count(*), max(at), array_agg(at - occurrence ORDER BY at - occurrence) AS late
    FROM followup WHERE starts_with(session_id, $1)
"""

Figures = dict[str, float]


def main(
    *,
    sessions: Annotated[int, typer.Option(min=1, help="With one wake each, a day ahead.")] = 100_000,
    due: Annotated[int, typer.Option(min=1, help="Whose wakes are due at once.")] = 3_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often wakes are measured.")] = 3,
    idle_seconds: Annotated[float, typer.Option(min=1, help="How long nothing is due.")] = 30.0,
    plans: Annotated[
        bool, typer.Option("--plans", help="Print the plans of the queries, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Measure inserts, the idle server, wakes due at once, and due-to-start with a backlog behind."""
    with (
        tempfile.TemporaryDirectory(prefix="wakefold-fleet-") as top,
        open_server(on_disk=True) as server,
        server.make_database() as dsn,
    ):
        found = anyio.run(_measure, dsn, Path(top), (sessions, due, rounds), idle_seconds)
        told = anyio.run(_explain, dsn) if plans else {}
    if as_json:
        print_json({"load": os.getloadavg(), "figures": found, "plans": told})
        return
    print_table(("what", "figure"), [(name, f"{figure:,.1f}") for name, figure in found.items()])
    for name, lines in told.items():
        sys.stdout.write(f"\n{name}\n{lines}\n")


async def _measure(dsn: str, top: Path, sizes: tuple[int, int, int], idle_seconds: float) -> Figures:
    sessions, due, rounds = sizes
    connection = await connect(dsn)
    await init_schema(connection)
    found: Figures = {}
    async with open_fleet(dsn) as fleet:
        day_ms = await _read_clock_ms(dsn) + 86_400_000
        begun = time.perf_counter()
        await _insert(fleet, [f"far-{number}" for number in range(sessions)], lambda _: day_ms)
        found["inserts a second, 500 at once"] = sessions / (time.perf_counter() - begun)
        found["inserts a second, one by one"] = await _insert_singly(fleet, 300, day_ms)
        await connection.execute("ANALYZE")
        with Crew(dsn, top, 0.0) as crew:
            for _ in range(2):
                crew.begin()
            await anyio.sleep(10)
            data = Path(await connection.fetchval("SHOW data_directory"))
            before = _measure_cpu(data)
            await anyio.sleep(idle_seconds)
            found["idle PostgreSQL, % of a core"] = 100 * (_measure_cpu(data) - before) / idle_seconds
            storms = [await _storm(dsn, fleet, f"due{number}-", due) for number in range(rounds)]
            found |= _take_medians(storms)
            trickles = [await _trickle(dsn, fleet, f"drop{number}-") for number in range(rounds)]
            found |= _take_medians(trickles)
            found["due to agent's start, p99 ms"] = await _measure_starts(dsn, crew)
        takeovers = [await _take_over(dsn, fleet, top, number) for number in range(rounds)]
        found["takeover after kill -9, median s"] = statistics.median(takeovers)
        found["takeover after kill -9, most s"] = max(takeovers)
    await connection.close()
    found["load of the machine at the end"] = os.getloadavg()[0]
    return found


async def _insert(fleet: Fleet, names: list[str], due_ms: Callable[[int], int]) -> None:
    """Sessions by two connections, each with a reminder at an instant."""

    async def insert(batches: Iterator[list[tuple[int, str]]]) -> None:
        for batch in batches:
            made = await fleet.create_sessions(
                [NewSession(name, (_at(due_ms(number)),)) for number, name in batch]
            )
            assert all(is_successful(answer) for answers in made.values() for answer in answers)
            assert len(made) == len(batch)

    numbered = list(enumerate(names))
    batches = iter([numbered[n : n + _AT_ONCE] for n in range(0, len(names), _AT_ONCE)])
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(insert, batches)


async def _insert_singly(fleet: Fleet, count: int, due_ms: int) -> float:
    begun = time.perf_counter()
    for number in range(count):
        await fleet.create_session(f"single-{number}")
        await fleet.call(f"single-{number}", "schedule_create", _at(due_ms))
    return count / (time.perf_counter() - begun)


async def _storm(dsn: str, fleet: Fleet, prefix: str, due: int) -> Figures:
    """So many wakes at one instant; how many a second are handed over, and delivered."""
    due_ms = await _read_clock_ms(dsn) + 8000
    await _insert(fleet, [f"{prefix}{number}" for number in range(due)], lambda _: due_ms)
    started, last_ms, _ = await _await_started(dsn, prefix, due)
    assert started == due
    query = "SELECT count(*) FROM followup WHERE taken_seq IS NULL"
    while await ask(dsn, query) != [(0,)]:
        await anyio.sleep(0.1)
    delivered_ms = await _read_clock_ms(dsn)
    return {
        "wakes a second when due": 1000 * due / (last_ms - due_ms),
        "wakes a second with their turns": 1000 * due / (delivered_ms - due_ms),
    }


async def _trickle(dsn: str, fleet: Fleet, prefix: str) -> Figures:
    """Twenty wakes a second for twenty seconds."""
    count = 400
    begin_ms = await _read_clock_ms(dsn) + 5000
    await _insert(fleet, [f"{prefix}{n}" for n in range(count)], lambda n: begin_ms + 50 * n)
    _, _, late = await _await_started(dsn, prefix, count)
    return {"due to hand-over, p50 ms": late[len(late) // 2], "due to hand-over, p99 ms": _p99(late)}


async def _await_started(dsn: str, prefix: str, count: int) -> tuple[int, int, list[int]]:
    while True:
        ((started, last_ms, late),) = await ask(dsn, _STARTED, f'"{prefix}')
        if started >= count:
            return started, last_ms, late
        await anyio.sleep(0.2)


async def _measure_starts(dsn: str, crew: Crew) -> float:
    """From the instant when it was due to its agent's begin, of what trickled."""
    query = "SELECT message_id, occurrence FROM followup WHERE starts_with(session_id, '\"drop')"
    due_ms = {json.loads(name): at_ms for name, at_ms in await ask(dsn, query)}
    begun = [note for number in crew.alive for note in crew.read_notes(number) if note.begins]
    late = sorted(
        note.at_seconds * 1000 - due_ms[note.message_id] for note in begun if note.message_id in due_ms
    )
    return _p99(late)


async def _take_over(dsn: str, fleet: Fleet, top: Path, number: int) -> float:
    """From the death of a worker to the next begin of the message that it held."""
    directory = top / f"takeover-{number}"
    directory.mkdir()
    with Crew(dsn, directory, 2.0) as crew:
        doomed = crew.begin()
        await fleet.say("far-0", "hello")
        while not crew.list_under_way(doomed):
            await anyio.sleep(0.02)
        (held,) = crew.list_under_way(doomed)
        heir = crew.begin()
        await anyio.sleep(1)
        killed_at_seconds = crew.kill(doomed)
        while held not in crew.list_under_way(heir):
            await anyio.sleep(0.02)
        begun = [note.at_seconds for note in crew.read_notes(heir) if note.message_id == held]
        return begun[0] - killed_at_seconds


async def _read_clock_ms(dsn: str) -> int:
    ((now_ms,),) = await ask(dsn, "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
    return int(now_ms)


def _measure_cpu(data: Path) -> float:
    """The seconds that a server and its processes, also those that ended, have computed."""
    postmaster = int((data / "postmaster.pid").read_text().split()[0])
    seconds = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(stat.parent.name) == postmaster:
            seconds += sum(map(int, fields[11:15])) / _TICKS
        elif int(fields[1]) == postmaster:
            seconds += sum(map(int, fields[11:13])) / _TICKS
    return seconds


def _take_medians(rounds: list[Figures]) -> Figures:
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def _p99(late: list[Any]) -> float:
    return float(late[min(len(late) - 1, len(late) * 99 // 100)])


def _at(due_ms: int) -> Json:
    return reminder(at=show_time(due_ms))


async def _explain(dsn: str) -> dict[str, str]:
    """The plans of what is asked again and again; what it writes is taken back."""
    connection = await connect(dsn)
    try:
        told = {}
        for name, (query, arguments) in _list_queries(connection).items():
            transaction = connection.transaction()
            await transaction.start()
            plan = f"EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) {query}"
            rows = await connection.fetch(plan, *arguments)
            await transaction.rollback()
            told[name] = "\n".join(row[0] for row in rows)
        return told
    finally:
        await connection.close()


def _list_queries(connection: Connection) -> dict[str, tuple[str, tuple[object, ...]]]:
    queue, kinds = find_queue(AsyncpgDriver(connection)).qbq, [QueueEntrypoint(WAKE)]
    dequeue = queue.build_dequeue_query(
        batch_size=10,
        entrypoints=kinds,
        concurrency_limits=[0],
        queue_manager_id=QueueManagerId(uuid4()),
        global_concurrency_limit=20,
        heartbeat_timeout=timedelta(seconds=6),
    )
    key = name_key("far-0")
    return {
        "visit: lock": (
            "SELECT header, next_seq FROM session WHERE session_id = $1 FOR UPDATE",
            (key,),
        ),
        "visit: read": (tails._STATE, (key,)),  # noqa: SLF001 - the very text
        "visit: arm": (tables.WRITE_WAKE, (key, datetime.now(UTC))),
        "sweep": (sweeps.OVERDUE, (5.0, datetime.min.replace(tzinfo=UTC), "", 1000)),
        "queue: take jobs": (dequeue.sql, dequeue.args),
        "queue: is something due": (queue.build_has_eligible_queued_work(), (kinds,)),
        "queue: when is the next due": (NEXT_DUE, (kinds,)),
    }


if __name__ == "__main__":
    typer.run(main)
