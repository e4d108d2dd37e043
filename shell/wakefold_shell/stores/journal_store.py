"""A session's journal held by its only writer.

One write for each batch, fsync as the barrier, the torn tail of an earlier crash cut before the first
append. Two lines of defence stand against a second writer: `flock` on `session.lock`, and the file's
length, which must be what this writer left.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import anyio.to_thread

from wakefold import SCHEDULE_CHANGE, Event
from wakefold.conversations import CONVERSATION_TYPES, USER_MESSAGE
from wakefold.json_text import format_json
from wakefold_shell.errors import JournalError, explain_os_error, show_path
from wakefold_shell.stores.journals import Journal, locate_journal, open_journal, refusals
from wakefold_shell.stores.lines import LINE_BYTES_MAX, require_zstandard
from wakefold_shell.stores.rows import Header

LOCK_NAME: Final = "session.lock"

# Reminders, turns, and who said what: what owner, guard and tools ask a log for.
_PARSED_TYPES: Final = CONVERSATION_TYPES | {SCHEDULE_CHANGE, USER_MESSAGE}


class OwnedError(JournalError):
    """Another process holds the writer lock of this session; it is named with its pid."""


class JournalStore:
    """The `Store` of one journal. Made by `open_store`, which holds the lock around it.

    Append only after `read_events(0)` has run to its end: it finds where the log ends.
    """

    def __init__(
        self,
        journal: Journal,
        descriptor: int,
        line_bytes_max: int,
        on_warning: Callable[[str], None],
    ) -> None:
        """An open journal, the descriptor to append by, and who is told of a torn tail."""
        self.journal = journal
        self._line_bytes_max = line_bytes_max
        self._descriptor = descriptor
        self._on_warning = on_warning
        self._end_bytes: int | None = None
        self._next_seq: int | None = None
        self._appended: list[Event] = []
        self._synced = False  # an earlier writer may have died before its barrier

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

    def read_events(self, start: int) -> Iterator[Event]:
        """The log from place `start` on: from the file, or what was appended here since it was read."""
        if self._end_bytes is None:
            yield from self._read_file(start)
            return
        first = (self._next_seq or 0) - len(self._appended)
        if start >= first:
            yield from self._appended[start - first :]
            return
        with open_journal(self.journal.path, self._line_bytes_max) as again:
            yield from (e for e in again.read_events(_PARSED_TYPES) if e.seq >= start)

    def append(self, events: Sequence[Event]) -> None:
        """Write events as one batch. Raises `JournalError`, and leaves the file as it was."""
        end_bytes = self._end_bytes
        if end_bytes is None or self._next_seq is None:
            raise self._refuse("where the log ends is not known", "read it to its end first")
        if [event.seq for event in events] != list(range(self._next_seq, self._next_seq + len(events))):
            raise self._refuse(f"the next event must have seq {self._next_seq}", "fold again")
        batch = self._encode(events)
        try:
            self._cut_torn_tail(end_bytes)
            self._write(batch, end_bytes)
        except OSError as error:
            raise self._refuse(explain_os_error(error), "check the disk; nothing was kept") from error
        self._end_bytes, self._synced = end_bytes + len(batch), False
        self._next_seq += len(events)
        self._appended.extend(events)

    async def flush(self) -> bool:
        """Whether the file's content is on the disk."""
        if self._synced:
            return True
        end_bytes = self._end_bytes
        try:
            # Abandoned only when the caller's deadline for the barrier has passed.
            await anyio.to_thread.run_sync(os.fsync, self._descriptor, abandon_on_cancel=True)
        except OSError:
            return False
        self._synced = end_bytes is not None and end_bytes == self._end_bytes
        return True

    def _read_file(self, start: int) -> Iterator[Event]:
        """The first reading, which also finds where the log ends."""
        for event in self.journal.read_events(_PARSED_TYPES):
            if event.seq >= start:
                yield event
        if self.journal.warning is not None:
            self._on_warning(self.journal.warning)
        self._end_bytes = self.journal.sound_bytes
        self._next_seq = self.journal.next_seq
        self.journal.close()  # a process with thousands of sessions has few descriptors to spare

    def _cut_torn_tail(self, end_bytes: int) -> None:
        length = os.fstat(self._descriptor).st_size
        if self.journal.warning is not None and length > end_bytes:
            os.ftruncate(self._descriptor, end_bytes)
            self.journal.warning = None
        elif length != end_bytes:
            raise self._refuse("somebody else wrote to the journal", "stop the other writer")

    def _write(self, batch: bytes, end_bytes: int) -> None:
        written = 0
        try:
            while written < len(batch):
                written += os.write(self._descriptor, batch[written:])
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, end_bytes)
            raise

    def _encode(self, events: Sequence[Event]) -> bytes:
        batch = b"".join(encode_line(encode_event(event)) for event in events)
        return compress(batch, self.journal.path) if self.journal.compressed else batch

    def _refuse(self, problem: str, remedy: str) -> JournalError:
        return JournalError(self.journal.path, problem, remedy)


@contextmanager
def open_store(
    path: Path,
    line_bytes_max: int = LINE_BYTES_MAX,
    on_warning: Callable[[str], None] = lambda _: None,
) -> Iterator[JournalStore]:
    """The store of a session directory, its writer lock held as long as the block lasts.

    `on_warning` is told, once the log was read, of a torn tail that the next append will cut.
    Raises `JournalError` where there is no journal, and where another process holds the lock.
    """
    place = locate_journal(path)
    with (
        open_journal(place, line_bytes_max) as journal,
        hold_lock(place.parent),
        _open_to_append(place) as descriptor,
    ):
        yield JournalStore(journal, descriptor, line_bytes_max, on_warning)


@contextmanager
def hold_lock(directory: Path) -> Iterator[None]:
    """The writer lock of a session directory; `JournalError` with the holder's pid if it is taken."""
    place = directory / LOCK_NAME
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with refusals(place):
        descriptor = os.open(place, flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise OwnedError(
                directory, f"process {holder} owns this session", "stop it first"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(descriptor)


def create_session(directory: Path, header: Header) -> None:
    """A new session directory with a journal that holds its header alone, durable on return.

    Raises `JournalError` if there is one already or the system refuses.
    """
    place = directory / "session.jsonl"
    line = encode_line(
        {
            "type": "session",
            "version": 0,
            "id": header.id,
            "createdAt": header.created_at_ms,
            "cwd": show_path(directory.absolute()),
            **({} if header.time_zone is None else {"timeZone": header.time_zone}),
        }
    )
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(line)
            file.flush()
            os.fsync(descriptor)
        _sync_directory(directory)
    except OSError as error:
        raise JournalError(place, explain_os_error(error), "choose another directory") from error


def remove_session(directory: Path) -> None:
    """Take back a session that was just created and came to nothing.

    Where somebody lives in it by now, or has written to it, it is theirs and stays.
    """
    with suppress(OwnedError, OSError), hold_lock(directory):
        if (directory / "session.jsonl").read_bytes().count(b"\n") > 1:
            return
        for name in ("session.jsonl", LOCK_NAME):
            (directory / name).unlink(missing_ok=True)
        directory.rmdir()


def encode_event(event: Event) -> dict[str, object]:
    """An event as its line says it, keys in the journal's order."""
    return {"type": event.type, "seq": event.seq, "time": event.time_ms, "data": event.data}


def encode_line(value: object) -> bytes:
    """One journal line: JSON as ECMAScript writes it, UTF-8, LF."""
    return format_json(value).encode("utf-8") + b"\n"


def compress(batch: bytes, path: Path) -> bytes:
    """One checksummed zstd frame for one batch of lines."""
    frame: bytes = require_zstandard(path).ZstdCompressor(write_checksum=True).compress(batch)
    return frame


@contextmanager
def _open_to_append(place: Path) -> Iterator[int]:
    with refusals(place):
        descriptor = os.open(place, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
