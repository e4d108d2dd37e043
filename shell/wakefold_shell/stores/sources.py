"""Where a journal's lines come from: what any source gives, and a file.

This module decides how a file is opened at a place and how its beginning is given back byte by byte. It
refuses to know what the lines mean.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from wakefold_shell.errors import JournalError, explain_os_error
from wakefold_shell.stores.lines import NO_OFFSET, Cursor, Note, Place, is_compressed, read_lines

_PIECE_BYTES: Final = 1024 * 1024


class Source(Protocol):
    """Where a journal's lines come from; `compressed` where they lie in zstd frames."""

    compressed: bool

    def read_lines(
        self, line_bytes_max: int, cursor: Cursor, note: Note | None = None
    ) -> Iterator[bytes]:
        """All lines behind a cursor, each with its LF, a torn one without it last.

        The cursor follows, and `note` hears the bytes of whole lines.
        """
        ...

    def read_prefix(self, end: Place) -> Iterator[bytes]:
        """The bytes before a place, as `note` heard them; fewer if there are no more."""
        ...

    def measure(self) -> int:
        """How many bytes there are."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...


class FileSource:
    """A journal file, plain or zstd."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        """The open file."""
        self._path, self._file = path, file
        with refusals(path):
            self.compressed = is_compressed(file)

    def read_lines(
        self, line_bytes_max: int, cursor: Cursor, note: Note | None = None
    ) -> Iterator[bytes]:
        """All lines of the file behind a cursor."""
        return read_lines(
            self._path, self._file, line_bytes_max, cursor, compressed=self.compressed, note=note
        )

    def read_prefix(self, end: Place) -> Iterator[bytes]:
        """The bytes before a place, in pieces."""
        self._file.seek(0)
        left = end.offset_bytes
        with refusals(self._path):
            while piece := self._file.read(min(left, _PIECE_BYTES)):
                left -= len(piece)
                yield piece

    def measure(self) -> int:
        """The file's length."""
        return self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def count_rows(
    path: Path, lines: Iterable[bytes], line_bytes_max: int, cursor: Cursor, note: Note | None
) -> Iterator[bytes]:
    """The lines that a database gives, each with its LF, as a source reads them: none is torn.

    The cursor follows, `note` hears each, and one that is too long is a `JournalError`.
    """
    cursor.offset_bytes = NO_OFFSET
    for number, line in enumerate(lines, cursor.number + 1):
        if note is not None:
            note(line)
        if len(line) > line_bytes_max + 1:
            problem = f"the line is longer than {line_bytes_max} bytes"
            remedy = "raise --line-bytes-max if it is meant to be"
            raise JournalError(path, problem, remedy, line=number)
        cursor.number = number
        yield line


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """The system's refusals inside the block, as errors of the journal."""
    try:
        yield
    except OSError as error:
        raise JournalError(path, explain_os_error(error), "check the path and its rights") from error
