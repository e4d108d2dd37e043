"""Broken journals: whatever a file holds, reading gives its events or one sentence, and soon.

Every input follows from its seed: `make_input(seed)` makes it again. A sample runs by default; the long
profile, `pytest -m long -s`, tells its figures.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import signal
import struct
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final

import pytest
import zstandard
from msgspec import Struct

from journal_files import HEADER, JOURNALS, create_at, create_every, event, line
from wakefold import PUBLISHED, Event
from wakefold_shell.errors import JournalError, ShellError
from wakefold_shell.stores.journal_store import open_store
from wakefold_shell.stores.journals import fold_journal, open_journal
from wakefold_shell.stores.lines import LINE_BYTES_MAX, ZSTD_MAGIC

pytestmark = pytest.mark.needs("zstd")

SECONDS_MAX: Final = 10
PEAK_BYTES_MAX: Final = 6 * LINE_BYTES_MAX
"""What reading may take, besides ten times the file: a few copies of the longest line."""

Chance = random.Random


def tell(figures: str) -> None:
    """The figures of a run, for whoever asked for them with `-s`."""
    print(figures)  # noqa: T201 - this is what the long profile is for


class Source(Struct, frozen=True):
    """A sound journal: its lines with their LF, and the file's parts (the lines, or the frames)."""

    name: str
    lines: list[bytes]
    parts: list[bytes]
    compressed: bool

    @property
    def content(self) -> bytes:
        return b"".join(self.parts)


class Reading(Struct, frozen=True):
    """What came of reading a file: events and perhaps a warning, or an error."""

    events: list[Event]
    warning: str | None = None
    error: str | None = None


class TooSlow(BaseException):
    """An input kept the reader busy for too long."""


def pack(lines: list[bytes], *, checksum: bool = True) -> bytes:
    """One zstd frame that holds lines."""
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(b"".join(lines))


def split_frames(content: bytes) -> list[bytes]:
    """The frames of a compressed journal."""
    frames = []
    while content:
        reader = zstandard.ZstdDecompressor().decompressobj()
        reader.decompress(content)
        rest = reader.unused_data
        frames.append(content[: len(content) - len(rest)])
        content = rest
    return frames


def split_lines(content: bytes) -> list[bytes]:
    """The lines of a plain journal, each with its LF if it has one."""
    return [row for row in re.split(rb"(?<=\n)", content) if row]


@cache
def list_sources() -> list[Source]:
    """The six real journals, and small ones, plain and compressed."""
    sources = []
    for path in sorted(JOURNALS.glob("*/*/session.jsonl*")):
        content = path.read_bytes()
        compressed = path.suffix == ".zstd"
        frames = split_frames(content) if compressed else []
        text = b"".join(zstandard.decompress(frame) for frame in frames) if compressed else content
        lines = split_lines(text)
        sources.append(Source(path.parent.name, lines, frames or lines, compressed))
    assert len(sources) == 6
    for name, lines in WRITTEN.items():
        sources.append(Source(name, lines, lines, compressed=False))
        frames = [pack(lines[:1]), *(pack(lines[n : n + 2]) for n in range(1, len(lines), 2))]
        sources.append(Source(f"{name}.zstd", lines, frames, compressed=True))
    return sources


WRITTEN: Final = {
    "lone": [line(HEADER)],
    "small": [line(HEADER), create_at(0), create_every(1, "schedule-2"), *map(event, range(2, 9))],
    "packed": [
        line(HEADER),
        line({"type": "text-chunks", "seq0": 0, "time0": 5, "data": {"texts": ["a", "b", "c"]}}),
        line({"type": "reasoning-chunks", "seq0": 3, "time0": 6, "data": {"anything": 1}}),
        create_at(7),
        line({"type": "tool-call-chunks", "seq0": 8, "time0": 7, "data": None}),
        line({"type": "text-chunks", "seq0": 11, "time0": 5, "data": {"texts": ["\ud83d"]}}),
        event(12),
    ],
    "words": [
        line(HEADER),
        *(event(n, data=text) for n, text in enumerate(("🚀", "日本語", "\ud83d", "a\u2028b\u0085\0"))),
        event(4, data={"deep": [[[[[[[[1, 2.5, 1e300, None, True]]]]]]]]}),
        event(5, "user/message", {"id": "m", "text": "x" * 5000}),
    ],
}


def pick(chance: Chance, items: list[bytes]) -> int:
    """The place of one of the items; 0 where there is none."""
    return chance.randrange(len(items)) if items else 0


def change_one(
    chance: Chance, items: list[bytes], function: Callable[[bytes], bytes], first: int = 0
) -> list[bytes]:
    """The items with one of them changed, from a place on."""
    place = chance.randrange(first, len(items)) if len(items) > first else 0
    return [function(item) if n == place else item for n, item in enumerate(items)]


def repeat(chance: Chance, items: list[bytes]) -> list[bytes]:
    place = pick(chance, items)
    return items[:place] + items[place : place + 1] * chance.randint(1, 3) + items[place:]


def drop(chance: Chance, items: list[bytes]) -> list[bytes]:
    place = pick(chance, items)
    return items[:place] + items[place + chance.randint(1, 3) :]


def swap(chance: Chance, items: list[bytes]) -> list[bytes]:
    one, other = pick(chance, items), pick(chance, items)
    changed = list(items)
    if items:
        changed[one], changed[other] = changed[other], changed[one]
    return changed


def shuffle(chance: Chance, items: list[bytes]) -> list[bytes]:
    return chance.sample(items, len(items))


def end_with_crlf(chance: Chance, items: list[bytes]) -> list[bytes]:
    whole = chance.random() < 0.5
    changed = [item.replace(b"\n", b"\r\n") for item in items]
    return changed if whole else change_one(chance, items, lambda item: item.replace(b"\n", b"\r\n"))


def recode(chance: Chance, items: list[bytes]) -> list[bytes]:
    code = chance.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7"))

    def convert(item: bytes) -> bytes:
        return item.decode("utf-8", "replace").encode(code, "replace")

    if chance.random() < 0.3:
        return [convert(b"".join(items))]
    return change_one(chance, items, convert)


NUMBERS: Final = (
    b"9007199254740991",
    b"9007199254740992",
    b"-9007199254740991",
    b"18446744073709551616",
    b"1e999",
    b"-1e999",
    b"1e-999",
    b"9" * 400,
    b"9" * 5000,
    b"0." + b"3" * 5000,
    b"-0",
    b"-1",
    b"1.0",
    b"0e0",
    b"00",
    b"+1",
    b"1.",
    b"NaN",
    b"-Infinity",
    b"true",
    b"null",
    b'"0"',
    b"[]",
)


def spoil_number(chance: Chance, items: list[bytes]) -> list[bytes]:
    number = chance.choice(NUMBERS)

    def put(item: bytes) -> bytes:
        found = list(re.finditer(rb'(?<=":)-?[0-9.]+', item))
        if not found:
            return item
        place = chance.choice(found)
        return item[: place.start()] + number + item[place.end() :]

    return change_one(chance, items, put)


def nest(chance: Chance, items: list[bytes]) -> list[bytes]:
    depth = chance.choice((50, 500, 900, chance.randint(940, 1000), 1001, 5000, 100_000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")))
    deep = opening * depth + b"1" + (closing * depth if chance.random() < 0.8 else b"")
    field = chance.choice((b"data", b"version", b"type", b"seq", b"id", b"time", b"seedLength", b"x"))

    def put(item: bytes) -> bytes:
        if chance.random() < 0.1:
            return deep + b"\n"
        pattern = b'"%s":' % field
        if pattern in item:
            return item.replace(pattern, pattern + deep + b',"y":', 1)
        return item.replace(b"{", b"{" + pattern + deep + b",", 1)

    return change_one(chance, items, put)


def spoil_header(chance: Chance, items: list[bytes]) -> list[bytes]:
    key = chance.choice(("type", "version", "id", "createdAt", "seedLength", "timeZone", "cwd", "x"))
    odd: list[object] = [None, "", "a\nb\ud83d\u2028", -1, 1, 2**53, 1.5, 1e300, True, [], {"a": [1]}]
    value = chance.choice(odd)
    changed = {**HEADER, "seedLength": 0, key: value}
    if chance.random() < 0.2:
        del changed[key]
    return [line(changed), *items[1:]]


def insert_line(chance: Chance, items: list[bytes]) -> list[bytes]:
    place = pick(chance, items)
    rows = (
        b"\n",
        b" \n",
        b"{}\n",
        b"null\n",
        b'"\n',
        b"\xff\xfe\n",
        b"\xef\xbb\xbf\n",
        bytes(chance.randint(1, 600)) + b"\n",
        line(HEADER),
        event(place - 1),
        b" " * chance.randint(1, 20_000) + b"\n",
        line({"type": "reasoning-chunks", "seq0": place - 1, "time0": 1, "data": 1}),
        line({"type": "text-chunks", "seq0": place - 1, "time0": 1, "data": {"texts": []}}),
        line({"type": "text-chunks", "seq0": place - 1, "time0": 1, "data": {"texts": [1] * 5000}}),
    )
    return [*items[:place], chance.choice(rows), *items[place:]]


def leave_a_gap(chance: Chance, items: list[bytes]) -> list[bytes]:
    far = chance.choice((10, 10_000, 10**9, 2**53 - 1))
    row = line({"type": "tool-call-chunks", "seq0": len(items) - 1, "time0": 1, "data": 1})
    return [*items, row, event(len(items) + far)]


def cut_line(chance: Chance, items: list[bytes]) -> list[bytes]:
    return change_one(chance, items, lambda item: item[: chance.randint(0, len(item))] + b"\n")


def spoil_text(chance: Chance, items: list[bytes]) -> list[bytes]:
    bad = (b'"', b"\\", b"\\ud83d", b"\\x", b"\0", b"\xc3\x28", b"\xed\xa0\x80", b"\x80", b",", b"\t")

    def put(item: bytes) -> bytes:
        place = chance.randint(0, len(item))
        return item[:place] + chance.choice(bad) + item[place:]

    return change_one(chance, items, put)


LINE_MUTATIONS: Final = (
    repeat,
    drop,
    swap,
    shuffle,
    end_with_crlf,
    recode,
    spoil_number,
    nest,
    spoil_header,
    insert_line,
    leave_a_gap,
    cut_line,
    spoil_text,
)


def cut_frame(chance: Chance, items: list[bytes]) -> list[bytes]:
    return change_one(chance, items, lambda item: item[: chance.randint(0, len(item))])


def recompress(chance: Chance, items: list[bytes]) -> list[bytes]:
    """A frame written otherwise: no checksum, another level, a window of its own, no content size."""
    compressor = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(
            compression_level=chance.choice((-5, 1, 3, 19)),
            window_log=chance.choice((10, 17, 23, 27)),
            write_checksum=chance.random() < 0.5,
            write_content_size=chance.random() < 0.5,
        )
    )

    def convert(item: bytes) -> bytes:
        try:
            text = zstandard.ZstdDecompressor().decompressobj().decompress(item)
        except zstandard.ZstdError:
            return item
        return compressor.compress(text)

    if chance.random() < 0.3:
        return list(map(convert, items))
    return change_one(chance, items, convert)


def put_bomb(chance: Chance, items: list[bytes]) -> list[bytes]:
    place = pick(chance, items)
    return [*items[:place], make_bomb(chance, 1 + chance.randrange(25)), *items[place:]]


def make_bomb(chance: Chance, megabytes: int) -> bytes:
    """A small frame of a large content."""
    row = b'{"type":"a","seq":0,"time":1,"data":"' + b"x" * (LINE_BYTES_MAX - 100) + b'"}\n'
    text = chance.choice((b"\n", b"\0", b" ", b"[", b'{"a":', b"[],", b"1,\n", event(0), row))
    return pack([text * (megabytes * 1_000_000 // len(text) + 1)], checksum=chance.random() < 0.5)


def insert_frame(chance: Chance, items: list[bytes]) -> list[bytes]:
    place = pick(chance, items)
    skippable = struct.pack("<II", 0x184D2A50 + chance.randrange(16), 7)
    frames = (
        pack([]),
        pack([b"{"]),
        ZSTD_MAGIC,
        ZSTD_MAGIC + chance.randbytes(chance.randint(1, 40)),
        ZSTD_MAGIC[: chance.randint(1, 3)],
        skippable + b"skipped",
        skippable + b"cut",
        struct.pack("<II", 0x184D2A50, 2**32 - 1),
        b"\x1f\x8b\x08\0",
        bytes(chance.randint(1, 600)),
    )
    return [*items[:place], chance.choice(frames), *items[place:]]


def damage_frame_header(chance: Chance, items: list[bytes]) -> list[bytes]:
    def put(item: bytes) -> bytes:
        place = chance.randint(0, min(len(item), 14))
        return item[:place] + chance.randbytes(1) + item[place + 1 :]

    return change_one(chance, items, put)


FRAME_MUTATIONS: Final = (
    repeat,
    drop,
    swap,
    shuffle,
    cut_frame,
    recompress,
    put_bomb,
    insert_frame,
    damage_frame_header,
)


def flip(chance: Chance, content: bytes) -> bytes:
    spoilt = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 10))):
        if spoilt:
            spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
    return bytes(spoilt)


def cut(chance: Chance, content: bytes) -> bytes:
    return content[: chance.randint(0, len(content))]


def cut_front(chance: Chance, content: bytes) -> bytes:
    return content[chance.randint(0, len(content)) :]


def cut_out(chance: Chance, content: bytes) -> bytes:
    start = chance.randint(0, len(content))
    return content[:start] + content[start + chance.choice((1, 4, 40, 512, 4096)) :]


def join(chance: Chance, content: bytes) -> bytes:
    other = chance.choice(list_sources()).content
    return content + other if chance.random() < 0.5 else other + content


def put_nuls(chance: Chance, content: bytes) -> bytes:
    start, length = chance.randint(0, len(content)), chance.choice((1, 3, 512, 4096, 300_000))
    rest = content[start:] if chance.random() < 0.3 else content[start + length :]
    if chance.random() < 0.3:
        start, rest = len(content), b""
    return content[:start] + bytes(length) + rest


def put_noise(chance: Chance, content: bytes) -> bytes:
    start, length = chance.randint(0, len(content)), chance.choice((1, 4, 64, 4096))
    return content[:start] + chance.randbytes(length) + content[start + length :]


def put_before(chance: Chance, content: bytes) -> bytes:
    start = (
        b"\xef\xbb\xbf",
        b"\n",
        b"\0",
        b" ",
        ZSTD_MAGIC,
        b"SQLite format 3\0",
        b"#!/bin/sh\n",
        b"\r",
    )
    return chance.choice(start) + content


BYTE_MUTATIONS: Final = (flip, cut, cut_front, cut_out, join, put_nuls, put_noise, put_before)


class Input(Struct, frozen=True):
    """A broken journal, and how it came about."""

    how: str
    content: bytes


def make_input(seed: int) -> Input:
    """The broken journal of a seed."""
    chance = random.Random(seed)
    source = chance.choice(list_sources())
    how = [f"seed {seed}: {source.name}"]
    lines, parts, content = source.lines, source.parts, source.content
    if chance.random() < 0.5:
        for mutate in chance.choices(LINE_MUTATIONS, k=chance.choice((1, 1, 2))):
            lines = mutate(chance, lines)
            how.append(mutate.__name__)
        parts = [pack(lines[:1]), pack(lines[1:])] if source.compressed else lines
    if source.compressed and chance.random() < 0.6:
        for mutate in chance.choices(FRAME_MUTATIONS, k=chance.choice((1, 1, 2))):
            parts = mutate(chance, parts)
            how.append(mutate.__name__)
    content = b"".join(parts)
    if len(how) == 1 or chance.random() < 0.4:
        for spoil in chance.choices(BYTE_MUTATIONS, k=chance.choice((1, 1, 2))):
            content = spoil(chance, content)
            how.append(spoil.__name__)
    return Input(", ".join(how), content)


@contextmanager
def limited_time() -> Iterator[None]:
    """A block that may take so long and no longer."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_MAX)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tell_error(error: ShellError) -> str:
    """The sentence of an error, which must be one."""
    sentence = str(error)
    assert isinstance(error, JournalError)
    assert sentence.isprintable(), sentence
    assert sentence.endswith("."), sentence
    return sentence


def read_journal(path: Path) -> Reading:
    """The events, as a reader of the file gets them."""
    try:
        with open_journal(path) as journal:
            return Reading(list(journal.read_events()), journal.warning)
    except ShellError as error:
        return Reading([], error=tell_error(error))


def read_store(path: Path) -> Reading:
    """The events, as the session's only writer gets them."""
    warnings: list[str] = []
    try:
        with open_store(path, on_warning=warnings.append) as store:
            return Reading(list(store.read_events(0)), warnings[0] if warnings else None)
    except ShellError as error:
        return Reading([], error=tell_error(error))


def fold_file(path: Path) -> int | None:
    """How far the log folds to its end, `None` if it is refused."""
    try:
        with open_journal(path) as journal:
            return fold_journal(journal, PUBLISHED).position
    except ShellError as error:
        tell_error(error)
        return None


def outline(events: list[Event]) -> list[tuple[str, int, int]]:
    """What must be the same however an event's data is parsed."""
    return [(e.type, e.seq, e.time_ms) for e in events]


def read_every_way(path: Path, content: bytes) -> Reading:
    """What the file gives by every way of reading it: the same, and it stays as it is."""
    path.write_bytes(content)
    digest = hashlib.sha256(content).digest()
    with limited_time():
        reading, stored, position = read_journal(path), read_store(path), fold_file(path)
    assert hashlib.sha256(path.read_bytes()).digest() == digest
    if reading.error is not None:
        assert stored.error is not None  # it parses more, and so refuses no less
        assert position is None
    elif stored.error is None:
        assert outline(stored.events) == outline(reading.events)
        assert stored.warning == reading.warning
    assert position in (None, len(reading.events))
    assert [e.seq for e in reading.events] == list(range(len(reading.events)))
    return reading


def measure_peak(path: Path) -> int:
    """The most memory that reading a file to its end takes, the events not kept."""
    tracemalloc.start()
    try:
        with open_journal(path) as journal:
            for _ in journal.read_events():
                pass
    except ShellError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


def count_events(lines: list[bytes]) -> int:
    """How many events whole lines hold, by the last of them."""
    if len(lines) < 2:
        return 0
    last = json.loads(lines[-1])
    if last["type"] == "text-chunks":
        return int(last["seq0"] + len(last["data"]["texts"]))
    return int(last.get("seq", last.get("seq0")) + 1)


def list_whole(source: Source, length: int) -> list[bytes]:
    """The lines whose LF, or whose frame's end, lies within the first bytes of the file."""
    lines: list[bytes] = []
    end = 0
    for part in source.parts:
        end += len(part)
        if end > length:
            break
        lines += split_lines(zstandard.decompress(part)) if source.compressed else [part]
    return [row for row in lines if row.endswith(b"\n")]


def run_seeds(first: int, count: int, check: Callable[[random.Random], str]) -> Counter[str]:
    """Check so many seeds; one that fails is named in the error."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            seen[check(random.Random(seed))] += 1
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    return seen


@pytest.mark.parametrize("count", [2000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_broken_journal_gives_its_events_or_one_sentence(tmp_path: Path, count: int) -> None:
    """Never another exception, a hang, a changed file or much more memory than the file has bytes."""
    seen: Counter[str] = Counter()
    path = tmp_path / "session.jsonl"
    for seed in range(count):
        made = make_input(seed)
        try:
            reading = read_every_way(path, made.content)
            if seed % 25 == 0:
                assert measure_peak(path) <= 10 * len(made.content) + PEAK_BYTES_MAX
        except BaseException as error:
            error.add_note(made.how)
            raise
        seen["refused" if reading.error else "torn" if reading.warning else "read"] += 1
    assert len(seen) == 3
    tell(f"{count} broken journals: {dict(seen)}")


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.long)])
def test_a_cut_file_gives_all_that_was_whole_before_the_cut(tmp_path: Path, count: int) -> None:
    """The events are the first of the whole file's, and none that was durable is missing."""
    path = tmp_path / "session.jsonl"
    whole = [read_every_way(path, source.content).events for source in list_sources()]

    def check(chance: random.Random) -> str:
        place = chance.randrange(len(whole))
        source = list_sources()[place]
        length = chance.randint(0, len(source.content))
        lines = list_whole(source, length)
        reading = read_every_way(path, source.content[:length])
        assert (reading.error is None) == bool(lines), source.name
        assert reading.events == whole[place][: count_events(lines)], source.name
        return "read" if lines else "refused"

    tell(f"{count} cuts: {dict(run_seeds(0, count, check))}")


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.long)])
def test_one_wrong_bit_never_shortens_the_history(tmp_path: Path, count: int) -> None:
    """It is refused, or at most the last write is left out; what has checksums is never read wrong."""
    path = tmp_path / "session.jsonl"
    whole = [read_every_way(path, source.content).events for source in list_sources()]

    def check(chance: random.Random) -> str:
        place = chance.randrange(len(whole))
        source, events = list_sources()[place], whole[place]
        spoilt = bytearray(source.content)
        spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
        reading = read_every_way(path, bytes(spoilt))
        if reading.error is not None:
            return "refused"
        last = len(source.parts[-1])
        lines = list_whole(source, len(source.content) - last)
        if not source.compressed:
            lines = list_whole(source, len(source.content))[:-1]
        assert len(reading.events) in {len(events), count_events(lines)}, source.name
        if source.compressed:
            assert reading.events == events[: len(reading.events)], source.name
        return "read" if len(reading.events) == len(events) else "without the last"

    tell(f"{count} wrong bits: {dict(run_seeds(0, count, check))}")


@pytest.mark.parametrize("place", [1, 9, 20])
def test_damage_to_the_lengths_of_a_frame_does_not_swallow_the_frames_after_it(
    tmp_path: Path, place: int
) -> None:
    """A frame that seems to reach past the end of the file is no torn tail while others follow it."""
    frames = next(source.parts for source in list_sources() if source.name == "every-cold")
    before, after = b"".join(frames[:place]), b"".join(frames[place + 1 :])
    path = tmp_path / "session.jsonl"
    for byte in range(16):
        for bit in range(8):
            frame = bytearray(frames[place])
            frame[byte] ^= 1 << bit
            reading = read_every_way(path, before + frame + after)
            assert reading.error is not None or len(reading.events) == 131


def test_zeros_from_anywhere_in_the_last_frame_on_are_a_torn_tail(tmp_path: Path) -> None:
    """A power loss may leave the file's full length, with zeros where the last write should be."""
    before = pack([line(HEADER)]) + pack([event(0)])
    frame = pack([create_at(1), event(2)])
    path = tmp_path / "session.jsonl"
    for length in range(0, len(frame), 2):
        for end in (len(frame), len(frame) + 5000):
            reading = read_every_way(path, before + frame[:length] + bytes(end - length))
            assert (len(reading.events), reading.error) == (1, None)
            assert f"(byte {len(before)})" in str(reading.warning)


@pytest.mark.parametrize("text", [b"\n", b"\0", b"[", b"[],", b"1,\n", event(0)])
@pytest.mark.parametrize("lead", [[], [pack([line(HEADER)])]])
def test_a_frame_that_holds_far_more_than_the_file_takes_no_memory(
    tmp_path: Path, text: bytes, lead: list[bytes]
) -> None:
    """A few kilobytes that stand for 60 MB are refused in bounded memory, whatever they hold."""
    content = b"".join(lead) + pack([text * (60_000_000 // len(text))])
    assert len(content) < 100_000
    path = tmp_path / "session.jsonl"
    assert read_every_way(path, content).error is not None
    assert measure_peak(path) <= PEAK_BYTES_MAX


def test_a_large_frame_of_good_lines_is_read_whole_and_in_parts(tmp_path: Path) -> None:
    """A batch has no longest length, and its memory is that of its lines."""
    rows = [event(seq, data="x" * 10_000) for seq in range(8000)]
    path = tmp_path / "session.jsonl"
    path.write_bytes(pack([line(HEADER)]) + pack(rows) + pack([event(8000)]))
    assert measure_peak(path) <= PEAK_BYTES_MAX
    with open_journal(path) as journal:
        assert sum(1 for _ in journal.read_events()) == 8001


@pytest.mark.parametrize("compressed", [False, True])
def test_a_long_journal_is_read_in_the_memory_of_its_lines(tmp_path: Path, compressed: bool) -> None:
    """Events are read one by one, however many there are."""
    rows = [event(seq, data="words " * 20) for seq in range(40_000)]
    path = tmp_path / "session.jsonl"
    frames = (pack(rows[n : n + 40]) for n in range(0, len(rows), 40))
    path.write_bytes(b"".join([pack([line(HEADER)]), *frames] if compressed else [line(HEADER), *rows]))
    assert measure_peak(path) <= LINE_BYTES_MAX


def test_a_packed_row_stands_for_no_more_events_than_it_has_bytes(tmp_path: Path) -> None:
    """A wrong number in the row after it is an error, not nine quadrillion events."""
    row = line({"type": "reasoning-chunks", "seq0": 0, "time0": 1, "data": 1})
    path = tmp_path / "session.jsonl"
    reading = read_every_way(path, line(HEADER) + row + event(len(row) - 1))
    assert len(reading.events) == len(row)
    for far in (len(row), 2**31, 2**53 - 1):
        reading = read_every_way(path, line(HEADER) + row + event(far))
        assert f":3 (byte {len(line(HEADER) + row)}): seq {far} stands where" in str(reading.error)


@pytest.mark.parametrize("number", [2**53, -(2**53), 2**63, 2**64, 10**400])
@pytest.mark.parametrize("field", ["seq", "time"])
def test_a_number_that_is_no_safe_integer_is_refused(tmp_path: Path, field: str, number: int) -> None:
    """However it is spelt: ECMAScript would round it."""
    row = line({"type": "a", "seq": 0, "time": 0, "data": 1, field: number})
    path = tmp_path / "session.jsonl"
    assert "no safe integer" in str(read_every_way(path, line(HEADER) + row).error)
