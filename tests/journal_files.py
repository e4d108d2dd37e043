"""Makers of journal files for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wakefold.json_text import format_json

JOURNALS = Path(__file__).parent / "journals"
HEADER: dict[str, Any] = {"type": "session", "version": 0, "id": "session-test", "createdAt": 1}
NOON = "2027-01-04T12:00:00.000Z"
NOON_MS = 1_799_064_000_000


def line(value: object) -> bytes:
    """One journal line."""
    return format_json(value).encode() + b"\n"


def event(seq: int, kind: str = "plan/create", data: object = None, time: int = 1) -> bytes:
    """One event's line."""
    return line({"type": kind, "seq": seq, "time": time, "data": data})


def change(seq: int, **data: object) -> bytes:
    """The line of one schedule change."""
    return event(seq, "schedule/change", {"version": 1, **data})


def create_at(seq: int, schedule_id: str = "schedule-1", prompt: str = "x", at: str = NOON) -> bytes:
    """The line that creates a one-shot."""
    schedule = {"id": schedule_id, "kind": "at", "prompt": prompt, "scheduledAt": at}
    return change(seq, operation="create", schedule=schedule)


def create_every(seq: int, schedule_id: str, seconds: int = 300, at: str = NOON) -> bytes:
    """The line that creates a repeating reminder."""
    schedule = {
        "id": schedule_id,
        "kind": "every",
        "prompt": f"repeat {schedule_id}",
        "everySeconds": seconds,
        "scheduledAt": at,
    }
    return change(seq, operation="create", schedule=schedule)


def write_session(directory: Path, *lines: bytes, header: dict[str, Any] | None = None) -> Path:
    """A session directory with a plain journal of the given lines; the journal's path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "session.jsonl"
    path.write_bytes(line({**HEADER, **(header or {})}) + b"".join(lines))
    return path
