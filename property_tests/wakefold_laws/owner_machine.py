"""Random lives of an owner, longer and in wider worlds than `owner_model` can visit whole.

`OwnerMachine.TestCase` is a test for unittest and pytest: Hypothesis draws a world and what happens in
it, and shrinks a life that breaks an invariant. Override `decide` to put another decider to the test,
`list_scenarios` to bound its worlds. What can happen and what must hold is shared with the model check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from hypothesis.strategies import DataObject, DrawFn, SearchStrategy

from wakefold.events import AfterRecord, AtRecord, EveryRecord, Record
from wakefold.guard_config import GuardConfig
from wakefold.lifecycle import Step, advance
from wakefold.owners import Owner
from wakefold.signals import Signal
from wakefold_laws.owner_moves import (
    Move,
    list_activities,
    list_answers,
    list_crashes,
    list_ends,
    list_faults,
    list_writes,
)
from wakefold_laws.owner_world import OwnerWorld, Scenario

_REMINDERS_MAX: Final = 4
_STEPS_MAX: Final = 12
_GRID_MS: Final = 150_000  # half the gate, so that targets fall before, on and behind it
_INSTANTS: Final = st.integers(0, 10).map(lambda step: step * _GRID_MS)


@st.composite
def _draw_record(draw: DrawFn, number: int) -> Record:
    name, target_ms = f"r{number}", draw(_INSTANTS)
    seconds = draw(st.sampled_from([300, 301, 450, 900]))
    records: list[Record] = [
        EveryRecord(name, "take a walk", seconds, target_ms),
        AtRecord(name, "drink tea", target_ms),
        AfterRecord(name, "catch the bus", seconds, target_ms),
    ]
    return draw(st.sampled_from(records))


def scenarios() -> SearchStrategy[Scenario]:
    """Worlds of up to four reminders, a clock of several instants and, in some, a guard that holds."""
    return _draw_scenario()


@st.composite
def _draw_scenario(draw: DrawFn) -> Scenario:
    count = draw(st.integers(1, _REMINDERS_MAX))
    records = tuple(draw(_draw_record(number)) for number in range(count))
    at_start = draw(st.integers(0, count))
    moments = _INSTANTS | _INSTANTS.map(lambda instant_ms: instant_ms - 1)
    clock_ms = draw(st.lists(moments, min_size=2, max_size=8, unique=True))
    streak = draw(st.none() | st.integers(1, 3))
    guard = None
    if streak is not None:
        guard = GuardConfig(hold=True, max_consecutive_wakeups=streak, max_per_hour=0)
    return Scenario("drawn", tuple(clock_ms), records[:at_start], records[at_start:], guard)


class OwnerMachine(RuleBasedStateMachine):
    """One life of an owner after another, crashes and restarts in between; any move at any time.

    :shape: a `RuleBasedStateMachine` of Hypothesis, whose `TestCase` is what runs; a subclass may
        override `decide` (as `advance`) and `list_scenarios`
    :units: instants in epoch milliseconds UTC
    :errors: `BrokenInvariant`, with the moves of the smallest life that shows it
    :source: ours, docs/testing.md
    """

    world: OwnerWorld | None = None

    def decide(self, owner: Owner, signal: Signal) -> Step:
        """The decider under test."""
        return advance(owner, signal)

    @staticmethod
    def list_scenarios() -> SearchStrategy[Scenario]:
        """The worlds to live in."""
        return scenarios()

    @initialize(data=st.data())
    def open(self, data: DataObject) -> None:
        """A world, and an owner at its start."""
        self.world = OwnerWorld(data.draw(self.list_scenarios()), self.decide)

    @precondition(lambda self: self.can(list_answers))
    @rule(data=st.data())
    def answer(self, data: DataObject) -> None:
        """What is outstanding comes."""
        self.make_one(list_answers, data)

    @rule(steps=st.integers(2, _STEPS_MAX))
    def settle(self, steps: int) -> None:
        """All goes well for a while: most of a life."""
        for _ in range(steps):
            if self.world is not None and self.can(list_answers):
                next(list_answers(self.world)).make(self.world)

    @rule(delay_ms=st.sampled_from([1, _GRID_MS - 1, _GRID_MS, 2 * _GRID_MS, 6 * _GRID_MS]))
    def let_time_pass(self, delay_ms: int) -> None:
        """The clock goes on, past every instant that the scenario names."""
        if self.world is not None and self.world.order is None:
            self.world.set_clock(self.world.now_ms + delay_ms)
            self.world.check_rest()

    @precondition(lambda self: self.can(list_faults))
    @rule(data=st.data())
    def fail(self, data: DataObject) -> None:
        """What is outstanding is refused or breaks."""
        self.make_one(list_faults, data)

    @precondition(lambda self: self.can(list_activities))
    @rule(data=st.data())
    def act(self, data: DataObject) -> None:
        """The agent, the clock or a reading tool does something."""
        self.make_one(list_activities, data)

    @precondition(lambda self: self.can(list_writes))
    @rule(data=st.data())
    def write(self, data: DataObject) -> None:
        """Something enters the log."""
        self.make_one(list_writes, data)

    @precondition(lambda self: self.can(list_ends))
    @rule(data=st.data(), spared=st.integers(0, 3))
    def end(self, data: DataObject, spared: int) -> None:
        """An owner or its log comes to an end; mostly it is spared."""
        if not spared:
            self.make_one(list_ends, data)

    @precondition(lambda self: self.can(list_crashes))
    @rule(data=st.data())
    def crash(self, data: DataObject) -> None:
        """A new owner goes on from what survived."""
        self.make_one(list_crashes, data)

    def can(self, list_some: Callable[[OwnerWorld], Iterator[Move]]) -> bool:
        """Whether any of these moves is there; an order is carried out before all else."""
        if self.world is None:
            return False
        if self.world.order is not None and list_some not in {list_answers, list_faults}:
            return False
        return next(list_some(self.world), None) is not None

    def make_one(self, list_some: Callable[[OwnerWorld], Iterator[Move]], data: DataObject) -> None:
        """Draw one of these moves and make it."""
        assert self.world is not None, "a life begins with `open`"
        data.draw(st.sampled_from(list(list_some(self.world)))).make(self.world)
