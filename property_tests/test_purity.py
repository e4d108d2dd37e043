"""The core's answers depend on its arguments alone. Run as a program, this file prints many of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from wakefold import wakes
from wakefold.events import SCHEDULE_CHANGE, Event, decode_change, encode_record
from wakefold.framing import frame_decision
from wakefold.implied_zones import find_request_zone
from wakefold.json_text import format_json
from wakefold.ledger import fold
from wakefold.outcomes import either
from wakefold.receipts import encode_receipt, list_receipts
from wakefold.recurrence import PROFILES
from wakefold.rejections import error_value
from wakefold.views import encode_view, list_views
from wakefold.wakeups import count_wakeups
from wakefold_laws.purity_laws import ATTACK, NOW_MS, create, list_requests

ENVIRONMENTS: Final[dict[str, dict[str, str]]] = {
    "tokyo": {"TZ": "Asia/Tokyo"},
    "new york": {"TZ": "America/New_York", "PYTHONHASHSEED": "1"},
    "posix zone": {"TZ": "XYZ-13:45"},
    "plain c": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "PYTHONHASHSEED": "2"},
    "c utf-8": {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONHASHSEED": "4294967295"},
    "nowhere": {"TZ": ":/nowhere", "LC_ALL": "nowhere", "PYTHONIOENCODING": "latin-1"},
}


def make_log() -> list[Event]:
    """A literal log: records of each kind, two batches, and a turn that first implies a zone."""

    def record(number: int, kind: str, at: str, **seconds: int) -> dict[str, object]:
        head = {"id": f"schedule-{number}", "kind": kind, "prompt": ATTACK, **seconds}
        return {"version": 1, "operation": "create", "schedule": {**head, "scheduledAt": at}}

    def dispatch(number: int, **accepted: str) -> dict[str, object]:
        return {"version": 1, "operation": "dispatch", "id": f"schedule-{number}", **accepted}

    changes = [
        record(1, "every", "2027-02-01T08:05:00.000Z", everySeconds=300),
        record(2, "after", "2027-02-01T08:10:00.000Z", afterSeconds=600),
        record(3, "at", "2027-03-14T07:00:00.000Z"),
        record(4, "every", "2027-02-01T08:01:00.000Z", everySeconds=3600),
        record(5, "after", "2027-02-01T08:00:01.000Z", afterSeconds=1),
        dispatch(1, acceptedAt="2027-02-01T08:07:00.123Z"),
        dispatch(4, acceptedAt="2027-02-01T08:07:00.123Z"),
        dispatch(2),
        dispatch(1, acceptedAt="2027-02-01T08:57:00.123Z"),
    ]
    text = "It is morning."
    source: dict[str, object] = {"kind": "plugin", "plugin": "time-context", "form": "snapshot"}
    source["sections"] = [{"name": "time-context", "text": text}]
    person = {"kind": "user", "rpcId": "1", "clientTimeZone": "Europe/Berlin"}
    others: list[tuple[str, object]] = [
        ("turn/start", {"turn": 1}),
        ("step/start", {"turn": 1, "step": 1}),
        ("user/message", {"source": source, "content": [{"type": "text", "text": text}]}),
        ("user/message", {"source": person}),
        ("user/message", {"source": {**person, "clientTimeZone": "Asia/Tokyo"}}),
    ]
    typed = [*((SCHEDULE_CHANGE, change) for change in changes), *others]
    return [Event(kind, seq, NOW_MS + seq, data) for seq, (kind, data) in enumerate(typed)]


def spell_everything() -> bytes:
    """The answers of the whole core to a fixed log and fixed requests, as lines of JSON text."""
    events = make_log()
    lines: list[object] = []
    zones = [find_request_zone("Europe/Berlin", events[:-cut]) for cut in (1, 5)]
    zones.append(find_request_zone("Europe/Berlin", events))
    requests = list(list_requests())
    for profile in PROFILES:
        ledger = fold(events, 0, profile).unwrap()
        lines.append(list(ledger.seen_ids))
        lines += [encode_view(view) for view in list_views(ledger, NOW_MS)]
        for zone in (zone.unwrap() for zone in zones):
            for arguments in requests:
                lines.append(either(create(arguments, ledger, zone), encode_record, error_value))
        for now_ms in (NOW_MS, NOW_MS + 300_000, 4_000_000_000_000):
            decision = wakes.decide_due(ledger, now_ms).unwrap()
            lines.append(repr(decision))
            if isinstance(decision, wakes.OneShotDue | wakes.BatchDue):
                lines.append(frame_decision(decision))
            lines.append(repr(wakes.plan_next_wake(ledger, now_ms)))
            lines += [repr(one) for one in wakes.preview(ledger, now_ms, 20)]
    lines += [encode_receipt(one.receipt) for one in list_receipts(events).unwrap()]
    lines.append(repr(count_wakeups(events)))
    lines.append(error_value(fold([*events, events[0]]).failure()))
    lines.append(error_value(decode_change({"version": 1, "operation": "delete", "z": 1}).failure()))
    return "\n".join(map(format_json, lines)).encode()


@pytest.fixture(scope="module")
def answers() -> bytes:
    """What this process answers."""
    return spell_everything()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_answer_depends_on_the_process(name: str, answers: bytes) -> None:
    """Under another time zone, locale, hash seed or encoding every answer is the same to the byte."""
    kept = {key: value for key, value in os.environ.items() if key[:2] not in {"LC", "LA", "TZ"}}
    path = os.pathsep.join(dict.fromkeys(sys.path))
    environment = {**kept, "PYTHONPATH": path, **ENVIRONMENTS[name]}
    program = [sys.executable, str(Path(__file__))]
    done = subprocess.run(program, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    assert done.stdout == answers
    assert answers.count(b"\n") > 100


if __name__ == "__main__":
    sys.stdout.buffer.write(spell_everything())
