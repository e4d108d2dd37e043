"""The commands, gathered, and what becomes of errors on the way out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

import wakefold
from wakefold_shell.cli.caring import convert, doctor, repair
from wakefold_shell.cli.demonstration import demo
from wakefold_shell.cli.guarding import guard_app
from wakefold_shell.cli.judging import conformance
from wakefold_shell.cli.listing import next_, receipts
from wakefold_shell.cli.managing import create, delete, list_, say_
from wakefold_shell.cli.output import print_line, say, use_utf8
from wakefold_shell.cli.piping import serve_core
from wakefold_shell.cli.reading import inspect, validate
from wakefold_shell.cli.running import run as run_session
from wakefold_shell.cli.simulating import simulate
from wakefold_shell.errors import ShellError

_BAD_INPUT: Final = 1
_INTERRUPTED: Final = 130

app = typer.Typer(
    name="wakefold",
    help="Reminders for AI agents, kept as events in the session's own log.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(inspect)
app.command()(validate)
app.command()(receipts)
app.command("next")(next_)
app.command()(create)
app.command("list")(list_)
app.command()(delete)
app.command("say")(say_)
app.command("run")(run_session)
app.command()(doctor)
app.command()(repair)
app.command()(convert)
app.add_typer(guard_app, name="guard")
app.command()(simulate)
app.command()(conformance)
app.command("serve-core")(serve_core)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and give its exit code: 0 fine, 1 the input is bad, 2 usage."""
    use_utf8()
    command = typer.main.get_command(app)
    try:
        code = command.main(args=list(arguments), prog_name="wakefold", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        sentence = error.format_message().rstrip(".")
        if sentence:  # without any arguments the help itself was shown
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
        print_line(f"wakefold {wakefold.__version__}")
        raise typer.Exit


@app.callback()
def start(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Reminders for AI agents, kept as events in the session's own log."""
