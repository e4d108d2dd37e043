"""Sessions that other processes live in: who holds them, and what the log tells afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wakefold import SEED
from wakefold_shell.stores.journals import fold_journal, open_journal

LONG_AGO = "2026-01-01T00:00:00.000Z"
FAR = "2099-01-01T00:00:00.000Z"
HOLD_LOCK = """
import fcntl, os, sys, time
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.write(descriptor, b"%d\\n" % os.getpid())
print("held", flush=True)
time.sleep(60)
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(60)
"""


@contextmanager
def holding(session: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that owns a session, and has no door."""
    command = [sys.executable, "-c", HOLD_LOCK, str(session / "session.lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def until(look: Callable[[], object]) -> None:
    """Wait for something to be so."""
    deadline = time.monotonic() + 30
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def read_rows(session: Path) -> list[dict[str, Any]]:
    """The events of a sound journal."""
    with open_journal(session) as journal:
        fold_journal(journal, SEED)
        assert journal.warning is None
    return [json.loads(row) for row in (session / "session.jsonl").read_text().split("\n")[1:-1]]


def list_reasons(session: Path) -> list[str]:
    """How each turn ended."""
    return [row["data"]["reason"]["kind"] for row in read_rows(session) if row["type"] == "turn/end"]
