"""The simulator: this project's shell keeps every invariant, and every invariant can break."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from planted_bugs import BUGS, Bug
from planted_edit_bugs import EDIT_BUGS
from wakefold import Event
from wakefold_laws.shell_laws import SHELL_LAWS, check_shell
from wakefold_laws.simulation.invariants import INVARIANTS
from wakefold_laws.simulation.scenarios import (
    AtClaim,
    Call,
    Crash,
    Deed,
    Fail,
    Go,
    Option,
    Rule,
    Scenario,
    Setting,
    Step,
    Think,
    Tool,
    format_scenario,
    parse_scenario,
)
from wakefold_laws.simulation.shrinking import shrink
from wakefold_laws.simulation.timelines import Timeline, run_virtually
from wakefold_laws.simulation.weathers import ANY_WEATHER, WEATHERS, make_scenario
from wakefold_laws.simulation.worlds import DEEDS_MAX, Home, Sleep, World
from wakefold_laws.simulator import (
    OwnShell,
    SimulationFailure,
    Story,
    replay,
    run_seed,
    run_seeds,
)
from wakefold_laws.transcripts import BACKENDS

SEEDS = 90
ALL_BUGS = (*BUGS, *EDIT_BUGS)
LONG_SEEDS = 20_000
MINUTE_MS = 60_000


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_shell_keeps_every_invariant(backend: str) -> None:
    """Through two hundred lives with all that can go wrong, on asyncio and on trio."""
    stories = run_seeds(range(SEEDS), backend=backend)
    assert sum(story.deliveries for story in stories) > 500
    assert sum(story.lives for story in stories) > 150
    assert any(note.text.startswith('answered: {"id"') for story in stories for note in story.notes)


@pytest.mark.parametrize("law", SHELL_LAWS, ids=lambda law: str(law.__name__))
def test_each_law_of_a_shell_is_kept(law: Callable[..., None]) -> None:
    """The laws that are shipped, by the shell that is shipped."""
    law(OwnShell, range(1000, 1008))


def test_a_shell_is_held_to_all_laws() -> None:
    """`check_shell` runs one after the other, each with the seeds given."""
    opened: list[Home] = []

    def open_shell(home: Home) -> OwnShell:
        opened.append(home)
        return OwnShell(home)

    check_shell(open_shell, range(2))
    assert len(opened) >= 2 * len(SHELL_LAWS) * len(BACKENDS)


@cache
def find_bug(bug: Bug) -> tuple[int, SimulationFailure]:
    """The first seed that shows a bug, and how it is told."""
    with bug.patched():
        for seed in range(bug.seeds):
            try:
                run_seed(seed, bug.open_shell, bug.weather)
            except SimulationFailure as failure:
                return seed, failure
    raise AssertionError(f"{bug.seeds} seeds do not show: {bug.name}")


@pytest.mark.parametrize("bug", ALL_BUGS, ids=lambda bug: str(bug.name))
def test_a_planted_bug_is_found(bug: Bug) -> None:
    """Within the seeds that it may take, by an invariant that it breaks; its script is short, and fails
    again.
    """
    seed, failure = find_bug(bug)
    assert failure.invariant in {invariant.__name__ for invariant in bug.invariants}
    assert f"seed {seed} " in str(failure)
    script = format_scenario(failure.scenario)
    assert script in str(failure)
    assert len(failure.scenario.steps) <= 8
    with bug.patched(), pytest.raises(SimulationFailure) as again:
        replay(script, bug.open_shell)
    assert again.value.invariant == failure.invariant
    assert str(again.value).partition("\n")[0].partition(": ")[2] in str(failure)
    replay(script)  # without the bug all is well


def test_every_invariant_has_been_seen_to_fail() -> None:
    """None of them stands there for nothing."""
    seen = {find_bug(bug)[1].invariant for bug in ALL_BUGS}
    assert seen == {invariant.__name__ for invariant in INVARIANTS}


def test_a_guard_without_a_clock_admits_nothing() -> None:
    """A script that broke an invariant: admission went by an older sample, from before a jump."""
    story = replay(
        """
        {"start_ms":1830297540000,"limits":{"maxPerHour":2}}
        {"do":"call","deeds":[{"tool":"create","number":5}]}
        {"do":"call","deeds":[{"tool":"create","number":300}]}
        {"do":"go","for_ms":21600000}
        {"do":"call","deeds":[{"tool":"create","rule":"every","number":1800}]}
        {"do":"jump","by_ms":-21600000}
        {"do":"fail","what":"clock"}
        {"do":"call","deeds":[{"tool":"create","number":60}]}
        """
    )
    answers = [note.text for note in story.notes if note.text.startswith("answered")]
    assert '"code":"internal_error"' in answers[-1]
    assert story.deliveries == 2


def test_the_page_has_every_invariant() -> None:
    """By name, and with its one sentence."""
    page = (Path(__file__).resolve().parents[1] / "docs/simulator.md").read_text("utf-8")
    rows = [f"| `{one.__name__}` | {(one.__doc__ or '').strip()} |" for one in INVARIANTS]
    assert [row for row in page.splitlines() if row.startswith("| `check_")] == rows


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_seed_decides_everything(backend: str) -> None:
    """Twice the same story, to the letter; another seed tells another one."""
    stories = [run_seed(seed, backend=backend) for seed in (7, 7, 8)]
    assert stories[0] == stories[1] != stories[2]
    assert len(stories[0].notes) > 20


def test_what_may_happen_does_happen() -> None:
    """Over some hundreds of seeds, every kind of step, failure, touch and setting."""
    scenarios = [make_scenario(seed) for seed in range(400)]
    steps = [step for scenario in scenarios for step in scenario.steps]
    kinds = Counter(type(step) for step in steps)
    assert set(kinds) == set(get_args(Step))
    assert len({step.what for step in steps if isinstance(step, Fail)}) == 8
    assert len({step.before for step in steps if isinstance(step, Crash)}) == 12
    assert {bool(scenario.setting.limits) for scenario in scenarios} == {True, False}
    assert {scenario.setting.batches for scenario in scenarios} == {True, False}
    called = [deed for step in steps if isinstance(step, Call | Think) for deed in step.deeds]
    assert {deed.tool for deed in called} == set(get_args(Tool))
    assert {deed.rule for deed in called} == set(get_args(Rule))
    assert {deed.revision for deed in called} == {None, "right", "stale"}
    assert {name for deed in called for name in deed.dropped} == set(get_args(Option))
    assert any(step.pause for step in steps if isinstance(step, AtClaim))


def test_every_change_of_version_2_is_written() -> None:
    """Skips and edits of every kind, in sessions that restart and lose their last events."""
    told = [note.text for story in run_seeds(range(60), weather="edits") for note in story.notes]
    appended = " ".join(text for text in told if text.startswith(("appended", "from elsewhere")))
    for operation in ("create", "dispatch", "update", "pause", "resume", "snooze", "skip"):
        assert f"schedule/change {operation} " in appended, operation
    answered = " ".join(text for text in told if text.startswith("answered"))
    for code in ("schedule_conflict", "schedule_not_found", "schedule_ended", "invalid_rule"):
        assert f'"{code}"' in answered, code


def test_the_seeds_of_the_weathers_of_version_1_mean_what_they_did() -> None:
    """Their scripts are those of the releases before there was a version 2."""
    digests = {
        "calm": "90bde884ce0b80ca",
        "power": "bb6ce5a3c6e8ba9b",
        "disk": "f9c42f6c27b32915",
        "clock": "4f7f8e1f451ad427",
        "agent": "dec2a130cf3a6e05",
        "crowd": "ef8298cdd1df28c3",
        "forks": "db7e79553e287d81",
    }
    for weather, digest in digests.items():
        scripts = "\n\n".join(format_scenario(make_scenario(seed, weather)) for seed in range(200))
        assert hashlib.sha256(scripts.encode()).hexdigest().startswith(digest), weather


@pytest.mark.parametrize("weather", [*WEATHERS, ANY_WEATHER])
def test_a_script_reads_back_as_it_was(weather: str) -> None:
    """Whatever the weather, prompts that attack lines included."""
    for seed in range(60):
        scenario = make_scenario(seed, weather)
        assert parse_scenario(format_scenario(scenario)) == scenario
        assert parse_scenario("\n  " + format_scenario(scenario).replace("\n", "\n  ")) == scenario


@pytest.mark.parametrize("text", ["", "{}", '{"start_ms":0}\n{"do":"dance"}', '{"start_ms":0}\nx'])
def test_what_is_no_script_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        parse_scenario(text)


def test_a_failing_script_is_made_small() -> None:
    """What it fails without goes: steps, deeds, and all of the setting that is not plain."""
    tea, milk = Deed("create", number=1), Deed("delete", number=2)
    steps: list[Step] = [Go(1), Call((milk, tea)), Go(2), Think((tea, milk)), Go(3), Go(4)]
    setting = Setting(5, limits={}, time_zone="UTC", supervised=True, batches=True)

    def fails(scenario: Scenario) -> bool:
        called = [step.deeds for step in scenario.steps if isinstance(step, Call)]
        return any(tea in deeds for deeds in called) and Go(4) in scenario.steps

    least = shrink(Scenario(setting, tuple(steps)), fails)
    assert least == Scenario(Setting(5), (Call((tea,)), Go(4)))


def test_an_eager_agent_ends_at_last() -> None:
    """One that sets two reminders in each turn would go on for ever: its deeds are counted."""
    deeds = (Deed("create", number=1), Deed("create", number=1))
    steps = (Think(deeds), Call((Deed("create", number=1),)), Go(3_600_000))
    story = replay(format_scenario(Scenario(Setting(0), steps)))
    assert story.deliveries == 1 + DEEDS_MAX


@pytest.mark.parametrize(
    ("monotonic_ms", "offset_ms", "left_ms"),
    [
        (1000, 0, 150_000),  # just begun: the end is in sight
        (31_000, 0, 120_000),
        (31_000, 60_000, 90_000),  # set forward by a minute: over at 91 s, seen at the look at 121 s
        (61_000, 60_000, 60_000),
        (31_000, 120_000, 30_000),
        (31_000, 10**9, 30_000),
        (61_000, 10**9, 0),
        (31_000, -(10**9), 120_000),  # set back: the delay ends it
        (151_000, -(10**9), 0),
    ],
)
def test_a_sleeper_notices_by_the_minute(monotonic_ms: int, offset_ms: int, left_ms: int) -> None:
    """Begun at 1 s for 151 s: it looks at each minute, and at its end."""
    sleep = Sleep(1000, 0, until_ms=151_000, delay_ms=150_000)
    assert sleep.count_left_ms(monotonic_ms, offset_ms) == left_ms


def make_world(*batches: int, whole: bool) -> World:
    """A world whose log has two durable events and then batches of so many."""

    async def make(timeline: Timeline) -> World:
        world = World(Setting(0, batches=whole), None, timeline)
        for size in (2, *batches):
            start = len(world.events)
            world.write([Event("x", start + place, 0, {}) for place in range(size)])
        world.durable = 2
        return world

    return run_virtually(make)


@pytest.mark.parametrize(
    ("whole", "kept", "left"),
    [
        (False, 0, 2),
        (False, 1, 3),
        (False, 4, 6),
        (False, 9, 7),
        (True, 0, 2),
        (True, 1, 5),
        (True, 2, 7),
        (True, 9, 7),
    ],
)
def test_a_crash_keeps_a_prefix(*, whole: bool, kept: int, left: int) -> None:
    """Of what was not durable: single events, or whole batches."""
    world = make_world(3, 2, whole=whole)
    world.lose(kept)
    assert [event.seq for event in world.events] == list(range(left))
    assert world.durable == left


def _run_some(seeds: range) -> tuple[int, int, int]:
    stories: Iterable[Story] = run_seeds(seeds)
    told = list(stories)
    return len(told), sum(s.virtual_ms for s in told), sum(s.deliveries for s in told)


@pytest.mark.long
def test_tens_of_thousands_of_seeds_keep_every_invariant() -> None:
    """On all cores; the figures are printed."""
    begun = time.monotonic()
    parts = [range(first, first + 250) for first in range(0, LONG_SEEDS, 250)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        seeds, virtual_ms, deliveries = (
            sum(row) for row in zip(*pool.map(_run_some, parts), strict=True)
        )
    seconds = time.monotonic() - begun
    years = virtual_ms / 1000 / 86_400 / 365
    print(  # noqa: T201 - the figure of the long profile
        f"\n{seeds} seeds, {years:.0f} years and {deliveries} dispatches in {seconds:.0f} s: "
        f"{virtual_ms / 1000 / seconds:,.0f} times as fast as life"
    )
    assert seeds == LONG_SEEDS


@pytest.mark.long
def test_some_thousand_seeds_on_trio() -> None:
    """Its tasks are shuffled, by the seed."""
    parts = [range(first, first + 250) for first in range(0, LONG_SEEDS // 4, 250)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        assert sum(pool.map(_run_on_trio, parts)) == LONG_SEEDS // 4


def _run_on_trio(seeds: range) -> int:
    return len(run_seeds(seeds, backend="trio"))
