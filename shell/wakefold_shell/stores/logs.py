"""What every durable store does alike: it follows the log, and refuses a stale writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from wakefold import SCHEDULE_CHANGE, Event
from wakefold.conversations import CONVERSATION_TYPES, USER_MESSAGE
from wakefold.snapshots import Prefix
from wakefold_shell.errors import JournalError
from wakefold_shell.stores.journals import Journal, open_journal

#: Reminders, turns, and who said what: what owner, guard and tools ask a log for.
PARSED_TYPES: Final = CONVERSATION_TYPES | {SCHEDULE_CHANGE, USER_MESSAGE}


class StaleWriterError(JournalError):
    """Somebody else has written to the log since this writer read it: fold again.

    :shape: as `JournalError`, without a line
    :units: none
    :errors: raised by `append`, and by `flush` of a database; nothing was written
    :source: ours, docs/stores.md
    """


class LogStore:
    """One session's log, held by a writer. Append only after `read_events(0)` has run to its end.

    A subclass writes: `_write` takes events that follow what was read and appended so far.
    """

    def __init__(
        self, journal: Journal, line_bytes_max: int, on_warning: Callable[[str], None]
    ) -> None:
        """An open journal, and who is told of what it had to leave out."""
        self.journal = journal
        self._line_bytes_max = line_bytes_max
        self._on_warning = on_warning
        self._next_seq: int | None = None
        self._appended: list[Event] = []

    @property
    def path(self) -> Path:
        """The file."""
        return self.journal.path

    @property
    def seed_length(self) -> int:
        """How many events a fork inherited."""
        return self.journal.header.seed_length

    @property
    def time_zone(self) -> str | None:
        """The zone of the session's header."""
        return self.journal.header.time_zone

    @property
    def delegation_depth(self) -> int:
        """How deep a child session stands below its parent; 0 for none."""
        return self.journal.header.delegation_depth

    @property
    def next_seq(self) -> int | None:
        """The seq of the event to come, once the log was read and where its end tells."""
        return self._next_seq

    def read_events(self, start: int) -> Iterator[Event]:
        """The log from place `start` on: from the disk, or what was appended here since it was read."""
        if self._next_seq is None:
            yield from self._read_first(start)
            return
        first = self._next_seq - len(self._appended)
        if start < first:
            with self._open_again() as again:
                yield from (e for e in again.read_events(PARSED_TYPES) if start <= e.seq < first)
        yield from self._appended[max(start - first, 0) :]

    def append(self, events: Sequence[Event]) -> None:
        """Take events as one batch. Raises `JournalError`, and leaves the log as it was."""
        if self._next_seq is None:
            raise JournalError(self.path, "where the log ends is not known", "read it to its end first")
        if [event.seq for event in events] != list(range(self._next_seq, self._next_seq + len(events))):
            raise StaleWriterError(
                self.path, f"the next event must have seq {self._next_seq}", "fold again"
            )
        self._write(events)
        self._next_seq += len(events)
        self._appended.extend(events)

    async def flush(self) -> bool:
        """The barrier: whether everything appended so far is durable."""
        raise NotImplementedError

    def _write(self, events: Sequence[Event]) -> None:
        raise NotImplementedError

    def _open_again(self) -> AbstractContextManager[Journal]:
        """The log as it lies there, for another reading."""
        return open_journal(self.path, self._line_bytes_max)

    def _note_end(self) -> None:
        """The log has been read to its end for the first time."""

    def measure(self) -> Prefix | None:
        """What the log holds now, if it was measured and stands where it was written."""
        return self.journal.measure()

    def _read_first(self, start: int) -> Iterator[Event]:
        """The first reading, which also finds where the log ends."""
        if start < self.journal.first_seq:
            self.journal.rewind()
        for event in self.journal.read_events(PARSED_TYPES):
            if event.seq >= start:
                yield event
        if self.journal.warning is not None:
            self._on_warning(self.journal.warning)
        self._note_end()
        self._next_seq = self.journal.next_seq
        self.journal.close()  # a process with thousands of sessions has few descriptors to spare
