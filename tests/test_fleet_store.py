"""A session in PostgreSQL keeps the laws of every store, on asyncio and on trio."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from hand_overs import Rows, check_hand_over
from journal_files import NOON_MS
from postgres_servers import Server, ask
from wakefold_laws.store_laws import Law, OpenStore, make_events, select_laws
from wakefold_shell.errors import JournalError
from wakefold_shell.fleet.databases import Connection
from wakefold_shell.fleet.leases import share_lease
from wakefold_shell.fleet.links import open_link
from wakefold_shell.fleet.postgres_store import open_postgres
from wakefold_shell.fleet.schema import check_schema
from wakefold_shell.fleet.tables import insert_session, name_key
from wakefold_shell.protocols import Store
from wakefold_shell.stores.journal_store import OwnedError
from wakefold_shell.stores.logs import StaleWriterError
from wakefold_shell.stores.rows import Header, encode_header

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("quick_files")]

NAME = "session-test"
WRITER = """
import sys
import anyio
from wakefold import Event
from wakefold_shell.fleet.postgres_store import open_postgres

async def write(dsn, session_id, name):
    with open_postgres(dsn, session_id, on_warning=lambda _: None) as store:
        length = sum(1 for _ in store.read_events(0))
        for number in range(100_000):
            store.append([Event("plan/note", length + number, 1, {"by": name, "number": number})])
            while not await store.flush():
                await anyio.sleep(0.05)
            print(length + number, flush=True)

anyio.run(write, *sys.argv[1:])
"""


def make_session(dsn: str, session_id: str) -> bool:
    """A new session without events; false where it is there."""
    line = encode_header(Header(session_id, NOON_MS, time_zone="Europe/Berlin"), "/")
    return ask(dsn, lambda it: insert_session(it, name_key(session_id), line.removesuffix(b"\n")))


def open_new(dsn: str) -> OpenStore:
    """How a session is opened whose id is the directory's path, and made where there is none."""

    @contextmanager
    def open_session(directory: Path) -> Iterator[Store]:
        make_session(dsn, str(directory))
        with open_postgres(dsn, str(directory)) as store:
            yield store

    return open_session


@pytest.mark.parametrize("law", select_laws(in_directory=False), ids=lambda law: law.__name__)
def test_a_session_on_a_server_keeps_every_law_that_can_be_seen_of_it(law: Law, fleet: str) -> None:
    """Its kills and power cuts are tried below, with the server's own."""
    law(open_new(fleet))


def terminate(dsn: str) -> int:
    """How many other connections to the database were severed."""

    async def sever(connection: Connection) -> int:
        rows = await connection.fetch(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return len(rows)

    return ask(dsn, sever)


def count_rows(dsn: str) -> Rows:
    """The length of the log, and what is owed to the agent."""

    async def count(connection: Connection) -> Rows:
        rows = await connection.fetch("SELECT reminder_id, occurrence, taken_seq FROM followup")
        return await connection.fetchval("SELECT count(*) FROM session_log"), [*map(tuple, rows)]

    return ask(dsn, count)


async def test_a_hand_over_is_committed_whole_or_not_at_all(fleet: str) -> None:
    make_session(fleet, NAME)
    with open_postgres(fleet, NAME) as store:
        await check_hand_over(store, lambda: count_rows(fleet))


async def test_the_fleet_is_to_look_at_what_a_program_has_written(fleet: str) -> None:
    """At once: who finds the program still there comes again."""
    make_session(fleet, NAME)
    due = "SELECT count(*) FROM session_wake WHERE wake_at <= clock_timestamp()"
    with open_postgres(fleet, NAME) as store:
        assert list(store.read_events(0)) == []
        assert ask(fleet, lambda connection: connection.fetchval(due)) == 0
        store.append(make_events(0, 1))
        assert await store.flush() is True
    assert ask(fleet, lambda connection: connection.fetchval(due)) == 1


async def test_a_connection_that_is_severed_comes_back_and_nothing_is_lost(fleet: str) -> None:
    """The barrier is uncertain at most once, says why, and then finds what it had written."""
    make_session(fleet, NAME)
    told: list[str] = []
    with open_postgres(fleet, NAME, on_warning=told.append) as store:
        assert list(store.read_events(0)) == []
        for length in range(0, 6, 2):
            store.append(make_events(length, 2))
            assert terminate(fleet) == 1
            if not await store.flush():
                assert "the database cannot be reached" in told.pop()
                assert await store.flush() is True
            assert list(store.read_events(0)) == make_events(0, length + 2)
    assert told == []
    with open_postgres(fleet, NAME) as store:
        assert list(store.read_events(0)) == make_events(0, 6)


async def test_a_barrier_that_nobody_waited_for_is_found_by_the_next_one(fleet: str) -> None:
    """What it wrote is there once, and what was appended since is written after it."""
    make_session(fleet, NAME)
    with open_postgres(fleet, NAME) as store:
        assert list(store.read_events(0)) == []
        store.append(make_events(0, 2))
        with locked_out(fleet):
            with anyio.move_on_after(0.2) as scope:
                await store.flush()
            assert scope.cancelled_caught
            store.append(make_events(2, 1))
        assert await store.flush() is True
    with open_postgres(fleet, NAME) as store:
        assert list(store.read_events(0)) == make_events(0, 3)


@contextmanager
def locked_out(dsn: str) -> Iterator[None]:
    """Another transaction holds the session's row, as the fleet does."""
    with open_link(dsn, check_schema) as link:
        link.run(lambda connection: connection.execute("BEGIN"))
        link.run(lambda connection: connection.execute("SELECT * FROM session FOR UPDATE"))
        yield
        link.run(lambda connection: connection.execute("ROLLBACK"))


async def flush_at_last(store: Store) -> None:
    """The barrier, asked again while it is uncertain."""
    while not await store.flush():
        pass


async def test_whoever_lost_the_session_writes_nothing(fleet: str) -> None:
    """While another program owns it, and after that one has written and gone."""
    make_session(fleet, NAME)
    with open_postgres(fleet, NAME) as store:
        assert list(store.read_events(0)) == []
        store.append(make_events(0, 2))
        terminate(fleet)
        with open_postgres(fleet, NAME) as other:
            assert list(other.read_events(0)) == []
            with pytest.raises(OwnedError, match=f'session "{NAME}": another program owns'):
                await flush_at_last(store)
            other.append(make_events(0, 1, "other"))
            assert await other.flush() is True
        with pytest.raises(StaleWriterError, match="somebody else wrote"):
            await store.flush()
    assert count_rows(fleet) == (1, [])


def test_the_fleet_and_a_program_that_lives_in_a_session_exclude_each_other(fleet: str) -> None:
    make_session(fleet, NAME)
    key = name_key(NAME)
    with open_postgres(fleet, NAME):
        assert ask(fleet, lambda it: share_lease(it, key)) is False

    async def share(connection: Connection) -> None:
        async with connection.transaction():
            assert await share_lease(connection, key) is True
            assert await anyio.to_thread.run_sync(ask, fleet, lambda it: share_lease(it, key)) is True
            with pytest.raises(OwnedError, match="fleet is just at work"):
                await anyio.to_thread.run_sync(enter)

    def enter() -> None:
        with open_postgres(fleet, NAME):
            pass

    ask(fleet, share)
    enter()


def test_what_is_not_there_or_too_long_is_told(fleet: str) -> None:
    refusal = 'session "none": the database holds no such session'
    with pytest.raises(JournalError, match=refusal), open_postgres(fleet, "none"):
        pass
    make_session(fleet, NAME)
    line = b'{"type":"x","seq":0,"time":1,"data":"' + b"x" * 3000 + b'"}'

    def insert(connection: Connection) -> Awaitable[str]:
        return connection.execute(
            "INSERT INTO session_log VALUES ($1, 0, 'x', $2, 1)", name_key(NAME), line
        )

    ask(fleet, insert)
    refusal = '"session-test":2: the line is longer than 2000 bytes'
    with (
        open_postgres(fleet, NAME, line_bytes_max=2000) as store,
        pytest.raises(JournalError, match=refusal),
    ):
        list(store.read_events(0))
    with open_postgres(fleet, NAME, line_bytes_max=len(line)) as store:
        assert [event.seq for event in store.read_events(0)] == [0]


class Writer:
    """A process that writes to the session, and says which event is durable."""

    def __init__(self, dsn: str, said: Path) -> None:
        self.said = said
        with said.open("wb") as file:
            command = [sys.executable, "-c", WRITER, dsn, NAME, said.name]
            self.process = subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE)

    def list_durable(self) -> list[int]:
        lines = self.said.read_bytes().splitlines(keepends=True)
        return [int(line) for line in lines if line.endswith(b"\n")]

    def await_more(self) -> None:
        """Return once it has said something new."""
        count = len(self.list_durable())
        while len(self.list_durable()) <= count and self.process.poll() is None:
            time.sleep(0.01)

    def kill(self) -> list[int]:
        """End it at once: all that it had said. It had no other complaint."""
        self.process.kill()
        assert self.process.communicate()[1] == b""
        return self.list_durable()


def tell(figures: str) -> None:
    """The figures of a run, for whoever asked for them with `-s`."""
    print(figures)  # noqa: T201 - this is what the long profile is for


def read_notes(dsn: str) -> list[str]:
    """Who wrote each event of the log, which is whole."""
    with open_postgres(dsn, NAME) as store:
        events = list(store.read_events(0))
    assert [event.seq for event in events] == list(range(len(events)))
    return [str(event.data) for event in events]


@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.long)])
def test_killed_writers_lose_nothing_that_was_acknowledged(
    fleet: str, tmp_path: Path, kills: int
) -> None:
    """And the next one is let in, as the server notices at once."""
    chance = random.Random(kills)
    make_session(fleet, NAME)
    length = 0
    for life in range(kills):
        writer = Writer(fleet, tmp_path / f"life-{life}")
        writer.await_more()
        time.sleep(chance.uniform(0, 0.2))
        said = writer.kill()
        assert said == list(range(length, length + len(said)))
        kept = read_notes(fleet)
        assert length + len(said) <= len(kept) <= length + len(said) + 1
        length = len(kept)
    tell(f"{kills} writers killed, {length} events acknowledged, none lost")


@pytest.mark.parametrize("crashes", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_server_that_crashes_loses_nothing_that_was_acknowledged(
    own_server: Server, tmp_path: Path, crashes: int
) -> None:
    """It is stopped as a power cut would; the writer lives on and goes on by itself."""
    chance = random.Random(crashes)
    with own_server.make_fleet() as dsn:
        make_session(dsn, NAME)
        writer = Writer(dsn, tmp_path / "survivor")
        writer.await_more()
        for _ in range(crashes):
            time.sleep(chance.uniform(0.05, 0.3))
            own_server.stop()
            own_server.start()
            writer.await_more()
        said = writer.kill()
        assert said == list(range(len(said)))
        assert len(said) <= len(read_notes(dsn)) <= len(said) + 1
        tell(f"{crashes} crashes of the server, {len(said)} events acknowledged, none lost")
