"""The benchmarks, `python -m tests.benchmarks`; docs/performance.md tells how to read them.

Nothing here judges: a run fails where the two sides come to different things, and for no figure.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from wakefold_shell.cli.output import print_json, print_table

from .plots import draw_costs
from .processes import FailedWorkError, find_peer
from .reports import COLUMNS, TARGET_COLUMNS, Report, has_marks
from .rounds import measure_rows
from .samples import Store
from .workloads import SIZES, list_rows

_FAILED: Final = 1


def main(
    *,
    size: Annotated[
        Literal["small", "full"], typer.Option(help="How much of everything: seconds, or many minutes.")
    ] = "full",
    rounds: Annotated[int, typer.Option(min=1, help="How often each row is measured.")] = 5,
    only: Annotated[
        list[str] | None, typer.Option(help="Rows whose name begins so; repeatable.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON document in place of the table.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A page to put the table into, between its marks."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="A directory to draw the picture into.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="WAKEFOLD_BENCHMARKS", help="Where data and peer are kept; 2 GB for the full size."
        ),
    ] = None,
) -> None:
    """Measure this project beside the released JavaScript package, in one run, in turns."""
    rows = [row for row in list_rows(SIZES[size]) if only is None or row.name.startswith(tuple(only))]
    if not rows:
        names = ", ".join(row.name for row in list_rows(SIZES[size]))
        raise typer.BadParameter(f"no row begins so; there are: {names}", param_hint="--only")
    _check_outputs(page, output, whole=only is None)
    store = Store(data or _find_cache())
    peer = find_peer(store.directory / "released-package")
    if isinstance(peer, str):
        _say(f"the peer is left out: {peer}")
    try:
        report = Report(size, rounds, rows, measure_rows(rows, rounds, store, peer, _say), peer)
    except FailedWorkError as failure:
        _say(str(failure))
        raise typer.Exit(_FAILED) from failure
    if page is not None:
        report.replace_part(page)
    if output is not None:
        draw_costs(SIZES[size], report.table, output)
    if json:
        print_json(report.encode())
        return
    print_table(COLUMNS, report.list_cells())
    if targets := report.list_targets():
        print_table(TARGET_COLUMNS, targets)


def _check_outputs(page: Path | None, output: Path | None, *, whole: bool) -> None:
    """Refuse what could not be written, before anything is measured for it."""
    if page is not None and not has_marks(page):
        raise typer.BadParameter("the page has no place for the table", param_hint="--page")
    if output is not None and not whole:
        raise typer.BadParameter("the picture needs all rows", param_hint="--output")
    if output is not None and find_spec("matplotlib") is None:
        problem = "the picture needs the extra 'benchmarks': run pip install -e '.[benchmarks]'"
        raise typer.BadParameter(problem, param_hint="--output")


def _find_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wakefold-benchmarks"


def _say(sentence: str) -> None:
    sys.stderr.write(f"benchmarks: {sentence}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    typer.run(main)
