"""`wakefold conformance`: the vectors, judged exactly, on the core or on a program of one's own."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final

import typer

from wakefold_laws.conformance import (
    CORE,
    Bench,
    Failed,
    FileReport,
    check_directory,
    count_cases,
    judge_shell,
)
from wakefold_laws.shell_testers import ANSWER_SECONDS_MAX, ShellTester
from wakefold_shell.cli.options import JsonOption
from wakefold_shell.cli.output import print_json, print_table, show_text
from wakefold_shell.cli.progress import show_cases
from wakefold_shell.cli.speech import print_line
from wakefold_shell.errors import ShellError, explain_os_error, show_path

_SHOWN_PER_FILE: Final = 5
_SAID_CHARACTERS_MAX: Final = 200


OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="NAME", help="Judge this file alone (repeatable)."),
]
ShellOption = Annotated[
    str | None,
    typer.Option(
        "--shell",
        metavar="CMD",
        help="Judge this program as a shell, by the files owner and tools: 'node shell.mjs'.",
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        min=0.01,
        help="With --shell: how long it may take for one thing that happens, 10 by default.",
    ),
]


def conformance(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory of vector files.")],
    *,
    only: OnlyOption = None,
    shell: ShellOption = None,
    time_limit: TimeLimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run every vector file found and compare exactly; exit 1 on any failure.

    With --shell a program in any language is judged, which speaks JSON Lines on standard input and
    output (docs/other-languages.md).
    """
    names = list(dict.fromkeys(name.removesuffix(".jsonl") for name in only or []))
    if shell is None:
        if time_limit is not None:
            raise typer.BadParameter("--time-limit goes with --shell")
        reports = _check(directory, names, CORE)
    else:
        with closing(ShellTester(_split(shell), time_limit or ANSWER_SECONDS_MAX)) as tester:
            bench = judge_shell(tester)
            _require_judged(names, bench)
            tester.start()
            reports = _check(directory, names, bench)
    if as_json:
        print_json({"files": [_encode_report(report) for report in reports]})
    else:
        _print_reports(reports)
    if any(report.failures for report in reports):
        raise typer.Exit(1)


def _check(directory: Path, names: Sequence[str], bench: Bench) -> tuple[FileReport, ...]:
    try:
        total = count_cases(directory, names or sorted(bench.judges))
        with show_cases(total) as note:
            return check_directory(directory, names, bench=bench, on_case=note)
    except OSError as error:
        message = f"{show_path(directory)}: {explain_os_error(error)}; give a directory of vectors."
        raise ShellError(message) from error


def _split(command: str) -> list[str]:
    """The words of a command line, as a shell splits them; no shell is started."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise typer.BadParameter(f"--shell: {str(error).lower()} in {command!r}") from error
    if not words:
        raise typer.BadParameter("--shell needs a command such as 'node shell.mjs'")
    return words


def _require_judged(names: Sequence[str], bench: Bench) -> None:
    for name in names:
        if name not in bench.judges:
            judged = " and ".join(sorted(bench.judges))
            raise typer.BadParameter(f"--only {name}: with --shell only {judged} are judged")


def _print_reports(reports: tuple[FileReport, ...]) -> None:
    print_table(
        ("file", "passed", "failed", "skipped"),
        [(r.name, str(r.passed), str(len(r.failures)), str(r.skipped)) for r in reports],
    )
    for report in reports:
        for failed in report.failures[:_SHOWN_PER_FILE]:
            _print_failure(report.name, failed)
        if len(report.failures) > _SHOWN_PER_FILE:
            print_line(f"{report.name}: and {len(report.failures) - _SHOWN_PER_FILE} more")
    passed_over = ", ".join(report.name for report in reports if not report.judged)
    if passed_over:
        print_line(f"not judged, since they are no shell's business: {passed_over}")
    passed = sum(report.passed for report in reports)
    failed_count = sum(len(report.failures) for report in reports)
    print_line(f"{passed} passed, {failed_count} failed")


def _print_failure(file_name: str, failed: Failed) -> None:
    print_line(f"{file_name}:{failed.line}: {failed.name}: {failed.reason}")
    for row in failed.said:
        print_line(f"    {show_text(row, _SAID_CHARACTERS_MAX)}")


def _encode_report(report: FileReport) -> dict[str, object]:
    return {
        "name": report.name,
        "judged": report.judged,
        "passed": report.passed,
        "failed": len(report.failures),
        "skipped": report.skipped,
        "failures": [
            {
                "line": failed.line,
                "name": failed.name,
                "reason": failed.reason,
                "said": list(failed.said),
            }
            for failed in report.failures
        ],
    }
