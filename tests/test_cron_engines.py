"""Cron rules come when cronsim, croniter and croner say, wherever those follow the same rule, and when
a walk minute by minute says, everywhere.

A sample runs by default, 20,000 questions in the long profile: `pytest -m long -s` tells the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from cron_engines import (
    CLASSES,
    PEER,
    Question,
    Reply,
    ask_croner,
    ask_croniter,
    ask_cronsim,
    ask_wakefold,
    changes_its_clocks,
    draw_questions,
    read,
)
from minute_walks import ask_walk
from released_package import install_package
from wakefold_laws.calendar_laws import Drawn, DrawnCron
from wakefold_laws.zone_changes import EPOCH, MS

SEED = 9
SAMPLE, MANY = 300, pytest.param(20_000, marks=pytest.mark.long)
COMPARED_LEAST = 0.75  # of the questions

Ask = Callable[[Sequence[Question]], list[Reply]]
PAGE = Path(__file__).parents[1] / "docs/calendar.md"


def tell(figures: str) -> None:
    """The figures of a run, for whoever asked for them with `-s`."""
    print(figures)  # noqa: T201 - this is what the long profile is for


@dataclass
class Comparison:
    """How many questions were compared, how many each class took, and of those how many differed."""

    compared: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    differed: Counter[str] = field(default_factory=Counter)


def compare(engine: str, ask: Ask, questions: Sequence[Question]) -> Comparison:
    """Hold an engine's answers against ours; every one that no class takes must be the same."""
    comparison = Comparison()
    for question, reply in zip(questions, ask(questions), strict=True):
        ours = ask_wakefold(question)
        names = [one.__name__ for one in CLASSES[engine] if one(question, reply)]
        comparison.taken.update(names)
        if not names:
            assert reply.found == ours, (engine, question.cron.text, question.zone, question.start)
            comparison.compared += 1
        elif reply.found != ours:
            comparison.differed.update(names)
    return comparison


def check(engine: str, ask: Ask, count: int) -> None:
    """An engine agrees on most questions; of many, each of its classes has some that differ."""
    found = compare(engine, ask, draw_questions(count, SEED))
    shares = ", ".join(f"{name} {of} ({found.differed[name]})" for name, of in found.taken.items())
    tell(f"{engine}: {found.compared} of {count} compared and the same; taken (differ): {shares}")
    assert found.compared >= COMPARED_LEAST * count
    for one in CLASSES[engine] if count > SAMPLE else ():
        assert found.differed[one.__name__] or one.__name__ == "reads_zones_otherwise", one


@pytest.mark.parametrize("count", [SAMPLE, MANY])
@pytest.mark.parametrize(("engine", "ask"), [("cronsim", ask_cronsim), ("croniter", ask_croniter)])
def test_cron_rules_come_when_python_engines_say(engine: str, ask: Ask, count: int) -> None:
    """cronsim and croniter."""
    check(engine, ask, count)


@pytest.fixture(scope="session")
def croner(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """croner from npm, installed outside the repository."""
    directory = tmp_path_factory.mktemp("croner")
    if reason := install_package(directory, PEER):
        pytest.fail(reason, pytrace=False)
    return partial(ask_croner, directory)


@pytest.mark.needs("node")
@pytest.mark.parametrize("count", [SAMPLE, MANY])
def test_cron_rules_come_when_croner_says(croner: Ask, count: int) -> None:
    """The engine that most JavaScript programs use."""
    check("croner", croner, count)


def test_an_engine_that_is_a_minute_late_is_found() -> None:
    """The comparison can fail."""

    def ask_late(questions: Sequence[Question]) -> list[Reply]:
        return [Reply([at_ms + 60_000 for at_ms in ask_wakefold(question)]) for question in questions]

    with pytest.raises(AssertionError, match="cronsim"):
        compare("cronsim", ask_late, draw_questions(20, SEED))


@pytest.mark.parametrize("count", [SAMPLE, MANY])
def test_cron_rules_come_when_a_walk_minute_by_minute_meets_them(count: int) -> None:
    """The walk leaves no question out: it has no class of difference."""
    questions = draw_questions(count, SEED)
    assert compare("walk", ask_walk, questions).compared == count
    changes = sum(changes_its_clocks(question, Reply(None)) for question in questions)
    days = sum(ask_wakefold(question)[-1] - question.start_ms for question in questions) // 86_400_000
    tell(f"walk: {count} of {count} the same, {changes} around changes of clocks; {days} days walked")


@pytest.mark.parametrize(
    ("hour", "start", "walked", "shifted"),
    [
        (
            Drawn("1-3", frozenset({1, 2, 3})),
            "2027-03-28T00:00Z",
            ("00:30", "01:30", "23:30"),
            ("00:30", "01:00", "01:30"),
        ),
        (
            Drawn("*", frozenset(range(24))),
            "2027-10-30T23:00Z",
            ("23:30", "00:30", "02:30"),
            ("23:30", "00:30", "01:30"),
        ),
    ],
)
def test_a_walk_and_an_engine_part_where_berlin_sets_its_clocks(
    hour: Drawn, start: str, walked: tuple[str, ...], shifted: tuple[str, ...]
) -> None:
    """cronsim makes up for 02:30 at 03:00, and has 02:30 twice: the walk follows no engine."""
    stars = (Drawn("*", frozenset(range(*ends))) for ends in ((1, 32), (1, 13), (8,)))
    cron = DrawnCron(Drawn("30", frozenset({30})), hour, *stars)
    question = Question(cron, "Europe/Berlin", (datetime.fromisoformat(start) - EPOCH) // MS)
    for ask, expected in ((ask_walk, walked), (ask_cronsim, shifted)):
        (reply,) = ask([question])
        assert reply.found is not None
        assert tuple(read(at_ms, "UTC").strftime("%H:%M") for at_ms in reply.found) == expected


def test_every_class_of_difference_is_told_in_the_documentation() -> None:
    """By its name, with the reason for our answer."""
    page = PAGE.read_text("utf-8")
    for one in {one.__name__ for classes in CLASSES.values() for one in classes}:
        assert f"`{one}`" in page
