"""Sessions moved between directories and PostgreSQL: nothing is lost, whatever comes between."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, get_args

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal_files import HEADER, JOURNALS, create_at, create_every, event, line, write_session
from postgres_servers import ask
from wakefold import PUBLISHED, SEED, Event, Profile
from wakefold_laws.session_model import SessionLog
from wakefold_laws.session_strategies import session_logs
from wakefold_laws.strategies import foreign_events, json_values, prompts
from wakefold_shell.errors import JournalError
from wakefold_shell.fleet.databases import Connection
from wakefold_shell.fleet.leases import name_place
from wakefold_shell.fleet.links import Link, open_link
from wakefold_shell.fleet.moves import (
    Move,
    Refusal,
    export_session,
    export_sessions,
    find_journals,
    import_session,
    import_sessions,
    name_directory,
)
from wakefold_shell.fleet.postgres_store import PostgresSource, open_postgres
from wakefold_shell.fleet.schema import check_schema
from wakefold_shell.fleet.tables import name_key
from wakefold_shell.stores.care import convert_session
from wakefold_shell.stores.journal_store import open_store
from wakefold_shell.stores.journals import Journal, StoreKind, fold_journal, open_journal
from wakefold_shell.stores.lines import LINE_BYTES_MAX
from wakefold_shell.stores.rows import encode_event

KINDS: Final[tuple[StoreKind, ...]] = get_args(StoreKind)
RECORDED: Final = sorted(path.parent for path in JOURNALS.rglob("session.jsonl*"))
_NUMBERS: Final = count(1)

pytestmark = [pytest.mark.usefixtures("quick_files"), pytest.mark.needs("zstd")]


def read_all(path: Path) -> list[bytes]:
    """All lines of a session, its header first."""
    with open_journal(path) as journal:
        return list(journal.read_lines())


def check_journey(link: Link, session: Path, scratch: Path, profile: Profile) -> None:
    """Journal, SQLite, PostgreSQL, journal: the same lines and the same ledger at every stop."""
    lines = read_all(session)
    with open_journal(session) as journal:
        ledger, session_id = fold_journal(journal, profile), journal.header.id
    convert_session(session, scratch / "on-the-way", "sqlite")
    moved = import_session(link, scratch / "on-the-way", LINE_BYTES_MAX)
    assert (moved.session_id, moved.lines, moved.new) == (session_id, len(lines) - 1, True)
    key = name_key(session_id)
    stored = Journal(name_place(key), PostgresSource(link, key), LINE_BYTES_MAX)
    assert fold_journal(stored, profile) == ledger
    for kind in KINDS:
        back = scratch / kind
        export_session(link, session_id, back, kind, LINE_BYTES_MAX)
        assert read_all(back) == lines
        with open_journal(back) as journal:
            assert fold_journal(journal, profile) == ledger
    assert (scratch / "journal/session.jsonl").read_bytes() == b"".join(lines)
    assert import_session(link, session, LINE_BYTES_MAX).new is False
    assert export_session(link, session_id, session, "journal", LINE_BYTES_MAX).new is False


@pytest.mark.parametrize("session", RECORDED, ids=lambda session: session.name)
def test_a_recorded_session_comes_back_as_it_was(fleet: str, tmp_path: Path, session: Path) -> None:
    """Forks, packed rows, torn tails, compressed ones; of a torn tail nothing, for it was no event."""
    profile = PUBLISHED if session.parent.name == "published" else SEED
    with open_link(fleet, check_schema) as link:
        check_journey(link, session, tmp_path, profile)


def test_the_recorded_sessions_hold_what_they_are_there_for() -> None:
    assert len(RECORDED) == 6
    content = b"".join(line for session in RECORDED for line in read_all(session))
    assert b'"seedLength":' in content
    assert b'"seq0":' in content


def test_awkward_lines_come_back_byte_for_byte(fleet: str, tmp_path: Path) -> None:
    """Packed rows of every kind, lone surrogates, NUL, numbers as they were spelled, long lines."""
    rows = [
        line({"type": "text-chunks", "seq0": 0, "time0": 5, "data": {"texts": ["a", "\ud83d", "c"]}}),
        line({"type": "reasoning-chunks", "seq0": 3, "time0": 6, "data": {"anything": 1}}),
        create_at(7, prompt="\ud83d alone, \0 and \u2028 inside"),
        line({"type": "tool-call-chunks", "seq0": 8, "time0": 7, "data": None}),
        b'{"seq":11.0, "time":1e3,"type":"\\u0000\\ud83d" ,"data":[300.0,1E5,"\\u0041"],"more":{}}\n',
        event(12, "user/message", {"id": "\ud83d", "text": "x" * 500_000}),
    ]
    header = {**HEADER, "id": "\0 \ud83d/../é", "cwd": "/", "delegationDepth": 1, "more": [1.0]}
    session = write_session(tmp_path / "session", *rows, header=header).parent
    with open_link(fleet, check_schema) as link:
        check_journey(link, session, tmp_path, SEED)


EXAMPLES: Final = settings(max_examples=40, deadline=None)
LONG: Final = settings(max_examples=1500, deadline=None)


def check_generated(dsn: str, profile_settings: settings) -> None:
    with open_link(dsn, check_schema) as link:

        @profile_settings
        @given(session_logs(), st.lists(foreign_events() | json_values().map(pack)), prompts())
        def journey(log: SessionLog, more: Sequence[tuple[str, object]], name: str) -> None:
            with TemporaryDirectory() as scratch:
                session = write_log(Path(scratch), log, more, f"{name}{next(_NUMBERS)}")
                check_journey(link, session, Path(scratch), log.profile)

        journey()


def pack(text: object) -> tuple[str, object]:
    return "text-chunks", [text, text]


def write_log(
    scratch: Path, log: SessionLog, more: Sequence[tuple[str, object]], session_id: str
) -> Path:
    """A journal of a log, with more events and packed rows behind it."""
    rows = [line(encode_event(each)) for each in log.events]
    seq = len(rows)
    for kind, data in more:
        if kind == "text-chunks":
            rows.append(line({"type": kind, "seq0": seq, "time0": 5, "data": {"texts": data}}))
            seq += 1
        else:
            rows.append(event(seq, kind, data))
        seq += 1
    header: dict[str, Any] = {**HEADER, "id": session_id, "seedLength": log.seed_length}
    if log.time_zone is not None:
        header["timeZone"] = log.time_zone
    return write_session(scratch / "session", *rows, header=header).parent


def test_any_session_comes_back_as_it_was(fleet: str) -> None:
    """Turns, inboxes, forks, packed rows and texts that attack."""
    check_generated(fleet, EXAMPLES)


@pytest.mark.long
def test_very_many_sessions_come_back_as_they_were(fleet: str) -> None:
    check_generated(fleet, LONG)


def write_root(root: Path, names: str) -> list[Path]:
    return [
        write_session(
            root / "deep" / name, create_every(0, "a"), event(1), header={"id": f"session-{name}"}
        ).parent
        for name in names
    ]


def import_root(link: Link, root: Path) -> list[Move | Refusal]:
    return list(import_sessions(link, find_journals(root), LINE_BYTES_MAX))


def list_sessions(dsn: str) -> list[tuple[str, int, int]]:
    """Each session's key, its lines and whether it is to be looked at."""

    async def read(connection: Connection) -> list[tuple[str, int, int]]:
        rows = await connection.fetch(
            "SELECT session_id, (SELECT count(*) FROM session_log l WHERE l.session_id = s.session_id),"
            " (SELECT count(*) FROM session_wake w WHERE w.session_id = s.session_id"
            " AND wake_at <= clock_timestamp()) FROM session s ORDER BY session_id"
        )
        return [tuple(row) for row in rows]

    return ask(dsn, read)


def test_of_many_sessions_each_is_moved_or_refused_for_itself(fleet: str, tmp_path: Path) -> None:
    """Damaged, lived in, of no known end, or the id of another: the others are moved all the same."""
    *_, damaged, lived_in, open_end, twin = write_root(tmp_path, "abcdef")
    (damaged / "session.jsonl").write_bytes(read_all(damaged)[0] + b"{}\n" + event(0))
    row = line({"type": "reasoning-chunks", "seq0": 0, "time0": 6, "data": {}})
    write_session(open_end, row)
    write_session(twin, event(0), header={"id": "session-a"})
    with open_link(fleet, check_schema) as link:
        with open_store(lived_in):
            found = import_root(link, tmp_path)
        assert [isinstance(each, Refusal) for each in found] == [False, False, True, True, True, True]
        sentences = [each.sentence for each in found if isinstance(each, Refusal)]
        assert "the line is no event" in sentences[0]
        assert "owns this session" in sentences[1]
        assert "leaves open where the log ends" in sentences[2]
        assert 'holds session "session-a" with another line 2' in sentences[3]
        assert list_sessions(fleet) == [('"session-a"', 2, 1), ('"session-b"', 2, 1)]
        again = import_root(link, tmp_path)
    assert [each.new for each in again if isinstance(each, Move)] == [False, False, True]
    assert [name for name, _, _ in list_sessions(fleet)] == [
        '"session-a"',
        '"session-b"',
        '"session-d"',
    ]


def test_a_session_that_has_gone_on_in_the_database_is_left_there(fleet: str, tmp_path: Path) -> None:
    """Begun again, an import finds it; a directory of an older state is not written over."""
    (session,) = write_root(tmp_path, "a")
    with open_link(fleet, check_schema) as link:
        import_session(link, session, LINE_BYTES_MAX)
        with open_postgres(fleet, "session-a") as store:
            events = list(store.read_events(0))
            store.append([Event("plan/note", len(events), 5, None)])
            assert anyio.run(store.flush) is True
        again = import_session(link, session, LINE_BYTES_MAX)
        assert (again.lines, again.later, again.new) == (2, 1, False)
        with pytest.raises(JournalError, match="has gone on by 1 lines since"):
            export_session(link, "session-a", session, "journal", LINE_BYTES_MAX)
        shutil.rmtree(session)
        assert export_session(link, "session-a", session, "journal", LINE_BYTES_MAX).lines == 3
        write_session(session, create_every(0, "a"), header={"id": "session-a"})
        with pytest.raises(JournalError, match="has gone on by 2 lines since"):
            export_session(link, "session-a", session, "journal", LINE_BYTES_MAX)
        write_session(session, *map(event, range(3)), header={"id": "session-a"})
        with pytest.raises(JournalError, match="with another line 2"):
            import_session(link, session, LINE_BYTES_MAX)


def test_all_sessions_are_exported_each_under_its_name(fleet: str, tmp_path: Path) -> None:
    """A name is the id, with what no name may hold escaped; again, all are there."""
    ids = ["plain", "..", ".hidden", "a/b", "\ud83d\0", "é"]
    for number, session_id in enumerate(ids):
        write_session(tmp_path / f"{number}", event(0), header={"id": session_id})
    with open_link(fleet, check_schema) as link:
        assert len(import_root(link, tmp_path)) == len(ids)
        out = tmp_path / "out"
        for new in (True, False):
            found = list(export_sessions(link, out, "journal", LINE_BYTES_MAX))
            assert [(type(each), getattr(each, "new", None)) for each in found] == [(Move, new)] * 6
    assert sorted(path.name for path in out.iterdir()) == sorted(map(name_directory, ids))
    assert {name_directory(".."), name_directory("a/b")} == {"%2E.", "a%2Fb"}
    for number, session_id in enumerate(ids):
        assert read_all(out / name_directory(session_id)) == read_all(tmp_path / f"{number}")
