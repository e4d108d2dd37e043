"""JSON text as ECMAScript reads and writes it."""

from __future__ import annotations

import math

import pytest

from wakefold.json_text import format_json, parse_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        (" \t\r\n1\n", 1),
        ("300.0", 300.0),
        ("3e2", 300.0),
        ("-0", 0),
        ('"\\ud83d"', "\ud83d"),
        ('"\\ude00\\ud83d"', "\ude00\ud83d"),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\u2028\u0085\u007f"', "\u2028\u0085\u007f"),
        ('{"a":1,"b":2,"a":3}', {"a": 3, "b": 2}),
        ('{"a":"bad","a":[]}', {"a": []}),
        ('{"__proto__":1}', {"__proto__": 1}),
        ("[[],{}]", [[], {}]),
    ],
)
def test_a_text_is_read_as_ecmascript_reads_it(text: str, value: object) -> None:
    """Lone surrogates are kept, pairs are joined, and of a key given twice the last value counts."""
    found = parse_json(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "NaN",
        "Infinity",
        "-Infinity",
        "[NaN]",
        "nul",
        "True",
        "01",
        "+1",
        ".5",
        "1.",
        "0x10",
        "1 2",
        "[1,]",
        "{'a':1}",
        '{"a":1,}',
        '"a',
        '"\t"',
        '"\\x41"',
        '"\\u00g0"',
        '"\\u 123"',
        "\ufeff1",
        "\u00a01",
        "\u0661",
        "// 1",
    ],
)
def test_what_ecmascript_refuses_is_refused(text: str) -> None:
    """Python's own parser takes some of these."""
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_a_constant_that_is_no_json_is_named() -> None:
    """The refusal says what was met."""
    with pytest.raises(ValueError, match=r"^NaN is no JSON$"):
        parse_json("NaN")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9" * 400, 10**400 - 1),
        ("-" + "9" * 399, 1 - 10**399),
        ("9" * 401, math.inf),
        ("-" + "9" * 400, -math.inf),
        ("9" * 5_000, math.inf),
        ("1e400", math.inf),
    ],
)
def test_a_number_of_any_length_is_read(text: str, value: float) -> None:
    """Digits beyond the length that Python's `int` takes are infinite, as they are to a double."""
    found = parse_json(text)
    assert found == value
    assert type(found) is type(value)


def test_too_deep_a_nesting_is_a_recursion_error() -> None:
    """The limit is the parser's, and it is told apart from text that is no JSON."""
    assert parse_json("[" * 500 + "]" * 500) is not None
    with pytest.raises(RecursionError):
        parse_json("[" * 100_000 + "]" * 100_000)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (-12, "-12"),
        (1.5, "1.5"),
        ([], "[]"),
        ({"b": [1, "x"], "a": {}}, '{"b":[1,"x"],"a":{}}'),
        ("\u0000\u001f", '"\\u0000\\u001f"'),
        ("\b\t\n\f\r", '"\\b\\t\\n\\f\\r"'),
        ('"\\/', '"\\"\\\\/"'),
        ("\u007f\u0085\u00a0\u2028\u2029\ufeff", '"\u007f\u0085\u00a0\u2028\u2029\ufeff"'),
        ("caf\u00e9 \u4f60 \U0001f600", '"caf\u00e9 \u4f60 \U0001f600"'),
        ("\ud7ff\ue000", '"\ud7ff\ue000"'),
        ("\ud800", '"\\ud800"'),
        ("\udbff", '"\\udbff"'),
        ("\udc00", '"\\udc00"'),
        ("\udfff", '"\\udfff"'),
        ("a\ud83db", '"a\\ud83db"'),
        ("\ude00\ud83d", '"\\ude00\\ud83d"'),
        ("\ud83d\ude00", '"\U0001f600"'),
        ("\ud83d\ud83d\ude00\ude00", '"\\ud83d\U0001f600\\ude00"'),
        ({"\ud83d": "\ude00"}, '{"\\ud83d":"\\ude00"}'),
    ],
)
def test_a_value_is_written_as_ecmascript_writes_it(value: object, text: str) -> None:
    """Compact, keys in their order, lone surrogates as escapes, all else above U+001F literally."""
    assert format_json(value) == text


@pytest.mark.parametrize("text", ["\ud83d", "a\udfffb", "\ude00\ud83d", "x\u2028\u0000\u0085"])
def test_a_text_survives_the_round_trip(text: str) -> None:
    """What is written is ASCII-safe to encode and reads back as it was."""
    written = format_json({"prompt": text})
    assert written.encode("utf-8")
    assert parse_json(written) == {"prompt": text}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [math.nan]])
def test_what_json_cannot_say_is_not_written(value: object) -> None:
    """`NaN` and infinities are a `ValueError`, not an invented literal."""
    with pytest.raises(ValueError, match="JSON compliant"):
        format_json(value)
