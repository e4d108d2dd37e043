"""`wakefold report`: a session as one page for a browser."""

from __future__ import annotations

import sys

import typer

from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    ConfigOption,
    JournalArgument,
    JsonOption,
    LineBytesOption,
    NowOption,
    OutputOption,
    ProfileName,
    ProfileOption,
    SetOption,
    choose_clock,
    override_limits,
)
from wakefold_shell.cli.output import print_json, put_output
from wakefold_shell.cli.progress import watch
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.configurations import find_config_beside
from wakefold_shell.errors import show_path
from wakefold_shell.report.columns import arrange_columns
from wakefold_shell.report.facts import Terms, read_facts
from wakefold_shell.report.pages import write_page


def report(  # noqa: PLR0913 - what a log is looked at under, and where the page goes
    journal: JournalArgument,
    *,
    output: OutputOption = None,
    config: ConfigOption = None,
    settings: SetOption = None,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Write a session as one page for a browser: every reminder's life, the guard's counts, tables.

    The page asks for nothing from any network, and shows what prompts hold as text.
    """
    if as_json and output is None:
        raise typer.BadParameter("--json tells what was written: name a file with --output")
    terms = Terms(
        now_ms=choose_clock(now).read_ms(),
        limits=override_limits(find_config_beside(config, journal), settings or []),
        profile=profile.profile,
        line_bytes_max=line_bytes_max,
    )
    facts = read_facts(journal, terms, watch)
    page = write_page(arrange_columns(facts))
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(page)
    else:
        put_output(output, page)
    if as_json and output is not None:
        told = {"bytes": len(page), "events": facts.events, "reminders": len(facts.lives)}
        dispatches = {"dispatches": len(facts.delivered), "warnings": list(facts.warnings)}
        print_json({"file": show_path(output), **told, **dispatches})
        return
    for sentence in facts.warnings:
        say(sentence)
    if output is not None:
        counts = f"reminders {len(facts.lives)}, dispatches {len(facts.delivered)}"
        print_line(f"{show_path(output)}: {counts}")
