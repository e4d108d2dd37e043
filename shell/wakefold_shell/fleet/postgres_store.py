"""A session in PostgreSQL, held by a program that lives in it: the same lines, one a row.

So every reader of journals reads it, and moving loses nothing. The barrier is the commit, as it is with
SQLite. This module decides how a log is read in pages and written in one transaction; it refuses to
know when. It serves asyncio and trio, for its connection has a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Final

from asyncpg import UniqueViolationError

from wakefold import Event
from wakefold.instants import MAX_SAFE_INTEGER
from wakefold_shell.errors import JournalError
from wakefold_shell.fleet.databases import Connection, FleetError
from wakefold_shell.fleet.leases import name_place, take_lease
from wakefold_shell.fleet.links import Link, open_link
from wakefold_shell.fleet.schema import check_schema
from wakefold_shell.fleet.tables import (
    Line,
    encode_lines,
    insert_lines,
    name_key,
    read_lines,
    read_now_ms,
    read_page,
    read_session,
    write_wake,
)
from wakefold_shell.stores.journals import Journal
from wakefold_shell.stores.lines import BEGINNING, LINE_BYTES_MAX, Cursor, Note, Place
from wakefold_shell.stores.logs import StaleWriterError
from wakefold_shell.stores.sources import count_rows
from wakefold_shell.stores.transaction_store import TransactionStore

_CREATE: Final = "create it first, or import it with 'wakefold fleet import'"


class PostgresSource:
    """The lines of a session, as a journal reads them: header first, then the log in order."""

    compressed = False

    def __init__(self, link: Link, key: str) -> None:
        """A link to the database, and the session's key."""
        self._link, self._key, self._path = link, key, name_place(key)

    def read_lines(
        self, line_bytes_max: int, cursor: Cursor, note: Note | None = None
    ) -> Iterator[bytes]:
        """All lines behind a cursor; a database has no torn ones."""
        lines = self._list_lines(cursor.start, MAX_SAFE_INTEGER, line_bytes_max)
        yield from count_rows(self._path, lines, line_bytes_max, cursor, note)

    def read_prefix(self, end: Place) -> Iterator[bytes]:
        """The lines before a place, as a journal file has them."""
        yield from self._list_lines(BEGINNING, end.seq, MAX_SAFE_INTEGER)

    def measure(self) -> int:
        """A database is measured by its rows, not here."""
        return 0

    def close(self) -> None:
        """The link is somebody else's to close."""

    def _list_lines(self, start: Place, end_seq: int, line_bytes_max: int) -> Iterator[bytes]:
        seq = start.seq
        if start == BEGINNING:
            seq = -MAX_SAFE_INTEGER  # a row before the first is damage, which must be seen
            session = self._link.run(partial(read_session, key=self._key))
            if session is None:
                raise JournalError(self._path, "the database holds no such session", _CREATE)
            yield session.header + b"\n"
        page = partial(read_page, key=self._key, end=end_seq, line_bytes_max=line_bytes_max)
        while rows := self._link.run(partial(page, start=seq)):
            for _, line in rows:
                yield line + b"\n"
            seq = rows[-1][0] + 1


class PostgresStore(TransactionStore):
    """The `Store` of one session in PostgreSQL. Made by `open_postgres`, which sees to the lease.

    A server that goes away makes the barrier uncertain; the next barrier goes back to it, takes the
    lease anew, and finds out whether its lines are there.
    """

    def __init__(
        self, journal: Journal, link: Link, line_bytes_max: int, on_warning: Callable[[str], None]
    ) -> None:
        """An open journal, and the link to write by."""
        super().__init__(journal, line_bytes_max, on_warning)
        self._link, self._key = link, name_key(journal.header.id)
        self._trouble = ""

    async def flush(self) -> bool:
        """Commit what was appended; why it is uncertain is told as a warning. `StaleWriterError`."""
        durable = await super().flush()
        if not durable:
            self._on_warning(self._trouble)
        return durable

    def _open_again(self) -> AbstractContextManager[Journal]:
        source = PostgresSource(self._link, self._key)
        return nullcontext(Journal(self.path, source, self._line_bytes_max))

    def _commit(self, events: Sequence[Event]) -> bool:
        try:
            self._link.run(partial(self._insert, lines=encode_lines(events)))
        except FleetError as error:
            self._trouble = str(error)
            return False
        return True

    async def _insert(self, connection: Connection, lines: Sequence[Line]) -> None:
        first, last = lines[0].row.seq, lines[-1].row.seq
        try:
            async with connection.transaction():
                session = await read_session(connection, self._key, lock=True)
                there = await read_lines(connection, self._key, first)
                left = self._refuse_stale(there, [line.data for line in lines])
                if session is None or session.next_seq != first + len(there):
                    raise StaleWriterError(self.path, "the log ends elsewhere", "fold again")
                if left:
                    await insert_lines(connection, self._key, lines[len(there) :], last + 1)
                    # When this program has gone the fleet looks what came of it.
                    await write_wake(connection, self._key, await read_now_ms(connection))
        except UniqueViolationError as error:
            problem = "the database refuses what was written twice"
            raise StaleWriterError(self.path, problem, "stop the other writer") from error


@contextmanager
def open_postgres(
    dsn: str,
    session_id: str,
    line_bytes_max: int = LINE_BYTES_MAX,
    on_warning: Callable[[str], None] = lambda _: None,
) -> Iterator[PostgresStore]:
    """The store of a session in a database, its lease held as long as the block lasts.

    :shape: `dsn` is `postgresql://user@host/database`; `on_warning` is told in a sentence why a barrier
        was uncertain
    :units: `line_bytes_max` in bytes
    :errors: `OwnedError` while another program owns the session, `JournalError` where there is none,
        `FleetError` where the database cannot be used; while it is open, what `Store` says
    :source: ours, docs/fleet.md
    """
    key = name_key(session_id)

    async def prepare(connection: Connection) -> None:
        await check_schema(connection)
        await take_lease(connection, key)

    with open_link(dsn, prepare) as link:
        journal = Journal(name_place(key), PostgresSource(link, key), line_bytes_max)
        yield PostgresStore(journal, link, line_bytes_max, on_warning)
