"""The bearer token of the MCP server over HTTP: where it is read from, and what passes for one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wakefold_shell.errors import ShellError, show_path
from wakefold_shell.files import read_secret

#: The variable of the environment that holds the token.
TOKEN_VARIABLE: Final = "WAKEFOLD_MCP_TOKEN"  # noqa: S105 - the name of a variable

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)  # RFC 6750, section 2.1


def find_token(file: Path | None, environment: Mapping[str, str]) -> str | None:
    """The token of the file, else of the environment, if there is any; `ShellError` for a bad one."""
    if file is not None:
        return _check(read_secret(file), show_path(file))
    if TOKEN_VARIABLE in environment:
        return _check(environment[TOKEN_VARIABLE], TOKEN_VARIABLE)
    return None


def _check(text: str, where: str) -> str:
    token = text.strip()
    if _TOKEN.fullmatch(token) is None:
        raise ShellError(
            f"{where}: a token has letters, digits and -._~+/ on one line, and is not empty; "
            "make one with 'openssl rand -hex 32'."
        )
    return token
