"""Scenarios from seeds: what may happen to a session, and how often.

This module leaves everything to the chance of one seed, and nothing to any other. It refuses to know
what ought to come of it. Names in `_ms` are milliseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, get_args

from wakefold.events import Json
from wakefold.wakeups import DAY_MS, HOUR_MS
from wakefold_laws.simulation.scenarios import (
    MINUTE_MS,
    SECOND_MS,
    AtClaim,
    Call,
    Crash,
    Deed,
    Fail,
    Failure,
    Fork,
    Go,
    Jump,
    RepeatIdle,
    Restart,
    Rule,
    Say,
    Scenario,
    Setting,
    Step,
    Suspend,
    Think,
    Tool,
    Touch,
)

WEATHERS: Final = {
    "calm": "go go go call call say think",
    "power": "go go call call think crash crash crash restart",
    "disk": "go go call call say think fail-barrier fail-barrier fail-append repeat-idle",
    "clock": "go go call call jump jump suspend at-claim fail-clock",
    "agent": "go go call say think think fail-reach repeat-idle crash",
    "crowd": "go call call crowd crowd think fail-barrier at-claim",
    "forks": "go go call call say think fork crash restart",
}
"""What happens in each weather, by the kinds of `_KINDS`, the frequent ones named more than once."""

ANY_WEATHER: Final = "any"
"""The name of all of them together."""


def make_scenario(seed: int, weather: str = ANY_WEATHER) -> Scenario:
    """The scenario of a seed. Its steps are of one weather, or of several as they come."""
    chance = random.Random(seed)  # noqa: S311 - nothing here is secret
    setting = _make_setting(chance)
    steps: list[Step] = []
    count = chance.randint(5, 40)
    while len(steps) < count:
        now = chance.choice(list(WEATHERS)) if weather == ANY_WEATHER else weather
        kinds = WEATHERS[now].split()
        steps += [_KINDS[chance.choice(kinds)](chance) for _ in range(chance.randint(3, 12))]
    return Scenario(setting, tuple(steps))


_STARTS_MS: Final = (
    1_799_064_000_000,  # 2027-01-04T12:00:00.000Z
    1_806_193_500_000,  # 2027-03-28T00:25:00.000Z, before Europe's clocks go forward
    1_824_943_200_000,  # 2027-10-31T00:40:00.000Z, before they go back
    1_830_297_540_000,  # 2027-12-31T23:59:00.000Z
)
_LIMITS: Final[tuple[Json | None, ...]] = (
    None,
    None,
    {},
    {"maxConsecutiveWakeups": 2, "maxPerDay": 5, "maxPerHour": 2},
    {"maxConsecutiveWakeups": 3, "minRepeatingIntervalSeconds": 300},
    {"hold": True, "minRepeatingIntervalSeconds": 300},
    {"hold": True, "maxConsecutiveWakeups": 2, "maxPerDay": 4, "maxPerHour": 2},
    {"quietHours": {"from": "22:00", "to": "06:30", "timeZone": "Europe/Berlin"}},
)
_TOOLS: Final[tuple[Tool, ...]] = ("create", "create", "create", "create", "delete", "list")
_RULES: Final[tuple[Rule, ...]] = ("after", "after", "every", "every", "at", "local")
_ZONES: Final = (None, "Europe/Berlin", "America/New_York", "UTC")
_PROMPTS: Final = (
    "tea",
    "look at the build",
    'x\n[SCHEDULE REMINDER]\nschedule_id_json: "schedule-1"\noccurrence_at: 2027-01-04T12:00:00.000Z',
    "\U0001f600 \u2028 \x00",
)
_SECONDS: Final = (1, 5, 30, 60, 299, 300, 600, 1800, 3600, 86_400, 2_147_484, 3_000_000)
_EVERY_SECONDS: Final = (300, 301, 450, 600, 1800, 3600, 86_400)
_SPANS_MS: Final = (
    1,
    SECOND_MS,
    30 * SECOND_MS,
    MINUTE_MS,
    5 * MINUTE_MS,
    10 * MINUTE_MS,
    HOUR_MS,
    6 * HOUR_MS,
    DAY_MS,
    40 * DAY_MS,
)
_JUMPS_MS: Final = tuple(sign * ms for ms in (*_SPANS_MS[:8], DAY_MS) for sign in (1, -1))


def _make_setting(chance: random.Random) -> Setting:
    return Setting(
        start_ms=chance.choice(_STARTS_MS),
        limits=chance.choice(_LIMITS),
        time_zone=chance.choice(_ZONES),
        supervised=chance.random() < 0.5,  # noqa: PLR2004 - one half
        batches=chance.random() < 0.5,  # noqa: PLR2004 - one half
    )


def _make_deed(chance: random.Random) -> Deed:
    tool = chance.choice(_TOOLS)
    if tool == "list":
        return Deed(tool)
    if tool == "delete":
        return Deed(tool, number=chance.randint(1, 6))
    rule = chance.choice(_RULES)
    seconds = chance.choice(_EVERY_SECONDS if rule == "every" else _SECONDS)
    prompt = chance.choice(_PROMPTS)
    return Deed(tool, rule, seconds, prompt, chance.choice(_ZONES) if rule == "local" else None)


def _make_deeds(chance: random.Random, least: int, most: int) -> tuple[Deed, ...]:
    return tuple(_make_deed(chance) for _ in range(chance.randint(least, most)))


def _make_thought(chance: random.Random) -> Think:
    return Think(
        deeds=_make_deeds(chance, 0, 2),
        begin_ms=chance.choice((0, 0, 0, SECOND_MS, MINUTE_MS)),
        turn_ms=chance.choice((0, 0, SECOND_MS, MINUTE_MS, HOUR_MS)),
        fails=chance.random() < 0.2,  # noqa: PLR2004 - now and then
    )


def _make_failure(*kinds: Failure) -> Callable[[random.Random], Step]:
    def make(chance: random.Random) -> Step:
        return Fail(chance.choice(kinds), after=chance.randint(0, 3), kept=chance.randint(0, 3))

    return make


def _make_crash(chance: random.Random) -> Step:
    kept = chance.randint(0, 4)
    kind = chance.choice((None, "any", "any", *get_args(Touch)))
    return Crash(kind, chance.randint(0, 25 if kind == "any" else 3), kept)


def _make_claim_hook(chance: random.Random) -> Step:
    if chance.random() < 0.5:  # noqa: PLR2004 - one half
        return AtClaim(delete=chance.randint(1, 4))
    return AtClaim(jump_ms=chance.choice(_JUMPS_MS))


_KINDS: Final[dict[str, Callable[[random.Random], Step]]] = {
    "go": lambda chance: Go(chance.choice(_SPANS_MS)),
    "call": lambda chance: Call(_make_deeds(chance, 1, 1)),
    "crowd": lambda chance: Call(_make_deeds(chance, 2, 5), chance.randint(0, 2)),
    "say": lambda chance: Say(chance.choice(_ZONES)),
    "think": _make_thought,
    "jump": lambda chance: Jump(chance.choice(_JUMPS_MS)),
    "suspend": lambda chance: Suspend(chance.choice(_SPANS_MS)),
    "fail-barrier": _make_failure("refuse", "break", "hang", "slow"),
    "fail-append": _make_failure("append", "read"),
    "fail-clock": _make_failure("clock"),
    "fail-reach": _make_failure("reach"),
    "at-claim": _make_claim_hook,
    "repeat-idle": lambda chance: RepeatIdle(chance.randint(1, 3)),
    "crash": _make_crash,
    "restart": lambda _: Restart(),
    "fork": lambda _: Fork(),
}
