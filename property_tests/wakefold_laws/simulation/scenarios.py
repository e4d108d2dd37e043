"""What a simulated session goes through: a script made from one seed, as plain data.

Everything that is left to chance is decided here, once, and stands in the script, so that a script
means the same however much of it is left out: that is how a failure is made small, and replayed. This
module decides what may happen in a session's life; it refuses to know what ought to come of it.

Names in `_ms` are milliseconds. A script is written as JSON Lines: the setting, then a step a line.
"""

from __future__ import annotations

import json
from typing import Final, Literal

import msgspec
from msgspec import Struct

from wakefold.events import Json

#: The milliseconds of a second.
SECOND_MS: Final = 1000
#: The milliseconds of a minute.
MINUTE_MS: Final = 60 * SECOND_MS


#: What an agent does with the tools.
Tool = Literal["create", "delete", "list", "update", "pause", "resume", "snooze"]
#: By which rule a reminder is created or changed; `same` leaves the rule as it is.
Rule = Literal["after", "every", "at", "local", "daily", "weekly", "cron", "same"]
#: What a reminder may have beside its rule.
Option = Literal["title", "max_runs", "until", "missed"]


class Deed(Struct, frozen=True, omit_defaults=True):
    """One tool call. `number` is the rule's seconds, how far ahead a time lies, or an id's number.

    A `local` time is asked for in the zone given, or with none, so that the session's is implied; so
    are the rules by the calendar, `text` being their time or expression, and no text the time of day
    that lies ahead. What is empty or 0 of the rest is not said. Edits are of the active reminder at
    the place `schedule`, counted round: of a paused one where it is to be resumed, else of another.
    They name no revision, the one that the log has, or a `stale` one; an update may leave the rule the
    `same`, and `dropped` are the options that it takes away.
    """

    tool: Tool
    rule: Rule = "after"
    number: int = 0
    prompt: str = "tea"
    zone: str | None = None
    text: str = ""
    weekdays: tuple[int, ...] = ()
    title: str = ""
    max_runs: int = 0
    until_seconds: int = 0
    grace_seconds: int = 0
    schedule: int = 0
    revision: Literal["right", "stale"] | None = None
    dropped: tuple[Option, ...] = ()


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


#: What fails outside.
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
    """While the idle phase is asked for, a reminder is deleted or paused, or the clock is set."""

    delete: int = 0
    jump_ms: int = 0
    pause: int = 0


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


#: One line of a script.
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
