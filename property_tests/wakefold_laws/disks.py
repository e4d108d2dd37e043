"""A directory on a disk: what it has held, what of that is durable, and what a crash may leave of it.

This module decides which states of its files a store has to be ready for. A kill leaves what was
written so far, to any byte of the write under way. A power cut leaves what was synced, and of the rest
any beginning, with or without zeros where the length outlived the bytes; a name is there for certain
only once its directory was synced. After a failed sync a file's newer bytes are never certain again
until they are cut off: a system takes them for written, and says yes to the next sync. It knows files,
and neither who syncs them nor what they mean.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct

Tree = dict[str, bytes | None]
"""The files of a directory by their paths in it; `None` stands for a directory."""

ROOT: Final = "."
"""The path of the directory itself."""


_WRITE_FIRST: Final = (
    "write everything to the file before os.fsync; file.flush() empties the buffer that Python keeps"
)
_SYNC_AT_ALL: Final = (
    "in flush(), call os.fsync(file.fileno()) after the last write and before it answers True "
    "(a store that writes in C or elsewhere, as SQLite does, is checked with writes_in_python=False)"
)
_SYNC_THIS: Final = (
    "in flush(), call os.fsync with the descriptor of {path}, the file that was written to, after the "
    "last write and before it answers True"
)
_SYNC_LATER: Final = "os.fsync came before the bytes: first write, then file.flush(), then os.fsync"


class State(Struct, frozen=True):
    """What a directory held at one moment, and what of the contents was synced then."""

    tree: Tree
    synced: Tree


class Survival(Struct, frozen=True):
    """One state that a power cut may leave, and in words what became of the rest."""

    cause: str
    tree: Tree


class Disk:
    """One directory: what it holds, what it has held since it was watched, and what of it was synced.

    What lies in it at first is durable.
    """

    def __init__(self, root: Path) -> None:
        """The directory."""
        self.root = root
        self.synced: list[str] = []
        """The paths that were synced, in order."""
        self.states: list[State] = []
        """What the directory has held since the last beginning, in order."""
        # One reader for each file, open to the end: no inode is used again meanwhile, and closing one
        # would drop the POSIX locks that the process holds on that file.
        self._readers: dict[int, int] = {}
        self._lost: set[int] = set()
        self._signature: list[tuple[str, int, int, int]] | None = None
        self._contents: dict[int, bytes] = {}
        self._entries: dict[int, dict[str, int]] = {}
        for path in self._list():
            self._note(path)
        self.begin()

    def begin(self) -> None:
        """Forget what the directory has held, but not what it holds."""
        self.states, self._signature = [], None
        self.look()

    def look(self) -> None:
        """Keep what the directory holds now, if that is new."""
        listed = self._list()
        for status in listed.values():
            if status.st_size <= len(self._contents.get(status.st_ino, b"")):
                self._lost.discard(status.st_ino)  # what is uncertain is cut off
        signature = [
            (path, status.st_ino, status.st_size, status.st_mtime_ns) for path, status in listed.items()
        ]
        if signature != self._signature:
            self._signature = signature
            self.states.append(State(self.read(), self.read_synced()))

    def read(self) -> Tree:
        """What the directory holds now: what a kill would leave."""
        return {
            path: None if stat.S_ISDIR(status.st_mode) else self._read(path, status.st_ino)
            for path, status in self._list().items()
            if path != ROOT
        }

    def read_synced(self, *, names_synced: bool = False) -> Tree:
        """What is durable: contents alone, or names too if they must have been synced themselves."""
        listed = self._list()
        if names_synced:
            return dict(self._follow(listed[ROOT].st_ino, ""))
        return {
            path: None if stat.S_ISDIR(status.st_mode) else self._contents.get(status.st_ino, b"")
            for path, status in listed.items()
            if path != ROOT
        }

    def list_survivals(self) -> Iterator[Survival]:
        """What a power cut may leave now, the worst first; the names are all there."""
        synced, now = self.read_synced(), self.read()
        yield Survival("what was not synced is lost", synced)
        seen = [synced]
        for path, content in now.items():
            old = synced[path]
            if content is None or old is None or content == old:
                continue
            for part in tear(old, content):
                for others in (synced, now) if part in {old, content} else (now,):
                    tree = {**others, path: part}
                    if tree not in seen:
                        seen.append(tree)
                        yield Survival(describe_tear(path, part, old, content), tree)

    def sync(self, descriptor: int) -> Callable[[], None]:
        """What becomes durable by a sync that begins now, to be called when it has succeeded."""
        inode = os.fstat(descriptor).st_ino
        paths = [path for path, status in self._list().items() if status.st_ino == inode]

        def succeed() -> None:
            if inode not in self._lost:
                for path in paths[:1]:
                    self._note(path)
            self.synced += paths[:1]

        return succeed

    def lose(self, descriptor: int) -> None:
        """A sync has failed: what of this file is not durable yet is not made so by the next one."""
        self._lost.add(os.fstat(descriptor).st_ino)

    def close(self) -> None:
        """Watch no longer."""
        for reader in self._readers.values():
            os.close(reader)

    def explain_loss(self) -> tuple[str, str]:
        """What was synced and what not, and what to do about it, in words."""
        synced, now = self.read_synced(), self.read()
        changed = {path: content for path, content in now.items() if content != synced[path]}
        files = "; ".join(
            f"{path} holds {count_bytes(content)}, of which {count_bytes(synced[path])} were synced"
            for path, content in changed.items()
        )
        calls = ", ".join(dict.fromkeys("the directory" if p == ROOT else p for p in self.synced))
        facts = (
            f"{files or 'all that was written is synced'}; os.fsync was called for {calls or 'nothing'}"
        )
        if not changed:
            return facts, _WRITE_FIRST
        if not self.synced:
            return facts, _SYNC_AT_ALL
        # The log, rather than a lock file that nobody needs to sync.
        path = max(changed, key=lambda path: len(changed[path] or b""))
        return facts, _SYNC_LATER if path in self.synced else _SYNC_THIS.format(path=path)

    def _list(self) -> dict[str, os.stat_result]:
        """Every file and directory below the root, and the root, with its status."""
        found = {ROOT: self.root.stat()}
        for path in sorted(self.root.rglob("*")):
            with suppress(FileNotFoundError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
                    found[path.relative_to(self.root).as_posix()] = status
        return found

    def _read(self, path: str, inode: int) -> bytes:
        if inode not in self._readers:
            self._readers[inode] = os.open(self.root / path, os.O_RDONLY | os.O_CLOEXEC)
        reader = self._readers[inode]
        return os.pread(reader, os.fstat(reader).st_size, 0)

    def _note(self, path: str) -> None:
        """What stands at a path is durable."""
        status = (self.root / path).stat()
        if stat.S_ISDIR(status.st_mode):
            children = (self.root / path).iterdir()
            self._entries[status.st_ino] = {child.name: child.lstat().st_ino for child in children}
        else:
            self._contents[status.st_ino] = self._read(path, status.st_ino)

    def _follow(self, inode: int, prefix: str) -> Iterator[tuple[str, bytes | None]]:
        for name, entry in self._entries.get(inode, {}).items():
            if entry in self._entries:
                yield f"{prefix}{name}", None
                yield from self._follow(entry, f"{prefix}{name}/")
            else:
                yield f"{prefix}{name}", self._contents.get(entry, b"")


def list_torn(states: list[State]) -> Iterator[Tree]:
    """What a kill may leave inside each write that has led from one of these states to the next."""
    for before, after in pairwise(state.tree for state in states):
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        if len(changed) == 1:  # a write; what is linked or renamed comes whole
            (path,) = changed
            old, new = before.get(path), after.get(path)
            if old is not None and new is not None and new.startswith(old):
                yield from ({**after, path: part} for part in cut(old, new))


def cut(old: bytes, new: bytes) -> list[bytes]:
    """A file that has grown, cut off inside what is new."""
    ends = {len(old) + 1, (len(old) + len(new)) // 2, len(new) - 1}
    return [new[:end] for end in sorted(ends) if len(old) < end < len(new)]


def tear(old: bytes, new: bytes) -> list[bytes]:
    """What a file may hold that was changed and not synced."""
    if not new.startswith(old):
        return [old, new]
    half = new[: (len(old) + len(new)) // 2]
    return [old, *cut(old, new), half.ljust(len(new), b"\0"), new]


def describe_tear(path: str, part: bytes, old: bytes, new: bytes) -> str:
    """What has become of one file, in words."""
    if part in {old, new}:
        return f"{path} is left {'without' if part == old else 'with'} what was not synced"
    if len(part) == len(new):
        return f"{path} kept its length of {count_bytes(part)}, its last bytes became zeros"
    return f"{path} is cut off after {count_bytes(part)} of {len(new)}"


def count_bytes(content: bytes | None) -> str:
    """A length in words."""
    return "1 byte" if content is not None and len(content) == 1 else f"{len(content or b'')} bytes"


def write_tree(directory: Path, tree: Tree) -> None:
    """A new directory that holds these files, each its owner's alone."""
    directory.mkdir(0o700)
    for path, content in sorted(tree.items()):
        if content is None:
            (directory / path).mkdir(0o700)
        else:
            (directory / path).touch(0o600)
            (directory / path).write_bytes(content)
