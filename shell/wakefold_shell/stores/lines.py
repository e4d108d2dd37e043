"""The lines of a journal file, plain or compressed, with the place where each stands.

A line is durable only with its LF; what follows the last LF is a torn tail. A compressed journal is
one zstd frame with the header line, then one frame for each written batch; it is read frame by frame,
since a reader across frames says nothing about a cut. This module knows bytes, not events.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Final

from msgspec import Struct

from wakefold_shell.errors import JournalError

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
LINE_BYTES_MAX: Final = 8 * 1024 * 1024
"""The longest line that is read by default; nothing longer is taken into memory."""

RESTORE: Final = "restore the file from a backup"
"""The remedy for damage that no tool can mend."""

_CHUNK_BYTES: Final = 256 * 1024


class Line(Struct, frozen=True):
    """One line: its bytes without the LF, its number from 1, and where it starts in the file.

    `offset_bytes` is that of the frame in a compressed journal. `torn` marks what the last write left
    incomplete: it was never acknowledged and is no part of the log.
    """

    content: bytes
    number: int
    offset_bytes: int
    torn: bool = False


def is_compressed(file: BinaryIO) -> bool:
    """Whether an open journal begins as a zstd frame does; the position is left at the start."""
    magic = file.read(len(ZSTD_MAGIC))
    file.seek(0)
    return magic == ZSTD_MAGIC


def read_lines(path: Path, file: BinaryIO, line_bytes_max: int, *, compressed: bool) -> Iterator[Line]:
    """All lines of an open journal, a torn one last. Raises `JournalError` on what cannot be lines."""
    if compressed:
        return _read_compressed(path, file, line_bytes_max)
    return _read_plain(path, file, line_bytes_max)


def _read_plain(path: Path, file: BinaryIO, line_bytes_max: int) -> Iterator[Line]:
    offset = 0
    number = 0
    while row := file.readline(line_bytes_max + 1):
        number += 1
        if len(row) > line_bytes_max and not row.endswith(b"\n"):
            raise _too_long(path, number, offset, line_bytes_max)
        if not row.endswith(b"\n"):
            yield Line(row, number, offset, torn=True)
            return
        yield Line(row[:-1], number, offset)
        offset += len(row)


def _read_compressed(path: Path, file: BinaryIO, line_bytes_max: int) -> Iterator[Line]:
    number = 0
    for offset, content, whole in _read_frames(path, file):
        if not whole:
            yield Line(content, number + 1, offset, torn=True)
            return
        *rows, rest = content.split(b"\n")
        for row in rows:
            number += 1
            if len(row) > line_bytes_max:
                raise _too_long(path, number, offset, line_bytes_max)
            yield Line(row, number, offset)
        if rest:
            problem = "a compressed batch ends inside a line"
            raise JournalError(path, problem, RESTORE, line=number + 1, offset_bytes=offset)


def _read_frames(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes, bool]]:
    """Each frame's offset, its content, and whether its end was there."""
    zstandard = require_zstandard(path)
    offset = 0
    pending = file.read(_CHUNK_BYTES)
    while pending:
        if len(pending) < len(ZSTD_MAGIC):
            pending += file.read(len(ZSTD_MAGIC) - len(pending))
        if _is_torn_start(pending, file):
            yield offset, b"", False
            return
        reader = zstandard.ZstdDecompressor().decompressobj()
        parts: list[bytes] = []
        taken = 0
        try:
            while pending and not reader.eof:
                parts.append(reader.decompress(pending))
                taken += len(pending)
                pending = b"" if reader.eof else file.read(_CHUNK_BYTES)
        except zstandard.ZstdError as error:
            problem = "this is no sound zstd frame"
            raise JournalError(path, problem, RESTORE, offset_bytes=offset) from error
        yield offset, b"".join(parts), reader.eof
        offset += taken - len(reader.unused_data)
        pending = reader.unused_data or file.read(_CHUNK_BYTES)


def _is_torn_start(pending: bytes, file: BinaryIO) -> bool:
    """Whether what follows the last whole frame is a cut beginning of one, or zeros to the end."""
    if len(pending) < len(ZSTD_MAGIC) and ZSTD_MAGIC.startswith(pending):
        return True
    while not pending.strip(b"\0"):
        pending = file.read(_CHUNK_BYTES)
        if not pending:
            return True
    return False


def _too_long(path: Path, number: int, offset: int, line_bytes_max: int) -> JournalError:
    return JournalError(
        path,
        f"the line is longer than {line_bytes_max} bytes",
        "raise --line-bytes-max if it is meant to be",
        line=number,
        offset_bytes=offset,
    )


def require_zstandard(path: Path) -> ModuleType:
    """The zstandard library, or one line that names the extra."""
    try:
        import zstandard  # noqa: PLC0415 - an extra, and only for those who need it
    except ImportError as error:
        problem = "a compressed journal needs the extra 'zstd'"
        raise JournalError(path, problem, "run pip install 'wakefold[zstd]'") from error
    return zstandard
