"""The commands, gathered, and what becomes of errors on the way out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from wakefold_shell.cli.commands import CommandGroup
from wakefold_shell.cli.speech import print_line, say, use_utf8
from wakefold_shell.errors import ShellError

_BAD_INPUT: Final = 1
_INTERRUPTED: Final = 130

_ANY_WIDTH: Final = 1000


def build_app(*, framed: bool) -> typer.Typer:
    """The command line, its help framed for people or plain, as wide as the place it goes to."""
    app = typer.Typer(
        name="wakefold",
        cls=CommandGroup,
        help="Reminders for AI agents, kept as events in the session's own log.",
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if framed else None,
        context_settings={"max_content_width": _ANY_WIDTH},
    )
    app.callback()(start)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run the command line and give its exit code: 0 fine, 1 the input is bad, 2 usage."""
    use_utf8()
    command = typer.main.get_command(build_app(framed=sys.stdout.isatty()))
    try:
        code = command.main(args=list(arguments), prog_name="wakefold", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        sentence = error.format_message().rstrip(".")
        say(f"{sentence}; see 'wakefold --help'.")
        return error.exit_code
    except ShellError as error:
        say(str(error))
        return _BAD_INPUT
    except BrokenPipeError:
        # Nobody reads any more: what is still buffered must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    return code if isinstance(code, int) else 0


def _print_version(wanted: bool) -> None:
    if wanted:
        import wakefold  # noqa: PLC0415 - no help needs the core

        print_line(f"wakefold {wakefold.__version__}")
        raise typer.Exit


def start(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Reminders for AI agents, kept as events in the session's own log."""
