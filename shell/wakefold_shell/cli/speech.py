"""The two streams of a command: what it prints on standard output, what it says on standard error.

Nothing here needs the core, so that whatever only prints text starts fast.
"""

from __future__ import annotations

import codecs
import locale
import os
import sys


def use_utf8() -> None:
    """Let both streams carry any text, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def is_utf8_wanted() -> bool:
    """Whether pictures may be drawn beyond ASCII: not where the environment names another encoding.

    The C locale is one where somebody chose it; where nothing is chosen, as in many containers, it is
    none.
    """
    named = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    chosen = os.environ.get("LC_ALL") or os.environ.get("LANG")
    if not named and sys.flags.utf8_mode and chosen in {"C", "POSIX"}:
        return False
    try:
        return codecs.lookup(named or locale.getencoding()).name == "utf-8"
    except LookupError:
        return False


def print_line(text: str) -> None:
    """One line on standard output."""
    sys.stdout.write(f"{text}\n")


def say(sentence: str) -> None:
    """One sentence on standard error, named after the program."""
    sys.stderr.write(f"wakefold: {sentence}\n")
    sys.stderr.flush()
