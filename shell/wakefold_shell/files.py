"""Files that are put in place whole or not at all, and those that hold a secret."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from wakefold_shell.errors import ShellError, explain_os_error, show_path


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


def read_secret(path: Path) -> str:
    """What a secret's file holds; `ShellError` where everybody may read it, or nobody can."""
    try:
        if path.stat().st_mode & stat.S_IROTH:
            raise ShellError(f"{show_path(path)}: everybody may read this secret; chmod 600 it.")
        return path.read_text("ascii")
    except UnicodeDecodeError as error:
        raise ShellError(f"{show_path(path)}: this is no secret; name another file.") from error
    except OSError as error:
        problem = explain_os_error(error)
        raise ShellError(f"{show_path(path)}: {problem}; name the file of the secret.") from error
