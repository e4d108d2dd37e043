"""Reading the values of stored changes, strictly (spec sections 2 and 3).

This module decides which JSON value is an id, a prompt, a number of seconds, an instant, and how it is
told that it is none. It refuses to know which change it stands in.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Literal

from wakefold.instants import MAX_SAFE_INTEGER, is_trimmed, parse_instant, read_safe_integer
from wakefold.recurrence import MIN_EVERY_SECONDS
from wakefold.rejections import LogFault

#: A JSON object, parsed.
Json = dict[str, object]


def read_object(value: object, path: str) -> Json:
    """An object."""
    if not isinstance(value, dict):
        raise LogFault("not_an_object", path)
    return value


def require_keys(fields: Json, keys: AbstractSet[str], path: str) -> None:
    """These keys and no others."""
    if fields.keys() != keys:
        raise LogFault("wrong_keys", path)


def read_text(value: object, rule: Literal["bad_id", "bad_prompt"], path: str) -> str:
    """Text that is trimmed and not empty."""
    if not is_trimmed(value):
        raise LogFault(rule, path)
    return value


def read_delay_seconds(value: object, path: str) -> int:
    """The seconds of a delay."""
    seconds = read_safe_integer(value)
    if seconds is None or seconds < 1:
        raise LogFault("bad_seconds", path)
    return seconds


def read_interval_seconds(value: object, path: str) -> int:
    """The seconds of an interval, or of a grace."""
    seconds = read_safe_integer(value)
    if seconds is None or not MIN_EVERY_SECONDS <= seconds <= MAX_SAFE_INTEGER // 1000:
        raise LogFault("bad_seconds", path)
    return seconds


def read_instant(value: object, path: str) -> int:
    """A canonical instant, in epoch ms."""
    instant_ms = parse_instant(value)
    if instant_ms is None:
        raise LogFault("bad_instant", path)
    return instant_ms
