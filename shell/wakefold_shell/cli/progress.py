"""Progress on long work: a bar on a terminal's standard error, nothing anywhere else."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from wakefold import Event
from wakefold_shell.stores.journals import Journal

_LONG_BYTES: Final = 32 * 1024 * 1024
_EVENTS_PER_STEP: Final = 10_000
_LONG_DAYS: Final = 30


def watch(journal: Journal, events: Iterator[Event]) -> Iterator[Event]:
    """The events as they are; for a long journal and a person at a terminal, with a bar."""
    size_bytes = journal.path.stat().st_size
    with _show_bar("reading", size_bytes, wanted=size_bytes >= _LONG_BYTES) as show:
        for count, event in enumerate(events):
            if count % _EVENTS_PER_STEP == 0:
                show(journal.offset_bytes)
            yield event


@contextmanager
def show_days(days: int) -> Iterator[Callable[[int], None]]:
    """Shows how many days of a forecast are over; a bar for many days and a person at a terminal."""
    with _show_bar("simulating", days, wanted=days >= _LONG_DAYS) as show:
        yield show


@contextmanager
def show_cases(cases: int) -> Iterator[Callable[[], None]]:
    """Counts the cases that are judged; a bar for a person at a terminal."""
    with _show_bar("judging", cases, wanted=True) as show:
        done = itertools.count(1)
        yield lambda: show(next(done))


@contextmanager
def show_sessions(what: str, sessions: int) -> Iterator[Callable[[int], None]]:
    """Shows how many sessions are done with; a bar for a person at a terminal."""
    with _show_bar(what, sessions, wanted=True) as show:
        yield show


@contextmanager
def _show_bar(what: str, total: int, *, wanted: bool) -> Iterator[Callable[[int], None]]:
    """What tells a bar how much is done, where one is wanted and somebody can see it."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - rich is slow to import
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
