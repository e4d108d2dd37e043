"""Several processes on one database, and processes that are killed while they write to it."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from journal_files import NOON_MS
from wakefold_shell.stores.journal_store import create_session, open_store
from wakefold_shell.stores.rows import Header

WRITER = """
import sys
from pathlib import Path
import anyio
from wakefold import Event
from wakefold_shell.stores.journal_store import open_store
from wakefold_shell.stores.logs import StaleWriterError

async def write(session, name, count):
    for number in range(count):
        while True:
            with open_store(session, alone=False) as store:
                length = sum(1 for _ in store.read_events(0))
                store.append([Event("plan/note", length, 1, {"by": name, "number": number})])
                try:
                    if await store.flush():
                        print(number, flush=True)
                        break
                except StaleWriterError:
                    continue

anyio.run(write, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
"""


def new_session(directory: Path) -> Path:
    create_session(directory, Header("session-test", NOON_MS), "sqlite")
    return directory


def start_writer(session: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, session, name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_notes(session: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(session / "session.sqlite")) as connection:
        rows = [json.loads(line) for (line,) in connection.execute("SELECT line FROM log ORDER BY seq")]
    assert [row["seq"] for row in rows] == list(range(len(rows)))
    return [(row["data"]["by"], row["data"]["number"]) for row in rows]


@pytest.mark.parametrize("count", [15, pytest.param(500, marks=pytest.mark.long)])
def test_c72_four_processes_and_a_slow_reader_lose_and_double_nothing(
    tmp_path: Path, count: int
) -> None:
    """Nobody is told that the database is locked; each event of each writer is there once, in order."""
    session = new_session(tmp_path)
    names = ["a", "b", "c", "d"]
    writers = [start_writer(session, name, count) for name in names]
    with closing(sqlite3.connect(session / "session.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM log").fetchone()
        ends = [writer.communicate(timeout=600) for writer in writers]
        reader.execute("COMMIT")
    assert [(writer.returncode, err) for writer, (_, err) in zip(writers, ends, strict=True)] == [
        (0, "") for _ in names
    ]
    notes = read_notes(session)
    for name in names:
        assert [number for by, number in notes if by == name] == list(range(count))


@pytest.mark.parametrize("kills", [5, pytest.param(300, marks=pytest.mark.long)])
def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path, kills: int) -> None:
    """What a writer has said is durable is there after `kill -9`, whoever looks from outside."""
    chance = random.Random(kills)
    session = new_session(tmp_path)
    for life in range(kills):
        writer = start_writer(session, f"life-{life}", 10_000)
        time.sleep(chance.uniform(0.25, 0.5))
        writer.kill()
        out, err = writer.communicate()
        said = [int(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]
        kept = [number for by, number in read_notes(session) if by == f"life-{life}"]
        assert err == ""
        assert kept[: len(said)] == said
        assert len(kept) <= len(said) + 1
    with open_store(session) as store:
        assert sum(1 for _ in store.read_events(0)) == len(read_notes(session))
