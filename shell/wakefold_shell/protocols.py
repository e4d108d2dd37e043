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
    """One message for the agent, with the occurrences that it delivers as (id, epoch ms)."""

    message: str
    occurrences: tuple[tuple[str, int], ...]


class Store(Protocol):
    """One session's log, held by its only writer."""

    @property
    def seed_length(self) -> int:
        """How many events a fork inherited; its own suffix begins there."""
        ...

    @property
    def time_zone(self) -> str | None:
        """The zone of the session's header."""
        ...

    @property
    def delegation_depth(self) -> int:
        """How deep a child session stands below the one that a person speaks to; 0 for that one."""
        ...

    def read_events(self, start: int) -> Iterable[Event]:
        """The log from place `start` on, in order; an exception means that it cannot be read."""
        ...

    def append(self, events: Sequence[Event]) -> None:
        """Write events as one batch; durable only once `flush` has answered true."""
        ...

    async def flush(self) -> bool:
        """The barrier: whether everything appended so far is durable. False means uncertain."""
        ...


class Host(Protocol):
    """Whatever owns the agent."""

    def claim(self) -> bool:
        """Hold the agent's idle phase, so that no turn begins; false while a turn is under way."""
        ...

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        """Queue one message for the agent, at once; an exception means that it was not queued.

        What comes back is written in one batch with the dispatches: the inbox, if the log holds it.
        """
        ...

    def release(self) -> None:
        """Give the idle phase back; what was queued may begin its turn."""
        ...

    async def wait_idle(self) -> None:
        """Return once no turn is under way."""
        ...


class Clock(Protocol):
    """The wall clock, and sleeping by it."""

    def read_ms(self) -> int:
        """Now, in epoch milliseconds."""
        ...

    def plan_sleep(self, until_ms: int, delay_ms: int) -> Callable[[], Awaitable[object]]:
        """A sleep that ends `delay_ms` from this call, or once the wall clock shows `until_ms`."""
        ...
