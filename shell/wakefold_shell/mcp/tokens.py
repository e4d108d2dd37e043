"""The bearer token of the MCP server over HTTP: where it is read from, and what passes for one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wakefold_shell.errors import ShellError, explain_os_error, show_path

TOKEN_VARIABLE: Final = "WAKEFOLD_MCP_TOKEN"  # noqa: S105 - the name of a variable

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)  # RFC 6750, section 2.1
_BYTES_MAX: Final = 4096


def find_token(file: Path | None, environment: Mapping[str, str]) -> str | None:
    """The token of the file, else of the environment, if there is any; `ShellError` for a bad one."""
    if file is not None:
        return _check(_read(file), show_path(file))
    if TOKEN_VARIABLE in environment:
        return _check(environment[TOKEN_VARIABLE], TOKEN_VARIABLE)
    return None


def _read(file: Path) -> str:
    """What a file holds that nobody but its owner and its group can read."""
    try:
        with file.open("rb") as opened:
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            content = opened.read(_BYTES_MAX)
    except OSError as error:
        problem = explain_os_error(error)
        raise ShellError(f"{show_path(file)}: {problem}; give a file with a token.") from error
    if mode & stat.S_IRWXO:
        raise ShellError(
            f"{show_path(file)}: everybody on this machine can reach the token (mode {mode:04o}); "
            "run 'chmod 600' on it, and take a new token."
        )
    return content.decode("utf-8", "replace")


def _check(text: str, where: str) -> str:
    token = text.strip()
    if _TOKEN.fullmatch(token) is None:
        raise ShellError(
            f"{where}: a token has letters, digits and -._~+/ on one line, and is not empty; "
            "make one with 'openssl rand -hex 32'."
        )
    return token
