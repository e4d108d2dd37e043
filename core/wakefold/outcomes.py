"""Reading a `Result` once, with types.

Pattern matching on a `Result` gives `Any` and is never exhaustive; this one function is how callers
fold one. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from returns.result import Result, Success

_Value = TypeVar("_Value")
_Error = TypeVar("_Error")
_Answer = TypeVar("_Answer")


def either(
    result: Result[_Value, _Error],
    on_success: Callable[[_Value], _Answer],
    on_failure: Callable[[_Error], _Answer],
) -> _Answer:
    """The answer of one of two functions: on the value if there is one, else on the error.

    :shape: a `Result` and one function for each side; both give the same type
    :units: none
    :errors: none of its own; what the chosen function raises passes through
    :source: ours, docs/decisions/results.md
    """
    # Not `is_successful`: it raises within, and its module is slow to import.
    if isinstance(result, Success):
        return on_success(result.unwrap())
    return on_failure(result.failure())
