"""The guard through the real executable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import said, wakefold, wakefold_json
from journal_files import JOURNALS, NOON_MS, create_at, create_every, event, write_session

NOW = ("--now", "2027-01-04T12:00:00Z")


def test_config_shows_every_limit_and_where_it_came_from(tmp_path: Path) -> None:
    """A file's values are configured, the rest default; no file is touched."""
    path = tmp_path / "limits.toml"
    path.write_text("[guard]\nmaxPerHour = 0\nresetKinds = ['user']\n", "utf-8")
    before = path.read_bytes()
    shown = wakefold_json("guard", "config", "--config", path)
    assert list(shown) == [
        "maxConsecutiveWakeups",
        "maxPerDay",
        "maxPerHour",
        "resetKinds",
        "minRepeatingIntervalSeconds",
        "dayBoundaryOffsetMinutes",
        "notifyCmd",
        "notifyVia",
        "hold",
        "quietHours",
    ]
    assert shown["maxPerHour"] == {"value": 0, "configured": True}
    assert shown["maxPerDay"] == {"value": 48, "configured": False}
    text = wakefold("guard", "config", "--config", path).stdout
    assert 'maxPerHour=0 (configured), resetKinds=["user"] (configured)' in text
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_config_of_a_session_is_the_file_beside_its_log(tmp_path: Path) -> None:
    """`wakefold.toml` in the session's directory."""
    write_session(tmp_path)
    (tmp_path / "wakefold.toml").write_text("[guard]\nhold = true\n", "utf-8")
    shown = wakefold_json("guard", "config", "--session", tmp_path)
    assert shown["hold"] == {"value": True, "configured": True}
    assert "holds: hold=on (configured)" in wakefold("guard", "config", "--session", tmp_path).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["guard", "config", "--session", "DIR"],
        ["guard", "audit", "DIR"],
        ["inspect", "DIR"],
        ["list", "--session", "DIR"],
        ["create", "--session", "DIR", "x", "--after", "60"],
        ["run", "--session", "DIR", "--once"],
    ],
)
def test_a_bad_file_is_one_sentence_wherever_it_is_read(tmp_path: Path, arguments: list[str]) -> None:
    """Named with its field; nothing is written."""
    journal = write_session(tmp_path, create_at(0))
    before = journal.read_bytes()
    (tmp_path / "wakefold.toml").write_text("[guard]\nmaxPerHuor = 3\n", "utf-8")
    done = wakefold(*(str(tmp_path) if word == "DIR" else word for word in arguments))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "[guard] maxPerHuor is no field of the guard; did you mean maxPerHour" in done.stderr
    assert journal.read_bytes() == before


def test_audit_replays_a_journal_under_limits_set_by_hand() -> None:
    """Findings in order, totals, and what it cost."""
    shown = wakefold_json(
        "guard", "audit", JOURNALS / "seed/gate", "--tokens-per-wakeup", "1000", "--set", "maxPerHour=1"
    )
    assert [(f["kind"], f["seq"]) for f in shown["findings"]] == [
        ("refused", 20),
        ("refused", 35),
        ("prevented", 109),
        ("prevented", 157),
        ("prevented", 158),
    ]
    assert shown["findings"][0]["code"] == "SCHEDULE_TOO_FREQUENT"
    assert {key: shown[key] for key in ("wakeups", "prevented", "tokens", "tokensPrevented")} == {
        "wakeups": 4,
        "prevented": 3,
        "tokens": 4000,
        "tokensPrevented": 3000,
    }
    loose = wakefold_json(
        "guard", "audit", JOURNALS / "seed/gate", "--set", "minRepeatingIntervalSeconds=0"
    )
    assert (loose["findings"], loose["prevented"], loose["preventedBy"]) == ([], 0, {})


@pytest.mark.parametrize("setting", ["maxPerHour", "maxPerHour=x", "maxPerHuor=3", "maxPerDay=-1"])
def test_a_setting_that_is_none_is_wrong_usage(setting: str) -> None:
    """Exit 2, in one sentence."""
    done = wakefold("guard", "audit", JOURNALS / "seed/gate", "--set", setting)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "--set" in done.stderr


def test_audit_of_a_corrupt_journal_names_the_line() -> None:
    """As every reader does."""
    done = wakefold("guard", "audit", JOURNALS / "published/every-live")
    assert done.returncode == 1
    assert ":69 (byte 26396)" in done.stderr
    assert (
        wakefold(
            "guard", "audit", JOURNALS / "published/every-live", "--profile", "published"
        ).returncode
        == 0
    )


def test_a_person_is_refused_as_the_model_is(tmp_path: Path) -> None:
    """The value carries text, flag, error and the time until a slot frees; nothing is written."""
    dispatch = {"version": 1, "operation": "dispatch"}
    journal = write_session(
        tmp_path,
        *(create_at(n, f"o{n}") for n in range(4)),
        *(
            event(4 + n, "schedule/change", {**dispatch, "id": f"o{n}"}, NOON_MS - 600_000)
            for n in range(4)
        ),
    )
    before = journal.read_bytes()
    arguments = ("create", "--session", tmp_path, "x", "--after", "60", *NOW)
    done = wakefold(*arguments, "--json")
    assert done.returncode == 1
    value = json.loads(done.stdout)
    assert (value["code"], value["minutesUntilFree"]) == ("SCHEDULE_HOURLY_CAP", 50)
    assert value["error"]["info"] == {"name": "ScheduleGuardError", "code": "SCHEDULE_HOURLY_CAP"}
    told = wakefold(*arguments)
    assert told.stderr == (
        "wakefold: SCHEDULE_HOURLY_CAP: hourly cap of 4 autonomous wakeups reached: "
        "a slot frees in about 50 min\n"
    )
    assert journal.read_bytes() == before
    assert wakefold(*arguments, "--no-guard").returncode == 0


def test_no_guard_says_so_loudly(tmp_path: Path) -> None:
    """And deletes nothing."""
    write_session(tmp_path, create_every(0, "fast", 600, at="2027-01-04T11:50:00.000Z"))
    done = wakefold("run", "--session", tmp_path, "--once", *NOW, "--no-guard")
    assert "schedule-guard [startup]: OFF (--no-guard)" in done.stderr
    assert said(done) == ""
    assert [view["id"] for view in wakefold_json("inspect", tmp_path, *NOW)["active"]] == ["fast"]


@pytest.mark.parametrize(
    ("limits", "held"),
    [
        ("hold = true\nmaxPerHour = 1", "2027-01-04T12:50:00.001Z"),
        ("hold = true\nmaxPerDay = 1", "2027-01-05T00:00:00.000Z"),
        ("hold = true\nmaxConsecutiveWakeups = 1", "next-external-word"),
        (
            'quietHours = {from = "13:00", to = "14:30", timeZone = "Europe/Berlin"}',
            "2027-01-04T13:30:00.000Z",
        ),
    ],
)
def test_c85_a_hold_is_shown_and_kept_and_nothing_is_lost(
    tmp_path: Path, limits: str, held: str
) -> None:
    """`list`, `inspect` and the runner agree; a person's word ends a streak."""
    dispatch = {"version": 1, "operation": "dispatch", "id": "o"}
    write_session(
        tmp_path,
        create_at(0, "o"),
        event(1, "schedule/change", dispatch, NOON_MS - 600_000),
        create_at(2, "due", at="2027-01-04T11:55:00.000Z"),
    )
    (tmp_path / "wakefold.toml").write_text(f"[guard]\n{limits}\n", "utf-8")
    (view,) = wakefold_json("list", "--session", tmp_path, *NOW)
    assert (view["state"], view["heldUntil"]) == ("overdue", held)
    inspected = wakefold_json("inspect", tmp_path, *NOW)
    assert inspected["active"] == [view]
    assert inspected["nextWake"] == (None if held == "next-external-word" else held)
    assert "held" in wakefold("inspect", tmp_path, *NOW).stdout
    assert held in wakefold("list", "--session", tmp_path, *NOW).stdout
    assert wakefold("run", "--session", tmp_path, "--once", *NOW).stdout == ""
    if held == "next-external-word":
        wakefold("say", "--session", tmp_path, "good morning")
        after = NOW
    else:
        after = ("--now", held)
    done = wakefold("run", "--session", tmp_path, "--once", *after)
    assert done.stdout.startswith("[SCHEDULE REMINDER]\n")
