"""Strategies for clock scripts, and for reminders whose targets such a script meets.

This module decides where clocks are when something happens to them: often where a zone's clocks change,
or a millisecond beside it. It refuses to judge what a program makes of it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from wakefold.events import AtRecord, EveryRecord, Record
from wakefold.ledger import Ledger
from wakefold.recurrence import PUBLISHED, SEED
from wakefold_laws.clock_scripts import ClockScript, ClockStep
from wakefold_laws.drawing import st
from wakefold_laws.log_model import renew
from wakefold_laws.zone_changes import EPOCH, MS, list_changes

ZONES: Final = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC")
"""Zones that change by an hour, by half of one, by a day, and never; a script is near one's changes."""

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_YEARS: Final = (2011, 2026, 2027, 2028)  # in 2011 Apia left a day out
_BESIDES_MS: Final = (0, 0, 1, -1, -1000, 1_800_000, -1_800_000, -_HOUR_MS, 1 - _HOUR_MS, _HOUR_MS)
_STRETCHES_MS: Final = (0, 1, 999, 59_999, 60_000, 60_001, 300_000, 1_800_000, _HOUR_MS, 6 * _HOUR_MS)
_LEAPS_MS: Final = (1, 1000, 60_000, 300_000, 1_800_000, _HOUR_MS, _HOUR_MS + 1, _DAY_MS, 30 * _DAY_MS)

_going_on = st.sampled_from([ClockStep("go_on", ms) for ms in _STRETCHES_MS])
_suspends = st.sampled_from([ClockStep("suspend", ms) for ms in (*_STRETCHES_MS, *_LEAPS_MS)])
_jumps = st.sampled_from([ClockStep("jump", sign * ms) for ms in _LEAPS_MS for sign in (1, -1)])
_steps = st.lists(_going_on | _going_on | _suspends | _jumps, min_size=1, max_size=10).map(tuple)


def _list_edges(zone: str, year: int) -> list[datetime]:
    """The instants at which a zone's clocks change in a year; where none does, the year's beginning."""
    return list(list_changes(zone, year)) or [EPOCH.replace(year=year)]


@st.composite
def clock_scripts(draw: st.DrawFn) -> ClockScript:
    """Scripts of clocks that go on, jump both ways and are suspended.

    They begin where a zone's clocks change, an hour from there, or a little beside it.
    """
    zone, year = draw(st.sampled_from(ZONES)), draw(st.sampled_from(_YEARS))
    edge = draw(st.sampled_from(_list_edges(zone, year)))
    start_ms = (edge - EPOCH) // MS + draw(st.sampled_from(_BESIDES_MS))
    return ClockScript(start_ms, zone, draw(_steps))


_TEMPLATES: Final[tuple[Record, ...]] = (
    AtRecord("a", "p", 0),
    *(EveryRecord("a", "p", seconds, 0) for seconds in (300, 301, 3600)),
)


@st.composite
def clocked_ledgers(draw: st.DrawFn) -> tuple[Ledger, ClockScript]:
    """A script, and a ledger whose targets its wall clock shows, or misses by up to five minutes."""
    script = draw(clock_scripts())
    shown_ms = st.sampled_from([reading.wall_ms for reading in script.list_readings()])
    besides_ms = st.sampled_from((0, 0, 1, -1, 60_000, -60_000, 300_000))
    targets_ms = st.builds(int.__add__, shown_ms, besides_ms)
    drawn = draw(st.lists(st.tuples(st.sampled_from(_TEMPLATES), targets_ms), min_size=1, max_size=4))
    records = {
        f"schedule-{number}": renew(template, f"schedule-{number}", target_ms)
        for number, (template, target_ms) in enumerate(drawn, start=1)
    }
    ledger = Ledger(
        profile=draw(st.sampled_from((SEED, SEED, PUBLISHED))),
        records=records,
        seen_ids=dict.fromkeys(records),
        last_accepted_at_ms=draw(st.none() | targets_ms),
    )
    return ledger, script
