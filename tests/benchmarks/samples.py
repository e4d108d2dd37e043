"""The data that both sides are given: logs and journals drawn from a seed, kept outside the tree.

A log of changes is one that a live session could have written: reminders are made until enough are
active, and then each that ends is followed by a new one. It is sound under both profiles, so both sides
fold all of it. A file is written once and found again by its name, which holds all that it was made of.
"""

from __future__ import annotations

import heapq
import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from zstandard import ZstdCompressor

from journal_files import NOON_MS, line
from wakefold import AfterRecord, AtRecord, Create, Delete, Dispatch, EveryRecord, encode_change
from wakefold.events import SCHEDULE_CHANGE, Change, Json, Record

SEED_NUMBER: Final = 7
EDITION: Final = 1  # raised with every change of what is drawn, so that older files are not found
SESSION_ID: Final = "session-benchmark"
CHANGE_EVERY_EVENTS: Final = 20
"""One event in so many of a journal is a schedule change: 5 %."""

GATE_MS: Final = 300_000
_EVERY_SECONDS: Final = (300, 900, 1800, 3600, 86_400, 604_800)
_WORDS: Final = (
    *("the", "build", "of", "branch", "main", "fails", "in", "step", "test", "with", "status", "one"),
    *("because", "a", "file", "is", "missing", "so", "look", "at", "log", "first", "then", "ask"),
    *("whoever", "changed", "it", "日本語", "naïve", "\\", '"quoted"', "\t"),
)
_MEAN_TEXT_CHARACTERS: Final = 2600
_HEADER: Final[Json] = {
    "type": "session",
    "version": 0,
    "id": SESSION_ID,
    "createdAt": NOON_MS,
    "cwd": "/workspace",
    "delegationDepth": 0,
}


@dataclass(frozen=True)
class Store:
    """Where the files lie."""

    directory: Path

    def keep(self, name: str, write: Callable[[BinaryIO], None]) -> Path:
        """The file of that name, written now if it is not there; never half of it."""
        path = self.directory / f"edition-{EDITION}" / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            with draft.open("wb") as file:
                write(file)
            draft.rename(path)
        return path

    def keep_changes(self, active: int, count: int) -> Path:
        """A log of `count` changes with about `active` reminders active at its end, one a line."""
        return self.keep(
            f"changes-{active}-{count}.jsonl",
            lambda file: file.writelines(line(event) for event in draw_events(active, count)),
        )

    def keep_journal(self, active: int, count: int, *, compressed: bool) -> Path:
        """A session's journal of `count` events, one in twenty a change; a zstd frame for each turn.

        It lies under a root of its own as the released package's store lays it, so that this finds it.
        """
        place = (
            f"journal-{active}-{count}-{'zstd' if compressed else 'none'}/--workspace--/{SESSION_ID}"
        )
        if not compressed:
            return self.keep(f"{place}/session.jsonl", lambda file: _write_journal(file, active, count))
        plain = self.keep_journal(active, count, compressed=False)
        return self.keep(f"{place}/session.jsonl.zstd", lambda file: _compress_journal(plain, file))

    def keep_local_times(self, count: int) -> Path:
        """Dates, times of day and zones as people name them, one a line."""
        return self.keep(
            f"local-times-{count}.jsonl",
            lambda file: file.writelines(map(line, draw_local_times(count))),
        )


def draw_changes(active: int, count: int) -> Iterator[tuple[int, Change]]:
    """So many changes of one session's log with the epoch ms of each, about `active` at its end."""
    life = _Life(active)
    for number in range(count):
        yield life.now_ms, life.step(number)


class _Life:
    """What a session's reminders go through, one change after another."""

    def __init__(self, active: int) -> None:
        self.now_ms = NOON_MS
        self._active = active
        self._random = random.Random(f"{SEED_NUMBER} {active}")
        self._batch_ms = NOON_MS
        self._one_shots: list[str] = []
        self._repeating: list[tuple[int, str, int]] = []  # a heap of (target, id, seconds)

    def step(self, number: int) -> Change:
        self.now_ms += self._random.randrange(2000)
        if len(self._one_shots) + len(self._repeating) < self._active:
            return Create(schedule=self._create(f"schedule-{number + 1}"))
        if self._repeating and self._random.random() < 0.5:
            return self._dispatch()
        if self._one_shots:
            place = self._random.randrange(len(self._one_shots))
            self._one_shots[place], self._one_shots[-1] = self._one_shots[-1], self._one_shots[place]
            gone = self._one_shots.pop()
            return Delete(id=gone) if self._random.random() < 0.3 else Dispatch(id=gone)
        return Delete(id=heapq.heappop(self._repeating)[1])

    def _create(self, name: str) -> Record:
        prompt = " ".join(self._random.choices(_WORDS, k=8)).strip()
        kind = self._random.choice(("after", "at", "every"))
        if kind == "every":
            seconds = self._random.choice(_EVERY_SECONDS)
            target_ms = self.now_ms + seconds * 1000
            heapq.heappush(self._repeating, (target_ms, name, seconds))
            return EveryRecord(name, prompt, seconds, target_ms)
        self._one_shots.append(name)
        seconds = self._random.randrange(1, 10_000_000)
        target_ms = self.now_ms + seconds * 1000
        if kind == "at":
            return AtRecord(name, prompt, target_ms)
        return AfterRecord(name, prompt, seconds, target_ms)

    def _dispatch(self) -> Dispatch:
        """The reminder that is due first, in the batch of the last one where it was due then."""
        target_ms, name, seconds = self._repeating[0]
        if target_ms > self._batch_ms:
            self._batch_ms = max(self.now_ms, target_ms, self._batch_ms + GATE_MS)
            self.now_ms = self._batch_ms
        passed = (self._batch_ms - target_ms) // (seconds * 1000) + 1
        heapq.heapreplace(self._repeating, (target_ms + passed * seconds * 1000, name, seconds))
        return Dispatch(id=name, accepted_at_ms=self._batch_ms)


def draw_events(active: int, count: int) -> Iterator[Json]:
    """The stored events of a log of changes and nothing else."""
    for seq, (time_ms, change) in enumerate(draw_changes(active, count)):
        yield _event(SCHEDULE_CHANGE, seq, time_ms, encode_change(change))


def draw_local_times(count: int) -> Iterator[Json]:
    """Half of them at night on Sundays of the months in which clocks change."""
    drawn = random.Random(SEED_NUMBER)
    for _ in range(count):
        zone, day = drawn.choice(_ZONES), date(drawn.randrange(2028, 2037), drawn.randrange(1, 13), 1)
        day += timedelta(days=drawn.randrange(31))
        hour = drawn.randrange(24)
        if drawn.random() < 0.5:
            day = day.replace(month=drawn.choice((3, 10)))
            day += timedelta(days=6 - day.weekday())
            hour = drawn.randrange(4)
        clock = f"{hour:02}:{drawn.randrange(60):02}:00"
        yield {"date": day.isoformat(), "time": clock, "time_zone": zone}


_ZONES: Final = (
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Helsinki",
    "America/New_York",
    "America/Chicago",
    "America/Los_Angeles",
    "Asia/Tokyo",
    "Asia/Shanghai",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Africa/Johannesburg",
)


def _write_journal(file: BinaryIO, active: int, count: int) -> None:
    file.write(line(_HEADER))
    texts = _Texts()
    changes = draw_changes(active, -(-count // CHANGE_EVERY_EVENTS))
    for first in range(0, count, CHANGE_EVERY_EVENTS):
        time_ms, change = next(changes)
        turn = _list_turn(1 + first // CHANGE_EVERY_EVENTS, change, texts)
        rows = zip(range(first, count), turn, strict=False)
        file.writelines(line(_event(kind, seq, time_ms, data)) for seq, (kind, data) in rows)


def _list_turn(turn: int, change: Change, texts: _Texts) -> Iterator[tuple[str, Json]]:
    """Twenty events of a session: a person's word, steps with calls and answers, and one change."""
    yield "turn/start", {"turn": turn}
    word: list[Json] = [{"type": "text", "text": texts.draw(300)}]
    source = {"kind": "user"}
    yield (
        "user/message",
        {"content": word, "source": source, "role": "user", "id": f"word-{turn}"},
    )
    yield SCHEDULE_CHANGE, encode_change(change)
    for step in range(1, 5):
        at: Json = {"turn": turn, "step": step}
        content = [{"type": "text", "text": texts.draw(_MEAN_TEXT_CHARACTERS)}]
        model = {"kind": "model", "provider": "none", "model": "none"}
        message = {"role": "assistant", "content": content, "source": model, "id": f"{turn}-{step}"}
        yield "step/start", at
        yield "assistant/message", {**at, "message": message}
        yield "tool/call", {**at, "callId": f"{turn}-{step}", "args": texts.draw(_MEAN_TEXT_CHARACTERS)}
        yield "step/end", at
    yield "turn/end", {"turn": turn, "reason": {"kind": "completed"}}


def _event(kind: str, seq: int, time_ms: int, data: Json) -> Json:
    row: Json = {"type": kind, "seq": seq, "time": time_ms, "data": data}
    return {**row, "surfaceOp": "append"} if kind.endswith("/message") else row


class _Texts:
    """Text that is cut from one long draw: words enough for any line, at little cost."""

    def __init__(self) -> None:
        self._random = random.Random(SEED_NUMBER)
        self._long = " ".join(self._random.choices(_WORDS, k=200_000))

    def draw(self, mean_characters: int) -> str:
        start = self._random.randrange(len(self._long) // 2)
        return self._long[start : start + self._random.randrange(2 * mean_characters)]


def _compress_journal(plain: Path, file: BinaryIO) -> None:
    """One frame with the header, then one checksummed frame for each turn, as they are written live."""
    compressor = ZstdCompressor(write_checksum=True)
    with plain.open("rb") as rows:
        file.write(compressor.compress(rows.readline()))
        while batch := b"".join(islice(rows, CHANGE_EVERY_EVENTS)):
            file.write(compressor.compress(batch))


def read_json_lines(path: Path) -> list[Json]:
    """All values of a file that has one a line."""
    with path.open("rb") as rows:
        return [json.loads(row) for row in rows]
