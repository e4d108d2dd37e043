"""A person's word, the zones it tells, and lists that cannot be made; through the real executable."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from command import EXECUTABLE, wakefold, wakefold_json
from journal_files import JOURNALS, NOON, change, create_at, create_every, event, write_session
from wakefold import SEED
from wakefold.conversations import make_message, name_person
from wakefold_shell.stores.journals import fold_journal, open_journal

LOCAL = ("--date", "2099-02-01", "--time", "09:00:00")
CREATE_LOCAL = f'exec "$0" create --session "$WAKEFOLD_SESSION" call {" ".join(LOCAL)} --json'


def read_lines(session: Path) -> list[dict[str, Any]]:
    """The lines of a sound journal, the header first."""
    with open_journal(session) as journal:
        fold_journal(journal, SEED)
        assert journal.warning is None
    content = (session / "session.jsonl").read_text()
    return [json.loads(row) for row in content.split("\n")[:-1]]


def read_types(session: Path) -> list[str]:
    return [row["type"] for row in read_lines(session)[1:]]


def queue_word(text: str, zone: str | None) -> bytes:
    """The line of a person's word that waits for the agent, the first of a log."""
    message = make_message("m", text, name_person("r", zone))
    return event(0, "agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [message]})


def run_creating(session: Path) -> tuple[int, dict[str, Any]]:
    """The answer to a local `create` from inside the command of what is due, and its exit status."""
    command = ("--deliver", "exec", "--json", "--", "sh", "-c", CREATE_LOCAL, EXECUTABLE)
    done = wakefold("run", "--session", session, "--once", *command)
    assert done.returncode == 0
    (row,) = map(json.loads, done.stdout.splitlines())
    (said,) = [line for line in read_lines(session) if line["type"] == "assistant/message"]
    value: dict[str, Any] = json.loads(said["data"]["message"]["content"][0]["text"])
    return row["exitStatus"], value


@pytest.mark.parametrize(
    ("given", "zone"),
    [((), None), (("--zone", "europe/berlin"), "Europe/Berlin"), (("--zone", "Etc/UTC"), "UTC")],
)
def test_a_word_without_a_runner_is_recorded_as_a_turn(
    tmp_path: Path, given: tuple[str, ...], zone: str | None
) -> None:
    """The turn is whole and closed, its source a person's with the zone's canonical name."""
    write_session(tmp_path, create_at(0))
    said = wakefold_json("say", "--session", tmp_path, "hé\nllo", *given)
    assert list(said) == ["id", "queued"]
    assert said["queued"] is False
    rows = read_lines(tmp_path)[2:]
    assert [row["type"] for row in rows] == [
        *("turn/start", "step/start", "user/message", "user/message", "step/end", "turn/end"),
    ]
    word, reading = rows[2]["data"], rows[3]["data"]
    source = word.pop("source")
    assert word == {"content": [{"type": "text", "text": "hé\nllo"}], "role": "user", "id": said["id"]}
    assert isinstance(source.pop("rpcId"), str)
    assert source == {"kind": "user", **({} if zone is None else {"clientTimeZone": zone})}
    assert reading["source"]["plugin"] == "time-context"
    assert rows[0]["data"] == {"turn": 1}
    assert rows[-1]["data"] == {"turn": 1, "reason": {"kind": "completed"}}
    assert len({row["time"] for row in rows}) == 1


def test_a_word_is_told_to_be_recorded_and_is_given_to_no_later_runner(tmp_path: Path) -> None:
    """A runner that comes later finds nothing to do."""
    write_session(tmp_path)
    said = wakefold("say", "--session", tmp_path, "hello")
    assert (said.stdout, said.stderr) == ("recorded; no runner is live to answer.\n", "")
    before = read_types(tmp_path)
    done = wakefold("run", "--session", tmp_path, "--once", "--deliver", "exec", "--", "cat")
    assert done.stdout == ""
    assert read_types(tmp_path) == before


def test_a_word_ends_a_streak(tmp_path: Path) -> None:
    """It is the external word that the count of wakeups waits for."""
    write_session(tmp_path, create_at(0), change(1, operation="dispatch", id="schedule-1"))
    wakefold_json("say", "--session", tmp_path, "hello")
    wakeups = wakefold_json("inspect", tmp_path)["wakeups"]
    assert (wakeups["consecutive"], wakeups["maxConsecutive"], wakeups["total"]) == (0, 1, 1)


def test_a_word_closes_a_turn_that_a_crash_left_open(tmp_path: Path) -> None:
    """Nobody knows what came of it; the word is the next turn."""
    write_session(
        tmp_path, event(0, "turn/start", {"turn": 7}), event(1, "step/start", {"turn": 7, "step": 3})
    )
    wakefold_json("say", "--session", tmp_path, "hello")
    rows = read_lines(tmp_path)[3:]
    assert [(row["type"], row["data"]) for row in rows[:3]] == [
        ("step/end", {"turn": 7, "step": 3}),
        ("turn/end", {"turn": 7, "reason": {"kind": "interrupted"}}),
        ("turn/start", {"turn": 8}),
    ]


@pytest.mark.parametrize("kind", ["seed/gate", "published/fork"])
def test_a_word_is_written_on_in_a_real_session(tmp_path: Path, kind: str) -> None:
    """A journal of the released package gets its next turn, and what it held is untouched."""
    content = (JOURNALS / kind / "session.jsonl").read_bytes()
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    wakefold_json("say", "--session", tmp_path, "hello")
    assert path.read_bytes().startswith(content)
    turns = [row["data"]["turn"] for row in read_lines(tmp_path)[1:] if row["type"] == "turn/start"]
    assert turns[-1] == turns[-2] + 1


@pytest.mark.parametrize(
    ("session_zone", "word_zone", "code"),
    [
        ("Europe/Berlin", "Europe/Berlin", None),
        ("Europe/Berlin", None, "timezone_confirmation_required"),
        ("Europe/Berlin", "America/New_York", "timezone_confirmation_required"),
        (None, "Europe/Berlin", "timezone_confirmation_required"),
        ("Europe/Berlin", "europe/berlin", "internal_error"),
    ],
)
def test_a_local_time_is_read_in_the_zone_that_person_and_session_share(
    tmp_path: Path, session_zone: str | None, word_zone: str | None, code: str | None
) -> None:
    """From inside the command that answers the person, and only where no doubt is left."""
    header = {} if session_zone is None else {"timeZone": session_zone}
    write_session(tmp_path, queue_word("call at nine", word_zone), header=header)
    status, value = run_creating(tmp_path)
    assert (status, value.get("code")) == (0 if code is None else 1, code)
    if code is None:
        assert value["scheduledAt"] == "2099-02-01T08:00:00.000Z"
    elif code == "timezone_confirmation_required":
        assert value["sessionTimeZone"] == (session_zone or "unavailable")
        assert value["clientTimeZones"] == ([] if word_zone is None else [word_zone])
    assert read_types(tmp_path).count("schedule/change") == (1 if code is None else 0)


def test_a_reminders_turn_tells_no_zone(tmp_path: Path) -> None:
    """Nobody is there to have said it: the command is asked for the zone."""
    write_session(
        tmp_path, create_at(0, at="2026-01-01T00:00:00.000Z"), header={"timeZone": "Europe/Berlin"}
    )
    status, value = run_creating(tmp_path)
    assert (status, value["code"]) == (1, "timezone_confirmation_required")
    assert (value["sessionTimeZone"], value["clientTimeZones"]) == ("Europe/Berlin", [])


def test_a_session_zone_alone_is_not_implied(tmp_path: Path) -> None:
    """Neither before a word nor after its turn is over."""
    write_session(tmp_path, header={"timeZone": "Europe/Berlin"})
    for _ in range(2):
        done = wakefold("create", "--session", tmp_path, "x", *LOCAL, TZ="Europe/Berlin")
        assert done.returncode == 1
        assert done.stderr.startswith("wakefold: timezone_confirmation_required: ")
        wakefold_json("say", "--session", tmp_path, "hello", "--zone", "Europe/Berlin")


@pytest.mark.parametrize(
    ("given", "zone", "target"),
    [
        ((*LOCAL, "--zone", "america/new_york"), "America/New_York", "2099-02-01T14:00:00.000Z"),
        (
            (*LOCAL, "--zone", "America/New_York", "--session-zone", "europe/berlin"),
            *("Europe/Berlin", "2099-02-01T14:00:00.000Z"),
        ),
        (
            ("--at", "2099-02-01T14:00:00Z", "--session-zone", "etc/utc"),
            "UTC",
            "2099-02-01T14:00:00.000Z",
        ),
        (("--at", "2099-02-01T14:00:00Z"), None, "2099-02-01T14:00:00.000Z"),
    ],
)
def test_a_new_session_is_given_the_zone_that_was_named(
    tmp_path: Path, given: tuple[str, ...], zone: str | None, target: str
) -> None:
    """That of the session if it is told, else that of the reminder, in its canonical spelling."""
    session = tmp_path / "s"
    assert wakefold_json("create", "--session", session, "x", *given)["scheduledAt"] == target
    assert read_lines(session)[0].get("timeZone") == zone


def spoil(session: Path, how: str) -> None:
    """Make a session that cannot be believed, in one of several ways."""
    if how == "missing":
        return
    path = write_session(session, create_at(0), create_at(1, "b"))
    content = path.read_bytes()
    if how == "no-journal":
        path.unlink()
    elif how == "two-journals":
        (session / "session.jsonl.zstd").write_bytes(content)
    elif how == "pipe":
        path.unlink()
        os.mkfifo(path)
    elif how == "no-lock":
        (session / "session.lock").mkdir()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "gap":
        path.write_bytes(content.replace(b'"seq":1', b'"seq":2'))
    elif how == "cut":
        path.write_bytes(content[:-40] + b"\n")
    elif how == "broken-rule":
        write_session(session, create_every(0, "e"), create_at(1, "e"))
    else:
        write_session(session, create_at(0), header={"delegationDepth": 1})


def list_sizes(session: Path) -> list[tuple[str, int]]:
    return sorted((entry.name, entry.stat().st_size) for entry in session.glob("session.jsonl*"))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("missing", "no such file or directory"),
        ("no-journal", "holds no session.jsonl"),
        ("two-journals", "holds two journals"),
        ("pipe", "no regular file"),
        ("no-lock", "is a directory"),
        ("empty", "the file is empty"),
        ("gap", "seq 2 stands where seq 1 is due"),
        ("cut", "the line is no JSON"),
        ("broken-rule", "corrupt_schedule_log"),
        ("child", "child session"),
    ],
)
def test_c107_a_session_that_cannot_be_read_is_an_error_and_never_an_empty_list(
    tmp_path: Path, how: str, words: str
) -> None:
    """Exit 1 and one sentence with the place, for a word as well; nothing is made or written."""
    session = tmp_path / "s"
    spoil(session, how)
    before = list_sizes(session)
    commands = [("list", "--json"), ("say", "hello")]
    for name, more in commands if how in {"missing", "broken-rule"} else commands[:1]:
        done = wakefold(name, "--session", session, more)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("wakefold: ")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    assert list_sizes(session) == before
    assert session.exists() == (how != "missing")


def test_an_empty_list_is_that_of_a_session_without_reminders(tmp_path: Path) -> None:
    """Said of a log that was read to its end."""
    write_session(tmp_path, create_at(0), change(1, operation="delete", id="schedule-1"))
    assert wakefold_json("list", "--session", tmp_path) == []
    assert NOON not in wakefold("list", "--session", tmp_path).stdout
