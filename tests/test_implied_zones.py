"""The zone that a request implies: each condition of spec section 5.1, held and broken."""

from __future__ import annotations

import pytest

from core_logs import event, ok, refused
from wakefold.events import Event, Json
from wakefold.implied_zones import (
    UNAVAILABLE,
    RequestZone,
    find_request_zone,
    list_client_zones,
)
from wakefold.rejections import InternalError

TOKYO, PARIS = "Asia/Tokyo", "Europe/Paris"


def _turn(turn: object, kind: str = "turn/start") -> Event:
    return event({"turn": turn}, kind=kind)


def _step(turn: object, kind: str = "step/start") -> Event:
    return event({"turn": turn, "step": 1}, kind=kind)


def _message(data: object) -> Event:
    return event(data, kind="user/message")


def _source(zone: object = TOKYO, **changed: object) -> Json:
    return {"kind": "user", "rpcId": "r1", "clientTimeZone": zone, **changed}


def _person(zone: object = TOKYO, **changed: object) -> Event:
    return _message({"source": _source(zone, **changed), "content": [{"type": "text", "text": "hi"}]})


def _reading(text: str = "It is noon.") -> Json:
    return {
        "source": {
            "kind": "plugin",
            "plugin": "time-context",
            "form": "snapshot",
            "sections": [{"name": "time-context", "text": text}],
        },
        "content": [{"type": "text", "text": text}],
    }


READING = _message(_reading())


def _found(implied: str | None, *clients: str, session: str = TOKYO) -> RequestZone:
    return RequestZone(implied=implied, session_time_zone=session, client_time_zones=clients)


NOTHING = _found(None)

OPEN = [_turn(1), _person(), READING, _step(1)]


def test_an_agreed_zone_is_implied() -> None:
    """An open step, a reading, one person's zone and the header's: all the same."""
    assert ok(find_request_zone(TOKYO, OPEN)) == _found(TOKYO, TOKYO)


@pytest.mark.parametrize(
    ("header", "clients", "zone"),
    [
        (TOKYO, [TOKYO, TOKYO], _found(TOKYO, TOKYO)),
        (TOKYO, [TOKYO, PARIS], _found(None, TOKYO, PARIS)),
        (TOKYO, [PARIS, TOKYO], _found(None, TOKYO, PARIS)),
        (TOKYO, [PARIS], _found(None, PARIS)),
        (TOKYO, [], _found(None)),
        (None, [TOKYO], _found(None, TOKYO, session="unavailable")),
        (None, [], _found(None, session="unavailable")),
        ("UTC", ["UTC"], _found("UTC", "UTC", session="UTC")),
        ("asia/tokyo", [TOKYO], _found(None, TOKYO, session="asia/tokyo")),
        (UNAVAILABLE, [], _found(None, session="unavailable")),
    ],
)
def test_the_zone_must_be_the_only_one_and_the_headers(
    header: str | None, clients: list[str], zone: RequestZone
) -> None:
    """Otherwise none is implied, and the caller is told which ones were named, sorted and unique."""
    events = [_turn(1), *map(_person, clients), READING, _step(1)]
    assert ok(find_request_zone(header, events)) == zone


@pytest.mark.parametrize(
    "events",
    [
        [],
        OPEN[:-1],
        [*OPEN, _step(1, "step/end")],
        [*OPEN, _turn(1, "turn/end")],
        [*OPEN, _step(2, "step/end")],
        [*OPEN, _turn(None, "turn/end")],
        [*OPEN, _step(2)],
        [*OPEN[1:]],
        [_turn(2), *OPEN[1:]],
        [*OPEN[:-1], event(None, kind="step/start")],
        [*OPEN[:-1], event({}, kind="step/start")],
        [*OPEN[:-1], event([1], kind="step/start")],
        [_turn(0), *OPEN[1:-1]],
        [_turn(None), *OPEN[1:-1], _step(None)],
        [event(None, kind="turn/start"), *OPEN[1:]],
    ],
)
def test_without_an_open_step_of_a_known_turn_nothing_is_read(events: list[Event]) -> None:
    """The step is met before any end, and its turn has a start."""
    assert ok(find_request_zone(TOKYO, events)) == NOTHING


@pytest.mark.parametrize(
    "events",
    [
        [*OPEN, event({}, kind="assistant/text"), _person()],
        [_step(1, "step/end"), *OPEN],
        [*OPEN[:2], _turn(0, "turn/end"), *OPEN[2:]],
        [_person(PARIS), _turn(1), *OPEN],
        [*OPEN, _step(1, "step/end"), _step(1)],
        [_turn(1), _person(), READING, _turn(2), _step(2), _step(1)],
        [_step(1), *OPEN[:-1]],
        [_turn(1.0), *OPEN[1:]],
    ],
)
def test_the_last_open_step_names_the_turn(events: list[Event]) -> None:
    """What came before its turn began does not count, what came after its step did does."""
    expected = _found(TOKYO, TOKYO)
    assert ok(find_request_zone(TOKYO, events)) == expected


def test_the_turn_began_at_its_last_start() -> None:
    """A reading and a person before that start are another turn's."""
    again = [*OPEN[:-1], _turn(1), _step(1)]
    assert ok(find_request_zone(TOKYO, again)) == NOTHING
    only_the_person = [_turn(1), READING, _turn(1), _person(), _step(1)]
    assert ok(find_request_zone(TOKYO, only_the_person)) == NOTHING
    late_start = [_turn(1), _person(PARIS), _step(1), _turn(1), _person(), READING]
    assert ok(find_request_zone(TOKYO, late_start)) == _found(TOKYO, TOKYO)
    nothing_after = [_turn(1), _person(), READING, _step(1), _turn(1)]
    assert ok(find_request_zone(TOKYO, nothing_after)) == NOTHING


def _source_with(**changed: object) -> Json:
    reading = _reading()
    source = reading["source"]
    assert isinstance(source, dict)
    return {**reading, "source": {**source, **changed}}


BROKEN_READINGS: list[object] = [
    None,
    [],
    "time-context",
    {},
    {**_reading(), "source": None},
    {**_reading(), "source": []},
    {**_reading(), "source": {"kind": "plugin"}},
    _source_with(kind="user"),
    _source_with(plugin="time"),
    _source_with(form="delta"),
    _source_with(extra=1),
    _source_with(sections=[]),
    _source_with(sections={"name": "time-context", "text": "It is noon."}),
    _source_with(sections=[{"name": "time-context", "text": "It is one."}]),
    _source_with(sections=[{"name": "time", "text": "It is noon."}]),
    _source_with(sections=[{"name": "time-context", "text": "It is noon.", "x": 1}]),
    _source_with(sections=[{"name": "time-context", "text": "It is noon."}] * 2),
    {"source": _reading()["source"]},
    {**_reading(), "content": None},
    {**_reading(), "content": "It is noon."},
    {**_reading(), "content": []},
    {**_reading(), "content": ["It is noon."]},
    {**_reading(), "content": [None]},
    {**_reading(), "content": [{"type": "text"}]},
    {**_reading(), "content": [{"type": "text", "text": None}]},
    {**_reading(), "content": [{"type": "text", "text": "It is one."}]},
    {**_reading(), "content": [{"type": "image", "text": "It is noon."}]},
    {**_reading(), "content": [{"type": "text", "text": "It is noon.", "x": 1}]},
    {**_reading(), "content": [{"type": "text", "text": "It is noon."}] * 2},
]


@pytest.mark.parametrize("data", BROKEN_READINGS)
def test_a_reading_of_another_shape_is_none(data: object) -> None:
    """One key more or less, and no client zone is read at all, a bad one neither."""
    events = [_turn(1), _person(), _person("Mars/Base"), _message(data), _step(1)]
    assert ok(find_request_zone(TOKYO, events)) == NOTHING


def test_a_reading_without_a_text_is_none() -> None:
    """Nothing equal to nothing is no text."""
    data = _source_with(sections=[{"name": "time-context", "text": None}])
    data["content"] = [{"type": "text", "text": None}]
    assert ok(find_request_zone(TOKYO, [_turn(1), _person(), _message(data), _step(1)])) == NOTHING


def test_a_reading_may_be_empty_and_may_carry_other_fields() -> None:
    """Its source and its content are looked at, nothing beside them."""
    data = {**_reading(""), "id": "m1"}
    events = [_turn(1), _message(data), _person(), _step(1)]
    assert ok(find_request_zone(TOKYO, events)) == _found(TOKYO, TOKYO)


def test_a_reading_is_a_user_message_of_the_turn() -> None:
    """The same data before the turn began, or in another event, is no reading."""
    early = [READING, _turn(1), _person(), _step(1)]
    assert ok(find_request_zone(TOKYO, early)) == NOTHING
    other = [_turn(1), event(_reading(), kind="assistant/text"), _person(), _step(1)]
    assert ok(find_request_zone(TOKYO, other)) == NOTHING


@pytest.mark.parametrize(
    "zone", ["asia/tokyo", "Asia/Kolkata", "Mars/Base", "", "utc", "GMT", "+09:00"]
)
def test_a_client_zone_that_is_not_canonical_is_the_writers_error(zone: str) -> None:
    """It is never guessed around, whoever else named a good one."""
    events = [_turn(1), _person(), _person(zone), READING, _step(1)]
    assert refused(find_request_zone(TOKYO, events)) == InternalError()


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        {},
        {"source": None},
        {"source": "user"},
        {"source": _source("Mars/Base", kind="a2a")},
        {"source": _source("Mars/Base", kind=None)},
        {"source": _source("Mars/Base", rpcId=None)},
        {"source": _source("Mars/Base", rpcId=1)},
        {"source": {"kind": "user", "clientTimeZone": "Mars/Base"}},
        {"source": _source(None)},
        {"source": _source(9)},
        {"source": {"kind": "user", "rpcId": "r1"}},
    ],
)
def test_a_message_that_names_no_zone_is_passed_over(message: object) -> None:
    """Only a person's message with a text `rpcId` and a text zone names one."""
    assert ok(list_client_zones([message])) == ()
    assert ok(list_client_zones([message, {"source": _source(PARIS)}])) == (PARIS,)


def test_an_empty_rpc_id_is_a_text() -> None:
    """It is asked for its type alone."""
    assert ok(list_client_zones([{"source": _source(rpcId="")}])) == (TOKYO,)


def test_the_zones_named_are_sorted_and_unique() -> None:
    """As the refusal shows them."""
    messages = [{"source": _source(zone)} for zone in ("UTC", PARIS, TOKYO, PARIS)]
    assert ok(list_client_zones(messages)) == (TOKYO, PARIS, "UTC")
    assert ok(list_client_zones([])) == ()


def test_other_events_of_the_turn_name_no_zone() -> None:
    """A zone is read from user messages only, and only from those of the turn."""
    other = event({"source": _source(PARIS)}, kind="assistant/text")
    assert ok(find_request_zone(TOKYO, [_person(PARIS), *OPEN, other])) == _found(TOKYO, TOKYO)


def test_a_boolean_is_no_turn_number() -> None:
    """`true` does not name turn 1."""
    assert ok(find_request_zone(TOKYO, [*OPEN[:-1], _step(turn=True)])) == NOTHING
