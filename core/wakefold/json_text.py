"""JSON text as ECMAScript reads and writes it.

`JSON.parse` takes things that fast parsers refuse (lone surrogate escapes, huge numbers) and refuses
things that Python's parser takes (`NaN`). Every text that leaves the core, frames and journal lines
alike, is written as `JSON.stringify` would. This module refuses to know what the values mean.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")

# Far beyond any double, far below the length at which Python's `int` refuses: both sides are infinite.
_DIGITS_MAX: Final = 400


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS_MAX else float(digits)


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON"
    raise ValueError(message)


_DECODER: Final = json.JSONDecoder(parse_int=_parse_int, parse_constant=_refuse_constant)


def parse_json(text: str) -> object:
    """The value of one JSON text, numbers as `int` or `float`, lone surrogates kept.

    `ValueError` if it is no JSON; `RecursionError` if it nests deeper than the parser takes (about
    990 levels). Of a key given twice the last value counts, as in ECMAScript.
    """
    value: object = _DECODER.decode(text)
    return value


def format_json(value: object) -> str:
    """Compact JSON text, escaped as `JSON.stringify` does, lone surrogates included.

    Integers are written alike, too; of other numbers (which wakefold writes none of) the spelling is
    Python's.

    :shape: `dict`, `list`, `tuple`, text, numbers, booleans and `None` in, text without LF
        or CR out
    :units: none
    :errors: raises `ValueError` on a NaN or an infinity, `TypeError` on what is no JSON,
        `RecursionError` where it nests too deeply
    :source: spec section 10; RFC 8259
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A pair that arrived as two code units is one character to ECMAScript: join it first.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", joined)
