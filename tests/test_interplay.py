"""Sessions written here are read by the released JavaScript package, and the other way round.

The package is installed from npm, once a test session and outside the repository, and one Node process
answers all questions (`tests/interplay/peer.mjs`). A sample of the generated logs runs by default; the
thousands come from the long profile, `pytest -m long -s`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from returns.result import Result

from command import wakefold, wakefold_json
from journal_files import HEADER, JOURNALS, change, create_at, create_every, event, line
from released_package import install_package
from wakefold import (
    PUBLISHED,
    SCHEDULE_CHANGE,
    SEED,
    AtRecord,
    CorruptScheduleLog,
    Create,
    Event,
    Ledger,
    Profile,
    either,
    encode_change,
    evolve,
    fold,
    format_instant,
    list_active,
)
from wakefold.events import encode_record
from wakefold.json_text import parse_json
from wakefold_laws.log_model import BROKEN_RULES, SHAPE_FAULTS, BrokenLog, Log
from wakefold_laws.strategies import broken_logs, changes, json_values, logs
from wakefold_shell.errors import JournalError
from wakefold_shell.stores.journal_store import open_store
from wakefold_shell.stores.journals import fold_journal, open_journal
from web_services import SECRET, serving, status

pytestmark = pytest.mark.needs("node")

CORRUPT = {"refused": "corrupt_schedule_log"}
HOUR_MS = 3_600_000
ENCODINGS = {"journal": "none", "zstd": "zstd"}  # our name of a store, the package's of an encoding
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

State = dict[str, Any]
"""What a log comes to, as both sides can say it: `active` records in create order and `seenIds`."""


def tell(figures: str) -> None:
    """The figures of a run, for whoever asked for them with `-s`."""
    print(figures)  # noqa: T201 - this is what the long profile is for


# The Node process.


class RefusalError(Exception):
    """What the package refused, by its code or the error's name."""

    def __init__(self, refused: str, message: str) -> None:
        super().__init__(f"{refused}: {message}")
        self.refused = refused


class Peer:
    """The one Node process. It answers a request at a time."""

    def __init__(self, process: subprocess.Popen[bytes], errors: Path) -> None:
        self._process, self._errors = process, errors

    def ask(self, what: str, **fields: object) -> Any:  # noqa: ANN401 - parsed JSON
        return self.send(spell({"ask": what, **fields}))

    def send(self, request: str) -> Any:  # noqa: ANN401 - parsed JSON
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watch = Timer(60, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(f"{request}\n".encode("ascii"))
            self._process.stdin.flush()
            row = self._process.stdout.readline()
        finally:
            watch.cancel()
        assert row.endswith(b"\n"), f"Node has gone: {self._errors.read_text()[-2000:]}"
        answer = json.loads(row)
        if "refused" in answer:
            raise RefusalError(**answer)
        return answer["answer"]


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """The released package in a Node process, which ends with the test session."""
    directory = tmp_path_factory.mktemp("interplay")
    if reason := install_package(directory):
        pytest.fail(reason, pytrace=False)
    errors = directory / "errors.txt"
    command = [shutil.which("node") or "node", str(directory / "peer.mjs"), sys.executable]
    with (
        errors.open("wb") as log,
        subprocess.Popen(
            command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        try:
            asked = Peer(process, errors)
            tell(f"the released package runs on {asked.ask('greet')}")
            yield asked
        finally:
            process.kill()


# Both sides, in the same words.


def spell(value: object) -> str:
    """JSON text in ASCII; an infinite number as it would stand in a log, whose value is infinite."""
    return json.dumps(value).replace("Infinity", "1e400")


def tell_state(folded: Result[Ledger, CorruptScheduleLog]) -> State:
    return either(folded, tell_ledger, lambda _: CORRUPT)


def tell_ledger(ledger: Ledger) -> State:
    active = [encode_record(record) for record in list_active(ledger)]
    return {"active": active, "seenIds": list(ledger.seen_ids)}


def fold_here(text: str, seed_length: int, profile: Profile = PUBLISHED) -> list[State]:
    """The state after every event of the own part, the one before the first of them included."""
    rows: Any = parse_json(text)
    events = [Event(row["type"], row["seq"], row["time"], row.get("data")) for row in rows]
    folded = fold(events[:seed_length], seed_length, profile)
    states = [tell_state(folded)]
    for found in events[seed_length:]:
        folded = folded.bind(lambda ledger, found=found: evolve(ledger, found))  # type: ignore[misc]
        states.append(tell_state(folded))
    return states


def fold_there(peer: Peer, text: str, seed_length: int) -> list[State]:
    states: list[State] = peer.send(f'{{"ask":"foldEach","seedLength":{seed_length},"events":{text}}}')
    return states


# Generated logs.

Drawn = tuple[Sequence[Event], int]

_MORE_VALUES: tuple[object, ...] = (
    *(1.0, -0.0, 300.0, 1e21, 2**53 - 1, 9_007_199_254_740, False, {}),
    *("x\u180e", "\x85x", "x\u200b", "x\u1680", "\x1cx", "__proto__", "schedule-1", "dispatch", "at"),
    *("+010000-01-01T00:00:00.000Z", "-000001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"),
    *("1900-02-29T00:00:00.000Z", "2028-02-29T00:00:00.000Z", "2027-02-01T24:00:00.000Z"),
    *("2027-02-01T00:00:00.00Z", "2027-00-01T00:00:00.000Z", "\uff12027-01-01T00:00:00.000Z"),
)
_ODD_VALUES = st.sampled_from(
    [*_MORE_VALUES, *(value for fault in SHAPE_FAULTS for value in fault.values if value is not UNSET)]
)
_KEYS = st.sampled_from(("version", "operation", "id", "schedule", "kind", "prompt", "__proto__")) | (
    st.sampled_from(("afterSeconds", "everySeconds", "scheduledAt", "acceptedAt"))
)
_ANY_DATA = changes().map(encode_change) | json_values()


def list_paths(value: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of every value inside parsed objects, the whole not included."""
    if not isinstance(value, dict):
        return []
    return [found for key in value for found in [(*path, key), *list_paths(value[key], (*path, key))]]


@st.composite
def spoilt_data(draw: st.DrawFn, data: object) -> object:
    """A change of which one value was replaced, taken away, renamed, or joined by another."""
    spoilt = json.loads(json.dumps(data))
    path = draw(st.sampled_from(list_paths(spoilt)))
    holder = spoilt
    for key in path[:-1]:
        holder = holder[key]
    deed = draw(st.sampled_from(["replace", "replace", "add", "take", "rename"]))
    value = holder.pop(path[-1]) if deed in {"take", "rename"} else draw(_ODD_VALUES)
    if deed != "take":
        holder[path[-1] if deed == "replace" else draw(_KEYS)] = value
    return spoilt


@st.composite
def spoilt_logs(draw: st.DrawFn) -> Drawn:
    """Valid logs after mishaps: an event lost, moved, doubled, altered, or one of any kind more."""
    events = list(draw(logs(PUBLISHED)).events)
    for _ in range(draw(st.integers(1, 3)) if events else 0):
        place = draw(st.integers(0, len(events) - 1))
        found = events[place]
        deed = draw(st.sampled_from(["lose", "move", "double", "alter", "alter", "alter", "insert"]))
        if deed == "alter" and found.type == SCHEDULE_CHANGE and list_paths(found.data):
            events[place] = Event(found.type, 0, 0, draw(spoilt_data(found.data)))
        elif deed == "insert":
            events.insert(place, Event(SCHEDULE_CHANGE, 0, 0, draw(_ANY_DATA)))
        elif deed == "double":
            events.insert(draw(st.integers(0, len(events))), found)
        elif len(events) > 1:
            del events[place]
            if deed == "move":
                events.insert(draw(st.integers(0, len(events))), found)
    return events, draw(st.integers(0, len(events)))


def take_apart(log: Log | BrokenLog) -> Drawn:
    return log.events, log.seed_length


RULES = [rule for rule in BROKEN_RULES if rule != "batches_too_close"]
ANY_LOG: st.SearchStrategy[Drawn] = st.one_of(
    logs(PUBLISHED).map(take_apart),
    logs(SEED).map(take_apart),
    st.sampled_from(RULES).flatmap(lambda rule: broken_logs(PUBLISHED, rule)).map(take_apart),
    broken_logs(SEED, "batches_too_close").map(take_apart),
    spoilt_logs(),
    spoilt_logs(),
)


@pytest.mark.parametrize("count", [400, pytest.param(8_000, marks=pytest.mark.long)])
def test_generated_logs_fold_alike_on_both_sides_event_by_event(peer: Peer, count: int) -> None:
    """Valid, broken and spoilt logs are taken or refused alike, with one state after each event."""
    compared = {"logs": 0, "states": 0, "refused": 0}

    @settings(
        max_examples=count,
        derandomize=count < 1000,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn=ANY_LOG)
    def compare(drawn: Drawn) -> None:
        events, seed_length = drawn
        text = spell(
            [
                {"type": found.type, "seq": seq, "time": found.time_ms, "data": found.data}
                for seq, found in enumerate(events)
            ]
        )
        here, there = fold_here(text, seed_length), fold_there(peer, text, seed_length)
        compared["logs"] += 1
        compared["states"] += len(here)
        compared["refused"] += here[-1] == CORRUPT
        assert here == there

    compare()
    tell(f"compared with the released package: {compared}")
    assert count * 0.2 < compared["refused"] < count * 0.8


CREATED = create_every(0, "schedule-1").decode().rstrip()


@pytest.mark.parametrize(
    "row",
    [
        CREATED.replace("300", "3e2"),
        CREATED.replace("300", "300.00000000000000001"),
        CREATED.replace("300", "1e400"),
        CREATED.replace("300", "9" * 5000),
        CREATED.replace("300", "9007199254740993"),
        CREATED.replace('"version":1', '"version":1.0'),
        CREATED.replace('"prompt":', '"prompt":7,"prompt":'),
        CREATED.replace('"prompt":"repeat ', '"prompt":"\\ud83d'),
        CREATED.replace('"prompt":"repeat ', '"prompt":"\\ud83d\\ude00'),
        CREATED.replace('"prompt":"repeat ', '"prompt":"\\u0000'),
        CREATED.replace('"prompt":', '"__proto__":'),
        CREATED.replace('"schedule-1"', '"__proto__"'),
        CREATED.replace("schedule/change", "schedule\\u002fchange"),
        CREATED.replace('"data":', '"date":'),
    ],
)
def test_texts_that_parsers_read_differently_come_to_the_same(peer: Peer, row: str) -> None:
    """Odd numbers, doubled keys, lone surrogates and prototype names are no difference."""
    assert fold_here(f"[{row}]", 0) == fold_there(peer, f"[{row}]", 0)


@pytest.mark.parametrize("seed_length", ["-1", "-0", "0.0", "0.5", "1", "2", "1e400", "null", '"0"'])
def test_seed_lengths_are_judged_alike(peer: Peer, seed_length: str) -> None:
    """Only a whole number from 0 to the log's length cuts a log."""
    there = peer.send(f'{{"ask":"foldWhole","seedLength":{seed_length},"events":[{CREATED}]}}')
    row: Any = parse_json(CREATED)
    length: Any = parse_json(seed_length)
    here = fold([Event(row["type"], row["seq"], row["time"], row["data"])], length, PUBLISHED)
    assert tell_state(here) == there


def dispatch(seq: int, schedule_id: str, accepted_at: str) -> bytes:
    return change(seq, operation="dispatch", id=schedule_id, acceptedAt=accepted_at)


SEED_ONLY = {
    "batches less than 300 s apart are refused": (
        dispatch(2, "schedule-1", "2027-01-04T12:00:00.000Z"),
        dispatch(3, "schedule-2", "2027-01-04T12:00:00.149Z"),
    ),
    "a batch earlier than the last one is refused": (
        dispatch(2, "schedule-1", "2027-01-04T12:10:00.000Z"),
        dispatch(3, "schedule-2", "2027-01-04T12:00:00.000Z"),
    ),
    "a last batch within 300 s of the year 9999's end ends all that repeats": (
        dispatch(2, "schedule-1", "9999-12-31T23:56:00.000Z"),
    ),
}


@pytest.mark.parametrize("rows", SEED_ONLY.values(), ids=SEED_ONLY)
def test_what_the_seed_asks_beyond_the_released_package(peer: Peer, rows: tuple[bytes, ...]) -> None:
    """Each rule of the shared gate is one that SEED has; PUBLISHED and the package have it not."""
    log = (create_every(0, "schedule-1"), create_every(1, "schedule-2"), *rows)
    text = spell([json.loads(row) for row in log])
    there = fold_there(peer, text, 0)
    assert CORRUPT not in there
    assert fold_here(text, 0, PUBLISHED) == there
    assert fold_here(text, 0, SEED)[:-1] == there[:-1]
    assert fold_here(text, 0, SEED)[-1] != there[-1]


# Journals.


def read_frames(path: Path) -> list[bytes]:
    """A journal's parts as they were written: the frames of a compressed one, or the whole."""
    content = path.read_bytes()
    if not content.startswith(ZSTD_MAGIC):
        return [content]
    frames = []
    while content:
        frame = zstandard.ZstdDecompressor().decompressobj()
        frames.append(frame.decompress(content))
        assert frame.eof
        content = frame.unused_data
    return frames


def read_rows(path: Path) -> list[dict[str, Any]]:
    """A journal's lines, the header's included, as any JSON reader sees them."""
    return [json.loads(row) for row in b"".join(read_frames(path)).split(b"\n")[:-1]]


def place_journal(peer: Peer, root: Path, frames: Sequence[bytes], encoding: str) -> Path:
    """A journal put where the package looks for a session with such a header."""
    header = json.loads(frames[0].split(b"\n")[0])
    place = Path(peer.ask("locate", root=str(root), compression=encoding, header=header))
    place.parent.mkdir(parents=True)
    compress = zstandard.ZstdCompressor(write_checksum=True).compress
    place.write_bytes(b"".join(map(compress, frames) if encoding == "zstd" else frames))
    return place


def open_there(peer: Peer, journal: Path, way: str = "inspect", **more: object) -> dict[str, Any]:
    """The session as the package reads it: `inspect`, with what a resumed one begins with."""
    encoding = "zstd" if journal.suffix == ".zstd" else "none"
    root, session_id = str(journal.parents[2]), read_rows(journal)[0]["id"]
    found: dict[str, Any] = peer.ask(
        "read", root=root, compression=encoding, id=session_id, way=way, **more
    )
    return found


def open_here(journal: Path) -> tuple[list[Event], State]:
    with open_journal(journal) as opened:
        events = list(opened.read_events())
    with open_journal(journal) as opened:
        return events, tell_ledger(fold_journal(opened, PUBLISHED))


def list_changes(events: Sequence[Event] | Sequence[dict[str, Any]]) -> list[tuple[int, int, object]]:
    """Where and when each change of a log stands, and what it holds."""
    rows = [
        (e.type, e.seq, e.time_ms, e.data)
        if isinstance(e, Event)
        else (e["type"], e["seq"], e["time"], e["data"])
        for e in events
    ]
    return [(seq, time_ms, data) for kind, seq, time_ms, data in rows if kind == SCHEDULE_CHANGE]


def assert_alike(peer: Peer, journal: Path, there: dict[str, Any]) -> None:
    """Both sides see the same events in the same places, and the same state after each of them."""
    events, state = open_here(journal)
    assert state == there["state"]
    assert list_changes(events) == list_changes(there["events"])
    assert [found.seq for found in events] == [found["seq"] for found in there["events"]]
    text, seed_length = spell(there["events"]), there["header"].get("seedLength", 0)
    assert fold_here(text, seed_length) == fold_there(peer, text, seed_length)


@pytest.mark.parametrize(
    "name", sorted(f"{found.parent.name}/{found.name}" for found in JOURNALS.glob("*/*"))
)
@pytest.mark.parametrize("way", ["readFrom", "inspect"])
def test_real_journals_are_read_alike(peer: Peer, tmp_path: Path, name: str, way: str) -> None:
    """Journals that the package's own products wrote are the same sessions on both sides."""
    (source,) = (JOURNALS / name).iterdir()
    encoding = "zstd" if source.suffix == ".zstd" else "none"
    journal = place_journal(peer, tmp_path, read_frames(source), encoding)
    assert_alike(peer, journal, open_there(peer, journal, way))


def live_here(directory: Path, store: str) -> Path:
    """The journal of a session with all that is written here: tools, a delivery, its answer, a word."""
    now_ms = time.time_ns() // 1_000_000
    later = format_instant(now_ms + 2 * HOUR_MS)
    session = ("--session", directory)
    zone = ("--session-zone", "Europe/Berlin")
    wakefold_json(
        "create", *session, "stand up 🚀 日本語\u2028x", "--after", "60", "--store", store, *zone
    )
    wakefold_json("create", *session, "every half an hour", "--every", "1800")
    wakefold_json("create", *session, "never", "--after", "90")
    wakefold_json("delete", *session, "schedule-3")
    with open_store(directory) as opened:  # no argument of a command can hold half a character
        place = len(list(opened.read_events(0)))
        half = Create(AtRecord("schedule-4", "cut \ud83d", now_ms + HOUR_MS))
        opened.append([Event(SCHEDULE_CHANGE, place, now_ms, encode_change(half))])
    wakefold_json("create", *session, "in ten years", "--after", "315360000")
    run = wakefold(
        "run", *session, "--once", "--now", later, "--no-guard", "--deliver", "exec", "--", "cat"
    )
    assert run.returncode == 0, run.stderr
    said = wakefold("say", *session, "good morning", "--zone", "Europe/Berlin")
    assert said.returncode == 0, said.stderr
    (journal,) = directory.glob("session.jsonl*")
    return journal


@dataclass(frozen=True)
class Demand:
    """Something that the released package demands of a journal, and that ours has.

    `strip` takes it from a row, `words` stand in the refusal of a journal that lacks only this.
    """

    strip: Callable[[dict[str, Any]], dict[str, Any]]
    words: str


def strip_depth(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "delegationDepth"}


def strip_surface(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "surfaceOp"}


def strip_model(row: dict[str, Any]) -> dict[str, Any]:
    if row["type"] != "assistant/message":
        return row
    message = {**row["data"]["message"], "source": {"kind": "model"}}
    return {**row, "data": {**row["data"], "message": message}}


def add_reason(row: dict[str, Any]) -> dict[str, Any]:
    if row["type"] != "turn/end":
        return row
    return {**row, "data": {**row["data"], "reason": {"kind": "completed", "exitStatus": 0}}}


def add_duration(row: dict[str, Any]) -> dict[str, Any]:
    if row["type"] != "turn/end":
        return row
    return {**row, "data": {**row["data"], "durationMs": 7}}


DEMANDS = {
    "a header tells how deep the session was delegated": Demand(strip_depth, "not a session header"),
    "each message tells how it joins the history": Demand(strip_surface, "surfaceOp"),
    "an answer tells which model gave it": Demand(strip_model, "model source"),
    "a completed turn's reason has its kind and nothing else": Demand(
        add_reason, "malformed .* turn/end"
    ),
    "a turn's end tells no duration, which its step's end may": Demand(
        add_duration, "malformed .* turn/end"
    ),
}


def change_rows(
    frames: Sequence[bytes], change: Callable[[dict[str, Any]], dict[str, Any]]
) -> list[bytes]:
    return [
        b"".join(line(change(json.loads(row))) for row in frame.split(b"\n")[:-1]) for frame in frames
    ]


@pytest.mark.parametrize("store", ENCODINGS)
def test_a_session_written_here_is_taken_up_there(peer: Peer, tmp_path: Path, store: str) -> None:
    """The package opens it whole, in the same state; without any one thing that it demands, not."""
    source, encoding = live_here(tmp_path / "ours", store), ENCODINGS[store]
    frames = read_frames(source)
    journal = place_journal(peer, tmp_path / "whole", frames, encoding)
    there = open_there(peer, journal)
    assert there["events"] == read_rows(journal)[1:]
    assert [record["id"] for record in there["state"]["active"]] == ["schedule-2", "schedule-5"]
    assert_alike(peer, journal, there)
    assert open_here(journal)[1] == open_here(source)[1]
    for name, demand in DEMANDS.items():
        lacking = place_journal(peer, tmp_path / name, change_rows(frames, demand.strip), encoding)
        with pytest.raises(RefusalError, match=demand.words):
            open_there(peer, lacking)
        assert open_here(lacking)[1] == there["state"]


def test_a_message_that_is_offered_again_is_taken_up_there(peer: Peer, tmp_path: Path) -> None:
    """It goes back into the inbox while its turn is open, and is the same message twice."""
    session = tmp_path / "ours"
    wakefold_json(
        "create", "--session", session, "tea", "--after", "60", "--now", "2027-01-04T12:00:00Z"
    )
    secret = {"WAKEFOLD_WEBHOOK_SECRET": SECRET}
    with serving(status(503), status(200, b"I shall tell them.")) as service:
        for now in ("2027-01-04T12:01:00Z", "2027-01-04T12:01:10Z"):
            at = ("--session", session, "--once", "--now", now)
            wakefold("run", *at, "--deliver", "http", service.url, **secret)
    journal = place_journal(peer, tmp_path / "there", read_frames(session / "session.jsonl"), "none")
    there = open_there(peer, journal)
    assert there["events"] == read_rows(journal)[1:]
    assert [e["type"] for e in there["events"]].count("agent/inbox/spliced") == 4
    assert_alike(peer, journal, there)


def speak(turn: int, word: str) -> list[dict[str, Any]]:
    """The steps of a turn there, streamed: the deltas of the answer make a packed row."""
    at = {"turn": turn, "step": 1}
    message = {"role": "user", "content": [{"type": "text", "text": word}], "id": f"word-{turn}"}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "a\ud83db"}]}
    model = {"kind": "model", "provider": "none", "model": "none"}
    chunks: list[dict[str, Any]] = [
        {"type": "block-start", "index": 0, "blockType": "text"},
        *({"type": "text-delta", "index": 0, "text": text} for text in ("a", "\ud83d", "b")),
    ]
    streamed: list[list[object]] = [["assistant/chunk", {**at, "chunk": chunk}] for chunk in chunks]
    events: list[list[object]] = [
        ["turn/start", {"turn": turn}],
        ["step/start", at],
        ["user/message", {**message, "source": {"kind": "user"}}, {"surfaceOp": "append"}],
        *streamed,
        [
            "assistant/message",
            {**at, "message": {**answer, "source": model, "id": f"answer-{turn}"}},
            {"surfaceOp": "append"},
        ],
        ["step/end", at],
        ["turn/end", {"turn": turn, "reason": {"kind": "completed"}}],
    ]
    return [{"append": given} for given in events]


def create_there(kind: str, prompt: str, value: object, now_ms: int) -> dict[str, Any]:
    return {"create": {"kind": kind, "prompt": prompt, "value": value, "now": now_ms}}


def append_there(operation: str, schedule_id: str, **more: object) -> dict[str, Any]:
    data = {"version": 1, "operation": operation, "id": schedule_id, **more}
    return {"append": [SCHEDULE_CHANGE, data]}


@pytest.mark.parametrize("encoding", ["none", "zstd"])
def test_a_session_goes_there_and_back_and_there_again(
    peer: Peer, tmp_path: Path, encoding: str
) -> None:
    """Each side appends to what the other wrote, and both come to the same state every time."""
    now_ms = time.time_ns() // 1_000_000
    where = {"root": str(tmp_path), "compression": encoding, "id": "session-both"}
    first = [
        create_there("after", "cut \ud83d", 60, now_ms),
        *speak(1, "good morning"),
        create_there("at", "noon 🚀", format_instant(now_ms + HOUR_MS), now_ms),
        create_there("every", "again", 300, now_ms - HOUR_MS),
        append_there("dispatch", "schedule-1"),
        append_there("dispatch", "schedule-3", acceptedAt=format_instant(now_ms)),
        append_there("delete", "schedule-2"),
    ]
    written = peer.ask("write", **where, meta={"cwd": "/workspace"}, steps=first)
    assert written["durable"] is True
    (journal,) = tmp_path.glob("*/session-both/session.jsonl*")
    assert "text-chunks" in {row["type"] for row in read_rows(journal)}
    assert_alike(peer, journal, written)

    session = ("--session", journal.parent)
    made = wakefold_json("create", *session, "made here", "--every", "1800")
    assert made["id"] == "schedule-4"
    wakefold_json("create", *session, "made here, too", "--after", "3600")
    wakefold_json("delete", *session, "schedule-5")
    assert_alike(peer, journal, open_there(peer, journal))

    second = [
        create_there("after", "made there", 60, now_ms),
        # Two batches 149 ms apart, as only the package's own rules allow.
        append_there("dispatch", "schedule-3", acceptedAt=format_instant(now_ms + HOUR_MS)),
        append_there("dispatch", "schedule-4", acceptedAt=format_instant(now_ms + HOUR_MS + 149)),
        *speak(2, "good night"),
    ]
    resumed = peer.ask("resume", **where, steps=second)
    assert resumed["durable"] is True
    assert resumed["state"]["seenIds"] == [f"schedule-{n}" for n in range(1, 7)]
    assert [record["id"] for record in resumed["state"]["active"]] == [
        "schedule-3",
        "schedule-4",
        "schedule-6",
    ]
    assert_alike(peer, journal, resumed)
    assert_alike(peer, journal, open_there(peer, journal))


@pytest.mark.parametrize("encoding", ["none", "zstd"])
def test_a_fork_made_there_begins_anew_here(peer: Peer, tmp_path: Path, encoding: str) -> None:
    """A fork's inherited events are its history on both sides, and none of its reminders."""
    fork = {"id": "session-fork", "steps": [create_there("after", "own", 60, 1_799_064_000_000)]}
    written = peer.ask(
        "write",
        root=str(tmp_path),
        compression=encoding,
        id="session-parent",
        meta={"cwd": "/workspace"},
        steps=[create_there("every", "parent's", 300, 1_799_064_000_000), *speak(1, "fork")],
        fork=fork,
    )["fork"]
    (journal,) = tmp_path.glob("*/session-fork/session.jsonl*")
    assert written["header"]["seedLength"] == 11
    assert written["state"]["seenIds"] == ["schedule-1"]
    assert written["state"]["active"][0]["prompt"] == "own"
    assert_alike(peer, journal, written)


# Where the two readers differ, and why.


@dataclass(frozen=True)
class Difference:
    """A journal that the readers take differently: how many events each sees, or that it refuses."""

    rows: tuple[bytes, ...]
    here: int | str
    there: int | str
    header: dict[str, Any] | None = None


BAD = b'{"type":\n'
OPEN_TURN = event(1, "turn/start", {"turn": 1})
CHUNKS = {"type": "text-chunks", "seq0": 0, "time0": 5, "data": {"texts": ["a", "b", "c"]}}
DEEP = b'{"type":"todo/write","seq":1,"time":1,"data":' + b"[" * 1200 + b"]" * 1200 + b"}\n"
REFUSED = "refused"
UNSUPPORTED = "SessionFormatUnsupportedError"
CORRUPTED = "SessionPersistenceCorruptionError"
ERROR = "Error"

DIFFERENCES = {
    # Here a line that is complete was acknowledged, and a shorter history is never made of it.
    "a bad line after the last turn: a torn tail there": Difference((create_at(0), BAD), REFUSED, 1),
    "good lines behind it are cut off with it there": Difference(
        (create_at(0), BAD, create_at(1, "schedule-2")), REFUSED, 1
    ),
    "a gap in seq is a torn tail there": Difference((create_at(0), event(2)), REFUSED, 1),
    "a line of NUL bytes is one there": Difference((create_at(0), bytes(64) + b"\n"), REFUSED, 1),
    "an empty line is one there": Difference((create_at(0), b"\n", event(1)), REFUSED, 1),
    # A prompt is given back as it was written, or not at all.
    "bytes that are no UTF-8 become U+FFFD there": Difference(
        (create_at(0).replace(b'"x"', b'"\xff"'),), REFUSED, 1
    ),
    # The standard parser's depth is the price of having no parser of our own.
    "a line may nest as deeply as it likes there": Difference((create_at(0), DEEP), REFUSED, 2),
    # Only the schedule stream is ours to judge; the rest is skipped, whatever it holds.
    "a type that nobody knows is refused there": Difference((create_at(0), event(1)), 2, UNSUPPORTED),
    "an event without data is refused there": Difference(
        (create_at(0), b'{"type":"todo/write","seq":1,"time":1}\n'), 2, CORRUPTED
    ),
    "a packed row is judged whole there": Difference((line(CHUNKS), create_at(3)), 4, 0),
    # What a header says of the session's place and origin is nothing to a fold.
    "null as seed length is refused there": Difference(
        (create_at(0),), 1, CORRUPTED, {"seedLength": None}
    ),
    "a journal must lie where its header says there": Difference(
        (create_at(0),), 1, ERROR, {"cwd": "/elsewhere"}
    ),
    # Here a turn is closed by whoever writes next, and not by who reads.
    "an open turn is closed in the reading there": Difference((create_at(0), OPEN_TURN), 2, 3),
}


@pytest.mark.parametrize("difference", DIFFERENCES.values(), ids=DIFFERENCES)
def test_where_the_readers_differ(peer: Peer, tmp_path: Path, difference: Difference) -> None:
    """Each difference of the table is exactly so; both are sure of what they take."""
    plain = {**HEADER, "cwd": "/workspace", "delegationDepth": 0}
    journal = place_journal(peer, tmp_path, [line(plain)], "none")
    header = line({**plain, **(difference.header or {})})
    journal.write_bytes(header + b"".join(difference.rows))
    there: int | str
    try:
        there = peer.ask(
            "read",
            root=str(tmp_path),
            compression="none",
            id=HEADER["id"],
            way="inspect",
            brief=True,
        )["count"]
    except RefusalError as refusal:
        there = refusal.refused
    here: int | str
    try:
        here = len(open_here(journal)[0])
    except JournalError:
        here = REFUSED
    assert (here, there) == (difference.here, difference.there)
