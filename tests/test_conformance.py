"""The conformance runner judges exactly: whatever differs or is not understood is a failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest

from wakefold.json_text import parse_json
from wakefold_laws.conformance import SKIPPED_TAGS, FileReport, check_directory, spell
from wakefold_laws.vector_runners import RUNNERS

VECTORS: Final = Path(__file__).with_name("vectors")
LINES_MAX: Final = 40
MUTANTS_MAX: Final = 25

GOOD: Final = '{"name":"a","value":"UTC","expect":{"ok":"UTC"}}'
BAD: Final = '{"name":"b","value":"UTC","expect":{"ok":"UTD"}}'
SKIPPED: Final = '{"name":"c","value":"x","tags":["not-in-tzdb"],"expect":{"ok":"x"}}'

Case = dict[str, Any]


def _check(directory: Path, text: str, name: str = "zone") -> FileReport:
    (directory / f"{name}.jsonl").write_text(text, "utf-8", newline="")
    (report,) = check_directory(directory)
    return report


def _numbers(report: FileReport) -> tuple[int, int, list[int]]:
    return report.passed, report.skipped, [failure.line for failure in report.failures]


def _expectation(case: Case) -> str:
    return "expect_dynamic" if "expect_dynamic" in case else "expect"


def _sample(name: str) -> list[Case]:
    """Judged cases from all over a file, those aside that plain JSON cannot write (`1e400`)."""
    lines = (VECTORS / f"{name}.jsonl").read_text("ascii").splitlines()
    cases = [case for case in map(parse_json, lines) if isinstance(case, dict) and "tags" not in case]
    plain = [case for case in cases if "Infinity" not in json.dumps(case)]
    return plain[:: max(1, len(plain) // LINES_MAX)][:LINES_MAX]


def _mutants(value: object) -> Iterator[object]:
    """The value with one thing changed, for every thing in it."""
    match value:
        case bool() | None:
            yield 0
        case str():
            yield from (value + "x", value[:-1] if value else " ", value.swapcase() + "\u0001")
        case int():
            yield from (value + 1, value - 1, float(value), True, str(value), None)
        case list():
            yield from _mutant_lists(value)
        case dict():
            yield from _mutant_objects(value)
        case _:
            pytest.fail(f"no JSON: {value!r}")
    if not isinstance(value, str):
        yield json.dumps(value)


def _mutant_lists(items: list[object]) -> Iterator[object]:
    yield [*items, None]
    if len(items) > 1:
        yield items[1:]
        if items[::-1] != items:
            yield items[::-1]
    for index, item in enumerate(items):
        for mutant in _mutants(item):
            yield [*items[:index], mutant, *items[index + 1 :]]


def _mutant_objects(fields: dict[str, object]) -> Iterator[object]:
    yield {**fields, "extra": None}
    if "ok" in fields:
        yield {"error": "corrupt_schedule_log"}
        yield {"okay": fields["ok"]}
    if "error" in fields:
        yield {"ok": fields["error"]}
    for key, field in fields.items():
        yield {name: item for name, item in fields.items() if name != key}
        for mutant in _mutants(field):
            yield {**fields, key: mutant}


def _spread(mutants: list[object]) -> Iterator[object]:
    return islice(mutants, 0, None, max(1, -(-len(mutants) // MUTANTS_MAX)))


@pytest.mark.parametrize("name", sorted(RUNNERS))
def test_every_change_of_an_expectation_is_noticed(tmp_path: Path, name: str) -> None:
    """Each sampled case passes, and fails alone once its expectation differs in one thing."""
    lines: list[str] = []
    expected: list[int] = []
    for case in _sample(name):
        lines.append(json.dumps(case))
        key = _expectation(case)
        for mutant in _spread(list(_mutants(case[key]))):
            lines.append(json.dumps({**case, key: mutant}))
            expected.append(len(lines))
    report = _check(tmp_path, "\n".join(lines) + "\n", name)
    assert [failure.line for failure in report.failures] == expected
    assert report.passed == len(lines) - len(expected)
    assert len(expected) > 3 * report.passed


def _reversed(value: object) -> object:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", sorted(RUNNERS))
def test_the_order_of_keys_does_not_matter(tmp_path: Path, name: str) -> None:
    """Neither in the input nor in the expectation; the order of arrays is kept here."""
    text = "\n".join(json.dumps(_reversed(case)) for case in _sample(name))
    report = _check(tmp_path, text, name)
    assert report.failures == ()
    assert report.passed == len(text.splitlines())


@pytest.mark.parametrize(
    ("value", "others"),
    [
        (1, [1.0, True, "1", [1], None]),
        (0, [0.0, -0.0, False, "", None, []]),
        ({"a": 1}, [{"a": 1.0}, {"a": True}, {}, {"a": 1, "b": None}]),
        ([1, 2], [[2, 1], [1, 2, None], (1,)]),
        ("\ud83d\ude00", ["\ud83d", "\\ud83d\\ude00"]),
    ],
)
def test_each_value_has_a_spelling_of_its_own(value: object, others: list[object]) -> None:
    """Python's own equality takes some of these for the same."""
    assert spell(value) not in {spell(other) for other in others}
    assert spell({"b": value, "a": 1}) == spell({"a": 1, "b": value})


@pytest.mark.parametrize(
    ("text", "passed", "skipped", "failing"),
    [
        (GOOD, 1, 0, []),
        (f"{GOOD}\n", 1, 0, []),
        (f"{GOOD}\n{SKIPPED}\n{BAD}\n", 1, 1, [3]),
        (f"{GOOD}\n\n{GOOD}\n", 2, 0, [2]),
        (f"{GOOD}\n\n", 1, 0, [2]),
        (f"\n{GOOD}\n", 1, 0, [1]),
        (f"{GOOD}\n \n", 1, 0, [2]),
        (f"{GOOD}{GOOD}\n", 0, 0, [1]),
        (f"{GOOD}\u2028\n", 0, 0, [1]),
        (f"{GOOD[:-1]}\n", 0, 0, [1]),
        ('{"name":"\u00e9","value":"UTC","expect":{"ok":"UTC"}}', 0, 0, [1]),
        ('{"name":"a","value":"UTC","expect":{"ok":NaN}}', 0, 0, [1]),
        ('{"name":"a","value":%s,"expect":1}' % ("[" * 100_000), 0, 0, [1]),
        ("null\n[]\n1\n", 0, 0, [1, 2, 3]),
        ('{"value":"UTC","expect":{"ok":"UTC"}}', 0, 0, [1]),
        ('{"name":1,"value":"UTC","expect":{"ok":"UTC"}}', 0, 0, [1]),
        ('{"name":"a","value":"UTC"}', 0, 0, [1]),
        ('{"name":"a","expect":{"ok":"UTC"}}', 0, 0, [1]),
        ('{"name":"a","value":1,"expect":{"ok":"UTC"}}', 0, 0, [1]),
        ('{"name":"a","value":"UTC","expect_dynamic":{"ok":"UTC"}}', 0, 0, [1]),
    ],
)
def test_a_line_that_is_not_understood_fails(
    tmp_path: Path, text: str, passed: int, skipped: int, failing: list[int]
) -> None:
    """Blank, cut, doubled, not ASCII, no case, without a name, an input or an expectation."""
    assert _numbers(_check(tmp_path, text)) == (passed, skipped, failing)


@pytest.mark.parametrize("field", ["extra", "expect_dynamic", "Value", "now"])
def test_an_unknown_field_fails_a_case(tmp_path: Path, field: str) -> None:
    """A runner that ignored it would judge another case than the one written."""
    case = {**json.loads(GOOD), field: None}
    report = _check(tmp_path, json.dumps(case))
    assert _numbers(report) == (0, 0, [1])
    assert report.failures[0].reason == f"unknown field {field}"


@pytest.mark.parametrize(
    ("tags", "numbers"),
    [
        ([], (1, 0, [])),
        (["icu-julian"], (0, 1, [])),
        (["tzdb-release-sensitive"], (0, 1, [])),
        (["not-in-tzdb"], (0, 1, [])),
        (["icu-julian", "not-in-tzdb"], (0, 1, [])),
        (["flaky"], (0, 0, [1])),
        (["icu-julian", "flaky"], (0, 0, [1])),
        (["ICU-Julian"], (0, 0, [1])),
        ([["icu-julian"]], (0, 0, [1])),
        ([1], (0, 0, [1])),
        ("icu-julian", (0, 0, [1])),
        ({"icu-julian": 1}, (0, 0, [1])),
        (None, (0, 0, [1])),
    ],
)
def test_only_the_three_tags_skip_a_case(
    tmp_path: Path, tags: object, numbers: tuple[int, int, list[int]]
) -> None:
    """No tag judges it, an unknown one fails it."""
    assert _numbers(_check(tmp_path, json.dumps({**json.loads(GOOD), "tags": tags}))) == numbers
    assert len(SKIPPED_TAGS) == 3


def test_a_skipped_case_is_still_looked_at(tmp_path: Path) -> None:
    """An unknown field is not hidden by a tag."""
    case = {**json.loads(SKIPPED), "extra": 1}
    assert _numbers(_check(tmp_path, json.dumps(case))) == (0, 0, [1])


@pytest.mark.parametrize("name", ["calendar", "ZONE", "zone2", "README"])
def test_a_file_without_a_runner_fails_line_by_line(tmp_path: Path, name: str) -> None:
    """Tags do not help, since this version cannot judge any case of it."""
    report = _check(tmp_path, f"{GOOD}\n{SKIPPED}\n\n", name)
    assert _numbers(report) == (0, 0, [1, 2, 3])
    assert [failure.name for failure in report.failures] == ["a", "c", "?"]
    assert report.failures[0].reason == "this version cannot judge this file yet"


@pytest.mark.parametrize("file_name", ["notes.txt", "zone.json", "zone.jsonl.bak", "zone", ".hidden"])
def test_an_unknown_file_is_a_failure(tmp_path: Path, file_name: str) -> None:
    """Whatever stands in the directory is judged or told."""
    (tmp_path / file_name).write_text(GOOD)
    (report,) = check_directory(tmp_path)
    assert _numbers(report) == (0, 0, [0])


@pytest.mark.parametrize("file_name", ["decode.txt", "zone", "zone.json", "zone.jsonl.bak", "zone.txt"])
def test_an_unknown_file_is_a_failure_beside_a_known_one(tmp_path: Path, file_name: str) -> None:
    """A stem in common hides neither."""
    (tmp_path / file_name).write_text(GOOD)
    (tmp_path / "zone.jsonl").write_text(GOOD)
    reports = check_directory(tmp_path)
    assert sorted(map(_numbers, reports)) == [(0, 0, [0]), (1, 0, [])]


def test_a_directory_in_the_directory_is_a_failure(tmp_path: Path) -> None:
    """Vectors in it would go unjudged."""
    (tmp_path / "more").mkdir()
    (tmp_path / "zone.jsonl").write_text(GOOD)
    more, zone = check_directory(tmp_path)
    assert (_numbers(more), _numbers(zone)) == ((0, 0, [0]), (1, 0, []))


def test_an_empty_file_is_a_failure(tmp_path: Path) -> None:
    """No case is no success; a lone line end is an unreadable case."""
    assert _numbers(_check(tmp_path, "")) == (0, 0, [0])
    assert _numbers(_check(tmp_path, "\n")) == (0, 0, [1])


def test_an_empty_directory_is_a_failure(tmp_path: Path) -> None:
    """Alone or with nothing but its README."""
    assert [_numbers(report) for report in check_directory(tmp_path)] == [(0, 0, [0])]
    (tmp_path / "README.md").write_text("Vectors")
    assert [_numbers(report) for report in check_directory(tmp_path)] == [(0, 0, [0])]


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """The caller named the wrong place."""
    with pytest.raises(FileNotFoundError):
        check_directory(tmp_path / "vectors")


def test_the_readme_is_no_vector_file(tmp_path: Path) -> None:
    """It is the only file that is passed over."""
    (tmp_path / "README.md").write_text("Vectors")
    (tmp_path / "zone.jsonl").write_text(GOOD)
    assert [report.name for report in check_directory(tmp_path)] == ["zone"]
    (asked_for,) = check_directory(tmp_path, only=["README"])
    assert _numbers(asked_for) == (0, 0, [0])


def test_only_the_named_files_are_run_in_the_order_named(tmp_path: Path) -> None:
    """Once each; a name without a file is a failure."""
    for name in ("zone", "view", "decode"):
        (tmp_path / f"{name}.jsonl").write_text(GOOD)
    told: list[str] = []
    names = ["zone", "cron", "decode", "zone"]
    reports = check_directory(tmp_path, names, told.append)
    assert [report.name for report in reports] == told == ["zone", "cron", "decode"]
    assert _numbers(reports[1]) == (0, 0, [0])
    assert [report.name for report in check_directory(tmp_path)] == ["decode", "view", "zone"]


def test_a_failure_says_what_was_expected_and_what_came_out(tmp_path: Path) -> None:
    """By the case's name and line; a long value is cut."""
    (failure,) = _check(tmp_path, BAD).failures
    assert (failure.line, failure.name) == (1, "b")
    assert failure.reason == 'expected {"ok": "UTD"}, got {"ok": "UTC"}'
    long = {"name": "b", "value": "UTC", "expect": {"ok": "x" * 500}}
    (failure,) = _check(tmp_path, json.dumps(long)).failures
    assert failure.reason == f'expected {{"ok": "{"x" * 292}..., got {{"ok": "UTC"}}'
