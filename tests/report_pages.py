"""Report pages for tests: journals that are looked at, and what stands in a page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any, Final

from command import wakefold
from journal_files import JOURNALS, NOON_MS, create_at, event, write_session
from wakefold.instants import format_instant

NOW: Final = ("--now", "2026-11-30T10:50:00Z")
WEB: Final = Path(__file__).resolve().parents[1] / "shell/wakefold_shell/report/web"
"""The sources of what draws a page."""

SHARED: Final = tuple(
    sorted(path.relative_to(JOURNALS).as_posix() for path in JOURNALS.glob("*/*") if path.is_dir())
)
"""The journals that the tests carry."""

HOSTILE: Final = (
    "</script><script>window.harmed = true</script>",
    '<img src="https://example.org/x" onerror="window.harmed = true">',
    "<!-- <script>",
    "gnp.\u202eexe\u202c the other way round",
    "\u2066isolated\u2067 zero\u200bwidth\ufeff!",
    "cut \ud800 in half",
    "\x1b[31mred\x07\x00!",
    "one\u2028two\nthree\ttabs",
    "{{constructor.constructor('window.harmed = true')()}} ${window.harmed = true}",
    "javascript:window.harmed=true",
    "&lt;b&gt;not bold&lt;/b&gt;",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "M" * 1_000_000,
)
"""Prompts that try what text can try."""


def read_options(journal: str) -> tuple[str, ...]:
    """How a carried journal is read: one of them keeps the released package's rule."""
    return ("--profile", "published") if journal.endswith("every-live") else ()


def write_report(journal: Path, place: Path, *options: str) -> Path:
    """A report of a journal, written by the command."""
    done = wakefold("report", journal, "--output", place, *options)
    assert done.returncode == 0, done.stderr
    return place


def read_data(page: Path) -> Any:  # noqa: ANN401 - parsed JSON
    """What a page holds."""
    found = re.findall(r'id="data">([A-Za-z0-9+/=]+)</script>', page.read_text("utf-8"))
    assert len(found) == 1
    return json.loads(zlib.decompress(base64.b64decode(found[0])))


def write_hostile(directory: Path) -> Path:
    """A session whose id, ids and prompts are hostile."""
    lines = [
        create_at(seq, f"id {seq} {prompt[:12]}.", prompt.replace("\ufeff!", "\ufeff."))
        for seq, prompt in enumerate(HOSTILE)
    ]
    title = {"id": "</title><script>window.harmed = true</script>\u202egnp.exe"}
    write_session(directory, *lines, header=title)
    return directory


def write_edited(directory: Path) -> Path:
    """A session of version 2: two daily reminders, edited, paused, snoozed, skipped."""
    rule = {"kind": "daily", "prompt": "plants", "time": "12:00:00.000", "timeZone": "Europe/Berlin"}
    daily = {"id": "daily", **rule, "scheduledAt": _noon(-60), "title": "Plants", "maxRuns": 3}
    grace = {"id": "grace", **rule, "scheduledAt": _noon(-60), "missed": "skip", "graceSeconds": 300}
    write_session(
        directory,
        _change(0, -120, operation="create", schedule=daily),
        _change(1, -119, operation="create", schedule=grace),
        event(2, "turn/start", {"turn": 1}, NOON_MS - 7_000_000),
        event(3, "user/message", {"source": {"kind": "user"}}, NOON_MS - 6_999_000),
        event(4, "turn/end", {"turn": 1, "reason": {"kind": "completed"}}, NOON_MS - 6_990_000),
        _change(5, -59, operation="dispatch", id="daily", **_stated(-60, -59)),
        _change(6, -30, operation="skip", id="grace", **_stated(-60, -30)),
        _change(
            7, -20, operation="update", id="daily", changes={"prompt": "the plants", "title": None}
        ),
        _change(8, -15, operation="snooze", id="daily", until=_noon(24 * 60)),
        _change(9, -10, operation="pause", id="grace"),
        _change(10, -5, operation="resume", id="grace", scheduledAt=_noon(23 * 60)),
        header={"timeZone": "Europe/Berlin", "createdAt": NOON_MS - 8_000_000},
    )
    return directory


def write_busy(directory: Path, reminders: int, rounds: int) -> Path:
    """A session with many repeating reminders, each dispatched in so many batches, every half hour."""
    rule = {"kind": "every", "everySeconds": 1800, "scheduledAt": format_instant(NOON_MS)}
    lines = []
    for seq in range(reminders):
        schedule = {"id": f"busy-{seq}", "prompt": f"look at {seq}", **rule}
        data = {"version": 1, "operation": "create", "schedule": schedule}
        lines.append(event(seq, "schedule/change", data, NOON_MS - 1_800_000))
    for batch in range(rounds):
        at_ms = NOON_MS + 1_800_000 * batch + 90_000 * (batch % 3)
        for number in range(reminders):
            told = {"id": f"busy-{number}", "acceptedAt": format_instant(at_ms)}
            data = {"version": 1, "operation": "dispatch", **told}
            lines.append(event(len(lines), "schedule/change", data, at_ms))
        if batch % 5 == 0:
            word = {"source": {"kind": "user"}}
            lines.append(event(len(lines), "user/message", word, at_ms + 1000))
    write_session(directory, *lines)
    return directory


def _noon(minutes: int) -> str:
    return format_instant(NOON_MS + 60_000 * minutes)


def _stated(occurrence: int, accepted: int) -> dict[str, str]:
    return {
        "acceptedAt": _noon(accepted),
        "occurrenceAt": _noon(occurrence),
        "nextScheduledAt": _noon(23 * 60),
    }


def _change(seq: int, minutes: int, **data: object) -> bytes:
    """The line of a change of version 2, at so many minutes from noon."""
    return event(seq, "schedule/change", {"version": 2, **data}, NOON_MS + 60_000 * minutes)
