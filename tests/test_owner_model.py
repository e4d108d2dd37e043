"""Every state of an owner in a bounded world; and each invariant is seen to fail on a planted bug."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from wakefold import effects as order
from wakefold import lifecycle, wakes
from wakefold import signals as fact
from wakefold.ledger import Ledger
from wakefold.lifecycle import Step, advance
from wakefold.owners import Owner, Phase, with_log, with_marks
from wakefold.recurrence import Profile, find_gate
from wakefold.wakes import BatchDue, decide_due
from wakefold_laws.owner_invariants import INVARIANTS
from wakefold_laws.owner_model import (
    ONE_OF_EACH,
    SCENARIOS,
    TWO_REPEATS,
    UNDER_GUARD,
    ZONE_UNKNOWN,
    Counterexample,
    Exploration,
    explore,
)
from wakefold_laws.owner_watch import Advance
from wakefold_laws.owner_world import Scenario

PAGE = Path(__file__).resolve().parents[1] / "docs/testing.md"


def tell(figures: object) -> None:
    """The figures of an exploration, for whoever asked for them with `-s`."""
    print(figures)  # noqa: T201 - the count is printed


def describe(found: Exploration) -> str:
    """The row of the page: it says what was counted."""
    return f"| {found.scenario} | {found.states:,} | {found.owner_states} | {found.transitions:,} |\n"


ONE_TICK = replace(ONE_OF_EACH, name=f"{ONE_OF_EACH.name}, one tick", clock_ms=ONE_OF_EACH.clock_ms[:2])


def test_every_state_within_a_tick_keeps_the_invariants() -> None:
    """Two reminders, one tick of the clock, all faults; every phase of the owner is among them."""
    found = explore(ONE_TICK)
    tell(found)
    assert found.owner_states > 100
    assert describe(found) in PAGE.read_text("utf-8")


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_state_keeps_the_invariants(scenario: Scenario) -> None:
    """All pairs of reminders with two ticks, both sides of the gate, and a guard that holds."""
    found = explore(scenario)
    tell(found)
    assert describe(found) in PAGE.read_text("utf-8")


# Bugs. Each is a decider that goes wrong in one way, for the invariant that must notice it.


def without(kind: type[order.Effect], owner: Owner, signal: fact.Signal) -> Step:
    """Forgets one kind of effect."""
    after, effects = advance(owner, signal)
    return after, tuple(effect for effect in effects if not isinstance(effect, kind))


def twice(kind: type[order.Effect], owner: Owner, signal: fact.Signal) -> Step:
    """Gives one kind of effect two times."""
    after, effects = advance(owner, signal)
    return after, tuple(e for effect in effects for e in [effect] * (1 + isinstance(effect, kind)))


def deaf(operation: str, phase: Phase, owner: Owner, signal: fact.Signal) -> Step:
    """Does not learn of one operation while in a phase: a stale ledger."""
    recorded = isinstance(signal, fact.Recorded) and operation in str(signal.event.data)
    return (owner, ()) if recorded and owner.phase is phase else advance(owner, signal)


def fearless(owner: Owner, signal: fact.Signal) -> Step:
    """Hands over whatever has happened to the owner."""
    if isinstance(signal, fact.ClaimGranted):
        return advance(with_marks(owner, live=True, disposing=False), signal)
    return advance(owner, signal)


def hopeful(owner: Owner, signal: fact.Signal) -> Step:
    """Takes a failed append for a message that was not queued."""
    return advance(owner, fact.FollowupFailed() if isinstance(signal, fact.AppendFailed) else signal)


def unguarded(owner: Owner, signal: fact.Signal) -> Step:
    """Does not ask the guard."""
    return advance(with_log(owner, owner.ledger, None), signal)


def greedy(owner: Owner, signal: fact.Signal) -> Step:
    """Asks for a turn although one is asked for."""
    after, effects = advance(owner, signal)
    if owner.phase is Phase.QUEUED and isinstance(signal, fact.Nudged):
        return after, (*effects, order.TakeTurn())
    return after, effects


def forgetful(owner: Owner, signal: fact.Signal) -> Step:
    """Forgets who asked while a run was under way."""
    return advance(with_marks(owner, again=False), signal)


def tardy(owner: Owner, signal: fact.Signal) -> Step:
    """Arms the timer for a moment too late."""
    after, effects = advance(owner, signal)
    late = (
        order.Arm(e.until_ms + 1, e.delay_ms + 1) if isinstance(e, order.Arm) else e for e in effects
    )
    return after, tuple(late)


def impatient(owner: Owner, signal: fact.Signal) -> Step:
    """Waits for an idle agent twice at a time."""
    if isinstance(signal, fact.ClaimBusy):
        return advance(with_marks(owner, waits_for_idle=False), signal)
    return advance(owner, signal)


def noisy(owner: Owner, signal: fact.Signal) -> Step:
    """Warns although another owner has the session."""
    if isinstance(signal, fact.FlushRefused):
        after, effects = advance(with_marks(owner, live=True), signal)
        return with_marks(after, live=owner.live), effects
    return advance(owner, signal)


def hasty(owner: Owner, signal: fact.Signal) -> Step:
    """Reports disposal as soon as it is asked for."""
    if isinstance(signal, fact.DisposeAsked) and owner.phase is not Phase.GONE:
        return with_marks(owner, phase=Phase.GONE, disposing=True), (order.Disarm(), order.Disposed())
    return advance(owner, signal)


def restless(owner: Owner, signal: fact.Signal) -> Step:
    """Warns although it is gone."""
    after, effects = advance(owner, signal)
    return after, (*effects, order.Warn("owner_failed")) if owner.phase is Phase.GONE else effects


def repetitive(owner: Owner, signal: fact.Signal) -> Step:
    """Forgets what it has told of."""
    return advance(with_marks(owner, passed_over=()), signal)


BUGS: list[tuple[str, Scenario, Advance]] = [
    ("once", ONE_OF_EACH, partial(deaf, "dispatch", Phase.HANDING)),
    ("once", ONE_OF_EACH, partial(deaf, "delete", Phase.CLAIMING)),
    ("stopped", ONE_OF_EACH, fearless),
    ("stopped", ONE_OF_EACH, hopeful),
    ("held", UNDER_GUARD, unguarded),
    ("claim", ONE_OF_EACH, partial(without, order.Release)),
    ("claim", ONE_OF_EACH, partial(twice, order.Release)),
    ("turn", ONE_OF_EACH, greedy),
    ("turn", ONE_OF_EACH, partial(twice, order.EndTurn)),
    ("answer", ONE_OF_EACH, partial(without, order.Flush)),
    ("answer", ONE_OF_EACH, partial(twice, order.HandOver)),
    ("timer", ONE_OF_EACH, tardy),
    ("timer", ONE_OF_EACH, partial(twice, order.Arm)),
    ("look", ONE_OF_EACH, partial(without, order.Disarm)),
    ("idle-wait", ONE_OF_EACH, impatient),
    ("asked", ONE_OF_EACH, forgetful),
    ("stuck", ONE_OF_EACH, partial(without, order.Arm)),
    ("stuck", ONE_OF_EACH, partial(without, order.AwaitIdle)),
    ("warning", ONE_OF_EACH, noisy),
    ("warning", ONE_OF_EACH, partial(without, order.Warn)),
    ("warning", ONE_OF_EACH, partial(twice, order.Warn)),
    ("told", ZONE_UNKNOWN, repetitive),
    ("told", ZONE_UNKNOWN, partial(without, order.PassOver)),
    ("told", ZONE_UNKNOWN, partial(twice, order.PassOver)),
    ("disposal", ONE_OF_EACH, hasty),
    ("disposal", ONE_OF_EACH, partial(without, order.Disposed)),
    ("gone", ONE_OF_EACH, restless),
]


def name_bug(value: object) -> str:
    if isinstance(value, partial):
        return "-".join([value.func.__name__, *(getattr(a, "__name__", str(a)) for a in value.args)])
    return str(getattr(value, "__name__", getattr(value, "name", value)))


@pytest.mark.parametrize(("invariant", "scenario", "decider"), BUGS, ids=name_bug)
def test_a_planted_bug_breaks_its_invariant(
    invariant: str, scenario: Scenario, decider: Advance
) -> None:
    """The shortest way to it is told, move by move."""
    with pytest.raises(Counterexample) as raised:
        explore(scenario, decider)
    tell(raised.value)
    assert raised.value.name == invariant
    assert 0 < len(raised.value.labels) < 20
    assert all(label in str(raised.value) for label in raised.value.labels)


def decide_early(ledger: Ledger, now_ms: int, hold_ms: int | None) -> object:
    """A clock that is believed to be a tick further."""
    return decide_due(ledger, now_ms + 300_000, hold_ms)


def decide_one(ledger: Ledger, now_ms: int, hold_ms: int | None) -> object:
    """A batch of which one entry is left out."""
    decision = decide_due(ledger, now_ms, hold_ms)
    return decision.map(
        lambda d: BatchDue(d.accepted_at_ms, d.entries[:1]) if isinstance(d, BatchDue) else d
    )


def find_no_gate(profile: Profile, last_ms: int | None) -> int | None:
    """A gate that is always open."""
    del profile, last_ms
    return None


def find_gate_early(profile: Profile, last_ms: int | None) -> int | None:
    """A gate off by one."""
    gate_ms = find_gate(profile, last_ms)
    return None if gate_ms is None else gate_ms - 1


CORE_BUGS: list[tuple[str, Scenario, object, str, Callable[..., object]]] = [
    ("early", ONE_OF_EACH, lifecycle, "decide_due", decide_early),
    ("due", TWO_REPEATS, lifecycle, "decide_due", decide_one),
    ("distance", TWO_REPEATS, wakes, "find_gate", find_no_gate),
    ("timer", TWO_REPEATS, wakes, "find_gate", find_gate_early),
]


@pytest.mark.parametrize(("invariant", "scenario", "module", "name", "bug"), CORE_BUGS, ids=name_bug)
def test_a_bug_in_the_arithmetic_breaks_its_invariant(
    monkeypatch: pytest.MonkeyPatch,
    invariant: str,
    scenario: Scenario,
    module: object,
    name: str,
    bug: Callable[..., object],
) -> None:
    """The owner is sound, what it asks is not."""
    monkeypatch.setattr(module, name, bug)
    with pytest.raises(Counterexample) as raised:
        explore(scenario)
    tell(raised.value)
    assert raised.value.name == invariant


def test_every_invariant_has_been_seen_to_fail() -> None:
    """One that cannot fail says nothing."""
    assert {bug[0] for bug in (*BUGS, *CORE_BUGS)} == set(INVARIANTS)


def test_a_world_that_outgrows_its_bound_is_refused() -> None:
    """Nothing is said of a world that was not visited whole."""
    with pytest.raises(ValueError, match="more than 100 states"):
        explore(ONE_OF_EACH, states_max=100)
