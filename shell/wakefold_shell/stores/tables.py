"""A session as an SQLite database: the same lines as in a journal file, one a row.

So every reader of journals reads it, and converting loses nothing. This module knows the schema and its
versions; what the lines mean is `rows`' and `journals`' business.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from wakefold.instants import MAX_SAFE_INTEGER
from wakefold.json_text import format_json
from wakefold_shell.errors import JournalError
from wakefold_shell.stores.lines import BEGINNING, Cursor, Note, Place
from wakefold_shell.stores.outboxes import OUTBOX_TYPES, find_taken, list_given
from wakefold_shell.stores.rows import read_header, read_row
from wakefold_shell.stores.sources import count_rows

BUSY_SECONDS: Final = 10.0
"""How long another process's transaction is waited for."""

# One script for each version of the schema, from the one before it.
_MIGRATIONS: Final = (
    """
    CREATE TABLE session (id TEXT PRIMARY KEY, header BLOB NOT NULL) STRICT;
    CREATE TABLE log (
        session_id TEXT NOT NULL REFERENCES session (id),
        seq INTEGER NOT NULL,
        line BLOB NOT NULL,
        PRIMARY KEY (session_id, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE outbox (
        session_id TEXT NOT NULL REFERENCES session (id),
        schedule_id TEXT NOT NULL,
        occurrence_ms INTEGER NOT NULL,
        message_id TEXT NOT NULL,
        message BLOB NOT NULL,
        taken_seq INTEGER,
        PRIMARY KEY (session_id, schedule_id, occurrence_ms)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX outbox_message ON outbox (session_id, message_id);
    """,
)

VERSION: Final = len(_MIGRATIONS)
"""The version of the schema, which the database keeps as its `user_version`."""


class TableSource:
    """The lines of a database, as a journal reads them: header first, then the log in order."""

    compressed = False

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """An open connection, for reading."""
        self._path, self._connection = path, connection

    def read_lines(
        self, line_bytes_max: int, cursor: Cursor, note: Note | None = None
    ) -> Iterator[bytes]:
        """All lines behind a cursor; a database has no torn ones."""
        lines = self._list_lines(cursor.start)
        with refusals(self._path):
            yield from count_rows(self._path, lines, line_bytes_max, cursor, note)

    def read_prefix(self, end: Place) -> Iterator[bytes]:
        """The lines before a place, as a journal file has them."""
        with refusals(self._path):
            yield from self._list_lines(BEGINNING, end.seq)

    def measure(self) -> int:
        """A database is measured by its rows, not here."""
        return 0

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _list_lines(self, start: Place, end_seq: int = MAX_SAFE_INTEGER) -> Iterator[bytes]:
        first_seq = start.seq
        if start == BEGINNING:
            first_seq = -MAX_SAFE_INTEGER  # a row before the first is damage, which must be seen
            for (header,) in self._connection.execute("SELECT header FROM session"):
                yield header + b"\n"
        lines = "SELECT line FROM log WHERE seq >= ? AND seq < ? ORDER BY seq"
        for (line,) in self._connection.execute(lines, (first_seq, end_seq)):
            yield line + b"\n"


@contextmanager
def open_table(path: Path) -> Iterator[TableSource]:
    """The lines of a database, read-only."""
    log = path.with_name(f"{path.name}-wal")
    quiet = not log.exists()  # nobody has it open to write: nothing need lie beside it
    with refusals(path), closing(_connect(path, "ro&immutable=1" if quiet else "ro")) as connection:
        _check_version(path, connection)
        yield TableSource(path, connection)


def connect_table(path: Path) -> sqlite3.Connection:
    """A database to write to, its schema brought up to date; `JournalError` if that cannot be."""
    with refusals(path):
        connection = _connect(path, "rwc")
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            _migrate(path, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def fill_table(path: Path, lines: Iterable[bytes]) -> None:
    """A new database of the lines that a journal has, the header first; `JournalError`."""
    rows = iter(lines)
    header = next(rows).removesuffix(b"\n")
    session_id = read_header(header).id
    with refusals(path), closing(connect_table(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO session VALUES (?, ?)", (format_json(session_id), header))
        for line in rows:
            insert_line(connection, session_id, line.removesuffix(b"\n"))
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def insert_line(connection: sqlite3.Connection, session_id: str, line: bytes) -> None:
    """One line of the log, in an open transaction, with what the outbox owes to it.

    A hand-over puts a row into the outbox for each occurrence, whose key refuses a second one; the
    turn that takes the message marks it, and unmarks it where it puts the message back.
    `sqlite3.IntegrityError` for a seq or an occurrence twice.
    """
    row = read_row(line, OUTBOX_TYPES)
    key = format_json(session_id)
    connection.execute("INSERT INTO log VALUES (?, ?, ?)", (key, row.seq, line))
    for given in list_given(row):
        back = connection.execute(
            "UPDATE outbox SET taken_seq = NULL WHERE session_id = ? AND message_id = ?"
            " AND taken_seq IS NOT NULL",
            (key, _name_message(given.message_id)),
        )
        for schedule_id, occurrence_ms in () if back.rowcount else given.occurrences:
            name, message = format_json(schedule_id), given.message.encode()
            connection.execute(
                "INSERT INTO outbox VALUES (?, ?, ?, ?, ?, NULL)",
                (key, name, occurrence_ms, _name_message(given.message_id), message),
            )
    taken = find_taken(row)
    if taken is not None:
        connection.execute(
            "UPDATE outbox SET taken_seq = ? WHERE session_id = ? AND message_id = ?",
            (row.seq, key, _name_message(taken)),
        )


def _name_message(message_id: str) -> str:
    """A message's id as the outbox has it; half a character, which SQLite does not take, is escaped."""
    return message_id.encode("utf-8", "backslashreplace").decode()


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """SQLite's refusals inside the block, as errors of the journal."""
    try:
        yield
    except sqlite3.Error as error:
        problem = f"the database refuses ({error})"
        raise JournalError(path, problem, "check the path, its rights and the disk") from error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _migrate(path: Path, connection: sqlite3.Connection) -> None:
    if _check_version(path, connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _check_version(path, connection)  # another process may have been first
        for number, script in enumerate(_MIGRATIONS[version:], version + 1):
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _check_version(path: Path, connection: sqlite3.Connection) -> int:
    ((version,),) = connection.execute("PRAGMA user_version")
    if version > VERSION:
        problem = f"the database has version {version}, this program knows up to {VERSION}"
        raise JournalError(path, problem, "use the program that made it, or a later one")
    return int(version)
