"""A session's journal held by its only writer.

One write for each batch, fsync as the barrier, the torn tail of an earlier crash cut before the first
append. Two lines of defence stand against a second writer: `flock` on `session.lock`, and the file's
length, which must be what this writer left.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Final

import anyio.to_thread

from wakefold import Event
from wakefold_shell.errors import JournalError, explain_os_error, show_path
from wakefold_shell.stores.journals import (
    FILE_NAMES,
    STORE_NAMES,
    Journal,
    StoreKind,
    locate_journal,
    open_journal,
)
from wakefold_shell.stores.lines import LINE_BYTES_MAX, require_zstandard
from wakefold_shell.stores.logs import LogStore, StaleWriterError
from wakefold_shell.stores.rows import Header, encode_event, encode_header, encode_line
from wakefold_shell.stores.sources import refusals

#: The name of the lock in a session's directory.
LOCK_NAME: Final = "session.lock"

_LINES_A_FRAME: Final = 1000  # where a whole session is written compressed


class OwnedError(JournalError):
    """Somebody else owns this session: a process by its lock, or a program by its lease.

    :shape: as `JournalError`, without a line; of a lock the sentence has the holder's pid
    :units: none
    :errors: raised where a session is opened for writing
    :source: ours, docs/stores.md
    """


class JournalStore(LogStore):
    """The `Store` of one journal file. Made by `open_store`, which holds the lock around it."""

    def __init__(
        self,
        journal: Journal,
        descriptor: int,
        line_bytes_max: int,
        on_warning: Callable[[str], None],
    ) -> None:
        """An open journal, the descriptor to append by, and who is told of a torn tail."""
        super().__init__(journal, line_bytes_max, on_warning)
        self._descriptor = descriptor
        self._end_bytes = 0
        self._synced = False  # an earlier writer may have died before its barrier
        self._doubtful = False  # after a failed fsync a system may say yes to what it has lost
        self._residue_bytes: int | None = None  # the length with what a write has left incomplete

    async def flush(self) -> bool:
        """Whether the file's content is on the disk. After one failure it never is: open it again."""
        if self._synced or self._doubtful:
            return not self._doubtful
        end_bytes, known = self._end_bytes, self._next_seq is not None
        try:
            # Abandoned only when the caller's deadline for the barrier has passed.
            await anyio.to_thread.run_sync(os.fsync, self._descriptor, abandon_on_cancel=True)
        except OSError:
            self._doubtful = True
            return False
        self._synced = known and end_bytes == self._end_bytes
        return True

    def _note_end(self) -> None:
        self._end_bytes = self.journal.sound_bytes
        if self.journal.warning is not None:
            self._residue_bytes = self.journal.length_bytes

    def _write(self, events: Sequence[Event]) -> None:
        batch = self._encode(events)
        try:
            self._cut_residue(self._end_bytes)
            self._write_bytes(batch, self._end_bytes)
        except OSError as error:
            problem, remedy = explain_os_error(error), "check the disk; nothing was kept"
            raise JournalError(self.path, problem, remedy) from error
        self._end_bytes, self._synced = self._end_bytes + len(batch), False
        self.journal.note((batch,), len(events))

    def _cut_residue(self, end_bytes: int) -> None:
        """Cut a torn tail, or one's own failed write; what somebody else may have written stays."""
        length = os.fstat(self._descriptor).st_size
        if length > end_bytes and length == self._residue_bytes:
            os.ftruncate(self._descriptor, end_bytes)
            self._residue_bytes = None
        elif length != end_bytes:
            raise StaleWriterError(
                self.path, "somebody else wrote to the journal", "stop the other writer"
            )

    def _write_bytes(self, batch: bytes, end_bytes: int) -> None:
        written = 0
        try:
            while written < len(batch):
                written += os.write(self._descriptor, batch[written:])
        except OSError:
            with suppress(OSError):
                self._residue_bytes = os.fstat(self._descriptor).st_size
                os.ftruncate(self._descriptor, end_bytes)
                self._residue_bytes = None
            raise

    def _encode(self, events: Sequence[Event]) -> bytes:
        batch = b"".join(encode_line(encode_event(event)) for event in events)
        return compress(batch, self.journal.path) if self.journal.compressed else batch


@contextmanager
def open_store(
    path: Path,
    line_bytes_max: int = LINE_BYTES_MAX,
    on_warning: Callable[[str], None] = lambda _: None,
    *,
    alone: bool = True,
) -> Iterator[LogStore]:
    """The store of a session directory, its writer lock held as long as the block lasts.

    With `alone=False` a database is written to without the lock: whoever has not seen the latest event
    is refused at the barrier, and reads again.

    :shape: `on_warning` is told in a sentence, once the log was read, of a torn tail that the next
        append will cut
    :units: `line_bytes_max` in bytes
    :errors: `OwnedError` while another process holds the lock, `JournalError` where there is no
        journal; while it is open, what `Store` says, `StaleWriterError` where somebody else wrote
    :source: ours, docs/stores.md
    """
    place = locate_journal(path)
    in_table = place.name == STORE_NAMES["sqlite"]
    lease = nullcontext() if in_table and not alone else hold_lock(place.parent)
    with open_journal(place, line_bytes_max):
        pass  # what is no session gets no lock; nothing is believed that was read before it
    with lease, open_journal(place, line_bytes_max) as journal:
        finish_creation(place)
        refuse_tricks(place)
        if in_table:
            from wakefold_shell.stores.table_store import TableStore  # noqa: PLC0415 - few need SQLite
            from wakefold_shell.stores.tables import connect_table  # noqa: PLC0415 - as above

            with closing(connect_table(place)) as connection:
                yield TableStore(journal, connection, line_bytes_max, on_warning)
        else:
            with _open_to_append(place) as descriptor:
                yield JournalStore(journal, descriptor, line_bytes_max, on_warning)


def finish_creation(place: Path) -> None:
    """Take away the second name of a store whose creator died before it could."""
    scratch = _name_scratch(place)
    with refusals(place), suppress(FileNotFoundError):
        if scratch.samefile(place):
            scratch.unlink()


def refuse_tricks(place: Path) -> None:
    """Refuse to write through another name of a file: a symbolic link, or a second hard link."""
    with refusals(place):
        link, status = place.is_symlink(), place.stat()
    if link:
        raise JournalError(place, "this is a symbolic link", "name the file itself")
    if status.st_nlink > 1:
        raise JournalError(place, "this file has several names", "keep one of the hard links")


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


def choose_store(directory: Path, kind: StoreKind | None) -> Path:
    """What to open in a session directory: what is there, or the store of a kind."""
    return directory if kind is None else directory / STORE_NAMES[kind]


def create_session(directory: Path, header: Header, kind: StoreKind = "journal") -> None:
    """A new session directory with a store that holds its header alone, durable on return.

    :shape: `kind` is `journal`, `zstd` or `sqlite`; a header's `seed_length` is not written, a new
        session inherits nothing
    :units: as `Header`
    :errors: `JournalError` if there is one already, or the system refuses
    :source: ours, docs/stores.md
    """
    line = encode_header(header, show_path(directory.absolute()))
    write_new_store(directory, kind, [line])


def write_new_store(directory: Path, kind: StoreKind, lines: Iterable[bytes]) -> Path:
    """A new store of a session, from the lines that a journal has, the header first; its file.

    Raises `JournalError` if there is one already or the system refuses; nothing half written is left.
    """
    place = directory / STORE_NAMES[kind]
    scratch = _name_scratch(place)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any((directory / name).exists() for name in FILE_NAMES):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        _write_lines(scratch, kind, lines)
        os.link(scratch, place)  # refuses where somebody was faster
        scratch.unlink(missing_ok=True)  # whoever opened the session meanwhile has taken it away
        _sync_directory(directory)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise JournalError(place, explain_os_error(error), "choose another directory") from error
    return place


def _name_scratch(place: Path) -> Path:
    """Where a store is written before it gets its name."""
    return place.parent / f".{place.name}.new"


def _write_lines(place: Path, kind: StoreKind, lines: Iterable[bytes]) -> None:
    """A new file that holds lines, durable."""
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
        if kind == "sqlite":
            from wakefold_shell.stores.tables import fill_table  # noqa: PLC0415 - few need SQLite

            fill_table(place, lines)
        file.writelines(() if kind == "sqlite" else _batch(lines, place, compressed=kind == "zstd"))
        file.flush()
        os.fsync(descriptor)


def _batch(lines: Iterable[bytes], place: Path, *, compressed: bool) -> Iterator[bytes]:
    """Lines as a file holds them: as they are, or in frames, the header in one of its own."""
    if not compressed:
        yield from lines
        return
    rest = iter(lines)
    yield compress(next(rest), place)
    while batch := b"".join(islice(rest, _LINES_A_FRAME)):
        yield compress(batch, place)


def remove_session(directory: Path) -> None:
    """Take back a session that was just created and came to nothing.

    Where somebody lives in it by now, or has written to it, it is theirs and stays.
    """
    with suppress(OwnedError, OSError), hold_lock(directory):
        place = locate_journal(directory)
        with open_journal(place) as journal:
            if any(True for _ in journal.read_events()):
                return
        for path in (*directory.glob(f"{place.name}*"), directory / LOCK_NAME):
            path.unlink()
        directory.rmdir()


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
