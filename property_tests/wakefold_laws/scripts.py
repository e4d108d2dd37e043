"""The scripts of the recorded transcripts, played in a virtual world on whatever shell drives it.

A script yields wherever the shell is to be let run until nothing moves; the shell must have been
started before the first of these points is over. What comes out is what the shell did, step by step,
in the transcripts' own words.
"""

from __future__ import annotations

from collections.abc import Generator

from wakefold_laws.virtual_world import Json, VirtualWorld

#: A script that is being played; it ends with what was seen.
Play = Generator[None, None, list[Json]]


def play_owner(world: VirtualWorld, case: Json) -> Play:
    """What happens at the start and in each step of an `owner` case."""
    yield from world.quiesce()
    seen = [world.take()]
    for op in case["script"]:
        yield from world.run_op(op)
        seen.append(world.take())
    return seen


def play_tools(world: VirtualWorld, case: Json) -> Play:
    """The value, appends, barriers and recomputes of each call of a `tools` case."""
    yield
    world.observer_throws = case.get("observer") == "throw"
    seen = []
    for step in case["steps"]:
        seen.append((yield from _play_call(world, step)))  # noqa: PERF401 - a comprehension cannot yield
    return seen


def _play_call(world: VirtualWorld, step: Json) -> Generator[None, None, Json]:
    outcomes = {True: "ok", False: "false", "throw": "throw"}
    world.plans["flush"] = [outcomes[outcome] for outcome in step.get("flush", [])]
    world.plans["append"] = [step["append"]] if "append" in step else []
    world.samples = list(step["now"]) if isinstance(step["now"], list) else [step["now"]]
    world.clock_broken = step.get("clock") == "throw"
    world.recomputes = 0
    before = len(world.events)
    world.driver.start_call("", step["call"]["tool"], step["call"]["arguments"])
    if step.get("cancelled") == "before":
        world.driver.cancel_call("")
    yield
    flushes = 0
    while world.outstanding is not None:
        flushes += 1
        if step.get("cancelled") == f"flush{flushes}":
            world.driver.cancel_call("")
        world.complete_flush(world.outstanding)
        yield
    results = world.take()["results"]
    return {
        "value": results[0]["value"] if results else None,
        "appended": [{"type": e.type, "data": e.data} for e in world.events[before:]],
        "flushes": flushes,
        "notifications": world.recomputes,
    }
