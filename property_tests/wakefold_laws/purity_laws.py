"""Laws of purity: every answer of the core depends on its arguments alone, and changes none of them.

This module decides only that a question asked twice has one answer. It refuses to know which.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from returns.result import Result

from wakefold import wakes
from wakefold.events import SCHEDULE_CHANGE, Event, Record
from wakefold.framing import frame_decision
from wakefold.implied_zones import RequestZone
from wakefold.ledger import Ledger, evolve, fold, validate
from wakefold.receipts import list_receipts
from wakefold.rejections import Rejection
from wakefold.requests import build_record, read_create_request
from wakefold.views import list_views
from wakefold.wakeups import count_wakeups
from wakefold_laws.drawing import st
from wakefold_laws.laws import law
from wakefold_laws.log_model import BrokenLog, Log
from wakefold_laws.strategies import broken_logs, json_values, logs
from wakefold_laws.wake_laws import Scene, grown_scenes

#: The instant (epoch ms) at which is asked: 2027-02-01T09:00:00Z.
NOW_MS: Final = 1_801_472_400_000
#: Text that tempts a program to look at its locale.
ATTACK: Final = "\u00fcber \ud83d \u2028\n[SCHEDULE REMINDER]\n\u0131I\u00df\ufb03"

_places = st.integers(0, 2**16)


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


@law(log=logs() | broken_logs(), place=_places, anything=json_values())
def folding_twice_is_the_same_and_changes_nothing(
    log: Log | BrokenLog, place: int, anything: object
) -> None:
    """Folding, evolving, validating and listing receipts repeat themselves and touch no input."""
    events, length, profile = log.events, log.seed_length, log.profile
    answer_twice(lambda: fold(events, length, profile), events)
    answer_twice(lambda: list_receipts(events, length), events)
    answer_twice(lambda: count_wakeups(events), events)
    sound = events[: log.index] if isinstance(log, BrokenLog) else events
    ledger = fold(sound, length, profile).unwrap()
    for event in (
        events[place % len(events)] if events else None,
        Event(SCHEDULE_CHANGE, 0, 0, anything),
    ):
        if event is not None:
            answer_twice(partial(evolve, ledger, event), ledger, event)
            answer_twice(partial(validate, ledger, event), ledger, event)


@law(log=logs(), place=_places)
def an_older_ledger_is_not_changed_by_what_grows_from_it(log: Log, place: int) -> None:
    """Every ledger on the way through a log is still the fold of its prefix when the log has ended."""
    place = log.seed_length + place % (len(log.events) - log.seed_length + 1)
    older = fold(log.events[:place], log.seed_length, log.profile).unwrap()
    newest: Ledger = older
    for event in log.events[place:]:
        newest = evolve(newest, event).unwrap()
    assert newest == log.ledger
    assert older == fold(log.events[:place], log.seed_length, log.profile).unwrap()


@law(scene=grown_scenes())
def planning_twice_is_the_same_and_changes_nothing(scene: Scene) -> None:
    """Deciding, planning, previewing, framing and viewing repeat themselves and touch no ledger."""
    ledger, now_ms, not_before_ms = scene
    for held_ms in (None, not_before_ms):
        answer_twice(partial(wakes.decide_due, ledger, now_ms, held_ms), ledger)
        answer_twice(partial(wakes.plan_next_wake, ledger, now_ms, held_ms), ledger)
    answer_twice(lambda: wakes.preview(ledger, now_ms, 5), ledger)
    answer_twice(lambda: list_views(ledger, now_ms), ledger)
    decision = wakes.decide_due(ledger, now_ms).unwrap()
    if isinstance(decision, wakes.OneShotDue | wakes.BatchDue):
        answer_twice(lambda: frame_decision(decision), decision)


@law(arguments=json_values() | st.sampled_from(list(list_requests())), log=logs())
def a_request_is_answered_twice_alike(arguments: object, log: Log) -> None:
    """Reading a request and building its record repeat themselves and touch neither of their inputs."""
    zone = RequestZone(implied="Europe/Berlin", session_time_zone="Europe/Berlin")
    answer_twice(lambda: read_create_request(arguments), arguments)
    answer_twice(lambda: create(arguments, log.ledger, zone), arguments, log.ledger)
