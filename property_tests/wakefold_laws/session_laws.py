"""Laws of whole sessions: what guard, inbox and zone make of a log that a host wrote, cut anywhere.

This module decides that three readers of the core agree with one plain reader (`session_model`) at
every length of a log. It refuses to know what is done with the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from returns.result import Success

from wakefold.conversations import Conversation, follow
from wakefold.events import Event
from wakefold.implied_zones import RequestZone, find_request_zone
from wakefold.wakeups import NO_WAKEUPS, Wakeups, count_wakeups, follow_wakeups
from wakefold_laws.laws import law
from wakefold_laws.session_model import SessionLog, SessionState
from wakefold_laws.session_strategies import session_logs


def cut(log: SessionLog) -> Iterator[tuple[tuple[Event, ...], SessionState]]:
    """The log at each of its own lengths, and what it tells there."""
    for own, state in enumerate(log.tell_states()):
        yield log.events[: log.seed_length + own], state


@law(log=session_logs())
def a_session_is_counted_from_its_log_alone(log: SessionLog) -> None:
    """Wherever a session is cut, its wakeups are the dispatches of its own part, and its streak those
    since the last external word.
    """
    followed = NO_WAKEUPS
    for events, state in cut(log):
        own = events[log.seed_length :]
        if own:
            followed = follow_wakeups(followed, own[-1])
        counted = count_wakeups(own)
        assert counted == Wakeups(
            consecutive=state.consecutive,
            max_consecutive=state.max_consecutive,
            dispatch_times_ms=state.dispatch_times_ms,
            total=len(state.dispatch_times_ms),
            word_seq=state.word_seq,
        )
        assert (followed.consecutive, followed.total) == (counted.consecutive, counted.total)
        assert (followed.max_consecutive, followed.word_seq) == (state.max_consecutive, state.word_seq)


@law(times=2, log=session_logs())
def the_inbox_holds_what_no_turn_has_taken(log: SessionLog) -> None:
    """Wherever a session is cut, the inbox has the messages that wait, in order, and the open turn is
    the one that has begun and not ended.
    """
    before = Conversation(seed_length=log.seed_length)
    conversation = reduce(follow, log.events[: log.seed_length], before)
    for events, state in cut(log):
        if len(events) > log.seed_length:
            conversation = follow(conversation, events[-1])
        assert tuple(given.message["id"] for given in conversation.inbox) == state.inbox
        assert (conversation.turn, conversation.turn_open) == (state.turn, state.turn_open)
        assert (conversation.step is not None) == state.step_open


@law(log=session_logs())
def a_zone_is_implied_by_the_open_turn_alone(log: SessionLog) -> None:
    """Wherever a session is cut, a zone is implied exactly while a step is open in whose turn the time
    was told and one zone was named, that of the session's header.
    """
    for events, state in cut(log):
        zones = state.client_time_zones if state.time_told else ()
        assert find_request_zone(log.time_zone, events) == Success(
            RequestZone(
                implied=log.time_zone if zones == (log.time_zone,) else None,
                session_time_zone=log.time_zone or "unavailable",
                client_time_zones=zones,
            )
        )
