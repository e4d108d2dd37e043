"""Cron rules come when cronsim, croniter and croner say, wherever those follow the same rule.

A sample runs by default, 20,000 questions in the long profile: `pytest -m long -s` tells the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
)
from released_package import install_package
from wakefold_laws.calendar_laws import an_expression_occurs_at_each_first_minute_that_matches

SEED = 9
SAMPLE, MANY = 300, pytest.param(20_000, marks=pytest.mark.long)
COMPARED_LEAST = 0.75  # of the questions
WALKED = 1_000

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


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Using `assume` outside a property-based test")
def test_a_walk_minute_by_minute_agrees_where_no_engine_is_asked() -> None:
    """Around every change of the clocks that takes a question from the engines, and elsewhere."""
    questions = draw_questions(20_000, SEED)
    walked = [one for one in questions if changes_its_clocks(one, Reply(None))]
    assert len(walked) > 200
    for question in walked + questions[:WALKED]:
        start = (question.zone, question.start_ms)
        an_expression_occurs_at_each_first_minute_that_matches(cron=question.cron, start=start)
    tell(f"{len(walked)} questions walked around changes of clocks, {WALKED} others")


def test_every_class_of_difference_is_told_in_the_documentation() -> None:
    """By its name, with the reason for our answer."""
    page = PAGE.read_text("utf-8")
    for one in {one.__name__ for classes in CLASSES.values() for one in classes}:
        assert f"`{one}`" in page
