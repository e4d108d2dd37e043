"""Tools on the command line, `create`, `list`, `delete`, and a person's word, `say`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Annotated, Any, Final
from uuid import uuid4

import typer

from wakefold import format_instant, parse_instant
from wakefold.conversations import CONVERSATION_TYPES
from wakefold.deliveries import UNKNOWN_DELIVERY, describe_failure, trace_deliveries
from wakefold.zones import canonicalize_zone
from wakefold_shell.cli.fleet_ways import FleetWay, make_in_fleet, open_in_fleet, remove_from_fleet
from wakefold_shell.cli.option_groups import spread_groups
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    Address,
    ConfigOption,
    JsonOption,
    LineBytesOption,
    NoCheckpointOption,
    NowOption,
    ProfileName,
    ProfileOption,
    SessionNameOption,
    SomeFleetOption,
    StoreOption,
    choose_clock,
    parse_zone_option,
)
from wakefold_shell.cli.output import (
    name_local,
    print_columns,
    print_json,
    show_instant,
    show_local,
    show_text,
)
from wakefold_shell.cli.reaching import Way, call_tool, find_any_way, say_word
from wakefold_shell.cli.reminders import print_answer, show_rule, show_target
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.cli.wishes import Wish, list_arguments
from wakefold_shell.stores.journal_store import (
    choose_store,
    create_session,
    remove_session,
)
from wakefold_shell.stores.journals import Journal, open_journal
from wakefold_shell.stores.rows import Header

_NOT_NEW: Final = "--session-zone is for a new session; this one exists"

SessionZoneOption = Annotated[
    str | None,
    typer.Option(
        "--session-zone",
        metavar="ZONE",
        parser=parse_zone_option,
        help="The zone of a new session; by default that of --zone, if given.",
    ),
]


@spread_groups
def create(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What to remind the agent of.")],
    session: SessionNameOption,
    wish: Wish,
    means: Address,
    *,
    session_zone: SessionZoneOption = None,
) -> None:
    """Make a reminder. A session directory that does not exist is made, too.

    Answers with the target in UTC and, where a zone is named or the session has one, its local reading.
    The first calendar rule, option or edit makes the log unreadable for good to programs that know
    version 1 only; --protocol 1 refuses it.
    """
    way = find_any_way(session, means)
    if session_zone is not None and isinstance(way, Way) and way.directory.exists():
        raise typer.BadParameter(_NOT_NEW)
    arguments = {"prompt": prompt, **list_arguments(wish)}
    named = None if wish.zone is None else canonicalize_zone(wish.zone)
    new = _make_session(way, session_zone or named)
    if session_zone is not None and not new:
        raise typer.BadParameter(_NOT_NEW)
    value, time_zone = call_tool(way, "schedule_create", arguments)
    if new and "message" in value:
        _remove_session(way)
    print_answer(value, as_json=means.as_json)
    if not means.as_json:
        print_line(f"{value['id']}: {show_target(value, named or time_zone)}")


def list_(  # noqa: PLR0913 - as above
    session: SessionNameOption,
    *,
    config: ConfigOption = None,
    now: NowOption = None,
    store: StoreOption = None,
    profile: ProfileOption = ProfileName.SEED,
    no_checkpoint: NoCheckpointOption = False,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
    fleet: SomeFleetOption = None,
) -> None:
    """List the active reminders of a session, in the order of their creation."""
    address = Address(
        store=store,
        config=config,
        no_checkpoint=no_checkpoint,
        profile=profile,
        line_bytes_max=line_bytes_max,
        now=now,
        fleet=fleet,
    )
    way = find_any_way(session, address)
    value, time_zone = call_tool(way, "schedule_list", {})
    with _open_log(way, line_bytes_max) as journal:
        _tell_failures(journal, value)
    print_answer(value, as_json=as_json)
    if not as_json:
        print_columns(_list_columns(value, time_zone))


def delete(  # noqa: PLR0913 - as above
    schedule_id: Annotated[str, typer.Argument(metavar="ID", help="The reminder's id.")],
    session: SessionNameOption,
    *,
    store: StoreOption = None,
    profile: ProfileOption = ProfileName.SEED,
    no_checkpoint: NoCheckpointOption = False,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
    fleet: SomeFleetOption = None,
) -> None:
    """End an active reminder; one that is not active is told, and nothing is written."""
    address = Address(
        store=store,
        no_guard=True,
        no_checkpoint=no_checkpoint,
        profile=profile,
        line_bytes_max=line_bytes_max,
        fleet=fleet,
    )
    way = find_any_way(session, address)
    value, _ = call_tool(way, "schedule_delete", {"id": schedule_id})
    print_answer(value, as_json=as_json)
    if not as_json:
        print_line(f"{show_text(schedule_id)}: {'deleted' if value['deleted'] else 'not active'}")


def say_(  # noqa: PLR0913 - as above
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the person says.")],
    session: SessionNameOption,
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
    fleet: SomeFleetOption = None,
) -> None:
    """Record a person's word as a turn of the session; a live runner gives it to its agent.

    With --zone, a local time without a zone is read in it while that turn lasts, if it is the session's
    own zone as well.
    """
    if text.strip() == "":
        raise typer.BadParameter("say something: the text is empty")
    address = Address(
        store=store,
        no_guard=True,
        no_checkpoint=no_checkpoint,
        profile=profile,
        line_bytes_max=line_bytes_max,
        fleet=fleet,
    )
    way = find_any_way(session, address)
    said = say_word(way, text, zone)
    if as_json:
        print_json(said)
        return
    print_line("queued for the agent." if said["queued"] else "recorded; no runner is live to answer.")


def _make_session(way: Way | FleetWay, time_zone: str | None) -> bool:
    """Make a session if there is none; whether there was none."""
    if isinstance(way, FleetWay):
        return make_in_fleet(way, time_zone)
    if way.directory.exists():
        return False
    header = Header(f"session-{uuid4()}", choose_clock(way.now_ms).read_ms(), time_zone=time_zone)
    create_session(way.directory, header, way.store or "journal")
    return True


def _remove_session(way: Way | FleetWay) -> None:
    """Take back a session that was made for nothing."""
    if isinstance(way, FleetWay):
        remove_from_fleet(way)
    else:
        remove_session(way.directory)


def _open_log(way: Way | FleetWay, line_bytes_max: int) -> AbstractContextManager[Journal]:
    if isinstance(way, FleetWay):
        return open_in_fleet(way, line_bytes_max)
    return open_journal(choose_store(way.directory, way.store), line_bytes_max)


def _tell_failures(journal: Journal, views: object) -> None:
    """Of each active reminder whose last delivery failed, a sentence."""
    if not isinstance(views, list):
        return
    events = journal.read_events(CONVERSATION_TYPES)
    traced = trace_deliveries(events, journal.header.seed_length)
    last = {schedule_id: (at, found) for (schedule_id, at), found in traced.items()}
    for view in views:
        at_ms, delivery = last.get(view["id"], (0, UNKNOWN_DELIVERY))
        failure = describe_failure(delivery)
        if failure is not None:
            say(f"{show_text(view['id'])}: its delivery of {format_instant(at_ms)} {failure}.")


def _list_columns(views: list[dict[str, Any]], zone: str | None) -> dict[str, list[str]]:
    """The columns of a list; those of version 2 stand there where a reminder has them."""
    columns: dict[str, list[str]] = {
        "id": [show_text(view["id"]) for view in views],
        "kind": [view["kind"] for view in views],
        "state": [_show_state(view) for view in views],
        "target (UTC)": [show_instant(parse_instant(view["scheduledAt"])) for view in views],
        name_local(zone): [show_local(parse_instant(view["scheduledAt"]) or 0, zone) for view in views],
    }
    if any("revision" in view for view in views):
        columns["rule"] = [show_rule(view) for view in views]
        columns["revision"] = [str(view.get("revision", "-")) for view in views]
        columns["title"] = [show_text(view.get("title", "-")) for view in views]
    columns["prompt"] = [show_text(view["prompt"]) for view in views]
    return columns


def _show_state(view: dict[str, Any]) -> str:
    if "heldUntil" in view:
        return f"held until {view['heldUntil']}"
    snoozed = view.get("snoozedUntil") if view["state"] == "scheduled" else None
    return view["state"] if snoozed is None else f"snoozed until {snoozed}"
