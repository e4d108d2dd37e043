"""A session's SQLite database held by a writer: transactions in place of fsync, and an outbox.

What is appended is kept until the barrier, which commits all of it at once: a hand-over's message, its
dispatches and its rows of the outbox stand or fall together, so that there is no moment in which one
is durable without the others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from threading import Lock

import anyio.to_thread

from wakefold import Event
from wakefold.json_text import format_json
from wakefold.snapshots import Prefix
from wakefold_shell.stores.journals import Journal
from wakefold_shell.stores.logs import LogStore, StaleWriterError
from wakefold_shell.stores.rows import encode_event, encode_line
from wakefold_shell.stores.tables import insert_line


class TableStore(LogStore):
    """The `Store` of one database. Made by `open_store`, which holds the lock around it."""

    def __init__(
        self,
        journal: Journal,
        connection: sqlite3.Connection,
        line_bytes_max: int,
        on_warning: Callable[[str], None],
    ) -> None:
        """An open journal, and the connection to write by."""
        super().__init__(journal, line_bytes_max, on_warning)
        self._connection = connection
        self._one_at_a_time = Lock()  # a barrier whose deadline has passed may still be at work
        self._pending: list[Event] = []

    async def flush(self) -> bool:
        """Commit what was appended. `StaleWriterError` if somebody else has written meanwhile."""
        pending = list(self._pending)
        if not pending:
            return True  # what was read was committed, and so was all that was appended here
        if not await anyio.to_thread.run_sync(self._commit, pending, abandon_on_cancel=True):
            return False
        del self._pending[: len(pending)]
        self.journal.note(map(encode_line, map(encode_event, pending)), len(pending))
        return True

    def measure(self) -> Prefix | None:
        """What the log holds now, if all of it is committed."""
        return None if self._pending else super().measure()

    def _write(self, events: Sequence[Event]) -> None:
        self._pending.extend(events)

    def _commit(self, events: Sequence[Event]) -> bool:
        """Whether the events are durable; runs in a worker thread."""
        session_id = self.journal.header.id
        with self._one_at_a_time:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    self._refuse_stale(events[0].seq)
                    for event in events:
                        line = encode_line(encode_event(event)).removesuffix(b"\n")
                        insert_line(self._connection, session_id, line)
                    self._connection.execute("COMMIT")
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.IntegrityError as error:
                problem = f"the database refuses what was written twice ({error})"
                raise StaleWriterError(self.path, problem, "stop the other writer") from error
            except sqlite3.Error:
                return False
        return True

    def _refuse_stale(self, seq: int) -> None:
        row = self._connection.execute(
            "SELECT max(seq) FROM log WHERE session_id = ?", (format_json(self.journal.header.id),)
        ).fetchone()
        last = -1 if row[0] is None else row[0]
        if last >= seq:
            raise StaleWriterError(self.path, "somebody else wrote to the log", "stop the other writer")
