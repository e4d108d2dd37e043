"""Bad input: one sentence on standard error, exit 1 or 2, and no byte changed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from command import wakefold
from journal_files import HEADER, JOURNALS, event, line, write_session
from wakefold_shell.cli.app import run


def make_bad_files(root: Path) -> None:
    """One of every kind."""
    cold = (JOURNALS / "published/every-cold/session.jsonl.zstd").read_bytes()
    header = line(HEADER)
    files = {
        "empty": b"",
        "binary": bytes(range(256)) * 40,
        "version": line({**HEADER, "version": 1}),
        "text": b"hello\nworld\n",
        "zstd-cut": cold[:60],
        "zstd-spoilt": cold[:5000] + b"x" + cold[5001:],
        "long-line": header + b"x" * 10_000_000 + b"\n",
        "long-event": header + event(0, data="x" * 10_000_000),
        "gap": header + event(1),
        "nul": header + bytes(512) + b"\n" + event(0),
        "deep": header + b'{"type":"a","seq":0,"time":1,"data":' + b"[" * 99_999 + b"\n",
        "corrupt": header + event(0, "schedule/change", {"version": 1}),
    }
    for name, content in files.items():
        (root / name).write_bytes(content)
    (root / "directory").mkdir()
    (root / "journal-is-directory" / "session.jsonl").mkdir(parents=True)
    os.mkfifo(root / "pipe")


def digest(root: Path) -> dict[str, str]:
    """What stands in every regular file below a directory."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "session.lock"
    }


def check_sentence(stderr: str) -> None:
    assert stderr.startswith("wakefold: ")
    assert stderr.endswith(".\n")
    assert stderr.count("\n") == 1
    assert len(stderr) < 700
    assert "Traceback" not in stderr


KINDS = [
    "missing",
    "empty",
    "binary",
    "version",
    "text",
    "zstd-cut",
    "zstd-spoilt",
    "long-line",
    "long-event",
    "gap",
    "nul",
    "deep",
    "corrupt",
    "directory",
    "journal-is-directory",
    "pipe",
]


@pytest.mark.parametrize("kind", KINDS)
def test_reading_commands_refuse_every_kind(
    tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each command says what, where and what to do, and leaves all files alone."""
    make_bad_files(tmp_path)
    before = digest(tmp_path)
    for command in ("inspect", "validate", "receipts", "next"):
        assert run([command, str(tmp_path / kind)]) == 1
        out, err = capfd.readouterr()
        assert out == ""
        check_sentence(err)
        assert kind in err
    assert digest(tmp_path) == before


@pytest.mark.parametrize("kind", KINDS)
def test_run_refuses_every_kind_and_appends_nothing(
    tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A runner on a bad session ends with a sentence."""
    make_bad_files(tmp_path)
    session = tmp_path / "session"
    if kind in {"missing", "directory", "journal-is-directory", "pipe"}:
        session = tmp_path / kind
    else:
        session.mkdir()
        (tmp_path / kind).rename(session / "session.jsonl")
    before = digest(tmp_path)
    assert run(["run", "--session", str(session), "--once"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    check_sentence(err)
    assert digest(tmp_path) == before


def test_the_executable_exits_as_its_commands_say(tmp_path: Path) -> None:
    """What the other tests see inside one process is what the installed command does."""
    done = wakefold("inspect", tmp_path / "missing")
    assert (done.returncode, done.stdout) == (1, "")
    check_sentence(done.stderr)
    assert wakefold("frobnicate").returncode == 2


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_permission_denied_is_one_sentence(
    tmp_path: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Root would be refused nothing, so the command runs as somebody else where it can."""
    path = write_session(tmp_path / "session", event(0))
    path.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        arguments = [str(path)] if command == "inspect" else ["--session", str(path), "--once"]
        code = run([command, *arguments])
    finally:
        os.seteuid(user)
    assert code == 1
    err = capfd.readouterr().err
    check_sentence(err)
    assert "permission denied" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ""),
        (["frobnicate"], "No such command"),
        (["inspect"], "Missing argument"),
        (["inspect", "a", "b"], "unexpected"),
        (["inspect", "a", "--now", "tomorrow 9am"], "no instant such as"),
        (["inspect", "a", "--now", "2027-02-29T09:00:00Z"], "no instant such as"),
        (["inspect", "a", "--profile", "mine"], "'seed', 'published'"),
        (["next", "a", "--count", "0"], "--count"),
        (["next", "a", "--zone", "CET"], "no zone such as"),
        (["run"], "--session"),
        (["run", "--frobnicate"], "No such option"),
        (["inspect", "a", "--line-bytes-max", "7"], "--line-bytes-max"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_2(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Usage faults are told apart from bad input by their exit code."""
    assert run(arguments) == 2
    err = capfd.readouterr().err
    if words:
        check_sentence(err)
    assert words in err


def test_conformance_of_no_directory_is_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A missing directory and a file in its place are bad input."""
    (tmp_path / "file").write_text("x")
    for name in ("missing", "file"):
        assert run(["conformance", str(tmp_path / name)]) == 1
        check_sentence(capfd.readouterr().err)
