"""Laws of what is stored: changes, JSON text, instants, trimmed text and integers.

This module decides what decoding and encoding owe each other and the words of spec sections 2 and 3. It
refuses to know what a change does to a ledger.
"""

from __future__ import annotations

import copy
import json
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

from returns.result import Result, Success

from wakefold.events import (
    Change,
    Create,
    Delete,
    Dispatch,
    EveryRecord,
    decode_change,
    encode_change,
)
from wakefold.instants import (
    MAX_INSTANT_MS,
    MAX_SAFE_INTEGER,
    MIN_INSTANT_MS,
    format_instant,
    is_trimmed,
    parse_instant,
    read_safe_integer,
    trim,
)
from wakefold.json_text import format_json, parse_json
from wakefold.rejections import CorruptScheduleLog
from wakefold_laws.drawing import st
from wakefold_laws.laws import law
from wakefold_laws.strategies import changes, instants, json_values, prompts

_OTHER_TYPES: Final[tuple[object, ...]] = (None, True, False, 0, 1.5, "x", [], {})
_KNOWN_KEYS: Final = {
    "version", "operation", "schedule", "id", "acceptedAt",
    "kind", "prompt", "afterSeconds", "everySeconds", "scheduledAt",
}  # fmt: skip
_DAYS_IN_400_YEARS: Final = 146_097
_NO_NUMBERS: Final[tuple[object, ...]] = (True, False, None, "300", b"300", [300], {}, 300j)
_SECONDS_BOUNDS: Final = (("after", 1, MAX_SAFE_INTEGER), ("every", 300, MAX_SAFE_INTEGER // 1000))
_odd_characters = st.sampled_from("0\uff10\u0660\n \0") | st.characters(exclude_categories=())


def is_corrupt(decoded: Result[Change, CorruptScheduleLog]) -> bool:
    """Whether decoding failed, with the one code that there is for it."""
    fault = decoded.swap().value_or(None)
    return isinstance(fault, CorruptScheduleLog) and fault.code == "corrupt_schedule_log"


def list_objects(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The JSON objects of an encoded change: itself, and the schedule of a create."""
    return [data, data["schedule"]] if "schedule" in data else [data]


def json_type(value: object) -> str:
    """The type of a value as JSON has it, where all numbers are one type."""
    return "number" if type(value) in (int, float) else type(value).__name__


def list_mutations(change: Change, extra: str) -> Iterator[tuple[str, object]]:
    """Each single mutation of an encoded change: what was done, and what came out."""
    whole = encode_change(change)
    for place in range(len(list_objects(whole))):
        for key in (*list_objects(whole)[place], None):
            for value in ("DROP", *_OTHER_TYPES) if key is not None else _OTHER_TYPES:
                data = copy.deepcopy(whole)
                fields = list_objects(data)[place]
                if key is None:
                    fields[extra] = value
                elif value == "DROP":
                    del fields[key]
                elif json_type(fields[key]) == json_type(value):
                    continue
                else:
                    fields[key] = value
                yield f"{key or extra} <- {value!r}", data


@law(change=changes())
def a_change_decodes_as_it_was_encoded(change: Change) -> None:
    """Decoding an encoded change gives the change again, with its keys in any order."""
    data = encode_change(change)
    assert decode_change(data) == Success(change)
    assert decode_change(dict(reversed(data.items()))) == Success(change)


@law(change=changes())
def a_change_survives_json_text(change: Change) -> None:
    """A change written as JSON text and read back, here or by another parser, is the same change."""
    text = format_json(encode_change(change))
    assert decode_change(parse_json(text)) == Success(change)
    assert decode_change(json.loads(text)) == Success(change)
    assert "\n" not in text
    text.encode()  # no lone surrogate is left bare


@law(change=changes(), extra=st.sampled_from(("note", "__proto__", "Id")) | prompts())
def every_single_mutation_of_a_change_is_refused(change: Change, extra: str) -> None:
    """An extra key, a dropped key or a value of another type makes a change corrupt; one may drop
    `acceptedAt`, which leaves the dispatch of a one-shot.
    """
    if extra in _KNOWN_KEYS:
        extra += "2"
    for name, data in list_mutations(change, extra):
        decoded = decode_change(data)
        if name == "acceptedAt <- 'DROP'":
            assert isinstance(change, Dispatch)
            assert decoded == Success(Dispatch(change.id))
        else:
            assert is_corrupt(decoded), name


@law(change=changes())
def whole_numbers_may_be_spelled_as_doubles(change: Change) -> None:
    """`300.0` and `3e2` are the integer 300, in the version as in the seconds; `300.5` is not."""
    data = encode_change(change)
    for fields in list_objects(data):
        for key, value in fields.items():
            if isinstance(value, int):
                fields[key] = float(value)
    assert decode_change(data) == Success(change)
    data["version"] = 1.5
    assert is_corrupt(decode_change(data))


@law(bounds=st.sampled_from(_SECONDS_BOUNDS))
def seconds_are_read_exactly_within_their_bounds(bounds: tuple[str, int, int]) -> None:
    """Delays are read from 1 s to 2 ** 53 - 1 s, rates from 300 s while their milliseconds are safe."""
    kind, least, most = bounds
    for seconds, fits in ((least - 1, False), (least, True), (most, True), (most + 1, False)):
        head = {"id": "a", "kind": kind, "prompt": "p", f"{kind}Seconds": seconds}
        schedule = {**head, "scheduledAt": "2027-02-01T09:00:00.000Z"}
        decoded = decode_change({"version": 1, "operation": "create", "schedule": schedule})
        assert is_corrupt(decoded) == (not fits)


@law(data=json_values())
def decoding_is_total(data: object) -> None:
    """Any JSON value decodes to a change or to a corrupt log, and is never changed by it."""
    before = copy.deepcopy(data)
    assert is_corrupt(decode_change(data))
    assert data == before


@law(value=json_values())
def json_text_reads_back(value: object) -> None:
    """JSON text, written by us, reads back as the value here and by the standard parser."""
    text = format_json(value)
    assert parse_json(text) == value
    assert json.loads(text) == value


@law(instant_ms=instants() | st.integers(MIN_INSTANT_MS, MAX_INSTANT_MS))
def instant_text_reads_back(instant_ms: int) -> None:
    """Formatting an instant and parsing the text gives the instant, over the whole range."""
    text = format_instant(instant_ms)
    assert len(text) == len("2027-02-01T09:00:00.000Z")
    assert parse_instant(text) == instant_ms


@law(instant_ms=instants(), later_ms=instants())
def instant_text_sorts_as_the_instants_do(instant_ms: int, later_ms: int) -> None:
    """Of two instants the earlier one has the lesser text."""
    texts = format_instant(instant_ms), format_instant(later_ms)
    assert (texts[0] < texts[1]) == (instant_ms < later_ms)


@law(
    year=st.integers(0, 9999), month=st.integers(0, 13), day=st.integers(0, 32),
    hour=st.integers(0, 25), minute=st.integers(0, 61), second=st.integers(0, 61),
)  # fmt: skip
def an_instant_names_a_real_day_and_time(
    year: int, month: int, day: int, hour: int, minute: int, second: int
) -> None:
    """Canonical text is an instant exactly if the calendar has its day and the clock its time."""
    text = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z"
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    real_day = year > 0 and 1 <= month <= 12 and 1 <= day <= lengths[month - 1]
    real = real_day and hour < 24 and minute < 60 and second < 60
    parsed = parse_instant(text)
    assert (parsed is not None) == real
    if parsed is not None:
        assert parsed // 1000 % 86_400 == hour * 3600 + minute * 60 + second
        if year <= 9599:
            later = f"{year + 400:04}{text[4:]}"
            assert parse_instant(later) == parsed + _DAYS_IN_400_YEARS * 86_400_000


@law(instant_ms=instants(), place=st.integers(0, 24), added=_odd_characters)
def no_other_spelling_of_an_instant_is_canonical(instant_ms: int, place: int, added: str) -> None:
    """A character more, less or foreign makes an instant's text unreadable; a digit names another."""
    text = format_instant(instant_ms)
    assert parse_instant(text[:place] + added + text[place:]) is None
    if place < len(text):
        assert parse_instant(text[:place] + text[place + 1 :]) is None
        changed = text[:place] + added + text[place + 1 :]
        read = parse_instant(changed)
        assert read is None or format_instant(read) == changed


@law()
def trim_removes_the_white_space_of_ecmascript_and_nothing_else() -> None:
    """Of all characters, `trim` removes TAB, LF, VT, FF, CR, U+2028, U+2029, U+FEFF and category Zs."""
    white = {"\t", "\n", "\v", "\f", "\r", "\u2028", "\u2029", "\ufeff"}
    every = map(chr, range(sys.maxunicode + 1))
    removed = {character for character in every if trim(character) == ""}
    zs = {c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) == "Zs"}
    assert removed == white | zs
    for character in removed:
        assert trim(f"{character}a{character}b{character}{character}") == f"a{character}b"


@law(text=st.text(st.characters(exclude_categories=()) | st.sampled_from(" \t\u2028\ufeff\x1c\x85")))
def trim_is_idempotent_and_only_cuts(text: str) -> None:
    """What `trim` leaves is a part of the text that is its own trim, empty or fit for a prompt."""
    trimmed = trim(text)
    assert trim(trimmed) == trimmed
    assert trimmed in text
    assert is_trimmed(trimmed) == (trimmed != "")
    assert is_trimmed(text) == (text != "" and trimmed == text)


@law(number=st.sampled_from((2**53, 2**53 - 1, -(2**53), 1 - 2**53)) | st.integers(-(2**54), 2**54))
def a_safe_integer_has_at_most_53_bits(number: int) -> None:
    """An integer is safe exactly if its absolute value is below 2 ** 53, as an int and as a double."""
    expected = number if abs(number) < 2**53 else None
    assert read_safe_integer(number) == expected
    if abs(number) < 2**53:
        assert read_safe_integer(float(number)) == number
        assert type(read_safe_integer(float(number))) is int


@law(number=st.floats())
def a_double_is_an_integer_only_without_a_fraction(number: float) -> None:
    """A double is a safe integer exactly if it has no fraction and stands within 2 ** 53 - 1."""
    whole = abs(number) <= MAX_SAFE_INTEGER and number % 1 == 0
    assert read_safe_integer(number) == (number if whole else None)


@law(value=st.sampled_from(_NO_NUMBERS))
def nothing_but_a_number_is_an_integer(value: object) -> None:
    """Booleans, texts and everything else that is no JSON number are no integers."""
    assert read_safe_integer(value) is None


@law(schedule_id=prompts(), instant_ms=instants())
def the_encoded_keys_stand_in_the_order_of_the_page(schedule_id: str, instant_ms: int) -> None:
    """Encoded changes have the keys of the page of records, in its order."""
    record = EveryRecord(schedule_id, "p", 300, instant_ms)
    assert list(encode_change(Create(record))) == ["version", "operation", "schedule"]
    assert list(encode_change(Delete(schedule_id))) == ["version", "operation", "id"]
    dispatch = encode_change(Dispatch(schedule_id, instant_ms))
    assert list(dispatch) == ["version", "operation", "id", "acceptedAt"]
