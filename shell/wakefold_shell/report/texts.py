"""Text from a log as a page may show it.

This module decides which characters are shown by their number, since they act on the text around them
or are nothing that can be seen, and how much of a long text goes into a page. Everything else about
text is the page's: it takes all of it for text, whatever it holds.
"""

from __future__ import annotations

import unicodedata
from typing import Final

TEXT_CHARACTERS_MAX: Final = 4_000
"""As much of one text as a page shows."""

TOTAL_CHARACTERS_MAX: Final = 2_000_000
"""As much of all texts together; with many of them each has a share."""

_SHARE_LEAST: Final = 80

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_KEPT: Final = frozenset("\n\t")


def show_text(text: str, characters_max: int = TEXT_CHARACTERS_MAX) -> str:
    """The beginning of a text, on several lines if it has them; controls and the like by number."""
    return "".join(map(_show_character, text[:characters_max]))


def show_name(text: str) -> str:
    """An id or a title on one line; what is longer than any sensible one is cut with a mark."""
    shown = show_text(text, _NAME_CHARACTERS_MAX).translate(_BREAKS)
    return shown if len(text) <= _NAME_CHARACTERS_MAX else f"{shown}\u2026"


_NAME_CHARACTERS_MAX: Final = 200


def share_characters(texts: int) -> int:
    """How much of each of so many texts goes into one page."""
    return min(TEXT_CHARACTERS_MAX, max(_SHARE_LEAST, TOTAL_CHARACTERS_MAX // max(texts, 1)))


def _show_character(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
        return character
    return _name_character(character)


def _name_character(character: str) -> str:
    return f"\u27e6U+{ord(character):04X}\u27e7"


_BREAKS: Final = {ord(character): _name_character(character) for character in _KEPT}
