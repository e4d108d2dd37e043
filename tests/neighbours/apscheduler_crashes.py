"""What becomes of APScheduler's jobs when its process is killed in one, and when two share a store.

Run by hand with `apscheduler[sqlalchemy]==3.11.3`; it prints what it found.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

JOBS = 50


def note(path: str, line: str, then_sleep_seconds: float) -> None:
    """The job: a line that it has begun, and then some work."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    time.sleep(then_sleep_seconds)


def open_scheduler(directory: Path) -> BackgroundScheduler:
    """A scheduler that runs late jobs however late they are, on a store in a file."""
    store = SQLAlchemyJobStore(url=f"sqlite:///{directory}/jobs.sqlite")
    return BackgroundScheduler(
        jobstores={"default": store}, timezone=UTC, job_defaults={"misfire_grace_time": None}
    )


def serve(directory: Path, seconds: float) -> None:
    """What each child process does."""
    scheduler = open_scheduler(directory)
    scheduler.start()
    time.sleep(seconds)
    scheduler.shutdown()


def start_child(directory: Path, seconds: float) -> subprocess.Popen[bytes]:
    """A process that serves the store in the directory."""
    return subprocess.Popen([sys.executable, __file__, str(directory), str(seconds)])


def read_lines(path: Path) -> list[str]:
    """The lines that jobs have left so far."""
    return path.read_text("utf-8").split() if path.exists() else []


def fill(directory: Path, names: list[str], in_seconds: float, work_seconds: float) -> None:
    """Store one-shot jobs, each of which leaves its name."""
    import apscheduler_crashes  # a stored job needs an importable function

    scheduler = open_scheduler(directory)
    scheduler.start(paused=True)
    at = datetime.now(UTC) + timedelta(seconds=in_seconds)
    for name in names:
        args = [str(directory / "begun"), name, work_seconds]
        scheduler.add_job(apscheduler_crashes.note, "date", run_date=at, args=args, id=name)
    scheduler.shutdown()


def kill_in_a_job(directory: Path) -> None:
    """SIGKILL while a one-shot runs, and another process on the same store."""
    fill(directory, ["once"], 1, 30)
    child = start_child(directory, 30)
    while not read_lines(directory / "begun"):
        time.sleep(0.05)
    child.kill()
    child.wait()
    scheduler = open_scheduler(directory)
    scheduler.start()
    time.sleep(2)
    print("killed in a job: begun", len(read_lines(directory / "begun")), "time(s),", end=" ")
    print("left in the store", len(scheduler.get_jobs()))
    scheduler.shutdown()


def share_a_store(directory: Path) -> None:
    """Two processes on one store, and jobs that are due at one instant."""
    fill(directory, [f"job-{n}" for n in range(JOBS)], 4, 0)
    children = [start_child(directory, 8) for _ in range(2)]
    for child in children:
        child.wait()
    begun = read_lines(directory / "begun")
    print("two processes:", JOBS, "jobs,", len(begun), "runs,", len(set(begun)), "different ones")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(Path(sys.argv[1]), float(sys.argv[2]))
    else:
        for experiment in (kill_in_a_job, share_a_store):
            with tempfile.TemporaryDirectory() as scratch:
                experiment(Path(scratch))
