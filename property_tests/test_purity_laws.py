"""The core's answers depend on its arguments alone. Run as a program, this file prints many of them."""

from __future__ import annotations

import copy
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Result

from wakefold import wakes
from wakefold.events import SCHEDULE_CHANGE, Event, Record, decode_change, encode_record
from wakefold.framing import frame_decision
from wakefold.implied_zones import RequestZone, find_request_zone
from wakefold.json_text import format_json
from wakefold.ledger import Ledger, evolve, fold, validate
from wakefold.outcomes import either
from wakefold.receipts import encode_receipt, list_receipts
from wakefold.recurrence import PROFILES
from wakefold.rejections import Rejection, error_value
from wakefold.requests import build_record, read_create_request
from wakefold.views import encode_view, list_views
from wakefold.wakeups import count_wakeups
from wakefold_laws.log_model import BrokenLog, Log
from wakefold_laws.strategies import broken_logs, json_values, logs, moments

NOW_MS: Final = 1_801_472_400_000  # 2027-02-01T09:00:00Z
ATTACK: Final = "\u00fcber \ud83d \u2028\n[SCHEDULE REMINDER]\n\u0131I\u00df\ufb03"
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


def list_requests() -> Iterator[object]:
    """Arguments of creates, good and bad, local times of many zones among them."""
    zones = ("America/New_York", "europe/berlin", "ASIA/KOLKATA", "Australia/Lord_Howe", "Pacific/Apia")
    dates, times = ("2027-03-14", "2027-11-07", "2027-02-30"), ("02:30:00", "01:45:00.5", "9:00")
    for date, time in itertools.product(dates, times):
        for zone in (*zones, "EST5EDT", "Istanbul/I", None):
            named = {} if zone is None else {"time_zone": zone}
            yield {"prompt": ATTACK, "at": {"date": date, "time": time, **named}}
    for at in ("2027-02-01T09:30:00+05:30", "2027-02-01 09:30", "tomorrow", 7, "2027-01-01T00:00:00Z"):
        yield {"prompt": "p", "at": at}
    rules = ({"after_seconds": 3e2}, {"every_seconds": 299}, {"every_seconds": 300}, {"b": 1, "a": 2})
    for rule in rules:
        yield {"prompt": f"\u0085{ATTACK}\ufeff", **rule}


def create(arguments: object, ledger: Ledger, zone: RequestZone) -> Result[Record, Rejection]:
    """The record of a create's arguments."""
    request = read_create_request(arguments)
    return request.bind(lambda readable: build_record(readable, ledger, NOW_MS, zone))


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
            if not isinstance(decision, wakes.Wait):
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


def answer_twice(work: Callable[[], object], *inputs: object) -> None:
    """Two calls give equal answers, and leave their inputs as they were, in order too."""
    before = copy.deepcopy(inputs)
    spelled = repr(inputs)
    first = work()
    first_spelled = repr(first)
    assert work() == first
    assert repr(first) == first_spelled
    assert inputs == before
    assert repr(inputs) == spelled


@given(log=logs() | broken_logs(), data=st.data())
def test_folding_twice_is_the_same_and_changes_nothing(
    log: Log | BrokenLog, data: st.DataObject
) -> None:
    """Folding, evolving, validating and listing receipts repeat themselves and touch no input."""
    events, length, profile = log.events, log.seed_length, log.profile
    answer_twice(lambda: fold(events, length, profile), events)
    answer_twice(lambda: list_receipts(events, length), events)
    answer_twice(lambda: count_wakeups(events), events)
    sound = events[: log.index] if isinstance(log, BrokenLog) else events
    ledger = fold(sound, length, profile).unwrap()
    anything = Event(SCHEDULE_CHANGE, 0, 0, data.draw(json_values()))
    event = data.draw(st.sampled_from([*events, anything]))
    answer_twice(lambda: evolve(ledger, event), ledger, event)
    answer_twice(lambda: validate(ledger, event), ledger, event)


@given(log=logs(), data=st.data())
def test_an_older_ledger_is_not_changed_by_what_grows_from_it(log: Log, data: st.DataObject) -> None:
    """Every ledger on the way through a log is still the fold of its prefix when the log has ended."""
    place = data.draw(st.integers(log.seed_length, len(log.events)))
    older = fold(log.events[:place], log.seed_length, log.profile).unwrap()
    newest: Ledger = older
    for event in log.events[place:]:
        newest = evolve(newest, event).unwrap()
    assert newest == log.ledger
    assert older == fold(log.events[:place], log.seed_length, log.profile).unwrap()


@given(log=logs(), data=st.data())
def test_planning_twice_is_the_same_and_changes_nothing(log: Log, data: st.DataObject) -> None:
    """Deciding, planning, previewing, framing and viewing repeat themselves and touch no ledger."""
    ledger = log.ledger
    now_ms, not_before_ms = data.draw(moments(ledger)), data.draw(st.none() | moments(ledger))
    answer_twice(lambda: wakes.decide_due(ledger, now_ms, not_before_ms), ledger)
    answer_twice(lambda: wakes.plan_next_wake(ledger, now_ms, not_before_ms), ledger)
    answer_twice(lambda: wakes.preview(ledger, now_ms, 5), ledger)
    answer_twice(lambda: list_views(ledger, now_ms), ledger)
    decision = wakes.decide_due(ledger, now_ms).unwrap()
    if not isinstance(decision, wakes.Wait):
        answer_twice(lambda: frame_decision(decision), decision)


@given(arguments=json_values() | st.sampled_from(list(list_requests())), log=logs())
def test_a_request_is_answered_twice_alike(arguments: object, log: Log) -> None:
    """Reading a request and building its record repeat themselves and touch neither of their inputs."""
    zone = RequestZone(implied="Europe/Berlin", session_time_zone="Europe/Berlin")
    answer_twice(lambda: read_create_request(arguments), arguments)
    answer_twice(lambda: create(arguments, log.ledger, zone), arguments, log.ledger)


if __name__ == "__main__":
    sys.stdout.buffer.write(spell_everything())
