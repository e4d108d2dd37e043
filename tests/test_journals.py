"""Reading journals: everything complete, or one error with its place."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from journal_files import (
    HEADER,
    JOURNALS,
    change,
    create_at,
    event,
    line,
    write_session,
)
from wakefold import PUBLISHED, SEED, AtRecord, Event, Ledger, list_active
from wakefold_shell.errors import JournalError, ShellError
from wakefold_shell.stores import lines
from wakefold_shell.stores.journals import Journal, fold_journal, open_journal


def read_all(path: Path) -> tuple[list[Event], Journal]:
    with open_journal(path) as journal:
        return list(journal.read_events()), journal


def refusal(path: Path) -> JournalError:
    with pytest.raises(JournalError) as caught:
        read_all(path)
    return caught.value


def fold_at(path: Path) -> Ledger:
    with open_journal(path) as journal:
        return fold_journal(journal, SEED)


@pytest.mark.parametrize(
    ("name", "events", "active"),
    [
        ("published/tools-and-fire", 177, ["schedule-2", "schedule-4"]),
        ("published/fork", 239, []),
        ("published/every-live", 150, ["schedule-1", "schedule-2", "schedule-3"]),
        ("published/every-cold", 131, ["schedule-1", "schedule-2"]),
        ("published/torn-tail", 65, ["schedule-2"]),
        ("seed/gate", 176, ["schedule-1", "schedule-2", "schedule-4"]),
    ],
)
def test_every_real_journal_is_read_whole(name: str, events: int, active: list[str]) -> None:
    """Each journal of the released builds folds under PUBLISHED to what happened in it."""
    with open_journal(JOURNALS / name) as journal:
        ledger = fold_journal(journal, PUBLISHED)
    assert ledger.position == events
    assert [record.id for record in list_active(ledger)] == active
    assert journal.next_seq == events


def test_every_live_is_refused_under_seed_with_its_line_and_rule() -> None:
    """Batches 149 ms apart break the seed's gate, and the error says where."""
    with pytest.raises(JournalError) as caught:
        fold_at(JOURNALS / "published/every-live")
    assert caught.value.line == 69
    assert "batches_too_close" in str(caught.value)
    assert "--profile published" in str(caught.value)


def test_gate_folds_under_seed() -> None:
    """The journal of the seed revision keeps the seed's rules."""
    assert fold_at(JOURNALS / "seed/gate").last_accepted_at_ms == 1_796_035_507_539


def test_fork_shows_only_its_own_records() -> None:
    """A fork's fold begins after the events that it inherited."""
    ledger = fold_at(JOURNALS / "published/fork")
    assert ledger.seed_length == 177
    assert list(ledger.seen_ids) == ["schedule-1"]


def test_torn_tail_warns_with_its_offset_and_loses_nothing_complete() -> None:
    """What follows the last LF is named and left out; all before it counts."""
    events, journal = read_all(JOURNALS / "published/torn-tail")
    content = (JOURNALS / "published/torn-tail/session.jsonl").read_bytes()
    assert len(events) == 65
    assert journal.sound_bytes == content.rindex(b"\n") + 1
    assert journal.warning is not None
    assert f"(byte {journal.sound_bytes})" in journal.warning


def test_compressed_and_plain_journals_read_alike(tmp_path: Path) -> None:
    """The same lines give the same events, whether compressed frame by frame or not."""
    source = JOURNALS / "published/tools-and-fire/session.jsonl"
    rows = source.read_bytes().splitlines(keepends=True)
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    frames = [rows[0], b"".join(rows[1:9]), b"".join(rows[9:])]
    packed = tmp_path / "session.jsonl.zstd"
    packed.write_bytes(b"".join(compressor.compress(frame) for frame in frames))
    assert read_all(packed)[0] == read_all(source)[0]


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5, 20, 100, 180])
def test_a_cut_frame_is_a_torn_tail_at_its_offset(tmp_path: Path, cut: int) -> None:
    """The last frame of a compressed journal counts whole or not at all."""
    content = (JOURNALS / "published/every-cold/session.jsonl.zstd").read_bytes()
    whole, _ = read_all(JOURNALS / "published/every-cold")
    extra = zstandard.ZstdCompressor(write_checksum=True).compress(event(131) * 9)
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(content + extra[: min(cut, len(extra) - 1)])
    events, journal = read_all(path)
    assert events == whole
    assert journal.sound_bytes == len(content)
    assert f"(byte {len(content)})" in str(journal.warning)


def test_zeros_after_the_last_frame_are_a_torn_tail(tmp_path: Path) -> None:
    """A run of NUL bytes that a power loss left behind a compressed journal is no frame."""
    content = (JOURNALS / "published/every-cold/session.jsonl.zstd").read_bytes()
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(content + bytes(300_000))
    events, journal = read_all(path)
    assert len(events) == 131
    assert journal.sound_bytes == len(content)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda c: c[:5000] + bytes([c[5000] ^ 1]) + c[5001:], "no sound zstd frame"),
        (lambda c: c + b"junk!", "no sound zstd frame"),
        (lambda c: c + bytes(9) + b"junk!", "no sound zstd frame"),
        (lambda c: c[:60], "no whole header line"),
        (
            lambda c: c + zstandard.ZstdCompressor(write_checksum=True).compress(b'{"type"'),
            "ends inside a line",
        ),
    ],
)
def test_a_spoilt_compressed_journal_is_refused(
    tmp_path: Path, spoil: Callable[[bytes], bytes], words: str
) -> None:
    """Damage anywhere but in a torn last frame is an error with the frame's offset."""
    content = (JOURNALS / "published/every-cold/session.jsonl.zstd").read_bytes()
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(spoil(content))
    error = refusal(path)
    assert words in str(error)
    assert error.offset_bytes is not None


def test_a_frame_larger_than_a_chunk_is_read(tmp_path: Path) -> None:
    """Frames are put together however many reads they take."""
    noise = os.urandom(400_000).hex()
    path = tmp_path / "session.jsonl.zstd"
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    batch = event(0, data=noise) + event(1)
    path.write_bytes(compressor.compress(line(HEADER)) + compressor.compress(batch))
    assert [found.seq for found in read_all(path)[0]] == [0, 1]


def test_without_zstandard_a_compressed_journal_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing extra is one line that names it."""
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(ShellError, match=r"wakefold\[zstd\]"):
        read_all(JOURNALS / "published/every-cold")


def test_packed_rows_use_up_as_many_seqs_as_they_hold(tmp_path: Path) -> None:
    """A text-chunks row tells its count; for the others the next row's seq does."""
    path = write_session(
        tmp_path,
        line({"type": "text-chunks", "seq0": 0, "time0": 5, "data": {"texts": ["a", "b", "c"]}}),
        line({"type": "reasoning-chunks", "seq0": 3, "time0": 6, "data": {"anything": 1}}),
        create_at(7),
        line({"type": "tool-call-chunks", "seq0": 8, "time0": 7, "data": None}),
    )
    events, journal = read_all(path)
    assert [found.seq for found in events] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert journal.next_seq is None
    assert fold_at(path).position == 9


@pytest.mark.parametrize("row", ["text-chunks", "reasoning-chunks"])
def test_packed_rows_are_read_alike_by_the_strict_parser(tmp_path: Path, row: str) -> None:
    """A lone surrogate in a packed row changes nothing about its count."""
    packed = {"type": row, "seq0": 0, "time0": 5, "data": {"texts": ["\ud83d", "b"]}}
    path = write_session(tmp_path, line(packed), event(2))
    assert [found.seq for found in read_all(path)[0]] == [0, 1, 2]


@pytest.mark.parametrize("texts", [None, 7, "ab"])
@pytest.mark.parametrize("mark", ["", "\ud83d"])
def test_a_text_chunks_row_without_texts_is_refused(tmp_path: Path, texts: object, mark: str) -> None:
    """Without its list of texts such a row does not tell where the next event stands."""
    packed = {"type": "text-chunks", "seq0": 0, "time0": 5, "data": {"texts": texts, "x": mark}}
    path = write_session(tmp_path, line(packed), event(1))
    assert "list of texts" in str(refusal(path))


@pytest.mark.parametrize(
    ("rows", "seq"),
    [
        ([event(1)], 1),
        ([event(0), event(0)], 0),
        ([event(0), event(2)], 2),
        ([line({"type": "text-chunks", "seq0": 0, "time0": 1, "data": {"texts": ["a"]}}), event(2)], 2),
        ([line({"type": "tool-call-chunks", "seq0": 0, "time0": 1, "data": 1}), event(0)], 0),
    ],
)
def test_a_seq_gap_is_an_error_at_its_line(tmp_path: Path, rows: list[bytes], seq: int) -> None:
    """Events are numbered without a gap, whatever the rows that hold them."""
    error = refusal(write_session(tmp_path, *rows))
    assert error.line == len(rows) + 1
    assert f"seq {seq} stands where" in str(error)


@pytest.mark.parametrize("tail", [b'{"type":"schedule/cha', create_at(3)[:-1], bytes(512)])
def test_c62_c64_what_follows_the_last_lf_is_a_torn_tail(tmp_path: Path, tail: bytes) -> None:
    """A cut line, a whole line without its LF and zeros at the end were never acknowledged."""
    path = write_session(tmp_path, create_at(0), event(1), event(2))
    sound = path.stat().st_size
    with path.open("ab") as file:
        file.write(tail)
    events, journal = read_all(path)
    assert [found.seq for found in events] == [0, 1, 2]
    assert journal.sound_bytes == sound
    assert f":5 (byte {sound})" in str(journal.warning)


def test_c64_zeros_between_good_lines_are_an_error(tmp_path: Path) -> None:
    """NUL bytes inside the log are named with line and offset, never skipped."""
    path = write_session(tmp_path, create_at(0), bytes(512) + b"\n", event(1))
    error = refusal(path)
    assert error.line == 3
    assert error.offset_bytes == len(line(HEADER) + create_at(0))
    assert "NUL bytes" in str(error)


def test_c65_a_broken_line_is_an_error_not_a_shorter_history(tmp_path: Path) -> None:
    """Of ten lines with the fourth broken nothing is believed."""
    rows = [event(seq) for seq in range(9)]
    rows[2] = b'{"type":"plan/create","seq":2,\n'
    path = write_session(tmp_path, *rows)
    assert refusal(path).line == 4
    with pytest.raises(JournalError):
        fold_at(path)


def test_c66_half_a_line_cut_out_of_the_middle_is_an_error(tmp_path: Path) -> None:
    """A journal with a hole is refused and stays as it is, byte for byte."""
    path = write_session(tmp_path, create_at(0), create_at(1, "schedule-2"), event(2))
    content = path.read_bytes()
    start = len(line(HEADER)) + 30
    path.write_bytes(content[:start] + content[start + 40 :])
    before = path.read_bytes()
    refusal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "prompt", ["🚀 go", "日本語", "\ud83d", "a\u2028b\u0085c\0d", "x" * 1_000_000, "cut \udc00 here"]
)
def test_c76_every_prompt_survives_the_file(tmp_path: Path, prompt: str) -> None:
    """Emoji, CJK, lone surrogates, odd separators, NUL and a megabyte of text come back as written."""
    path = write_session(tmp_path, create_at(0, prompt=prompt))
    (record,) = list_active(fold_at(path))
    assert record.prompt == prompt


def test_c100_other_event_types_are_skipped_whatever_they_hold(tmp_path: Path) -> None:
    """Only `schedule/change` is decoded; foreign data may be anything, lone surrogates included."""
    path = write_session(
        tmp_path,
        event(0, "message-edit/version", {"version": 9}),
        create_at(1),
        event(2, "plan/create", ["\ud83d", None]),
        b'{"type":"user/message","seq":3,"time":1}\n',
        b'{"type":"big/number","seq":4,"time":1,"data":[1e999,' + b"9" * 5000 + b"]}\n",
        b'{"type":"deep","seq":5,"time":1,"data":' + b"[" * 500 + b"]" * 500 + b"}\n",
    )
    ledger = fold_at(path)
    assert ledger.position == 6
    assert [record.id for record in list_active(ledger)] == ["schedule-1"]


def test_a_type_written_with_escapes_is_the_same_type(tmp_path: Path) -> None:
    r"""`schedule\u002fchange` is `schedule/change`."""
    row = create_at(0).replace(b"schedule/change", rb"schedule\u002fchange")
    assert len(list_active(fold_at(write_session(tmp_path, row)))) == 1


def test_numbers_of_the_envelope_may_be_spelt_as_ecmascript_takes_them(tmp_path: Path) -> None:
    """`0.0` and `1e0` are the integers that they stand for."""
    rows = b'{"type":"a","seq":0.0,"time":1e3,"data":1}\n{"type":"a","seq":1e0,"time":2}\n'
    events, _ = read_all(write_session(tmp_path, rows))
    assert [(found.seq, found.time_ms) for found in events] == [(0, 1000), (1, 2)]


@pytest.mark.parametrize(
    ("spoilt", "rule"),
    [
        ({"scheduledAt": 1_773_729_000_000}, "bad_instant"),
        ({"scheduledAt": "1773729000000"}, "bad_instant"),
        ({"scheduledAt": "2027-02-01T09:00:00Z"}, "bad_instant"),
        ({"prompt": " x"}, "bad_prompt"),
        ({"extra": 1}, "wrong_keys"),
    ],
)
def test_c47_c100_a_schedule_change_is_read_strictly(
    tmp_path: Path, spoilt: dict[str, object], rule: str
) -> None:
    """A wrong unit, a missing fraction, a padded prompt or another key is corrupt, with its line."""
    schedule = {"id": "a", "kind": "at", "prompt": "x", "scheduledAt": "2027-02-01T09:00:00.000Z"}
    row = change(1, operation="create", schedule={**schedule, **spoilt})
    path = write_session(tmp_path, event(0), row)
    with pytest.raises(JournalError, match=f":3 .*corrupt_schedule_log, {rule}"):
        fold_at(path)


def test_c47_nan_is_no_json(tmp_path: Path) -> None:
    """Python's parser would take `NaN`; the journal's does not, in any event."""
    path = write_session(tmp_path, b'{"type":"a","seq":0,"time":NaN,"data":1}\n')
    assert "no JSON" in str(refusal(path))


def test_c47_of_a_key_given_twice_the_last_counts(tmp_path: Path) -> None:
    """As ECMAScript reads it, also where the first value is bad."""
    row = create_at(0).replace(b'"prompt":', b'"prompt":7,"prompt":')
    (record,) = list_active(fold_at(write_session(tmp_path, row)))
    assert isinstance(record, AtRecord)
    assert record.prompt == "x"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"\n", "no JSON"),
        (b"{}\n", "no session header"),
        (b"[1]\n", "no session header"),
        (line(HEADER)[:-1], "no whole header line"),
        (line({**HEADER, "version": 1}), "version 1 is unknown"),
        (line({**HEADER, "version": "x" * 100}), "version 'xxxx"),
        (line({**HEADER, "version": True}), "version True is unknown"),
        (line({**HEADER, "id": ""}), "lacks a text id"),
        (line({**HEADER, "id": 7}), "lacks a text id"),
        (line({**HEADER, "createdAt": None}), "lacks a text id"),
        (line({**HEADER, "seedLength": -1}), "seedLength"),
        (line({**HEADER, "seedLength": "1"}), "seedLength"),
        (line({**HEADER, "timeZone": 7}), "timeZone"),
        (b"\xff\xfe\n", "not UTF-8"),
        (line(HEADER) + b"\n", "no JSON"),
        (line(HEADER) + b"[]\n", "has no type"),
        (line(HEADER) + b'{"seq":0,"time":1}\n', "has no type"),
        (line(HEADER) + b'{"type":"a","seq":"0","time":1}\n', "no safe integer"),
        (line(HEADER) + b'{"type":"a","seq":0}\n', "no safe integer"),
        (line(HEADER) + b'{"type":"a","seq":0,"time":9007199254740993.0}\n', "no safe integer"),
        (line(HEADER) + b'{"type":"a","seq":0,"time":true}\n', "no safe integer"),
        (line(HEADER) + b'{"type":"a","seq":0,"time":1,"data":"\xff\\ud83d"}\n', "not UTF-8"),
        (line(HEADER) + create_at(0).replace(b'"x"', b'"\xff"'), "not UTF-8"),
        (line(HEADER) + b'{"type":"a","seq":0,"data":' + b"[" * 99_999 + b"\n", "nests too deeply"),
    ],
)
def test_a_line_that_is_none_is_refused_with_its_place(
    tmp_path: Path, content: bytes, words: str
) -> None:
    """One sentence for every way in which a header or an event can be wrong."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    sentence = str(refusal(path))
    assert words in sentence
    assert "\n" not in sentence
    assert path.read_bytes() == content


def test_a_null_seed_length_means_none(tmp_path: Path) -> None:
    """The released package writes `null` for a session that is no fork."""
    assert fold_at(write_session(tmp_path, header={"seedLength": None})).seed_length == 0


def test_a_seed_length_past_the_log_is_an_error_of_the_header(tmp_path: Path) -> None:
    """Nothing is folded where the inherited part is longer than the log."""
    path = write_session(tmp_path, event(0), header={"seedLength": 2})
    with pytest.raises(JournalError, match=r":1: corrupt_schedule_log, bad_seed_length"):
        fold_at(path)


@pytest.mark.parametrize("length", [99, 100, 101])
def test_a_line_has_its_longest_length(tmp_path: Path, length: int) -> None:
    """A line of exactly the limit is read, LF not counted; one byte more is refused unread."""
    row = b'{"type":"a","seq":0,"time":1,"data":"' + b"x" * (length - 39) + b'"}'
    assert len(row) == length
    path = write_session(tmp_path, row + b"\n")
    with open_journal(path, line_bytes_max=100) as journal:
        if length <= 100:
            assert len(list(journal.read_events())) == 1
        else:
            with pytest.raises(JournalError, match=r":2 .*longer than 100 bytes"):
                list(journal.read_events())


def test_a_compressed_line_has_the_same_limit(tmp_path: Path) -> None:
    """Compression hides no line that is too long."""
    path = tmp_path / "session.jsonl.zstd"
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    path.write_bytes(compressor.compress(line(HEADER)) + compressor.compress(event(0, data="x" * 99)))
    with (
        open_journal(path, line_bytes_max=100) as journal,
        pytest.raises(JournalError, match="longer than 100 bytes"),
    ):
        list(journal.read_events())


def test_the_default_limit_refuses_ten_megabytes() -> None:
    """The limit is 8 MiB unless the caller says otherwise."""
    assert lines.LINE_BYTES_MAX == 8 * 1024 * 1024


def test_a_session_directory_stands_for_its_journal(tmp_path: Path) -> None:
    """Both names are found; none or two at once are an error."""
    assert "holds no session.jsonl" in str(refusal(tmp_path))
    write_session(tmp_path, event(0))
    assert len(read_all(tmp_path)[0]) == 1
    shutil.copy(JOURNALS / "published/every-cold/session.jsonl.zstd", tmp_path)
    assert "two journals" in str(refusal(tmp_path))


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A pipe would block for ever, a missing file is told apart."""
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in str(refusal(tmp_path / "pipe"))
    assert "no such file" in str(refusal(tmp_path / "missing"))


@pytest.mark.parametrize("sound_reads", [0, 1, 2])
def test_a_disk_that_fails_at_any_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sound_reads: int
) -> None:
    """The first look at the magic, the header and the events alike."""
    path = write_session(tmp_path, create_at(0))

    class Failing(io.BytesIO):
        left = sound_reads

        def read(self, size: int | None = -1) -> bytes:
            self._use_up()
            return super().read(size)

        def readline(self, size: int | None = -1) -> bytes:
            self._use_up()
            return super().readline(size)

        def _use_up(self) -> None:
            if self.left == 0:
                raise OSError(5, "Input/output error")
            self.left -= 1

    content = path.read_bytes()
    monkeypatch.setattr(Path, "open", lambda *_, **__: Failing(content))
    assert "input/output error" in str(refusal(path))


def test_a_path_is_shown_on_one_line_whatever_it_holds(tmp_path: Path) -> None:
    """Line breaks and bytes that are no text are escaped."""
    assert r"a\nb" in str(refusal(tmp_path / "a\nb"))
    assert r"\xff" in str(refusal(tmp_path / os.fsdecode(b"\xff")))
