"""The deterministic simulator: a shell lives through a scenario, and every invariant is held to it.

The real core and the real performer run in a simulated world, in virtual time: a seed makes a scenario,
a scenario alone decides what happens, and a failure is made small and replays exactly. `run_seed` and
`run_seeds` look for failures, `replay` shows one again. This module tells; `weathers` decides what may
happen, `directors` has it happen, `invariants` say what must not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wakefold_laws.simulation.directors import Director, Ending, Story
from wakefold_laws.simulation.scenarios import Scenario, format_scenario, parse_scenario
from wakefold_laws.simulation.shells import OpenShell, OwnShell
from wakefold_laws.simulation.shrinking import shrink
from wakefold_laws.simulation.timelines import Timeline, run_virtually
from wakefold_laws.simulation.violations import Violation
from wakefold_laws.simulation.weathers import ANY_WEATHER, make_scenario

__all__ = ["OpenShell", "OwnShell", "SimulationFailure", "Story", "replay", "run_seed", "run_seeds"]

_NOTES_SHOWN: Final = 25


class SimulationFailure(AssertionError):
    """A shell broke an invariant.

    :shape: the text has the seed, the shortest script and what happened last; `invariant` is the name
        of what broke, `scenario` what `replay` takes as a script
    :units: none
    :errors: is an `AssertionError`
    :source: ours, docs/simulator.md
    """

    def __init__(self, text: str, invariant: str, scenario: Scenario) -> None:
        """The whole text, the invariant's name, and the scenario to `replay`."""
        super().__init__(text)
        self.invariant, self.scenario = invariant, scenario


def run_seed(
    seed: int,
    open_shell: OpenShell = OwnShell,
    weather: str = ANY_WEATHER,
    backend: str = "asyncio",
) -> Story:
    """What the scenario of a seed comes to.

    :shape: `weather` is a key of `WEATHERS` or `any`; `backend` is `asyncio` or `trio`; a `Story` comes
        out, the same for the same arguments
    :units: none
    :errors: `SimulationFailure` if an invariant breaks; `KeyError` for a weather that there is not;
        `ImportError` where trio is not installed
    :source: ours, docs/simulator.md
    """
    name = f"seed {seed} ({weather})"
    return _tell(make_scenario(seed, weather), open_shell, backend, name)


def run_seeds(
    seeds: Iterable[int],
    open_shell: OpenShell = OwnShell,
    weather: str = ANY_WEATHER,
    backend: str = "asyncio",
) -> list[Story]:
    """What the scenarios of seeds come to, up to the first failure.

    :shape: as `run_seed`, a list of stories in the order of the seeds
    :units: none
    :errors: as `run_seed`
    :source: ours, docs/simulator.md
    """
    return [run_seed(seed, open_shell, weather, backend) for seed in seeds]


def replay(text: str, open_shell: OpenShell = OwnShell, backend: str = "asyncio") -> Story:
    """What a script comes to, as a failure shows it.

    :shape: JSON Lines: a setting, then a step a line; a `Story` comes out
    :units: as the script's keys say: `_ms` in milliseconds, `start_ms` since the epoch
    :errors: `SimulationFailure` if it fails again; `msgspec.DecodeError` for what is no script
    :source: ours, docs/simulator.md
    """
    return _tell(parse_scenario(text), open_shell, backend, "this script")


def _tell(scenario: Scenario, open_shell: OpenShell, backend: str, name: str) -> Story:
    """The story of a scenario, or its failure with the shortest script that breaks the same."""
    story, violation = _play(scenario, open_shell, backend)
    if violation is None:
        return story
    shown: tuple[Scenario, Story, Violation] = (scenario, story, violation)

    def fails(candidate: Scenario) -> bool:
        nonlocal shown
        told, found = _play(candidate, open_shell, backend)
        if found is None or found.invariant != violation.invariant:
            return False
        shown = (candidate, told, found)
        return True

    shrink(scenario, fails)
    least, told, found = shown
    lines = (
        f"{name} on {backend}: {found}",
        "",
        f"The shortest script that shows it ({len(least.steps)} of {len(scenario.steps)} steps):",
        "",
        format_scenario(least),
        "",
        "What happened last, by life and time:",
        "",
        *map(str, told.notes[-_NOTES_SHOWN:]),
    )
    raise SimulationFailure("\n".join(lines), found.invariant, least)


def _play(scenario: Scenario, open_shell: OpenShell, backend: str) -> Ending:
    async def play(timeline: Timeline) -> Ending:
        return await Director(scenario, open_shell, timeline).play()

    return run_virtually(play, backend)
