"""What is known of a simulated session: its log as read so far, and what was given and answered for.

This module keeps; it refuses to judge (`invariants`) and to look by itself (`judges`).
"""

from __future__ import annotations

from returns.pipeline import is_successful
from returns.result import Result

from wakefold import CorruptScheduleLog, Event, Ledger, evolve
from wakefold.conversations import Input
from wakefold.guard import Guard, find_not_before, watch
from wakefold.guard_config import DEFAULT_CONFIG
from wakefold_laws.simulation.chronicles import Chronicle, Occurrence
from wakefold_laws.simulation.plain_guard import list_reapable
from wakefold_laws.simulation.worlds import World


class History:
    """One session's history in a world.

    `chronicle` is the plain reading of its log, `ledger` and `guard` are the core's, which plan.
    `offered` is what the agent was ever offered, `confirmed` what tools and the host have answered for
    (`created`, `deleted` or `said`, and the id), `reapable` the repeating reminders that had to go when
    the agent became idle.
    """

    def __init__(self, world: World) -> None:
        """Nothing has happened yet."""
        self.world = world
        self.offered: set[Occurrence | str] = set()
        self.confirmed: dict[tuple[str, str], None] = {}
        self.forget()

    def forget(self) -> None:
        """Begin to read the log anew: for another life, and for a fork."""
        world = self.world
        self.chronicle = Chronicle((world.limits or DEFAULT_CONFIG).reset_kinds)
        self.guard = None if world.limits is None else Guard(config=world.limits)
        self.ledger = Ledger(seed_length=world.seed_length, position=world.seed_length)
        self.reapable: list[str] = []
        self.turn_begun = False

    def take(self, event: Event) -> Result[Ledger, CorruptScheduleLog]:
        """Read one more event; what the core's fold says of it."""
        self.chronicle.take(event)
        if not self.chronicle.streak:
            self.reapable = []
        elif event.type == "turn/end" and self.turn_begun:  # what a crash cut off is no idle agent
            world = self.world
            self.reapable = list_reapable(world.limits, self.chronicle, world.now_ms)
        grown = evolve(self.ledger, event)
        self.ledger = grown.value_or(self.ledger)
        self.guard = None if self.guard is None else watch(self.guard, event)
        return grown

    def may_follow(self, event: Event) -> bool:
        """Whether the log with one more event is sound."""
        return is_successful(evolve(self.ledger, event))

    def hold_until(self) -> int | None:
        """Until when the guard holds what is due, by the core."""
        return None if self.guard is None else find_not_before(self.guard, self.world.now_ms)


def list_keys(given: Input) -> tuple[Occurrence | str, ...]:
    """What an input is known by: the occurrences it delivers, or the id of a word."""
    return given.occurrences or (str(given.message["id"]),)
