"""What every store in a database does alike: what is appended waits for the barrier, which commits it.

This module decides what is left to write where a barrier finds its own lines; it refuses to know how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio.to_thread

from wakefold import Event
from wakefold.snapshots import Prefix
from wakefold_shell.stores.journals import Journal
from wakefold_shell.stores.logs import LogStore, StaleWriterError
from wakefold_shell.stores.rows import encode_event, encode_line


class TransactionStore(LogStore):
    """A log in a database: the barrier commits all that was appended at once, or nothing of it.

    A subclass commits in a worker thread, one at a time: a barrier whose deadline has passed may still
    be at work, so that the next one may find in the log what it brings.
    """

    def __init__(
        self, journal: Journal, line_bytes_max: int, on_warning: Callable[[str], None]
    ) -> None:
        """An open journal, and who is told of what it had to leave out."""
        super().__init__(journal, line_bytes_max, on_warning)
        self._pending: list[Event] = []

    async def flush(self) -> bool:
        """Commit what was appended. `StaleWriterError` if somebody else has written meanwhile."""
        pending = list(self._pending)
        if not pending:
            return True  # what was read was committed, and so was all that was appended here
        if not await anyio.to_thread.run_sync(self._commit, pending, abandon_on_cancel=True):
            return False
        self._pending = [event for event in self._pending if event.seq > pending[-1].seq]
        self.journal.note(map(encode_line, map(encode_event, pending)), len(pending))
        return True

    def measure(self) -> Prefix | None:
        """What the log holds now, if all of it is committed."""
        return None if self._pending else super().measure()

    def _write(self, events: Sequence[Event]) -> None:
        self._pending.extend(events)

    def _commit(self, events: Sequence[Event]) -> bool:
        """Whether the events are durable; runs in a worker thread."""
        raise NotImplementedError

    def _refuse_stale(self, there: Sequence[bytes], lines: Sequence[bytes]) -> Sequence[bytes]:
        """What is left to write of the lines, where these stand in their place already."""
        if list(there) != list(lines[: len(there)]):
            raise StaleWriterError(self.path, "somebody else wrote to the log", "stop the other writer")
        return lines[len(there) :]
