"""The laws of a shell: it keeps every invariant, whatever goes wrong around it.

`check_shell(open_shell)` holds them all to a shell of whatever make; each law is a function of its own,
one for each of the `weathers`. `open_shell(home)` begins one life of a session in a home: with its
store, its clock, its agent and its limits (`simulation.shells.Shell` says what a life must offer).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from wakefold_laws.simulation.shells import OpenShell
from wakefold_laws.simulation.weathers import ANY_WEATHER
from wakefold_laws.simulator import run_seeds
from wakefold_laws.transcripts import BACKENDS

SEEDS: Final = range(25)
"""The seeds that each law tries on each backend."""


def check_shell(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """Hold every law below to a shell, on every backend that is installed.

    :shape: `open_shell` begins one life in a `Home` and gives a `Shell`
    :units: seeds are integers; twenty-five from 0 by default
    :errors: `SimulationFailure` for the first law that is broken
    :source: ours, docs/simulator.md
    """
    tried = list(seeds)
    for law in SHELL_LAWS:
        law(open_shell, tried)


def check_calm_weather(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant while tools are called, people speak and turns take their time."""
    _hold(open_shell, seeds, "calm")


def check_power_cuts(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant when the power goes at any touch of the world, and comes back."""
    _hold(open_shell, seeds, "power")


def check_bad_disk(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant when barriers are refused, slow or unanswered, and writes fail."""
    _hold(open_shell, seeds, "disk")


def check_set_clock(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant when the clock is set either way and the machine is suspended."""
    _hold(open_shell, seeds, "clock")


def check_eager_agent(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant with an agent that plans, dawdles, fails or cannot be reached."""
    _hold(open_shell, seeds, "agent")


def check_crowd(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant when tools are called at the same time, and some taken back."""
    _hold(open_shell, seeds, "crowd")


def check_forks(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant in forks: what was inherited is none of their own."""
    _hold(open_shell, seeds, "forks")


def check_calendar(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant when reminders go by the calendar, end, skip, and clocks change."""
    _hold(open_shell, seeds, "calendar")


def check_edits(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant when reminders are changed, paused, resumed and snoozed."""
    _hold(open_shell, seeds, "edits")


def check_editors(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant when several edit at the same time, and the disk is bad."""
    _hold(open_shell, seeds, "editors")


def check_any_weather(open_shell: OpenShell, seeds: Iterable[int] = SEEDS) -> None:
    """A shell keeps every invariant in weather that changes."""
    _hold(open_shell, seeds, ANY_WEATHER)


SHELL_LAWS: Final[tuple[Callable[..., None], ...]] = (
    check_calm_weather,
    check_power_cuts,
    check_bad_disk,
    check_set_clock,
    check_eager_agent,
    check_crowd,
    check_forks,
    check_calendar,
    check_edits,
    check_editors,
    check_any_weather,
)
"""All laws of a shell, each to be called with what opens one."""


def _hold(open_shell: OpenShell, seeds: Iterable[int], weather: str) -> None:
    tried = list(seeds)
    for backend in BACKENDS:
        run_seeds(tried, open_shell, weather, backend)
