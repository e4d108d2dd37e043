"""Moving sessions between directories and PostgreSQL: every line as it is, compared after the move.

A move can be begun again: what is there already is compared and left. This module decides when two logs
are the same session; it refuses to know what their lines mean. A session that came in is looked at by
the fleet within a minute.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from wakefold.instants import MAX_SAFE_INTEGER
from wakefold.json_text import parse_json
from wakefold_shell.errors import JournalError
from wakefold_shell.fleet.databases import Connection
from wakefold_shell.fleet.leases import name_place
from wakefold_shell.fleet.links import Link
from wakefold_shell.fleet.postgres_store import PostgresSource
from wakefold_shell.fleet.tables import (
    Line,
    insert_lines,
    insert_session,
    list_keys,
    name_key,
    read_line,
    read_now_ms,
    read_page,
    read_session,
    write_wake,
)
from wakefold_shell.stores.care import hold_still
from wakefold_shell.stores.journal_store import write_new_store
from wakefold_shell.stores.journals import FILE_NAMES, Journal, StoreKind, open_journal
from wakefold_shell.stores.sources import refusals
from wakefold_shell.supervisors import find_sessions

_BATCH_LINES: Final = 500
_BATCH_BYTES: Final = 4 * 1024 * 1024


class Move(Struct, frozen=True):
    """One session that is in both places, with so many lines, the header's not counted.

    `new` where it was moved just now; `later` is how many lines the database has beyond those.
    """

    session_id: str
    path: Path
    lines: int
    later: int = 0
    new: bool = True
    warning: str | None = None


class Refusal(Struct, frozen=True):
    """One session that was not moved, and why; nothing of it was written."""

    path: Path
    sentence: str


def find_journals(root: Path) -> list[Path]:
    """The sessions below a directory, or the one that a path names; `JournalError`."""
    with refusals(root):
        found = [root] if root.is_file() else sorted(find_sessions(root))
    if not found:
        raise JournalError(root, "no session lies here", "give a directory with sessions below it")
    return found


def import_sessions(link: Link, paths: Iterable[Path], line_bytes_max: int) -> Iterator[Move | Refusal]:
    """Move sessions into the database, each in a transaction of its own.

    One that cannot be moved keeps no other from it; a database that cannot be used ends all
    (`FleetError`), and what was moved until then is there.
    """
    for path in paths:
        try:
            yield import_session(link, path, line_bytes_max)
        except JournalError as error:
            yield Refusal(path, str(error))


def import_session(link: Link, path: Path, line_bytes_max: int) -> Move:
    """Move one session into the database; the one in the directory stays as it is.

    Nobody may live in it meanwhile. `JournalError` where it is not sound, or the database holds a
    session of that id with other lines.
    """
    with hold_still(path, line_bytes_max) as journal:
        return link.run(partial(_take_in, journal=journal))


def export_sessions(
    link: Link, directory: Path, kind: StoreKind, line_bytes_max: int
) -> Iterator[Move | Refusal]:
    """Write all sessions of the database below a directory, each into one named after its id."""
    key = ""
    while keys := link.run(partial(list_keys, after=key)):
        for key in keys:
            session_id = str(parse_json(key))
            path = directory / name_directory(session_id)
            try:
                yield export_session(link, session_id, path, kind, line_bytes_max)
            except JournalError as error:
                yield Refusal(path, str(error))


def export_session(
    link: Link, session_id: str, directory: Path, kind: StoreKind, line_bytes_max: int
) -> Move:
    """Write one session of the database into a directory; in the database it stays as it is.

    `JournalError` where there is none, or the directory holds another, or an older state of it.
    """
    key = name_key(session_id)
    with refusals(directory):
        new = not any((directory / name).exists() for name in FILE_NAMES)
    if new:
        stored = Journal(name_place(key), PostgresSource(link, key), line_bytes_max)
        write_new_store(directory, kind, stored.read_lines())
    with open_journal(directory, line_bytes_max) as journal:
        lines, later = link.run(partial(_compare, journal=journal, key=key))
        if later and not new:
            problem = f"the database has gone on by {later} lines since this was written"
            raise JournalError(journal.path, problem, "choose another directory")
        return Move(session_id, directory, lines, later, new=new)


def name_directory(session_id: str) -> str:
    """What the directory of a session is called: its id, with what no name may hold escaped."""
    name = quote(session_id, safe="", errors="surrogatepass")
    return f"%2E{name[1:]}" if name.startswith(".") else name


async def _take_in(connection: Connection, journal: Journal) -> Move:
    key, end = name_key(journal.header.id), journal.next_seq
    if end is None:
        problem = "a packed row at the end leaves open where the log ends"
        raise JournalError(journal.path, problem, "let its own program write one more event first")
    rows = (line.removesuffix(b"\n") for line in journal.read_lines())
    async with connection.transaction():
        new = await insert_session(connection, key, next(rows))
        for batch in _batch(map(read_line, rows)) if new else ():
            await insert_lines(connection, key, batch, end, again=True)
        journal.rewind()
        lines, later = await _compare(connection, journal, key)
        if new:
            await write_wake(connection, key, await read_now_ms(connection))
    return Move(journal.header.id, journal.path, lines, later, new=new, warning=journal.warning)


def _batch(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Lines in pieces that fit into memory."""
    batch: list[Line] = []
    length_bytes = 0
    for line in lines:
        batch.append(line)
        length_bytes += len(line.data)
        if len(batch) == _BATCH_LINES or length_bytes >= _BATCH_BYTES:
            yield batch
            batch, length_bytes = [], 0
    if batch:
        yield batch


async def _compare(connection: Connection, journal: Journal, key: str) -> tuple[int, int]:
    """How many lines a journal has that the database has, too, and how many more that one has.

    `JournalError` where the database does not begin with all of them.
    """
    lines, number, later = journal.read_lines(), 0, 0
    async for stored in _list_stored(connection, key):
        line = next(lines, None)
        if line is None:
            later += 1
        elif line == stored + b"\n":
            number += 1
        else:
            raise _refuse(journal, f"holds session {key} with another line {number + 1}")
    if next(lines, None) is not None:
        raise _refuse(journal, f"holds session {key} up to line {number} only")
    return max(number - 1, 0), later


async def _list_stored(connection: Connection, key: str) -> AsyncIterator[bytes]:
    """The lines that the database has of a session, its header first; none where there is none."""
    session = await read_session(connection, key)
    if session is None:
        return
    yield session.header
    start = -MAX_SAFE_INTEGER
    while rows := await read_page(connection, key, start, MAX_SAFE_INTEGER, MAX_SAFE_INTEGER):
        for _, line in rows:
            yield line
        start = rows[-1][0] + 1


def _refuse(journal: Journal, difference: str) -> JournalError:
    problem = f"the database {difference}"
    return JournalError(journal.path, problem, "nothing was changed, keep one of the two")
