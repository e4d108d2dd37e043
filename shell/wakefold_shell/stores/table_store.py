"""A session's SQLite database held by a writer: transactions in place of fsync, and an outbox.

A hand-over's message, its dispatches and its rows of the outbox stand or fall together, so that there
is no moment in which one is durable without the others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from threading import Lock

from wakefold import Event
from wakefold.json_text import format_json
from wakefold_shell.stores.journals import Journal
from wakefold_shell.stores.logs import StaleWriterError
from wakefold_shell.stores.rows import encode_event, encode_line
from wakefold_shell.stores.tables import insert_line
from wakefold_shell.stores.transaction_store import TransactionStore


class TableStore(TransactionStore):
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
        self._one_at_a_time = Lock()  # as the barriers come in threads of their own

    def _commit(self, events: Sequence[Event]) -> bool:
        """Whether the events are durable; runs in a worker thread."""
        session_id = self.journal.header.id
        lines = [encode_line(encode_event(event)).removesuffix(b"\n") for event in events]
        with self._one_at_a_time:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    for line in self._refuse_stale(self._list_lines(events[0].seq), lines):
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

    def _list_lines(self, seq: int) -> list[bytes]:
        rows = self._connection.execute(
            "SELECT line FROM log WHERE session_id = ? AND seq >= ? ORDER BY seq",
            (format_json(self.journal.header.id), seq),
        )
        return [line for (line,) in rows]
