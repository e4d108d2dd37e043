"""Judging the core against vector files, exactly.

A vector file is JSON Lines, one case a line. This module decides what passes: the outcome must equal
the expectation to the letter (key order aside), and whatever is not understood (a file, a field, a tag,
a line) is a failure, so that nothing goes unjudged in silence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from wakefold.json_text import parse_json
from wakefold_laws.vector_runners import RUNNERS, Case

SKIPPED_TAGS: Final = frozenset({"icu-julian", "tzdb-release-sensitive", "not-in-tzdb"})
"""Cases that depend on a platform or on a tz release; they are counted, not judged."""

_SHOWN_CHARACTERS_MAX: Final = 300


class Failed(Struct, frozen=True):
    """One case that did not pass: where it stands and why."""

    line: int
    name: str
    reason: str


class FileReport(Struct, frozen=True):
    """What became of one vector file's cases."""

    name: str
    passed: int
    skipped: int
    failures: tuple[Failed, ...]


def check_directory(
    directory: Path,
    only: Sequence[str] = (),
    on_file: Callable[[str], None] = lambda _: None,
) -> tuple[FileReport, ...]:
    """Run every vector file of a directory, or those named in `only` (without `.jsonl`).

    A directory without vector files, and a name in `only` that has none, are reported as failures;
    `OSError` if the directory cannot be read. `on_file` is told each name before its turn.
    """
    found: dict[str, list[Path | None]] = {}
    for path in sorted(directory.iterdir()):
        if path.name != "README.md":
            found.setdefault(path.name.removesuffix(".jsonl"), []).append(path)
    reports = []
    for name in list(dict.fromkeys(only)) or sorted(found):
        on_file(name)
        reports += [_check_file(name, path) for path in found.get(name, [None])]
    return tuple(reports) or (_broken("(none)", f"no vector files in {directory}"),)


def _check_file(name: str, path: Path | None) -> FileReport:
    if path is None or path.suffix != ".jsonl" or not path.is_file():
        return _broken(name, f"there is no vector file {name}.jsonl")
    passed, skipped, failures = 0, 0, []
    runner = RUNNERS.get(name)
    count = 0
    for count, line in enumerate(_lines(path.read_bytes()), start=1):
        case_name, verdict = _judge(line, runner)
        if verdict is None:
            passed += 1
        elif verdict == _SKIP:
            skipped += 1
        else:
            failures.append(Failed(line=count, name=case_name, reason=verdict))
    if count == 0:
        return _broken(name, "the file holds no cases")
    return FileReport(name, passed, skipped, tuple(failures))


_SKIP: Final = "skip"


def _judge(
    line: bytes, runner: tuple[frozenset[str], Callable[[Case], object]] | None
) -> tuple[str, str | None]:
    """A case's name, and why it failed (`None`: it passed)."""
    try:
        case: Any = parse_json(line.decode("ascii"))
    except (ValueError, RecursionError) as error:
        return "?", f"unreadable line: {error}"
    if not isinstance(case, dict) or not isinstance(case.get("name"), str):
        return "?", "a case must be an object with a name"
    name: str = case["name"]
    if runner is None:
        return name, "this version cannot judge this file yet"
    fields, run = runner
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
    except Exception as error:  # noqa: BLE001 - a case that breaks the runner must not end the run
        return name, f"the case could not be run: {error!r}"
    if spell(outcome) != spell(expected):
        return name, f"expected {_shown(expected)}, got {_shown(outcome)}"
    return name, None


def spell(value: object) -> str:
    """One spelling for each value, so that `1`, `1.0` and `true` differ and key order does not."""
    return json.dumps(value, sort_keys=True)


def _shown(value: object) -> str:
    text = spell(value)
    return text if len(text) <= _SHOWN_CHARACTERS_MAX else f"{text[:_SHOWN_CHARACTERS_MAX]}..."


def _lines(content: bytes) -> Iterator[bytes]:
    rows = content.split(b"\n")
    yield from rows[:-1] if rows[-1] == b"" else rows


def _broken(name: str, reason: str) -> FileReport:
    return FileReport(name, 0, 0, (Failed(line=0, name="-", reason=reason),))
