"""The time zone that a request implies without naming it (spec section 5.1).

This module decides, from a session's header zone and log alone, whether the person behind the open
turn has told their zone beyond doubt. It refuses to guess: every doubt asks for a named zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.events import Event, Json
from wakefold.instants import read_safe_integer
from wakefold.rejections import InternalError
from wakefold.zones import canonicalize_zone

#: What a session without a header zone is said to have.
UNAVAILABLE: Final = "unavailable"


class RequestZone(Struct, frozen=True):
    """What is known of the requester's zone; `implied` is set only where it may be used.

    `client_time_zones` are those that the open turn's persons named, sorted and unique.

    :shape: a value of canonical zone names; `session_time_zone` is `unavailable` where the header has
        none
    :units: none
    :errors: none when it is made, which checks nothing; `find_request_zone` makes a checked one
    :source: spec section 5.1
    """

    implied: str | None
    session_time_zone: str
    client_time_zones: tuple[str, ...] = ()


#: Nothing is known of the requester's zone.
#:
#: :shape: a `RequestZone` whose `session_time_zone` is `unavailable`
#: :units: none
#: :errors: none; a local time that names no zone is `timezone_confirmation_required` under it
#: :source: spec section 5.1
NO_ZONE: Final = RequestZone(implied=None, session_time_zone=UNAVAILABLE)


def find_request_zone(
    header_time_zone: str | None, events: Sequence[Event]
) -> Result[RequestZone, InternalError]:
    """The zone that a request made now would imply, given the whole log of the session.

    :shape: the zone of the session's header and its events with parsed `data`
    :units: none
    :errors: `Failure` of `internal_error` where the open turn names a client zone that is not valid and
        canonical: its writer's error
    :source: spec section 5.1
    """
    session = UNAVAILABLE if header_time_zone is None else header_time_zone
    nothing = RequestZone(implied=None, session_time_zone=session)
    start = _find_open_turn(events)
    if start is None:
        return Success(nothing)
    messages = [e.data for e in events[start + 1 :] if e.type == "user/message"]
    if not any(_is_time_context(message) for message in messages):
        return Success(nothing)

    def imply(zones: tuple[str, ...]) -> RequestZone:
        agreed = zones == (header_time_zone,)
        return RequestZone(
            implied=zones[0] if agreed else None,
            session_time_zone=session,
            client_time_zones=zones,
        )

    return list_client_zones(messages).map(imply)


def list_client_zones(messages: Iterable[object]) -> Result[tuple[str, ...], InternalError]:
    """The zones that persons named in these `user/message` data, sorted and unique.

    Fails on a zone that is not valid and canonical.
    """
    zones: set[str] = set()
    for message in messages:
        source = _object(_object(message).get("source"))
        zone = source.get("clientTimeZone")
        if source.get("kind") != "user" or not isinstance(source.get("rpcId"), str):
            continue
        if not isinstance(zone, str):
            continue
        if canonicalize_zone(zone) != zone:
            return Failure(InternalError())
        zones.add(zone)
    return Success(tuple(sorted(zones)))


def _find_open_turn(events: Sequence[Event]) -> int | None:
    """The place of the `turn/start` of the turn whose step is open, if one is."""
    turn = None
    for event in reversed(events):
        if event.type in {"step/end", "turn/end"}:
            return None
        if event.type == "step/start":
            turn = _read_turn(event)
            break
    if turn is None:
        return None
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if event.type == "turn/start" and _read_turn(event) == turn:
            return index
    return None


def _read_turn(event: Event) -> int | None:
    return read_safe_integer(_object(event.data).get("turn"))


def _is_time_context(message: object) -> bool:
    fields = _object(message)
    content = fields.get("content")
    if not isinstance(content, list) or len(content) != 1:
        return False
    text = _object(content[0]).get("text")
    return (
        isinstance(text, str)
        and content[0] == {"type": "text", "text": text}
        and fields.get("source")
        == {
            "kind": "plugin",
            "plugin": "time-context",
            "form": "snapshot",
            "sections": [{"name": "time-context", "text": text}],
        }
    )


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
