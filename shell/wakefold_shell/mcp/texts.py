"""Text on its way out: fit for any client, and short where a whole one was not asked for.

A lone surrogate, which a log may hold, would end a connection for good; it is replaced, and counted.
What is cut says so where it is cut. This module refuses to know what a text means.
"""

from __future__ import annotations

from hashlib import blake2s
from typing import Final, TypeVar

from wakefold.events import Json

_Item = TypeVar("_Item")

#: What stands in the place of a lone surrogate.
REPLACEMENT: Final = "\ufffd"


def clean(value: Json) -> Json:
    """The value without lone surrogates; where there were any, `charactersReplaced` says how many."""
    cleaned, replaced = _clean(value)
    assert isinstance(cleaned, dict)  # noqa: S101 - as it was
    return {**cleaned, "charactersReplaced": replaced} if replaced else cleaned


def _clean(value: object) -> tuple[object, int]:
    """The value without lone surrogates, and how many there were."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, list):
        items = [_clean(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        rows = [(*_clean_text(key), *_clean(item)) for key, item in value.items()]
        return {key: item for key, _, item, _ in rows}, sum(a + b for _, a, _, b in rows)
    return value, 0


def _clean_text(text: str) -> tuple[str, int]:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Two code units that make a pair are one character, and no fault.
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole, whole.count(REPLACEMENT) - text.count(REPLACEMENT)
    return text, 0


def cut(text: str, characters_max: int, remedy: str) -> str:
    """The text, or its beginning with a mark that says how long it is and what has the rest."""
    if len(text) <= characters_max:
        return text
    return f"{text[:characters_max]} [cut: {characters_max} of {len(text)} characters; {remedy}]"


def cut_page(
    items: list[_Item], names: list[str], cursor: str | None, length: int
) -> tuple[list[_Item], str | None] | None:
    """The items after a cursor, at most `length`, and the cursor for the rest; `None` for a wrong one.

    A cursor names the last item shown, so that nothing is left out where others have gone meanwhile.
    """
    marks = [_mark(name) for name in names]
    if cursor is not None and cursor not in marks:
        return None
    start = 0 if cursor is None else marks.index(cursor) + 1
    end = start + length
    return items[start:end], marks[end - 1] if end < len(items) else None


def _mark(name: str) -> str:
    return blake2s(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
