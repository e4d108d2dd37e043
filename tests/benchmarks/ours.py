"""One piece of work for this project: `python -m tests.benchmarks.ours WORK PARAMETERS`.

What is timed stands inside `_time`; what only prepares or compares stands outside. The answer is one
JSON document: the value measured, what it came to, and the highest resident memory of the process.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final, TypeVar

import wakefold_shell.stores.rows as journal_rows
from journal_files import NOON_MS
from wakefold import (
    PUBLISHED,
    SCHEDULE_CHANGE,
    Event,
    Ledger,
    RequestZone,
    build_record,
    count_wakeups,
    decide_due,
    decode_change,
    either,
    encode_change,
    evolve,
    fold,
    format_instant,
    list_active,
    list_dispatches,
    plan_next_wake,
    read_create_request,
)
from wakefold.checkpoints import Checkpoint, begin_checkpoint, extend_checkpoint
from wakefold.events import encode_record
from wakefold.json_text import format_json
from wakefold.snapshots import Prefix, decode_checkpoint, encode_checkpoint
from wakefold.wakeups import COUNTED_TYPES
from wakefold_shell.stores.journals import fold_journal as fold_opened
from wakefold_shell.stores.journals import open_journal

from .samples import SESSION_ID, read_json_lines

_Value = TypeVar("_Value")
Measured = tuple[float, dict[str, Any]]
"""A value (ms unless the work says otherwise), and what the work came to."""

CHUNK_BYTES: Final = 1024 * 1024


def _time(work: Callable[[], _Value]) -> tuple[float, _Value]:
    """How many ms something took, and what it came to."""
    start_ns = perf_counter_ns()
    value = work()
    return (perf_counter_ns() - start_ns) / 1_000_000, value


def _digest(value: object) -> str:
    return hashlib.sha256(format_json(value).encode()).hexdigest()


def _tell(ledger: Ledger) -> dict[str, Any]:
    active = [encode_record(record) for record in list_active(ledger)]
    seen = list(ledger.seen_ids)
    digest = _digest({"active": active, "seenIds": seen})
    return {"active": len(active), "seen": len(seen), "digest": digest}


def _read_events(path: str) -> Iterator[Event]:
    for row in read_json_lines(Path(path)):
        yield Event(str(row["type"]), int(str(row["seq"])), int(str(row["time"])), row["data"])


def read_bytes(path: str) -> Measured:
    """A file's bytes, and nothing done with them."""

    def work() -> dict[str, Any]:
        chunk = memoryview(bytearray(CHUNK_BYTES))
        total = 0
        with Path(path).open("rb", buffering=0) as file:
            while length := file.readinto(chunk):
                total += length
        return {"bytes": total}

    return _time(work)


def cut_lines(path: str) -> Measured:
    """A file's lines, and nothing done with them."""

    def work() -> dict[str, Any]:
        with Path(path).open("rb", buffering=CHUNK_BYTES) as file:
            return {"lines": sum(1 for _ in file)}

    return _time(work)


def parse_lines(path: str) -> Measured:
    """A journal's lines, decoded as its reader decodes them, and only counted."""

    def work() -> dict[str, Any]:
        parsed = frozenset({SCHEDULE_CHANGE})
        with Path(path).open("rb", buffering=CHUNK_BYTES) as file:
            next(file)
            rows = (journal_rows.read_row(row, parsed) for row in file)
            return {"changes": sum(row.type == SCHEDULE_CHANGE for row in rows)}

    return _time(work)


def read_events(path: str) -> Measured:
    """A journal file, opened and read, its order checked, nothing folded."""

    def work() -> dict[str, Any]:
        with open_journal(Path(path)) as journal:
            return {"events": sum(1 for _ in journal.read_events())}

    return _time(work)


def fold_journal(path: str, **_: object) -> Measured:
    """A journal file, opened, read and folded."""

    def work() -> Ledger:
        with open_journal(Path(path)) as journal:
            return fold_opened(journal, PUBLISHED)

    ms, ledger = _time(work)
    return ms, _tell(ledger)


def fold_lines(path: str) -> Measured:
    """Changes as JSON lines in memory: split, decoded and folded."""
    content = Path(path).read_bytes()
    parsed = frozenset({SCHEDULE_CHANGE})

    def read() -> Iterator[Event]:
        for line in content.split(b"\n")[:-1]:
            event = journal_rows.read_row(line, parsed)
            assert isinstance(event, Event)
            yield event

    ms, ledger = _time(lambda: fold(read(), 0, PUBLISHED).unwrap())
    return ms, _tell(ledger)


def fold_dicts(path: str) -> Measured:
    """Changes that are decoded to dicts already, folded."""
    events = list(_read_events(path))
    ms, ledger = _time(lambda: fold(events, 0, PUBLISHED).unwrap())
    return ms, _tell(ledger)


def decode_dicts(path: str) -> Measured:
    """Dicts, decoded strictly to typed values."""
    data = [event.data for event in _read_events(path)]

    def work() -> dict[str, Any]:
        counts = {"create": 0, "delete": 0, "dispatch": 0}
        for change in [decode_change(value).unwrap() for value in data]:
            counts[str(change.__struct_config__.tag)] += 1
        return counts

    return _time(work)


def resolve_local_times(path: str, now_ms: int) -> Measured:
    """Requests with a local time and a zone: checked whole, and made records with an instant."""
    times = read_json_lines(Path(path))
    empty, zone = Ledger(), RequestZone(implied=None, session_time_zone="unavailable")

    def answer(at: object) -> str:
        request = read_create_request({"prompt": "x", "at": at})
        built = request.bind(lambda r: build_record(r, empty, now_ms, zone))
        return either(
            built,
            lambda record: format_instant(record.scheduled_at_ms),
            lambda refused: str(refused.__struct_config__.tag),
        )

    ms, found = _time(lambda: [answer(at) for at in times])
    refused = sum(not text.endswith("Z") for text in found)
    return ms, {"answers": len(found), "refused": refused, "digest": _digest(found)}


def decide(path: str, repeats: int) -> Measured:
    """µs for one decision: half of them find nothing due, half of them a one-shot."""
    ledger = fold(_read_events(path), 0, PUBLISHED).unwrap()
    decisions = [decide_due(ledger, at_ms) for at_ms in (NOON_MS, NOON_MS + 10_000_000_000)]

    def work() -> None:
        for _ in range(repeats // 2):
            decide_due(ledger, NOON_MS)
            decide_due(ledger, NOON_MS + 10_000_000_000)

    ms, _ = _time(work)
    dispatched = [encode_change(change) for d in decisions for change in list_dispatches(d.unwrap())]
    return 1000 * ms / repeats, {"dispatched": dispatched, **_tell(ledger)}


def live_on(path: str, spread: int, compared: int, steps: int, peer_steps: int) -> Measured:
    """µs for one more event folded and the next wake planned, in a session that is live."""
    del peer_steps
    events = _spread_out(list(_read_events(path)), spread)
    coming = [event for event in events[-steps * spread :] if event.type == SCHEDULE_CHANGE]
    ledger = fold(events[: -steps * spread], 0, PUBLISHED).unwrap()
    wakes_ms: list[int | None] = []

    def work() -> Ledger:
        now = ledger
        for event in coming:
            now = evolve(now, event).unwrap()
            wake = plan_next_wake(now, NOON_MS)
            wakes_ms.append(None if wake is None else wake.at_ms)
        return now

    ms, last = _time(work)
    wakes = [None if at_ms is None else format_instant(at_ms) for at_ms in wakes_ms[-compared:]]
    return 1000 * ms / steps, {**_tell(last), "wakes": wakes}


def _spread_out(changes: list[Event], spread: int) -> list[Event]:
    """Every change behind others that do not count, as in a log of a whole session."""
    other = Event("todo/write", 0, 0, {})
    return [event for change in changes for event in (*[other] * (spread - 1), change)]


def count_journal(path: str) -> Measured:
    """The guard's counters over a journal file."""

    def work() -> dict[str, Any]:
        with open_journal(Path(path)) as journal:
            wakeups = count_wakeups(journal.read_events(COUNTED_TYPES))
        return {"total": wakeups.total, "streak": wakeups.max_consecutive}

    return _time(work)


def save_checkpoint(path: str) -> Measured:
    """A checkpoint, made the bytes of its snapshot."""
    checkpoint = _make_checkpoint(path)
    ms, content = _time(lambda: encode_checkpoint(checkpoint, _PREFIX))
    return ms, {"bytes": len(content), **_tell(checkpoint.ledger)}


def load_checkpoint(path: str) -> Measured:
    """The bytes of a snapshot, checked and made a checkpoint again."""
    content = encode_checkpoint(_make_checkpoint(path), _PREFIX)
    ms, decoded = _time(
        lambda: decode_checkpoint(content, session_id=SESSION_ID, seed_length=0, profile=PUBLISHED)
    )
    return ms, _tell(decoded.unwrap().checkpoint.ledger)


_PREFIX: Final = Prefix(SESSION_ID, 0, 0, "")


def _make_checkpoint(path: str) -> Checkpoint:
    return extend_checkpoint(begin_checkpoint(0, PUBLISHED), _read_events(path)).unwrap()


def hold_active(path: str) -> Measured:
    """Bytes of resident memory for each active record of a folded log."""
    fold(_read_lazily(path, 100), 0, PUBLISHED).unwrap()  # whatever is made once is made
    gc.collect()
    before = _read_status("VmRSS")
    ledger = fold(_read_lazily(path), 0, PUBLISHED).unwrap()
    gc.collect()
    grown_kib = (_read_status("VmRSS") or 0) - (before or 0)
    return 1024 * grown_kib / len(list_active(ledger)), _tell(ledger)


def _read_lazily(path: str, count: int | None = None) -> Iterable[Event]:
    with Path(path).open("rb") as rows:
        for place, text in enumerate(rows):
            if place == count:
                return
            row = json.loads(text)
            yield Event(row["type"], row["seq"], row["time"], row["data"])


def _read_status(field: str) -> int | None:
    """A figure of this process in KiB, where the system tells it (Linux)."""
    try:
        rows = Path("/proc/self/status").read_text("ascii").splitlines()
    except OSError:
        return None
    return next(int(row.split()[1]) for row in rows if row.startswith(f"{field}:"))


WORKS: Final[dict[str, Callable[..., Measured]]] = {
    work.__name__: work
    for work in (
        count_journal,
        cut_lines,
        decide,
        decode_dicts,
        fold_dicts,
        fold_journal,
        fold_lines,
        hold_active,
        live_on,
        load_checkpoint,
        parse_lines,
        read_bytes,
        read_events,
        resolve_local_times,
        save_checkpoint,
    )
}


if __name__ == "__main__":
    name, parameters = sys.argv[1:]
    value, result = WORKS[name](**json.loads(parameters))
    answer = {"value": value, "result": result, "peak_kib": _read_status("VmHWM")}
    sys.stdout.write(json.dumps(answer))
