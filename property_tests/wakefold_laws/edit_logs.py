"""Logs of version 2, written as callers and an owner write them, for laws to be tried on.

This module decides which requests are made and when: what they come to is the core's own answer, so
that a log holds nothing that no writer would write. A request that is refused leaves no event. It
judges nothing.

Shapes: every name in `_ms` is epoch milliseconds; requests are the arguments of tools, parsed JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from wakefold.edit_requests import Unchanged, make_edit, read_update_request
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Delete,
    Event,
    Json,
    Record,
    encode_change,
)
from wakefold.implied_zones import NO_ZONE
from wakefold.instants import format_instant
from wakefold.ledger import Ledger, evolve, list_active
from wakefold.outcomes import either
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold.requests import build_record, read_create_request
from wakefold.wakes import Wait, decide_due, list_dispatches
from wakefold_laws.drawing import st
from wakefold_laws.strategies import foreign_events

START_MS: Final = 1_806_000_000_000
"""2027-03-25, a few days before the clocks of Europe are set forward."""

_HOUR_MS: Final = 3_600_000
_STEPS_MS: Final = (0, 1, 60_000, 300_000, 300_001, _HOUR_MS, 24 * _HOUR_MS, 400 * _HOUR_MS)
_ROUNDS_MAX: Final = 100


class EditedLog(Struct, frozen=True):
    """A valid log of either version, what each of its own changes was, and the time at its end."""

    events: tuple[Event, ...]
    seed_length: int
    profile: Profile
    changes: tuple[Change, ...]
    ledger: Ledger
    now_ms: int


class Writer:
    """A session's log while requests are made of it and an owner delivers."""

    def __init__(self, ledger: Ledger, now_ms: int, events: Sequence[Event] = ()) -> None:
        """What there is already, and what the clock shows."""
        self.ledger, self.now_ms = ledger, now_ms
        self.events, self.changes = list(events), list[Change]()

    def append(self, change: Change) -> None:
        """Write a change, which may follow."""
        event = Event(SCHEDULE_CHANGE, self.ledger.position, self.now_ms, encode_change(change))
        self.ledger = evolve(self.ledger, event).unwrap()
        self.events.append(event)
        self.changes.append(change)

    def pass_by(self, kind: str, data: object) -> None:
        """Write an event that is no change."""
        event = Event(kind, self.ledger.position, self.now_ms, data)
        self.ledger = evolve(self.ledger, event).unwrap()
        self.events.append(event)

    def create(self, arguments: Json) -> None:
        """Ask for a reminder; nothing comes of it where that is refused."""
        made = read_create_request(arguments).bind(
            lambda request: build_record(request, self.ledger, self.now_ms, NO_ZONE)
        )
        either(made, lambda record: self.append(Create(record)), lambda _: None)

    def edit(self, arguments: Json) -> None:
        """Ask for a change of a reminder; nothing comes of it where that is refused."""
        made = read_update_request(arguments).bind(
            lambda request: make_edit(request, self.ledger, self.now_ms, NO_ZONE)
        )
        edit = either(made, lambda edit: edit, lambda _: None)
        if edit is not None and not isinstance(edit, Unchanged):
            self.append(edit)

    def deliver(self) -> list[Change]:
        """Hand over what is due now, one decision after another; what was written for it."""
        written: list[Change] = []
        for _ in range(_ROUNDS_MAX):
            decision = decide_due(self.ledger, self.now_ms).unwrap()
            if isinstance(decision, Wait):
                return written
            for change in list_dispatches(decision):
                self.append(change)
                written.append(change)
        raise AssertionError("an owner that never comes to rest")

    def freeze(self) -> EditedLog:
        """The log as it stands."""
        ledger = self.ledger
        return EditedLog(
            events=tuple(self.events),
            seed_length=ledger.seed_length,
            profile=ledger.profile,
            changes=tuple(self.changes),
            ledger=ledger,
            now_ms=self.now_ms,
        )


ZONES: Final = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia")
"""Where the local times of logs are read, by default."""

_TIMES: Final = st.sampled_from(("02:30:00", "09:00:00", "23:59:59.999"))
_CRONS: Final = st.sampled_from(("*/5 * * * *", "30 2 * * *", "0 9,21 * * 1-5", "0 0 29 2 *"))
_WEEKDAYS: Final = st.sampled_from(([1], [5, 1], [7, 6]))
_SECONDS: Final = st.sampled_from((300, 301, 3600, 86_400))


def build_rules(zones: Sequence[str]) -> st.SearchStrategy[Json]:
    """Selectors of every kind, whose local times are read in some of the zones."""
    zone = st.sampled_from(zones)
    daily = {"time": _TIMES, "time_zone": zone}
    weekly = {"weekdays": _WEEKDAYS, "time": _TIMES, "time_zone": zone}
    cron = {"expression": _CRONS, "time_zone": zone}
    return st.one_of(
        st.fixed_dictionaries({"after_seconds": st.sampled_from((1, 600, 90_000))}),
        st.fixed_dictionaries({"every_seconds": _SECONDS}),
        st.fixed_dictionaries({"every_seconds": _SECONDS}),
        st.fixed_dictionaries({"daily": st.fixed_dictionaries(daily)}),
        st.fixed_dictionaries({"weekly": st.fixed_dictionaries(weekly)}),
        st.fixed_dictionaries({"cron": st.fixed_dictionaries(cron)}),
    )


_RULES: Final = build_rules(ZONES)
_TITLES: Final = st.sampled_from(("t", "caf\u00e9", "\ud83d"))
_COUNTS: Final = st.integers(1, 3)
_GRACE: Final = st.sampled_from((300, 600, 3600))
_SKIPS: Final = st.fixed_dictionaries({"missed": st.just("skip"), "grace_seconds": _GRACE})
_LATEST: Final = st.sampled_from(({"missed": "latest"}, {}, {}))
_AHEAD_MS: Final = st.sampled_from((60_000, _HOUR_MS, 30 * _HOUR_MS, 2000 * _HOUR_MS))

options_asked: Final[st.SearchStrategy[Json]] = st.builds(
    lambda free, late: {**free, **late},
    st.fixed_dictionaries({}, optional={"title": _TITLES, "max_runs": _COUNTS, "until": _AHEAD_MS}),
    _SKIPS | _LATEST,
)
"""Options that a create may give, `until` as milliseconds from now."""

options_changed: Final[st.SearchStrategy[Json]] = st.fixed_dictionaries(
    {},
    optional={
        "title": st.none() | _TITLES,
        "max_runs": st.none() | _COUNTS,
        "until": st.none() | _AHEAD_MS,
        "missed": st.none() | st.sampled_from(("latest", "skip")),
        "grace_seconds": st.none() | _GRACE,
    },
)
"""Options that an update may give, which need not stand together; `until` as above."""

_WISHES: Final = st.sampled_from(
    (
        *("deliver", "deliver", "deliver", "deliver", "deliver", "create", "create", "pause"),
        *("update", "rule", "pause", "snooze", "pause", "snooze", "delete", "foreign"),
    )
)
_LATER: Final = st.sampled_from(_STEPS_MS)
_COUNT: Final = st.integers(0, 14)
_PICKS: Final = st.integers(0, 2519)


def place_until(options: Json, now_ms: int) -> Json:
    """The same options with `until` as the text that a caller gives."""
    ahead_ms = options.get("until")
    if not isinstance(ahead_ms, int):
        return options
    return {**options, "until": format_instant(now_ms + ahead_ms)}


@st.composite
def edited_logs(
    draw: st.DrawFn, rules: st.SearchStrategy[Json] = _RULES, start_ms: int = START_MS
) -> EditedLog:
    """Logs of up to fourteen requests and looks of an owner, made at any time after one another.

    Of the events, up to two may be inherited, which no fork reads.
    """
    inherited = draw(st.lists(foreign_events() | st.just((SCHEDULE_CHANGE, None)), max_size=2))
    events = [Event(kind, seq, 0, data) for seq, (kind, data) in enumerate(inherited)]
    start = Ledger(
        profile=draw(st.sampled_from((SEED, SEED, PUBLISHED))),
        seed_length=len(events),
        position=len(events),
    )
    writer = Writer(start, start_ms, events)
    for _ in range(draw(_COUNT)):
        writer.now_ms += draw(_LATER)
        _draw_step(draw, writer, rules)
    return writer.freeze()


def _draw_step(draw: st.DrawFn, writer: Writer, rules: st.SearchStrategy[Json]) -> None:
    wish, active = draw(_WISHES), list_active(writer.ledger)
    if wish == "foreign":
        writer.pass_by(*draw(foreign_events()))
    elif wish == "deliver":
        writer.deliver()
    elif wish == "create" or not active:
        options = place_until(draw(options_asked), writer.now_ms)
        writer.create({"prompt": "p", **draw(rules), **options})
    elif wish == "delete":
        writer.append(Delete(active[draw(_PICKS) % len(active)].id))
    else:
        record = active[draw(_PICKS) % len(active)]
        drawn: Json = draw(rules) if wish == "rule" else {"prompt": "q"}
        writer.edit({"id": record.id, **_draw_edit(draw, wish, record, writer.now_ms, drawn)})


def _draw_edit(draw: st.DrawFn, wish: str, record: Record, now_ms: int, change: Json) -> Json:
    if wish == "pause":
        return {"paused": not record.standing.paused}
    if wish == "snooze":
        later_ms = max(now_ms, record.scheduled_at_ms) + draw(_AHEAD_MS)
        return {"snooze_until": format_instant(later_ms)}
    return {**change, **place_until(draw(options_changed), now_ms)}
