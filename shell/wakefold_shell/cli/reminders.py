"""How commands tell of a tool's value: a reminder's rule and target for people, a refusal, or JSON."""

from __future__ import annotations

from typing import Any

import typer

from wakefold import parse_instant
from wakefold_shell.cli.output import print_json, show_local, show_text
from wakefold_shell.cli.speech import say
from wakefold_shell.cli.wishes import show_weekdays


def print_answer(value: Any, *, as_json: bool) -> None:  # noqa: ANN401 - a tool's JSON value
    """Print a tool's value as JSON if that is wanted; exit 1, with its sentence, for an error."""
    if as_json:
        print_json(value)
    if isinstance(value, dict) and "message" in value:
        if not as_json:
            say(f"{value['code']}: {value['message']}")
        raise typer.Exit(1)


def show_target(view: dict[str, Any], zone: str | None) -> str:
    """When a reminder comes next, UTC and as local clocks show it, those of its rule if it has some."""
    read_in = view.get("timeZone", zone)
    at = view.get("snoozedUntil", view["scheduledAt"])
    reading = show_local(parse_instant(at) or 0, read_in)
    local = "" if reading == "-" else f" = {reading} {read_in}"
    return f"{at}{local}, {show_text(view.get('title', view['prompt']))}"


def show_rule(view: dict[str, Any]) -> str:
    """The rule of a reminder that repeats, as the options of `create` have it."""
    match view["kind"]:
        case "every":
            return f"{view['everySeconds']} s"
        case "daily":
            return f"{_show_time(view)} {view['timeZone']}"
        case "weekly":
            return f"{show_weekdays(view['weekdays'])}@{_show_time(view)} {view['timeZone']}"
        case "cron":
            return f"{show_text(view['expression'])} {view['timeZone']}"
        case _:
            return "-"


def _show_time(view: dict[str, Any]) -> str:
    return str(view["time"]).removesuffix(".000")
