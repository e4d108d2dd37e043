"""A journal store over a disk that fails and a machine that stops: what was acknowledged is there.

Every run follows from its seed, which a failure names. A sample runs by default; the long profile,
`pytest -m long -s`, tells its figures. What the disk may do is told in `faulty_files`. A crash that
leaves what was written up to some byte, and zeros after it, must open again; where parts from the
middle of what no barrier covered are missing, the store may refuse instead, past all that was promised.
"""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
import pytest

from faulty_files import Crash, Disk, FaultyOs
from journal_files import HEADER, NOON, event, line, write_session
from wakefold import PUBLISHED, Event
from wakefold_shell.errors import JournalError
from wakefold_shell.stores import journal_store
from wakefold_shell.stores.journal_store import compress, open_store
from wakefold_shell.stores.journals import fold_journal, open_journal
from wakefold_shell.stores.logs import LogStore

pytestmark = pytest.mark.needs("zstd")

NAMES: Final = ("session.jsonl", "session.jsonl.zstd")

Fields = tuple[str, int, int, Any]


def tell(figures: str) -> None:
    """The figures of a run, for whoever asked for them with `-s`."""
    print(figures)  # noqa: T201 - this is what the long profile is for


def list_fields(events: list[Event]) -> list[Fields]:
    """Events with their data parsed, to be compared."""
    raw = msgspec.Raw
    return [
        (e.type, e.seq, e.time_ms, msgspec.json.decode(e.data) if isinstance(e.data, raw) else e.data)
        for e in events
    ]


class Witness:
    """A session on a simulated disk, and what its store has been given and has promised so far."""

    def __init__(self, path: Path, chance: random.Random, fault_rate: float) -> None:
        header = line(HEADER)
        path.write_bytes(compress(header, path) if path.suffix == ".zstd" else header)
        self.path = path
        self.chance = chance
        self.disk = Disk(path, chance, fault_rate)
        self.stored: list[Fields] = []
        self.promised = 0
        """So many of the events must be there, whatever happens."""
        self.promised_bytes = path.stat().st_size
        self.running = False
        """Whether the machine has run since the log was read last, so that all of it is there."""
        self.seen: Counter[str] = Counter()
        self._sound_bytes = self.promised_bytes
        self._offered: set[str] = set()
        self._made = 0

    def read(self, store: LogStore) -> None:
        """Read the log, which must hold what was promised, and nothing that was never given."""
        events = list_fields(list(store.read_events(0)))
        known = len(self.stored) if self.running else self.promised
        assert events[:known] == self.stored[:known]
        assert all(repr(fields) in self._offered for fields in events[known:])
        self.stored, self.running = events, True
        self._sound_bytes = store.journal.sound_bytes
        if not self.disk.pending:  # all that was read is on the disk, and must stay there
            self.promised, self.promised_bytes = len(events), self._sound_bytes

    def append(self, store: LogStore) -> None:
        """Give the store a batch, which it takes whole or refuses."""
        batch = self._make_batch()
        self._offered.update(map(repr, list_fields(batch)))
        try:
            store.append(batch)
        except JournalError:
            self.seen["refused appends"] += 1
            return
        self.stored += list_fields(batch)
        self._sound_bytes = self.path.stat().st_size

    async def flush(self, store: LogStore) -> None:
        """Ask for the barrier; if it is acknowledged, the disk has what was there when it was asked."""
        count, length = len(self.stored), self._sound_bytes
        content = self.path.read_bytes()[:length]
        if self.chance.random() < 0.2:
            self.disk.meanwhile = lambda: self.append(store)
        if not await store.flush():
            self.seen["refused barriers"] += 1
            return
        self.seen["barriers"] += 1
        assert self.disk.durable[:length] == content
        self.promised, self.promised_bytes = count, length

    def crash(self) -> bool:
        """Stop the machine; whether the file must open again."""
        self.seen["crashes"] += 1
        self.running = False
        torn = self.disk.crash().torn
        self.seen["torn" if torn else "with holes"] += 1
        return torn

    def _make_batch(self) -> list[Event]:
        return [self._make_event(len(self.stored) + n) for n in range(self.chance.choice((1, 1, 2, 5)))]

    def _make_event(self, seq: int) -> Event:
        self._made += 1
        if self.chance.random() < 0.5:
            text = "a\u00e9\n" * self.chance.choice((0, 3, 30, 1000))
            return Event("plan/create", seq, self._made, {"n": self._made, "text": text})
        prompt = "\u65e5x" * self.chance.randint(1, 50)
        schedule = {"id": f"s-{self._made}", "kind": "at", "prompt": prompt, "scheduledAt": NOON}
        data = {"version": 1, "operation": "create", "schedule": schedule}
        return Event("schedule/change", seq, self._made, data)


@contextmanager
def over(disk: Disk) -> Iterator[None]:
    """The store's files on a simulated disk, for a block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_store, "os", FaultyOs(disk))
        yield


async def live(witness: Witness, calls_max: int | None) -> None:
    """A process that opens the session, appends and asks for barriers, and ends if it gets so far."""
    disk, chance = witness.disk, witness.chance
    disk.crash_at = None if calls_max is None else disk.calls + chance.randint(1, calls_max)
    with over(disk), open_store(witness.path) as store:
        witness.read(store)
        for _ in range(chance.randint(1, 8)):
            if chance.random() < 0.6:
                witness.append(store)
            else:
                await witness.flush(store)
    disk.meanwhile = None


async def live_and_crash(witness: Witness) -> bool:
    """Several processes one after the other, then a crash; whether the file must open again."""
    for _ in range(witness.chance.randint(0, 2)):
        await live(witness, None)  # ended by itself, so that what it wrote is read by the next
    try:
        await live(witness, witness.chance.choice((4, 8, 16)))
    except Crash:
        witness.seen["in a call"] += 1
    witness.disk.meanwhile = None
    return witness.crash()


async def recover(witness: Witness) -> None:
    """The session goes on: what was promised is there, and an append is taken and stays."""
    witness.disk.fault_rate, witness.disk.crash_at = 0, None
    with over(witness.disk), open_store(witness.path) as store:
        witness.read(store)
        count = len(witness.stored)
        witness.append(store)
        assert len(witness.stored) > count
        await witness.flush(store)
        assert witness.promised >= count
    with open_journal(witness.path) as journal:
        assert list_fields(list(journal.read_events())) == witness.stored
        assert journal.warning is None
    with open_journal(witness.path) as journal:
        assert fold_journal(journal, PUBLISHED).position == len(witness.stored)


def check_refusal(witness: Witness, must_open: bool) -> None:
    """A refusal is allowed for holes alone, names a place past every promise, and changes nothing."""
    content = witness.path.read_bytes()
    with pytest.raises(JournalError) as caught, open_store(witness.path) as store:
        witness.read(store)
    assert not must_open, caught.value
    assert caught.value.offset_bytes is not None
    assert caught.value.offset_bytes >= witness.promised_bytes
    assert witness.path.read_bytes() == content
    witness.seen["refused openings"] += 1


async def run_seed(path: Path, seed: int) -> Counter[str]:
    """A session through several crashes."""
    chance = random.Random(seed)
    witness = Witness(path, chance, chance.choice((0, 0.05, 0.2)))
    for _ in range(chance.randint(1, 3)):
        must_open = await live_and_crash(witness)
        try:
            await recover(witness)
        except JournalError:
            check_refusal(witness, must_open)
            return witness.seen
        witness.disk.fault_rate = chance.choice((0, 0.05, 0.2))
    return witness.seen


def run_all(seeds: range, run: Callable[[int], Awaitable[Counter[str]]]) -> Counter[str]:
    """Run all seeds and add up; one that fails is named in the error."""

    async def run_each() -> Counter[str]:
        seen: Counter[str] = Counter()
        for seed in seeds:
            try:
                seen += await run(seed)
            except BaseException as error:
                error.add_note(f"seed {seed}")
                raise
        return seen

    return anyio.run(run_each)


@pytest.mark.parametrize("count", [200, pytest.param(5500, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMES)
def test_what_was_acknowledged_survives_every_crash_and_nothing_else_is_promised(
    tmp_path: Path, name: str, count: int
) -> None:
    """Writes fail, come short or are lost, barriers fail, the machine stops: no promise is broken."""
    path = tmp_path / name
    seen = run_all(range(count), lambda seed: run_seed(path, seed))
    assert seen.keys() >= {"barriers", "refused barriers", "refused appends", "torn", "with holes"}
    tell(f"{name}, {count} sessions: {dict(seen)}")


def start(path: Path) -> Path:
    """A session of one event, with what a writer that died left of another."""
    write_session(path, event(0))
    with (path / "session.jsonl").open("ab") as file:
        file.write(b'{"type":"plan/cr')
    return path / "session.jsonl"


def take_turn(path: Path, kind: str) -> None:
    """Another process: it opens the session, appends one event, durably, and ends."""
    with open_store(path) as store:
        seq = len(list(store.read_events(0)))
        store.append([Event(kind, seq, 5, None)])
        assert anyio.run(store.flush)


def test_a_barrier_after_a_failed_one_acknowledges_only_what_is_on_the_disk(tmp_path: Path) -> None:
    """Linux holds for written what a failed fsync did not write, so the next one tells nothing."""
    for seed in range(10):
        path = write_session(tmp_path / str(seed), event(0))
        disk = Disk(path, random.Random(seed), forgetful=True)
        with over(disk), open_store(path) as store:
            list(store.read_events(0))
            store.append([Event("plan/create", 1, 5, None)])
            disk.fault_rate = 1
            assert not anyio.run(store.flush)
            disk.fault_rate = 0
            if anyio.run(store.flush):
                assert disk.durable == path.read_bytes()


def test_c71_where_locks_exclude_nobody_a_torn_tail_is_cut_only_as_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer has cut it and appended since: its event is not taken for the torn tail."""
    path = start(tmp_path)
    monkeypatch.setattr(journal_store, "hold_lock", lambda _: nullcontext())
    with open_store(path) as store:
        list(store.read_events(0))
        take_turn(path, "user/other")
        before = path.read_bytes()
        with pytest.raises(JournalError):
            store.append([Event("plan/create", 1, 5, None)])
        assert path.read_bytes() == before


def test_what_the_last_owner_wrote_before_the_lock_was_free_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store whose opening met another owner's last words reads the log as that owner left it."""
    path = start(tmp_path)
    hold_lock = journal_store.hold_lock

    @contextmanager
    def wait_for_lock(directory: Path) -> Iterator[None]:
        monkeypatch.setattr(journal_store, "hold_lock", hold_lock)
        take_turn(path, "user/other")
        with hold_lock(directory):
            yield

    monkeypatch.setattr(journal_store, "hold_lock", wait_for_lock)
    with open_store(path) as store:
        assert [found.type for found in store.read_events(0)] == ["plan/create", "user/other"]


def test_after_a_write_that_could_not_be_taken_back_the_next_append_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of a writer's own failed write is a torn tail, and nobody else's doing."""
    path = write_session(tmp_path, event(0))
    disk = Disk(path, random.Random(0))
    files = FaultyOs(disk)
    monkeypatch.setattr(journal_store, "os", files)
    with open_store(path) as store:
        list(store.read_events(0))
        with monkeypatch.context() as patch:
            patch.setattr(files, "write", lambda descriptor, data: fail_after(descriptor, data[:9]))
            patch.setattr(files, "ftruncate", lambda *_: fail_after(None, b""))
            with pytest.raises(JournalError, match="input/output error"):
                store.append([Event("plan/create", 1, 5, None)])
        assert path.read_bytes().endswith(b'{"type":"')
        store.append([Event("plan/create", 1, 5, None)])
    with open_journal(path) as journal:
        assert len(list(journal.read_events())) == 2


def fail_after(descriptor: int | None, data: bytes) -> int:
    """Write something, and fail all the same."""
    if descriptor is not None:
        os.write(descriptor, data)
    raise OSError(errno.EIO, os.strerror(errno.EIO))
