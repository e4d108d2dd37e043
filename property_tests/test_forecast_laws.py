"""A forecast is what a driven session does: the same days, stop by stop and refusal by refusal.

The session is driven through `advance`, the tools' programs and the reaper's; the forecast goes
straight through the planner. Both are given the same log, limits and habits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from guarded_world import World
from wakefold.conversations import Conversation, name_person
from wakefold.events import (
    SCHEDULE_CHANGE,
    AfterRecord,
    AtRecord,
    Create,
    Dispatch,
    Event,
    EveryRecord,
    Record,
    encode_change,
)
from wakefold.forecasts import Day, Forecast, ToldStop, forecast
from wakefold.guard import UNTIL_A_WORD, find_not_before
from wakefold.guard_config import GuardConfig, QuietHours
from wakefold.habits import Habits, list_words
from wakefold.ledger import list_active
from wakefold.owners import open_owner
from wakefold.recurrence import SEED
from wakefold.views import list_views
from wakefold.wakes import plan_next_wake
from wakefold.wakeups import DAY_MS, HOUR_MS, find_day_start

STARTS_MS: Final = (
    1_801_440_000_000,  # 2027-02-01T00:00:00Z
    1_801_490_400_123,  # 14:00:00.123Z on the same day
    1_806_102_000_000,  # 2027-03-26T23:00:00Z, before Berlin's clock is set forward
    1_824_850_800_000,  # 2027-10-29T23:00:00Z, before it is set back
)
ZONES: Final = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")

clock_minutes = st.sampled_from((0, 90, 150, 599, 1320)) | st.integers(0, 1439)


def keep_habits(*, capped: bool) -> st.SearchStrategy[Habits]:
    """Habits of all kinds. Without a cap each turn sets one more chain going: slow ones alone then."""
    return st.builds(
        Habits,
        word_minutes=st.frozensets(clock_minutes, max_size=3),
        time_zone=st.sampled_from(ZONES),
        turn_ms=st.sampled_from((0, 0, 20_000, HOUR_MS // 2, 5 * HOUR_MS)),
        after_seconds=st.none()
        | st.sampled_from((7, 1201, 7200, 2**53) if capped else (40_000, 2**53)),
        every_seconds=st.none() | st.sampled_from((100, 300, 1800, 3600) if capped else (100, 3600)),
    )


quiet_hours = st.builds(
    lambda start, length, zone: QuietHours(start, (start + length) % 1440, zone),
    clock_minutes,
    st.integers(1, 1439),
    st.sampled_from(ZONES),
)
limits = st.builds(
    GuardConfig,
    max_consecutive_wakeups=st.integers(0, 8),
    max_per_day=st.integers(0, 12),
    max_per_hour=st.integers(0, 5),
    reset_kinds=st.sampled_from((("user", "a2a"), ("a2a",), ("user", "plugin"))),
    min_repeating_interval_seconds=st.sampled_from((0, 300, 601, 1800)),
    day_boundary_offset_minutes=st.sampled_from((0, -90, 840, 0.5)),
    hold=st.booleans(),
    quiet_hours=st.none() | quiet_hours,
)


@st.composite
def records(draw: st.DrawFn, start_ms: int) -> list[Record]:
    """Active reminders of all kinds, some overdue, with ids that leave gaps."""
    names = draw(
        st.lists(st.sampled_from([f"schedule-{n}" for n in range(1, 9)]), max_size=4, unique=True)
    )
    made: list[Record] = []
    for name in names:
        target_ms = start_ms + draw(st.integers(-DAY_MS, DAY_MS) | st.integers(0, HOUR_MS))
        seconds = draw(st.sampled_from((601, 3600, 7200)))
        kinds: tuple[Record, ...] = (
            AfterRecord(name, "p", 30, target_ms),
            AtRecord(name, "p", target_ms),
            EveryRecord(name, "p", seconds, target_ms),
        )
        made.append(draw(st.sampled_from(kinds)))
    return made


@st.composite
def logs(draw: st.DrawFn, start_ms: int) -> list[Event]:
    """A log that folds: words, one-shots that went in the day before, then the reminders."""
    entries: list[tuple[str, object]] = []
    ago_ms = sorted(draw(st.lists(st.integers(0, DAY_MS), max_size=8)), reverse=True)
    for place in range(len(ago_ms)):
        name = f"old-{place}"
        record = AtRecord(name, "p", start_ms)
        entries += [
            (SCHEDULE_CHANGE, encode_change(Create(schedule=record))),
            (SCHEDULE_CHANGE, encode_change(Dispatch(id=name))),
        ]
        if draw(st.booleans()):
            entries.append(("user/message", {"source": name_person("r", None)}))
    ago_ms = [ms for ms in ago_ms for _ in range(3)]
    entries += [
        (SCHEDULE_CHANGE, encode_change(Create(schedule=record))) for record in draw(records(start_ms))
    ]
    times_ms = [start_ms - ms for ms in ago_ms] + [start_ms] * len(entries)
    return [Event(kind, seq, times_ms[seq], data) for seq, (kind, data) in enumerate(entries)]


def live(
    log: Sequence[Event], config: GuardConfig | None, habit: Habits, start_ms: int, days: int
) -> tuple[World, Forecast]:
    """A session that is driven to the end, and its forecast."""

    def act(world: World) -> None:
        repeats = any(isinstance(record, EveryRecord) for record in list_active(world.ledger))
        if habit.every_seconds is not None and not repeats:
            world.call({"prompt": "again", "every_seconds": habit.every_seconds})
        if habit.after_seconds is not None:
            world.call({"prompt": "again", "after_seconds": habit.after_seconds})

    end_ms = start_ms + days * DAY_MS
    world = World(config, act, habit.turn_ms, log=log, start_ms=start_ms)
    world.live(end_ms - 1, list_words(habit, start_ms, end_ms))
    owner = open_owner(log, 0, SEED, config, start_ms).unwrap()
    return world, forecast(owner, Conversation(), habit, start_ms=start_ms, days=days)


def count_days(
    world: World, log_length: int, day_starts_ms: Sequence[int], words_ms: Sequence[int], end_ms: int
) -> list[Day]:
    """What a driven session did before the end, day by day."""
    changes = [
        (event.time_ms, event.data["operation"])
        for event in world.events[log_length:]
        if event.type == SCHEDULE_CHANGE and isinstance(event.data, dict)
    ]
    days: list[Day] = []
    for start_ms in day_starts_ms:
        until_ms = min(start_ms + DAY_MS, end_ms)
        made = Counter(operation for ms, operation in changes if start_ms <= ms < until_ms)
        refused = Counter(why.code for ms, why in world.refused if start_ms <= ms < until_ms)
        days.append(
            Day(
                start_ms=start_ms,
                wakeups=made["dispatch"],
                deliveries=sum(start_ms <= one.time_ms < until_ms for one in world.deliveries),
                words=sum(start_ms <= ms < until_ms for ms in words_ms),
                created=made["create"],
                refused=dict(refused),
                stops=tuple(ToldStop(ms, s) for ms, s in world.stopped if start_ms <= ms < until_ms),
                deleted=made["delete"],
                held_ms=sum(
                    max(0, min(until, until_ms) - max(since, start_ms))
                    for since, until in world.held_ms
                ),
            )
        )
    return days


@settings(max_examples=4 * settings().max_examples)
@given(
    data=st.data(),
    config=st.none() | limits,
    start_ms=st.sampled_from(STARTS_MS),
    days=st.integers(1, 2),
)
def test_a_forecast_is_what_a_driven_session_does(
    data: st.DataObject, config: GuardConfig | None, start_ms: int, days: int
) -> None:
    """Every count of every day, every stop with its numbers, what is active then and the next wake."""
    log = data.draw(logs(start_ms))
    habit = data.draw(keep_habits(capped=config is not None and config.max_per_hour > 0))
    world, cast = live(log, config, habit, start_ms, days)
    offset_minutes = 0.0 if config is None else config.day_boundary_offset_minutes
    first_ms, end_ms = find_day_start(start_ms, offset_minutes), start_ms + days * DAY_MS
    words_ms = list(list_words(habit, start_ms, end_ms))
    counted = count_days(world, len(log), range(first_ms, end_ms, DAY_MS), words_ms, end_ms)
    assert list(cast.days) == counted
    assert (cast.start_ms, cast.end_ms) == (start_ms, end_ms)

    before_end = [event for event in world.events if event.time_ms < end_ms]
    owner = open_owner(before_end, 0, SEED, config).unwrap()
    assert owner.ledger is not None
    not_before_ms = None if owner.guard is None else find_not_before(owner.guard, end_ms)
    assert cast.active == list_views(owner.ledger, end_ms, not_before_ms)
    wake = plan_next_wake(owner.ledger, end_ms, not_before_ms)
    next_wake_ms = None if wake is None or wake.at_ms == UNTIL_A_WORD else wake.at_ms
    assert cast.next_wake_ms == next_wake_ms


@given(habit=keep_habits(capped=True), start_ms=st.sampled_from(STARTS_MS), days=st.integers(0, 9))
def test_words_come_once_a_day_for_each_hour(habit: Habits, start_ms: int, days: int) -> None:
    """In order, within the time given, and whatever the clocks do; two forecasts tile."""
    end_ms = start_ms + days * DAY_MS
    words_ms = list(list_words(habit, start_ms, end_ms))
    assert words_ms == sorted(words_ms)
    assert all(start_ms <= ms < end_ms for ms in words_ms)
    for minutes in habit.word_minutes:
        alone = Habits(word_minutes=frozenset({minutes}), time_zone=habit.time_zone)
        own_ms = list(list_words(alone, start_ms, end_ms))
        assert days - 1 <= len(own_ms) <= days + 1
        gaps = [later - sooner for sooner, later in pairwise(own_ms)]
        assert all(abs(gap - DAY_MS) <= HOUR_MS for gap in gaps)
