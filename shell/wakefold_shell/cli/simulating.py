"""`wakefold simulate`: the coming days of a session under the guard, its agent a simple model."""

from __future__ import annotations

from itertools import count, groupby
from typing import Annotated, Final

import typer

from wakefold import encode_view, format_instant
from wakefold.checkpoints import begin_checkpoint
from wakefold.conversations import Conversation
from wakefold.forecasts import Day, Forecast, forecast
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig, format_clock, parse_clock
from wakefold.guard_reports import describe_reason
from wakefold.habits import Habits
from wakefold.owners import Owner, resume_owner
from wakefold.wakeups import RESET_KINDS
from wakefold.zones import canonicalize_zone
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    ConfigOption,
    JournalArgument,
    JsonOption,
    LineBytesOption,
    NoGuardOption,
    NowOption,
    ProfileName,
    ProfileOption,
    SetOption,
    TokensOption,
    ZoneOption,
    choose_clock,
    override_limits,
)
from wakefold_shell.cli.output import (
    print_facts,
    print_json,
    print_table,
    show_duration,
    show_instant,
    show_text,
    warn,
)
from wakefold_shell.cli.progress import show_days, watch
from wakefold_shell.cli.screens.forecasts import print_days, print_rows
from wakefold_shell.cli.screens.terminals import find_screen
from wakefold_shell.cli.speech import print_line
from wakefold_shell.configurations import find_config_beside
from wakefold_shell.errors import show_time
from wakefold_shell.stores.journals import Journal, open_journal, read_on
from wakefold_shell.stores.logs import PARSED_TYPES

DAYS_MAX: Final = 3660
"""Ten years: beyond them no model of an agent tells anything."""

DaysOption = Annotated[
    int, typer.Option("--days", metavar="N", min=1, max=DAYS_MAX, help="How many days.")
]
WordOption = Annotated[
    list[str] | None,
    typer.Option(
        "--word",
        metavar="HH:MM",
        help="A person speaks at this local hour every day, repeatable; else nobody ever does.",
    ),
]
TurnOption = Annotated[
    int,
    typer.Option(
        "--turn-seconds", metavar="SECONDS", min=0, help="How long each turn of the agent takes."
    ),
]
RescheduleOption = Annotated[
    int | None,
    typer.Option(
        "--reschedule",
        metavar="SECONDS",
        min=1,
        help="In each turn the agent asks for a one-shot after so long.",
    ),
]
RescheduleEveryOption = Annotated[
    int | None,
    typer.Option(
        "--reschedule-every",
        metavar="SECONDS",
        min=1,
        help="In each turn it asks for a repeat of so long, where none is active.",
    ),
]


def simulate(  # noqa: PLR0913 - one per option
    journal: JournalArgument,
    *,
    days: DaysOption = 7,
    words: WordOption = None,
    zone: ZoneOption = None,
    turn_seconds: TurnOption = 0,
    reschedule: RescheduleOption = None,
    reschedule_every: RescheduleEveryOption = None,
    config: ConfigOption = None,
    settings: SetOption = None,
    no_guard: NoGuardOption = False,
    tokens_per_wakeup: TokensOption = None,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Show the coming days, as a runner that is always live makes them: wakeups, refusals, stops, cost.

    Agent and people are a simple model: by default nobody speaks, and the agent asks for nothing.
    """
    if no_guard and settings:
        raise typer.BadParameter("--set changes a limit, and --no-guard has none: give one of them")
    limits = None if no_guard else override_limits(find_config_beside(config, journal), settings or [])
    start_ms = choose_clock(now).read_ms()
    with open_journal(journal, line_bytes_max) as opened:
        begun = _read(opened, profile, limits, start_ms)
    chosen = _choose_zone(zone, opened.header.time_zone) if words else "UTC"
    minutes = frozenset(map(_read_word, words or []))
    habits = Habits(minutes, chosen, 1000 * turn_seconds, reschedule, reschedule_every)
    warn(opened)
    cast = _foresee(begun, habits, start_ms, days)
    if as_json:
        head = {"session": opened.header.id, "profile": profile.value, "guarded": not no_guard}
        warnings = [] if opened.warning is None else [opened.warning]
        shown = _encode(cast, limits or DEFAULT_CONFIG, tokens_per_wakeup)
        print_json({**head, "habits": _encode_habits(habits), **shown, "warnings": warnings})
        return
    _print_forecast(cast, limits, tokens_per_wakeup)


def _foresee(begun: tuple[Owner, Conversation], habits: Habits, start_ms: int, days: int) -> Forecast:
    """The forecast, with a bar where it is long."""
    over = count(1)
    with show_days(days) as show:
        return forecast(*begun, habits, start_ms=start_ms, days=days, on_day=lambda _: show(next(over)))


def _read(
    opened: Journal, profile: ProfileName, limits: GuardConfig | None, now_ms: int
) -> tuple[Owner, Conversation]:
    """What a runner would begin with; `JournalError` with the place where the log is corrupt."""
    kinds = RESET_KINDS if limits is None else limits.reset_kinds
    before = begin_checkpoint(opened.header.seed_length, profile.profile, kinds)
    read = read_on(opened, before, watch(opened, opened.read_events(PARSED_TYPES)))
    return resume_owner(read, limits, now_ms), read.conversation


def _read_word(text: str) -> int:
    minutes = parse_clock(text)
    if minutes is None:
        raise typer.BadParameter(f"--word takes an hour such as 09:00, not {text!r}")
    return minutes


def _choose_zone(named: str | None, own: str | None) -> str:
    """The zone of the words: the one named, else the session's own, else UTC."""
    zone = canonicalize_zone(named or own or "UTC")
    if zone is None:
        raise typer.BadParameter(f"the session's own zone {own!r} is none known here: give --zone")
    return zone


def _encode_habits(habits: Habits) -> dict[str, object]:
    return {
        "words": [format_clock(minutes) for minutes in sorted(habits.word_minutes)],
        "timeZone": habits.time_zone,
        "turnSeconds": habits.turn_ms // 1000,
        "reschedule": habits.after_seconds,
        "rescheduleEvery": habits.every_seconds,
    }


def _encode(cast: Forecast, limits: GuardConfig, tokens_per_wakeup: int | None) -> dict[str, object]:
    return {
        "from": show_time(cast.start_ms),
        "until": show_time(cast.end_ms),
        "days": [
            {"day": show_time(day.start_ms), **_encode_day(day, limits, tokens_per_wakeup)}
            for day in cast.days
        ],
        **_encode_day(_sum(cast), limits, tokens_per_wakeup),
        "busiestDay": max(day.wakeups for day in cast.days),
        "active": [encode_view(view) for view in cast.active],
        "nextWake": None if cast.next_wake_ms is None else format_instant(cast.next_wake_ms),
    }


def _encode_day(day: Day, limits: GuardConfig, tokens_per_wakeup: int | None) -> dict[str, object]:
    """The numbers of a day, or of all of them."""
    tokens = {} if tokens_per_wakeup is None else {"tokens": day.wakeups * tokens_per_wakeup}
    return {
        "wakeups": day.wakeups,
        "messages": day.deliveries,
        "words": day.words,
        "created": day.created,
        "refused": day.refused,
        "stops": [
            {
                "at": show_time(each.time_ms),
                "reason": describe_reason(each.stop, limits),
                "deleted": [record.id for record in each.stop.to_delete],
            }
            for each in day.stops
        ],
        "deleted": day.deleted,
        "heldMs": day.held_ms,
        **tokens,
    }


def _sum(cast: Forecast) -> Day:
    """All days as one."""
    codes = dict.fromkeys(code for day in cast.days for code in day.refused)
    return Day(
        start_ms=cast.start_ms,
        wakeups=sum(day.wakeups for day in cast.days),
        deliveries=sum(day.deliveries for day in cast.days),
        words=sum(day.words for day in cast.days),
        created=sum(day.created for day in cast.days),
        refused={code: sum(day.refused.get(code, 0) for day in cast.days) for code in codes},
        stops=tuple(each for day in cast.days for each in day.stops),
        deleted=sum(day.deleted for day in cast.days),
        held_ms=sum(day.held_ms for day in cast.days),
    )


def _print_forecast(cast: Forecast, limits: GuardConfig | None, tokens_per_wakeup: int | None) -> None:
    """A row for each day; days alike that follow each other are one row."""
    rows = []
    named = limits or DEFAULT_CONFIG
    for cells, alike in groupby(cast.days, key=lambda day: _show_day(day, named, tokens_per_wakeup)):
        same = list(alike)
        rows.append((show_instant(same[0].start_ms), str(len(same)), *cells))
    tokens = () if tokens_per_wakeup is None else ("tokens",)
    columns = (*_COLUMNS, *tokens, "stopped")
    screen = find_screen()
    if screen is None:
        print_table(columns, rows)
    else:
        print_days(screen, cast, limits)
        print_rows(screen, columns, rows, "tokens" if tokens else "wakeups")
    total = _sum(cast)
    print_facts(
        (
            f"{show_instant(cast.start_ms)} to {show_instant(cast.end_ms)}: wakeups {total.wakeups}",
            f"messages {total.deliveries}",
            f"words {total.words}",
            f"created {total.created}",
            f"refused {_show_refused(total)}",
            f"deleted {total.deleted}",
            f"held {_show_held(total)}",
        )
    )
    if tokens_per_wakeup is not None:
        print_line(f"tokens {total.wakeups * tokens_per_wakeup}")
    wake = "none planned" if cast.next_wake_ms is None else show_instant(cast.next_wake_ms)
    ids = [show_text(view.record.id) for view in cast.active[:_IDS_MAX]] or ["none"]
    more = len(cast.active) - _IDS_MAX
    ids[0] = f"active then: {ids[0]}"
    ids[-1] += f"{f' and {more} more' if more > 0 else ''}; next wake: {wake}"
    print_facts(ids)


_COLUMNS: Final = (
    "day from (UTC)",
    "days",
    "wakeups",
    "messages",
    "words",
    "created",
    "refused",
    "deleted",
    "held",
)
_IDS_MAX: Final = 5


def _show_day(day: Day, limits: GuardConfig, tokens_per_wakeup: int | None) -> tuple[str, ...]:
    stops = (f"{show_instant(each.time_ms)} {describe_reason(each.stop, limits)}" for each in day.stops)
    return (
        *map(_show_count, (day.wakeups, day.deliveries, day.words, day.created)),
        _show_refused(day),
        _show_count(day.deleted),
        _show_held(day),
        *([] if tokens_per_wakeup is None else [str(day.wakeups * tokens_per_wakeup)]),
        "; ".join(stops) or "-",
    )


def _show_count(count: int) -> str:
    return str(count) if count else "-"


def _show_refused(day: Day) -> str:
    return ", ".join(f"{code} {count}" for code, count in day.refused.items()) or "-"


def _show_held(day: Day) -> str:
    return show_duration(day.held_ms) if day.held_ms else "-"
