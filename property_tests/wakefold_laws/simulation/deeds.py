"""What the deeds of a script ask of the tools, as of the moment at which they are done.

This module decides the arguments of a call. It refuses to know whether they are lawful: a script may
ask for what no reminder can be.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from wakefold.events import Json
from wakefold.instants import format_instant
from wakefold.tools import ToolName
from wakefold_laws.simulation.chronicles import Chronicle
from wakefold_laws.simulation.scenarios import Deed
from wakefold_laws.simulation.worlds import World

TOOLS: Final[dict[str, ToolName]] = {
    "create": "schedule_create",
    "list": "schedule_list",
    "delete": "schedule_delete",
    "update": "schedule_update",
    "pause": "schedule_update",
    "resume": "schedule_update",
    "snooze": "schedule_update",
}
"""The tool that each deed calls."""


def render_deed(deed: Deed, world: World, chronicle: Chronicle) -> Json:
    """The arguments of a deed, as of now and of what the log says."""
    match deed.tool:
        case "list":
            return {}
        case "delete":
            return {"id": f"schedule-{deed.number}"}
        case "create":
            return {"prompt": deed.prompt, **_render_rule(deed, world), **_render_options(deed, world)}
        case _:
            return {**_render_head(deed, chronicle), **_render_edit(deed, world)}


def _render_head(deed: Deed, chronicle: Chronicle) -> Json:
    active, paused = chronicle.active, deed.tool == "resume"
    names = [name for name, found in active.items() if found.paused == paused] or list(active)
    name = names[deed.schedule % len(names)] if names else "schedule-1"
    if deed.revision is None:
        return {"id": name}
    seen = active[name].revision if names else 0
    stale = seen - 1 if seen else 1
    return {"id": name, "revision": seen if deed.revision == "right" else stale}


def _render_edit(deed: Deed, world: World) -> Json:
    match deed.tool:
        case "pause" | "resume":
            return {"paused": deed.tool == "pause"}
        case "snooze":
            return {"snooze_until": format_instant(_look_ahead(world, deed.number))}
        case _:
            text = {"prompt": deed.prompt} if deed.prompt else {}
            rule = {} if deed.rule == "same" else _render_rule(deed, world)
            dropped: Json = dict.fromkeys(deed.dropped)
            return {**text, **rule, **_render_options(deed, world), **dropped}


def _render_rule(deed: Deed, world: World) -> Json:
    then_ms = _look_ahead(world, deed.number)
    zone = {"time_zone": deed.zone} if deed.zone else {}
    match deed.rule:
        case "at":
            return {"at": format_instant(then_ms)}
        case "local":
            local = _read_local(then_ms, deed, world)
            return {"at": {"date": f"{local:%Y-%m-%d}", "time": f"{local:%H:%M:%S}", **zone}}
        case "daily" | "weekly":
            time = deed.text or f"{_read_local(then_ms, deed, world):%H:%M:%S}"
            weekdays = {"weekdays": list(deed.weekdays)} if deed.rule == "weekly" else {}
            return {deed.rule: {**weekdays, "time": time, **zone}}
        case "cron":
            local = _read_local(then_ms, deed, world)
            return {"cron": {"expression": deed.text or f"{local:%M %H} * * *", **zone}}
        case _:
            return {f"{deed.rule}_seconds": deed.number}


def _render_options(deed: Deed, world: World) -> Json:
    options: Json = {"title": deed.title} if deed.title else {}
    if deed.max_runs:
        options["max_runs"] = deed.max_runs
    if deed.until_seconds:
        options["until"] = format_instant(_look_ahead(world, deed.until_seconds))
    if deed.grace_seconds:
        options |= {"missed": "skip", "grace_seconds": deed.grace_seconds}
    return options


def _look_ahead(world: World, seconds: int) -> int:
    return world.now_ms + 1000 * seconds


def _read_local(then_ms: int, deed: Deed, world: World) -> datetime:
    zone = ZoneInfo(deed.zone or world.setting.time_zone or "UTC")
    return datetime.fromtimestamp(then_ms / 1000, UTC).astimezone(zone)
