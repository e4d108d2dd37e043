"""Progress on long reads: a bar on a terminal's standard error, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from wakefold import Event
from wakefold_shell.stores.journals import Journal

_LONG_BYTES: Final = 32 * 1024 * 1024
_EVENTS_PER_STEP: Final = 10_000


def watch(journal: Journal, events: Iterator[Event]) -> Iterator[Event]:
    """The events as they are; for a long journal and a person at a terminal, with a bar."""
    size_bytes = journal.path.stat().st_size
    if size_bytes < _LONG_BYTES or not sys.stderr.isatty():
        yield from events
        return
    from rich.console import Console  # noqa: PLC0415 - rich is slow to import
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=size_bytes)
        for count, event in enumerate(events):
            if count % _EVENTS_PER_STEP == 0:
                progress.update(task, completed=journal.offset_bytes)
            yield event
