"""Looking after a session's store: what is wrong, mending a torn tail, and moving to another store.

Nothing here changes a session but `cut_torn_tail`, and that keeps what it cuts.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal

from msgspec import Struct

from wakefold import Event, Ledger, Profile, either, fold, list_active
from wakefold.conversations import Conversation, follow
from wakefold.rejections import shorten
from wakefold.retargets import ZONELESS_REMEDY, describe_zoneless, list_moves, list_zoneless
from wakefold_shell.errors import JournalError, show_time
from wakefold_shell.stores.checkpoints import Reading, name_checkpoint, recall_checkpoint
from wakefold_shell.stores.journal_store import (
    LOCK_NAME,
    OwnedError,
    hold_lock,
    write_new_store,
)
from wakefold_shell.stores.journals import (
    FILE_NAMES,
    Journal,
    StoreKind,
    explain_corruption,
    locate_journal,
    open_journal,
)
from wakefold_shell.stores.lines import LINE_BYTES_MAX
from wakefold_shell.stores.logs import PARSED_TYPES
from wakefold_shell.stores.sources import refusals

#: How bad a finding is.
Level = Literal["fine", "note", "warning", "error"]


class Finding(Struct, frozen=True):
    """One thing that was looked at: what was found, and what is safe to do about it."""

    level: Level
    what: str
    remedy: str = ""


def examine(
    path: Path, now_ms: int, profile: Profile, line_bytes_max: int = LINE_BYTES_MAX
) -> list[Finding]:
    """What is to be said of a session as of an instant. Nothing is changed."""
    try:
        place = locate_journal(path)
        with refusals(place):
            around = [*_look_at_files(place), *_look_at_owner(place.parent)]
    except JournalError as error:
        return [Finding("error", str(error), "give a session directory")]
    found = list(_look_at_log(place, now_ms, profile, line_bytes_max))
    if not any(finding.level == "error" for finding in found):
        around += _look_at_checkpoint(place, profile, line_bytes_max)
    return [*around, *found]


def cut_torn_tail(path: Path, line_bytes_max: int = LINE_BYTES_MAX) -> Path | None:
    """Cut what the last write left incomplete, and keep a copy of the whole file; the copy, if any.

    Raises `JournalError` where anything else is wrong, or where somebody lives in the session.
    """
    place = locate_journal(path)
    with hold_lock(place.parent), refusals(place):
        with open_journal(place, line_bytes_max) as journal:
            for _ in journal.read_events():
                pass
            torn, sound_bytes = journal.warning is not None, journal.sound_bytes
        if not torn:
            return None
        backup = place.with_name(f"{place.name}.torn-at-{sound_bytes}")
        with place.open("rb") as source, backup.open("xb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        backup.chmod(0o600)
        with place.open("r+b") as file:
            file.truncate(sound_bytes)
            os.fsync(file.fileno())
        return backup


def convert_session(
    path: Path, directory: Path, kind: StoreKind, line_bytes_max: int = LINE_BYTES_MAX
) -> tuple[Path, str | None]:
    """Write a session into a new directory, as another store; its file, and a torn tail's warning.

    Every line goes over as it is, events that this program does not know included. The session itself
    is not changed, and nobody may live in it meanwhile.
    """
    with hold_still(path, line_bytes_max) as journal:
        return write_new_store(directory, kind, journal.read_lines()), journal.warning


@contextmanager
def hold_still(path: Path, line_bytes_max: int = LINE_BYTES_MAX) -> Iterator[Journal]:
    """A journal that was read and is sound to its end, to be read once more inside the block.

    Nobody may live in the session meanwhile: `OwnedError`, and `JournalError` for what is not sound.
    """
    place = locate_journal(path)
    # Where nobody ever lived there is no lock, and none is left behind.
    lived_in = (place.parent / LOCK_NAME).exists()
    with (
        hold_lock(place.parent) if lived_in else nullcontext(),
        open_journal(place, line_bytes_max) as journal,
    ):
        for _ in journal.read_events():
            pass
        journal.rewind()
        yield journal


def _look_at_files(place: Path) -> Iterator[Finding]:
    kept = name_checkpoint(place)
    beside = ((kept, 0o600),) if kept.exists() else ()
    for path, allowed in ((place, 0o600), *beside, (place.parent, 0o700)):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & ~allowed:
            what = f"{path.name} may be read or written by others (mode {mode:04o})"
            yield Finding("warning", what, f"chmod {allowed:o} it")
    if place.is_symlink():
        yield Finding("warning", f"{place.name} is a symbolic link", "nothing is written through it")
    elif place.stat().st_nlink > 1:
        yield Finding("warning", f"{place.name} has several names", "keep one of the hard links")
    others = [name for name in FILE_NAMES if name != place.name and (place.parent / name).exists()]
    if others:
        yield Finding("warning", f"{', '.join(others)} lies beside {place.name}", "keep one of them")


def find_owner(directory: Path) -> str | None:
    """Who owns a session, in words; `None` if nobody does."""
    if not (directory / LOCK_NAME).exists():
        return None
    try:
        with hold_lock(directory):
            return None
    except OwnedError as error:
        return str(error).partition(": ")[2].partition(";")[0]


def _look_at_owner(directory: Path) -> Iterator[Finding]:
    owner = find_owner(directory)
    if owner is not None:
        yield Finding("note", owner)


def _look_at_checkpoint(place: Path, profile: Profile, line_bytes_max: int) -> Iterator[Finding]:
    """Whether a checkpoint, if there is one, would be believed."""
    complaints: list[str] = []
    with open_journal(place, line_bytes_max) as journal:
        checkpoint = recall_checkpoint(journal, Reading(profile), complaints.append)
    for complaint in complaints:
        yield Finding("warning", complaint, "the next runner writes another; it may be removed")
    if checkpoint is not None:
        kept = f"the checkpoint matches the log up to event {checkpoint.ledger.position}"
        yield Finding("fine", kept)


def _look_at_log(place: Path, now_ms: int, profile: Profile, line_bytes_max: int) -> Iterator[Finding]:
    conversation, latest_ms = Conversation(), 0
    events: list[Event] = []

    def keep(event: Event) -> Event:
        events.append(event)
        return event

    try:
        with open_journal(place, line_bytes_max) as journal:
            shown = map(keep, journal.read_events(PARSED_TYPES))
            folded = fold(shown, journal.header.seed_length, profile)
            problem = either(folded, lambda _: None, lambda fault: explain_corruption(journal, fault))
    except JournalError as error:
        remedy = "restore the file from a backup; nothing is written to it meanwhile"
        yield Finding("error", str(error), remedy)
        return
    if journal.warning is not None:
        remedy = "the next append cuts it, or 'wakefold repair --torn-tail' now"
        yield Finding("warning", journal.warning, remedy)
    if problem is not None:
        yield Finding("error", str(problem), "restore the file from a backup")
        return
    for event in events:
        conversation = follow(conversation, event)
        latest_ms = max(latest_ms, event.time_ms)
    yield from _look_at_clock(folded.unwrap(), latest_ms, now_ms)
    yield from _look_at_targets(folded.unwrap(), now_ms)
    if conversation.turn_open:
        yield Finding("note", f"turn {conversation.turn} is open", "the next runner closes it")
    if conversation.inbox:
        what = f"{len(conversation.inbox)} messages wait for the agent"
        yield Finding("note", what, "the next runner offers them")
    if journal.header.delegation_depth > 0:
        yield Finding("note", "this is a child session, which has no reminders")
    active = len(list_active(folded.unwrap()))
    yield Finding("fine", f"{len(events)} events, {active} active reminders")


def _look_at_targets(ledger: Ledger, now_ms: int) -> Iterator[Finding]:
    """What this tz database says of calendar rules that the log does not."""
    for move in list_moves(ledger, now_ms):
        stored, placed = show_time(move.record.scheduled_at_ms), show_time(move.target_ms)
        what = f"{shorten(move.record.id)} comes at {stored}, this tz database places it at {placed}"
        yield Finding("warning", what, "'wakefold retarget' shows it, and writes it with --yes")
    for record in list_zoneless(ledger):
        yield Finding("warning", describe_zoneless(record), ZONELESS_REMEDY)


def _look_at_clock(ledger: Ledger, latest_ms: int, now_ms: int) -> Iterator[Finding]:
    last_ms = ledger.last_accepted_at_ms
    if last_ms is not None and last_ms > now_ms:
        what = f"the last batch was accepted in the future, at {show_time(last_ms)}"
        yield Finding("warning", what, "no batch goes before that and 300 s more: set the clock right")
    if latest_ms > now_ms:
        what = f"the latest event is of the future, {show_time(latest_ms)}"
        yield Finding("warning", what, "the clock was, or is, wrong: set it right")
