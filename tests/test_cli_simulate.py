"""`wakefold simulate` through the real executable."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from command import EXECUTABLE, wakefold, wakefold_json
from journal_files import (
    JOURNALS,
    NOON_MS,
    change,
    create_at,
    create_every,
    event,
    write_session,
)

NOW = ("--now", "2027-01-04T12:00:00Z")
GATE_NOW = ("--now", "2026-11-30T10:46:00Z")
HOUR_MS = 3_600_000


def write_hourly(directory: Path, hours: int = 0, *, start_hour: int = 1) -> Path:
    """A session with an hourly reminder, first due an hour after noon, that ran for so many hours."""
    lines = [create_every(0, "hourly", 3600, at="2027-01-04T13:00:00.000Z")]
    for n in range(start_hour, start_hour + hours):
        at = f"2027-01-{4 + (12 + n) // 24:02}T{(12 + n) % 24:02}:00:00.000Z"
        data = {"version": 1, "operation": "dispatch", "id": "hourly", "acceptedAt": at}
        time = NOON_MS + n * HOUR_MS
        lines += [
            event(len(lines), "schedule/change", data, time),
            event(len(lines) + 1, "turn/start", {"turn": n}, time),
            event(len(lines) + 2, "turn/end", {"turn": n, "reason": {"kind": "completed"}}, time),
        ]
    return write_session(directory, *lines)


def test_a_week_of_an_hourly_reminder_by_day(tmp_path: Path) -> None:
    """It stops after the seventh in a row; every day is in the JSON, tokens where asked for."""
    write_hourly(tmp_path)
    shown = wakefold_json("simulate", tmp_path, *NOW, "--tokens-per-wakeup", "1000")
    assert (shown["from"], shown["until"]) == ("2027-01-04T12:00:00.000Z", "2027-01-11T12:00:00.000Z")
    assert (shown["session"], shown["profile"], shown["guarded"]) == ("session-test", "seed", True)
    assert [day["day"][:10] for day in shown["days"]] == [f"2027-01-{n:02}" for n in range(4, 12)]
    stop = {
        "at": "2027-01-04T19:00:00.000Z",
        "reason": "7 wakeups in a row without an external word (user, a2a; limit 6)",
        "deleted": ["hourly"],
    }
    counts = {
        "wakeups": 7,
        "messages": 7,
        "words": 0,
        "created": 0,
        "refused": {},
        "stops": [stop],
        "deleted": 1,
        "heldMs": 0,
        "tokens": 7000,
    }
    assert shown["days"][0] == {"day": "2027-01-04T00:00:00.000Z", **counts}
    assert all(day["wakeups"] == day["tokens"] == 0 for day in shown["days"][1:])
    assert {key: shown[key] for key in counts} == counts
    assert (shown["busiestDay"], shown["active"], shown["nextWake"]) == (7, [], None)


def test_the_table_has_one_row_for_days_alike(tmp_path: Path) -> None:
    """With how many they are, and a line of totals."""
    write_hourly(tmp_path)
    done = wakefold("simulate", tmp_path, *NOW, "--days", "365", "--no-guard")
    head, *rows, totals, last = done.stdout.splitlines()
    columns = "day from (UTC) days wakeups messages words created refused deleted held stopped"
    assert " ".join(head.split()) == columns
    assert [row.split()[2:5] for row in rows] == [
        ["1", "11", "11"],
        ["364", "24", "24"],
        ["1", "12", "12"],
    ]
    assert "wakeups 8759, messages 8759, words 0, created 0" in totals
    assert last == "active then: hourly; next wake: 2028-01-04 12:00:00"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("journal", "profile"),
    [("seed/gate", "seed"), ("seed/gate", "published"), ("published/every-cold", "published")],
)
def test_without_a_guard_it_agrees_with_next(journal: str, profile: str) -> None:
    """The same deliveries, counted by day."""
    arguments = (JOURNALS / journal, *GATE_NOW, "--profile", profile)
    coming = wakefold_json("next", *arguments, "--count", "10000")["next"]
    shown = wakefold_json("simulate", *arguments, "--no-guard", "--days", "3")
    days = Counter(one["deliveredAt"][:10] for one in coming if one["deliveredAt"] < shown["until"])
    assert {day["day"][:10]: day["wakeups"] for day in shown["days"]} == days
    assert shown["wakeups"] == days.total() > 1000


def test_it_agrees_with_the_audit_of_what_then_happened(tmp_path: Path) -> None:
    """A day that ran without the guard: what the audit does not prevent is what was foreseen."""
    limits = ("--set", "maxConsecutiveWakeups=4")
    write_hourly(tmp_path / "before")
    write_hourly(tmp_path / "after", 23)
    foreseen = wakefold_json("simulate", tmp_path / "before", *NOW, "--days", "1", *limits)
    audited = wakefold_json("guard", "audit", tmp_path / "after", *limits)
    free = wakefold_json("simulate", tmp_path / "before", *NOW, "--days", "1", "--no-guard")
    assert free["wakeups"] == audited["wakeups"] == 23
    assert foreseen["wakeups"] == audited["wakeups"] - audited["prevented"] == 5
    (stopped,) = [one for one in audited["findings"] if one["kind"] == "stopped"]
    (stop,) = foreseen["stops"]
    assert {key: stopped[key] for key in stop} == stop


def test_people_speak_at_the_hours_of_a_zone(tmp_path: Path) -> None:
    """Of the one named, else of the session's own, else UTC."""
    write_hourly(tmp_path)
    words = ("--word", "13:30", "--word", "18:00", "--days", "1")
    shown = wakefold_json("simulate", tmp_path, *NOW, *words)
    # 13 o'clock, 14 to 17, and from 18 on, the word first, seven in a row.
    assert (shown["words"], shown["wakeups"]) == (2, 12)
    assert shown["habits"] == {
        "words": ["13:30", "18:00"],
        "timeZone": "UTC",
        "turnSeconds": 0,
        "reschedule": None,
        "rescheduleEvery": None,
    }
    named = wakefold_json("simulate", tmp_path, *NOW, *words, "--zone", "europe/berlin")
    # 12:30 and 17:00 UTC: 13 to 16, and seven more.
    assert (named["habits"]["timeZone"], named["wakeups"]) == ("Europe/Berlin", 11)
    lines = [create_every(0, "hourly", 3600, at="2027-01-04T13:00:00.000Z")]
    write_session(tmp_path / "own", *lines, header={"timeZone": "Europe/Berlin"})
    own = wakefold_json("simulate", tmp_path / "own", *NOW, *words)
    assert {**own, "session": ""} == {**named, "session": ""}


def test_an_agent_that_sets_itself_going_is_refused_at_the_cap(tmp_path: Path) -> None:
    """A chain of ten seconds; without the guard it goes on, as slow as its turns are."""
    write_session(tmp_path, create_at(0, at="2027-01-04T12:00:10.000Z"))
    chain = ("simulate", tmp_path, *NOW, "--days", "1", "--reschedule", "10")
    shown = wakefold_json(*chain)
    assert (shown["wakeups"], shown["created"]) == (4, 3)
    assert shown["refused"] == {"SCHEDULE_HOURLY_CAP": 1}
    free = wakefold_json(*chain, "--no-guard", "--turn-seconds", "3590")
    assert (free["guarded"], free["wakeups"], free["refused"]) == (False, 24, {})
    repeat = wakefold_json("simulate", tmp_path, *NOW, "--days", "1", "--reschedule-every", "600")
    assert repeat["refused"] == {"SCHEDULE_TOO_FREQUENT": 1}


def test_a_session_s_own_limits_are_in_force(tmp_path: Path) -> None:
    """`wakefold.toml` beside the log: a hold, and how long something waited."""
    write_hourly(tmp_path)
    (tmp_path / "wakefold.toml").write_text("[guard]\nhold = true\nmaxPerDay = 2\n", "utf-8")
    shown = wakefold_json("simulate", tmp_path, *NOW, "--days", "1")
    assert [(day["wakeups"], day["heldMs"]) for day in shown["days"]] == [
        (2, 9 * HOUR_MS),
        (2, 10 * HOUR_MS),
    ]
    assert shown["active"][0]["heldUntil"] == "2027-01-06T00:00:00.000Z"
    assert shown["nextWake"] == "2027-01-06T00:00:00.000Z"
    assert "19 h 0 min" in wakefold("simulate", tmp_path, *NOW, "--days", "1").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--days", "0"],
        ["--days", "1000000000"],
        ["--days", "x"],
        ["--word", "24:00"],
        ["--word", "9"],
        ["--zone", "Mars/Olympus"],
        ["--reschedule", "0"],
        ["--turn-seconds", "-1"],
        ["--set", "maxPerHour"],
        ["--no-guard", "--set", "maxPerHour=3"],
        ["--tokens-per-wakeup", "-1"],
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path: Path, arguments: list[str]) -> None:
    """Exit 2, nothing on standard output."""
    write_hourly(tmp_path)
    done = wakefold("simulate", tmp_path, *NOW, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("wakefold: Invalid value")


def test_a_session_s_own_zone_that_is_none_is_told(tmp_path: Path) -> None:
    """Where an hour needs it, and there alone."""
    write_session(tmp_path, header={"timeZone": "Mars/Olympus"})
    assert wakefold("simulate", tmp_path, *NOW).returncode == 0
    done = wakefold("simulate", tmp_path, *NOW, "--word", "09:00")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "give --zone" in done.stderr


def test_a_journal_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    """Corrupt, broken or not there: exit 1, with the place."""
    corrupt = wakefold("simulate", JOURNALS / "published/every-live", *NOW)
    assert (corrupt.returncode, corrupt.stdout, corrupt.stderr.count("\n")) == (1, "", 1)
    assert ":69 (byte 26396)" in corrupt.stderr
    fine = wakefold("simulate", JOURNALS / "published/every-live", *NOW, "--profile", "published")
    assert fine.returncode == 0
    broken = wakefold("simulate", write_session(tmp_path, b"{\n"), *NOW)
    assert (broken.returncode, broken.stderr.count("\n")) == (1, 1)
    assert wakefold("simulate", tmp_path / "nothing").returncode == 1


def test_a_torn_tail_is_told_and_the_rest_is_simulated(tmp_path: Path) -> None:
    """A warning on standard error, and in the JSON."""
    journal = write_session(tmp_path, create_at(0), change(1, operation="delete", id="schedule-1")[:-5])
    before = journal.read_bytes()
    done = wakefold("simulate", tmp_path, "--now", "2027-01-04T11:00:00Z", "--json")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    shown = json.loads(done.stdout)
    assert (shown["wakeups"], len(shown["warnings"])) == (1, 1)
    assert journal.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["session.jsonl"]


@pytest.mark.parametrize(("days", "drawn"), [("29", False), ("400", True)])
def test_a_long_run_shows_a_bar_on_a_terminal_and_only_there(
    tmp_path: Path, days: str, drawn: bool
) -> None:
    """On standard error; the result is the same."""
    write_hourly(tmp_path)
    arguments = ("simulate", tmp_path, *NOW, "--no-guard", "--json", "--days", days)
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [EXECUTABLE, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        timeout=60,
        check=True,
    )
    os.close(theirs)
    try:
        told = os.read(ours, 65536)
    except OSError:  # nothing was written before the terminal was closed
        told = b""
    os.close(ours)
    assert (b"simulating" in told) == drawn
    assert done.stdout.decode() == wakefold(*arguments).stdout


def test_the_calendar_and_edits_are_foreseen(tmp_path: Path) -> None:
    """Five mornings of which two are the last, a paused one, and a snooze over midnight."""
    morning = {"kind": "daily", "prompt": "x", "time": "09:00:00.000", "timeZone": "Europe/Berlin"}
    names = ("twice", "paused", "snoozed")
    options: dict[str, dict[str, object]] = {"twice": {"maxRuns": 2}}
    at = "2027-01-05T08:00:00.000Z"
    changes: list[dict[str, object]] = [
        {
            "operation": "create",
            "schedule": {"id": name, "scheduledAt": at, **morning, **options.get(name, {})},
        }
        for name in names
    ]
    changes.append({"operation": "pause", "id": "paused"})
    changes.append({"operation": "snooze", "id": "snoozed", "until": "2027-01-06T07:00:00.000Z"})
    lines = [
        event(seq, "schedule/change", {"version": 2, **data}, NOON_MS)
        for seq, data in enumerate(changes)
    ]
    write_session(tmp_path, *lines)
    shown = wakefold_json("simulate", tmp_path, *NOW, "--days", "4")
    assert [day["wakeups"] for day in shown["days"]] == [0, 1, 3, 1, 1]
    assert [(view["id"], view["state"]) for view in shown["active"]] == [
        ("paused", "paused"),
        ("snoozed", "scheduled"),
    ]
    assert shown["nextWake"] == "2027-01-09T08:00:00.000Z"
