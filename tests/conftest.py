"""What the tests may ask of their surroundings, and the one way in which a test is skipped.

A test marked `needs(what)` is skipped, with the reason `missing: <what>`, where `what` is not there.
A session with `--allowed-missing NAME`, or with `WAKEFOLD_CI=1` in its environment, fails when a test
was skipped for any other reason than the ones allowed by name.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from postgres_servers import DSN_VARIABLE, Server, open_server

pytest_plugins = ["pytester"]

_SHARED: Final = Path(__file__).resolve().parents[2] / "shared"

_MEMORY: Final = Path("/dev/shm")

_WORKERS_MAX: Final = 8


def may_mount() -> bool:
    """Whether a small disk can be made, to be filled."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return tried.returncode == 0


_NEEDS: Final[dict[str, Callable[[], bool]]] = {
    "shared": (_SHARED / "vectors").is_dir,
    "zstd": lambda: importlib.util.find_spec("zstandard") is not None,
    "mutmut": lambda: importlib.util.find_spec("mutmut") is not None,
    "chromium": lambda: shutil.which("chromium") is not None,
    "node": lambda: shutil.which("node") is not None,
    "mount": may_mount,
    "systemd-analyze": lambda: shutil.which("systemd-analyze") is not None,
}


class SkipWarden:
    """Fails a session in which a test was skipped for a reason that is not allowed by name."""

    def __init__(self, allowed_missing: list[str]) -> None:
        self._allowed = {f"missing: {name}" for name in allowed_missing}
        self._refused: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that was skipped; an expected failure is none."""
        if not hasattr(report, "wasxfail"):
            self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a module that was skipped whole."""
        self._note(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session if anything was noted."""
        if self._refused:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what was noted."""
        for line in self._refused:
            terminalreporter.write_line(f"skipped without permission: {line}", red=True)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if reason not in self._allowed:
                self._refused.append(f"{report.nodeid}: {reason}")


@pytest.fixture
def quick_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in memory where the system has such a place, for tests that make thousands of them."""
    if _MEMORY.is_dir():
        monkeypatch.setattr(tempfile, "tempdir", str(_MEMORY))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--allowed-missing NAME`, repeatable."""
    parser.addoption(
        "--allowed-missing",
        action="append",
        default=[],
        metavar="NAME",
        help=f"fail on every skipped test but those that miss NAME ({', '.join(_NEEDS)})",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set the warden where a session asks for it."""
    allowed: list[str] = config.getoption("--allowed-missing")
    for name in allowed:
        if name not in _NEEDS:
            raise pytest.UsageError(_explain_unknown(name, "--allowed-missing"))
    is_worker = hasattr(config, "workerinput")  # of a session in several processes, which hears all
    if not is_worker and (allowed or os.environ.get("WAKEFOLD_CI") == "1"):
        config.pluginmanager.register(SkipWarden(allowed), "skip-warden")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process where it is to be seen what tests print (`-s`), else three for two cores.

    Many tests wait for a process that they started.
    """
    if config.getoption("capture") == "no":
        return 0
    return min(_WORKERS_MAX, (os.cpu_count() or 1) * 3 // 2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip each test whose needs are not met."""
    for item in items:
        names = _list_needs(item)
        for name in names if _NEEDS.keys() >= set(names) else ():
            if not _NEEDS[name]():
                item.add_marker(pytest.mark.skip(reason=f"missing: {name}"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test of whose needs one is unknown: an error while collecting is not heard of a worker."""
    for name in _list_needs(item):
        if name not in _NEEDS:
            pytest.fail(_explain_unknown(name, item.nodeid), pytrace=False)


def _list_needs(item: pytest.Item) -> list[str]:
    return [name for marker in item.iter_markers("needs") for name in marker.args]


def _explain_unknown(name: str, where: str) -> str:
    known = ", ".join(_NEEDS)
    return f"{where}: nothing is known of a need {name!r} (known: {known})"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server for all tests."""
    with open_server() as server:
        yield server


@pytest.fixture
def empty_database(postgres_server: Server) -> Iterator[str]:
    """The DSN of a database of the test's own."""
    with postgres_server.make_database() as dsn:
        yield dsn


@pytest.fixture
def fleet(postgres_server: Server) -> Iterator[str]:
    """The DSN of a prepared database of the test's own."""
    with postgres_server.make_fleet() as dsn:
        yield dsn


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of the test's own, which may be crashed."""
    monkeypatch.delenv(DSN_VARIABLE, raising=False)
    with open_server() as server:
        yield server
