"""What the tests may ask of their surroundings, and the one way in which a test is skipped.

A test marked `needs(what)` is skipped, with the reason `missing: <what>`, where `what` is not there.
A session with `--allowed-missing NAME`, or with `WAKEFOLD_CI=1` in its environment, fails when a test
was skipped for any other reason than the ones allowed by name.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

pytest_plugins = ["pytester"]

_SHARED: Final = Path(__file__).resolve().parents[2] / "shared"

_MEMORY: Final = Path("/dev/shm")

_NEEDS: Final[dict[str, Callable[[], bool]]] = {
    "shared": (_SHARED / "vectors").is_dir,
    "zstd": lambda: importlib.util.find_spec("zstandard") is not None,
    "mutmut": lambda: importlib.util.find_spec("mutmut") is not None,
    "chromium": lambda: shutil.which("chromium") is not None,
    "node": lambda: shutil.which("node") is not None,
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
        _require_known(name, "--allowed-missing")
    if allowed or os.environ.get("WAKEFOLD_CI") == "1":
        config.pluginmanager.register(SkipWarden(allowed), "skip-warden")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip each test whose needs are not met."""
    for item in items:
        for marker in item.iter_markers("needs"):
            for name in marker.args:
                _require_known(name, item.nodeid)
                if not _NEEDS[name]():
                    item.add_marker(pytest.mark.skip(reason=f"missing: {name}"))


def _require_known(name: str, where: str) -> None:
    if name not in _NEEDS:
        known = ", ".join(_NEEDS)
        raise pytest.UsageError(f"{where}: nothing is known of a need {name!r} (known: {known})")
