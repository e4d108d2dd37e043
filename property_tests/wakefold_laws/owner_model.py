"""Every state that an owner and its small world can reach, visited once: a model check by brute force.

`explore` goes breadth first, so that a broken invariant comes with the shortest way to it. This module
decides which states are one and the same (those of one key) and counts them; what can happen and what
must hold is `owner_moves`'s and `owner_world`'s business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from typing import Final

from msgspec import Struct

from wakefold.calendar_rules import DailyRule
from wakefold.events import AtRecord, EveryRecord
from wakefold.guard_config import GuardConfig
from wakefold.lifecycle import advance
from wakefold.records import EDITABLE, CalendarRecord
from wakefold_laws.owner_invariants import BrokenInvariant
from wakefold_laws.owner_moves import list_moves
from wakefold_laws.owner_watch import Advance
from wakefold_laws.owner_world import OwnerWorld, Scenario

_TICKS_MS: Final = (0, 300_000, 600_000)
_TEA: Final = AtRecord("tea", "drink tea", 300_000)
_BUS: Final = AtRecord("bus", "catch the bus", 600_000)
_WALK: Final = EveryRecord("walk", "take a walk", 300, 300_000)
_MARS: Final = CalendarRecord(
    "mars", "look up", DailyRule("00:05:00.000", "Mars/Base"), 300_000, standing=EDITABLE
)
_REST: Final = EveryRecord("rest", "rest your eyes", 300, 450_000)

#: A one-shot at the start and a repeat later.
ONE_OF_EACH: Final = Scenario("a one-shot and a repeat", _TICKS_MS, (_TEA,), (_WALK,))
#: A one-shot at the start and one later.
TWO_ONE_SHOTS: Final = Scenario("two one-shots", _TICKS_MS, (_TEA,), (_BUS,))
#: Two repeats whose targets are closer than two batches may be.
TWO_REPEATS: Final = Scenario(
    "two repeats on both sides of the gate", (300_000, 599_999, 600_000), (_WALK,), (_REST,)
)
#: As `ONE_OF_EACH`, under a guard that holds after one wakeup.
UNDER_GUARD: Final = Scenario(
    "a one-shot and a repeat under a guard that holds",
    _TICKS_MS,
    (_TEA,),
    (_WALK,),
    GuardConfig(hold=True, max_consecutive_wakeups=1, max_per_hour=0),
)
#: A one-shot, and a calendar rule whose zone no tz database has.
ZONE_UNKNOWN: Final = Scenario(
    "a one-shot and a rule whose zone is unknown", _TICKS_MS, (_TEA,), (_MARS,)
)
#: Two reminders and two ticks of the clock, in each combination; every fault can happen in each.
#:
#: :meta hide-value:
SCENARIOS: Final = (ONE_OF_EACH, TWO_ONE_SHOTS, TWO_REPEATS, UNDER_GUARD, ZONE_UNKNOWN)

#: How many states are visited by default before the world counts as unbounded.
STATES_MAX: Final = 2_000_000


class Exploration(Struct, frozen=True):
    """What was visited: the owner's own states, those of the whole world, and the moves made.

    :shape: as text one line: the scenario's name and the three counts
    :units: counts of states and of moves
    :errors: none
    :source: ours, docs/testing.md
    """

    scenario: str
    owner_states: int
    states: int
    transitions: int

    def __str__(self) -> str:
        """In words."""
        return (
            f"{self.scenario}: {self.states:,} states of the world, {self.owner_states} of the "
            f"owner, {self.transitions:,} transitions"
        )


class Counterexample(AssertionError):
    """The shortest way to a broken invariant.

    :shape: `name` is a key of `INVARIANTS`, `labels` say what happened, in order; the text has both
    :units: none
    :errors: is an `AssertionError`; `explore` raises it
    :source: ours, docs/testing.md
    """

    def __init__(self, broken: BrokenInvariant, labels: tuple[str, ...]) -> None:
        """What was broken, and the moves that led there."""
        steps = (f"  {number}. {label}" for number, label in enumerate(labels, 1))
        super().__init__("\n".join((str(broken), "after the start:", *steps)))
        self.name, self.labels = broken.name, labels


def explore(
    scenario: Scenario, decider: Advance = advance, states_max: int = STATES_MAX
) -> Exploration:
    """Make every move in every state that can be reached, and count them.

    :shape: `decider` takes an owner and a signal and gives the owner and its effects, as `advance` does
    :units: `states_max` counts states of the world
    :errors: `Counterexample` for a broken invariant; `ValueError` where the world has more than
        `states_max` states; what the decider raises
    :source: spec section 8; ours, docs/testing.md
    """
    start = OwnerWorld(scenario, decider)
    ways: dict[Hashable, tuple[Hashable, str] | None] = {start.key(): None}
    owners = {start.owner_key()}
    queue = deque([start])
    transitions = 0
    while queue:
        world = queue.popleft()
        key = world.key()
        for move in list_moves(world):
            after = world.copy()
            try:
                move.make(after)
            except BrokenInvariant as broken:
                labels = (*_retrace(ways, key), move.label)
                raise Counterexample(broken, labels) from None
            transitions += 1
            reached = after.key()
            if reached not in ways:
                ways[reached] = (key, move.label)
                owners.add(after.owner_key())
                queue.append(after)
        if len(ways) > states_max:
            raise ValueError(f"{scenario.name}: more than {states_max} states, bound the world further")
    return Exploration(scenario.name, len(owners), len(ways), transitions)


def _retrace(ways: dict[Hashable, tuple[Hashable, str] | None], key: Hashable) -> list[str]:
    def walk() -> Iterator[str]:
        way = ways[key]
        while way is not None:
            yield way[1]
            way = ways[way[0]]

    return list(walk())[::-1]
