"""The one way to skip a test, and the session that looks at every skip."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project of its own, under this project's conftest, where nothing optional is installed."""
    monkeypatch.delenv("WAKEFOLD_CI", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST.read_text("utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n    needs(what): skipped\naddopts = --strict-markers")
    return pytester


def _needing(*names: str) -> str:
    marks = "\n".join(f"@pytest.mark.needs({name!r})" for name in names)
    return f"import pytest\n{marks}\ndef test_it():\n    pass\n"


def test_a_test_that_misses_something_is_skipped_with_its_name(project: pytest.Pytester) -> None:
    """The reason of a skip is `missing: <what>`, and a session that asks nothing passes."""
    project.makepyfile(_needing("node"))
    result = project.runpytest_inprocess("-rs")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * missing: node"])


def test_a_test_whose_needs_are_met_runs(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is no reason to skip."""
    tool = project.path / "node"
    tool.write_text("")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(project.path))
    project.makepyfile(_needing("node"))
    project.runpytest_inprocess("--allowed-missing=shared").assert_outcomes(passed=1)


def test_the_shared_directory_is_looked_for_beside_the_repository(project: pytest.Pytester) -> None:
    """`shared` is there when `../shared/vectors` is, seen from the top of the repository."""
    tests = project.mkdir("repository") / "tests"
    tests.mkdir()
    (project.path / "conftest.py").rename(tests / "conftest.py")
    (tests / "test_it.py").write_text(_needing("shared"))
    project.runpytest_inprocess(tests).assert_outcomes(skipped=1)
    (project.mkdir("shared") / "vectors").mkdir()
    project.runpytest_inprocess(tests).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("arguments", "environment", "status"),
    [
        ([], "", pytest.ExitCode.OK),
        ([], "0", pytest.ExitCode.OK),
        ([], "1", pytest.ExitCode.TESTS_FAILED),
        (["--allowed-missing=zstd"], "", pytest.ExitCode.TESTS_FAILED),
        (["--allowed-missing=node"], "", pytest.ExitCode.OK),
        (["--allowed-missing=node"], "1", pytest.ExitCode.OK),
        (["--allowed-missing=zstd", "--allowed-missing=node"], "1", pytest.ExitCode.OK),
    ],
)
def test_a_watched_session_fails_on_a_skip_that_is_not_allowed(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    environment: str,
    status: pytest.ExitCode,
) -> None:
    """The option or the environment sets the watch, and only names given by option are allowed."""
    monkeypatch.setenv("WAKEFOLD_CI", environment)
    project.makepyfile(test_one=_needing("node"))
    result = project.runpytest_inprocess(*arguments)
    assert result.ret == status
    named = "skipped without permission: test_one.py::test_it: missing: node"
    assert (named in result.outlines) == (status != pytest.ExitCode.OK)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("@pytest.mark.skip(reason='later')\ndef test_it(): pass", "::test_it: later"),
        ("def test_it(): pytest.skip('missing: tuits')", "::test_it: missing: tuits"),
        ("pytest.skip('whole', allow_module_level=True)", ": whole"),
        ("pytest.importorskip('no_such_module', reason='absent')", ": absent"),
    ],
)
def test_every_other_skip_fails_a_watched_session(
    project: pytest.Pytester, body: str, named: str
) -> None:
    """A plain skip, an invented reason and a module skipped whole are no permission."""
    project.makepyfile(test_one=f"import pytest\n{body}")
    result = project.runpytest_inprocess("--allowed-missing=node")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert f"skipped without permission: test_one.py{named}" in result.outlines


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (_needing("node"), "::test_it: missing: node"),
        ("def test_it(): pytest.skip('later')", "::test_it: later"),
        ("pytest.skip('whole', allow_module_level=True)", ": whole"),
    ],
)
@pytest.mark.parametrize("missing", ["zstd", "node"])
def test_a_session_in_several_processes_is_watched_as_one(
    project: pytest.Pytester, body: str, named: str, missing: str
) -> None:
    """What a worker skipped is told once, by the session that counts, and fails it."""
    project.makepyfile(test_one=f"import pytest\n{body}", test_two="def test_two(): pass")
    result = project.runpytest_inprocess("-p", "xdist", "-n2", f"--allowed-missing={missing}")
    line = f"skipped without permission: test_one.py{named}"
    allowed = named.endswith(f"missing: {missing}")
    assert result.outlines.count(line) == (0 if allowed else 1)
    assert result.ret == (pytest.ExitCode.OK if allowed else pytest.ExitCode.TESTS_FAILED)
    assert result.parseoutcomes()["passed"] == 1


@pytest.mark.parametrize(("shown", "workers"), [("-s", 0), ("-q", 1), ("-q", 6), ("-q", 8)])
def test_tests_run_in_several_processes_unless_they_are_to_be_heard(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, shown: str, workers: int
) -> None:
    """Three for two cores, eight at most; what a worker prints nobody sees."""
    monkeypatch.setattr("os.cpu_count", lambda: {0: 4, 1: 1, 6: 4, 8: 64}[workers])
    config = project.parseconfigure("-p", "xdist", shown)
    assert config.hook.pytest_xdist_auto_num_workers(config=config) == workers


def test_an_expected_failure_is_no_skip(project: pytest.Pytester) -> None:
    """A watched session bears a test that is expected to fail, and passes."""
    project.makepyfile("import pytest\n@pytest.mark.xfail\ndef test_it():\n    assert False")
    result = project.runpytest_inprocess("--allowed-missing=node")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(xfailed=1)


def test_a_failing_session_still_names_its_skips(project: pytest.Pytester) -> None:
    """A failure beside a refused skip hides neither."""
    project.makepyfile(test_one=_needing("node"), test_two="def test_two(): assert False")
    result = project.runpytest_inprocess("--allowed-missing=zstd")
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["skipped without permission: test_one.py::test_it: missing: node"])


@pytest.mark.parametrize("names", [("perl",), ("node", "perl"), ("",)])
@pytest.mark.parametrize("workers", [0, 1])
def test_an_unknown_need_is_an_error(
    project: pytest.Pytester, names: tuple[str, ...], workers: int
) -> None:
    """A marker that asks for something unknown fails the test, and is named with it."""
    project.makepyfile(test_one=_needing(*names))
    result = project.runpytest_inprocess("-p", "xdist", f"-n{workers}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"test_one.py::test_it: * a need '{names[-1]}' (known: *"])


def test_an_unknown_name_cannot_be_allowed(project: pytest.Pytester) -> None:
    """A misspelt `--allowed-missing` is an error, not a rule that never applies."""
    project.makepyfile("def test_it(): pass")
    result = project.runpytest_inprocess("--allowed-missing=nodejs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --allowed-missing: * a need 'nodejs' (known: *"])
