"""The checkpoint beside a session's log: found, proven, believed or not, and written anew.

Whoever holds the writer's lock writes it, when the log has grown enough, at rest and never on the way
of a barrier. It is disposable: written without fsync, under another name first, and whatever is wrong
with it is one warning, after which the whole log is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from msgspec import Struct
from returns.pipeline import is_successful

from wakefold import Profile
from wakefold.checkpoints import Checkpoint, extend_checkpoint
from wakefold.guard_config import GuardConfig
from wakefold.snapshots import decode_checkpoint, encode_checkpoint
from wakefold_shell.errors import explain_os_error, show_path
from wakefold_shell.files import put_file
from wakefold_shell.stores.journals import Journal
from wakefold_shell.stores.logs import LogStore

GROWTH_BYTES: Final = 4 * 1024 * 1024
"""How much a log must have grown before another checkpoint is worth its writing."""

GROWTH_LINES: Final = 10_000
"""The same in lines, which may be short, or compressed."""


class Reading(Struct, frozen=True):
    """How a log is read: `reset_kinds` is `None` where nobody asks for its wakeups."""

    profile: Profile
    reset_kinds: Collection[str] | None = None

    @classmethod
    def under(cls, profile: Profile, limits: GuardConfig | None) -> Reading:
        """How a session is read under a profile, with the guard's limits where it is on."""
        return cls(profile, None if limits is None else limits.reset_kinds)


def name_checkpoint(place: Path) -> Path:
    """Where the checkpoint of a log lies: beside it, named like it."""
    return place.with_name(f"{place.name}.checkpoint")


def recall_checkpoint(
    journal: Journal, reading: Reading, tell: Callable[[str], None]
) -> Checkpoint | None:
    """What a journal just opened had come to, if that is kept and proven; then only the rest is read.

    Every byte of the log that it stands for is hashed. Where it does not serve, `tell` hears why, and
    the journal is read from its beginning.
    """
    place = name_checkpoint(journal.path)
    try:
        found = _judge(_read(place), journal, reading)
    except FileNotFoundError:
        return None
    except OSError as error:
        found = explain_os_error(error)
    if isinstance(found, Checkpoint):
        return found
    tell(f"{show_path(place)}: {found}; it is ignored and the whole log is read.")
    return None


def _judge(content: bytes, journal: Journal, reading: Reading) -> Checkpoint | str:
    """What a file's content says of a journal, if it is proven; else why it is not."""
    decoded = decode_checkpoint(
        content,
        session_id=journal.header.id,
        seed_length=journal.header.seed_length,
        profile=reading.profile,
        reset_kinds=reading.reset_kinds,
    )
    if not is_successful(decoded):
        return decoded.failure().reason
    snapshot = decoded.unwrap()
    if not journal.skip(snapshot.prefix, snapshot.checkpoint.ledger.position):
        return "the log does not begin as it did when this was made"
    return snapshot.checkpoint


class CheckpointKeeper:
    """Keeps the checkpoint of one session that is lived in; `tell` hears what goes wrong with it."""

    def __init__(
        self, store: LogStore, reading: Reading, tell: Callable[[str], None], *, wanted: bool = True
    ) -> None:
        """The store, before its log is read for the first time; unless wanted, nothing is done."""
        self._wanted = wanted
        self._store, self._reading, self._tell = store, reading, tell
        self._checkpoint: Checkpoint | None = None
        self._kept = (0, 0)
        self._unbelieved = self._failed = False

    def recall(self) -> Checkpoint | None:
        """Where the log may be read on from, if there is such a place."""
        if not self._wanted:
            return None
        journal = self._store.journal
        checkpoint = recall_checkpoint(journal, self._reading, self._complain)
        if checkpoint is None:
            journal.rewind(track=True)
        else:
            self._kept = journal.extent
        return checkpoint

    def keep(self, checkpoint: Checkpoint | None) -> None:
        """Take what the log had come to when it was read, and write it down if it is worth it."""
        self._checkpoint = checkpoint
        self.renew()

    def renew(self) -> None:
        """Write a checkpoint of all that is in the log, if it has grown enough since the last one."""
        if self._failed or not (self._unbelieved or self._has_grown()):
            return
        prefix, before = self._store.measure(), self._checkpoint
        if prefix is None or before is None or self._store.next_seq is None:
            return  # it was not measured, or not read to its end
        extended = extend_checkpoint(before, self._store.read_events(before.ledger.position))
        if not is_successful(extended):
            return  # the owner tells of it
        checkpoint = self._checkpoint = extended.unwrap()
        if checkpoint.ledger.position != self._store.next_seq:
            return
        place = name_checkpoint(self._store.path)
        try:
            put_file(place, encode_checkpoint(checkpoint, prefix))
        except (OSError, ValueError) as error:
            self._failed = True
            why = explain_os_error(error) if isinstance(error, OSError) else "a message cannot be kept"
            self._tell(f"{show_path(place)}: {why}; without it the next start reads the whole log.")
        else:
            self._kept, self._unbelieved = (prefix.length_bytes, prefix.lines), False

    def _has_grown(self) -> bool:
        length_bytes, lines = self._store.journal.extent
        grown = (length_bytes - self._kept[0], lines - self._kept[1])
        return grown[0] >= GROWTH_BYTES or grown[1] >= GROWTH_LINES

    def _complain(self, sentence: str) -> None:
        self._unbelieved = True
        self._tell(sentence)


def _read(place: Path) -> bytes:
    """A regular file's content; a pipe in its place is not waited for."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
