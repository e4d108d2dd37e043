"""The commands by name, each with its sentence: what help and completion need before one is called.

The module of a command is imported when the command is called, or when its own help or completion is
asked for; the others, and what they need, stay where they are. This module refuses to know what a
command does.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import MarkupMode, TyperCommand, TyperGroup
from typer.main import get_group

from wakefold_shell.cli.speech import print_line


class Entry(NamedTuple):
    """Where a command is, a function or a group in a module of this package, and its sentence."""

    module: str
    attribute: str
    sentence: str


COMMANDS: Final = {
    "demo": Entry(
        "demonstration",
        "demo",
        "See the main job: a scratch session, three reminders, one fires and has its receipt.",
    ),
    "inspect": Entry(
        "reading",
        "inspect",
        "Show a session's active reminders, its next wake, and how often it woke itself.",
    ),
    "validate": Entry(
        "reading",
        "validate",
        "Say of each journal that it is fine, or where it is not and why; exit 1 if any is not.",
    ),
    "receipts": Entry(
        "listing",
        "receipts",
        "List every dispatch: when, what, and how late. A receipt says queued, not answered or read.",
    ),
    "next": Entry(
        "listing",
        "next_",
        "List the coming deliveries, UTC and local, as a runner makes them with an idle agent.",
    ),
    "explain": Entry(
        "explaining",
        "explain_",
        "Say why a reminder has or has not been delivered: what stands in its way, or what ended it.",
    ),
    "create": Entry(
        "managing",
        "create",
        "Make a reminder. A session directory that does not exist is made, too.",
    ),
    "list": Entry(
        "managing",
        "list_",
        "List the active reminders of a session, in the order of their creation.",
    ),
    "update": Entry(
        "editing",
        "update",
        "Change a reminder's prompt, rule or options; what is not named stays as it is.",
    ),
    "pause": Entry(
        "editing",
        "pause",
        "Keep a reminder from coming until it is resumed.",
    ),
    "resume": Entry(
        "editing",
        "resume",
        "Let a paused reminder go on; what it missed meanwhile does not pile up.",
    ),
    "snooze": Entry(
        "editing",
        "snooze",
        "Put off a reminder's next delivery, to a time before its next occurrence.",
    ),
    "delete": Entry(
        "managing",
        "delete",
        "End an active reminder; one that is not active is told, and nothing is written.",
    ),
    "say": Entry(
        "managing",
        "say_",
        "Record a person's word as a turn of the session; a live runner gives it to its agent.",
    ),
    "run": Entry(
        "running",
        "run",
        "Own a session, or all below a directory: deliver what is due, until SIGINT or SIGTERM.",
    ),
    "mcp": Entry(
        "hosting",
        "mcp_",
        "Serve a session's reminders to an MCP client on standard streams, or over HTTP to many.",
    ),
    "doctor": Entry(
        "caring",
        "doctor",
        "Say what is wrong with a session, where, and what is safe to do; exit 1 for an error.",
    ),
    "repair": Entry(
        "caring",
        "repair",
        "Cut a torn tail, and nothing else; the whole file is kept beside it first.",
    ),
    "retarget": Entry(
        "retargeting",
        "retarget",
        "Show, or with --yes write, where this tz database places stored targets of calendar rules.",
    ),
    "convert": Entry(
        "caring",
        "convert",
        "Write a session into a new directory as another store, every line as it is.",
    ),
    "export": Entry(
        "exporting",
        "export",
        "Write the active reminders as an iCalendar file, for the calendars of people.",
    ),
    "report": Entry(
        "reporting",
        "report",
        "Write a session as one page for a browser: every reminder's life, the guard's counts, tables.",
    ),
    "simulate": Entry(
        "simulating",
        "simulate",
        "Show the coming days, as a runner that is always live makes them: "
        "wakeups, refusals, stops, cost.",
    ),
    "conformance": Entry(
        "judging",
        "conformance",
        "Run every vector file found and compare exactly; exit 1 on any failure.",
    ),
    "serve-core": Entry(
        "piping",
        "serve_core",
        "Answer requests to the core: a JSON object a line on standard input, "
        "a reply on standard output.",
    ),
    "fleet": Entry(
        "fleeting",
        "fleet_app",
        "Sessions in PostgreSQL, each woken by whichever worker is free.",
    ),
    "guard": Entry(
        "guarding",
        "guard_app",
        "The guard against runaway wakeups: a governor, no security boundary.",
    ),
}
"""Every command, in the order of the help; a test compares each sentence with its command's own."""


def load_command(name: str, markup: MarkupMode) -> Any:  # noqa: ANN401 - typer keeps the class to itself
    """A command as typer runs it, its module imported; `markup` is how its help is drawn."""
    entry = COMMANDS[name]
    found = getattr(import_module(f"{__package__}.{entry.module}"), entry.attribute)
    alone = typer.Typer(rich_markup_mode=markup)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    return get_group(alone).commands[name]


class HelpfulGroup(TyperGroup):
    """A group that shows its help where no command is named, and whole sentences in it."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - typer's own
        """The group that typer's settings describe."""
        super().__init__(**settings)
        for command in self.commands.values():
            # Without frames typer cuts a sentence to the line, unless it is given as the short one.
            command.short_help = command.short_help or (command.help or "").partition("\n\n")[0]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - as above
        """The arguments that are left for a command; exit 2, with the help, where there are none."""
        if not args and not ctx.resilient_parsing:
            text = ctx.get_help()
            if text:  # a framed help has been printed
                print_line(text)
            ctx.exit(2)
        return super().parse_args(ctx, args)


class CommandGroup(HelpfulGroup):
    """The commands of the table: listed by their sentences, each imported once it is looked into."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - as above
        """The group that typer's settings describe, with a stand-in for each command."""
        super().__init__(**settings)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, callback=None, short_help=entry.sentence))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401 - as above
        """The command that is called or completed, and the arguments that are left for it."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load_command(str(name), self.rich_markup_mode), rest
