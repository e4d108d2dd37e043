"""Instants, white space and safe integers, at the edges of each."""

from __future__ import annotations

import pytest

from core_logs import FIRST_MS, LAST_MS, T
from wakefold.instants import (
    MAX_INSTANT_MS,
    MAX_SAFE_INTEGER,
    MIN_INSTANT_MS,
    format_instant,
    is_representable,
    is_trimmed,
    parse_instant,
    read_safe_integer,
    trim,
)

SAME_BOTH_WAYS = [
    ("0001-01-01T00:00:00.000Z", -62_135_596_800_000),
    ("0001-01-01T00:00:00.001Z", -62_135_596_799_999),
    ("1600-02-29T00:00:00.000Z", -11_670_998_400_000),
    ("1969-12-31T23:59:59.999Z", -1),
    ("1970-01-01T00:00:00.000Z", 0),
    ("1970-01-01T00:00:00.001Z", 1),
    ("1970-01-01T00:00:01.000Z", 1_000),
    ("1970-01-01T00:01:00.000Z", 60_000),
    ("1970-01-01T01:00:00.000Z", 3_600_000),
    ("1970-01-02T00:00:00.000Z", 86_400_000),
    ("2000-02-29T00:00:00.000Z", 951_782_400_000),
    ("2027-01-15T08:00:00.000Z", T),
    ("2028-02-29T12:34:56.789Z", 1_835_440_496_789),
    ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
]

WHITE_SPACE = [
    *("\t", "\n", "\v", "\f", "\r", " ", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003"),
    *("\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029"),
    *("\u202f", "\u205f", "\u3000", "\ufeff"),
]

NO_WHITE_SPACE = [
    *("\u0000", "\u0008", "\u000e", "\u001b", "\u001c", "\u001d", "\u001e", "\u001f", "\u007f"),
    *("\u0085", "\u00ad", "\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u202a", "\u2060"),
    *("\ufffe", "\ufff0", "\ud800", "\udfff"),
]


@pytest.mark.parametrize(("text", "instant_ms"), SAME_BOTH_WAYS)
def test_an_instant_is_written_and_read_alike(text: str, instant_ms: int) -> None:
    """Text and epoch milliseconds name each other, from the first instant to the last."""
    assert parse_instant(text) == instant_ms
    assert format_instant(instant_ms) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2027-02-01",
        "2027-02-01T09:00:00Z",
        "2027-02-01T09:00:00.0Z",
        "2027-02-01T09:00:00.00Z",
        "2027-02-01T09:00:00.0000Z",
        "2027-02-01T09:00:00.000",
        "2027-02-01T09:00:00.000z",
        "2027-02-01t09:00:00.000Z",
        "2027-02-01 09:00:00.000Z",
        "2027-02-01T09:00:00,000Z",
        "2027-02-01T09:00:00.000+00:00",
        "2027-02-01T09:00:00.000ZZ",
        "+2027-02-01T09:00:00.000Z",
        "-2027-02-01T09:00:00.000Z",
        "+002027-02-01T09:00:00.000Z",
        "12027-02-01T09:00:00.000Z",
        "027-02-01T09:00:00.000Z",
        " 2027-02-01T09:00:00.000Z",
        "2027-02-01T09:00:00.000Z ",
        "2027-02-01T09:00:00.000Z\n",
        "2027-2-01T09:00:00.000Z",
        "2027-02-1T09:00:00.000Z",
        "2027-02-01T9:00:00.000Z",
        "2027-W05-1T09:00:00.000Z",
        "20270201T090000.000Z",
        "\uff12027-02-01T09:00:00.000Z",
        "2027-02-01T09:00:00.00\u0660Z",
        "1773729000",
    ],
)
def test_only_the_canonical_24_characters_are_an_instant(text: str) -> None:
    """Every other spelling, close as it may be, is no instant."""
    assert parse_instant(text) is None


@pytest.mark.parametrize(
    ("real", "unreal"),
    [
        ("0001-01-01T00:00:00.000Z", "0000-12-31T23:59:59.999Z"),
        ("2027-01-01T00:00:00.000Z", "2027-00-01T00:00:00.000Z"),
        ("2027-12-01T00:00:00.000Z", "2027-13-01T00:00:00.000Z"),
        ("2027-01-01T00:00:00.000Z", "2027-01-00T00:00:00.000Z"),
        ("2027-01-31T00:00:00.000Z", "2027-01-32T00:00:00.000Z"),
        ("2027-04-30T00:00:00.000Z", "2027-04-31T00:00:00.000Z"),
        ("2027-02-28T00:00:00.000Z", "2027-02-29T00:00:00.000Z"),
        ("2028-02-29T00:00:00.000Z", "2028-02-30T00:00:00.000Z"),
        ("2000-02-29T00:00:00.000Z", "1900-02-29T00:00:00.000Z"),
        ("2027-01-01T23:00:00.000Z", "2027-01-01T24:00:00.000Z"),
        ("2027-01-01T23:59:00.000Z", "2027-01-01T23:60:00.000Z"),
        ("2016-12-31T23:59:59.000Z", "2016-12-31T23:59:60.000Z"),
        ("2027-01-01T00:00:09.000Z", "2027-01-01T00:00:90.000Z"),
    ],
)
def test_an_instant_names_a_day_and_a_time_that_exist(real: str, unreal: str) -> None:
    """The last that exists is an instant, the next one is none, leap seconds and 24:00 included."""
    assert parse_instant(real) is not None
    assert parse_instant(unreal) is None


@pytest.mark.parametrize(
    "value", [None, 0, T, 1.5, True, b"2027-02-01T09:00:00.000Z", ["2027-02-01T09:00:00.000Z"], {}]
)
def test_only_text_is_an_instant(value: object) -> None:
    """A number of milliseconds is no instant, nor is any other value."""
    assert parse_instant(value) is None


@pytest.mark.parametrize("instant_ms", [FIRST_MS - 1, LAST_MS + 1, -(2**63), 2**53, 10**30])
def test_no_text_exists_outside_the_four_digit_years(instant_ms: int) -> None:
    """Writing an instant outside years 0001 to 9999 is a `ValueError`, however far off it is."""
    with pytest.raises(ValueError, match="out of range"):
        format_instant(instant_ms)


@pytest.mark.parametrize(
    ("instant_ms", "expected"),
    [
        (FIRST_MS - 1, False),
        (FIRST_MS, True),
        (FIRST_MS + 1, True),
        (0, True),
        (LAST_MS - 1, True),
        (LAST_MS, True),
        (LAST_MS + 1, False),
        (10**30, False),
        (-(10**30), False),
    ],
)
def test_the_range_holds_its_ends(instant_ms: int, expected: bool) -> None:
    """The first and the last instant are in range, their outer neighbours are not."""
    assert is_representable(instant_ms) is expected


def test_the_bounds_are_those_of_the_page() -> None:
    """The constants that other modules compare with."""
    assert (MIN_INSTANT_MS, MAX_INSTANT_MS) == (FIRST_MS, LAST_MS)
    assert MAX_SAFE_INTEGER == 9_007_199_254_740_991


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (-0.0, 0),
        (1, 1),
        (-1, -1),
        (300.0, 300),
        (-300.0, -300),
        (9_007_199_254_740_991, 9_007_199_254_740_991),
        (-9_007_199_254_740_991, -9_007_199_254_740_991),
        (9_007_199_254_740_991.0, 9_007_199_254_740_991),
        (-9_007_199_254_740_991.0, -9_007_199_254_740_991),
        (9_007_199_254_740_992, None),
        (-9_007_199_254_740_992, None),
        (9_007_199_254_740_992.0, None),
        (-9_007_199_254_740_992.0, None),
        (1e300, None),
        (10**400, None),
        (0.5, None),
        (300.5, None),
        (5e-324, None),
        (float("nan"), None),
        (float("inf"), None),
        (float("-inf"), None),
        (True, None),
        (False, None),
        ("300", None),
        (None, None),
        ([300], None),
        ({}, None),
    ],
)
def test_a_safe_integer_is_a_whole_number_that_a_double_holds(
    value: object, expected: int | None
) -> None:
    """Whole floats count up to 2^53 - 1 on both sides; booleans and text never do."""
    found = read_safe_integer(value)
    assert found == expected
    assert type(found) is (int if expected is not None else type(None))


@pytest.mark.parametrize("character", WHITE_SPACE)
def test_white_space_of_ecmascript_is_trimmed(character: str) -> None:
    """It goes from both ends, however often, and stays inside."""
    assert trim(f"{character}{character}a{character}b{character}") == f"a{character}b"
    assert trim(character) == ""
    assert not is_trimmed(f"a{character}")
    assert not is_trimmed(f"{character}a")
    assert is_trimmed(f"a{character}b")


@pytest.mark.parametrize("character", NO_WHITE_SPACE)
def test_nothing_else_is_trimmed(character: str) -> None:
    """What only Python or a Unicode table calls a space stays where it is."""
    text = f"{character}a{character}"
    assert trim(text) == text
    assert is_trimmed(text)


def test_no_other_code_point_is_white_space() -> None:
    """Of all of them, exactly the listed ones are trimmed away."""
    every = map(chr, range(0x11_0000))
    assert [character for character in every if trim(character) == ""] == sorted(WHITE_SPACE)


@pytest.mark.parametrize("value", ["", " ", None, 1, True, b"a", ["a"], {"a": 1}])
def test_only_text_with_something_in_it_is_trimmed(value: object) -> None:
    """An id or a prompt is non-empty text; no other value is one."""
    assert not is_trimmed(value)
