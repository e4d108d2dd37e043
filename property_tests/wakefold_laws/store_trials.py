"""One law's trial of a store: what is done to it is told step by step, and so is how it fails.

This module decides how a broken law reads to somebody who has never seen these laws: the law's
sentence, each step, what was expected, what was found, and what to do. It knows what a session should
hold, and no law: those are in `store_laws` and `crash_laws`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NoReturn

import anyio

from wakefold import SCHEDULE_CHANGE, Event
from wakefold.events import Json
from wakefold_laws.transcripts import BACKENDS
from wakefold_shell.protocols import Store

#: Opens, for writing, the one session that lives in a directory; the directory is empty at first.
#:
#: :shape: a function: a directory goes in, a context manager of a `Store` comes out
#: :units: none
#: :errors: it raises where another writer has the session
#: :source: ours, docs/checking-stores.md
OpenStore = Callable[[Path], AbstractContextManager[Store]]

#: One law of a store.
#:
#: :shape: a function that takes an `OpenStore`; its docstring is the law's sentence
#: :units: none
#: :errors: `AssertionError` if the store breaks it, with each step, what was expected, what was found
#:     and what to do
#: :source: ours, docs/checking-stores.md
Law = Callable[[OpenStore], None]

_NOON_MS: Final = 1_799_064_000_000
ANSWER_SECONDS: Final = 30.0
"""How long a barrier is waited for."""

#: Data that storage tends to change on its way.
#:
#: :meta hide-value:
#:
#: :shape: JSON objects for an event's `data`: lone surrogates, control characters, numbers, depth,
#:     length
#: :units: none
#: :errors: none
#: :source: spec section 2; ours, docs/checking-stores.md
AWKWARD: Final[tuple[Json, ...]] = (
    {"text": "\ud83d alone, \U0001f600 whole, \u2028, \x85, \x00, \x7f, \r\n"},
    {"numbers": [300.0, 2**53 - 1, -(2**53 - 1), 0.1, 1e300]},
    {"nested": [[[{"a": [None, True, False, {}]}]]], "": "", "__proto__": 1},
    {"long": "x" * 100_000},
)

_OPEN_REMEDY: Final = (
    "let open_store(directory) be a context manager (contextlib.contextmanager makes one of a "
    "generator) that opens the session in that directory, and makes it where there is none"
)
_SHOWN_CHARACTERS: Final = 120
_SHOWN_BEFORE: Final = 30  # where two texts differ


def make_events(first: int, count: int, padding: str = "") -> list[Event]:
    """Events that follow a log of a length.

    :shape: `Event` values of type `schedule/change` whose `data` is `{number, padding}`, `number` the
        seq
    :units: `first` is a seq from 0; times in epoch milliseconds UTC, one apart
    :errors: none
    :source: ours, docs/checking-stores.md
    """
    return [
        Event(SCHEDULE_CHANGE, seq, _NOON_MS + seq, {"number": seq, "padding": padding})
        for seq in range(first, first + count)
    ]


def make_awkward_events(first: int) -> list[Event]:
    """Events that follow a log of a length, their data awkward."""
    return [Event(SCHEDULE_CHANGE, seq, _NOON_MS, data) for seq, data in enumerate(AWKWARD, first)]


class Trial:
    """A law, a store to open, and what was done so far."""

    def __init__(
        self, law: str, sentence: str, open_store: OpenStore, root: Path, backend: str
    ) -> None:
        """The law's name and sentence, the store's factory, a scratch directory, and an event loop."""
        self.law, self.sentence = law, sentence
        self.open_store = open_store
        self.root = root
        self.directory = root / "session"
        """Where the session lives, until a crash."""
        self.backend = backend
        self.steps: list[str] = []
        self.log: list[Event] = []
        """What the session was given, in order."""
        self.acknowledged = 0
        """So many of these events must be there, whatever happens."""
        self.remedy = ""
        """What to do if the next step fails."""
        self.facts = ""
        """What else a failure should tell."""
        self._numbers = count(1)

    def branch(self) -> Trial:
        """The same trial, to go on in another direction."""
        branch = Trial(self.law, self.sentence, self.open_store, self.root, self.backend)
        branch.steps, branch.log = list(self.steps), list(self.log)
        branch.acknowledged = self.acknowledged
        branch.remedy, branch.facts = self.remedy, self.facts
        branch._numbers = self._numbers
        return branch

    def name_directory(self) -> Path:
        """The path of a directory that does not exist yet."""
        return self.root / f"session-{next(self._numbers)}"

    def note(self, step: str) -> None:
        """Tell a step."""
        self.steps.append(step)

    @contextmanager
    def begin(self) -> Iterator[Life]:
        """The first life of the session, its log read."""
        self.directory.mkdir(0o700, exist_ok=True)
        remedy, self.remedy = self.remedy, _OPEN_REMEDY
        with self.open(self.directory, "an empty directory") as life:
            self.log, self.remedy = life.read(), remedy
            yield life

    @contextmanager
    def open(self, directory: Path, which: str) -> Iterator[Life]:
        """A life of the session, as long as the block lasts."""
        self.note(f"open_store({which})")
        with self.attempt("a context manager that opens the session"):
            context = self.open_store(directory)
            store = context.__enter__()
        try:
            yield Life(self, store)
        except BaseException as error:
            with suppress(Exception):  # what is wrong is known already
                context.__exit__(type(error), error, error.__traceback__)
            raise
        self.note("the store is closed")
        with self.attempt("a store that can be closed"):
            context.__exit__(None, None, None)

    @contextmanager
    def attempt(self, expected: str) -> Iterator[None]:
        """What a store raises inside the block breaks the law."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a store has errors of its own
            self.fail(expected, f"it raised {describe_error(error)}", error)

    def fail(self, expected: str, found: str, cause: Exception | None = None) -> NoReturn:
        """Say how the law was broken: an `AssertionError`."""
        where = "" if self.backend == BACKENDS[0] else f", on {self.backend}"
        lines = [
            f"this store breaks a law ({self.law}{where}): {self.sentence}",
            "done:",
            *(f"  {number}. {step}" for number, step in enumerate(self.steps, 1)),
            f"expected: {expected}",
            f"found: {found}",
            *([f"files: {self.facts}"] if self.facts else []),
            f"to do: {self.remedy}",
        ]
        raise AssertionError("\n".join(lines).replace(str(self.root), "...")) from cause

    def check(self, found: Sequence[Event], expected: Sequence[Event]) -> None:
        """Exactly these events are there."""
        if list(found) != list(expected):
            self.fail(describe_events(expected), describe_difference(found, expected))

    def check_survivors(self, found: Sequence[Event]) -> None:
        """All that was acknowledged is there, and of the rest a beginning."""
        if list(found) != self.log[: len(found)] or len(found) < self.acknowledged:
            least = describe_events(self.log[: self.acknowledged])
            more = "" if self.acknowledged == len(self.log) else ", and of those after it a beginning"
            self.fail(f"{least}{more}", describe_difference(found, self.log))


class Life:
    """A store that is open, and all that is done to it."""

    def __init__(self, trial: Trial, store: Store) -> None:
        """The trial to tell it to, and the store."""
        self.trial = trial
        self.store = store

    def read(self, start: int = 0) -> list[Event]:
        """The log from a place on."""
        self.trial.note(f"read_events({start})")
        with self.trial.attempt("the log"):
            found = list(self.store.read_events(start))
        if not all(isinstance(event, Event) for event in found):
            self.trial.fail("values of wakefold.Event", shorten(repr(found)))
        self.trial.steps[-1] += f": {describe_events(found)}"
        return found

    def check(self, start: int = 0) -> None:
        """From a place on the log is what the session was given."""
        found = self.read(start)
        self.trial.check(found, self.trial.log[start:])
        self.trial.steps.pop()

    def check_all_places(self) -> None:
        """From every place on the log is what the session was given."""
        for start in range(len(self.trial.log) + 1):
            self.check(start)

    def append(self, events: Sequence[Event]) -> None:
        """Give it a batch that follows its log."""
        trial = self.trial
        trial.note(f"append({describe_events(events)})")
        with trial.attempt("the batch is taken, since it follows the log"):
            self.store.append(events)
        trial.log += events

    async def ask(self) -> object:
        """The barrier's answer, or what it raised."""
        answer: object = TimeoutError(f"no answer within {ANSWER_SECONDS:.0f} seconds")
        with anyio.move_on_after(ANSWER_SECONDS):
            try:
                answer = await self.store.flush()
            except Exception as error:  # noqa: BLE001 - as above
                answer = error
        said = f"raised {describe_error(answer)}" if isinstance(answer, Exception) else repr(answer)
        self.trial.note(f"await flush(): {said}")
        if answer is True:
            self.trial.acknowledged = len(self.trial.log)
        return answer

    async def flush(self) -> None:
        """The barrier of a healthy store."""
        answer = await self.ask()
        if answer is not True:
            found = describe_error(answer) if isinstance(answer, Exception) else repr(answer)
            cause = answer if isinstance(answer, Exception) else None
            self.trial.fail("flush() answers True, since nothing is wrong", found, cause)


def try_on_every_backend(play: Callable[[Trial], Awaitable[None]]) -> Law:
    """A law as a plain function, which runs on each event loop that is installed."""
    sentence = " ".join((play.__doc__ or "").split())

    def law(open_store: OpenStore) -> None:
        for backend in BACKENDS:
            with TemporaryDirectory(prefix="store-law-") as root:
                trial = Trial(play.__name__, sentence, open_store, Path(root), backend)
                anyio.run(play, trial, backend=backend)

    law.__name__, law.__qualname__, law.__doc__ = play.__name__, play.__qualname__, play.__doc__
    law.__module__ = play.__module__
    return law


def describe_events(events: Sequence[Event]) -> str:
    """Events by their places."""
    seqs = [event.seq for event in events]
    if not seqs:
        return "no events"
    if len(seqs) == 1:
        return f"event {seqs[0]}"
    if seqs == list(range(seqs[0], seqs[0] + len(seqs))):
        return f"events {seqs[0]} to {seqs[-1]}"
    return f"events {', '.join(map(str, seqs))}"


def describe_difference(found: Sequence[Event], expected: Sequence[Event]) -> str:
    """What was found, with the first place at which it is not what was expected."""
    for place, (one, other) in enumerate(zip(found, expected, strict=False)):
        if one.seq != other.seq:
            return f"event {one.seq} at place {place}, where event {other.seq} belongs"
        if one != other:
            shown, wanted = repr(one), repr(other)
            pairs = enumerate(zip(shown, wanted, strict=False))
            start = max(0, next(place for place, (a, b) in pairs if a != b) - _SHOWN_BEFORE)
            return f"event {one.seq} with {shorten(shown[start:])} for {shorten(wanted[start:])}"
    return describe_events(found)


def describe_error(error: object) -> str:
    """An exception's kind and text."""
    return shorten(f"{type(error).__name__}: {error}")


def shorten(text: str) -> str:
    """Text that fits on a line or two."""
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
