"""Random lives of an owner keep the invariants, and a bug that takes three reminders is found."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from hypothesis.strategies import SearchStrategy

from wakefold.effects import HandOver
from wakefold.events import EveryRecord
from wakefold.lifecycle import Step, advance
from wakefold.owners import Owner
from wakefold.signals import Signal
from wakefold_laws.owner_invariants import BrokenInvariant
from wakefold_laws.owner_machine import OwnerMachine
from wakefold_laws.owner_world import Scenario

TestOwnerLives = OwnerMachine.TestCase
TestOwnerLives.settings = settings(stateful_step_count=100)

QUICKLY = settings(
    TestOwnerLives.settings, phases=[Phase.generate]
)  # finding is asked for, not shrinking


THREE_REPEATS = Scenario(
    "three repeats",
    (0, 300_000),
    tuple(EveryRecord(name, "take a walk", 300, 300_000) for name in "abc"),
)


class Forgetful(OwnerMachine):
    """Leaves the third reminder out of a batch, which no world of two reminders can show."""

    @staticmethod
    def list_scenarios() -> SearchStrategy[Scenario]:
        return st.just(THREE_REPEATS)

    def decide(self, owner: Owner, signal: Signal) -> Step:
        after, effects = advance(owner, signal)
        return after, tuple(
            HandOver(effect.message, effect.changes[:2], effect.occurrences[:2])
            if isinstance(effect, HandOver)
            else effect
            for effect in effects
        )


def test_a_bug_that_takes_three_reminders_is_found() -> None:
    """The life that shows it names the invariant, and what happened."""
    with pytest.raises(BrokenInvariant, match="All that one message may carry") as raised:
        run_state_machine_as_test(Forgetful, settings=QUICKLY)
    notes = "\n".join(raised.value.__notes__)
    assert "state = Forgetful()" in notes
    assert "state.settle" in notes or "the claim is granted" in notes
