"""How often an agent that always wakes itself again does wake, under the guard: a simulation.

The agent takes its turn after each delivery, and becomes idle again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from guarded_world import START_MS, World
from wakefold.events import SCHEDULE_CHANGE, Delete, EveryRecord, decode_change
from wakefold.guard import Refusal
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig
from wakefold.ledger import list_active
from wakefold.wakeups import HOUR_MS, find_day_start

MINUTE_MS: Final = 60_000


def after(seconds: int) -> Callable[[World], None]:
    """An agent that asks for one one-shot in each turn."""
    return lambda world: world.call({"prompt": "again", "after_seconds": seconds})


def count_hour(times_ms: Sequence[int]) -> int:
    """The most wakeups in any sliding hour, both of its ends included."""
    return max(
        (sum(begin <= ms <= begin + HOUR_MS for ms in times_ms) for begin in times_ms), default=0
    )


def list_deleted(world: World) -> list[str]:
    """The ids of the durable deletes."""
    changes = [decode_change(one.data).unwrap() for one in world.events if one.type == SCHEDULE_CHANGE]
    return [change.id for change in changes if isinstance(change, Delete)]


def list_repeating(world: World) -> list[EveryRecord]:
    """The active repeating records."""
    return [record for record in list_active(world.ledger) if isinstance(record, EveryRecord)]


class Deed(Struct, frozen=True):
    """What an agent does in a turn: some reminders of a kind, after so many seconds, all alike."""

    kind: str
    seconds: int
    count: int


def deed(kind: str, *seconds: int) -> st.SearchStrategy[Deed]:
    """Deeds of a kind."""
    return st.builds(Deed, st.just(kind), st.sampled_from(seconds), st.integers(1, 3))


def follow(plan: Sequence[Deed]) -> Callable[[World], None]:
    """An agent that does all of a plan in each of its turns."""

    def act(world: World) -> None:
        for one in plan:
            for _ in range(one.count):
                if one.kind == "slip":
                    world.slip(one.seconds, repeating=True)
                else:
                    world.call({"prompt": "again", one.kind: one.seconds})

    return act


plans = st.lists(
    deed("after_seconds", 1, 10, 960, 1201, 4000)
    | deed("every_seconds", 600, 1800, 3600)
    | deed("slip", 300, 600, 1800, 3600),
    min_size=1,
    max_size=3,
)
gaps = st.lists(st.sampled_from((0.1, 1, 5, 24, 40)), max_size=6)


def limits(*, hold: bool) -> st.SearchStrategy[GuardConfig]:
    """Small limits of all sizes; without hold the hourly cap is on."""
    return st.builds(
        GuardConfig,
        max_consecutive_wakeups=st.integers(0, 8),
        max_per_day=st.integers(0, 12),
        max_per_hour=st.integers(0 if hold else 1, 5),
        min_repeating_interval_seconds=st.sampled_from((300, 601, 1800)),
        day_boundary_offset_minutes=st.sampled_from((0, -90, 840)),
        hold=st.just(hold),
    )


def simulate(config: GuardConfig, plan: Sequence[Deed], waits: Sequence[float], turn_ms: int) -> World:
    """A week of an agent that follows a plan, and of a person who speaks after each of the waits."""
    words = [sum(waits[:place]) for place in range(len(waits) + 1)]
    return World(config, follow(plan), turn_ms, wakes_max=60).run(7, words)


def count_before(world: World, place: int, since_ms: int) -> int:
    """The wakeups since an instant that the log holds before a delivery."""
    return sum(one.size for one in world.deliveries[:place] if since_ms <= one.time_ms)


turns = st.sampled_from((0, 0, 20_000, 30 * MINUTE_MS))


@settings(max_examples=3 * settings().max_examples)
@given(config=limits(hold=False), plan=plans, waits=gaps, turn_ms=turns)
def test_repeats_stop_within_one_idle_of_the_trip(
    config: GuardConfig, plan: list[Deed], waits: list[float], turn_ms: int
) -> None:
    """Without hold no repeating reminder goes once the streak or the day was over its limit at an
    idle, but for one that stayed since only the too fast ones were deleted there."""
    world = simulate(config, plan, waits, turn_ms)
    for place, one in enumerate(world.deliveries):
        if not one.repeating or one.reaped_too_fast:
            continue
        assert one.streak_before <= config.max_consecutive_wakeups
        day_ms = find_day_start(one.time_ms, config.day_boundary_offset_minutes)
        assert count_before(world, place, day_ms) <= config.max_per_day
    floor = config.min_repeating_interval_seconds
    assert all(record.every_seconds >= floor for record in list_repeating(world))
    keys = [stop.key for stop in world.stops]
    assert len(set(keys)) == len(keys)


@settings(max_examples=3 * settings().max_examples)
@given(config=limits(hold=False), plan=plans, waits=gaps, turn_ms=turns)
def test_one_shots_are_bounded_by_those_already_active(
    config: GuardConfig, plan: list[Deed], waits: list[float], turn_ms: int
) -> None:
    """Without hold, in any sliding hour, at most the hourly cap of wakeups and after them only
    one-shots that were active when the cap was reached."""
    world = simulate(config, plan, waits, turn_ms)
    cap = int(config.max_per_hour)
    wakes = [one for one in world.deliveries for _ in range(one.size)]
    for first, begin in enumerate(wakes):
        hour = [one for one in wakes[first:] if one.time_ms <= begin.time_ms + HOUR_MS]
        if len(hour) > cap:
            more = sum(not one.repeating for one in hour[cap:])
            assert more <= hour[cap - 1].one_shots_left
    refusals = [refusal for refusal in world.refusals if isinstance(refusal, Refusal)]
    assert all(refusal.found >= cap for refusal in refusals if refusal.free_in_ms is not None)


@settings(max_examples=8 * settings().max_examples)
@given(config=limits(hold=True), plan=plans, waits=gaps, turn_ms=turns)
def test_with_hold_every_limit_bounds_deliveries(
    config: GuardConfig, plan: list[Deed], waits: list[float], turn_ms: int
) -> None:
    """Nothing goes while the hour, the day or the streak is used up, so that only the last batch can
    pass a limit, by its size less one; and what is held is waited for."""
    world = simulate(config, plan, waits, turn_ms)
    for place, one in enumerate(world.deliveries):
        assert one.streak_before < config.max_consecutive_wakeups
        day_ms = find_day_start(one.time_ms, config.day_boundary_offset_minutes)
        assert count_before(world, place, day_ms) < config.max_per_day
        if config.max_per_hour > 0:
            assert count_before(world, place, one.time_ms - HOUR_MS) < config.max_per_hour
    over = max((one.size for one in world.deliveries), default=1) - 1
    if config.max_per_hour > 0:
        assert count_hour(world.times_ms) <= config.max_per_hour + over
    assert world.guard.wakeups.max_consecutive <= config.max_consecutive_wakeups + over
    if list_active(world.ledger):
        assert world.timer_ms is not None or world.streak >= config.max_consecutive_wakeups


def test_c79_a_chain_of_one_shots_ends_at_the_cap() -> None:
    """A reminder that says `in 10 seconds` is obeyed three times; at the fourth wakeup of the hour the
    create is refused, with the time until a slot frees, and nothing is left that could wake."""
    world = World(DEFAULT_CONFIG, after(10)).run(2, [0])
    assert [ms - START_MS for ms in world.times_ms] == [10_000, 20_000, 30_000, 40_000]
    assert world.refusals == [Refusal("SCHEDULE_HOURLY_CAP", 4, 4, free_in_ms=HOUR_MS - 30_000)]
    assert list_active(world.ledger) == ()
    assert world.stops == []


@pytest.mark.parametrize(
    ("seconds", "turn_minutes", "period_minutes"),
    [(20 * 60 + 1, 0, 20), (3 * 60, 13, 16)],
)
def test_c79_a_slower_chain_goes_on_for_ever(
    seconds: int, turn_minutes: int, period_minutes: int
) -> None:
    """Admission looks at the hour before the create: three wakeups in it are too few, be it that they
    are more than twenty minutes apart, or sixteen and the agent works for thirteen of them."""
    turn_ms = turn_minutes * MINUTE_MS
    world = World(DEFAULT_CONFIG, after(seconds), turn_ms).run(14, [0])
    assert world.refusals == []
    assert len(world.times_ms) > 14 * 24 * 60 // (period_minutes + 1)
    assert [(stop.key.reason, stop.to_delete) for stop in world.stops] == [("consecutive", ())]
    assert count_hour(world.times_ms) <= 4


@pytest.mark.parametrize("seconds", [16 * 60, 20 * 60])
def test_c79_a_chain_within_the_cap_s_window_ends_at_the_fourth(seconds: int) -> None:
    """An agent that asks at once finds its four wakeups in the hour, both ends included."""
    world = World(DEFAULT_CONFIG, after(seconds)).run(14, [0])
    assert (len(world.times_ms), len(world.refusals)) == (4, 1)


def test_c79_hold_bounds_the_slower_chain() -> None:
    """Six in a row, then nothing before a person speaks, and again six."""

    def act(world: World) -> None:
        if not list_active(world.ledger):
            after(20 * 60 + 1)(world)

    world = World(GuardConfig(hold=True), act).run(14, [0, 100])
    early = [ms for ms in world.times_ms if ms < START_MS + 100 * HOUR_MS]
    assert (len(early), len(world.times_ms)) == (6, 12)
    assert world.times_ms[6] == START_MS + 100 * HOUR_MS
    assert world.timer_ms is None
    assert world.stops == []


def hourly(world: World) -> None:
    """An agent that sets an hourly reminder where there is none."""
    if not list_repeating(world):
        world.call({"prompt": "look", "every_seconds": 3600})


def test_an_hourly_reminder_lives_on_words() -> None:
    """With a word every few hours it runs for a month without a stop."""
    world = World(DEFAULT_CONFIG, hourly).run(30, range(0, 720, 5))
    assert [ms - START_MS for ms in world.times_ms] == [n * HOUR_MS for n in range(1, 721)]
    assert (world.stops, world.refusals, list_deleted(world)) == ([], [], [])


def test_without_words_an_hourly_reminder_stops() -> None:
    """After the seventh in a row it is deleted; one word starts it again, for a new reminder."""
    world = World(DEFAULT_CONFIG, hourly).run(30, [0, 48])
    hours = [(ms - START_MS) // HOUR_MS for ms in world.times_ms]
    assert hours == [*range(1, 8), *range(49, 56)]
    assert list_deleted(world) == ["schedule-1", "schedule-2"]
    first, second = world.stops
    assert (first.key.reason, first.consecutive, first.total) == ("consecutive", 7, 7)
    assert (second.key.reason, second.consecutive, second.total) == ("consecutive", 7, 14)
    assert first.key != second.key


def slip_both(one_shot_seconds: int) -> Callable[[World], None]:
    """An agent that sets everything around the tool route: a repeat once, a one-shot in each turn."""

    def act(world: World) -> None:
        if not world.ledger.seen_ids:
            world.slip(1800, repeating=True)
        world.slip(one_shot_seconds, repeating=False)

    return act


@pytest.mark.parametrize(("seconds", "repeats"), [(10, 0), (1000, 2)])
def test_c80_whatever_the_route_every_wakeup_counts(seconds: int, repeats: int) -> None:
    """One-shots and repeats alike: at the seventh wakeup in a row the repeat is deleted, by a durable
    event, and told of once; one-shots go on, and are counted on."""
    world = World(DEFAULT_CONFIG, slip_both(seconds), wakes_max=250).run(9, [0])
    assert sum(one.repeating for one in world.deliveries) == repeats
    assert world.guard.wakeups.total == len(world.times_ms) == 250
    assert world.guard.wakeups.consecutive == 250
    assert list_deleted(world) == ["schedule-1"]
    seventh = [one.time_ms for one in world.deliveries][6]
    (delete,) = [one for one in world.events if "delete" in str(one.data)]
    assert delete.time_ms == seventh
    (stop,) = world.stops
    assert (stop.key.reason, stop.consecutive, stop.total) == ("consecutive", 7, 7)
    assert len(list_active(world.ledger)) == 1 + repeats


@pytest.mark.parametrize(("floor", "wakes", "reason"), [(1800, 0, "interval"), (600, 7, "consecutive")])
def test_c80_a_repeat_around_the_tool_route_is_reaped(floor: int, wakes: int, reason: str) -> None:
    """One that is too fast at the first idle, another after the limit in a row; nobody else speaks of
    it, so that the owner is told."""
    config = GuardConfig(min_repeating_interval_seconds=floor)

    def act(world: World) -> None:
        if not world.ledger.seen_ids:
            world.slip(600, repeating=True)

    world = World(config, act).run(2.5, [0])
    assert len(world.times_ms) == wakes
    assert list_deleted(world) == ["schedule-1"]
    assert [stop.key.reason for stop in world.stops] == [reason]
    assert list_active(world.ledger) == ()
