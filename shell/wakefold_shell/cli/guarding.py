"""`wakefold guard`: the limits in force, and what they would have done with a journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from wakefold import SCHEDULE_CHANGE, CorruptScheduleLog, Event, either
from wakefold.audits import Audit, Finding, Prevented, Refused, Stopped, audit
from wakefold.counters import Counters, trace_counters
from wakefold.guard_config import GuardConfig, config_values
from wakefold.guard_reports import describe_reason, describe_refusal, list_startup_lines
from wakefold.wakeups import COUNTED_TYPES
from wakefold_shell.cli.commands import HelpfulGroup
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    ConfigOption,
    JournalArgument,
    JsonOption,
    LineBytesOption,
    ProfileName,
    ProfileOption,
    SetOption,
    TokensOption,
    override_limits,
)
from wakefold_shell.cli.output import (
    print_facts,
    print_json,
    print_table,
    show_instant,
    show_text,
    warn,
)
from wakefold_shell.cli.progress import watch
from wakefold_shell.cli.screens.audits import print_counts, show_findings
from wakefold_shell.cli.screens.terminals import find_screen
from wakefold_shell.cli.speech import print_line
from wakefold_shell.configurations import find_config, find_config_beside
from wakefold_shell.inspections import encode_audit
from wakefold_shell.stores.journals import explain_corruption, keep_events, open_journal

guard_app = typer.Typer(
    cls=HelpfulGroup, help="The guard against runaway wakeups: a governor, no security boundary."
)


@guard_app.command("config")
def config_(
    *,
    config: ConfigOption = None,
    session: Annotated[
        Path | None,
        typer.Option("--session", metavar="DIR", help="Look for wakefold.toml in this session, too."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the limits in force, each configured or default. Changes nothing."""
    limits = find_config(config, *([] if session is None else [session]))
    if as_json:
        values = config_values(limits)
        print_json(
            {
                name: {"value": value, "configured": name in limits.configured}
                for name, value in values.items()
            }
        )
        return
    for line in list_startup_lines(limits):
        print_line(line)


@guard_app.command("audit")
def audit_(
    journal: JournalArgument,
    *,
    config: ConfigOption = None,
    settings: SetOption = None,
    tokens_per_wakeup: TokensOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Replay a journal under the limits: what would have been refused or deleted, event by event."""
    limits = override_limits(find_config_beside(config, journal), settings or [])
    screen = None if as_json else find_screen()
    kept: list[Event] = []  # what counts, to be drawn
    with open_journal(journal, line_bytes_max) as opened:
        parsed = COUNTED_TYPES | {SCHEDULE_CHANGE}
        events = watch(opened, opened.read_events(parsed))
        if screen is not None:
            events = keep_events(events, kept, COUNTED_TYPES)
        found = audit(events, limits, opened.header.seed_length, profile.profile)

        def refuse(fault: CorruptScheduleLog) -> Audit:
            raise explain_corruption(opened, fault)

        result = either(found, lambda replayed: replayed, refuse)
    warn(opened)
    told = encode_audit(result, limits)
    told |= _count_tokens(told, tokens_per_wakeup)
    if as_json:
        print_json(told)
        return
    rows = _list_findings(result, limits, told)
    if screen is None:
        print_table(_COLUMNS, rows)
    else:
        print_counts(screen, result, told, _trace(kept, limits, opened.header.seed_length), limits)
        show_findings(screen, result, _COLUMNS, rows)
    for facts in _list_totals(result, told):
        print_facts(facts)


def _trace(counted: list[Event], limits: GuardConfig, seed_length: int) -> Counters:
    offset_minutes = limits.day_boundary_offset_minutes
    return trace_counters(counted, seed_length, limits.reset_kinds, offset_minutes)


def _count_tokens(told: dict[str, Any], tokens_per_wakeup: int | None) -> dict[str, int]:
    if tokens_per_wakeup is None:
        return {}
    return {
        "tokens": told["wakeups"] * tokens_per_wakeup,
        "tokensPrevented": told["prevented"] * tokens_per_wakeup,
    }


_COLUMNS: Final = ("seq", "at (UTC)", "what", "id", "why")


def _list_findings(result: Audit, limits: GuardConfig, told: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            str(each.seq),
            show_instant(each.time_ms),
            row["kind"],
            _name(each),
            _explain(each, limits),
        )
        for each, row in zip(result.findings, told["findings"], strict=True)
    ]


def _list_totals(result: Audit, told: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The totals, as the facts of each line."""
    yield (
        f"wakeups {told['wakeups']}",
        f"longest streak {told['longestStreak']}",
        f"busiest hour {told['busiestHour']}",
        f"busiest day {told['busiestDay']}",
    )
    by = ", ".join(f"{limit} {count}" for limit, count in result.prevented.items()) or "none"
    yield (f"prevented {told['prevented']} ({by})",)
    if "tokens" in told:
        yield f"tokens {told['tokens']}", f"of them prevented {told['tokensPrevented']}"


def _name(finding: Finding) -> str:
    if isinstance(finding, Stopped):
        return ", ".join(show_text(record.id) for record in finding.stop.to_delete) or "-"
    return show_text(finding.schedule_id)


def _explain(finding: Finding, limits: GuardConfig) -> str:
    if isinstance(finding, Prevented):
        return f"its reminder was ended by {finding.limit}"
    if isinstance(finding, Refused):
        return describe_refusal(finding.refusal)
    return describe_reason(finding.stop, limits) + ("" if finding.told else " (told before)")
