"""Scenarios from seeds: what may happen to a session, and how often.

What agents and people ask for is drawn by `asking`. This module leaves everything to the chance of one
seed, and nothing to any other. It refuses to know what ought to come of it. Names in `_ms` are
milliseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final, get_args

from wakefold.events import Json
from wakefold.wakeups import DAY_MS, HOUR_MS
from wakefold_laws.simulation.asking import (
    ZONES,
    MakeDeed,
    make_any_deed,
    make_deed,
    make_deeds,
    make_edit,
    make_plan,
)
from wakefold_laws.simulation.scenarios import (
    MINUTE_MS,
    SECOND_MS,
    AtClaim,
    Call,
    Crash,
    Fail,
    Failure,
    Fork,
    Go,
    Jump,
    RepeatIdle,
    Restart,
    Say,
    Scenario,
    Setting,
    Step,
    Suspend,
    Think,
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
    "calendar": "go go go plan plan plan say muse jump suspend restart crash",
    "edits": "go go plan plan edit edit edit edit say muse pause-at-claim pause-at-claim crash",
    "editors": "go go plan plan edit edits edits edits say muse pause-at-claim jump fail-barrier fork",
}
"""What happens in each weather, by the kinds of `_KINDS`, the frequent ones named more than once.

Another kind or another weather changes what the seeds of `ANY_WEATHER` mean, and of no weather else.
"""

ANY_WEATHER: Final = "any"
"""The name of all of them together."""


def make_scenario(seed: int, weather: str = ANY_WEATHER) -> Scenario:
    """The scenario of a seed. Its steps are of one weather, or of several as they come."""
    chance = random.Random(seed)  # noqa: S311 - nothing here is secret
    plain = weather in _PLAIN_WEATHERS
    setting = _make_setting(chance, _STARTS_MS if plain else (*_STARTS_MS, *_MORE_STARTS_MS))
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
_MORE_STARTS_MS: Final = (
    1_805_006_400_000,  # 2027-03-14T06:40:00.000Z, before New York's clocks go forward
    1_825_566_000_000,  # 2027-11-07T05:40:00.000Z, before they go back
)
_PLAIN_WEATHERS: Final = ("calm", "power", "disk", "clock", "agent", "crowd", "forks")
"""Those in which nobody asks for anything of version 2."""

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


def _make_setting(chance: random.Random, starts_ms: Sequence[int]) -> Setting:
    return Setting(
        start_ms=chance.choice(starts_ms),
        limits=chance.choice(_LIMITS),
        time_zone=chance.choice(ZONES),
        supervised=chance.random() < 0.5,  # noqa: PLR2004 - one half
        batches=chance.random() < 0.5,  # noqa: PLR2004 - one half
    )


def _make_thought(chance: random.Random, make_deed: MakeDeed = make_deed) -> Think:
    return Think(
        deeds=make_deeds(chance, 0, 2, make_deed),
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
    "call": lambda chance: Call(make_deeds(chance, 1, 1)),
    "crowd": lambda chance: Call(make_deeds(chance, 2, 5), chance.randint(0, 2)),
    "plan": lambda chance: Call(make_deeds(chance, 1, 1, make_plan)),
    "edit": lambda chance: Call(make_deeds(chance, 1, 1, make_edit)),
    "edits": lambda chance: Call(make_deeds(chance, 2, 5, make_any_deed), chance.randint(0, 2)),
    "say": lambda chance: Say(chance.choice(ZONES)),
    "think": _make_thought,
    "muse": lambda chance: _make_thought(chance, make_any_deed),
    "jump": lambda chance: Jump(chance.choice(_JUMPS_MS)),
    "suspend": lambda chance: Suspend(chance.choice(_SPANS_MS)),
    "fail-barrier": _make_failure("refuse", "break", "hang", "slow"),
    "fail-append": _make_failure("append", "read"),
    "fail-clock": _make_failure("clock"),
    "fail-reach": _make_failure("reach"),
    "at-claim": _make_claim_hook,
    "pause-at-claim": lambda chance: AtClaim(pause=chance.randint(1, 4)),
    "repeat-idle": lambda chance: RepeatIdle(chance.randint(1, 3)),
    "crash": _make_crash,
    "restart": lambda _: Restart(),
    "fork": lambda _: Fork(),
}
