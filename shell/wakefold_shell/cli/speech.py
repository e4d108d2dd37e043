"""The two streams of a command: what it prints on standard output, what it says on standard error.

Nothing here needs the core, so that whatever only prints text starts fast.
"""

from __future__ import annotations

import sys


def use_utf8() -> None:
    """Let both streams carry any text, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def print_line(text: str) -> None:
    """One line on standard output."""
    sys.stdout.write(f"{text}\n")


def say(sentence: str) -> None:
    """One sentence on standard error, named after the program."""
    sys.stderr.write(f"wakefold: {sentence}\n")
    sys.stderr.flush()
