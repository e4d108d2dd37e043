"""`wakefold conformance`: the vectors, judged exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from wakefold_laws.conformance import FileReport, check_directory
from wakefold_shell.cli.options import JsonOption
from wakefold_shell.cli.output import print_json, print_line, print_table
from wakefold_shell.errors import ShellError, explain_os_error, show_path

_SHOWN_PER_FILE: Final = 5


def conformance(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory of vector files.")],
    *,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Judge this file alone (repeatable)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run every vector file found and compare exactly; exit 1 on any failure."""
    try:
        reports = check_directory(directory, [name.removesuffix(".jsonl") for name in only or []])
    except OSError as error:
        message = f"{show_path(directory)}: {explain_os_error(error)}; give a directory of vectors."
        raise ShellError(message) from error
    if as_json:
        print_json({"files": [_encode_report(report) for report in reports]})
    else:
        _print_reports(reports)
    if any(report.failures for report in reports):
        raise typer.Exit(1)


def _print_reports(reports: tuple[FileReport, ...]) -> None:
    print_table(
        ("file", "passed", "failed", "skipped"),
        [(r.name, str(r.passed), str(len(r.failures)), str(r.skipped)) for r in reports],
    )
    for report in reports:
        for failed in report.failures[:_SHOWN_PER_FILE]:
            print_line(f"{report.name}:{failed.line}: {failed.name}: {failed.reason}")
        if len(report.failures) > _SHOWN_PER_FILE:
            print_line(f"{report.name}: and {len(report.failures) - _SHOWN_PER_FILE} more")
    passed = sum(report.passed for report in reports)
    failed_count = sum(len(report.failures) for report in reports)
    print_line(f"{passed} passed, {failed_count} failed")


def _encode_report(report: FileReport) -> dict[str, object]:
    return {
        "name": report.name,
        "passed": report.passed,
        "failed": len(report.failures),
        "skipped": report.skipped,
        "failures": [
            {"line": failed.line, "name": failed.name, "reason": failed.reason}
            for failed in report.failures
        ],
    }
