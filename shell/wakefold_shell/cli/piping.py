"""`wakefold serve-core`: the pure core for programs in other languages."""

from __future__ import annotations

import sys

from wakefold_shell.cli.speech import say
from wakefold_shell.pipes.services import CoreService
from wakefold_shell.pipes.streams import serve_lines


def serve_core() -> None:
    """Answer requests to the core: a JSON object a line on standard input, a reply on standard output.

    Protocol and operations: docs/other-languages.md. It ends with its input.
    """
    if sys.stdin.isatty():
        say("reading requests from the terminal, a JSON object a line; Ctrl-D ends it.")
    serve_lines(sys.stdin.buffer, sys.stdout.buffer, CoreService().answer)
