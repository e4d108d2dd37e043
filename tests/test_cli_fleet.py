"""`wakefold` with a fleet: its sessions by their ids, workers, how it stands, held jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command import EXECUTABLE, said, wakefold, wakefold_json
from postgres_servers import ask

SESSION = ("--session", "s")


@pytest.fixture(autouse=True)
def _in_the_fleet(fleet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of a test speaks of its own database."""
    monkeypatch.setenv("WAKEFOLD_FLEET", fleet)


class Working:
    """A worker outside of this process; `told` is what it said once it has ended."""

    def __init__(self, *arguments: str) -> None:
        self.told = ""
        self.process = subprocess.Popen(
            [EXECUTABLE, "fleet", "worker", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=dict(os.environ),
        )

    def read_line(self) -> str:
        """The next line that it delivers."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def leave_unread(self) -> None:
        """Have nobody read what it delivers."""
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def working(*arguments: str, code: int = 0, stopped: bool = True) -> Iterator[Working]:
    """A worker that is asked to stop at the end of the block, and must end so."""
    worker = Working(*arguments)
    with worker.process as process:
        try:
            yield worker
            if stopped:
                process.send_signal(signal.SIGTERM)
            assert process.wait(30) == code
            assert process.stderr is not None
            worker.told = process.stderr.read()
        finally:
            process.kill()


def wait_for(what: str) -> None:
    """Wait until the status of the fleet has some of it."""
    deadline = time.monotonic() + 30
    while not wakefold_json("fleet", "status")[what]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_session_of_a_fleet_is_managed_like_any_other() -> None:
    made = wakefold_json("create", *SESSION, "water", "--daily", "09:00", "--zone", "Asia/Tokyo")
    assert made["id"] == "schedule-1"
    assert wakefold("update", *SESSION, "schedule-1", "--title", "plants").returncode == 0
    assert wakefold("pause", *SESSION, "schedule-1").stdout == "schedule-1: paused, revision 2\n"
    assert wakefold("resume", *SESSION, "schedule-1").returncode == 0
    wakefold("create", *SESSION, "soon", "--after", "500")
    assert wakefold("snooze", *SESSION, "schedule-2", "--for", "900").returncode == 0
    view, soon = wakefold_json("list", *SESSION)
    assert (view["title"], view["revision"], view["timeZone"]) == ("plants", 3, "Asia/Tokyo")
    assert "snoozedUntil" in soon
    assert "plants" in wakefold("list", *SESSION).stdout
    said_to = wakefold_json("say", *SESSION, "hello", "--zone", "Asia/Tokyo")
    assert said_to["queued"] is True
    assert wakefold("delete", *SESSION, "schedule-1").stdout == "schedule-1: deleted\n"
    assert [view["id"] for view in wakefold_json("list", *SESSION)] == ["schedule-2"]


def test_what_is_refused_makes_no_session() -> None:
    refused = wakefold("create", *SESSION, "x", "--every", "5")
    assert refused.returncode == 1
    gone = wakefold("list", *SESSION)
    assert (gone.returncode, gone.stdout) == (1, "")
    assert said(gone) == 'wakefold: session "s": the database holds no such session; create it first.\n'


def test_what_has_no_meaning_in_a_fleet_is_refused() -> None:
    now = wakefold("list", *SESSION, "--now", "2027-02-01T09:00:00Z")
    store = wakefold("create", *SESSION, "x", "--after", "5", "--store", "sqlite")
    assert (now.returncode, store.returncode) == (2, 2)
    assert "--fleet, whose database has the clock" in now.stderr
    wakefold("create", *SESSION, "x", "--after", "500")
    zone = wakefold("create", *SESSION, "x", "--after", "500", "--session-zone", "UTC")
    assert zone.returncode == 2


def test_a_database_that_cannot_be_used_is_one_sentence_without_its_password() -> None:
    for arguments in (["list", *SESSION], ["fleet", "status"], ["fleet", "worker"], ["fleet", "retry"]):
        done = wakefold(*arguments, WAKEFOLD_FLEET="postgresql://me:sesame@127.0.0.1:1/none")
        assert done.returncode == 1
        assert said(done).startswith("wakefold: the database cannot be reached (")
        assert said(done).count("\n") == 1
        assert "sesame" not in done.stderr


def test_a_worker_delivers_to_its_output_and_ends_when_it_is_asked_to() -> None:
    wakefold("create", *SESSION, "look out", "--after", "1")
    with working("--json", "--concurrency", "1") as worker:
        told = json.loads(worker.read_line())
        shown = wakefold_json("fleet", "status")
    assert told["session"] == "s"
    assert "schedule-1" in told["message"]
    assert len(shown["workers"]) == 1
    assert str(worker.process.pid) in shown["workers"][0]["name"]
    assert worker.told.endswith("wakefold: stopped by SIGTERM.\n")
    assert "Traceback" not in worker.told


def test_a_worker_gives_a_message_to_a_command(tmp_path: Path) -> None:
    wakefold("create", *SESSION, "look out", "--after", "1")
    heard = tmp_path / "heard"
    script = f'cat > {heard}; echo "$WAKEFOLD_SESSION_ID$WAKEFOLD_SESSION" >> {heard}; echo done'
    with working("--deliver", "exec", "--", "/bin/sh", "-c", script) as worker:
        assert worker.read_line() == "done\n"
    assert heard.read_text().endswith('reminder_prompt_json: "look out"s\n')
    out = tmp_path / "out"
    assert wakefold("fleet", "export", *SESSION, out).returncode == 0
    lateness = wakefold_json("fleet", "status")["lateness"]
    assert lateness["count"] == 1
    assert 0 <= lateness["p50Ms"] <= lateness["p99Ms"] <= lateness["maxMs"] < 60_000
    (receipt,) = wakefold_json("receipts", out)["receipts"]
    assert receipt["delivery"] == "handed-over"
    del os.environ["WAKEFOLD_FLEET"]
    once = wakefold("run", "--session", out, "--once")  # it goes on as any other session
    assert (once.returncode, once.stdout) == (0, "")
    wakefold("create", "--session", out, "on", "--after", "1")
    time.sleep(1.1)
    assert "reminder_prompt_json" in wakefold("run", "--session", out, "--once").stdout


def test_how_a_fleet_stands_and_held_jobs_are_told_and_tried_again(tmp_path: Path) -> None:
    empty = wakefold_json("fleet", "status")
    assert empty["lateness"] == {"count": 0, "p50Ms": None, "p90Ms": None, "p99Ms": None, "maxMs": None}
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\ncat; echo\n")
    program.chmod(0o755)
    wakefold("create", *SESSION, "later", "--after", "5000")
    command = ("--deliver", "exec", "--", str(program))
    with working(*command) as worker:
        wait_for("workers")
        program.unlink()
        wakefold("say", *SESSION, "hello")
        wait_for("held")
        (job,) = wakefold_json("fleet", "status")["heldJobs"]
        assert (job["kind"], job["session"]) == ("followup", "s")
        assert wakefold("fleet", "status").stdout.splitlines()[-2].split()[:3] == [
            "job",
            "kind",
            "session",
        ]
        program.write_text("#!/bin/sh\ncat; echo\n")
        program.chmod(0o755)
        assert wakefold("fleet", "retry").stdout == "1 queued again\n"
        assert worker.read_line() == "hello\n"
    assert "the job is held." in worker.told
    assert "Traceback" not in worker.told
    report = wakefold_json("fleet", "status")
    assert (report["sessions"], report["planned"], report["held"]) == (1, 1, 0)
    shown = wakefold("fleet", "status").stdout
    assert shown.startswith(
        "sessions 1, planned 1, due 0, late 0\noccurrences that wait for a turn: 0\n"
    )
    assert shown.endswith("workers: none\nheld jobs: 0\n")
    assert wakefold_json("fleet", "retry") == {"queued": 0}


def test_a_worker_whose_reader_is_gone_ends_and_keeps_the_message(fleet: str) -> None:
    wakefold("say", *SESSION, "hello")
    wakefold("create", *SESSION, "look out", "--after", "1")
    with working(code=1, stopped=False) as worker:
        worker.leave_unread()
    assert "nobody reads standard output any more" in worker.told
    rows = ask(fleet, lambda it: it.fetch("SELECT status::text FROM wakefold.pgqueuer"))
    assert [row["status"] for row in rows] == ["queued"]
