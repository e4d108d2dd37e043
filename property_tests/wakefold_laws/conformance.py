"""Judging the core against vector files, exactly.

A vector file is JSON Lines, one case a line. This module decides what passes: the outcome must equal
the expectation to the letter (key order aside), and whatever is not understood (a file, a field, a tag,
a line) is a failure, so that nothing goes unjudged in silence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from wakefold.json_text import parse_json
from wakefold_laws.shell_processes import Breach
from wakefold_laws.shell_testers import ShellTester
from wakefold_laws.vector_runners import RUNNERS, Case

SKIPPED_TAGS: Final = frozenset({"icu-julian", "tzdb-release-sensitive", "not-in-tzdb"})
"""Cases that depend on a platform or on a tz release; they are counted, not judged."""

_SHOWN_CHARACTERS_MAX: Final = 300


class Failed(Struct, frozen=True):
    """One case that did not pass: where it stands and why."""

    line: int
    name: str
    reason: str
    said: tuple[str, ...] = ()
    """The last lines of what a shell wrote on standard error."""


class FileReport(Struct, frozen=True):
    """What became of one vector file's cases; one that is not judged is skipped whole."""

    name: str
    passed: int
    skipped: int
    failures: tuple[Failed, ...]
    judged: bool = True


#: The fields that the cases of a file may have, and what runs one.
Judge = tuple[frozenset[str], Callable[[Case], object]]


class Bench(Struct, frozen=True):
    """What is judged: by file, the fields and the runner of its cases.

    If it is `partial`, its own files must be there and all others are passed over; otherwise a file
    that nobody judges fails. `take_said` gives what there is to say of a case that has just failed.
    """

    judges: Mapping[str, Judge]
    partial: bool = False
    take_said: Callable[[], tuple[str, ...]] = tuple


#: The core and the shell of this project.
#:
#: :meta hide-value:
CORE: Final = Bench(RUNNERS)


def judge_shell(tester: ShellTester) -> Bench:
    """A program under test, which plays the transcripts of owner and tools and nothing else."""
    runners = {"owner": tester.run_owner, "tools": tester.run_tools}
    judges = {name: (RUNNERS[name][0], run) for name, run in runners.items()}
    return Bench(judges, partial=True, take_said=tester.take_said)


def check_directory(
    directory: Path,
    only: Sequence[str] = (),
    on_file: Callable[[str], None] = lambda _: None,
    bench: Bench = CORE,
    on_case: Callable[[], None] = lambda: None,
) -> tuple[FileReport, ...]:
    """Run every vector file of a directory, or those named in `only` (without `.jsonl`).

    A directory without vector files, and a name in `only` that has none, are reported as failures;
    `OSError` if the directory cannot be read. `on_file` is told each name before its turn, `on_case`
    of each case that is done.
    """
    found: dict[str, list[Path | None]] = {}
    for path in sorted(directory.iterdir()):
        if path.name != "README.md":
            found.setdefault(path.name.removesuffix(".jsonl"), []).append(path)
    reports = []
    for name in list(dict.fromkeys(only)) or sorted(found.keys() | _list_required(bench)):
        on_file(name)
        reports += [_check_file(name, path, bench, on_case) for path in found.get(name, [None])]
    return tuple(reports) or (_broken("(none)", f"no vector files in {directory}"),)


def _list_required(bench: Bench) -> set[str]:
    return set(bench.judges) if bench.partial else set()


def count_cases(directory: Path, names: Sequence[str]) -> int:
    """How many cases the named files hold; a file that cannot be read holds none."""
    paths = [directory / f"{name}.jsonl" for name in names]
    return sum(len(list(_lines(path.read_bytes()))) for path in paths if path.is_file())


def _check_file(name: str, path: Path | None, bench: Bench, on_case: Callable[[], None]) -> FileReport:
    if path is None or path.suffix != ".jsonl" or not path.is_file():
        return _broken(name, f"there is no vector file {name}.jsonl")
    lines = list(_lines(path.read_bytes()))
    if bench.partial and name not in bench.judges:
        return FileReport(name, 0, len(lines), (), judged=False)
    passed, skipped, failures = 0, 0, []
    for number, line in enumerate(lines, start=1):
        case_name, verdict = _judge(line, bench.judges.get(name))
        on_case()
        if verdict is None:
            passed += 1
        elif verdict == _SKIP:
            skipped += 1
        else:
            failures.append(Failed(number, case_name, verdict, bench.take_said()))
    if not lines:
        return _broken(name, "the file holds no cases")
    return FileReport(name, passed, skipped, tuple(failures))


_SKIP: Final = "skip"


def _judge(line: bytes, judge: Judge | None) -> tuple[str, str | None]:
    """A case's name, and why it failed (`None`: it passed)."""
    try:
        case: Any = parse_json(line.decode("ascii"))
    except (ValueError, RecursionError) as error:
        return "?", f"unreadable line: {error}"
    if not isinstance(case, dict) or not isinstance(case.get("name"), str):
        return "?", "a case must be an object with a name"
    name: str = case["name"]
    if judge is None:
        return name, "this version cannot judge this file yet"
    fields, run = judge
    unknown = case.keys() - fields - {"name", "tags"}
    if unknown:
        return name, f"unknown field {min(unknown)}"
    tags = case.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(t, str) and t in SKIPPED_TAGS for t in tags):
        return name, f"unknown tag in {tags}"
    if tags:
        return name, _SKIP
    try:
        expected = case["expect_dynamic" if "expect_dynamic" in fields else "expect"]
        outcome = run(case)
    except Breach as breach:
        return name, str(breach)
    except Exception as error:  # noqa: BLE001 - a case that breaks the runner must not end the run
        return name, f"the case could not be run: {error!r}"
    if spell(outcome) != spell(expected):
        place, expected, outcome = _find_difference("expect", expected, outcome)
        where = "" if place == "expect" else f"{place}: "
        return name, f"{where}expected {_shown(expected)}, got {_shown(outcome)}"
    return name, None


def _find_difference(place: str, expected: object, outcome: object) -> tuple[str, object, object]:
    """Where two lists begin to differ, as deep as they are alike; anything else differs as a whole."""
    if isinstance(expected, list) and isinstance(outcome, list):
        for index, (wanted, given) in enumerate(zip_longest(expected, outcome, fillvalue=_NOTHING)):
            if wanted is _NOTHING or given is _NOTHING or spell(wanted) != spell(given):
                return _find_difference(f"{place}[{index}]", wanted, given)
    if "[" in place and isinstance(expected, dict) and isinstance(outcome, dict):
        for key in expected if expected.keys() == outcome.keys() else ():
            if spell(expected[key]) != spell(outcome[key]):
                return _find_difference(f"{place}.{key}", expected[key], outcome[key])
    return place, expected, outcome


def spell(value: object) -> str:
    """One spelling for each value, so that `1`, `1.0` and `true` differ and key order does not."""
    return json.dumps(value, sort_keys=True)


_NOTHING: Final = object()


def _shown(value: object) -> str:
    text = "nothing" if value is _NOTHING else spell(value)
    return text if len(text) <= _SHOWN_CHARACTERS_MAX else f"{text[:_SHOWN_CHARACTERS_MAX]}..."


def _lines(content: bytes) -> Iterator[bytes]:
    rows = content.split(b"\n")
    yield from rows[:-1] if rows[-1] == b"" else rows


def _broken(name: str, reason: str) -> FileReport:
    return FileReport(name, 0, 0, (Failed(line=0, name="-", reason=reason),))
