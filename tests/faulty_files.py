"""A simulated disk under a journal store: calls fail, come short, and the machine stops.

The real file is what the page cache holds; `Disk` knows which of it is durable. It promises what a
local file system with a journal of its metadata promises: after a successful fsync all that was written
before is there; of what was written since, any part may be missing, zeros stand where a length outlived
its bytes, and only cutting the file is done in order with what follows it. A failed fsync leaves things
as they were, or persists some of them; a `forgetful` disk takes them for written all the same, as Linux
does.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct


class Crash(BaseException):
    """The machine has stopped."""


class Write(Struct, frozen=True):
    """Bytes written at a place, not durable yet."""

    offset: int
    data: bytes


class Cut(Struct, frozen=True):
    """The file cut to a length, not durable yet."""

    length: int


Change = Write | Cut


class Survival(Struct, frozen=True):
    """What a crash leaves: `torn` if that is what was written up to some byte, and zeros after it."""

    content: bytes
    torn: bool


def apply(content: bytes, changes: list[Change]) -> bytes:
    """The content after all changes."""
    result = bytearray(content)
    for change in changes:
        match change:
            case Write(offset, data):
                result += bytes(max(0, offset - len(result)))
                result[offset : offset + len(data)] = data
            case Cut(length):
                del result[length:]
    return bytes(result)


class Disk:
    """One file's disk. Calls fail at a rate, and the one numbered `crash_at` is the last."""

    def __init__(
        self, path: Path, chance: random.Random, fault_rate: float = 0, *, forgetful: bool = False
    ) -> None:
        self.path = path
        self.durable = path.read_bytes()
        self.pending: list[Change] = []
        self.fault_rate = fault_rate
        self.forgetful = forgetful
        self.calls = 0
        self.crash_at: int | None = None
        self.meanwhile: Callable[[], None] | None = None
        """What else happens while the next fsync is under way."""
        self._chance = chance

    def write(self, descriptor: int, data: bytes) -> int:
        """Append some of the bytes, or fail."""
        last = self._count()
        if self._fails():
            code = self._chance.choice((errno.EIO, errno.ENOSPC))
            raise OSError(code, os.strerror(code))
        if len(data) > 1 and self._fails():
            data = data[: self._chance.randrange(1, len(data))]
        if not last or self._chance.random() < 0.7:
            offset = os.fstat(descriptor).st_size
            written = os.write(descriptor, data)
            self.pending.append(Write(offset, data[:written]))
        self._stop_if(last)
        return len(data)

    def cut(self, descriptor: int, length: int) -> None:
        """Cut the file, or fail."""
        last = self._count()
        if self._fails():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if not last or self._chance.random() < 0.5:
            os.ftruncate(descriptor, length)
            self.pending.append(Cut(length))
        self._stop_if(last)

    def sync(self) -> None:
        """Make durable what was written before this call, or fail."""
        last = self._count()
        known = len(self.pending)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        if self._fails():
            self._persist(self._chance.randint(0, known))
            if self.forgetful:
                del self.pending[:known]
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if not last or self._chance.random() < 0.5:
            self._persist(known)
        self._stop_if(last)

    def crash(self) -> Survival:
        """Stop the machine: what is on the disk when it starts again, which is then in the file."""
        changes = self.pending[: self._chance.randint(0, len(self.pending))]
        whole = apply(self.durable, changes)
        if self._chance.random() < 0.5:
            content = self._tear(whole, changes)
        else:
            content = apply(self.durable, [self._lose_some(change) for change in changes])
            if self._chance.random() < 0.5:
                kept = min([len(self.durable), *(c.length for c in changes if isinstance(c, Cut))])
                content = content[:kept] + content[kept:].rstrip(b"\0")
        pairs = zip(content, whole, strict=False)
        same = next((n for n, (one, other) in enumerate(pairs) if one != other), len(whole))
        self.path.write_bytes(content)
        self.durable, self.pending, self.crash_at = content, [], None
        return Survival(content, torn=not content[same:].strip(b"\0"))

    def _tear(self, whole: bytes, changes: list[Change]) -> bytes:
        """The last write cut at any byte, with or without its length."""
        match changes[-1:]:
            case [Write(offset, data)]:
                kept = whole[: offset + self._chance.randint(0, len(data))]
                return kept + bytes(self._chance.choice((0, len(whole) - len(kept))))
            case _:
                return whole

    def _lose_some(self, change: Change) -> Change:
        """A write as it may have survived on its own: whole, not at all, or torn at either end."""
        if isinstance(change, Cut):
            return change
        data = change.data
        start, end = sorted(
            self._chance.choices((0, self._chance.randint(0, len(data)), len(data)), k=2)
        )
        return Write(change.offset, bytes(start) + data[start:end] + bytes(len(data) - end))

    def _persist(self, count: int) -> None:
        self.durable = apply(self.durable, self.pending[:count])
        del self.pending[:count]

    def _count(self) -> bool:
        self.calls += 1
        if self.crash_at is not None and self.calls > self.crash_at:
            raise Crash
        return self.calls == self.crash_at

    def _fails(self) -> bool:
        return self._chance.random() < self.fault_rate

    @staticmethod
    def _stop_if(last: bool) -> None:
        if last:
            raise Crash


class FaultyOs:
    """The `os` module with a disk under one file; all else is the system's."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self._descriptors: set[int] = set()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module has
        return getattr(os, name)

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        """Open a file, and know it again if it is the disk's."""
        descriptor = os.open(path, flags, mode)
        if Path(path) == self.disk.path:
            self._descriptors.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        """Close a file."""
        self._descriptors.discard(descriptor)
        os.close(descriptor)

    def write(self, descriptor: int, data: bytes) -> int:
        """Write to the disk, or to another file."""
        if descriptor in self._descriptors:
            return self.disk.write(descriptor, data)
        return os.write(descriptor, data)

    def ftruncate(self, descriptor: int, length: int) -> None:
        """Cut the disk's file, or another."""
        if descriptor in self._descriptors:
            self.disk.cut(descriptor, length)
        else:
            os.ftruncate(descriptor, length)

    def fsync(self, descriptor: int) -> None:
        """Make the disk's file durable, or another."""
        if descriptor in self._descriptors:
            self.disk.sync()
        else:
            os.fsync(descriptor)
