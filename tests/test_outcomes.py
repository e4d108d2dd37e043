"""A `Result` is read once, by one of two functions."""

from __future__ import annotations

import pytest
from returns.result import Failure, Result, Success

from wakefold.outcomes import either


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (Success(1), "value 1"),
        (Success(0), "value 0"),
        (Success(None), "value None"),
        (Failure(1), "error 1"),
        (Failure(0), "error 0"),
        (Failure(None), "error None"),
    ],
)
def test_one_function_answers(result: Result[object, object], answer: str) -> None:
    """The first sees a value, the second an error, falsy ones included."""
    assert either(result, lambda value: f"value {value}", lambda error: f"error {error}") == answer


def test_the_other_function_is_not_called() -> None:
    """Neither side runs for the other's sake."""
    success: Result[int, str] = Success(1)
    failure: Result[int, str] = Failure("no")
    calls: list[object] = []
    either(success, calls.append, lambda _: pytest.fail("an error was seen"))
    either(failure, lambda _: pytest.fail("a value was seen"), calls.append)
    assert calls == [1, "no"]


def test_a_fault_of_the_function_is_its_own() -> None:
    """An exception on the value's side is not taken for the result's error."""
    result: Result[int, str] = Success(0)
    with pytest.raises(ZeroDivisionError):
        either(result, lambda value: 1 // value, lambda _: 0)
