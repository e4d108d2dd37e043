"""The rows of the table: what each side does, what is equal on both, and which targets are set.

A row names a piece of work of `ours.py` and, where the released package has an equal one, of
`peer.mjs`; both are given the same parameters. What they come to is compared each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from command import EXECUTABLE
from journal_files import NOON_MS

from .measures import (
    Target,
    faster_than_peer,
    memory_within,
    times_other,
    value_beyond,
    value_within,
)
from .samples import CHANGE_EVERY_EVENTS, SESSION_ID, Store

Parameters = Mapping[str, object]
Unit = Literal["ms", "µs", "B"]
NO_PEER: Final = "no peer"


@dataclass(frozen=True)
class Work:
    """A row whose work is done by a worker process on each side; `peer` names the package's, if any."""

    name: str
    equal: str
    ours: str
    peer: str | None
    prepare: Callable[[Store], Parameters]
    unit: Unit = "ms"
    needs_zstd: bool = False


@dataclass(frozen=True)
class Start:
    """A row that starts a command and waits for its end; `peer` are Node's arguments, if any."""

    name: str
    equal: str
    ours: tuple[str, ...]
    peer: tuple[str, ...] | None
    unit: Unit = "ms"


Row = Work | Start


@dataclass(frozen=True)
class Size:
    """How much of everything there is."""

    journal_events: int
    journal_active: int
    changes: int
    active: int
    actives: tuple[int, ...]
    lengths_events: tuple[int, ...]
    checkpoint_active: int
    local_times: int
    repeats: int
    steps: int
    peer_steps: int


SIZES: Final[dict[str, Size]] = {
    "full": Size(
        journal_events=1_000_000,
        journal_active=1000,
        changes=200_000,
        active=1000,
        actives=(100, 1000, 10_000, 100_000),
        lengths_events=(30_000, 100_000, 300_000, 1_000_000),
        checkpoint_active=10_000,
        local_times=4000,
        repeats=100,
        steps=200,
        peer_steps=3,
    ),
    "small": Size(
        journal_events=4000,
        journal_active=50,
        changes=2000,
        active=50,
        actives=(10, 100, 1000),
        lengths_events=(2000, 4000),
        checkpoint_active=100,
        local_times=100,
        repeats=10,
        steps=20,
        peer_steps=3,
    ),
}


def list_rows(size: Size) -> list[Row]:
    """All rows of a size, in the order of the table."""
    return [
        *_list_journal_rows(size),
        *_list_change_rows(size),
        *(_make_decision_row(size, active) for active in size.actives),
        *(_make_active_row(size, active) for active in size.actives),
        *(_make_length_row(size, events) for events in size.lengths_events),
        *_list_checkpoint_rows(size),
        *_list_memory_rows(size),
        *_list_start_rows(),
    ]


def _list_journal_rows(size: Size) -> list[Row]:
    def prepare(store: Store, *, compressed: bool = False) -> Parameters:
        return {"path": str(_keep_journal(store, size, compressed=compressed))}

    def prepare_root(store: Store, *, compressed: bool = False) -> Parameters:
        path = _keep_journal(store, size, compressed=compressed)
        encoding = "zstd" if compressed else "none"
        return {
            "path": str(path),
            "root": str(path.parents[2]),
            "id": SESSION_ID,
            "compression": encoding,
        }

    folded = "the same file, and the same active records and ids seen, compared by digest"
    own = f"{folded}; on the peer's side its own store reads it (readFrom) and its own fold folds it"
    return [
        Work(
            "journal: bytes alone",
            "the same file, read in chunks of 1 MiB and thrown away: what no reader can beat",
            "read_bytes",
            "read_bytes",
            prepare,
        ),
        Work(
            "journal: lines alone",
            "the same file, cut into lines (strings there), thrown away; the same number of lines",
            "cut_lines",
            "cut_lines",
            prepare,
        ),
        Work(
            "journal: lines decoded",
            "the same lines, the same number of changes found; ours decodes the envelope of each line "
            "and the data of changes, the peer's side is JSON.parse: what a fold stands on",
            "parse_lines",
            "parse_lines",
            prepare,
        ),
        Work("journal: events read, not folded", NO_PEER, "read_events", None, prepare),
        Work(
            "journal: read and fold",
            f"{folded}; the peer's side reads chunks, cuts lines, does JSON.parse on each, keeps the "
            "changes alone, and gives them to the package's fold: the leanest way there",
            "fold_journal",
            "fold_journal",
            prepare,
        ),
        Work("journal: the package's own reader", own, "fold_journal", "open_journal", prepare_root),
        Work(
            "journal, zstd: the package's own reader",
            f"{own}; one frame for each turn",
            "fold_journal",
            "open_journal",
            partial(prepare_root, compressed=True),
            needs_zstd=True,
        ),
        Work("journal: guard counters", NO_PEER, "count_journal", None, prepare),
    ]


def _keep_journal(store: Store, size: Size, *, compressed: bool) -> Path:
    return store.keep_journal(size.journal_active, size.journal_events, compressed=compressed)


def _list_change_rows(size: Size) -> list[Row]:
    def prepare(store: Store) -> Parameters:
        return {"path": str(store.keep_changes(size.active, size.changes))}

    folded = "the same active records and ids seen, compared by digest"
    return [
        Work(
            "changes: JSON lines",
            f"the same bytes in memory, cut, decoded and folded; {folded}",
            "fold_lines",
            "fold_lines",
            prepare,
        ),
        Work(
            "changes: dicts",
            f"changes already decoded to dicts (objects there), checked and folded; {folded}",
            "fold_dicts",
            "fold_dicts",
            prepare,
        ),
        Work(
            "changes: typed values",
            "the same dicts, each decoded strictly to a typed value (decode_change, "
            "decodeScheduleChange), nothing folded; the same number of each operation",
            "decode_dicts",
            "decode_dicts",
            prepare,
        ),
        Work(
            "local times",
            "the same dates, times of day and zones as requests, half of them on nights when clocks "
            "may change; the same instant for each, or the same code",
            "resolve_local_times",
            "resolve_local_times",
            lambda store: {"path": str(store.keep_local_times(size.local_times)), "now_ms": NOON_MS},
        ),
    ]


def _make_decision_row(size: Size, active: int) -> Row:
    def prepare(store: Store) -> Parameters:
        return {"path": str(store.keep_changes(active, active)), "repeats": size.repeats}

    return Work(f"decision: {active:,} active", NO_PEER, "decide", None, prepare, "µs")


_LIVE: Final = (
    "one more change is folded and the earliest target found; the peer's side folds the log anew, "
    "its one way, and looks through what is active; the same targets, the same records at the end"
)


def name_active_row(active: int) -> str:
    """What the row of so many active reminders is called."""
    return f"one more event: {active:,} active"


def name_length_row(events: int) -> str:
    """What the row of a log of so many events is called."""
    return f"one more event: {events:,} events before"


def _make_active_row(size: Size, active: int) -> Row:
    changes = max(size.changes, active + size.steps)

    def prepare(store: Store) -> Parameters:
        return {"path": str(store.keep_changes(active, changes)), "spread": 1, **_list_steps(size)}

    equal = f"a log of {changes:,} changes; {_LIVE}"
    return Work(name_active_row(active), equal, "live_on", "live_on", prepare, "µs")


def _make_length_row(size: Size, events: int) -> Row:
    changes = events // CHANGE_EVERY_EVENTS

    def prepare(store: Store) -> Parameters:
        path = store.keep_changes(size.active, changes)
        return {"path": str(path), "spread": CHANGE_EVERY_EVENTS, **_list_steps(size)}

    equal = f"a log of {events:,} events, 5 % of them changes, about {size.active:,} active; {_LIVE}"
    return Work(name_length_row(events), equal, "live_on", "live_on", prepare, "µs")


def _list_steps(size: Size) -> Parameters:
    return {"compared": size.peer_steps, "steps": size.steps, "peer_steps": size.peer_steps}


def _list_checkpoint_rows(size: Size) -> list[Row]:
    active = size.checkpoint_active

    def prepare(store: Store) -> Parameters:
        return {"path": str(store.keep_changes(active, active))}

    names = (("save", "save_checkpoint"), ("load", "load_checkpoint"))
    return [
        Work(f"checkpoint: {name} {active:,} active", NO_PEER, work, None, prepare)
        for name, work in names
    ]


def _list_memory_rows(size: Size) -> list[Row]:
    active = size.actives[-1]
    equal = (
        "the same log, folded, and everything else let go; the same records. Ours is what the resident "
        "memory has grown by, the peer's what the live heap has, which is the lesser measure"
    )

    def prepare(store: Store) -> Parameters:
        return {"path": str(store.keep_changes(active, active))}

    return [Work("memory: an active record", equal, "hold_active", "hold_active", prepare, "B")]


def _list_start_rows() -> list[Row]:
    schedule = "import '@deepseek-ai/dsh-schedule'"
    return [
        Start(
            "start: the language alone",
            "an interpreter that does nothing (python -c pass, node -e '')",
            (sys.executable, "-c", "pass"),
            ("-e", ""),
        ),
        Start(
            "start: import the core",
            "an interpreter that imports the package (wakefold, @deepseek-ai/dsh-schedule) and ends",
            (sys.executable, "-c", "import wakefold"),
            ("--input-type=module", "-e", schedule),
        ),
        Start("start: wakefold --help", NO_PEER, (EXECUTABLE, "--help"), None),
    ]


TARGETS: Final[tuple[Target, ...]] = (
    faster_than_peer("journal: read and fold", "journal: read and fold", 3.5),
    memory_within("journal: read and fold, peak memory", "journal: read and fold", 64),
    faster_than_peer("changes as JSON lines", "changes: JSON lines", 3.5),
    faster_than_peer("changes as dicts", "changes: dicts", 2.5),
    faster_than_peer("local times", "local times", 20),
    value_within("one more event, 1,000 active", "µs", name_active_row(1000), 15),
    times_other(
        "one more event, 100,000 active against 1,000",
        name_active_row(100_000),
        name_active_row(1000),
        4,
    ),
    value_within("a checkpoint of 10,000 active, saved", "ms", "checkpoint: save 10,000 active", 2),
    value_within("a checkpoint of 10,000 active, loaded", "ms", "checkpoint: load 10,000 active", 8),
    value_beyond(
        "wakefold --help beyond python -c pass",
        "ms",
        "start: wakefold --help",
        "start: the language alone",
        150,
    ),
    value_beyond(
        "import wakefold beyond python -c pass",
        "ms",
        "start: import the core",
        "start: the language alone",
        60,
    ),
    times_other(
        "wakefold --help against python -c pass",
        "start: wakefold --help",
        "start: the language alone",
        6,
    ),
)
"""What is asked of a run at full size."""
