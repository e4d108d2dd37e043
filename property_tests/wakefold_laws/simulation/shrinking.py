"""Making a failing script small.

This module leaves out whatever a scenario can do without and still fail; it refuses to know what fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from wakefold_laws.simulation.scenarios import Scenario, Setting, Step


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
