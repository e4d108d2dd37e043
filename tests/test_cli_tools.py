"""The three tools through the real executable."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from command import wakefold, wakefold_json
from journal_files import JOURNALS, create_at, write_session

NOW = ("--now", "2027-01-04T12:00:00Z")


def create(session: Path, *arguments: str) -> Any:  # noqa: ANN401 - parsed JSON
    return wakefold_json("create", "--session", session, *arguments, *NOW)


def test_create_makes_the_session_and_answers_with_the_tools_value(tmp_path: Path) -> None:
    """A new directory of one's own, one event, and the view as JSON."""
    session = tmp_path / "mine"
    assert create(session, "stretch", "--after", "600") == {
        "id": "schedule-1",
        "kind": "after",
        "prompt": "stretch",
        "afterSeconds": 600,
        "scheduledAt": "2027-01-04T12:10:00.000Z",
        "state": "scheduled",
        "deliveryMode": "session-local",
    }
    assert stat.S_IMODE(session.stat().st_mode) == 0o700
    shown = wakefold_json("inspect", session, *NOW)
    assert shown["session"].startswith("session-")
    assert [view["id"] for view in shown["active"]] == ["schedule-1"]


def test_c32_create_tells_the_instant_and_the_local_reading(tmp_path: Path) -> None:
    """Both are said by code: nobody has to convert."""
    local = ("--date", "2027-02-01", "--time", "09:00:00", "--zone", "america/new_york")
    done = wakefold("create", "--session", tmp_path / "s", "call", *local, *NOW)
    assert done.stdout == (
        "schedule-1: 2027-02-01T14:00:00.000Z = 2027-02-01 09:00:00 America/New_York, call\n"
    )
    helped = wakefold("create", "--help", COLUMNS="200").stdout
    assert "else the session's, if known" in helped
    assert "Elapsed time: no calendar, no zone" in helped


@pytest.mark.parametrize(
    ("arguments", "kind", "target"),
    [
        (["--every", "1800"], "every", "2027-01-04T12:30:00.000Z"),
        (["--at", "2027-02-01T09:00:00+01:00"], "at", "2027-02-01T08:00:00.000Z"),
    ],
)
def test_each_selector_has_its_option(
    tmp_path: Path, arguments: list[str], kind: str, target: str
) -> None:
    """Repeats and absolute times, too."""
    view = create(tmp_path / "s", "x", *arguments)
    assert (view["kind"], view["scheduledAt"]) == (kind, target)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "invalid_selector"),
        (["--after", "1", "--every", "1800"], "invalid_selector"),
        (["--after", "0"], "invalid_rule"),
        (["--every", "299", "--no-guard"], "frequency_too_high"),
        (["--every", "299"], "SCHEDULE_TOO_FREQUENT"),
        (["--at", "tomorrow 9am"], "invalid_rule"),
        (["--at", "2027-01-04T12:00:00Z"], "not_future"),
        (["--date", "2027-02-01", "--time", "09:00:00"], "timezone_confirmation_required"),
        (["--date", "2027-02-01"], "invalid_rule"),
        (["--date", "2027-02-01", "--time", "09:00:00", "--zone", "CET"], "invalid_time_zone"),
    ],
)
def test_a_refusal_is_one_sentence_with_its_code_and_leaves_nothing(
    tmp_path: Path, arguments: list[str], code: str
) -> None:
    """Exit 1; a session that was made for it is taken back."""
    session = tmp_path / "s"
    done = wakefold("create", "--session", session, "x", *arguments, *NOW)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"wakefold: {code}: ")
    assert done.stderr.count("\n") == 1
    assert not session.exists()
    as_json = wakefold("create", "--session", session, "x", *arguments, *NOW, "--json")
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout)["code"] == code


def test_a_refusal_leaves_an_existing_session_as_it_was(tmp_path: Path) -> None:
    """Not a byte is written for a request that is refused."""
    path = write_session(tmp_path, create_at(0))
    before = path.read_bytes()
    assert wakefold("create", "--session", tmp_path, "x", "--after", "0").returncode == 1
    assert path.read_bytes() == before


def test_list_shows_what_is_active_in_create_order(tmp_path: Path) -> None:
    """The tool's value as JSON, a table for people; overdue reminders are said to be."""
    write_session(tmp_path, create_at(0), create_at(1, "b"), header={"timeZone": "Europe/Berlin"})
    views = wakefold_json("list", "--session", tmp_path, "--now", "2027-01-05T00:00:00Z")
    assert [(view["id"], view["state"]) for view in views] == [
        ("schedule-1", "overdue"),
        ("b", "overdue"),
    ]
    table = wakefold("list", "--session", tmp_path).stdout
    assert "local (Europe/Berlin)" in table
    assert "2027-01-04 12:00:00  2027-01-04 13:00:00" in table


def test_c57_delete_has_a_clear_answer_for_everything(tmp_path: Path) -> None:
    """Refused before the queue, ended, or not active; nothing is appended for the last."""
    path = write_session(tmp_path, create_at(0))
    before = path.read_bytes()
    for padded in ("", " schedule-1 "):
        refused = wakefold("delete", "--session", tmp_path, padded)
        assert refused.returncode == 1
        assert refused.stderr.startswith("wakefold: invalid_rule: ")
    missing = wakefold_json("delete", "--session", tmp_path, "schedule-999")
    assert missing == {"id": "schedule-999", "deleted": False, "code": "schedule_not_found"}
    assert path.read_bytes() == before
    assert wakefold("delete", "--session", tmp_path, "schedule-1").stdout == "schedule-1: deleted\n"
    once = path.read_bytes()
    assert wakefold("delete", "--session", tmp_path, "schedule-1").stdout == "schedule-1: not active\n"
    assert path.read_bytes() == once


def test_the_tools_deliver_nothing(tmp_path: Path) -> None:
    """What is due stays due for a runner: a command that lists has no agent to wake."""
    write_session(tmp_path, create_at(0, at="2026-01-01T00:00:00.000Z"))
    wakefold_json("list", "--session", tmp_path)
    assert wakefold_json("receipts", tmp_path)["receipts"] == []
    assert wakefold("run", "--session", tmp_path, "--once").stdout.startswith("[SCHEDULE REMINDER]\n")


def test_a_corrupt_session_is_named_with_its_line_and_left_alone(tmp_path: Path) -> None:
    """Never an empty list for a log that cannot be believed (C66, C107)."""
    path = write_session(tmp_path, create_at(0), create_at(1))
    before = path.read_bytes()
    for command in (["list"], ["create", "x", "--after", "60"], ["delete", "schedule-1"]):
        done = wakefold(command[0], "--session", tmp_path, *command[1:])
        assert done.returncode == 1
        assert done.stdout == ""
        assert ":3 (byte" in done.stderr
        assert "id_reused" in done.stderr
    path.write_bytes(before[:-20] + b"\n")
    broken = path.read_bytes()
    done = wakefold("create", "--session", tmp_path, "x", "--after", "60")
    assert "no JSON" in done.stderr
    assert path.read_bytes() == broken


def test_a_real_session_gets_a_reminder_more(tmp_path: Path) -> None:
    """A journal of the released package is written on, and stays sound."""
    content = (JOURNALS / "seed/gate/session.jsonl").read_bytes()
    (tmp_path / "session.jsonl").write_bytes(content)
    assert create(tmp_path, "more", "--after", "60")["id"] == "schedule-5"
    assert wakefold("validate", tmp_path).returncode == 0
    assert (tmp_path / "session.jsonl").read_bytes().startswith(content)
