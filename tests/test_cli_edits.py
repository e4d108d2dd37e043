"""Calendar rules, options and edits through the real executable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import wakefold, wakefold_json
from journal_files import create_at, create_every, event, write_session
from wakefold.json_text import format_json

FAR = "2099-01-01T00:00:00.000Z"
NOW = ("--now", "2027-01-04T12:00:00Z")
BERLIN = ("--zone", "Europe/Berlin")


def create(session: Path, *arguments: str) -> Any:  # noqa: ANN401 - parsed JSON
    return wakefold_json("create", "--session", session, *arguments, *NOW)


def edit(command: str, session: Path, *arguments: str) -> Any:  # noqa: ANN401 - parsed JSON
    return wakefold_json(command, "--session", session, "schedule-1", *arguments, *NOW)


@pytest.mark.parametrize(
    ("arguments", "rule", "target"),
    [
        (
            ["--daily", "09:00"],
            {"kind": "daily", "time": "09:00:00.000", "timeZone": "Europe/Berlin"},
            "2027-01-05T08:00:00.000Z",
        ),
        (
            ["--weekly", "FRI,mon@09:00:30"],
            {
                "kind": "weekly",
                "weekdays": [1, 5],
                "time": "09:00:30.000",
                "timeZone": "Europe/Berlin",
            },
            "2027-01-08T08:00:30.000Z",
        ),
        (
            ["--weekly", "7@09:00"],
            {"kind": "weekly", "weekdays": [7], "time": "09:00:00.000", "timeZone": "Europe/Berlin"},
            "2027-01-10T08:00:00.000Z",
        ),
        (
            ["--cron", "0 9 * * MON-FRI"],
            {"kind": "cron", "expression": "0 9 * * 1-5", "timeZone": "Europe/Berlin"},
            "2027-01-05T08:00:00.000Z",
        ),
    ],
)
def test_each_calendar_rule_has_its_option(
    tmp_path: Path, arguments: list[str], rule: dict[str, Any], target: str
) -> None:
    view = create(tmp_path / "s", "x", *arguments, *BERLIN)
    assert {key: view[key] for key in rule} == rule
    assert (view["scheduledAt"], view["revision"], view["runs"]) == (target, 0, 0)


def test_a_create_takes_every_option_and_tells_the_local_time_of_the_rule(tmp_path: Path) -> None:
    options = ["--title", "Logs", "--max-runs", "5", "--until", "2027-03-01T00:00:00+01:00"]
    skip = ["--missed", "skip", "--grace", "600"]
    view = create(tmp_path / "s", "x", "--daily", "09:00", *BERLIN, *options, *skip)
    assert {key: view[key] for key in ("title", "maxRuns", "until", "missed", "graceSeconds")} == {
        "title": "Logs",
        "maxRuns": 5,
        "until": "2027-02-28T23:00:00.000Z",
        "missed": "skip",
        "graceSeconds": 600,
    }
    told = wakefold("create", "--session", tmp_path / "s", "y", "--daily", "09:00", *BERLIN, *NOW)
    assert told.stdout == (
        "schedule-2: 2027-01-05T08:00:00.000Z = 2027-01-05 09:00:00 Europe/Berlin, y\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--weekly", "FRY@09:00"], "'FRY@09:00' is not of the form MON,FRI@09:00"),
        (["--weekly", "FRI"], "'FRI' is not of the form MON,FRI@09:00"),
        (["--weekly", "@09:00"], "'@09:00' is not of the form MON,FRI@09:00"),
        (["--daily", "09:00", "--missed", "never"], "'never' is not one of"),
    ],
)
def test_what_no_option_can_be_is_wrong_usage(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = wakefold("create", "--session", tmp_path / "s", "x", *arguments, *NOW)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--daily", "9"], "invalid_rule"),
        (["--daily", "09:00"], "timezone_confirmation_required"),
        (["--daily", "09:00", "--zone", "Mars"], "invalid_time_zone"),
        (["--daily", "09:00", "--after", "60", *BERLIN], "invalid_selector"),
        (["--weekly", "MON,MON@09:00", *BERLIN], "invalid_rule"),
        (["--cron", "* * * * *", *BERLIN, "--no-guard"], "frequency_too_high"),
        (["--cron", "0 9 30 2 *", *BERLIN], "invalid_rule"),
        (["--after", "60", "--max-runs", "1"], "invalid_rule"),
        (["--daily", "09:00", *BERLIN, "--missed", "skip"], "invalid_rule"),
        (["--daily", "09:00", *BERLIN, "--until", "2027-01-01T00:00:00Z"], "not_future"),
    ],
)
def test_a_refusal_is_one_sentence_with_its_code(
    tmp_path: Path, arguments: list[str], code: str
) -> None:
    done = wakefold("create", "--session", tmp_path / "s", "x", *arguments, *NOW)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"wakefold: {code}: ")
    assert done.stderr.count("\n") == 1


def test_a_reminder_is_updated_paused_resumed_and_snoozed(tmp_path: Path) -> None:
    create(tmp_path / "s", "x", "--daily", "09:00", *BERLIN, "--max-runs", "5")
    view = edit("update", tmp_path / "s", "--prompt", "y", "--title", "Tea", "--clear", "max-runs")
    assert (view["prompt"], view["title"], view["revision"]) == ("y", "Tea", 1)
    assert "maxRuns" not in view
    assert edit("pause", tmp_path / "s", "--revision", "1")["state"] == "paused"
    assert edit("resume", tmp_path / "s")["state"] == "scheduled"
    snoozed = edit("snooze", tmp_path / "s", "--until", "2027-01-05T09:00:00Z")
    assert (snoozed["snoozedUntil"], snoozed["revision"]) == ("2027-01-05T09:00:00.000Z", 4)
    ruled = edit("update", tmp_path / "s", "--weekly", "SUN@10:00", *BERLIN)
    assert (ruled["kind"], ruled["weekdays"]) == ("weekly", [7])
    assert "snoozedUntil" not in ruled


def test_a_snooze_for_some_seconds_counts_from_now(tmp_path: Path) -> None:
    write_session(tmp_path, create_every(0, "schedule-1", 86_400, at="2027-01-04T11:00:00.000Z"))
    assert edit("snooze", tmp_path, "--for", "600")["snoozedUntil"] == "2027-01-04T12:10:00.000Z"
    told = wakefold("list", "--session", tmp_path, *NOW).stdout
    assert "snoozed until 2027-01-04T12:10:00.000Z" in told
    for arguments in ([], ["--for", "1", "--until", FAR], ["--for", str(10**15)]):
        done = wakefold("snooze", "--session", tmp_path, "schedule-1", *arguments, *NOW)
        assert done.returncode == 2


def test_people_read_what_came_of_an_edit(tmp_path: Path) -> None:
    create(tmp_path / "s", "x", "--daily", "09:00", *BERLIN)
    at = ("--session", tmp_path / "s", "schedule-1", *NOW)
    assert wakefold("pause", *at).stdout == "schedule-1: paused, revision 1\n"
    listed = wakefold("list", "--session", tmp_path / "s", *NOW).stdout
    assert "daily  paused  2027-01-05 08:00:00" in listed
    assert "09:00:00 Europe/Berlin  1         -      x" in listed
    assert wakefold("resume", *at).stdout == (
        "schedule-1: 2027-01-05T08:00:00.000Z = 2027-01-05 09:00:00 Europe/Berlin, x, revision 2\n"
    )


@pytest.mark.parametrize(
    ("command", "arguments", "code", "reason"),
    [
        ("pause", ["schedule-2"], "schedule_conflict", "it is paused already"),
        (
            "pause",
            ["schedule-2", "--revision", "0"],
            "schedule_conflict",
            "its revision is not 0 any more or it is paused already",
        ),
        ("resume", ["schedule-1"], "schedule_conflict", "it is not paused"),
        (
            "snooze",
            ["schedule-2", "--until", FAR],
            "schedule_conflict",
            "it is paused, resume it first",
        ),
        (
            "update",
            ["schedule-1", "--revision", "3", "--title", "x"],
            "schedule_conflict",
            "its revision is not 3 any more",
        ),
        ("update", ["gone", "--title", "x"], "schedule_ended", "it has ended"),
        ("pause", ["never"], "schedule_not_found", "no such reminder was ever made"),
    ],
)
def test_a_conflict_is_told_and_nothing_is_written(
    tmp_path: Path, command: str, arguments: list[str], code: str, reason: str
) -> None:
    paused = {"version": 2, "operation": "pause", "id": "schedule-2"}
    ended = {"version": 1, "operation": "delete", "id": "gone"}
    rows = [
        {"type": "schedule/change", "seq": seq, "time": 1, "data": data}
        for seq, data in ((3, paused), (4, ended))
    ]
    path = write_session(
        tmp_path,
        create_at(0, at=FAR),
        create_at(1, "schedule-2", at=FAR),
        create_at(2, "gone", at=FAR),
        *(format_json(row).encode() + b"\n" for row in rows),
    )
    before = path.read_bytes()
    done = wakefold(command, "--session", tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"wakefold: {arguments[0]}: not changed, {reason}; see 'wakefold list'.\n"
    as_json = wakefold(command, "--session", tmp_path, *arguments, "--json")
    assert (as_json.returncode, as_json.stderr) == (1, "")
    assert json.loads(as_json.stdout) == {"id": arguments[0], "updated": False, "code": code}
    assert path.read_bytes() == before


def test_an_update_needs_something_to_change_and_says_each_thing_once(tmp_path: Path) -> None:
    create(tmp_path / "s", "x", "--daily", "09:00", *BERLIN)
    at = ("update", "--session", tmp_path / "s", "schedule-1", *NOW)
    nothing = wakefold(*at)
    assert nothing.returncode == 1
    assert nothing.stderr.startswith("wakefold: invalid_selector: Give the id with any of prompt")
    twice = wakefold(*at, "--title", "x", "--clear", "title")
    assert (twice.returncode, "title is both given and cleared" in twice.stderr) == (2, True)
    other = wakefold(*at, "--at", FAR, "--date", "2027-02-01")
    assert (other.returncode, "either --at or --date" in other.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["create", "x", "--daily", "09:00", *BERLIN],
        ["create", "x", "--after", "60", "--title", "x"],
        ["update", "schedule-1", "--title", "x"],
        ["pause", "schedule-1"],
        ["resume", "schedule-1"],
        ["snooze", "schedule-1", "--for", "60"],
    ],
    ids=" ".join,
)
def test_protocol_1_refuses_version_2_with_one_sentence(tmp_path: Path, arguments: list[str]) -> None:
    path = write_session(tmp_path, create_at(0))
    before = path.read_bytes()
    done = wakefold(*arguments, "--session", tmp_path, "--protocol", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("wakefold: invalid_selector: Only version 1 of the durable change")
    assert done.stderr.count("\n") == 1
    assert path.read_bytes() == before
    plain = ("create", "y", "--after", "60", "--session", tmp_path, "--protocol", "1")
    assert wakefold_json(*plain)["kind"] == "after"
    assert b'"version":2' not in path.read_bytes()


@pytest.mark.parametrize("command", ["create", "update"])
def test_the_help_warns_of_what_the_first_event_of_version_2_does(command: str) -> None:
    helped = " ".join(wakefold(command, "--help", COLUMNS="200").stdout.split())
    assert "makes the log unreadable for good to programs that know version 1 only" in helped


def test_next_tells_what_the_clocks_skip_and_repeat(tmp_path: Path) -> None:
    wakefold("create", "--session", tmp_path / "s", "x", "--daily", "02:30", *BERLIN, *NOW)
    table = wakefold("next", tmp_path / "s", "-n", "90", *NOW).stdout
    assert "2027-03-29 02:30:00 Europe/Berlin, 2027-03-28 02:30 is skipped  schedule-1" in table
    coming = wakefold_json("next", tmp_path / "s", "-n", "310", *NOW)["next"]
    (twice,) = [one for one in coming if one["rule"]["repeated"]]
    assert twice["rule"] == {
        "timeZone": "Europe/Berlin",
        "local": "2027-10-31 02:30:00",
        "repeated": True,
        "skipped": [],
        "note": "first of two 02:30",
    }
    assert twice["occurrenceAt"] == "2027-10-31T00:30:00.000Z"


def test_explain_says_why_and_whether_anybody_lives_there(tmp_path: Path) -> None:
    path = write_session(tmp_path, create_at(0), create_every(1, "b", at=FAR))
    told = wakefold("explain", tmp_path, "schedule-1", *NOW)
    why, owner = told.stdout.splitlines()
    assert why.startswith(
        "schedule-1: it is due since 2027-01-04T12:00:00.000Z, and nothing in the log"
    )
    assert owner == "session: nobody lives in it, so that nothing is delivered"
    assert wakefold_json("explain", path, "b")["why"] == "not-due"
    never = wakefold_json("explain", tmp_path, "c")
    assert (never["why"], never["owner"]) == ("never-created", None)
    assert wakefold("run", "--session", tmp_path, "--once", *NOW).returncode == 0
    done = wakefold("explain", tmp_path, "schedule-1", *NOW).stdout
    assert "schedule-1: it was delivered, and comes once (2027-01-04T12:00:00.000Z, event " in done
    assert "last delivered: 2027-01-04T12:00:00.000Z, the occurrence of 2027-01-04T12:00" in done


def test_explain_names_the_line_of_a_log_that_is_corrupt(tmp_path: Path) -> None:
    write_session(tmp_path, create_at(0), create_at(1), create_at(2, "b"))
    done = wakefold("explain", tmp_path, "schedule-1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "session.jsonl:3 " in done.stderr


def write_moved(directory: Path) -> Path:
    """A session whose daily reminder is stored an hour before its time, and one of an unknown zone."""
    rule = {"kind": "daily", "prompt": "x", "time": "09:00:00.000"}
    schedules = [
        {"id": "a", **rule, "timeZone": "Europe/Berlin", "scheduledAt": "2027-01-05T07:00:00.000Z"},
        {"id": "b", **rule, "timeZone": "Mars/Base", "scheduledAt": "2027-01-05T07:00:00.000Z"},
    ]
    data = [{"version": 2, "operation": "create", "schedule": one} for one in schedules]
    rows = [event(seq, "schedule/change", one) for seq, one in enumerate(data)]
    return write_session(directory, *rows)


def test_doctor_shows_what_this_tz_database_moves_and_lacks(tmp_path: Path) -> None:
    write_moved(tmp_path)
    found = wakefold_json("doctor", tmp_path, *NOW)["findings"]
    told = [finding["what"] for finding in found if finding["level"] == "warning"]
    assert [what for what in told if "tz database" in what] == [
        '"a" comes at 2027-01-05T07:00:00.000Z, this tz database places it at 2027-01-05T08:00:00.000Z',
        '"b" is in Mars/Base, which this tz database lacks',
    ]


def test_inspect_and_next_tell_of_what_they_cannot_plan(tmp_path: Path) -> None:
    """A reminder whose zone this tz database lacks, in one sentence with what to do."""
    write_moved(tmp_path)
    sentence = (
        '"b" is in Mars/Base, which this tz database lacks: '
        "update the tz database, or give the reminder another rule."
    )
    assert wakefold_json("inspect", tmp_path, *NOW)["warnings"] == [sentence]
    for command in ("inspect", "next"):
        told = wakefold(command, tmp_path, *NOW)
        assert (told.returncode, told.stderr) == (0, f"wakefold: {sentence}\n")


def test_retarget_shows_first_and_writes_with_yes(tmp_path: Path) -> None:
    path = write_moved(tmp_path)
    before = path.read_bytes()
    line = "a: 2027-01-05T07:00:00.000Z -> 2027-01-05T08:00:00.000Z\n"
    shown = wakefold("retarget", "--session", tmp_path, *NOW)
    assert shown.stdout == f"{line}nothing is written yet: say --yes.\n"
    refused = wakefold("retarget", "--session", tmp_path, *NOW, "--yes", "--protocol", "1")
    assert (refused.returncode, "version 2" in refused.stderr) == (1, True)
    other = wakefold_json("retarget", "--session", tmp_path, "b", *NOW, "--yes")
    assert other == {"moves": [], "written": False}
    assert path.read_bytes() == before
    written = wakefold("retarget", "--session", tmp_path, "a", *NOW, "--yes")
    assert written.stdout == f"{line}written.\n"
    (view, _) = wakefold_json("list", "--session", tmp_path, *NOW)
    assert (view["scheduledAt"], view["revision"]) == ("2027-01-05T08:00:00.000Z", 1)
    again = wakefold("retarget", "--session", tmp_path, *NOW, "--yes")
    assert again.stdout == "every target stands where this tz database places it.\n"
