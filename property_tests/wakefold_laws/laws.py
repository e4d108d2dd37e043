"""Laws: sentences about wakefold that hold for all data, each a function that asserts.

This module decides what a law is, in which order the laws stand, and how one is tried. It refuses to
know what any of them says. A room is a module of laws, named for a room of the core. `check_law` tries
a law on data that its strategies draw; called itself, a law takes data of your own.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Generic, ParamSpec, TypeAlias

from msgspec import Struct

from wakefold_laws.drawing import HealthCheck, given, settings, st

#: The rooms, in the order in which their laws are listed: what stands on another comes after it.
#:
#: :shape: a tuple of names; the laws of `name` are in the module `wakefold_laws.name_laws`
#: :units: none
#: :errors: none
#: :source: ours, docs/laws.md
ROOMS: Final = (
    "event",
    "framing",
    "recurrence",
    "ledger",
    "receipt",
    "wake",
    "clock",
    "zone",
    "calendar",
    "edit",
    "conversation",
    "offer",
    "session",
    "guard",
    "checkpoint",
    "waking",
    "purity",
)

#: A strategy of Hypothesis, whatever it draws.
Strategy: TypeAlias = st.SearchStrategy[Any]
#: Strategies by the name of the case that each makes.
Strategies: TypeAlias = Mapping[str, Strategy]
_Arguments = ParamSpec("_Arguments")


class Law(Struct, Generic[_Arguments], frozen=True, dict=True):
    """One law: its name, the sentence it says, its room, the function that asserts it.

    `strategies` draw the function's arguments. Where a mapping stands for a strategy, the law is tried
    on each of the mapping's strategies in turn. `times` is how many times the profile's examples each
    of these trials takes.

    :shape: `strategies` by argument; each a strategy of Hypothesis, or a mapping of strategies by the
        name of their case
    :units: `times` is a factor of the examples
    :errors: called, it raises `AssertionError` for data that break it, and what the core raises
    :source: ours, docs/laws.md
    """

    name: str
    sentence: str
    room: str
    function: Callable[_Arguments, None]
    strategies: Mapping[str, Strategy | Strategies]
    times: float = 1

    def __post_init__(self) -> None:
        """A law is documented by its function's words, where that stands."""
        self.__dict__.update(__doc__=self.function.__doc__, __module__=self.function.__module__)

    def __repr__(self) -> str:
        """Its room and its name."""
        return f"Law({self.room}/{self.name})"

    def __call__(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> None:
        """Hold the law against these data; `AssertionError` if they break it."""
        self.function(*args, **kwargs)


def law(
    *, times: float = 1, **strategies: Strategy | Strategies
) -> Callable[[Callable[_Arguments, None]], Law[_Arguments]]:
    """Make a law of a function; `strategies` draw its arguments, each by its name.

    The docstring's first paragraph is the law's one sentence.

    :shape: a decorator: a function that asserts goes in, a `Law` of its name comes out; its room is its
        module's name without `_laws`
    :units: `times` as in `Law`
    :errors: none
    :source: ours, docs/laws.md
    """

    def give(function: Callable[_Arguments, None]) -> Law[_Arguments]:
        sentence = " ".join((function.__doc__ or "").partition("\n\n")[0].split())
        module: str | None = function.__module__  # none where code is run without a module
        room = (module or "").rpartition(".")[2].removesuffix("_laws")
        return Law(function.__name__, sentence, room, function, strategies, times)

    return give


def list_laws() -> tuple[Law[...], ...]:
    """Every law of wakefold's core, by room, in the order in which a room states them.

    :shape: a tuple of `Law`; laws of your own are not among them
    :units: none
    :errors: none
    :source: ours, docs/laws.md
    """
    return tuple(found for room in ROOMS for found in _list_room(room))


def check_law(checked: Law[...], examples: int | None = None) -> None:
    """Try a law on drawn data.

    The Hypothesis profile of the moment holds, but for its limits of time; `examples` stands in the
    place of its `max_examples`.

    :shape: a law goes in; nothing comes out where it holds
    :units: `examples`: how many data sets each of the law's cases is tried on, times the law's own
        factor, 1 at least
    :errors: what the law raises for the smallest example that breaks it, `AssertionError` as a rule,
        with a note that names the law; `RuntimeError` under `python -O`
    :source: ours, docs/laws.md
    """
    if sys.flags.optimize:
        raise RuntimeError("laws are assertions: run Python without -O.")
    usual = settings()
    count = usual.max_examples if examples is None else examples
    chosen = settings(
        usual,
        max_examples=max(1, int(count * checked.times)),
        deadline=None,  # no law speaks of time: a slow machine must not fail one
        suppress_health_check=[*usual.suppress_health_check, HealthCheck.too_slow],
    )
    for case, strategies in _list_cases(checked):
        trial = chosen(given(**strategies)(checked.function)) if strategies else checked.function
        try:
            trial()
        except Exception as error:
            error.add_note(f"law {checked.room}/{checked.name}{case}: {checked.sentence}")
            raise


def _list_room(room: str) -> Iterator[Law[...]]:
    module = importlib.import_module(f"wakefold_laws.{room}_laws")
    return (found for found in vars(module).values() if isinstance(found, Law) and found.room == room)


def _list_cases(checked: Law[...]) -> list[tuple[str, dict[str, Strategy]]]:
    """The strategies of each trial, and how to tell it from the others."""
    cases: list[tuple[str, dict[str, Strategy]]] = [("", {})]
    for argument, drawn in checked.strategies.items():
        if isinstance(drawn, Mapping):
            choices = {f"[{name}]": one for name, one in drawn.items()}
        else:
            choices = {"": drawn}
        cases = [
            (case + name, {**strategies, argument: one})
            for case, strategies in cases
            for name, one in choices.items()
        ]
    return cases
