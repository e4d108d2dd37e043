"""The three tools on the command line, `create`, `list`, `delete`, and a person's word, `say`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from wakefold import format_instant, parse_instant
from wakefold.conversations import CONVERSATION_TYPES
from wakefold.deliveries import UNKNOWN_DELIVERY, describe_failure, trace_deliveries
from wakefold.zones import canonicalize_zone
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    ConfigOption,
    JsonOption,
    LineBytesOption,
    NoCheckpointOption,
    NoGuardOption,
    NowOption,
    ProfileName,
    ProfileOption,
    SessionOption,
    StoreOption,
    choose_clock,
    parse_zone_option,
)
from wakefold_shell.cli.output import (
    name_local,
    print_json,
    print_table,
    show_instant,
    show_local,
    show_text,
)
from wakefold_shell.cli.reaching import Way, call_tool, say_word
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.configurations import find_config
from wakefold_shell.stores.journal_store import (
    choose_store,
    create_session,
    remove_session,
)
from wakefold_shell.stores.journals import StoreKind, open_journal
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
SessionZoneOption = Annotated[
    str | None,
    typer.Option(
        "--session-zone",
        metavar="ZONE",
        parser=parse_zone_option,
        help="The zone of a new session; by default that of --zone, if given.",
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
    session_zone: SessionZoneOption = None,
    config: ConfigOption = None,
    no_guard: NoGuardOption = False,
    now: NowOption = None,
    store: StoreOption = None,
    profile: ProfileOption = ProfileName.SEED,
    no_checkpoint: NoCheckpointOption = False,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Make a reminder. A session directory that does not exist is made, too.

    Answers with the target in UTC and, where a zone is named or the session has one, its local reading.
    """
    local = _present({"date": date, "time": time, "time_zone": zone})
    _check(session, session_zone, at, local)
    selectors = _present({"after_seconds": after, "every_seconds": every, "at": at or local or None})
    limits = None if no_guard else find_config(config, session)
    own_zone = session_zone or (None if zone is None else canonicalize_zone(zone))
    new = _make_session(session, store or "journal", own_zone, now)
    way = Way(session, line_bytes_max, store, profile.profile, now, limits, not no_checkpoint)
    value, time_zone = call_tool(way, "schedule_create", {"prompt": prompt, **selectors})
    if new and "message" in value:
        remove_session(session)
    _answer(value, as_json=as_json)
    if not as_json:
        read_in = time_zone if zone is None else canonicalize_zone(zone)
        reading = show_local(parse_instant(value["scheduledAt"]) or 0, read_in)
        local_part = "" if reading == "-" else f" = {reading} {read_in}"
        print_line(f"{value['id']}: {value['scheduledAt']}{local_part}, {show_text(value['prompt'])}")


def list_(  # noqa: PLR0913 - as above
    session: SessionOption,
    *,
    config: ConfigOption = None,
    now: NowOption = None,
    store: StoreOption = None,
    profile: ProfileOption = ProfileName.SEED,
    no_checkpoint: NoCheckpointOption = False,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """List the active reminders of a session, in the order of their creation."""
    limits = find_config(config, session)
    way = Way(session, line_bytes_max, store, profile.profile, now, limits, not no_checkpoint)
    value, time_zone = call_tool(way, "schedule_list", {})
    _tell_failures(choose_store(session, store), value, line_bytes_max)
    _answer(value, as_json=as_json)
    if not as_json:
        print_table(
            ("id", "kind", "state", "target (UTC)", name_local(time_zone), "prompt"),
            [
                (
                    show_text(view["id"]),
                    view["kind"],
                    f"held until {view['heldUntil']}" if "heldUntil" in view else view["state"],
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
    store: StoreOption = None,
    profile: ProfileOption = ProfileName.SEED,
    no_checkpoint: NoCheckpointOption = False,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """End an active reminder; one that is not active is told, and nothing is written."""
    way = Way(session, line_bytes_max, store, profile.profile, checkpoint=not no_checkpoint)
    value, _ = call_tool(way, "schedule_delete", {"id": schedule_id})
    _answer(value, as_json=as_json)
    if not as_json:
        print_line(f"{show_text(schedule_id)}: {'deleted' if value['deleted'] else 'not active'}")


def say_(  # noqa: PLR0913 - as above
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the person says.")],
    session: SessionOption,
    *,
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone", metavar="ZONE", parser=parse_zone_option, help="The person's zone, Europe/Berlin."
        ),
    ] = None,
    store: StoreOption = None,
    profile: ProfileOption = ProfileName.SEED,
    no_checkpoint: NoCheckpointOption = False,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Record a person's word as a turn of the session; a live runner gives it to its agent.

    With --zone, a local time without a zone is read in it while that turn lasts, if it is the session's
    own zone as well.
    """
    if text.strip() == "":
        raise typer.BadParameter("say something: the text is empty")
    way = Way(session, line_bytes_max, store, profile.profile, checkpoint=not no_checkpoint)
    said = say_word(way, text, zone)
    if as_json:
        print_json(said)
        return
    print_line("queued for the agent." if said["queued"] else "recorded; no runner is live to answer.")


def _check(directory: Path, session_zone: str | None, at: str | None, local: dict[str, object]) -> None:
    """Refuse options that do not go together."""
    if session_zone is not None and directory.exists():
        raise typer.BadParameter("--session-zone is for a new session; this one exists")
    if local and at is not None:
        raise typer.BadParameter("give either --at or --date, --time and --zone")


def _make_session(directory: Path, store: StoreKind, time_zone: str | None, now_ms: int | None) -> bool:
    """Make a session directory if there is none; whether there was none."""
    if directory.exists():
        return False
    header = Header(f"session-{uuid4()}", choose_clock(now_ms).read_ms(), time_zone=time_zone)
    create_session(directory, header, store)
    return True


def _tell_failures(directory: Path, views: object, line_bytes_max: int) -> None:
    """Of each active reminder whose last delivery failed, a sentence."""
    if not isinstance(views, list):
        return
    with open_journal(directory, line_bytes_max) as journal:
        events = journal.read_events(CONVERSATION_TYPES)
        traced = trace_deliveries(events, journal.header.seed_length)
    last = {schedule_id: (at, found) for (schedule_id, at), found in traced.items()}
    for view in views:
        at_ms, delivery = last.get(view["id"], (0, UNKNOWN_DELIVERY))
        failure = describe_failure(delivery)
        if failure is not None:
            say(f"{show_text(view['id'])}: its delivery of {format_instant(at_ms)} {failure}.")


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
