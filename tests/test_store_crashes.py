"""Writers killed with SIGKILL under load: all that they acknowledged is there, in order.

A sample runs by default; the long profile, `pytest -m long -s`, tells its figures.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import groupby, zip_longest
from pathlib import Path
from threading import Timer
from typing import Final

import msgspec
import pytest

from journal_files import HEADER, line
from wakefold import PUBLISHED, Event
from wakefold_shell.stores.journal_store import compress, open_store
from wakefold_shell.stores.journals import fold_journal, open_journal

pytestmark = pytest.mark.needs("zstd")

SECONDS_MAX: Final = 60
SESSION_KILLS: Final = 5
"""After so many kills a new session is begun, before the old one grows too large."""

# Owns the session as soon as it can, says so, then writes batches and prints the seq of each event that
# a barrier has acknowledged. An event says who wrote it, in which batch, and how many the batch holds.
SCRIPT: Final = r"""
import os, random, sys, time
from pathlib import Path
import anyio
from wakefold import Event
from wakefold_shell.stores.journal_store import OwnedError, open_store

path, seed, wait = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "wait"
chance, pid = random.Random(seed), os.getpid()


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def write(store):
    seq = sum(1 for _ in store.read_events(0))
    say("owner", seq)
    batch = 0
    while True:
        if chance.random() < 0.02:
            batch += 1
            store.append([Event("user/message", seq, 5, make_data(batch, 1, 3_000_000))])
            seq += 1
        count = chance.choice((1, 1, 2, 3, 10))
        size = chance.choice((0, 100, 2_000, 20_000))
        batch += 1
        data = make_data(batch, count, size)
        store.append([Event("plan/create", seq + n, 5, data) for n in range(count)])
        seq += count
        if chance.random() < 0.7 and await store.flush():
            say("durable", seq)


def make_data(batch, count, size):
    return {"pid": pid, "batch": batch, "count": count, "text": chance.randbytes(size // 2).hex()}


refused = False
while True:
    try:
        with open_store(path) as store:
            anyio.run(write, store)
    except OwnedError as error:
        if not refused:
            say("refused", error)
        refused = True
        if not wait:
            sys.exit(3)
        time.sleep(0.002)
"""


def tell(figures: str) -> None:
    """The figures of a run, for whoever asked for them with `-s`."""
    print(figures)  # noqa: T201 - this is what the long profile is for


class Writer:
    """A process that writes to a session, and what it has said."""

    def __init__(self, path: Path, seed: int, *, wait: bool = False) -> None:
        command = [sys.executable, "-c", SCRIPT, str(path), str(seed), "wait" if wait else "once"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self._watchdog = Timer(SECONDS_MAX, self.process.kill)
        self._watchdog.start()
        self.durable = 0
        """So many events of the log it has called durable."""

    def hear(self, word: str) -> str:
        """Wait until it says a word, and take the rest of that line."""
        assert self.process.stdout is not None
        for row in self.process.stdout:
            said, rest = self._note(row)
            if said == word:
                return rest
        pytest.fail(f"the writer ended ({self.process.wait()}) and never said {word!r}")

    def kill(self) -> None:
        """End it at once, and hear all that it had said."""
        self.process.kill()
        assert self.process.stdout is not None
        for row in self.process.stdout:
            if row.endswith(b"\n"):
                self._note(row)
        self.process.stdout.close()
        self._watchdog.cancel()
        assert self.process.wait(SECONDS_MAX) == -signal.SIGKILL

    def _note(self, row: bytes) -> tuple[str, str]:
        said, _, rest = row.decode().rstrip("\n").partition(" ")
        if said == "durable":
            self.durable = int(rest)
        return said, rest


@contextmanager
def writing(path: Path, seed: int, *, wait: bool = False) -> Iterator[Writer]:
    """A writer that is ended with the block, whatever comes."""
    writer = Writer(path, seed, wait=wait)
    try:
        yield writer
    finally:
        if writer.process.returncode is None:
            writer.kill()


def make_session(path: Path) -> None:
    """A session of no events, plain or compressed by its name."""
    header = line(HEADER)
    path.write_bytes(compress(header, path) if path.suffix == ".zstd" else header)


def check_log(path: Path) -> tuple[list[int], bytes]:
    """The pid that each event names as its writer's, and the sound part of the file.

    Every reader takes it, and of every batch all events are there, but for the last of a writer.
    """
    with open_journal(path) as journal:
        events = list(journal.read_events())
        sound_bytes = journal.sound_bytes
    with open_journal(path) as journal:
        assert fold_journal(journal, PUBLISHED).position == len(events)
    with open_store(path) as store:
        assert [e.seq for e in store.read_events(0)] == list(range(len(events)))
    batches = [
        ((who["pid"], who["batch"]), who["count"], len(list(run)))
        for who, run in groupby(map(read_writer, events))
    ]
    assert len({key for key, _, _ in batches}) == len(batches)
    for ((pid, _), count, length), following in zip_longest(batches, batches[1:]):
        last = following is None or following[0][0] != pid
        assert length == count or (last and length < count)
    pids = [read_writer(e)["pid"] for e in events]
    return pids, path.read_bytes()[:sound_bytes]


def read_writer(event: Event) -> dict[str, int]:
    """Who wrote an event, as which batch, of how many events."""
    assert isinstance(event.data, msgspec.Raw)
    fields = json.loads(bytes(event.data))
    return {key: fields[key] for key in ("pid", "batch", "count")}


@pytest.mark.parametrize("kills", [3, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["session.jsonl", "session.jsonl.zstd"])
def test_a_killed_writer_has_lost_nothing_that_it_called_durable(
    tmp_path: Path, name: str, kills: int
) -> None:
    """The file opens after every kill, and the next writer goes on from there."""
    chance = random.Random(kills)  # the moments are the test's own, not the clock's
    acknowledged = torn = 0
    path = tmp_path / name
    kept: list[int] = []
    content = b""
    for n in range(kills):
        if n % SESSION_KILLS == 0:
            make_session(path)
            kept, content = [], path.read_bytes()
        with writing(path, n) as writer:
            assert int(writer.hear("owner")) == len(kept)
            writer.hear("durable")
            time.sleep(chance.uniform(0, 0.15))
            writer.kill()
        pids, sound = check_log(path)
        assert len(pids) >= writer.durable > len(kept)
        assert sound.startswith(content)
        assert pids[: len(kept)] == kept
        assert set(pids[len(kept) :]) == {writer.process.pid}
        acknowledged += writer.durable - len(kept)
        torn += path.stat().st_size > len(sound)
        kept, content = pids, sound
    tell(f"{name}: {kills} kills, {acknowledged} events acknowledged, none lost, {torn} torn tails")


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.long)])
def test_of_two_writers_one_owns_the_session_and_the_other_takes_over(
    tmp_path: Path, kills: int
) -> None:
    """The other is refused with the owner's pid, their events do not mingle, and none is lost."""
    chance = random.Random(kills)
    acknowledged = 0
    path = tmp_path / "session.jsonl"
    for first in range(0, kills, SESSION_KILLS):
        make_session(path)
        owned = []
        with ExitStack() as stack:
            owner = stack.enter_context(writing(path, first))
            start = int(owner.hear("owner"))
            for n in range(first, min(first + SESSION_KILLS, kills)):
                other = stack.enter_context(writing(path, 1000 + n, wait=True))
                assert f"process {owner.process.pid} owns this session" in other.hear("refused")
                time.sleep(chance.uniform(0, 0.15))
                owner.kill()
                acknowledged += max(0, owner.durable - start)
                owned.append((owner.process.pid, owner.durable))
                owner, start = other, int(other.hear("owner"))
                assert start >= owned[-1][1]
            owner.kill()
            owned.append((owner.process.pid, owner.durable))
        pids, _ = check_log(path)
        assert [pid for pid, _ in groupby(pids)] == [pid for pid, _ in owned if pid in pids]
        for pid, durable in owned:
            assert durable <= len(pids)
            assert durable == 0 or pids[durable - 1] == pid
    tell(f"{kills} owners killed, {acknowledged} events acknowledged, none lost or mingled")
