"""Power cuts in a test: what is synced is seen while it happens, and refused if need be.

A `Machine` stands for `os.fsync` and `os.fdatasync` wherever a module has them by name, and tells the
disks that it watches; what is written is seen by looking after each call of Python into C. Syncs in C,
of a memory map or by `O_SYNC` are not seen. What a disk makes of all this is `disks`' business.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Protocol

from wakefold_laws.disks import Disk


class HasDescriptor(Protocol):
    """An open file, as `os.fsync` takes it beside a number."""

    def fileno(self) -> int:
        """Its descriptor."""
        ...


class Machine:
    """Where syncs are seen: it tells the disks that it watches, and can refuse."""

    def __init__(self) -> None:
        """Nothing is watched yet."""
        self.refusing = False
        """Whether each sync fails from now on."""
        self._disks: list[Disk] = []

    @contextmanager
    def watch(self, directory: Path) -> Iterator[Disk]:
        """A directory's disk, as long as the block lasts."""
        disk = Disk(directory)
        self._disks.append(disk)
        try:
            yield disk
        finally:
            self._disks.remove(disk)
            disk.close()

    def sync(self, real: Callable[[int], None], file: int | HasDescriptor) -> None:
        """Stand for `os.fsync` or `os.fdatasync`."""
        descriptor = file if isinstance(file, int) else file.fileno()
        if self.refusing:
            for disk in self._disks:
                disk.lose(descriptor)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        succeeds = [disk.sync(descriptor) for disk in self._disks]
        real(descriptor)
        for succeed in succeeds:
            succeed()


@contextmanager
def watch_syncs() -> Iterator[Machine]:
    """A machine that sees each `os.fsync` and `os.fdatasync` of this process, whoever imported it."""
    machine = Machine()
    stands: dict[int, Callable[[int | HasDescriptor], None]] = {
        id(real): lambda file, real=real: machine.sync(real, file)  # type: ignore[misc]
        for real in (os.fsync, getattr(os, "fdatasync", os.fsync))
    }
    replaced = [
        (names, name, value)
        for names in [
            vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__")
        ]
        for name, value in list(names.items())
        if id(value) in stands
    ]
    for names, name, value in replaced:
        names[name] = stands[id(value)]
    try:
        yield machine
    finally:
        for names, name, value in replaced:
            names[name] = value


@contextmanager
def watch_calls(disk: Disk) -> Iterator[None]:
    """Look at a disk after each call into C in this thread, so that no state between two is missed."""

    def look(_frame: FrameType, event: str, _argument: object) -> None:
        if event in {"c_return", "c_exception"}:
            disk.look()

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)
        with suppress(TypeError):  # a profiler written in C cannot be given back
            sys.setprofile(before)
