"""Reading a session's journal: events in order, or one clear error, never a shorter history.

`open_journal` reads the header; `read_events` reads the events one by one, so that a log of any length
can be folded in bounded memory. While it is read, the journal knows the line it stands at, so that a
fault found by the core can be told with its place. Nothing here writes.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from returns.pipeline import is_successful

from wakefold import (
    SCHEDULE_CHANGE,
    CorruptScheduleLog,
    Event,
    Ledger,
    Profile,
    describe_rejection,
    fold,
)
from wakefold.checkpoints import Checkpoint, extend_checkpoint
from wakefold.snapshots import Prefix
from wakefold_shell.errors import JournalError
from wakefold_shell.stores.lines import (
    BEGINNING,
    LINE_BYTES_MAX,
    NO_OFFSET,
    RESTORE,
    Cursor,
    Place,
    is_table,
)
from wakefold_shell.stores.rows import Header, PackedRow, RowFault, read_header, read_row
from wakefold_shell.stores.sources import FileSource, Source, refusals
from wakefold_shell.stores.trails import Trail

StoreKind = Literal["journal", "zstd", "sqlite"]
"""What a session can be kept in: a plain file, a compressed one, an SQLite database."""

STORE_NAMES: Final[Mapping[StoreKind, str]] = {
    "journal": "session.jsonl",
    "zstd": "session.jsonl.zstd",
    "sqlite": "session.sqlite",
}
"""What each is called in a session directory."""

FILE_NAMES: Final = tuple(STORE_NAMES.values())
"""All names that a session directory's journal can have."""

_GIVE_JOURNAL: Final = "give a session journal of version 0"
_BUFFER_BYTES: Final = 256 * 1024  # cutting lines out of the usual 8 KiB takes twice as long


class Journal:
    """An open journal. Iterate once over `read_events`; the rest tells where that stands.

    `line` and `offset_bytes` are those of the event read last. After the last event `next_seq` is the
    seq of the event to come (`None` where a packed row at the end does not tell), `sound_bytes` the
    length of the whole lines, `length_bytes` that of all there is, and `warning` names a torn tail if
    there was one.
    """

    def __init__(self, path: Path, source: Source, line_bytes_max: int) -> None:
        """Read the header of an open source; `JournalError` if there is none."""
        self.path = path
        self.compressed = source.compressed
        self.next_seq: int | None = 0
        self.sound_bytes = self.length_bytes = 0
        self.warning: str | None = None
        self._source, self._line_bytes_max = source, line_bytes_max
        self._trail: Trail | None = None
        self._lines: Iterator[bytes] = iter(())
        self._open(BEGINNING, None)
        self.header = self._read_header()

    @property
    def line(self) -> int:
        """The number of the line that was read last, from 1."""
        return self._cursor.number

    @property
    def offset_bytes(self) -> int:
        """Where that line starts."""
        return self._cursor.offset_bytes

    @property
    def first_seq(self) -> int:
        """Where the events begin that `read_events` reads."""
        return self._start.seq

    def rewind(self, *, track: bool = False) -> None:
        """Read from the beginning, once more; with `track` it is measured on the way."""
        self._open(BEGINNING, Trail() if track else None)
        self.header = self._read_header()

    def move(self, place: Place) -> None:
        """Read from a place on, which whoever keeps the log vouches for."""
        self._open(place, None)

    def skip(self, prefix: Prefix, next_seq: int) -> bool:
        """Whether the log begins as it was measured; then only what follows is read, and measured on.

        Every byte of the beginning is looked at, none is decoded.
        """
        place = Place(next_seq, prefix.length_bytes, prefix.lines)
        trail = Trail()
        for piece in self._source.read_prefix(place):
            trail.note(piece)
        if trail.measure(self.header.id, prefix.lines) != prefix:
            self.rewind()
            return False
        self._open(place, trail)
        return True

    def note(self, pieces: Iterable[bytes], lines: int) -> None:
        """The writer has put more lines at the end: these bytes, where they are measured."""
        if self._trail is not None:
            for piece in pieces:
                self._trail.note(piece)
            self._cursor.number += lines

    @property
    def extent(self) -> tuple[int, int]:
        """How many bytes and lines are measured; none where that was not asked for."""
        return (0, 0) if self._trail is None else (self._trail.length_bytes, self.line)

    def measure(self) -> Prefix | None:
        """What was read of the log, and written by its writer, where that was asked for."""
        return None if self._trail is None else self._trail.measure(self.header.id, self.line)

    def read_events(
        self, parsed_types: frozenset[str] = frozenset({SCHEDULE_CHANGE})
    ) -> Iterator[Event]:
        """All events in order; `data` is parsed for the given types, raw or absent for others."""
        pending: PackedRow | None = None  # whose length the next line tells
        seq, room, cursor = self._start.seq, 0, self._cursor
        with refusals(self.path):
            for content in self._lines:
                if cursor.torn_bytes is not None:
                    self._note_torn(cursor.torn_bytes)
                    break
                try:
                    row = read_row(content, parsed_types)
                except RowFault as fault:
                    raise self._fault(str(fault)) from fault
                if pending is not None:
                    count = row.seq - seq
                    if 1 <= count <= room:
                        yield from _unpack(pending, count)
                        seq = row.seq
                    else:
                        seq += 1
                    pending = None
                if row.seq != seq:
                    raise self._fault(f"seq {row.seq} stands where seq {seq} is due")
                if isinstance(row, Event):
                    yield row
                    seq += 1
                elif row.count is None:
                    pending, room = row, len(content) - 1  # each event takes a byte at least
                else:
                    yield from _unpack(row, row.count)
                    seq += row.count
            else:
                self.sound_bytes = self._source.measure()
        self.length_bytes = self._source.measure()
        if pending is not None:
            yield from _unpack(pending, 1)
        self.next_seq = seq if pending is None else None

    def read_lines(self) -> Iterator[bytes]:
        """All sound lines as they are, the header first, each with its LF, in place of the events."""
        yield self._header_line
        with refusals(self.path):
            for line in self._lines:
                if self._cursor.torn_bytes is None:
                    yield line

    def close(self) -> None:
        """Let the source go, when its events have been read."""
        self._source.close()
        self._lines = iter(())

    def locate(self, problem: str, remedy: str) -> JournalError:
        """An error at the line that was read last."""
        offset_bytes = None if self.offset_bytes == NO_OFFSET else self.offset_bytes
        return JournalError(self.path, problem, remedy, line=self.line, offset_bytes=offset_bytes)

    def _open(self, start: Place, trail: Trail | None) -> None:
        self._start, self._trail = start, trail
        self._cursor = Cursor(start, start.lines, start.offset_bytes)
        note = None if trail is None else trail.note
        self._lines = self._source.read_lines(self._line_bytes_max, self._cursor, note)

    def _read_header(self) -> Header:
        with refusals(self.path):
            line = next(self._lines, None)
        if line is None:
            raise JournalError(self.path, "the file is empty", _GIVE_JOURNAL)
        if self._cursor.torn_bytes is not None:
            problem = "the file holds no whole header line"
            raise JournalError(self.path, problem, _GIVE_JOURNAL, line=1, offset_bytes=0)
        self._header_line = line
        try:
            return read_header(line)
        except RowFault as fault:
            raise self.locate(str(fault), _GIVE_JOURNAL) from fault

    def _note_torn(self, offset_bytes: int) -> None:
        self.sound_bytes = offset_bytes
        place = JournalError(
            self.path,
            "the last write was cut off and is left out",
            "nothing that was acknowledged is lost",
            line=self.line + 1,
            offset_bytes=offset_bytes,
        )
        self.warning = str(place)

    def _fault(self, problem: str) -> JournalError:
        return self.locate(problem, RESTORE)


def explain_corruption(journal: Journal, fault: CorruptScheduleLog) -> JournalError:
    """The core's finding with its place in the file; the journal must stand where the fold stopped."""
    problem = f"corrupt_schedule_log, {describe_rejection(fault).removesuffix('.')}"
    if fault.rule == "bad_seed_length":
        return JournalError(journal.path, problem, "mend the header's seedLength", line=1)
    if fault.rule == "batches_too_close":
        remedy = "a journal of the released package is read with --profile published"
    else:
        remedy = f"{RESTORE}, nothing is changed meanwhile"
    return journal.locate(problem, remedy)


def find_corruption(journal: Journal, fault: CorruptScheduleLog) -> JournalError:
    """The same of a journal that was read past its fault: it is read once more, up to there."""
    journal.rewind()
    for event in journal.read_events():
        if event.seq == fault.index:
            break
    return explain_corruption(journal, fault)


def fold_journal(journal: Journal, profile: Profile, events: Iterable[Event] | None = None) -> Ledger:
    """The ledger of a journal just opened; `JournalError` with the place of the first violation.

    `events` may stand for `journal.read_events()`, passed through something that looks on.
    """
    read = journal.read_events() if events is None else events
    folded = fold(read, journal.header.seed_length, profile)
    if not is_successful(folded):
        raise explain_corruption(journal, folded.failure())
    return folded.unwrap()


def read_on(journal: Journal, checkpoint: Checkpoint, events: Iterable[Event]) -> Checkpoint:
    """What a journal has come to after events of its own; `JournalError` as `fold_journal`'s."""
    extended = extend_checkpoint(checkpoint, events)
    if not is_successful(extended):
        raise explain_corruption(journal, extended.failure())
    return extended.unwrap()


def keep_events(events: Iterable[Event], kept: list[Event], types: frozenset[str]) -> Iterator[Event]:
    """Pass events on to whoever folds them, and keep those of the types."""
    for event in events:
        if event.type in types:
            kept.append(event)
        yield event


@contextmanager
def open_journal(path: Path, line_bytes_max: int = LINE_BYTES_MAX) -> Iterator[Journal]:
    """The journal of a file or a session directory, open for reading as long as the block lasts.

    :shape: a plain file, a compressed one, or an SQLite database, as it is found
    :units: `line_bytes_max` in bytes
    :errors: `JournalError` where there is none, where it is no regular file, where the system refuses,
        and (while its events are read) at the first line that is wrong
    :source: ours, docs/records.md
    """
    place = locate_journal(path)
    with refusals(place):
        # A pipe or a device would block or never end.
        regular = stat.S_ISREG(place.stat().st_mode)
        file = place.open("rb", buffering=_BUFFER_BYTES) if regular else None
    if file is None:
        raise JournalError(place, "this is no regular file", "give a session journal")
    with file:
        with refusals(place):
            in_table = is_table(file)
        if in_table:
            from wakefold_shell.stores.tables import open_table  # noqa: PLC0415 - few need SQLite

            with open_table(place) as table:
                yield Journal(place, table, line_bytes_max)
        else:
            yield Journal(place, FileSource(place, file), line_bytes_max)


def locate_journal(path: Path) -> Path:
    """The journal file that a path means: itself, or the one in that session directory."""
    with refusals(path):
        if not path.is_dir():
            return path
        found = [path / name for name in FILE_NAMES if (path / name).exists()]
    if not found:
        raise JournalError(
            path,
            "the directory holds no session.jsonl or session.sqlite",
            "give a session directory or a journal",
        )
    if len(found) > 1:
        raise JournalError(path, "the directory holds two journals", "name one by --store or as a file")
    return found[0]


def _unpack(row: PackedRow, count: int) -> Iterator[Event]:
    for index in range(count):
        yield Event(row.type, row.seq + index, row.time_ms, None)
