"""A session's log in memory: for programs that keep it elsewhere, and for trying things out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from wakefold import Event
from wakefold_shell.stores.logs import StaleWriterError

_NOWHERE: Final = Path("memory")  # where an error of this store lies


class MemoryStore:
    """The `Store` of a log that lives as long as the program. Its barrier acknowledges everything.

    :shape: as `Store`; events are numbered from 0, without a gap
    :units: `seed_length` in events, places from 0
    :errors: `StaleWriterError` for events that do not follow the log, which stays as it was
    :source: ours, docs/stores.md
    """

    def __init__(
        self,
        events: Sequence[Event] = (),
        *,
        seed_length: int = 0,
        time_zone: str | None = None,
        delegation_depth: int = 0,
    ) -> None:
        """The log so far, its events numbered from 0, and what a header would say."""
        self.seed_length, self.time_zone = seed_length, time_zone
        self.delegation_depth = delegation_depth
        self._events = list(events)

    def read_events(self, start: int) -> Sequence[Event]:
        """The log from place `start` on."""
        return self._events[start:]

    def append(self, events: Sequence[Event]) -> None:
        """Take events as one batch; `StaleWriterError` if they do not follow the log."""
        first = len(self._events)
        if [event.seq for event in events] != list(range(first, first + len(events))):
            raise StaleWriterError(_NOWHERE, f"the next event must have seq {first}", "fold again")
        self._events.extend(events)

    async def flush(self) -> bool:
        """True: as durable as it will ever be."""
        return True
