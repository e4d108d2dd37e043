"""Doctor, repair and convert, by themselves and through the real executable."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import get_args

import pytest

from command import wakefold, wakefold_json
from journal_files import JOURNALS, create_at, create_every, event, line, write_session
from wakefold_shell.errors import JournalError
from wakefold_shell.stores.care import convert_session, cut_torn_tail
from wakefold_shell.stores.journal_store import hold_lock, open_store
from wakefold_shell.stores.journals import StoreKind

KINDS: tuple[StoreKind, ...] = get_args(StoreKind)
NOW = ("--now", "2027-01-04T12:00:00Z")
REAL = [
    "published/tools-and-fire",
    "published/fork",
    "published/every-live",
    "published/every-cold",
    "seed/gate",
]


def own(session: Path) -> Path:
    session.chmod(0o700)
    for path in session.iterdir():
        path.chmod(0o600)
    return session


def copy(name: str, target: Path) -> Path:
    shutil.copytree(JOURNALS / name, target)
    return own(target)


def findings(session: Path, *arguments: str) -> list[tuple[str, str]]:
    done = wakefold("doctor", session, *arguments, "--json")
    rows = json.loads(done.stdout)["findings"]
    assert done.returncode == (1 if any(row["level"] == "error" for row in rows) else 0)
    return [(row["level"], row["what"]) for row in rows]


def test_a_sound_session_is_fine(tmp_path: Path) -> None:
    """One line for people, one finding for programs; nothing is changed, nothing left behind."""
    session = own(write_session(tmp_path / "s", create_at(0)).parent)
    before = {path.name: path.read_bytes() for path in session.iterdir()}
    assert findings(session, *NOW) == [("fine", "1 events, 1 active reminders")]
    assert wakefold("doctor", session, *NOW).stdout == "fine: 1 events, 1 active reminders\n"
    assert {path.name: path.read_bytes() for path in session.iterdir()} == before


def test_clock_oddities_are_flagged(tmp_path: Path) -> None:
    """A batch accepted in the future closes the gate until then."""
    session = copy("seed/gate", tmp_path / "s")
    found = findings(session, "--now", "2026-11-30T10:41:00Z")
    assert found[0] == (
        "warning",
        "the last batch was accepted in the future, at 2026-11-30T10:45:07.539Z",
    )
    assert found[1][1].startswith("the latest event is of the future")


@pytest.mark.parametrize(
    ("damage", "level", "said"),
    [
        (b'{"type":"sch', "warning", "the last write was cut off"),
        (b"\0" * 512, "warning", "the last write was cut off"),
        (b"nonsense\n", "error", "the line is no JSON"),
        (create_at(1), "error", "id_reused"),
        (event(7), "error", "seq 7 stands where seq 1 is due"),
    ],
)
def test_damage_is_named_with_its_place(tmp_path: Path, damage: bytes, level: str, said: str) -> None:
    """And with what is safe to do."""
    path = write_session(tmp_path / "s", create_at(0))
    path.write_bytes(path.read_bytes() + damage)
    own(path.parent)
    (first, *_) = findings(path.parent, *NOW)
    assert first[0] == level
    assert said in first[1]
    assert f"{path}:3 (byte " in first[1]
    assert " -> " in wakefold("doctor", path.parent, *NOW).stdout


def test_rights_links_and_strays_are_told_of(tmp_path: Path) -> None:
    """Whatever a careful owner would want to know."""
    path = write_session(tmp_path / "s", create_at(0))
    path.parent.chmod(0o755)
    path.chmod(0o640)
    os.link(path, tmp_path / "other")
    said = [what for _, what in findings(path.parent, *NOW)]
    assert "session.jsonl may be read or written by others (mode 0640)" in said
    assert "s may be read or written by others (mode 0755)" in said
    assert "session.jsonl has several names" in said
    (path.parent / "session.jsonl.zstd").write_bytes(b"")
    (found,) = findings(path.parent)
    assert found[0] == "error"
    assert "the directory holds two journals" in found[1]
    assert "session.jsonl.zstd lies beside session.jsonl" in [
        what for _, what in findings(path.parent, "--store", "journal", *NOW)
    ]
    assert findings(tmp_path / "nothing")[0][0] == "error"


def test_a_runner_turns_and_inbox_are_told_of(tmp_path: Path) -> None:
    """Open turns and waiting messages are the next runner's to see to."""
    message = {"content": [{"type": "text", "text": "x"}], "source": {"kind": "user"}, "id": "m"}
    splice = {"target": "next-turn", "start": 0, "inserted": [message]}
    path = write_session(
        tmp_path / "s",
        event(0, "turn/start", {"turn": 4}),
        event(1, "agent/inbox/spliced", splice),
        header={"delegationDepth": 1},
    )
    own(path.parent)
    with hold_lock(path.parent):
        said = findings(path.parent, *NOW)
    assert ("note", f"process {os.getpid()} owns this session") in said
    assert ("note", "turn 4 is open") in said
    assert ("note", "1 messages wait for the agent") in said
    assert ("note", "this is a child session, which has no reminders") in said


@pytest.mark.parametrize("tail", [b'{"type":"sch', b"\0" * 100, b'{"type":"x","seq":1,"time":1}'])
def test_repair_cuts_a_torn_tail_alone_and_keeps_the_whole_file(tmp_path: Path, tail: bytes) -> None:
    """The copy is one's own; a second time there is nothing to cut."""
    path = write_session(tmp_path / "s", create_at(0))
    sound = path.read_bytes()
    path.write_bytes(sound + tail)
    assert wakefold("repair", path.parent).returncode == 2
    done = wakefold_json("repair", path.parent, "--torn-tail")
    backup = Path(done["backup"])
    assert (done["cut"], path.read_bytes(), backup.read_bytes()) == (True, sound, sound + tail)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert "nothing to cut" in wakefold("repair", path.parent, "--torn-tail").stdout
    assert wakefold("validate", path.parent).returncode == 0


def test_repair_touches_nothing_else(tmp_path: Path) -> None:
    """A bad line in the middle is for a backup; a session that is lived in is left alone."""
    path = write_session(tmp_path / "s", create_at(0), b"nonsense\n", create_at(1, "b"))
    before = path.read_bytes()
    done = wakefold("repair", path.parent, "--torn-tail")
    assert done.returncode == 1
    assert "restore the file from a backup" in done.stderr
    assert path.read_bytes() == before
    sound = write_session(tmp_path / "t", create_at(0))
    sound.write_bytes(sound.read_bytes() + b"torn")
    with hold_lock(sound.parent), pytest.raises(JournalError, match="owns this session"):
        cut_torn_tail(sound.parent)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("kind", KINDS)
def test_a_real_session_goes_through_every_store_and_back_unchanged(
    tmp_path: Path, name: str, kind: StoreKind
) -> None:
    """Line by line: packed rows, foreign events and extra keys included."""
    original = JOURNALS / name
    convert_session(original, tmp_path / "there", kind)
    convert_session(tmp_path / "there", tmp_path / "back", "journal")
    convert_session(original, tmp_path / "plain", "journal")
    back = (tmp_path / "back/session.jsonl").read_bytes()
    assert back == (tmp_path / "plain/session.jsonl").read_bytes()
    if (original / "session.jsonl").exists():
        assert back == (original / "session.jsonl").read_bytes()
    assert not (original / "session.lock").exists()
    profile = ("--profile", "published")
    shown = [
        wakefold_json("inspect", place, *NOW, *profile)["active"]
        for place in (original, tmp_path / "there")
    ]
    assert shown[0] == shown[1]


def test_convert_drops_a_torn_tail_with_a_warning_and_refuses_damage(tmp_path: Path) -> None:
    """A target that holds a session is left alone."""
    done = wakefold("convert", JOURNALS / "published/torn-tail", tmp_path / "a", "--to", "sqlite")
    assert done.returncode == 0
    assert "(byte 31346)" in done.stderr
    assert (
        wakefold_json("validate", tmp_path / "a", "--profile", "published")["journals"][0]["events"]
        == 65
    )
    again = wakefold("convert", JOURNALS / "seed/gate", tmp_path / "a", "--to", "journal")
    assert again.returncode == 1
    assert "file exists" in again.stderr
    bad = write_session(tmp_path / "bad", b"nonsense\n")
    refused = wakefold("convert", bad.parent, tmp_path / "b", "--to", "journal")
    assert refused.returncode == 1
    assert not (tmp_path / "b/session.jsonl").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_works_on_every_store(tmp_path: Path, kind: StoreKind) -> None:
    """Create, list, say, run, receipts and delete, by what is on the disk."""
    session = tmp_path / "s"
    made = wakefold_json("create", "--session", session, "tea", "--after", "60", "--store", kind, *NOW)
    assert made["id"] == "schedule-1"
    assert wakefold_json("list", "--session", session, *NOW) == [made]
    assert wakefold("say", "--session", session, "hello").returncode == 0
    ran = wakefold("run", "--session", session, "--once", "--now", "2027-01-04T12:01:00Z")
    assert ran.stdout.startswith("[SCHEDULE REMINDER]\n")
    (receipt,) = wakefold_json("receipts", session)["receipts"]
    assert receipt["delivery"] == "handed-over"
    assert wakefold_json("delete", "--session", session, "schedule-1")["deleted"] is False
    assert findings(session, "--now", "2028-01-01T00:00:00Z")[-1][0] == "fine"


def test_tricks_with_names_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    """Neither a symbolic link nor a second hard link is written through."""
    target = write_session(tmp_path / "target", create_at(0))
    before = target.read_bytes()
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "session.jsonl").symlink_to(target)
    with pytest.raises(JournalError, match="symbolic link"), open_store(linked):
        pass
    hard = tmp_path / "hard"
    hard.mkdir()
    os.link(target, hard / "session.jsonl")
    with pytest.raises(JournalError, match="several names"), open_store(hard):
        pass
    assert target.read_bytes() == before


def test_a_time_past_the_calendar_is_shown_as_it_is(tmp_path: Path) -> None:
    """Nobody looks at an event's time but people, who see the milliseconds."""
    dispatch = {"version": 1, "operation": "dispatch", "id": "schedule-1"}
    late = event(1, "schedule/change", dispatch, 2**53 - 1)
    path = write_session(
        tmp_path / "s", create_at(0), late, event(2, "turn/end", {"turn": 1}, 2**53 - 1)
    )
    own(path.parent)
    (receipt,) = wakefold_json("receipts", path.parent)["receipts"]
    assert receipt["dispatchedAt"] == f"{2**53 - 1} ms"
    assert f"{2**53 - 1} ms" in wakefold("receipts", path.parent).stdout
    assert any(f"{2**53 - 1} ms" in what for _, what in findings(path.parent))
    assert wakefold("guard", "audit", path.parent).returncode == 0
    assert wakefold("inspect", path.parent).returncode == 0


def test_a_database_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    """Cut short, or of another kind of content."""
    session = tmp_path / "s"
    wakefold_json("create", "--session", session, "tea", "--after", "60", "--store", "sqlite", *NOW)
    path = session / "session.sqlite"
    content = path.read_bytes()
    for damaged in (content[:2000], content[:100] + b"\0" * 4000, b"SQLite format 3\0" + b"x" * 5000):
        path.write_bytes(damaged)
        for command in ("inspect", "list --session", "doctor"):
            done = wakefold(*command.split(), session)
            assert done.returncode == 1
            assert "Traceback" not in done.stderr
        assert path.read_bytes() == damaged


def test_lines_keep_their_bytes_in_a_database(tmp_path: Path) -> None:
    """Number spelling, key order and escapes are the writer's business."""
    odd = line({"type": "x/y", "seq": 0, "time": 1.0, "data": {"b": 1, "a": "\ud83d"}, "surfaceOp": 1})
    path = write_session(tmp_path / "s", odd, create_every(1, "e"))
    convert_session(path.parent, tmp_path / "t", "sqlite")
    convert_session(tmp_path / "t", tmp_path / "u", "journal")
    assert (tmp_path / "u/session.jsonl").read_bytes() == path.read_bytes()
