"""Changing a reminder on the command line: `update`, `pause`, `resume`, `snooze`."""

from __future__ import annotations

from typing import Annotated

import typer

from wakefold import format_instant
from wakefold.edit_requests import UnchangedCode
from wakefold.events import Json
from wakefold.instants import is_representable
from wakefold_shell.cli.option_groups import spread_groups
from wakefold_shell.cli.options import Address, RevisionOption, SessionNameOption, choose_clock
from wakefold_shell.cli.output import show_text
from wakefold_shell.cli.reaching import call_tool, find_any_way
from wakefold_shell.cli.reminders import print_answer, show_target
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.cli.wishes import Option, Wish, list_arguments, present

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The reminder's id.")]


@spread_groups
def update(
    schedule_id: IdArgument,
    session: SessionNameOption,
    wish: Wish,
    means: Address,
    *,
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="TEXT", help="What to remind the agent of.")
    ] = None,
    clear: Annotated[
        list[Option] | None, typer.Option("--clear", help="Take an option away, repeatable.")
    ] = None,
    revision: RevisionOption = None,
) -> None:
    """Change a reminder's prompt, rule or options; what is not named stays as it is.

    The first calendar rule, option or edit makes the log unreadable for good to programs that know
    version 1 only; --protocol 1 refuses it.
    """
    given = {**present({"prompt": prompt}), **list_arguments(wish)}
    cleared: Json = {option.argument: None for option in clear or []}
    twice = given.keys() & cleared.keys()
    if twice:
        raise typer.BadParameter(f"{min(twice)} is both given and cleared")
    _edit(schedule_id, session, means, revision, {**given, **cleared})


@spread_groups
def pause(
    schedule_id: IdArgument,
    session: SessionNameOption,
    means: Address,
    *,
    revision: RevisionOption = None,
) -> None:
    """Keep a reminder from coming until it is resumed.

    An edit: see 'wakefold update --help' for what that makes of the log.
    """
    _edit(schedule_id, session, means, revision, {"paused": True}, "it is paused already")


@spread_groups
def resume(
    schedule_id: IdArgument,
    session: SessionNameOption,
    means: Address,
    *,
    revision: RevisionOption = None,
) -> None:
    """Let a paused reminder go on; what it missed meanwhile does not pile up.

    An edit: see 'wakefold update --help' for what that makes of the log.
    """
    _edit(schedule_id, session, means, revision, {"paused": False}, "it is not paused")


@spread_groups
def snooze(
    schedule_id: IdArgument,
    session: SessionNameOption,
    means: Address,
    *,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TEXT", help="Until 2027-02-01T09:00:00+01:00 or ...Z."),
    ] = None,
    seconds: Annotated[
        int | None,
        typer.Option("--for", metavar="SECONDS", min=1, help="Until so many seconds from now."),
    ] = None,
    revision: RevisionOption = None,
) -> None:
    """Put off a reminder's next delivery, to a time before its next occurrence.

    The sequence stays as it is. An edit: see 'wakefold update --help' for what that makes of the log.
    """
    if (until is None) == (seconds is None):
        raise typer.BadParameter("give either --until or --for")
    if seconds is not None:
        until_ms = choose_clock(means.now).read_ms() + 1000 * seconds
        if not is_representable(until_ms):
            raise typer.BadParameter("--for ends after the year 9999")
        until = format_instant(until_ms)
    _edit(
        schedule_id, session, means, revision, {"snooze_until": until}, "it is paused, resume it first"
    )


def _edit(
    schedule_id: str,
    session: str,
    means: Address,
    revision: int | None,
    changes: Json,
    standing: str | None = None,
) -> None:
    """Do it and tell what came of it; exit 1 where nothing was changed.

    `standing` is the conflict that such an edit has with how the reminder stands.
    """
    arguments = {"id": schedule_id, **present({"revision": revision}), **changes}
    value, zone = call_tool(find_any_way(session, means), "schedule_update", arguments)
    print_answer(value, as_json=means.as_json)
    if "updated" in value:
        if not means.as_json:
            reason = _explain(value["code"], revision, standing)
            say(f"{show_text(schedule_id)}: not changed, {reason}; see 'wakefold list'.")
        raise typer.Exit(1)
    if not means.as_json:
        shown = "paused" if value["state"] == "paused" else show_target(value, zone)
        print_line(f"{show_text(schedule_id)}: {shown}, revision {value['revision']}")


def _explain(code: UnchangedCode, revision: int | None, standing: str | None) -> str:
    if code == "schedule_not_found":
        return "no such reminder was ever made"
    if code == "schedule_ended":
        return "it has ended"
    another = None if revision is None else f"its revision is not {revision} any more"
    return " or ".join(reason for reason in (another, standing) if reason is not None)
