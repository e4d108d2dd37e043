"""The three tools on the command line: `create`, `list`, `delete`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import anyio
import typer

from wakefold import SEED, parse_instant
from wakefold.tools import ToolAnswer, ToolName, answer_value
from wakefold.zones import canonicalize_zone
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    JsonOption,
    LineBytesOption,
    NowOption,
    SessionOption,
    choose_clock,
)
from wakefold_shell.cli.output import (
    name_local,
    print_json,
    print_line,
    print_table,
    say,
    show_instant,
    show_local,
    show_text,
)
from wakefold_shell.cli.owning import explain
from wakefold_shell.clocks import SystemClock
from wakefold_shell.hosts.absent import AbsentHost
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Clock
from wakefold_shell.stores.journal_store import create_session, open_store, remove_session
from wakefold_shell.stores.rows import Header

AfterOption = Annotated[
    int | None, typer.Option("--after", metavar="SECONDS", help="Once, so many seconds from now.")
]
EveryOption = Annotated[
    int | None,
    typer.Option(
        "--every",
        metavar="SECONDS",
        help="Again and again, at least 300 s apart. Elapsed time: no calendar, no zone.",
    ),
]
AtOption = Annotated[
    str | None,
    typer.Option("--at", metavar="TEXT", help="Once, at 2027-02-01T09:00:00+01:00 or ...Z."),
]
DateOption = Annotated[
    str | None, typer.Option("--date", metavar="DATE", help="Once, on this local date, with --time.")
]
TimeOption = Annotated[
    str | None, typer.Option("--time", metavar="TIME", help="The local time, 09:00:00.")
]
ZoneOption = Annotated[
    str | None,
    typer.Option(
        "--zone",
        metavar="ZONE",
        help="The zone of --date and --time, such as Europe/Berlin; else the session's, if known.",
    ),
]


def create(  # noqa: PLR0913 - one option for each way to say when
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What to remind the agent of.")],
    session: SessionOption,
    *,
    after: AfterOption = None,
    every: EveryOption = None,
    at: AtOption = None,
    date: DateOption = None,
    time: TimeOption = None,
    zone: ZoneOption = None,
    now: NowOption = None,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Make a reminder. A session directory that does not exist is made, too.

    Answers with the target in UTC and, where a zone is named or the session has one, its local reading.
    """
    local = _present({"date": date, "time": time, "time_zone": zone})
    if local and at is not None:
        raise typer.BadParameter("give either --at or --date, --time and --zone")
    selectors = _present({"after_seconds": after, "every_seconds": every, "at": at or local or None})
    clock = choose_clock(now)
    new = not session.exists()
    if new:
        create_session(session, Header(f"session-{uuid4()}", clock.read_ms()))
    arguments = {"prompt": prompt, **selectors}
    value, time_zone = _call(session, clock, "schedule_create", arguments, line_bytes_max)
    if new and "message" in value:
        remove_session(session)
    _answer(value, as_json=as_json)
    if not as_json:
        read_in = time_zone if zone is None else canonicalize_zone(zone)
        reading = show_local(parse_instant(value["scheduledAt"]) or 0, read_in)
        local_part = "" if reading == "-" else f" = {reading} {read_in}"
        print_line(f"{value['id']}: {value['scheduledAt']}{local_part}, {show_text(value['prompt'])}")


def list_(
    session: SessionOption,
    *,
    now: NowOption = None,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """List the active reminders of a session, in the order of their creation."""
    value, time_zone = _call(session, choose_clock(now), "schedule_list", {}, line_bytes_max)
    _answer(value, as_json=as_json)
    if not as_json:
        print_table(
            ("id", "kind", "state", "target (UTC)", name_local(time_zone), "prompt"),
            [
                (
                    show_text(view["id"]),
                    view["kind"],
                    view["state"],
                    show_instant(parse_instant(view["scheduledAt"])),
                    show_local(parse_instant(view["scheduledAt"]) or 0, time_zone),
                    show_text(view["prompt"]),
                )
                for view in value
            ],
        )


def delete(
    schedule_id: Annotated[str, typer.Argument(metavar="ID", help="The reminder's id.")],
    session: SessionOption,
    *,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """End an active reminder; one that is not active is told, and nothing is written."""
    value, _ = _call(session, SystemClock(), "schedule_delete", {"id": schedule_id}, line_bytes_max)
    _answer(value, as_json=as_json)
    if not as_json:
        print_line(f"{show_text(schedule_id)}: {'deleted' if value['deleted'] else 'not active'}")


def _call(
    directory: Path, clock: Clock, tool: ToolName, arguments: dict[str, object], line_bytes_max: int
) -> tuple[Any, str | None]:
    """A tool's value, and the zone of the session."""
    with open_store(directory, line_bytes_max, say) as store:
        session = Session(store, AbsentHost(), clock, profile=SEED)
        answer = anyio.run(_call_once, session, tool, arguments)
        if session.fault is not None:
            raise explain(session, store, "corrupt_log")
        if session.trouble is not None:
            raise explain(session, store, "preflight_failed")
        return answer_value(answer), store.time_zone


async def _call_once(session: Session, tool: ToolName, arguments: dict[str, object]) -> ToolAnswer:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.run)
        answer = await session.call(tool, arguments)
        session.dispose()
    return answer


def _present(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _answer(value: Any, *, as_json: bool) -> None:  # noqa: ANN401 - a tool's JSON value
    """Print a tool's value as JSON if that is wanted; exit 1, with its sentence, for an error."""
    if as_json:
        print_json(value)
    if isinstance(value, dict) and "message" in value:
        if not as_json:
            say(f"{value['code']}: {value['message']}")
        raise typer.Exit(1)
