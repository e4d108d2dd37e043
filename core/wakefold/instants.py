"""Scalars that every other module builds on: instants, white space, safe integers (spec section 2).

This module decides what text is a canonical instant, how it maps to epoch milliseconds, what `trim`
removes and which numbers count as integers. It refuses to know what time it is, and it knows no zone.
"""

from __future__ import annotations

from typing import Final, TypeGuard

from whenever import Instant

#: The largest integer that a double holds exactly, in either sign.
MAX_SAFE_INTEGER: Final = 2**53 - 1

#: 0001-01-01T00:00:00.000Z in epoch milliseconds.
MIN_INSTANT_MS: Final = -62_135_596_800_000

#: 9999-12-31T23:59:59.999Z in epoch milliseconds.
MAX_INSTANT_MS: Final = 253_402_300_799_999

# WhiteSpace and LineTerminator of ECMAScript; `str.strip` without arguments has another set.
_WHITE_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def parse_instant(text: object) -> int | None:
    """The instant that a canonical text (`2027-02-01T09:00:00.000Z`) names, else `None`.

    Nothing else is canonical, and the day must exist.

    :shape: any value in; text of exactly 24 ASCII characters is looked at
    :units: epoch milliseconds UTC, from `-62135596800000` (year 0001) to `253402300799999` (year 9999)
    :errors: none, it is total; `None` says that it is no canonical instant
    :source: spec section 2; RFC 3339
    """
    if not isinstance(text, str):
        return None
    try:
        instant = Instant.parse_iso(text)
    except ValueError:
        return None
    # What is read must be what would be written: the library also takes other offsets, other numbers
    # of digits, and a leap second for the second before.
    if instant.format_iso(unit="millisecond") != text:
        return None
    return instant.timestamp(unit="millisecond")


def format_instant(instant_ms: int) -> str:
    """The canonical text of an instant.

    :shape: 24 ASCII characters, `2027-02-01T09:00:00.000Z`; `parse_instant` gives the same instant back
    :units: epoch milliseconds UTC
    :errors: raises `ValueError` outside years 0001 to 9999 (ask `is_representable`), `TypeError` for
        what is no `int`
    :source: spec section 2
    """
    return Instant.from_timestamp(instant_ms, unit="millisecond").format_iso(unit="millisecond")


def is_representable(instant_ms: int) -> bool:
    """Whether an instant lies within years 0001 to 9999, so that canonical text exists for it."""
    return MIN_INSTANT_MS <= instant_ms <= MAX_INSTANT_MS


def read_safe_integer(value: object) -> int | None:
    """The safe integer that a JSON number stands for (`300`, `300.0`, `3e2`), else `None`.

    Booleans are not integers (spec section 2).
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else None


def trim(text: str) -> str:
    """The text without the white space and line terminators of ECMAScript at both ends."""
    return text.strip(_WHITE_SPACE)


def is_trimmed(value: object) -> TypeGuard[str]:
    """Whether a value is what ids and prompts must be: non-empty text, equal to its own trim."""
    return isinstance(value, str) and value != "" and value.strip(_WHITE_SPACE) == value


def are_trimmed(texts: list[str]) -> bool:
    """The same of each of many texts."""
    return [text.strip(_WHITE_SPACE) for text in texts] == texts and "" not in texts
