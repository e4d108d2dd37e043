"""The guard's file, its voice, and its place in a live session; on asyncio and on trio."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from journal_files import NOON_MS, change, create_at, create_every, event, write_session
from wakefold.conversations import Input
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig, read_guard_config
from wakefold_shell import guarding
from wakefold_shell.clocks import FixedClock
from wakefold_shell.configurations import (
    CONFIG_NAME,
    ConfigError,
    find_config,
    find_config_beside,
    read_config,
)
from wakefold_shell.errors import CompositionError
from wakefold_shell.guarding import Watchman, notify_owner
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.runners import Runner
from wakefold_shell.sockets import ask

REPORT = ("first line", '  - id a, text: "x"')


def write_config(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / CONFIG_NAME
    path.write_text(text, "utf-8")
    return path


def make_config(**fields: Any) -> GuardConfig:  # noqa: ANN401 - parsed TOML
    return read_guard_config(fields).unwrap()


def test_the_file_named_wins_then_the_session_then_the_fallback(tmp_path: Path) -> None:
    """Without any file everything is default."""
    session, root = tmp_path / "root/session", tmp_path / "root"
    session.mkdir(parents=True)
    assert find_config(None, session, root) == DEFAULT_CONFIG
    write_config(root, "[guard]\nmaxPerDay = 1\n")
    assert find_config(None, session, root).max_per_day == 1
    write_config(session, "[guard]\nmaxPerDay = 2\n")
    assert find_config(None, session, root).max_per_day == 2
    assert find_config_beside(None, session).max_per_day == 2
    assert find_config_beside(None, session / "session.jsonl").max_per_day == 2
    named = tmp_path / "named.toml"
    named.write_text("[guard]\nmaxPerDay = 3\n", "utf-8")
    found = find_config(named, session, root)
    assert (found.max_per_day, found.configured) == (3, frozenset({"maxPerDay"}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[guard]\nmaxPerDya = 3\n",
            "[guard] maxPerDya is no field of the guard; did you mean maxPerDay",
        ),
        ("[guard]\nmaxPerDay = true\n", "[guard] maxPerDay must be a number"),
        ("[guard]\nmaxPerDay = nan\n", "[guard] maxPerDay must be a finite number"),
        ("[guard]\nmaxPerDay = -1\n", "[guard] maxPerDay must not be negative"),
        ("maxPerDay = 3\n", "maxPerDay is nothing known here; put the fields into [guard]"),
        ("guard = 3\n", "guard is no table"),
        ("[guard\n", "this is no TOML ("),
        ("[guard]\nquietHours = {from = '22:00'}\n", "[guard] quietHours must hold exactly"),
    ],
)
def test_a_bad_file_is_one_sentence_with_the_field(tmp_path: Path, text: str, said: str) -> None:
    """It names the file and what to do."""
    path = write_config(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: {said}")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    """Missing, or no text at all."""
    with pytest.raises(ConfigError, match="no such file"):
        read_config(tmp_path / "absent.toml")
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="this is no TOML"):
        read_config(path)


@pytest.mark.anyio
async def test_the_owner_is_told_by_one_argument_without_a_shell(tmp_path: Path) -> None:
    """What the report holds is text, whatever it looks like; the output is discarded."""
    target = tmp_path / "told"
    script = "import sys, pathlib; print('noise'); pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    config = make_config(notifyCmd=[sys.executable, "-c", script, str(target)])
    told: list[str] = []
    await notify_owner(config, (*REPORT, "$(rm -rf x); `y`"), told.append)
    assert target.read_text() == 'first line\n  - id a, text: "x"\n$(rm -rf x); `y`'
    assert told == []


@pytest.mark.anyio
async def test_the_owner_is_told_on_standard_input_if_that_is_wanted(tmp_path: Path) -> None:
    """So that the report is not in the process list."""
    target = tmp_path / "told"
    script = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read() + str(len(sys.argv)))"
    config = make_config(notifyCmd=[sys.executable, "-c", script, str(target)], notifyVia="stdin")
    await notify_owner(config, REPORT, lambda _: None)
    assert target.read_text() == 'first line\n  - id a, text: "x"2'


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["/nonexistent/notify"], "notifyCmd cannot be started (no such file or directory)"),
        ("PLAIN", "notifyCmd cannot be started (permission denied)"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "notifyCmd failed with exit status 3"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], "notifyCmd was ended after"),
    ],
)
async def test_c87_a_broken_notify_command_is_a_line_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str] | str, complaint: str
) -> None:
    """Missing, not executable, failing or hanging: logged, contained, and the stop stands."""
    monkeypatch.setattr(guarding, "NOTIFY_SECONDS_MAX", 0.2)
    plain = tmp_path / "plain"
    plain.write_text("text")
    plain.chmod(stat.S_IRUSR | stat.S_IWUSR)
    config = make_config(notifyCmd=str(plain) if command == "PLAIN" else command)
    told: list[str] = []
    with anyio.fail_after(10):
        await notify_owner(config, REPORT, told.append)
    (line,) = told
    assert line.startswith(complaint)
    assert line.endswith("; the stop stands")


@pytest.mark.anyio
async def test_c87_unset_nobody_is_started() -> None:
    """The line in the log of the process is all there is."""
    told: list[str] = []
    await notify_owner(DEFAULT_CONFIG, REPORT, told.append)
    assert told == []


async def noted(given: Input) -> str:
    return f"noted {len(given.text)}"


async def live(directory: Path, tell: list[str], now_ms: int = NOON_MS, *, once: bool = True) -> Runner:
    """One life of a guarded session."""
    runner = Runner(
        directory,
        lambda *_: CallbackAgent(noted),
        FixedClock(now_ms),
        watchman=Watchman(None, tell.append),
        once=once,
    )
    with anyio.fail_after(20):
        await runner.run()
    return runner


def list_changes(directory: Path) -> list[tuple[str, str]]:
    rows = map(json.loads, (directory / "session.jsonl").read_text("utf-8").splitlines()[1:])
    changes = [row["data"] for row in rows if row["type"] == "schedule/change"]
    return [(c["operation"], c.get("id", c.get("schedule", {}).get("id"))) for c in changes]


@pytest.mark.anyio
async def test_a_repeat_that_passed_no_guard_is_deleted_on_idle_and_told_once(tmp_path: Path) -> None:
    """By an ordinary delete event, after the turn that made the agent idle; one-shots stay."""
    target = tmp_path / "told"
    script = "import sys, pathlib; open(sys.argv[1], 'a').write('told ')"
    command = json.dumps([sys.executable, "-c", script, str(target)])
    session = tmp_path / "session"
    write_session(
        session,
        create_at(0, "due"),
        create_every(1, "fast", 600, at="2027-01-04T12:05:00.000Z"),
        create_every(2, "slow", 3600, at="2027-01-04T13:00:00.000Z"),
        create_at(3, "later", at="2027-01-05T12:00:00.000Z"),
    )
    write_config(session, f"[guard]\nnotifyCmd = {command}\n")
    lines: list[str] = []
    await live(session, lines)
    assert list_changes(session)[4:] == [("dispatch", "due"), ("delete", "fast")]
    (stop,) = [line for line in lines if "stopped by" in line]
    assert stop.startswith("schedule-guard [session-test]: 🔴 ")
    assert "repeat faster than 1800s (intervals: 600s)" in stop
    assert target.read_text() == "told "
    await live(session, lines)
    assert sum("stopped by" in line for line in lines) == 1


@pytest.mark.anyio
async def test_c80_a_streak_deletes_every_repeat_and_leaves_one_shots(tmp_path: Path) -> None:
    """Seven wakeups without a word: the counter counts wakeups, not kinds of rules."""
    write_session(
        tmp_path,
        *(create_at(n, f"o{n}") for n in range(7)),
        create_every(7, "slow", 3600, at="2027-01-04T13:00:00.000Z"),
        create_at(8, "later", at="2027-01-05T12:00:00.000Z"),
    )
    lines: list[str] = []
    await live(tmp_path, lines)
    changes = list_changes(tmp_path)[9:]
    assert [name for operation, name in changes if operation == "delete"] == ["slow"]
    (stop,) = [line for line in lines if "stopped by" in line]
    assert "7 wakeups in a row without an external word (user, a2a; limit 6)" in stop
    assert "7 autonomous wakeups total" in stop


@pytest.mark.anyio
async def test_a_loop_of_one_shots_is_told_with_nothing_to_delete(tmp_path: Path) -> None:
    """Told when it happens, silent after a restart."""
    write_session(tmp_path, *(create_at(n, f"o{n}") for n in range(8)))
    lines: list[str] = []
    await live(tmp_path, lines)
    (stop,) = [line for line in lines if "stopped by" in line]
    assert "No repeating reminder was active (the loop ran on one-shots)" in stop
    with (tmp_path / "session.jsonl").open("ab") as journal:
        seq = len((tmp_path / "session.jsonl").read_bytes().splitlines()) - 1
        journal.write(create_at(seq, "one-more"))
    await live(tmp_path, lines)
    assert sum("stopped by" in line for line in lines) == 1


@pytest.mark.anyio
async def test_a_live_session_refuses_at_the_tool_and_the_model_reads_why(tmp_path: Path) -> None:
    """Through the door, as any command or agent calls it."""
    dispatched = [change(4 + n, operation="dispatch", id=f"o{n}") for n in range(4)]
    times = [
        row.replace(b'"time":1,', b'"time":%d,' % (NOON_MS - 60_000 * (4 - n)), 1)
        for n, row in enumerate(dispatched)
    ]
    write_session(tmp_path, *(create_at(n, f"o{n}") for n in range(4)), *times)
    runner = Runner(
        tmp_path,
        lambda *_: CallbackAgent(noted),
        FixedClock(NOON_MS),
        watchman=Watchman(None, lambda _: None),
    )
    request: dict[str, object] = {
        "tool": "schedule_create",
        "arguments": {"prompt": "x", "after_seconds": 10},
    }
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            while (answer := await ask(tmp_path, request)) is None:
                await anyio.sleep(0.01)
            runner.stop()
    assert answer is not None
    value = answer["value"]
    message = "hourly cap of 4 autonomous wakeups reached: a slot frees in about 56 min"
    assert value == {
        "code": "SCHEDULE_HOURLY_CAP",
        "message": message,
        "secondsUntilFree": 3360,
        "minutesUntilFree": 56,
        "content": [{"type": "text", "text": f"Error: {message}"}],
        "isError": True,
        "error": {
            "message": message,
            "info": {"name": "ScheduleGuardError", "code": "SCHEDULE_HOURLY_CAP"},
        },
    }


@pytest.mark.anyio
async def test_a_hanging_notify_command_holds_up_no_delivery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the owner's command hangs, the next reminder is delivered; at the end it is ended."""
    monkeypatch.setattr(guarding, "NOTIFY_SECONDS_MAX", 60)
    command = json.dumps([sys.executable, "-c", "import time; time.sleep(60)"])
    write_session(
        tmp_path, create_at(0, "a"), create_every(1, "fast", 600, at="2027-01-04T12:05:00.000Z")
    )
    write_config(tmp_path, f"[guard]\nnotifyCmd = {command}\n")
    lines: list[str] = []
    runner = Runner(
        tmp_path,
        lambda *_: CallbackAgent(noted),
        FixedClock(NOON_MS),
        watchman=Watchman(None, lines.append),
    )
    create: dict[str, object] = {
        "tool": "schedule_create",
        "arguments": {"prompt": "x", "after_seconds": 10},
    }
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            while not any("stopped by" in line for line in lines):
                await anyio.sleep(0.01)
            assert await ask(tmp_path, create) is not None
            runner.stop()
    assert ("delete", "fast") in list_changes(tmp_path)
    assert list_changes(tmp_path)[-1][0] == "create"


@pytest.mark.anyio
async def test_start_up_lines_come_once_for_each_kind_of_limits(tmp_path: Path) -> None:
    """A session more is a line more; nothing is told of a log that cannot be lived in."""
    lines: list[str] = []
    watchman = Watchman(None, lines.append)
    for name in ("one", "two"):
        write_session(tmp_path / name, header={"id": name})
        runner = Runner(
            tmp_path / name,
            lambda *_: CallbackAgent(noted),
            FixedClock(NOON_MS),
            watchman=watchman,
            once=True,
        )
        await runner.run()
    assert [line.removeprefix("schedule-guard [startup]: ")[:33] for line in lines] == [
        "limits: maxConsecutiveWakeups=6 (",
        "limits: maxPerHour=4 (default), r",
        "not applied to: wakeups by a huma",
        "session under guard: one (total 1",
        "session under guard: two (total 2",
    ]


@pytest.mark.anyio
async def test_a_session_without_the_tools_is_said_to_be_inert(tmp_path: Path) -> None:
    """Nothing is guarded, nothing is written."""
    journal = write_session(tmp_path, header={"delegationDepth": 1})
    before = journal.read_bytes()
    lines: list[str] = []
    with pytest.raises(CompositionError, match="child session"):
        await live(tmp_path, lines)
    assert lines == ["schedule-guard [session-test]: inert: no schedule tools in this session"]
    assert journal.read_bytes() == before


@pytest.mark.anyio
async def test_an_external_word_starts_it_again_for_new_reminders(tmp_path: Path) -> None:
    """The streak is over; what was deleted stays so."""
    word = event(8, "user/message", {"source": {"kind": "user"}, "content": []})
    dispatches = [change(n, operation="dispatch", id=f"o{n - 7}") for n in range(7, 8)]
    write_session(
        tmp_path,
        *(create_at(n, f"o{n}") for n in range(7)),
        *dispatches,
        word,
        create_every(9, "slow", 3600, at="2027-01-04T13:00:00.000Z"),
    )
    lines: list[str] = []
    await live(tmp_path, lines)
    assert not any("stopped by" in line for line in lines)
    assert ("delete", "slow") not in list_changes(tmp_path)
