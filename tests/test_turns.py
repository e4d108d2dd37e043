"""The turns that a log tells of, and the words from outside."""

from __future__ import annotations

from core_logs import event
from wakefold.conversations import STEP_END, STEP_START, TURN_END, TURN_START, USER_MESSAGE
from wakefold.events import Event
from wakefold.turns import Turn, Word, list_external_words, list_turns


def _lay(*told: tuple[str, object]) -> list[Event]:
    return [event(data, seq, kind, 1000 * seq) for seq, (kind, data) in enumerate(told)]


def test_a_turn_has_its_times_and_its_reason_to_end() -> None:
    events = _lay(
        ("plan/create", None),
        (TURN_START, {"turn": 1}),
        (STEP_START, {"turn": 1, "step": 1}),
        (STEP_END, {"turn": 1, "step": 1}),
        (TURN_END, {"turn": 1, "reason": {"kind": "completed"}}),
        (TURN_START, {"turn": 2}),
    )
    assert list(list_turns(events)) == [Turn(1, 1, 1000, 4000, "completed"), Turn(2, 5, 5000)]


def test_a_turn_whose_end_is_missing_ends_with_the_next_one() -> None:
    events = _lay((TURN_START, {"turn": 1}), (TURN_START, {"turn": 2}), (TURN_END, {"turn": 2}))
    assert list(list_turns(events)) == [Turn(1, 0, 0, 1000), Turn(2, 1, 1000, 2000)]


def test_what_is_malformed_ends_a_turn_without_a_reason() -> None:
    reasons: list[object] = [[], {"kind": 7}, None]
    for reason in reasons:
        events = _lay((TURN_START, {"turn": 1}), (TURN_END, {"turn": 1, "reason": reason}))
        assert [turn.ended for turn in list_turns(events)] == [None]
    assert list(list_turns(_lay((TURN_END, {"turn": 1}), (TURN_START, None)))) == []


def test_words_are_those_that_end_a_streak_in_the_own_suffix() -> None:
    events = _lay(
        (USER_MESSAGE, {"source": {"kind": "user"}}),
        (USER_MESSAGE, {"source": {"kind": "a2a"}}),
        (USER_MESSAGE, {"source": {"kind": "plugin"}}),
        (USER_MESSAGE, {"source": "user"}),
        (USER_MESSAGE, None),
    )
    assert list(list_external_words(events)) == [Word(0, 0, "user"), Word(1, 1000, "a2a")]
    assert list(list_external_words(events, 1, ("plugin", "a2a"))) == [
        Word(1, 1000, "a2a"),
        Word(2, 2000, "plugin"),
    ]
