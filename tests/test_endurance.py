"""Real processes over real time: killed at random moments, thousands of sessions, punctuality.

A small sample of each runs by default; the figures come from the long profile, `pytest -m long -s`.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from command import EXECUTABLE, wakefold, wakefold_json
from journal_files import create_at, create_every, write_session
from wakefold import format_instant, parse_instant

Key = tuple[str, str]

FAR = "2027-12-31T00:00:00Z"


def tell(figures: str) -> None:
    """The figures of a run, for whoever asked for them with `-s`."""
    print(figures)  # noqa: T201 - this is what the long profile is for


@contextmanager
def running(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """The command, with its standard output to read; ended with the block."""
    runner = subprocess.Popen(
        [EXECUTABLE, "run", *map(str, arguments), "--json", "--no-guard"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield runner
    finally:
        runner.kill()
        runner.wait()
        assert runner.stdout is not None
        runner.stdout.close()


def read_keys(output: str) -> list[Key]:
    """The occurrences that whole lines of a runner's output deliver."""
    lines = [json.loads(line) for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return [(o["id"], o["occurrenceAt"]) for line in lines for o in line["occurrences"]]


def read_begun(directory: Path) -> set[Key]:
    """The occurrences whose turn has begun, by the log."""
    receipts = wakefold_json("receipts", directory)["receipts"]
    return {(r["scheduleId"], r["occurrenceAt"]) for r in receipts if r["delivery"] != "waiting"}


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.long)])
def test_c49_killed_at_any_moment_nothing_is_lost_and_repeats_keep_to_the_window(
    tmp_path: Path, kills: int
) -> None:
    """What was delivered again had not begun its turn by the log, and carries the same key."""
    chance = random.Random(kills)  # the moments are the test's own, not the clock's
    start_ms = time.time_ns() // 1_000_000
    ids = [f"schedule-{n}" for n in range(kills * 4)]
    due = [format_instant(start_ms + 100 * n) for n in range(len(ids))]
    write_session(
        tmp_path,
        *(create_at(n, name, at=due[n]) for n, name in enumerate(ids)),
        *(create_every(len(ids) + n, f"every-{n}", at=due[0]) for n in range(5)),
    )
    seen: Counter[Key] = Counter()
    for _ in range(kills):
        begun = read_begun(tmp_path)
        with running("--session", tmp_path) as runner:
            time.sleep(chance.uniform(0.2, 0.6))
            runner.kill()
            assert runner.stdout is not None
            delivered = read_keys(runner.stdout.read())
        assert not begun & set(delivered)
        seen.update(delivered)
    arguments = ("--session", tmp_path, "--once", "--json", "--now", FAR, "--no-guard")
    rest = wakefold("run", *arguments)
    assert rest.returncode == 0, rest.stderr
    seen.update(read_keys(rest.stdout))
    assert {schedule_id for schedule_id, _ in seen} >= {*ids, *(f"every-{n}" for n in range(5))}
    receipts = wakefold_json("receipts", tmp_path)["receipts"]
    assert {(r["scheduleId"], r["occurrenceAt"]) for r in receipts} == set(seen)
    assert len(receipts) == len(seen)
    assert {r["delivery"] for r in receipts} <= {"handed-over", "unknown"}
    repeats = sum(count - 1 for count in seen.values())
    tell(f"{kills} kills, {len(seen)} occurrences, none lost, {repeats} repeated in the window")


@pytest.mark.parametrize(
    ("sessions", "seconds", "lead_seconds"),
    [(40, 2, 3), pytest.param(5_000, 60, 25, marks=pytest.mark.long)],
)
def test_one_process_owns_many_sessions_and_all_fire(
    tmp_path: Path, sessions: int, seconds: int, lead_seconds: int
) -> None:
    """Every session delivers its own reminder, once; memory stays bounded."""
    start_ms = time.time_ns() // 1_000_000 + lead_seconds * 1000
    for n in range(sessions):
        due = format_instant(start_ms + n * seconds * 1000 // sessions)
        directory = tmp_path / f"group-{n % 50}" / f"session-{n}"
        write_session(directory, create_at(0, at=due), header={"id": f"session-{n}"})
    late_ms: list[float] = []
    names: set[str] = set()
    with running("--root", tmp_path) as runner:
        assert runner.stdout is not None
        for line in runner.stdout:
            message: dict[str, Any] = json.loads(line)
            target_ms = parse_instant(message["occurrences"][0]["occurrenceAt"])
            assert target_ms is not None
            late_ms.append(time.time() * 1000 - target_ms)
            names.add(message["session"])
            if len(late_ms) == sessions:
                break
        peak_mb = read_peak_mb(runner.pid)
        runner.terminate()
        assert runner.wait(timeout=60) == 0
    assert len(names) == sessions
    assert min(late_ms) >= 0
    median_ms = statistics.median(late_ms)
    tell(f"{sessions} sessions: {median_ms:.1f} ms late (most {max(late_ms):.0f}), {peak_mb:.0f} MB")
    if sessions == 5_000:
        assert median_ms < 250
        assert peak_mb < 300


def read_peak_mb(pid: int) -> float:
    """The most memory that a process has held, where the system tells."""
    if not Path("/proc/self/status").exists():
        return 0.0
    rows = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) / 1024


@pytest.mark.long
def test_a_reminder_of_two_seconds_is_punctual(tmp_path: Path) -> None:
    """Made by one process, delivered by another: the median of twenty is within 100 ms."""
    write_session(tmp_path)
    late_ms = []
    with running("--session", tmp_path) as runner:
        assert runner.stdout is not None
        for n in range(20):
            view = wakefold_json("create", "--session", tmp_path, f"number {n}", "--after", "2")
            message = json.loads(runner.stdout.readline())
            now_ms = time.time() * 1000
            assert message["occurrences"][0]["id"] == view["id"]
            late_ms.append(now_ms - (parse_instant(view["scheduledAt"]) or 0))
    tell(f"20 reminders: median {statistics.median(late_ms):.1f} ms late, most {max(late_ms):.1f}")
    assert min(late_ms) >= 0
    assert statistics.median(late_ms) < 100
