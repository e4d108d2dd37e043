"""Checkpoints beside real logs: read on from, proven, ignored and written anew."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from command import wakefold, wakefold_json
from journal_files import HEADER, JOURNALS, NOON, NOON_MS, change, create_at, create_every, event, line
from wakefold import PUBLISHED, SEED, Event, Profile
from wakefold.checkpoints import Checkpoint, begin_checkpoint
from wakefold.conversations import USER_MESSAGE, make_message, name_person
from wakefold.snapshots import encode_checkpoint
from wakefold_shell.clocks import FixedClock
from wakefold_shell.errors import JournalError
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.runners import Runner
from wakefold_shell.stores.checkpoints import (
    GROWTH_LINES,
    CheckpointKeeper,
    Reading,
    name_checkpoint,
    recall_checkpoint,
)
from wakefold_shell.stores.journal_store import open_store, write_new_store
from wakefold_shell.stores.journals import StoreKind, locate_journal, open_journal, read_on
from wakefold_shell.stores.logs import PARSED_TYPES, LogStore

KINDS: tuple[StoreKind, ...] = get_args(StoreKind)
NOW = ("--now", NOON)
SESSIONS = [path.parent for path in sorted(JOURNALS.glob("*/*/session.*"))]


def queue_word(seq: int, text: str) -> bytes:
    """The line of a person's word that waits for the agent."""
    message = make_message(f"m{seq}", text, name_person(f"r{seq}", None))
    return event(seq, "agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [message]})


def list_long(length: int = GROWTH_LINES) -> Iterator[bytes]:
    """A session with a header and so many events: reminders, a wakeup, a word, a turn left open."""
    yield line(HEADER)
    yield create_at(0, "soon", at="2027-01-04T13:00:00.000Z")
    yield create_every(1, "schedule-2", 3600)
    yield create_at(2, "gone")
    yield change(3, operation="dispatch", id="gone")
    yield event(4, USER_MESSAGE, {"source": {"kind": "user"}})
    yield queue_word(5, "hello")
    yield event(6, "turn/start", {"turn": 7})
    yield from (event(seq, data={"n": seq}) for seq in range(7, length))


@pytest.fixture(params=KINDS)
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A long session, without a checkpoint, in each kind of store."""
    write_new_store(tmp_path / "s", request.param, list_long())
    return tmp_path / "s"


def find_checkpoint(session: Path) -> Path:
    return name_checkpoint(locate_journal(session))


def live_once(session: Path) -> list[str]:
    """Open the session as a tool does, and close it; what was told of its checkpoint."""
    told: list[str] = []
    with open_store(session) as store:
        keeper = CheckpointKeeper(store, Reading(SEED), told.append)
        keeper.keep(read_rest(store, keeper.recall()))
    return told


def read_rest(store: LogStore, recalled: Checkpoint | None) -> Checkpoint:
    before = recalled or begin_checkpoint(store.seed_length, SEED)
    return read_on(store.journal, before, store.read_events(before.ledger.position))


def inspect(session: Path, *arguments: str) -> Any:  # noqa: ANN401 - parsed JSON
    return wakefold_json("inspect", session, *NOW, *arguments)


def read(
    path: Path, tell: Callable[[str], None] | None, profile: Profile = SEED
) -> tuple[Checkpoint, int]:
    """What a journal has come to, by its checkpoint or (without `tell`) whole; and read from where."""
    with open_journal(path) as journal:
        begun = begin_checkpoint(journal.header.seed_length, profile)
        if tell is not None:
            begun = recall_checkpoint(journal, Reading(profile, ("user", "a2a")), tell) or begun
        first_seq = journal.first_seq
        return read_on(journal, begun, journal.read_events(PARSED_TYPES)), first_seq


def must_not_tell(sentence: str) -> None:
    raise AssertionError(sentence)


def test_a_long_session_is_read_on_from_its_checkpoint(session: Path) -> None:
    """Only the tail is decoded; everything that is shown is what the whole log shows."""
    assert not find_checkpoint(session).exists()
    assert live_once(session) == []
    kept = find_checkpoint(session)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert live_once(session) == []
    whole = read(session, None)
    assert whole[1] == 0
    assert read(session, must_not_tell) == (whole[0], GROWTH_LINES)
    shown = inspect(session)
    assert shown == inspect(session, "--no-checkpoint")
    assert [view["id"] for view in shown["active"]] == ["soon", "schedule-2"]
    assert shown["wakeups"]["total"] == 1


def test_the_tools_say_what_they_ignored_and_keep_another(plain: Path) -> None:
    """On standard error, once; the answer is the same."""
    flip(plain)
    done = wakefold("delete", "--session", plain, "no-such-id")
    assert (done.returncode, done.stdout) == (0, "no-such-id: not active\n")
    assert done.stderr == (
        f"wakefold: {find_checkpoint(plain)}: it is damaged; it is ignored and the whole log is read.\n"
    )
    assert wakefold("delete", "--session", plain, "no-such-id").stderr == ""


def test_what_follows_is_read_and_what_is_written_is_kept(session: Path) -> None:
    """A tail, then growth enough for another checkpoint, in one life."""
    live_once(session)
    created = wakefold_json("create", "--session", session, "tea", "--after", "60", *NOW)
    before = find_checkpoint(session).read_bytes()
    with open_store(session) as store:
        keeper = CheckpointKeeper(store, Reading(SEED), must_not_tell)
        recalled = keeper.recall()
        assert recalled is not None
        assert recalled.ledger.position == GROWTH_LINES
        tail = list(store.read_events(GROWTH_LINES))
        assert [one.type for one in tail] == ["schedule/change"]
        keeper.keep(recalled)
        assert find_checkpoint(session).read_bytes() == before
        grow(store, GROWTH_LINES)
    assert find_checkpoint(session).read_bytes() == before
    assert live_once(session) == []
    checkpoint, first_seq = read(session, must_not_tell)
    assert first_seq == 2 * GROWTH_LINES + 1
    assert checkpoint == read(session, None)[0]
    assert created["id"] in checkpoint.ledger.records


def grow(store: LogStore, lines: int) -> None:
    """More events, durable."""
    assert store.next_seq is not None
    first = store.next_seq
    store.append([Event("plan/create", first + place, NOON_MS, None) for place in range(lines)])
    assert anyio.run(store.flush)


def test_a_life_that_writes_much_keeps_what_it_wrote(session: Path) -> None:
    """The digest goes on with what is appended; nothing is read again."""
    live_once(session)
    with open_store(session) as store:
        keeper = CheckpointKeeper(store, Reading(SEED), must_not_tell)
        recalled = keeper.recall()
        assert list(store.read_events(GROWTH_LINES)) == []
        keeper.keep(recalled)
        grow(store, GROWTH_LINES)
        store.append([Event("plan/create", 2 * GROWTH_LINES, NOON_MS, {"a": "\u20ac"})])
        if "sqlite" in find_checkpoint(session).name:
            keeper.renew()  # what is not committed is in no checkpoint, nor is what came before it
            assert read(session, must_not_tell)[1] == GROWTH_LINES
            grow(store, 1)
        keeper.renew()
    checkpoint, first_seq = read(session, must_not_tell)
    assert first_seq == checkpoint.ledger.position > 2 * GROWTH_LINES
    assert checkpoint == read(session, None)[0]


def test_a_store_that_recalled_reads_its_whole_log_for_whoever_asks(session: Path) -> None:
    """Before the first reading and after it: the tail is never taken for the log."""
    live_once(session)
    for first in (0, GROWTH_LINES):
        with open_store(session) as store:
            assert CheckpointKeeper(store, Reading(SEED), must_not_tell).recall() is not None
            assert len(list(store.read_events(first))) == GROWTH_LINES - first
            assert len(list(store.read_events(0))) == GROWTH_LINES


def spoil(session: Path, old: bytes, new: bytes) -> None:
    """Change the log in place: neither its length nor its times tell of it."""
    place = locate_journal(session)
    status = place.stat()
    if place.suffix == ".sqlite":
        connection = sqlite3.connect(place)
        connection.execute(
            "UPDATE log SET line = CAST(replace(line, ?, ?) AS BLOB) WHERE seq = 0",
            (old.decode(), new.decode()),
        )
        connection.commit()
        connection.close()
    elif place.suffix == ".zstd":
        place.unlink()
        write_new_store(session, "zstd", (row.replace(old, new) for row in list_long()))
    else:
        place.write_bytes(place.read_bytes().replace(old, new, 1))
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_an_edited_log_is_read_whole_and_kept_anew(session: Path) -> None:
    """One byte in the middle: told once, then another checkpoint is in the old one's place."""
    live_once(session)
    spoil(session, b"13:00:00", b"14:00:00")
    kept = find_checkpoint(session)
    told = (
        f"{kept}: the log does not begin as it did when this was made; "
        "it is ignored and the whole log is read."
    )
    shown = inspect(session)
    assert shown["warnings"] == [told]
    assert shown["active"][0]["scheduledAt"] == "2027-01-04T14:00:00.000Z"
    assert {**shown, "warnings": []} == inspect(session, "--no-checkpoint")
    assert live_once(session) == [told]
    assert live_once(session) == []
    assert inspect(session) == {**shown, "warnings": []}


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A long plain session, with its checkpoint."""
    write_new_store(tmp_path / "s", "journal", list_long())
    live_once(tmp_path / "s")
    return tmp_path / "s"


def cut_log(session: Path) -> None:
    """Restored from an older backup."""
    os.truncate(session / "session.jsonl", 4000)
    content = (session / "session.jsonl").read_bytes()
    (session / "session.jsonl").write_bytes(content[: content.rindex(b"\n") + 1])


def tear_log(session: Path) -> None:
    """The last line that the checkpoint stands for lost its end."""
    path = session / "session.jsonl"
    os.truncate(path, path.stat().st_size - 1)


def swap_session(session: Path) -> None:
    """Another session of the same length."""
    path = session / "session.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"session-test"', b'"session-tost"', 1))


def fork_session(session: Path) -> None:
    """A fork that begins with the same events."""
    path = session / "session.jsonl"
    head, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(line({**json.loads(head), "id": "fork", "seedLength": 20}) + rest)


def flip(session: Path) -> None:
    """A bad disk."""
    kept = find_checkpoint(session)
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.write_bytes(content)


def cut_checkpoint(session: Path) -> None:
    """A crash of the system soon after the rename."""
    os.truncate(find_checkpoint(session), 100)


def empty(session: Path) -> None:
    """The same."""
    os.truncate(find_checkpoint(session), 0)


def age(session: Path) -> None:
    """Another program's version."""
    kept = find_checkpoint(session)
    kept.write_bytes(kept.read_bytes().replace(b" 2 ", b" 1 ", 1))


def put_pipe(session: Path) -> None:
    """Nobody ever writes into it."""
    find_checkpoint(session).unlink()
    os.mkfifo(find_checkpoint(session))


def put_directory(session: Path) -> None:
    find_checkpoint(session).unlink()
    find_checkpoint(session).mkdir()


def put_link(session: Path) -> None:
    shutil.move(find_checkpoint(session), session / "elsewhere")
    find_checkpoint(session).symlink_to(session / "elsewhere")


@pytest.mark.parametrize(
    ("mishap", "reason", "replaced"),
    [
        (cut_log, "the log does not begin as it did when this was made", True),
        (tear_log, "the log does not begin as it did when this was made", True),
        (swap_session, "it is another session's", True),
        (fork_session, "it is another session's", True),
        (flip, "it is damaged", True),
        (cut_checkpoint, "it is damaged", True),
        (empty, "it is no checkpoint", True),
        (age, "it is not of version 2", True),
        (put_pipe, "it is no checkpoint", True),
        (put_directory, "is a directory", False),
        (put_link, "too many levels of symbolic links", True),
    ],
)
def test_what_does_not_match_is_ignored_with_one_sentence(
    plain: Path, mishap: Callable[[Path], None], reason: str, replaced: bool
) -> None:
    """The result is that of the whole log; the next life replaces it, short as the log may be now."""
    mishap(plain)
    told: list[str] = []
    checkpoint, first_seq = read(plain, told.append)
    assert (checkpoint, first_seq) == read(plain, None)
    assert first_seq == 0
    if reason == "is a directory":
        told = [told[0].replace("it is no checkpoint", reason)]
    assert told == [f"{find_checkpoint(plain)}: {reason}; it is ignored and the whole log is read."]
    live_once(plain)
    assert find_checkpoint(plain).is_file() == replaced
    assert (read(plain, must_not_tell if replaced else told.append)[1] > 0) == replaced


def test_other_ways_of_reading_do_not_share_a_checkpoint(plain: Path) -> None:
    """Another profile, and other `resetKinds`; a session without a guard does not ask for them."""
    told: list[str] = []
    read(plain, told.append, PUBLISHED)
    (sentence,) = told
    assert "it was made under another profile; it is ignored and the whole log is read." in sentence
    (plain / "wakefold.toml").write_text('[guard]\nresetKinds = ["user"]\n')
    shown = inspect(plain)
    assert "with other resetKinds" in shown["warnings"][0]
    assert {**shown, "warnings": []} == inspect(plain, "--no-checkpoint")
    assert "with other resetKinds" in wakefold("list", "--session", plain, *NOW).stderr
    assert inspect(plain) == {**shown, "warnings": []}
    assert live_once(plain) == []


def keep_prefix(target: Path, session: Path, lines: int) -> bool:
    """Put the checkpoint of a log's first lines beside a copy of the log; whether there can be one."""
    shutil.rmtree(target, ignore_errors=True)
    with open_journal(session) as journal:
        rows = list(journal.read_lines())[:lines]
        profile = SEED if session.parent.name == "seed" else PUBLISHED
        kind: StoreKind = "zstd" if journal.compressed else "journal"
    with open_journal(write_new_store(target / "head", kind, rows)) as head:
        head.rewind(track=True)
        if len(rows) - 1 < head.header.seed_length:
            return False
        begun = begin_checkpoint(head.header.seed_length, profile)
        checkpoint = read_on(head, begun, head.read_events(PARSED_TYPES))
        prefix = head.measure()
        assert prefix is not None
        if head.next_seq is None:
            return False
    place = target / locate_journal(session).name
    shutil.copyfile(locate_journal(session), place)
    if kind == "zstd":
        shutil.copyfile(locate_journal(target / "head"), place)
    name_checkpoint(place).write_bytes(encode_checkpoint(checkpoint, prefix))
    return True


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: f"{path.parts[-2]}-{path.parts[-1]}")
def test_a_real_journal_reads_alike_from_every_cut(session: Path, tmp_path: Path) -> None:
    """Journals of the released package, cut at each line."""
    with open_journal(session) as journal:
        length = len(list(journal.read_lines()))
    profile = SEED if session.parent.name == "seed" else PUBLISHED
    kept = 0
    for lines in range(1, length + 1):
        if not keep_prefix(tmp_path / "s", session, lines):
            continue
        place = tmp_path / "s" / locate_journal(session).name
        whole, _ = read(place, None, profile)
        resumed, first_seq = read(place, must_not_tell, profile)
        assert resumed == whole
        assert list(resumed.ledger.records) == list(whole.ledger.records)
        assert first_seq >= lines - 1
        kept += 1
    assert kept > 0


def test_a_fault_in_the_tail_has_its_place_in_the_whole_log(plain: Path) -> None:
    """Line and byte offset are those of a reading from the beginning."""
    path = plain / "session.jsonl"
    content = path.read_bytes()
    for tail in (b"{}\n", create_at(GROWTH_LINES, "soon"), event(GROWTH_LINES + 1)):
        path.write_bytes(content + tail)
        found = []
        for tell in (None, must_not_tell):
            with pytest.raises(JournalError) as caught:
                read(plain, tell)
            found.append(str(caught.value))
        assert found[0] == found[1]
        assert f"session.jsonl:{GROWTH_LINES + 2} (byte {len(content)})" in found[0]


def test_a_long_tail_that_is_corrupt_is_told_in_one_sentence(plain: Path) -> None:
    """Long enough for another checkpoint, of which there is none; the old one stays."""
    path, kept = plain / "session.jsonl", find_checkpoint(plain).read_bytes()
    tail = [event(GROWTH_LINES + place) for place in range(GROWTH_LINES)]
    with path.open("ab") as file:
        file.writelines([*tail, create_at(2 * GROWTH_LINES, "soon"), event(2 * GROWTH_LINES + 1)])
    sentences = []
    for arguments in ([], ["--no-checkpoint"]):
        done = wakefold("list", "--session", plain, *NOW, *arguments)
        assert done.returncode == 1
        sentences.append(done.stderr)
    assert sentences[0] == sentences[1]
    assert sentences[0].count("\n") == 1
    assert f"session.jsonl:{2 * GROWTH_LINES + 2}" in sentences[0]
    assert find_checkpoint(plain).read_bytes() == kept


def test_a_torn_tail_is_told_and_cut_as_ever(plain: Path) -> None:
    """Behind a checkpoint, too; the next append is where it was."""
    path = plain / "session.jsonl"
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"type":"plan/cr')
    (warning,) = inspect(plain)["warnings"]
    assert f"session.jsonl:{GROWTH_LINES + 2} (byte {size}): the last write was cut off" in warning
    done = wakefold("create", "--session", plain, "tea", "--after", "60", *NOW)
    assert warning in done.stderr
    assert inspect(plain) == inspect(plain, "--no-checkpoint")
    assert read(plain, must_not_tell)[1] == GROWTH_LINES


def test_no_checkpoint_stands_for_a_log_whose_end_is_not_known(tmp_path: Path) -> None:
    """A packed row at the end does not tell how many events it holds."""
    packed = line({"type": "reasoning-chunks", "seq0": GROWTH_LINES, "time0": 1, "data": {}})
    write_new_store(tmp_path / "s", "journal", [*list_long(), packed])
    wakefold("list", "--session", tmp_path / "s", *NOW)
    assert not find_checkpoint(tmp_path / "s").exists()


def test_a_crash_while_it_is_written_leaves_the_old_one_in_force(plain: Path) -> None:
    """What was written before the rename is written over by the next."""
    kept = find_checkpoint(plain)
    scratch = kept.with_name(f".{kept.name}.new")
    scratch.write_bytes(b"wakefold-checkpoint 2 half")
    assert read(plain, must_not_tell)[1] == GROWTH_LINES
    flip(plain)
    assert len(live_once(plain)) == 1
    assert not scratch.exists()
    assert read(plain, must_not_tell)[1] == GROWTH_LINES


def test_one_that_cannot_be_written_is_told_once_and_harms_nothing(plain: Path) -> None:
    """The answer is given all the same."""
    kept = find_checkpoint(plain)
    kept.unlink()
    kept.with_name(f".{kept.name}.new").mkdir()
    (told,) = live_once(plain)
    assert told.startswith(f"{kept}: ")
    assert told.endswith("; without it the next start reads the whole log.")
    with open_store(plain) as store:
        sentences: list[str] = []
        keeper = CheckpointKeeper(store, Reading(SEED), sentences.append)
        assert keeper.recall() is None
        keeper.keep(read_rest(store, None))
        keeper.renew()
    assert len(sentences) == 1


def test_a_short_session_has_none(tmp_path: Path) -> None:
    """Reading it whole costs less than looking for one."""
    write_new_store(tmp_path / "s", "journal", list_long(100))
    live_once(tmp_path / "s")
    assert not find_checkpoint(tmp_path / "s").exists()


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    """By an option or by the environment: none is written, and none is read."""
    session = write_new_store(tmp_path / "s", "journal", list_long()).parent
    wakefold("list", "--session", session, "--no-checkpoint", *NOW)
    off = {"WAKEFOLD_NO_CHECKPOINT": "1"}
    wakefold("list", "--session", session, *NOW, **off)
    assert not find_checkpoint(session).exists()
    find_checkpoint(session).write_bytes(b"broken")
    for arguments, environment in ((["--no-checkpoint"], {}), ([], off)):
        done = wakefold("inspect", session, *NOW, *arguments, **environment)
        assert (done.returncode, done.stderr) == (0, "")
    assert "it is no checkpoint" in wakefold("inspect", session, *NOW).stderr


def test_the_doctor_tells_whether_it_matches(session: Path) -> None:
    """And who may read it; nothing is changed."""
    assert "checkpoint" not in wakefold("doctor", session, *NOW).stdout
    live_once(session)
    kept = find_checkpoint(session)
    fine = f"fine: the checkpoint matches the log up to event {GROWTH_LINES}\n"
    assert fine in wakefold("doctor", session, *NOW).stdout
    kept.chmod(0o644)
    assert f"{kept.name} may be read or written by others" in wakefold("doctor", session, *NOW).stdout
    flip(session)
    before = kept.read_bytes()
    done = wakefold("doctor", session, *NOW)
    assert done.returncode == 0
    assert f"warning: {kept}: it is damaged; it is ignored and the whole log is read" in done.stdout
    assert kept.read_bytes() == before


@pytest.mark.anyio
async def test_a_runner_goes_on_where_the_log_stood(session: Path) -> None:
    """The word that waits is offered, what is due is delivered, once; a checkpoint is kept."""
    given: list[str] = []

    async def answer(one: Any) -> str:  # noqa: ANN401 - an input
        given.append(one.text)
        return "done"

    def make_runner(now_ms: int, *, checkpoint: bool = True) -> Runner:
        return Runner(
            session,
            lambda *_: CallbackAgent(answer),
            FixedClock(now_ms),
            once=True,
            checkpoint=checkpoint,
            tell=must_not_tell,
        )

    live = find_checkpoint(session)
    await make_runner(NOON_MS, checkpoint=False).run()
    assert not live.exists()
    assert given[0] == "hello"
    await make_runner(NOON_MS).run()
    assert live.exists()
    first = read(session, must_not_tell)
    assert first[1] >= GROWTH_LINES
    assert first[0] == read(session, None)[0]
    given.clear()
    await make_runner(NOON_MS + 3_600_000).run()
    assert ['schedule_id_json: "soon"' in text for text in given] == [True, False]
    assert read(session, must_not_tell)[0] == read(session, None)[0]


@pytest.mark.anyio
async def test_inbox_and_open_turn_come_from_the_checkpoint(session: Path) -> None:
    """Nothing before it is read again, and nothing that waited is forgotten."""
    with open_store(session) as store:
        keeper = CheckpointKeeper(store, Reading(SEED), must_not_tell)
        keeper.recall()
        keeper.keep(read_rest(store, None))
    assert find_checkpoint(session).exists()
    given: list[str] = []

    async def answer(one: Any) -> None:  # noqa: ANN401 - an input
        given.append(one.text)

    agent = CallbackAgent(answer)
    await Runner(session, lambda *_: agent, FixedClock(NOON_MS), once=True, tell=must_not_tell).run()
    assert given[0] == "hello"
    with open_journal(session) as journal:
        tail = [one for one in journal.read_events(PARSED_TYPES) if one.seq >= GROWTH_LINES]
    assert (tail[0].type, tail[0].data) == ("turn/end", {"turn": 7, "reason": {"kind": "interrupted"}})
    assert next(one.data for one in tail if one.type == "turn/start") == {"turn": 8}
