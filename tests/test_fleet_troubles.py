"""What goes wrong with a fleet's database: one clear sentence each, and nothing is lost."""

from __future__ import annotations

import io
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import anyio
import asyncpg
import pytest

from command import EXECUTABLE, wakefold, wakefold_json
from journal_files import create_every, event, write_session
from postgres_servers import Server, ask
from wakefold import Event
from wakefold_shell.cli.app import run
from wakefold_shell.fleet.databases import Connection, FleetError, LostConnectionError
from wakefold_shell.fleet.links import open_link
from wakefold_shell.fleet.moves import find_journals, import_sessions
from wakefold_shell.fleet.postgres_store import open_postgres
from wakefold_shell.fleet.schema import check_schema
from wakefold_shell.stores.lines import LINE_BYTES_MAX

COMMANDS: Final = (("init",), ("migrate",), ("import", "."), ("export", "out"))
FULL: Final = """
    CREATE FUNCTION wakefold.fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
    END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON wakefold.session_log FOR EACH ROW
        WHEN (NEW.seq >= 2) EXECUTE FUNCTION wakefold.fill();
"""


def refuse(dsn: str, *arguments: str | Path) -> str:
    """The one sentence that a command says, which ends with 1 and prints nothing."""
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = run(["fleet", *map(str, arguments), "--fleet", dsn])
    said = err.buffer.getvalue().decode()
    assert (code, out.buffer.getvalue(), said.count("\n")) == (1, b"", 1), said
    return said.removeprefix("wakefold: ").removesuffix("\n")


def write_root(root: Path, names: str, length: int = 2) -> None:
    for name in names:
        header = {"id": f"session-{name}"}
        rows = [create_every(0, "a"), *map(event, range(1, length))]
        write_session(root / name, *rows, header=header)


def count_lines(dsn: str) -> dict[str, int]:
    """The sessions of the database, with the length of each."""
    query = "SELECT session_id, count(*) AS lines FROM session_log GROUP BY 1"
    rows = ask(dsn, lambda connection: connection.fetch(query))
    return {row["session_id"]: row["lines"] for row in rows}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
@pytest.mark.parametrize(
    ("dsn", "sentence"),
    [
        ("nonsense", "this is no DSN such as postgresql://user@host/database: check its parts."),
        ("postgresql://u:secret@127.0.0.1:port/x", "this is no DSN such as"),
        ("postgresql://u:secret@127.0.0.1:1/x", "the database cannot be reached (connection refused)"),
        ("postgresql:///x?host=/nowhere", "the database cannot be reached (no such file or directory)"),
    ],
)
def test_a_wrong_dsn_is_told_without_its_password(
    command: tuple[str, ...], dsn: str, sentence: str
) -> None:
    said = refuse(dsn, *command)
    assert said.startswith(sentence)
    assert "secret" not in said


def test_a_database_or_a_user_that_is_not_there_is_told(postgres_server: Server) -> None:
    nowhere = postgres_server.name_dsn("wakefold_nowhere")
    assert refuse(nowhere, "init") == (
        'the database refuses (database "wakefold_nowhere" does not exist): '
        "create that database, or check the DSN."
    )
    said = refuse(change_user(postgres_server.dsn, "wakefold_nobody"), "init")
    assert said.startswith("the database refuses (")
    assert said.endswith("check the user of the DSN and the server's rules.")


def change_user(dsn: str, user: str) -> str:
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))


GUEST: Final = f"wakefold_guest_{os.getpid()}"
GRANT: Final = "grant the user the schema wakefold and its tables, or use the one who made them."


@contextmanager
def made_role(server: Server, dsn: str, grants: str) -> Iterator[str]:
    """The DSN of a user who may do little."""
    server.run(f"CREATE ROLE {GUEST} LOGIN")
    try:
        ask(dsn, lambda connection: connection.execute(grants or "SELECT"))
        yield change_user(dsn, GUEST)
    finally:
        ask(dsn, lambda connection: connection.execute(f"DROP OWNED BY {GUEST}"))
        server.run(f"DROP ROLE {GUEST}")


def test_missing_privileges_are_told(
    postgres_server: Server, empty_database: str, fleet: str, tmp_path: Path
) -> None:
    """To make the schema, to look into it, and to write."""
    write_root(tmp_path, "a")
    with made_role(postgres_server, empty_database, "") as guest:
        said = refuse(guest, "init")
        assert said.startswith("the database refuses (permission denied for database")
        assert said.endswith(GRANT)
    with made_role(postgres_server, fleet, "") as guest:
        assert refuse(guest, "import", tmp_path).endswith(GRANT)
    reading = (
        f"GRANT USAGE ON SCHEMA wakefold TO {GUEST};"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA wakefold TO {GUEST}"
    )
    with made_role(postgres_server, fleet, reading) as guest:
        said = refuse(guest, "import", tmp_path)
        assert said == f"the database refuses (permission denied for table session): {GRANT}"
        assert count_lines(fleet) == {}
        wakefold_json("fleet", "import", tmp_path, "--fleet", fleet)
        assert wakefold_json("fleet", "export", tmp_path / "out", "--fleet", guest)["exported"] == 1
        told: list[str] = []
        with open_postgres(guest, "session-a", on_warning=told.append) as store:
            store.append([Event("plan/note", len(list(store.read_events(0))), 5, None)])
            assert anyio.run(store.flush) is False
        assert told == [f"the database refuses (permission denied for table session): {GRANT}"]
    assert count_lines(fleet) == {'"session-a"': 2}


def test_an_old_schema_is_told_and_brought_up_to_date(fleet: str, tmp_path: Path) -> None:
    write_root(tmp_path, "a")

    def set_version(version: int) -> None:
        statement = f"UPDATE schema_version SET version = {version}"
        ask(fleet, lambda connection: connection.execute(statement))

    set_version(0)
    old = (
        "the database has version 0 of the schema, this program needs 1: run 'wakefold fleet migrate'."
    )
    assert refuse(fleet, "import", tmp_path) == old
    assert refuse(fleet, "export", tmp_path / "out") == old
    with pytest.raises(FleetError, match="run 'wakefold fleet migrate'"), open_postgres(fleet, "x"):
        pass
    set_version(2)
    new = "the database has version 2 of the schema, this program knows up to 1: use a later one."
    for command in (("import", tmp_path), ("export", tmp_path / "out"), ("migrate",)):
        assert refuse(fleet, *command) == new
    set_version(1)
    assert wakefold_json("fleet", "import", tmp_path, "--fleet", fleet)["imported"] == 1


def test_a_database_without_a_fleet_is_told(empty_database: str, tmp_path: Path) -> None:
    write_root(tmp_path, "a")
    missing = "the database holds no fleet: prepare it with 'wakefold fleet init'."
    for command in (("import", tmp_path), ("export", tmp_path / "out"), ("migrate",)):
        assert refuse(empty_database, *command) == missing


def check_full_disk(dsn: str, tmp_path: Path, make_room: object) -> None:
    """An import stops at a session, whole; a barrier is uncertain; with room again both go on."""
    assert callable(make_room)
    full = "make room on the server, nothing was written, then try again."
    said = refuse(dsn, "import", tmp_path / "root")
    assert said.startswith("the database refuses (could not extend file")
    assert said.endswith(full)
    assert count_lines(dsn) == {'"session-a"': 2}
    told: list[str] = []
    with open_postgres(dsn, "session-a", on_warning=told.append) as store:
        assert len(list(store.read_events(0))) == 2
        store.append([Event("plan/note", 2, 5, os.urandom(2_000_000).hex())])
        assert anyio.run(store.flush) is False
        assert told.pop().endswith(full)
        assert count_lines(dsn) == {'"session-a"': 2}
        make_room()
        assert anyio.run(store.flush) is True
    assert told == []
    answer = wakefold_json("fleet", "import", tmp_path / "root", "--fleet", dsn)
    assert (answer["imported"], answer["there"], answer["refused"]) == (1, 1, 0)
    assert count_lines(dsn) == {'"session-a"': 3, '"session-b"': 3}


def test_a_full_disk_is_told_and_loses_nothing(fleet: str, tmp_path: Path) -> None:
    """As the server says it, raised by a trigger."""
    write_root(tmp_path / "root", "a")
    write_root(tmp_path / "root", "b", 3)
    ask(fleet, lambda connection: connection.execute(FULL))
    check_full_disk(
        fleet,
        tmp_path,
        lambda: ask(fleet, lambda it: it.execute("DROP TRIGGER full_disk ON wakefold.session_log")),
    )


@pytest.mark.needs("mount")
def test_a_disk_that_is_full_is_told_and_loses_nothing(own_server: Server, tmp_path: Path) -> None:
    """A real one, of 2 MB."""
    write_root(tmp_path / "root", "a")
    header, words = {"id": "session-b"}, os.urandom(1_500_000).hex()
    rows = [create_every(0, "a"), event(1, data=words), event(2, data=words)]
    write_session(tmp_path / "root/b", *rows, header=header)
    with own_server.make_disk(2) as disk, own_server.make_fleet() as dsn:
        own_server.run(f"CREATE TABLESPACE small LOCATION '{disk}'")
        move = "ALTER TABLE session_log SET TABLESPACE small"
        ask(dsn, lambda connection: connection.execute(move))

        def make_room() -> None:
            subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)

        check_full_disk(dsn, tmp_path, make_room)


def test_a_server_that_goes_away_is_told_and_loses_nothing(own_server: Server, tmp_path: Path) -> None:
    """In the middle of an import: what was moved is there, and the rest is when it is begun again."""
    write_root(tmp_path, "abcd")
    with own_server.make_fleet() as dsn:
        with open_link(dsn, check_schema) as link:
            moves = import_sessions(link, find_journals(tmp_path), LINE_BYTES_MAX)
            next(moves)
            next(moves)
            own_server.stop()
            with pytest.raises(FleetError, match=r"^the database cannot be reached \(.+\): check that"):
                list(moves)
            with pytest.raises(FleetError, match="cannot be reached"):
                link.run(lambda connection: connection.execute("SELECT"))
        assert refuse(dsn, "import", tmp_path).startswith("the database cannot be reached (")
        own_server.start()
        assert count_lines(dsn) == {'"session-a"': 2, '"session-b"': 2}
        answer = wakefold_json("fleet", "import", tmp_path, "--fleet", dsn)
        assert (answer["imported"], answer["there"]) == (2, 2)
        assert len(count_lines(dsn)) == 4


def test_an_import_that_is_killed_leaves_whole_sessions_and_is_begun_again(
    fleet: str, tmp_path: Path
) -> None:
    """Of each session all lines are there, or none."""
    names, length = [f"{number:02}" for number in range(24)], 1500
    for name in names:
        rows = [create_every(0, "a"), *map(event, range(1, length))]
        write_session(tmp_path / name, *rows, header={"id": name})
    command = [EXECUTABLE, "fleet", "import", str(tmp_path), "--fleet", fleet]
    importer = subprocess.Popen(command, stdout=subprocess.PIPE)
    while not count_lines(fleet) and importer.poll() is None:
        time.sleep(0.02)
    importer.kill()
    assert importer.communicate()[0] == b""
    moved = count_lines(fleet)
    assert 1 <= len(moved) < len(names)
    answer = wakefold_json("fleet", "import", tmp_path, "--fleet", fleet)
    assert answer["there"] in {len(moved), len(moved) + 1}, "a commit may have been on its way"
    assert answer["imported"] == len(names) - answer["there"]
    assert count_lines(fleet) == {f'"{name}"': length for name in names}


def test_a_missing_extra_is_named_in_a_sentence(tmp_path: Path) -> None:
    """As if asyncpg were not installed; help needs none of it."""
    (tmp_path / "asyncpg.py").write_text("raise ModuleNotFoundError('asyncpg', name='asyncpg')\n")
    for arguments in COMMANDS[::2]:
        done = wakefold("fleet", *arguments, "--fleet", "x", PYTHONPATH=str(tmp_path))
        expected = "wakefold: a fleet needs the extra 'fleet': pip install 'wakefold[fleet]'.\n"
        assert (done.returncode, done.stderr) == (1, expected)
    assert wakefold("fleet", "--help", PYTHONPATH=str(tmp_path)).returncode == 0


def test_a_driver_that_lost_its_thread_begins_again_on_another_connection(fleet: str) -> None:
    """As it does where a connection is severed between two messages of one answer."""

    async def name_backend(connection: Connection) -> object:
        return await connection.fetchval("SELECT pg_backend_pid()")

    async def confuse(_: Connection) -> None:
        raise asyncpg.InternalClientError("cannot switch to state 15")

    with open_link(fleet) as link:
        before = link.run(name_backend)
        with pytest.raises(LostConnectionError, match="cannot switch to state 15"):
            link.run(confuse)
        assert link.run(name_backend) != before
