"""What a session needs from the world: a store for the log, a host for the agent, a clock.

Small on purpose: whoever writes a shell for another place implements these and nothing else. Only
the barrier and the waits are asynchronous; claim, hand-over and release are plain functions, so that
nothing can come between them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from wakefold import Event
from wakefold.conversations import Draft


class Followup(Struct, frozen=True):
    """One message for the agent, with the occurrences that it delivers.

    :shape: `message` is a frame's text; `occurrences` are pairs (id, instant), in its order
    :units: instants in epoch milliseconds UTC
    :errors: none
    :source: spec sections 8 and 10
    """

    message: str
    occurrences: tuple[tuple[str, int], ...]


class Store(Protocol):
    """One session's log, held by its only writer.

    :shape: events as the core has them, their `seq` contiguous from 0
    :units: `seed_length` in events, places from 0, times in epoch milliseconds UTC
    :errors: an exception of `read_events` faults the owner, as one of `append` in a hand-over does; to
        tools both are `internal_error`, a refused `flush` is `persistence_uncertain`
    :source: spec sections 1, 8 and 13; ours, docs/checking-stores.md
    """

    @property
    def seed_length(self) -> int:
        """How many events a fork inherited; its own suffix begins there."""

    @property
    def time_zone(self) -> str | None:
        """The zone of the session's header."""

    @property
    def delegation_depth(self) -> int:
        """How deep a child session stands below the one that a person speaks to; 0 for that one."""

    def read_events(self, start: int) -> Iterable[Event]:
        """The log from place `start` on, in order; an exception means that it cannot be read."""

    def append(self, events: Sequence[Event]) -> None:
        """Write events that follow the log, as one batch; durable once `flush` has answered true."""

    async def flush(self) -> bool:
        """The barrier: whether all that was appended is durable. False, or an exception: uncertain."""


class Host(Protocol):
    """Whatever owns the agent.

    :shape: messages in, drafts of events out
    :units: none
    :errors: an exception of `claim` or `release` faults the owner; after one of `hand_over` or
        `wait_idle` what is due waits for later activity
    :source: spec sections 8 and 13; ours, docs/writing-a-host.md
    """

    def claim(self) -> bool:
        """Hold the agent's idle phase, so that no turn begins; false while a turn is under way."""

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        """Queue one message for the agent, at once; an exception means that it was not queued.

        What comes back is written in one batch with the dispatches: the inbox, if the log holds it.
        """

    def release(self) -> None:
        """Give the idle phase back; what was queued may begin its turn."""

    async def wait_idle(self) -> None:
        """Return once no turn is under way."""


class Clock(Protocol):
    """The wall clock, and sleeping by it.

    :shape: integers
    :units: epoch milliseconds UTC
    :errors: an exception of `read_ms` faults the owner, or is a tool's `internal_error`; a sleep may
        not raise
    :source: spec sections 2 and 8
    """

    def read_ms(self) -> int:
        """Now, in epoch milliseconds."""

    def plan_sleep(self, until_ms: int, delay_ms: int) -> Callable[[], Awaitable[object]]:
        """A sleep that ends `delay_ms` from this call, or once the wall clock shows `until_ms`."""
