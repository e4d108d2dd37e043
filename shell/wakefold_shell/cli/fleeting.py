"""`wakefold fleet`: sessions in PostgreSQL. Its database is prepared here, and sessions are moved."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wakefold_shell.cli.commands import HelpfulGroup
from wakefold_shell.cli.crewing import retry, status, worker
from wakefold_shell.cli.fleet_ways import fleet_extra
from wakefold_shell.cli.options import LINE_BYTES_DEFAULT, FleetOption, JsonOption, LineBytesOption
from wakefold_shell.cli.output import print_json
from wakefold_shell.cli.progress import show_sessions
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.errors import show_path
from wakefold_shell.stores.journals import StoreKind

if TYPE_CHECKING:
    from wakefold_shell.fleet.moves import Move, Refusal

fleet_app = typer.Typer(
    cls=HelpfulGroup, help="Sessions in PostgreSQL, each woken by whichever worker is free."
)
fleet_app.command("worker")(worker)
fleet_app.command("status")(status)
fleet_app.command("retry")(retry)


@fleet_app.command("init")
def init_(*, fleet: FleetOption, as_json: JsonOption = False) -> None:
    """Prepare a database: the schema wakefold, with our tables and the queue's. Once is enough."""
    with fleet_extra():
        from wakefold_shell.fleet.links import open_link  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.schema import VERSION, init_schema  # noqa: PLC0415 - as above
    with open_link(fleet) as link:
        made = link.run(init_schema)
    if as_json:
        print_json({"made": made, "version": VERSION if made else None})
    elif made:
        print_line(f"prepared: the schema wakefold, version {VERSION}")
    else:
        print_line("it is prepared already; 'wakefold fleet migrate' brings it up to date")


@fleet_app.command("migrate")
def migrate_(*, fleet: FleetOption, as_json: JsonOption = False) -> None:
    """Bring the tables of a database up to date, ours and the queue's. Nothing in them is lost."""
    with fleet_extra():
        from wakefold_shell.fleet.links import open_link  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.schema import migrate_schema  # noqa: PLC0415 - as above
    with open_link(fleet) as link:
        before, version = link.run(migrate_schema)
    if as_json:
        print_json({"before": before, "version": version})
    elif before == version:
        print_line(f"up to date: version {version}")
    else:
        print_line(f"brought from version {before} to {version}")


@fleet_app.command("import")
def import_(
    root: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory with sessions below it, or a session.")
    ],
    *,
    fleet: FleetOption,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Move sessions into the database, as they are; the files stay. Exit 1 if any is refused."""
    with fleet_extra():
        from wakefold_shell.fleet.links import open_link  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.moves import find_journals, import_sessions  # noqa: PLC0415 - as above
        from wakefold_shell.fleet.schema import check_schema  # noqa: PLC0415 - as above
    with open_link(fleet, check_schema) as link:
        paths = find_journals(root)
        _report("import", import_sessions(link, paths, line_bytes_max), len(paths), as_json=as_json)


@fleet_app.command("export")
def export_(
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help="Where each session gets a directory; with --session, its directory."
        ),
    ],
    *,
    fleet: FleetOption,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="This session alone.")
    ] = None,
    to: Annotated[StoreKind, typer.Option("--to", help="What each is kept in.")] = "journal",
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Write sessions of the database into directories, as they are. Exit 1 if any is refused."""
    with fleet_extra():
        from wakefold_shell.fleet.links import open_link  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.moves import export_session, export_sessions  # noqa: PLC0415 - as above
        from wakefold_shell.fleet.schema import check_schema  # noqa: PLC0415 - as above
        from wakefold_shell.fleet.tables import count_sessions  # noqa: PLC0415 - as above
    with open_link(fleet, check_schema) as link:
        if session is None:
            moves = export_sessions(link, output, to, line_bytes_max)
            _report("export", moves, link.run(count_sessions), as_json=as_json)
        else:
            move = export_session(link, session, output, to, line_bytes_max)
            _report("export", [move], 1, as_json=as_json)


def _report(what: str, moves: Iterable[Move | Refusal], total: int, *, as_json: bool) -> None:
    """Show the work while it goes on, then tell what came of it; exit 1 if anything was refused."""
    with fleet_extra():
        from wakefold_shell.fleet.moves import Refusal  # noqa: PLC0415 - an extra
    done: list[Move] = []
    refused: list[Refusal] = []
    with show_sessions(f"{what}ing", total) as show:
        for move, number in zip(moves, count(1), strict=False):
            if isinstance(move, Refusal):
                refused.append(move)
            else:
                done.append(move)
            show(number)
    for refusal in refused:
        say(refusal.sentence)
    for warning in (move.warning for move in done if move.warning is not None):
        say(warning)
    new = sum(move.new for move in done)
    if as_json:
        rows = [_encode(move) for move in done]
        print_json(
            {f"{what}ed": new, "there": len(done) - new, "refused": len(refused), "sessions": rows}
        )
    else:
        print_line(f"{new} {what}ed, {len(done) - new} there already, {len(refused)} refused")
    if refused:
        raise typer.Exit(1)


def _encode(move: Move) -> dict[str, object]:
    return {
        "id": move.session_id,
        "path": show_path(move.path),
        "lines": move.lines,
        "later": move.later,
        "new": move.new,
        "warnings": [] if move.warning is None else [move.warning],
    }
