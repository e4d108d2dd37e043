"""Files that are put in place whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def put_file(place: Path, content: bytes, *, durable: bool = False) -> None:
    """Put a file in place, whole or not at all; what is left of a crash is written over. `OSError`.

    Only its owner may read it. `durable` says that what it replaces is not to be had again: then it is
    on disk before it takes the place.
    """
    scratch = place.with_name(f".{place.name}.new")
    with suppress(FileNotFoundError):
        scratch.unlink()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with open(os.open(scratch, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        scratch.replace(place)
    except OSError:
        with suppress(OSError):
            scratch.unlink()
        raise
