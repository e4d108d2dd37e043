"""The tools' programs, step by step; the transcripts say the rest."""

from __future__ import annotations

import pytest

from journal_files import NOON_MS
from wakefold import Ledger
from wakefold.events import AtRecord
from wakefold.tools import (
    Append,
    Appended,
    Barrier,
    Confirmed,
    LogRead,
    ReadClock,
    ReadLog,
    Refused,
    Sampled,
    StepAnswer,
    ToolName,
    ToolStep,
    open_call,
    render_answer,
)

EMPTY = Confirmed(log=Ledger())
ONE = Confirmed(log=Ledger(records={"a": AtRecord("a", "x", NOON_MS)}, seen_ids={"a": None}))
NOW = Sampled(NOON_MS)
LOCAL = {"prompt": "x", "at": {"date": "2027-02-01", "time": "09:00:00"}}


def play(
    tool: ToolName, arguments: object, answers: list[StepAnswer]
) -> tuple[list[type[ToolStep]], str]:
    """The steps that a program asks for while it is given these answers, and its own answer."""
    program = open_call(tool, arguments).unwrap()()
    steps = [type(next(program))]
    for answer in answers:
        try:
            steps.append(type(program.send(answer)))
        except StopIteration as end:
            return steps, render_answer(end.value)
    raise AssertionError(steps)


def test_a_create_asks_for_its_steps_in_order() -> None:
    """Barrier, clock, append, barrier, and a new clock sample for the view."""
    request = {"prompt": "x", "after_seconds": 60}
    steps, answer = play("schedule_create", request, [EMPTY, NOW, Appended(), EMPTY, NOW])
    assert steps == [Barrier, ReadClock, Append, Barrier, ReadClock]
    assert answer == (
        '{"id":"schedule-1","kind":"after","prompt":"x","afterSeconds":60,'
        '"scheduledAt":"2027-01-04T12:01:00.000Z","state":"scheduled",'
        '"deliveryMode":"session-local"}'
    )


def test_a_list_needs_no_append_and_a_delete_no_clock() -> None:
    """Each asks for what it needs and for nothing more."""
    assert play("schedule_list", {}, [EMPTY, NOW]) == ([Barrier, ReadClock], "[]")
    steps, answer = play("schedule_delete", {"id": "a"}, [ONE, Appended(), EMPTY])
    assert (steps, answer) == ([Barrier, Append, Barrier], '{"id":"a","deleted":true}')


@pytest.mark.parametrize(
    ("tool", "arguments", "answers", "code"),
    [
        ("schedule_list", {}, [Refused()], "persistence_uncertain"),
        ("schedule_list", {}, [Confirmed(log=None)], "internal_error"),
        ("schedule_list", {}, [EMPTY, Refused()], "internal_error"),
        ("schedule_create", LOCAL, [EMPTY, Refused()], "internal_error"),
        (
            "schedule_create",
            LOCAL,
            [EMPTY, LogRead(None, []), NOW],
            "timezone_confirmation_required",
        ),
        ("schedule_delete", {"id": "a"}, [ONE, Refused()], "internal_error"),
        ("schedule_delete", {"id": "a"}, [ONE, Appended(), Refused()], "persistence_uncertain"),
    ],
)
def test_a_step_that_fails_ends_the_call_with_its_code(
    tool: ToolName, arguments: object, answers: list[StepAnswer], code: str
) -> None:
    """A refused barrier is uncertain; anything else that fails is internal."""
    steps, answer = play(tool, arguments, answers)
    assert answer.startswith(f'{{"code":"{code}",')
    assert (ReadLog in steps) == (arguments is LOCAL)


@pytest.mark.parametrize("arguments", [{"limit": 1}, [], None])
def test_a_list_takes_no_arguments(arguments: object) -> None:
    """Refused before the queue."""
    assert open_call("schedule_list", arguments).failure().code == "invalid_selector"


@pytest.mark.parametrize("arguments", [{}, [], {"id": 7}, {"id": ""}, {"id": " a"}])
def test_a_delete_needs_an_id(arguments: object) -> None:
    """Refused before the queue, whatever was given in its place."""
    assert open_call("schedule_delete", arguments).failure().code == "invalid_rule"
