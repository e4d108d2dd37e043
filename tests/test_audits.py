"""What the guard would have done with a log."""

from __future__ import annotations

import pytest

from core_logs import T, at, created, deleted, dispatched, event, every, ok, refused
from journal_files import JOURNALS
from wakefold.audits import Audit, Finding, Limit, Prevented, Refused, Stopped, audit
from wakefold.events import Event
from wakefold.guard import Refusal, StopKey
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig
from wakefold.ledger import fold
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold.wakeups import COUNTED_TYPES, DAY_MS, HOUR_MS
from wakefold_shell.stores.journals import open_journal

MIN_MS = 60_000
MIDNIGHT = T - 8 * HOUR_MS
Entry = tuple[int, str, object]


def change(minute: float, data: object) -> Entry:
    """A schedule change, some minutes after T."""
    return round(minute * MIN_MS), "schedule/change", data


def shot(minute: float, name: str) -> tuple[Entry, Entry]:
    """A one-shot that is made and goes in the same minute."""
    return change(minute, created(at(name))), change(minute, dispatched(name))


def repeat(minute: int, name: str, seconds: int = 1800) -> Entry:
    """The create of a repeating reminder, due half an hour later."""
    return change(minute, created(every(name, T + (minute + 30) * MIN_MS, seconds)))


def go(minute: int, name: str) -> Entry:
    """The dispatch of a repeating reminder."""
    return change(minute, dispatched(name, T + minute * MIN_MS))


def end(minute: float) -> Entry:
    """The end of a turn."""
    return round(minute * MIN_MS), "turn/end", {"turn": 1}


def word(minute: float) -> Entry:
    """An external word."""
    return round(minute * MIN_MS), "user/message", {"source": {"kind": "user"}}


def number(*entries: Entry) -> list[Event]:
    """The log of the entries."""
    return [event(data, seq, kind, T + ms) for seq, (ms, kind, data) in enumerate(entries)]


def audited(config: GuardConfig, *entries: Entry) -> Audit:
    """The audit of a log that folds."""
    return ok(audit(number(*entries), config))


def brief(findings: tuple[Finding, ...]) -> list[tuple[object, ...]]:
    """Findings as rows: what, at which seq, and why."""
    rows: list[tuple[object, ...]] = []
    for found in findings:
        if isinstance(found, Stopped):
            gone = [record.id for record in found.stop.to_delete]
            rows.append(("stopped", found.seq, found.stop.key.reason, gone, found.told))
        elif isinstance(found, Refused):
            rows.append(("refused", found.seq, found.schedule_id, found.refusal.code))
        else:
            rows.append(("prevented", found.seq, found.schedule_id, found.limit))
    return rows


def test_an_empty_log_comes_to_nothing() -> None:
    """Neither do foreign events and words."""
    nothing = Audit((), 0, 0, 0, 0, {})
    assert audited(DEFAULT_CONFIG) == nothing
    assert audited(DEFAULT_CONFIG, word(0), end(1), (2, "plan/create", None)) == nothing


def test_the_hourly_cap_refuses_and_prevents() -> None:
    """The fifth one-shot of an hour is refused; its wakeup does not happen and does not count."""
    shots = [entry for n in range(5) for entry in shot(n, f"s{n}")]
    found = audited(DEFAULT_CONFIG, *shots, *shot(60, "late"), *shot(61, "later"))
    late = Refusal("SCHEDULE_HOURLY_CAP", 4, 4, free_in_ms=0)
    assert found.findings == (
        Refused(8, T + 4 * MIN_MS, "s4", Refusal("SCHEDULE_HOURLY_CAP", 4, 4, 56 * MIN_MS)),
        Prevented(9, T + 4 * MIN_MS, "s4", "hourly"),
        Refused(10, T + 60 * MIN_MS, "late", late),
        Prevented(11, T + 60 * MIN_MS, "late", "hourly"),
    )
    assert found.prevented == {"hourly": 2}
    assert (found.wakeups, found.longest_streak, found.busiest_hour) == (7, 7, 6)


def test_the_floor_refuses_and_prevents() -> None:
    """A repeat that is refused wakes nobody, so that no streak trips; the totals are the log's own."""
    entries = (repeat(0, "e", 600), *(go(30 + n, "e") for n in range(0, 70, 10)), end(120))
    found = audited(GuardConfig(max_consecutive_wakeups=2), *entries)
    assert found.findings[0] == Refused(0, T, "e", Refusal("SCHEDULE_TOO_FREQUENT", 1800, 600))
    assert brief(found.findings[1:]) == [("prevented", n, "e", "floor") for n in range(1, 8)]
    assert found.prevented == {"floor": 7}
    assert (found.wakeups, found.longest_streak, found.busiest_hour) == (7, 7, 7)


STREAK = (
    repeat(0, "e"),
    *(entry for n in (30, 60, 90) for entry in (go(n, "e"), end(n + 1))),
    go(120, "e"),
    end(121),
)


def test_a_streak_stops_what_repeats() -> None:
    """At the end of the turn that passes it; what wakes later is prevented, and told once."""
    found = audited(GuardConfig(max_consecutive_wakeups=2), *STREAK)
    assert brief(found.findings) == [
        ("stopped", 6, "consecutive", ["e"], True),
        ("prevented", 7, "e", "consecutive"),
    ]
    stopped = found.findings[0]
    assert isinstance(stopped, Stopped)
    assert (stopped.time_ms, stopped.stop.key) == (T + 91 * MIN_MS, StopKey("consecutive"))
    assert (stopped.stop.consecutive, stopped.stop.total) == (3, 3)
    assert (found.prevented, found.wakeups, found.longest_streak) == ({"consecutive": 1}, 4, 4)


def test_an_end_of_a_turn_is_what_a_stop_waits_for() -> None:
    """Without one nothing is stopped."""
    entries = [entry for entry in STREAK if entry[1] != "turn/end"]
    assert audited(GuardConfig(max_consecutive_wakeups=2), *entries).findings == ()


def test_a_repeat_made_in_the_same_stretch_is_deleted_untold() -> None:
    """One stop, one message; an external word begins another stretch."""
    config = GuardConfig(max_consecutive_wakeups=0, max_per_hour=0)
    entries = (*shot(0, "a"), end(1), repeat(2, "e"), end(3), end(4), word(5), end(6))
    again = (*shot(7, "b"), end(8), end(9))
    assert brief(audited(config, *entries, *again).findings) == [
        ("stopped", 2, "consecutive", [], True),
        ("stopped", 4, "consecutive", ["e"], False),
        ("stopped", 10, "consecutive", [], True),
    ]


def test_a_day_stops_what_repeats() -> None:
    """By the configured boundary; the day after, a new stop is told."""
    day = 24 * 60
    entries = (repeat(0, "e"), go(30, "e"), word(31), go(60, "e"), end(61), word(62))
    found = audited(
        GuardConfig(max_per_day=1), *entries, go(90, "e"), end(91), go(day, "e"), end(day + 1)
    )
    assert brief(found.findings) == [
        ("stopped", 4, "per_day", ["e"], True),
        ("prevented", 6, "e", "per_day"),
        ("prevented", 8, "e", "per_day"),
    ]
    assert (found.prevented, found.wakeups, found.longest_streak) == ({"per_day": 2}, 4, 2)
    assert (found.busiest_hour, found.busiest_day) == (3, 3)
    moved = GuardConfig(max_per_day=1, day_boundary_offset_minutes=-8 * 60 - 45)
    assert brief(audited(moved, *entries).findings) == []


def test_a_too_fast_repeat_is_always_refused_first() -> None:
    """A log does not tell by which route a create came, so that the reaper never finds one too fast."""
    entries = (repeat(0, "e", 300), repeat(0, "f", 1799), end(1), go(30, "e"), end(31))
    found = audited(DEFAULT_CONFIG, *entries)
    assert [row[0] for row in brief(found.findings)] == ["refused", "refused", "prevented"]
    assert found.prevented == {"floor": 1}


def test_every_limit_prevents_for_itself() -> None:
    """The limit that refused or deleted a reminder first is the one that is named."""
    config = GuardConfig(max_consecutive_wakeups=1, max_per_hour=2)
    entries = (
        repeat(0, "f", 600),
        repeat(0, "e"),
        go(30, "e"),
        *shot(31, "a"),
        end(32),
        repeat(33, "h"),
    )
    later = (go(60, "f"), go(65, "e"), go(70, "h"), end(71))
    found = audited(config, *entries, *later)
    assert found.prevented == {"floor": 1, "consecutive": 1, "hourly": 1}
    counted: dict[Limit, int] = {}
    for one in found.findings:
        if isinstance(one, Prevented):
            counted[one.limit] = counted.get(one.limit, 0) + 1
    assert counted == found.prevented


def test_what_was_refused_may_be_deleted_by_its_owner() -> None:
    """The log as it is goes on; only its wakeups would not have happened."""
    found = audited(DEFAULT_CONFIG, repeat(0, "e", 600), change(1, deleted("e")), end(2))
    assert [row[0] for row in brief(found.findings)] == ["refused"]


@pytest.mark.parametrize(
    ("times_ms", "offset_minutes", "hour", "day"),
    [
        ((0, HOUR_MS), 0, 2, 2),
        ((0, HOUR_MS + 1), 0, 1, 2),
        ((HOUR_MS, 0, 1, HOUR_MS + 1), 0, 3, 4),
        ((0, HOUR_MS, 2 * HOUR_MS), 0, 2, 3),
        ((0, 0, 3 * HOUR_MS, 3 * HOUR_MS, 3 * HOUR_MS), 0, 3, 5),
        ((-1, 0), 0, 2, 1),
        ((-1, 0), 60, 2, 2),
        ((-1, 0, 1), -0.5, 3, 3),
        ((0, DAY_MS - 1, DAY_MS), 0, 2, 2),
        ((DAY_MS, 0, DAY_MS + HOUR_MS), 0, 2, 2),
    ],
)
def test_the_busiest_hour_slides_and_the_busiest_day_does_not(
    times_ms: tuple[int, ...], offset_minutes: float, hour: int, day: int
) -> None:
    """Both ends of an hour lie in it; a day has its boundary. Whatever the order in the log."""
    entries = [
        (MIDNIGHT - T + ms, kind, data)
        for place, ms in enumerate(times_ms)
        for _, kind, data in shot(0, f"s{place}")
    ]
    found = audited(GuardConfig(day_boundary_offset_minutes=offset_minutes), *entries)
    assert (found.busiest_hour, found.busiest_day, found.wakeups) == (hour, day, len(times_ms))


def test_a_corrupt_log_fails_with_its_place() -> None:
    """As folding it does, and nothing partial is told."""
    broken = number(*shot(0, "a"), (1, "plan/create", None), change(2, deleted("a")), *shot(3, "b"))
    fault = refused(audit(broken, DEFAULT_CONFIG))
    assert (fault.rule, fault.index, fault.schedule_id) == ("id_not_active", 3, "a")
    assert fault == refused(fold(broken))


@pytest.mark.parametrize(
    "data",
    [{"version": 7}, dispatched("unknown"), dispatched("a", T), {"version": 1, "operation": "x"}, None],
)
def test_a_change_that_fits_nothing_fails_as_the_fold_does(data: object) -> None:
    """Malformed, of an unknown id, or of another kind than its record."""
    broken = number(change(0, created(at("a"))), change(1, data), *shot(2, "b"))
    fault = refused(audit(broken, DEFAULT_CONFIG))
    assert fault == refused(fold(broken))
    assert fault.index == 1


@pytest.mark.parametrize("seed_length", [-1, 3])
def test_a_seed_length_beyond_the_log_fails(seed_length: int) -> None:
    """As folding it does."""
    events = number(*shot(0, "a"))
    assert refused(audit(events, DEFAULT_CONFIG, seed_length)) == refused(fold(events, seed_length))


def test_a_fork_answers_for_its_own_suffix() -> None:
    """What it inherited is neither refused, nor counted, nor does its end of a turn reap."""
    parent = (repeat(0, "e", 600), go(30, "e"), *shot(31, "a"), end(32))
    own = (*shot(33, "a"), end(34))
    config = GuardConfig(max_consecutive_wakeups=1)
    found = ok(audit(number(*parent, *own), config, seed_length=len(parent)))
    assert found == Audit((), 1, 1, 1, 1, {})
    assert len(ok(audit(number(*parent), config)).findings) == 2
    both = ok(audit(number(*parent, *own), GuardConfig(max_consecutive_wakeups=0), len(parent)))
    assert brief(both.findings) == [("stopped", 7, "consecutive", [], True)]


LOOSE = GuardConfig(min_repeating_interval_seconds=300, max_consecutive_wakeups=2)


@pytest.mark.parametrize(
    ("name", "config", "rows", "totals", "prevented"),
    [
        (
            "published/tools-and-fire",
            DEFAULT_CONFIG,
            [("refused", 32, "schedule-2", "SCHEDULE_TOO_FREQUENT")],
            (1, 1, 1, 1),
            {},
        ),
        ("published/tools-and-fire", LOOSE, [], (1, 1, 1, 1), {}),
        ("published/fork", DEFAULT_CONFIG, [], (1, 1, 1, 1), {}),
        ("published/torn-tail", DEFAULT_CONFIG, [], (1, 1, 1, 1), {}),
        (
            "published/every-live",
            LOOSE,
            [
                ("stopped", 111, "consecutive", ["schedule-1", "schedule-2", "schedule-3"], True),
                ("prevented", 113, "schedule-1", "consecutive"),
                ("prevented", 132, "schedule-2", "consecutive"),
            ],
            (5, 5, 5, 5),
            {"consecutive": 2},
        ),
        (
            "seed/gate",
            DEFAULT_CONFIG,
            [
                ("refused", 20, "schedule-1", "SCHEDULE_TOO_FREQUENT"),
                ("refused", 35, "schedule-2", "SCHEDULE_TOO_FREQUENT"),
                ("prevented", 109, "schedule-1", "floor"),
                ("prevented", 157, "schedule-2", "floor"),
                ("prevented", 158, "schedule-1", "floor"),
            ],
            (4, 2, 4, 4),
            {"floor": 3},
        ),
        pytest.param(
            "published/every-cold",
            DEFAULT_CONFIG,
            [
                ("refused", 20, "schedule-1", "SCHEDULE_TOO_FREQUENT"),
                ("refused", 32, "schedule-2", "SCHEDULE_TOO_FREQUENT"),
                ("prevented", 83, "schedule-1", "floor"),
                ("prevented", 84, "schedule-2", "floor"),
            ],
            (3, 3, 3, 3),
            {"floor": 2},
            marks=pytest.mark.needs("zstd"),
        ),
    ],
)
def test_the_journals_of_released_builds_are_audited(
    name: str,
    config: GuardConfig,
    rows: list[tuple[object, ...]],
    totals: tuple[int, ...],
    prevented: dict[Limit, int],
) -> None:
    """What would have been refused, stopped and prevented in each, and what happened in it."""
    profile: Profile = SEED if name.startswith("seed") else PUBLISHED
    with open_journal(JOURNALS / name) as journal:
        seed_length = journal.header.seed_length
        found = ok(audit(journal.read_events(COUNTED_TYPES), config, seed_length, profile))
    assert brief(found.findings) == rows
    assert (found.wakeups, found.longest_streak, found.busiest_hour, found.busiest_day) == totals
    assert found.prevented == prevented


def test_a_journal_of_the_other_profile_fails_with_its_place() -> None:
    """Batches 149 ms apart are corrupt where the gate is kept."""
    with open_journal(JOURNALS / "published/every-live") as journal:
        fault = refused(audit(journal.read_events(COUNTED_TYPES), DEFAULT_CONFIG, 0, SEED))
    assert (fault.rule, fault.index) == ("batches_too_close", 75)
