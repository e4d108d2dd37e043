"""A newcomer's store, lawful and in one file, and the mistakes that newcomers make with it.

Each mistake is a class or a way of opening of its own, so that a test can name the law that catches it.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedRandom
from os import fdatasync
from pathlib import Path
from typing import cast

import anyio

from wakefold import Event
from wakefold_laws.store_laws import OpenStore
from wakefold_shell.protocols import Store


class LineStore:
    """A session in one file, an event a line. What a mistake changes is a method of its own."""

    seed_length = 0
    time_zone: str | None = None
    delegation_depth = 0

    def __init__(self, file: BufferedRandom, directory: Path) -> None:
        self.file, self.directory = file, directory
        self.events: list[Event] = []
        self.failed = False
        self.read_file()

    def read_file(self) -> None:
        sound_bytes = 0
        for line in self.file:
            if not line.endswith(b"\n"):
                break
            self.events.append(Event(*json.loads(line)))
            sound_bytes += len(line)
        self.file.truncate(sound_bytes)

    def read_events(self, start: int) -> Iterable[Event]:
        return self.events[start:]

    def append(self, events: Sequence[Event]) -> None:
        self.check_places(events)
        self.write(events)
        self.events += events

    def check_places(self, events: Sequence[Event]) -> None:
        end = len(self.events)
        if [event.seq for event in events] != list(range(end, end + len(events))):
            raise ValueError(f"the next event must have seq {end}: fold again")

    def write(self, events: Sequence[Event]) -> None:
        for event in events:
            self.file.write(self.encode(event))

    def encode(self, event: Event) -> bytes:
        return json.dumps([event.type, event.seq, event.time_ms, event.data]).encode() + b"\n"

    def close(self) -> None:
        pass

    async def flush(self) -> bool:
        try:
            self.sync()
        except OSError:
            self.failed = True
        return not self.failed

    def sync(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())


def open_lines(
    kind: Callable[[BufferedRandom, Path], LineStore] = LineStore,
    *,
    mode: str = "a+b",
    lock_name: str = "log.jsonl",
    locked: bool = True,
    name_synced: bool = True,
) -> OpenStore:
    """How a line store of a kind is opened."""

    @contextmanager
    def open_store(directory: Path) -> Iterator[LineStore]:
        with (directory / lock_name).open("ab") as lock:
            if locked:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with cast("BufferedRandom", (directory / "log.jsonl").open(mode)) as file:
                if name_synced:
                    sync_directory(directory)
                file.seek(0)
                store = kind(file, directory)
                yield store
                store.close()

    return open_store


def open_below(*, name_synced: bool) -> OpenStore:
    """How a line store is opened that lives in a directory which it makes itself."""

    @contextmanager
    def open_store(directory: Path) -> Iterator[Store]:
        below = directory / "below"
        below.mkdir(exist_ok=True)
        if name_synced:
            sync_directory(directory)
        with open_lines()(below) as store:
            yield store

    return open_store


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


class ForgettingFsync(LineStore):
    def sync(self) -> None:
        self.file.flush()


class SyncingBeforeWriting(LineStore):
    def sync(self) -> None:
        os.fsync(self.file.fileno())
        self.file.flush()


class KeepingInTheBuffer(LineStore):
    def sync(self) -> None:
        os.fsync(self.file.fileno())


class SyncingAnotherFile(LineStore):
    def sync(self) -> None:
        self.file.flush()
        with (self.directory / "log.lock").open("a") as other:
            os.fsync(other.fileno())


class WritingLater(LineStore):
    """Acknowledges at once, and writes with the next batch or when it is closed."""

    waiting: Sequence[Event] = ()

    def write(self, events: Sequence[Event]) -> None:
        super().write(self.waiting)
        self.waiting = events

    def close(self) -> None:
        self.write(())


class TrippingOverTornLines(LineStore):
    def read_file(self) -> None:
        self.events = [Event(*json.loads(line)) for line in self.file]


class LeavingTornLines(LineStore):
    def read_file(self) -> None:
        self.events = [Event(*json.loads(line)) for line in self.file if line.endswith(b"\n")]


class TakingWholeLinesWithoutEnd(LineStore):
    """Takes a last line that can be parsed, its line feed missing."""

    def read_file(self) -> None:
        sound_bytes = 0
        for line in self.file:
            try:
                self.events.append(Event(*json.loads(line)))
            except ValueError:
                break
            sound_bytes += len(line)
        self.file.truncate(sound_bytes)


class SyncingByAnotherName(LineStore):
    """Lawful: it has imported what it syncs by."""

    def sync(self) -> None:
        self.file.flush()
        fdatasync(self.file)


class SyncingWhenAppending(LineStore):
    """Lawful: a batch is durable when it is taken."""

    def write(self, events: Sequence[Event]) -> None:
        super().write(events)
        try:
            self.sync()
        except OSError:
            self.failed = True
            raise


class KnowingAsyncioAlone(LineStore):
    async def flush(self) -> bool:
        asyncio.get_running_loop()
        return await super().flush()


class RewritingInPlace(LineStore):
    def write(self, events: Sequence[Event]) -> None:
        self.file.truncate(0)
        super().write([*self.events, *events])


class WritingBackwards(LineStore):
    """Writes the batch from its end, and sorts when it reads."""

    def read_file(self) -> None:
        super().read_file()
        self.events.sort(key=lambda event: event.seq)

    def write(self, events: Sequence[Event]) -> None:
        for event in reversed(events):
            os.write(self.file.fileno(), self.encode(event))


class TakingEverything(LineStore):
    def check_places(self, events: Sequence[Event]) -> None:
        pass


class LookingAtTheFirstAlone(LineStore):
    def check_places(self, events: Sequence[Event]) -> None:
        super().check_places(events[:1])


class AnsweringNothing(LineStore):
    async def flush(self) -> bool:
        await super().flush()
        return None  # type: ignore[return-value]


class IgnoringTheStart(LineStore):
    def read_events(self, start: int) -> Iterable[Event]:
        del start
        return self.events


class NeedingAnEvent(LineStore):
    def check_places(self, events: Sequence[Event]) -> None:
        if events[0].seq != len(self.events):
            raise ValueError("fold again")
        super().check_places(events)


class ReadingWhatGrows(LineStore):
    """Gives the live events by their seqs, which a dictionary does not allow while it grows."""

    def read_events(self, start: int) -> Iterable[Event]:
        self.by_seq = {event.seq: event for event in self.events}
        return (event for seq, event in self.by_seq.items() if seq >= start)

    def append(self, events: Sequence[Event]) -> None:
        super().append(events)
        self.by_seq.update((event.seq, event) for event in events)


class WritingText(LineStore):
    def encode(self, event: Event) -> bytes:
        row = [event.type, event.seq, event.time_ms, event.data]
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"


class SplittingText(LineStore):
    """Splits lines where Python does, U+2028 among them."""

    def encode(self, event: Event) -> bytes:
        row = [event.type, event.seq, event.time_ms, event.data]
        return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"

    def read_file(self) -> None:
        text = self.file.read().decode("utf-8", "surrogatepass")
        whole = text[: text.rfind("\n") + 1]
        self.events = [Event(*json.loads(line)) for line in whole.splitlines()]
        self.file.truncate(len(whole.encode("utf-8", "surrogatepass")))


class ForgettingItsHeader(LineStore):
    def __init__(self, file: BufferedRandom, directory: Path) -> None:
        super().__init__(file, directory)
        self.time_zone = None if self.events else "Europe/Berlin"


class ChangingItsMind(LineStore):
    @property
    def time_zone(self) -> str | None:  # type: ignore[override]
        return "Europe/Berlin" if self.events else None


class GivingRows(LineStore):
    """Gives what the file holds, and no events."""

    def read_events(self, start: int) -> Iterable[Event]:
        return json.loads(json.dumps([[e.type, e.seq] for e in self.events[start:]]))  # type: ignore[no-any-return]


class InheritingTooMuch(LineStore):
    seed_length = 5


class ShorteningTexts(LineStore):
    """Keeps what fits into a column of 65,535 characters."""

    def read_events(self, start: int) -> Iterable[Event]:
        return [self.shorten(event) for event in self.events[start:]]

    def shorten(self, event: Event) -> Event:
        data = cast("dict[str, object]", event.data)
        short = {key: text[:65_535] if isinstance(text, str) else text for key, text in data.items()}
        return Event(event.type, event.seq, event.time_ms, short)


class RefusingWithoutWords(LineStore):
    """Leaves a mark while it is open."""

    def __init__(self, file: BufferedRandom, directory: Path) -> None:
        super().__init__(file, directory)
        self.mark = directory / "open"
        if self.mark.exists():
            raise RuntimeError
        self.mark.touch()

    def close(self) -> None:
        self.mark.unlink()


class NeverAnswering(LineStore):
    async def flush(self) -> bool:
        await anyio.sleep_forever()
        return True


class SwallowingFailures(LineStore):
    async def flush(self) -> bool:
        with suppress(OSError):
            self.sync()
        return True


class TryingAgain(LineStore):
    """Believes the fsync that comes after a failed one."""

    async def flush(self) -> bool:
        self.sync()
        return True


class Renaming(LineStore):
    """Lawful: writes a whole new file each time, puts it in the old one's place, and syncs both."""

    def sync(self) -> None:
        new, log = self.directory / "new.jsonl", self.directory / "log.jsonl"
        with new.open("wb") as file:
            file.writelines(self.encode(event) for event in self.events)
            file.flush()
            self.replace(new, log, file.fileno())

    def replace(self, new: Path, log: Path, descriptor: int) -> None:
        os.fsync(descriptor)
        new.replace(log)
        sync_directory(self.directory)


class RenamingWithoutItsDirectory(Renaming):
    def replace(self, new: Path, log: Path, descriptor: int) -> None:
        os.fsync(descriptor)
        new.replace(log)


class RenamingBeforeSyncing(Renaming):
    def replace(self, new: Path, log: Path, descriptor: int) -> None:
        new.replace(log)
        os.fsync(descriptor)
        sync_directory(self.directory)
