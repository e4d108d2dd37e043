"""The lines of a journal file, plain or compressed, with the place where each stands.

A line is durable only with its LF; what follows the last LF is a torn tail. A compressed journal is
one zstd frame with the header line, then one frame for each written batch; it is read frame by frame,
since a reader across frames says nothing about a cut. A frame counts when it is whole and sound; the
last one is a torn tail if the file, or all of it but zeros, ends inside it. This module knows bytes,
not events.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec import Struct

from wakefold_shell.errors import JournalError

if TYPE_CHECKING:
    from zstandard import ZstdDecompressor

#: The four bytes with which a frame of zstd begins.
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_TABLE_MAGIC: Final = b"SQLite format 3\0"
LINE_BYTES_MAX: Final = 8 * 1024 * 1024
"""The longest line that is read by default; nothing longer is taken into memory."""

RESTORE: Final = "restore the file from a backup"
"""The remedy for damage that no tool can mend."""

_CHUNK_BYTES: Final = 256 * 1024
_KEPT_BYTES: Final = 8 * 1024 * 1024  # of a frame's content, between checking and reading it

# The format of zstd frames, as far as it tells where one ends.
_BLOCK_HEADER_BYTES: Final = 3
_BLOCK_BYTES_MAX: Final = 128 * 1024
_CHECKSUM_BYTES: Final = 4
_HAS_CHECKSUM: Final = 0b100  # in the frame's descriptor
_REPEATED_BYTE: Final = 1  # the kind of block that holds one byte, whatever its length
_RESERVED: Final = 3  # no kind of block


NO_OFFSET: Final = -1
"""What stands for the offset of a line that lies in no file of lines."""


class _FrameFault(Exception):
    """What stands here is no zstd frame."""


class Place(Struct, frozen=True):
    """Where reading begins: behind so many bytes and lines, at the event `seq`."""

    seq: int = 0
    offset_bytes: int = 0
    lines: int = 0


BEGINNING: Final = Place()
"""Before the header."""


class Cursor(Struct):
    """Where a reading began, and where the line stands that was read last: number from 1, and offset.

    `offset_bytes` is that of the frame in a compressed journal, and `NO_OFFSET` where the line lies in
    no file of lines. `torn_bytes` is where a torn tail starts, once what is left of it was given as a
    last line: it was never acknowledged and is no part of the log.
    """

    start: Place
    number: int
    offset_bytes: int
    torn_bytes: int | None = None


Note = Callable[[bytes], object]
"""What hears the bytes of whole lines, or of whole frames, as they are read."""


def is_compressed(file: BinaryIO) -> bool:
    """Whether an open journal begins as a zstd frame does; the position is left at the start."""
    magic = file.read(len(ZSTD_MAGIC))
    file.seek(0)
    return magic == ZSTD_MAGIC


def is_table(file: BinaryIO) -> bool:
    """Whether an open file is an SQLite database; the position is left at the start."""
    magic = file.read(len(_TABLE_MAGIC))
    file.seek(0)
    return magic == _TABLE_MAGIC


def read_lines(
    path: Path,
    file: BinaryIO,
    line_bytes_max: int,
    cursor: Cursor,
    *,
    compressed: bool,
    note: Note | None = None,
) -> Iterator[bytes]:
    """All lines of an open journal behind a cursor, each with its LF, a torn one without it last.

    The cursor follows. Raises `JournalError` on what cannot be lines.
    """
    read = _read_compressed if compressed else _read_plain
    return read(path, file, line_bytes_max, cursor, note)


def _read_plain(
    path: Path, file: BinaryIO, line_bytes_max: int, cursor: Cursor, note: Note | None
) -> Iterator[bytes]:
    offset = cursor.offset_bytes
    file.seek(offset)
    # The file is asked for each line from within the iteration: a million calls fewer.
    for number, row in enumerate(
        iter(partial(file.readline, line_bytes_max + 1), b""), cursor.number + 1
    ):
        if not row.endswith(b"\n"):
            if len(row) > line_bytes_max:
                raise _too_long(path, number, offset, line_bytes_max)
            cursor.torn_bytes = offset
            yield row
            return
        if note is not None:
            note(row)
        cursor.number, cursor.offset_bytes = number, offset
        yield row
        offset += len(row)


def _read_compressed(
    path: Path, file: BinaryIO, line_bytes_max: int, cursor: Cursor, note: Note | None
) -> Iterator[bytes]:
    number = cursor.number
    for offset, parts in _read_frames(path, file, cursor.offset_bytes, note):
        if parts is None:
            cursor.torn_bytes = offset
            yield b""
            return
        rest = b""
        for part in parts:
            *rows, rest = (rest + part).split(b"\n")
            for row in rows:
                number += 1
                if len(row) > line_bytes_max:
                    raise _too_long(path, number, offset, line_bytes_max)
                cursor.number, cursor.offset_bytes = number, offset
                yield row + b"\n"
            if len(rest) > line_bytes_max:
                raise _too_long(path, number + 1, offset, line_bytes_max)
        if rest:
            problem = "a compressed batch ends inside a line"
            raise JournalError(path, problem, RESTORE, line=number + 1, offset_bytes=offset)


def _read_frames(
    path: Path, file: BinaryIO, offset: int, note: Note | None
) -> Iterator[tuple[int, Iterable[bytes] | None]]:
    """Each frame's offset and its content in parts; `None` for what the last write left of one."""
    zstandard = require_zstandard(path)
    decompressor = zstandard.ZstdDecompressor()
    while offset < (size := os.fstat(file.fileno()).st_size):
        end: int | None = None
        parts: Iterable[bytes] | None = None
        cause: Exception | None = None
        try:
            end = _find_frame_end(file, offset, size)
            if end is not None:
                file.seek(offset)
                frame = file.read(end - offset)
                parts = _check_frame(decompressor, frame)
                if note is not None:
                    note(frame)
        except (_FrameFault, zstandard.ZstdError) as error:
            cause = error
        if parts is None and not _is_torn(file, offset, size):
            problem = "this is no sound zstd frame"
            raise JournalError(path, problem, RESTORE, offset_bytes=offset) from cause
        yield offset, parts
        if parts is None or end is None:
            return
        offset = end


def _check_frame(decompressor: ZstdDecompressor, frame: bytes) -> Iterable[bytes]:
    """The content of a frame that is sound to its end; the library's error if it is not.

    A short content is kept; a long one is decompressed again as it is read, so that a frame takes no
    more memory than its own bytes, whatever it holds.
    """
    kept: list[bytes] = []
    length = 0
    for part in _decompress(decompressor, frame):
        length += len(part)
        if length <= _KEPT_BYTES:
            kept.append(part)
        else:
            kept.clear()
    return kept if length <= _KEPT_BYTES else _decompress(decompressor, frame)


def _decompress(decompressor: ZstdDecompressor, frame: bytes) -> Iterator[bytes]:
    with decompressor.stream_reader(frame) as reader:
        while part := reader.read(_CHUNK_BYTES):
            yield part


def _find_frame_end(file: BinaryIO, offset: int, limit: int) -> int | None:
    """Where a frame ends by its own block headers (RFC 8878); `None` if that is past the limit."""
    file.seek(offset)
    head = file.read(max(0, min(len(ZSTD_MAGIC) + 1, limit - offset)))
    if not ZSTD_MAGIC.startswith(head[: len(ZSTD_MAGIC)]):
        raise _FrameFault
    if len(head) <= len(ZSTD_MAGIC):
        return None
    descriptor = head[-1]
    single = descriptor >> 5 & 1
    fields_bytes = (1 - single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[descriptor >> 6]
    place = offset + len(head) + fields_bytes
    last = 0
    while not last:
        if place + _BLOCK_HEADER_BYTES > limit:
            return None
        file.seek(place)
        block = int.from_bytes(file.read(_BLOCK_HEADER_BYTES), "little")
        last, kind, length = block & 1, block >> 1 & 3, block >> 3
        if kind == _RESERVED or length > _BLOCK_BYTES_MAX:
            raise _FrameFault
        place += _BLOCK_HEADER_BYTES + (1 if kind == _REPEATED_BYTE else length)
    place += _CHECKSUM_BYTES if descriptor & _HAS_CHECKSUM else 0
    return place if place <= limit else None


def _is_torn(file: BinaryIO, offset: int, size: int) -> bool:
    """Whether nothing but one frame begins here, and the file ends, or its zeros begin, inside it."""
    limit = _find_final_zeros(file, offset, size)
    try:
        if _find_frame_end(file, offset, limit) is not None:
            return False
    except _FrameFault:
        return False
    # Damage to a frame's own lengths must not swallow the frames that follow it.
    file.seek(offset + 1)
    seen = b""
    for start in range(offset + 1, limit, _CHUNK_BYTES):
        seen = seen[1 - len(ZSTD_MAGIC) :] + file.read(min(_CHUNK_BYTES, limit - start))
        if ZSTD_MAGIC in seen:
            return False
    return True


def _find_final_zeros(file: BinaryIO, offset: int, size: int) -> int:
    """Where the run of zeros at the end of the file begins: at its end if there is none."""
    end = size
    while end > offset:
        start = max(offset, end - _CHUNK_BYTES)
        file.seek(start)
        if content := file.read(end - start).rstrip(b"\0"):
            return start + len(content)
        end = start
    return offset


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
