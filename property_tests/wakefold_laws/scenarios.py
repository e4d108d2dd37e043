"""What a simulated session goes through: a script made from one seed, as plain data.

Everything that is left to chance is decided here, once, and stands in the script, so that a script
means the same however much of it is left out: that is how a failure is made small, and replayed. This
module decides what may happen in a session's life; it refuses to know what ought to come of it.

Names in `_ms` are milliseconds. A script is written as JSON Lines: the setting, then a step a line.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Final, Literal, get_args

import msgspec
from msgspec import Struct

from wakefold.events import Json

SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS


Tool = Literal["create", "delete", "list"]
Rule = Literal["after", "every", "at", "local"]


class Deed(Struct, frozen=True, omit_defaults=True):
    """One tool call. `number` is the rule's seconds, how far ahead a time lies, or an id's number.

    A `local` time is asked for in the zone given, or with none, so that the session's is implied.
    """

    tool: Tool
    rule: Rule = "after"
    number: int = 0
    prompt: str = "tea"
    zone: str | None = None


class Go(Struct, frozen=True, tag="go", tag_field="do"):
    """Time goes by."""

    for_ms: int


class Jump(Struct, frozen=True, tag="jump", tag_field="do"):
    """The wall clock is set, forward or back; every sleep goes on by the monotonic one."""

    by_ms: int


class Suspend(Struct, frozen=True, tag="suspend", tag_field="do"):
    """The machine stands still: to its programs no time has gone by, to the wall clock it has."""

    for_ms: int


class Call(Struct, frozen=True, tag="call", tag_field="do", omit_defaults=True):
    """Tools are called at the same time; `cancelled` of them are taken back at once."""

    deeds: tuple[Deed, ...]
    cancelled: int = 0


class Say(Struct, frozen=True, tag="say", tag_field="do", omit_defaults=True):
    """A person speaks."""

    zone: str | None = None


class Think(Struct, frozen=True, tag="think", tag_field="do", omit_defaults=True):
    """What the agent does in each turn from now on, and how long it takes to begin and to end one."""

    deeds: tuple[Deed, ...] = ()
    begin_ms: int = 0
    turn_ms: int = 0
    fails: bool = False


Failure = Literal["refuse", "break", "hang", "slow", "append", "read", "clock", "reach"]


class Fail(Struct, frozen=True, tag="fail", tag_field="do", omit_defaults=True):
    """Something outside fails once, after as many times as it goes well.

    `hang` is a barrier that is never answered, `slow` one that takes ten seconds, `refuse` and `break`
    are those that say no and raise; of what they were about, some may be durable all the same.
    """

    what: Failure
    after: int = 0
    kept: int = 0


class AtClaim(Struct, frozen=True, tag="at-claim", tag_field="do", omit_defaults=True):
    """While the idle phase is asked for, another writer deletes a reminder or the clock is set."""

    delete: int = 0
    jump_ms: int = 0


class RepeatIdle(Struct, frozen=True, tag="repeat-idle", tag_field="do"):
    """The host tells that the agent is idle, more often than it became so."""

    times: int


Touch = Literal[
    "hand-over",
    "any",
    "read",
    "append",
    "barrier",
    "answer",
    "clock",
    "sleep",
    "claim",
    "offer",
    "turn",
]
"""How a shell meets the world: its store, its clock, its agent.

`answer` is a barrier's end; `hand-over` comes when a message has just been put into the inbox.
"""


class Crash(Struct, frozen=True, tag="crash", tag_field="do", omit_defaults=True):
    """The power goes: now, or before a touch of a kind, the next one but `touches`.

    Of the events that were not durable, `kept` stay.
    """

    before: Touch | None = None
    touches: int = 0
    kept: int = 0


class Restart(Struct, frozen=True, tag="restart", tag_field="do"):
    """The session is shut down in good order, and opened again."""


class Fork(Struct, frozen=True, tag="fork", tag_field="do"):
    """The session is shut down, and a fork of it is opened."""


Step = Go | Jump | Suspend | Call | Say | Think | Fail | AtClaim | RepeatIdle | Crash | Restart | Fork


class Setting(Struct, frozen=True, omit_defaults=True):
    """The session itself. `limits` are the guard's fields; without, there is no guard.

    Where `supervised`, a life ends at its first warning and another one begins, as a runner's does.
    A store of whole `batches` loses all of one in a crash or none, another one cuts it anywhere.
    """

    start_ms: int
    limits: Json | None = None
    time_zone: str | None = None
    supervised: bool = False
    batches: bool = False


class Scenario(Struct, frozen=True):
    """A setting, and what happens in it, in order."""

    setting: Setting
    steps: tuple[Step, ...]


def format_scenario(scenario: Scenario) -> str:
    """A scenario as JSON Lines, in ASCII."""
    return "\n".join(map(format_line, (scenario.setting, *scenario.steps)))


def format_line(part: Setting | Step) -> str:
    """One line of a script."""
    return json.dumps(msgspec.to_builtins(part), separators=(",", ":"))


def parse_scenario(text: str) -> Scenario:
    """The scenario that `format_scenario` wrote; `msgspec.DecodeError` for any other text."""
    setting, *steps = [line.strip() for line in text.strip().split("\n")]
    return Scenario(
        msgspec.json.decode(setting, type=Setting),
        tuple(msgspec.json.decode(step, type=Step) for step in steps),
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


def shrink(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """The scenario with all left out that it can do without and still fail.

    Runs of steps are tried first, halved until single ones are; then what the setting and calls hold;
    and so on until nothing can be left out any more.
    """
    least: Scenario | None = None
    while least != scenario:
        least = scenario
        scenario = _simplify(_leave_out_steps(scenario, fails), fails)
    return scenario


def _leave_out_steps(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    steps = scenario.steps
    size = len(steps)
    while size:
        place = 0
        while place < len(steps):
            fewer = (*steps[:place], *steps[place + size :])
            if fails(Scenario(scenario.setting, fewer)):
                steps = fewer
            else:
                place += size
        size //= 2
    return Scenario(scenario.setting, steps)


def _simplify(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    tried: list[Scenario] = []
    while simpler := next((one for one in _list_simpler(scenario) if one not in tried), None):
        tried.append(simpler)
        scenario = simpler if fails(simpler) else scenario
    return scenario


def _list_simpler(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario with one thing less."""
    setting, steps = scenario.setting, scenario.steps
    for name, value in _list_plainer(setting):
        yield Scenario(msgspec.structs.replace(setting, **{name: value}), steps)
    for place, step in enumerate(steps):
        for name, value in _list_plainer(step):
            simpler = msgspec.structs.replace(step, **{name: value})
            yield Scenario(setting, (*steps[:place], simpler, *steps[place + 1 :]))


def _list_plainer(part: Setting | Step) -> Iterator[tuple[str, object]]:
    """Its fields with what could stand there instead: the default, one less, one deed less."""
    for field in msgspec.structs.fields(part):
        value = getattr(part, field.name)
        if field.name == "deeds":
            yield from ((field.name, (*value[:at], *value[at + 1 :])) for at in range(len(value)))
        elif not field.required and value != field.default:
            yield field.name, field.default
            if isinstance(value, int) and 1 < value <= _COUNT_MAX:
                yield field.name, value - 1


_COUNT_MAX: Final = 30  # what is more is no count, but a time
