"""What a session of a fleet has come to: its checkpoint, read on with the lines since.

The checkpoint lies in the database that holds the log, and is written in the same transaction, so that
nothing needs to be proven: it is believed where it serves this kind of reading. This module decides
when another one is due. It refuses to know what is done with what it gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from returns.pipeline import is_successful

from wakefold import SEED, Profile
from wakefold.checkpoints import Checkpoint, begin_checkpoint
from wakefold.guard_config import GuardConfig
from wakefold.snapshots import Prefix, decode_checkpoint, encode_checkpoint
from wakefold.wakeups import RESET_KINDS
from wakefold_shell.fleet.databases import Connection
from wakefold_shell.fleet.leases import name_place
from wakefold_shell.fleet.tables import SessionRow, read_lines, write_checkpoint
from wakefold_shell.stores.journals import Journal, read_on
from wakefold_shell.stores.lines import BEGINNING, LINE_BYTES_MAX, NO_OFFSET, Cursor, Note, Place
from wakefold_shell.stores.logs import PARSED_TYPES
from wakefold_shell.stores.rows import Header

GROWTH_EVENTS: Final = 200
"""How many events are read beyond a checkpoint before another is worth its writing."""

_STATE: Final = """
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms, kept.content,
        ARRAY(
            SELECT data FROM session_log
            WHERE session_id = $1 AND seq >= coalesce(kept.seq, 0) ORDER BY seq
        ) AS lines
    FROM (VALUES ($1::text)) AS wanted (session_id) LEFT JOIN checkpoint AS kept USING (session_id)
"""


class Policy(Struct, frozen=True, kw_only=True):
    """How the sessions of a fleet are read and written: the same for all, and in all its workers.

    `limits` are the guard's, where it is on. Under protocol 1 tools write version 1 alone.

    :shape: `limits` is a `GuardConfig`, or `None` where no guard is on
    :units: none
    :errors: none
    :source: spec section 12; ours, docs/fleet.md
    """

    profile: Profile = SEED
    limits: GuardConfig | None = None
    protocol: Literal[1, 2] = 2


class State(Struct, frozen=True):
    """A session at an instant of the database's clock; `kept_seq` is where its checkpoint ends."""

    header: Header
    checkpoint: Checkpoint
    now_ms: int
    kept_seq: int


class _Rows:
    """Lines in memory, as a journal reads them."""

    compressed = False

    def __init__(self, header: bytes, lines: Sequence[bytes]) -> None:
        self._header, self._lines = header, lines

    def read_lines(
        self, line_bytes_max: int, cursor: Cursor, note: Note | None = None
    ) -> Iterator[bytes]:
        del line_bytes_max, note
        cursor.offset_bytes = NO_OFFSET
        if cursor.start == BEGINNING:
            yield self._header + b"\n"
        for line in self._lines:
            cursor.number += 1
            yield line + b"\n"

    def read_prefix(self, end: Place) -> Iterator[bytes]:
        del end
        return iter(())

    def measure(self) -> int:
        return 0

    def close(self) -> None:
        """There is nothing to let go."""


async def read_state(connection: Connection, key: str, session: SessionRow, policy: Policy) -> State:
    """What a session has come to, by the clock of now; `JournalError` where its log is damaged.

    Its row must be locked already, so that nothing is written between the clock and the end.
    """
    row = await connection.fetchrow(_STATE, key)
    assert row is not None  # noqa: S101 - one row, whatever the tables hold
    content, lines = row["content"], row["lines"]
    journal = _open(key, session, lines)
    kept = None if content is None else _recall(content, journal.header, policy)
    if content is not None and kept is None:
        lines = await read_lines(connection, key, 0)
    start = _begin(journal.header, policy) if kept is None else kept
    place = start.ledger.position
    journal = _open(key, session, lines)
    if place:
        journal.move(Place(place, 1, 1))
    checkpoint = read_on(journal, start, journal.read_events(PARSED_TYPES))
    if journal.next_seq != session.next_seq:
        raise journal.locate("the log does not end where the session says", "restore the database")
    return State(journal.header, checkpoint, row["now_ms"], place)


async def keep_checkpoint(
    connection: Connection, key: str, session_id: str, checkpoint: Checkpoint, kept_seq: int
) -> None:
    """Write down what a session has come to, if it has grown enough."""
    position = checkpoint.ledger.position
    if position - kept_seq < GROWTH_EVENTS:
        return
    try:
        content = encode_checkpoint(checkpoint, Prefix(session_id, 0, 0, ""))
    except ValueError:
        return  # a message that waits holds what cannot be written down: the tail is read meanwhile
    await write_checkpoint(connection, key, position, content)


def _open(key: str, session: SessionRow, lines: Sequence[bytes]) -> Journal:
    return Journal(name_place(key), _Rows(session.header, lines), LINE_BYTES_MAX)


def _begin(header: Header, policy: Policy) -> Checkpoint:
    kinds = RESET_KINDS if policy.limits is None else policy.limits.reset_kinds
    return begin_checkpoint(header.seed_length, policy.profile, kinds)


def _recall(content: bytes, header: Header, policy: Policy) -> Checkpoint | None:
    decoded = decode_checkpoint(
        content,
        session_id=header.id,
        seed_length=header.seed_length,
        profile=policy.profile,
        reset_kinds=None if policy.limits is None else policy.limits.reset_kinds,
    )
    return decoded.unwrap().checkpoint if is_successful(decoded) else None
