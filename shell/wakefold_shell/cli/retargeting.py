"""`wakefold retarget`: write down where this tz database places the targets of calendar rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from wakefold import format_instant
from wakefold.retargets import Move
from wakefold_shell.cli.option_groups import spread_groups
from wakefold_shell.cli.options import Means, SessionOption
from wakefold_shell.cli.output import print_json, show_text
from wakefold_shell.cli.reaching import find_way, write_moves
from wakefold_shell.cli.speech import print_line


@spread_groups
def retarget(
    session: SessionOption,
    means: Means,
    *,
    schedule_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only this reminder; by default all.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write it, instead of only showing it.")] = False,
) -> None:
    """Show, or with --yes write, where this tz database places stored targets of calendar rules.

    Each is an edit: the reminder's revision rises, and a pending snooze is dropped. Nobody may live in
    the session meanwhile.
    """
    moves = write_moves(find_way(session, means), schedule_id, write=yes)
    if means.as_json:
        print_json({"moves": [_encode(move) for move in moves], "written": yes and bool(moves)})
        return
    _print_moves(moves, written=yes)


def _print_moves(moves: Sequence[Move], *, written: bool) -> None:
    for move in moves:
        told = _encode(move)
        print_line(f"{show_text(move.record.id)}: {told['scheduledAt']} -> {told['placedAt']}")
    if not moves:
        print_line("every target stands where this tz database places it.")
    elif written:
        print_line("written.")
    else:
        print_line("nothing is written yet: say --yes.")


def _encode(move: Move) -> dict[str, str]:
    return {
        "id": move.record.id,
        "scheduledAt": format_instant(move.record.scheduled_at_ms),
        "placedAt": format_instant(move.target_ms),
    }
