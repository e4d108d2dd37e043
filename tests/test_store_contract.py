"""One contract for every store, and what each adds to it; on asyncio and on trio."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import get_args

import anyio
import pytest

from hand_overs import Rows, check_hand_over
from journal_files import NOON_MS
from wakefold import Event
from wakefold_laws.store_laws import (
    STORE_LAWS,
    Law,
    OpenStore,
    check_store,
    make_events,
    select_laws,
)
from wakefold_shell.errors import JournalError
from wakefold_shell.protocols import Store
from wakefold_shell.stores.journal_store import create_session, open_store
from wakefold_shell.stores.journals import FILE_NAMES, StoreKind
from wakefold_shell.stores.logs import StaleWriterError
from wakefold_shell.stores.memory import MemoryStore
from wakefold_shell.stores.rows import Header
from wakefold_shell.stores.tables import VERSION, connect_table

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("quick_files")]

KINDS: tuple[StoreKind, ...] = get_args(StoreKind)


def new_session(directory: Path, kind: StoreKind) -> Path:
    create_session(directory, Header("session-test", NOON_MS, time_zone="Europe/Berlin"), kind)
    return directory


def open_new(kind: StoreKind) -> OpenStore:
    """How a session of a kind is opened, and made where there is none."""

    @contextmanager
    def open_session(directory: Path) -> Iterator[Store]:
        if not any((directory / name).exists() for name in FILE_NAMES):
            new_session(directory, kind)
        with open_store(directory) as store:
            yield store

    return open_session


@pytest.mark.parametrize("law", STORE_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", ["journal", "zstd"])
def test_every_store_in_a_file_keeps_every_law(kind: StoreKind, law: Law) -> None:
    """Appends, barriers, lives, leases, kills, power cuts and failing disks."""
    law(open_new(kind))


@pytest.mark.parametrize("law", select_laws(writes_in_python=False), ids=lambda law: law.__name__)
def test_a_database_keeps_every_law_that_can_be_seen_of_it(law: Law) -> None:
    """SQLite syncs in C: it is killed, and its power cuts are its own authors' business."""
    law(open_new("sqlite"))


def test_the_store_in_memory_keeps_the_laws_of_one_life() -> None:
    """It forgets with the program, and says nothing else."""
    check_store(lambda _: nullcontext(MemoryStore()), durable=False)


def read_all(store: Store) -> list[Event]:
    """The whole log, as a writer reads it first."""
    return list(store.read_events(0))


@pytest.mark.parametrize("kind", KINDS)
async def test_files_are_ones_own_and_a_session_is_made_once(tmp_path: Path, kind: StoreKind) -> None:
    """0600 in 0700, the header whole, nothing half written beside it."""
    session = new_session(tmp_path / "session", kind)
    (path,) = session.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(session.stat().st_mode) == 0o700
    with open_store(session) as store:
        assert (store.time_zone, store.seed_length, store.delegation_depth) == ("Europe/Berlin", 0, 0)
    before = path.read_bytes()
    for other in KINDS:
        with pytest.raises(JournalError, match="file exists"):
            new_session(session, other)
    assert path.read_bytes() == before


async def test_a_database_commits_a_hand_over_whole_or_not_at_all(tmp_path: Path) -> None:
    session = new_session(tmp_path, "sqlite")
    with open_store(session) as store:
        await check_hand_over(store, lambda: count_rows(session))


def count_rows(session: Path) -> Rows:
    with closing(sqlite3.connect(session / "session.sqlite")) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM log")
        rows = connection.execute("SELECT schedule_id, occurrence_ms, taken_seq FROM outbox")
        return count, list(rows)


async def test_a_database_refuses_a_writer_that_has_not_seen_the_latest(tmp_path: Path) -> None:
    """Where a lock lies, the log's end is looked at in the transaction itself (C71)."""
    session = new_session(tmp_path, "sqlite")
    with open_store(session) as store:
        read_all(store)
        with closing(sqlite3.connect(session / "session.sqlite")) as other:
            line = json.dumps({"type": "x", "seq": 0, "time": 1, "data": None}).encode()
            other.execute("INSERT INTO log VALUES (?, 0, ?)", ('"session-test"', line))
            other.commit()
        store.append(make_events(0, 1))
        with pytest.raises(StaleWriterError, match="somebody else wrote"):
            await store.flush()


async def test_a_database_that_is_busy_is_uncertain_and_keeps_what_was_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A barrier that cannot be had is no acknowledgement; the next one commits all of it."""
    monkeypatch.setattr("wakefold_shell.stores.tables.BUSY_SECONDS", 0.05)
    session = new_session(tmp_path, "sqlite")
    with open_store(session) as store:
        read_all(store)
        store.append(make_events(0, 2))
        with locked(session):
            assert await store.flush() is False
        assert list(store.read_events(0)) == make_events(0, 2)
        assert await store.flush() is True
    with open_store(session) as store:
        assert read_all(store) == make_events(0, 2)


async def test_a_barrier_that_nobody_waited_for_is_found_by_the_next_one(tmp_path: Path) -> None:
    """What it wrote is there once, and what was appended since is written after it."""
    session = new_session(tmp_path, "sqlite")
    with open_store(session) as store:
        read_all(store)
        store.append(make_events(0, 2))
        with locked(session):
            with anyio.move_on_after(0.2) as scope:
                await store.flush()
            assert scope.cancelled_caught
            store.append(make_events(2, 1))
        assert await store.flush() is True
    with open_store(session) as store:
        assert read_all(store) == make_events(0, 3)


@contextmanager
def locked(session: Path) -> Iterator[None]:
    with closing(sqlite3.connect(session / "session.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_a_database_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    """Named, not guessed at; an empty one is brought up to date."""
    session = new_session(tmp_path, "sqlite")
    path = session / "session.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(JournalError, match=f"has version {VERSION + 1}"), open_store(session):
        pass
    with closing(connect_table(tmp_path / "fresh.sqlite")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


async def test_reading_a_database_leaves_nothing_behind(tmp_path: Path) -> None:
    """Not a byte, not a file."""
    session = new_session(tmp_path, "sqlite")
    with open_store(session) as store:
        read_all(store)
        store.append(make_events(0, 3))
        await store.flush()
    before = {path.name: path.read_bytes() for path in session.iterdir()}
    with open_store(session) as store:
        read_all(store)
    assert {path.name: path.read_bytes() for path in session.iterdir()} == before
