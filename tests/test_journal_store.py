"""Writing journals: one writer, whole batches, and nothing changed on failure."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
import zstandard

from journal_files import JOURNALS, create_at, event, write_session
from wakefold import Event
from wakefold_shell.errors import JournalError
from wakefold_shell.stores.journal_store import (
    create_session,
    hold_lock,
    open_store,
)
from wakefold_shell.stores.journals import open_journal
from wakefold_shell.stores.logs import LogStore
from wakefold_shell.stores.rows import Header

NEXT = Event("schedule/change", 2, 5, {"version": 1, "operation": "delete", "id": "schedule-1"})
NEXT_LINE = (
    b'{"type":"schedule/change","seq":2,"time":5,'
    b'"data":{"version":1,"operation":"delete","id":"schedule-1"}}\n'
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_session(tmp_path, create_at(0), event(1))


def read_out(store: LogStore) -> int:
    return len(list(store.read_events(0)))


def flush(store: LogStore) -> bool:
    return anyio.run(store.flush)


def test_a_batch_is_appended_as_the_released_package_writes_it(path: Path) -> None:
    """Type, seq, time and data, compact, one line each; the barrier acknowledges."""
    before = path.read_bytes()
    with open_store(path) as store:
        read_out(store)
        store.append([NEXT, Event("plan/create", 3, 6, {"text": "é\ud83d"})])
        assert flush(store)
        store.append([Event("plan/create", 4, 7, None)])
    assert (
        path.read_bytes()
        == before
        + NEXT_LINE
        + (
            '{"type":"plan/create","seq":3,"time":6,"data":{"text":"é\\ud83d"}}\n'
            '{"type":"plan/create","seq":4,"time":7,"data":null}\n'
        ).encode()
    )


def test_a_torn_tail_is_cut_before_the_first_append_and_not_sooner(path: Path) -> None:
    """Reading leaves the tail alone; an append takes its place."""
    before = path.read_bytes()
    path.write_bytes(before + b'{"type":"sch')
    with open_store(path) as store:
        read_out(store)
        assert path.read_bytes() == before + b'{"type":"sch'
        store.append([NEXT])
        store.append([Event("plan/create", 3, 6, None)])
    assert path.read_bytes().startswith(before + NEXT_LINE + b'{"type":"plan/create"')
    with open_journal(path) as journal:
        assert len(list(journal.read_events())) == 4


def test_a_compressed_journal_gets_one_checksummed_frame_for_each_batch(tmp_path: Path) -> None:
    """The frame is whole, holds the batch alone, and the journal reads on."""
    content = (JOURNALS / "published/every-cold/session.jsonl.zstd").read_bytes()
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(content + b"\x28\xb5")
    with open_store(tmp_path) as store:
        assert read_out(store) == 131
        store.append([Event("plan/create", 131, 5, 1), Event("plan/create", 132, 6, 2)])
    frame = path.read_bytes().removeprefix(content)
    assert zstandard.get_frame_parameters(frame).has_checksum
    assert zstandard.decompress(frame).count(b"\n") == 2
    with open_journal(path) as journal:
        assert len(list(journal.read_events())) == 133


def test_after_the_first_reading_the_log_is_read_from_any_place(path: Path) -> None:
    """What was appended is known without the file; what came before is read from it again."""
    with open_store(path) as store:
        read_out(store)
        assert list(store.read_events(2)) == []
        store.append([NEXT])
        assert list(store.read_events(2)) == [NEXT]
        assert list(store.read_events(3)) == []
        assert [event.seq for event in store.read_events(1)] == [1, 2]
        assert [event.data for event in store.read_events(0)][2] == NEXT.data
        assert store.time_zone is None


@pytest.mark.parametrize("seq", [0, 1, 3])
def test_an_event_out_of_place_is_refused(path: Path, seq: int) -> None:
    """A writer that folded another log than this one appends nothing."""
    before = path.read_bytes()
    with open_store(path) as store:
        read_out(store)
        with pytest.raises(JournalError, match="must have seq 2"):
            store.append([Event("plan/create", seq, 5, None)])
        with pytest.raises(JournalError, match="must have seq 2"):
            store.append([NEXT, NEXT])
    assert path.read_bytes() == before


def test_appending_before_the_end_was_read_is_refused(path: Path) -> None:
    """Where the log ends must be known first."""
    with open_store(path) as store:
        with pytest.raises(JournalError, match="where the log ends is not known"):
            store.append([NEXT])
        next(store.read_events(0))
        with pytest.raises(JournalError, match="where the log ends is not known"):
            store.append([NEXT])


def test_appending_after_a_packed_row_of_unknown_length_is_refused(tmp_path: Path) -> None:
    """No seq is guessed."""
    row = b'{"type":"tool-call-chunks","seq0":0,"time0":1,"data":{}}\n'
    with open_store(write_session(tmp_path, row)) as store:
        read_out(store)
        with pytest.raises(JournalError, match="where the log ends is not known"):
            store.append([Event("plan/create", 1, 5, None)])


@pytest.mark.parametrize("change", [1, -1])
def test_c71_a_second_writer_is_noticed_by_the_length(path: Path, change: int) -> None:
    """Where a lock excludes nobody, each append still checks the length that it expects."""
    with open_store(path) as store:
        read_out(store)
        os.truncate(path, path.stat().st_size + change)
        before = path.read_bytes()
        with pytest.raises(JournalError, match="somebody else wrote"):
            store.append([NEXT])
        assert path.read_bytes() == before


def test_a_failed_write_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a batch is taken back, and a later append goes on from there."""
    before = path.read_bytes()
    write = os.write

    def write_some(descriptor: int, data: bytes) -> int:
        if len(data) <= len(NEXT_LINE) - 10:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:10])

    with open_store(path) as store:
        read_out(store)
        monkeypatch.setattr(os, "write", write_some)
        with pytest.raises(JournalError, match="no space left on device"):
            store.append([NEXT])
        assert path.read_bytes() == before
        monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:7]))
        store.append([NEXT])
    assert path.read_bytes() == before + NEXT_LINE


def test_a_barrier_that_the_disk_refuses_is_not_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """False means uncertain."""

    def refuse(_: int) -> None:
        raise OSError(5, "Input/output error")

    with open_store(path) as store:
        assert flush(store)
        monkeypatch.setattr(os, "fsync", refuse)
        assert not flush(store)


def test_a_second_process_is_refused_with_the_owners_pid(path: Path) -> None:
    """The lock holds against another process, and is free again afterwards."""
    script = (
        "from pathlib import Path; import sys\n"
        "from wakefold_shell.stores.journal_store import hold_lock\n"
        "with hold_lock(Path(sys.argv[1])): print('held')\n"
    )
    command = [sys.executable, "-c", script, str(path.parent)]
    with open_store(path):
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"process {os.getpid()} owns this session" in refused.stderr
    granted = subprocess.run(command, capture_output=True, text=True, check=False)
    assert granted.stdout == "held\n"


def test_a_lock_without_a_readable_pid_still_excludes(tmp_path: Path) -> None:
    """The owner is then called unknown."""
    lock = tmp_path / "session.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(JournalError, match="process unknown owns"), hold_lock(tmp_path):
            pass


def test_the_lock_of_a_dead_process_is_no_obstacle(tmp_path: Path) -> None:
    """What counts is the lock, not the file that it left."""
    (tmp_path / "session.lock").write_text("999999\n")
    with hold_lock(tmp_path):
        assert (tmp_path / "session.lock").read_text() == f"{os.getpid()}\n"
    assert stat.S_IMODE((tmp_path / "session.lock").stat().st_mode) & 0o600 == 0o600


def test_links_in_place_of_lock_or_journal_are_refused(tmp_path: Path, path: Path) -> None:
    """A link could lead a writer to another file."""
    (path.parent / "session.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JournalError), open_store(path):
        pass
    assert not (tmp_path / "elsewhere").exists()
    other = tmp_path / "linked"
    other.mkdir()
    (other / "session.jsonl").symlink_to(path)
    with pytest.raises(JournalError), open_store(other):
        pass


def test_a_new_session_is_private_and_durable(tmp_path: Path) -> None:
    """Directory 0700, journal 0600, and a header that reads back."""
    directory = tmp_path / "sessions" / "one"
    create_session(directory, Header("session-1", 5, time_zone="Europe/Berlin"))
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "session.jsonl").stat().st_mode) == 0o600
    with open_journal(directory) as journal:
        assert journal.header == Header("session-1", 5, time_zone="Europe/Berlin")
        assert list(journal.read_events()) == []
    create_session(tmp_path / "two", Header("session-2", 6))
    with open_journal(tmp_path / "two") as journal:
        assert journal.header.time_zone is None


def test_an_existing_session_is_never_made_again(path: Path) -> None:
    """Creating over a journal is refused, and leaves it."""
    before = path.read_bytes()
    with pytest.raises(JournalError, match="file exists"):
        create_session(path.parent, Header("session-1", 5))
    assert path.read_bytes() == before


def test_a_session_whose_creator_was_killed_before_its_last_step_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside its name stands the one that it was written under: no trick of anybody's."""
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", kill)
        with pytest.raises(KeyboardInterrupt):
            create_session(tmp_path, Header("session-1", 5))
    assert (tmp_path / "session.jsonl").stat().st_nlink == 2
    with open_store(tmp_path) as store:
        assert read_out(store) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"session.jsonl", "session.lock"}


def test_a_second_name_that_is_not_the_creators_is_refused(path: Path) -> None:
    """A hard link could lead another writer to the same file."""
    os.link(path, path.parent / "copy.jsonl")
    with pytest.raises(JournalError, match="several names"), open_store(path):
        pass
    assert (path.parent / "copy.jsonl").exists()


def kill(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def nobody() -> Iterator[None]:
    """As a user who has no rights on the files: root would be refused nothing."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_permission_denied_is_one_sentence(path: Path, request: pytest.FixtureRequest) -> None:
    """Neither reading nor owning without rights gives more than a sentence."""
    path.chmod(0)
    path.parent.chmod(0o500)
    request.getfixturevalue("nobody")
    for opened in (open_journal(path), open_store(path)):
        with pytest.raises(JournalError, match="permission denied"), opened:
            pass
