"""What the owner needs from the world: a store for the log, a host for the agent, a clock.

Small on purpose: whoever writes a shell for another place implements these and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from wakefold import Event


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

    def read_events(self) -> Iterator[Event]:
        """The whole log, in order."""
        ...

    def append(self, events: Sequence[Event]) -> None:
        """Write events as one batch; durable only once `flush` has answered true."""
        ...

    async def flush(self) -> bool:
        """The barrier: whether everything appended so far is durable. False means uncertain."""
        ...


class Host(Protocol):
    """Whatever owns the agent."""

    def hand_over(self, followup: Followup) -> None:
        """Queue one message for the agent, at once; an exception means that it was not queued."""
        ...


class Clock(Protocol):
    """The wall clock, and sleeping by it."""

    def read_ms(self) -> int:
        """Now, in epoch milliseconds."""
        ...

    async def sleep_until(self, instant_ms: int | None) -> None:
        """Return once the wall clock has reached an instant; never for `None`."""
        ...
