"""Programs that play the transcripts over a pipe: sound ones pass, a breach is told in a sentence."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from command import EXECUTABLE, wakefold
from wakefold.json_text import parse_json
from wakefold_laws import shell_processes
from wakefold_laws.conformance import FileReport, check_directory, judge_shell
from wakefold_laws.shell_testers import BREACHES_MAX, ShellTester
from wakefold_shell.errors import ShellError

HERE = Path(__file__).parent
VECTORS = HERE / "vectors"

RUDIMENT = """
import json, os, sys, time
def send(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()
def receive():
    return json.loads(sys.stdin.readline() or sys.exit())
def greet(protocol=1):
    send(id=receive()["id"], ok={"protocol": protocol})
"""
"""How a program begins that is about to go wrong."""


def sample(directory: Path, name: str, every: int) -> Path:
    """A directory with some of a file's cases."""
    directory.mkdir(exist_ok=True)
    lines = (VECTORS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    (directory / f"{name}.jsonl").write_bytes(b"".join(lines[::every]))
    return directory


def judge(directory: Path, command: Sequence[str], seconds_max: float = 10) -> tuple[FileReport, ...]:
    names = [path.stem for path in sorted(directory.glob("*.jsonl"))]
    with closing(ShellTester(command, seconds_max)) as tester:
        return check_directory(directory, names, bench=judge_shell(tester))


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A handful of owner transcripts."""
    return sample(tmp_path / "few", "owner", 150)


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A single owner transcript."""
    return sample(tmp_path / "one", "owner", 1000)


def fail_first(directory: Path, program: str, seconds_max: float = 10) -> tuple[str, tuple[str, ...]]:
    """Why the first transcript fails with a program, and what the program said."""
    (report,) = judge(directory, [sys.executable, "-c", RUDIMENT + program], seconds_max)
    assert report.passed == 0
    return report.failures[0].reason, report.failures[0].said


def test_a_shell_that_waits_for_each_reply_plays_a_sample(tmp_path: Path) -> None:
    """The synchronous shell, as a program that knows nothing of the core's pipe."""
    command = [sys.executable, str(HERE / "piped_shell.py")]
    (report,) = judge(sample(tmp_path / "some", "owner", 4), command)
    assert report.failures == ()
    assert report.passed == 51


BREACHES = {
    "greet(); receive(); sys.exit(3)": "ended (exit status 3), after 'begin'.",
    "greet(); receive(); os.kill(os.getpid(), 9)": "ended (signal 9), after 'begin'.",
    "sys.exit(0)": "ended (exit status 0), after 'hello'.",
    "greet(); receive(); os.close(1); time.sleep(60)": "closed its standard output, after 'begin'.",
    "greet(); receive(); print('ready', flush=True)": (
        'wrote "ready", which is no message (The line is no JSON (Expecting value: line 1 column 1 '
        "(char 0))), after 'begin'."
    ),
    "greet(); receive(); os.write(1, b'\\xff\\n')": (
        "wrote \"\\\\xff\", which is no message (The line is not UTF-8 (at its byte 0)), after 'begin'."
    ),
    "greet(); receive(); print([1], flush=True)": (
        "wrote \"[1]\", which is no message (A message is a JSON object (given [1])), after 'begin'."
    ),
    "greet(2)": (
        "speaks another protocol (Protocol 2 is unknown here: this program speaks 1), after 'hello'."
    ),
    "send(id=receive()['id'], error={'code': 'unknown_version', 'message': 'I speak 2.'})": (
        'replied {"code":"unknown_version","message":"I speak 2."} to \'hello\', after \'hello\'.'
    ),
    "greet(); receive(); send(id=1, op='wait')": (
        "asked what it cannot ask ($.op must be one of read_log, read_clock, append, queue, claim, "
        "release, flush, arm, disarm, await_idle, warn, answer, recompute, disposed "
        "(given \"wait\")), after 'begin'."
    ),
    "greet(); receive(); send(id=1, op='arm', untilMs=1, delayMs='1')": (
        "asked what it cannot ask ($.delayMs must be a whole number (given \"1\")), after 'begin'."
    ),
    "greet(); receive(); send(op='flush')": (
        "asked what it cannot ask (A request needs an id, a text or a number), after 'begin'."
    ),
    "send(id=1, op='flush'); time.sleep(60)": (
        "asked for something before any session had begun, after 'hello'."
    ),
    "greet(); send(id=99, ok=None)": "replied to 99, which waits for no reply, after 'begin'.",
    "greet(); send(id=receive()['id'], error={'code': 'broken', 'message': 'No.'})": (
        'replied {"code":"broken","message":"No."} to \'begin\', after \'begin\'.'
    ),
    "greet(); receive(); send(id=1, op='queue', message='hello'); time.sleep(60)": (
        "queued a message that is no frame (\"hello\"), after 'begin'."
    ),
}


@pytest.mark.parametrize("program", BREACHES)
def test_each_breach_is_told_in_a_sentence(one: Path, program: str) -> None:
    """The program ends, or writes, asks or replies what it may not."""
    assert fail_first(one, program)[0] == f"the shell {BREACHES[program]}"


@pytest.mark.parametrize(
    "program",
    [
        "greet(); receive(); time.sleep(60)",
        "time.sleep(60)",
        "greet(); receive()\nwhile True: send(id=1, op='read_clock'); receive()",
        "greet(); receive()\nwhile True: send(id=1, op='disarm')",
        "greet(); os.close(0); time.sleep(60)",
    ],
)
def test_a_program_that_never_settles_is_ended(one: Path, program: str) -> None:
    """It hangs, at the start or later, or asks for ever: its time limit ends it."""
    started = time.monotonic()
    reason, _ = fail_first(one, program, 1)
    happened = "hello" if program.startswith("time") else "begin"
    assert reason == f"the shell did not settle within 1 s, after {happened!r}."
    assert time.monotonic() - started < 20


OTHERWISE = {
    "greet()\nwhile True: send(id=receive()['id'], ok=None)": (
        'expect[0].effects[0]: expected {"effect": "flush"}, got nothing'
    ),
    "greet()\nwhile True:\n"
    "  told = receive()['id']; send(id=1, op='claim'); receive(); send(id=told, ok=None)": (
        'expect[0].effects[0]: expected {"effect": "flush"}, '
        'got {"effect": "claim", "result": "granted"}'
    ),
    "greet()\nwhile True:\n"
    "  told = receive()\n"
    "  if told['op'] == 'begin': send(id=1, op='flush')\n"
    "  else: send(id=1, op='arm', untilMs=1, delayMs=10**9)\n"
    "  receive(); send(id=told['id'], ok=None)": (
        "expect[0].effects[1].delay_ms: expected 5000, got 1000000000"
    ),
}


@pytest.mark.parametrize("program", OTHERWISE)
def test_what_a_program_does_otherwise_is_told_by_its_place(one: Path, program: str) -> None:
    """Nothing, another effect, another value; the place is that in the case's expectation."""
    assert fail_first(one, program)[0] == OTHERWISE[program]


def test_a_program_that_keeps_the_world_going_is_stopped(few: Path) -> None:
    """A timer that is set again whenever it fires would have a transcript last for ever."""
    program = (
        "greet()\nwhile True:\n"
        "  told = receive()['id']; send(id=1, op='arm', untilMs=0, delayMs=0); receive()\n"
        "  send(id=told, ok=None)"
    )
    (report,) = judge(sample(few, "owner", 103), [sys.executable, "-c", RUDIMENT + program])
    reason = "the shell goes on and on: more than 3000 things happened in a transcript, after "
    assert report.failures[1].reason == f"{reason}'timer_fired'."


def test_what_a_program_said_last_is_shown(one: Path) -> None:
    """The end of its standard error, that of a program which stayed alive, too."""
    dying = "greet(); receive(); raise ValueError('there is no tea')"
    assert fail_first(one, dying)[1][-1] == "ValueError: there is no tea"
    living = "greet(); print('I do nothing', file=sys.stderr, flush=True)\n"
    living += "while True: send(id=receive()['id'], ok=None)"
    assert fail_first(one, living)[1] == ("I do nothing",)


def test_a_line_without_end_is_refused(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the limit nothing more is kept of it."""
    monkeypatch.setattr(shell_processes, "LINE_BYTES_MAX", 10_000)
    reason, _ = fail_first(one, "greet(); receive(); os.write(1, b'x' * 20_000); time.sleep(60)")
    assert reason == "the shell wrote a line of more than 10000 bytes, after 'begin'."


def test_the_run_goes_on_with_a_new_process(few: Path, tmp_path: Path) -> None:
    """One transcript is lost where the program died, the others pass."""
    mark = tmp_path / "has-died"
    program = (
        f"import pathlib, runpy, sys\nmark = pathlib.Path({str(mark)!r})\n"
        "if not mark.exists():\n    mark.touch()\n    sys.stdin.readline()\n"
        '    print(\'{"id":1,"ok":{"protocol":1}}\', flush=True)\n    sys.exit(1)\n'
        f"sys.path.insert(0, {str(HERE)!r})\nrunpy.run_path({str(HERE / 'piped_shell.py')!r}, "
        "run_name='__main__')\n"
    )
    (report,) = judge(sample(few, "owner", 30), [sys.executable, "-c", program])
    assert [failed.line for failed in report.failures] == [1]
    assert report.passed == 6


def test_a_program_that_breaks_again_and_again_is_given_up(tmp_path: Path) -> None:
    """After some breaches in a row it is not started again, and the rest is told as not played."""
    directory = sample(tmp_path / "more", "owner", 20)
    (report,) = judge(directory, [sys.executable, "-c", RUDIMENT + "greet(); receive(); sys.exit(3)"])
    reasons = [failed.reason for failed in report.failures]
    assert reasons[:BREACHES_MAX] == ["the shell ended (exit status 3), after 'begin'."] * BREACHES_MAX
    assert set(reasons[BREACHES_MAX:]) == {"not played: the shell broke 5 transcripts in a row."}
    assert len(reasons) == 11


def test_a_program_that_does_not_greet_is_started_once(few: Path) -> None:
    """Nothing can be played with it."""
    (report,) = judge(few, [sys.executable, "-c", RUDIMENT + "greet(2)"])
    late = {failed.reason for failed in report.failures[1:]}
    assert late == {"not played: the shell does not get past 'hello', see the case before."}


def test_a_program_that_does_not_end_is_ended_with_all_that_it_started(one: Path) -> None:
    """It has two seconds after its input has ended."""
    program = (
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"
        "print(child.pid, file=sys.stderr, flush=True)\ngreet()\n"
        "while True:\n"
        "  line = sys.stdin.readline()\n"
        "  if not line: time.sleep(60)\n"
        "  send(id=json.loads(line)['id'], ok=None)"
    )
    _, (pid,) = fail_first(one, program)
    look = ["ps", "-o", "stat=", "-p", pid]
    state = subprocess.run(look, capture_output=True, text=True, check=False).stdout.strip()
    assert state == "" or state.startswith("Z")


def test_a_program_that_cannot_be_started_is_an_error() -> None:
    """Told once, before anything is judged."""
    with pytest.raises(ShellError, match=r'^the shell "nope" cannot be started \(no such file'):
        ShellTester(["nope"]).start()
    with pytest.raises(ShellError, match="embedded null byte"):
        ShellTester(["no\0pe"]).start()


def test_every_happening_and_wish_is_one_json_object_a_line(few: Path, tmp_path: Path) -> None:
    """What goes over the pipe, seen from between: the ids of each end are its own."""
    log = tmp_path / "log"
    program = (
        "import subprocess, sys, threading\n"
        f"log = open({str(log)!r}, 'ab', buffering=0)\n"
        f"child = subprocess.Popen([sys.executable, {str(HERE / 'piped_shell.py')!r}], "
        "stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)\n"
        "def carry(source, sink):\n"
        "    for line in source:\n        log.write(line); sink.write(line); sink.flush()\n"
        "    sink.close()\n"
        "threading.Thread(target=carry, args=(sys.stdin.buffer, child.stdin)).start()\n"
        "carry(child.stdout, sys.stdout.buffer)\n"
    )
    (report,) = judge(few, [sys.executable, "-c", program])
    assert report.failures == ()
    messages = [parse_json(line) for line in log.read_text("utf-8").splitlines()]
    assert messages[0] == {"id": 1, "op": "hello", "protocol": 1}
    assert messages[1] == {"id": 1, "ok": {"protocol": 1}}
    assert len(messages) > 60


# The command.


def test_other_files_are_said_not_to_be_judged(tmp_path: Path) -> None:
    """They count as skipped; one of the two that is missing is a failure."""
    directory = sample(sample(tmp_path / "some", "owner", 60), "zone", 100)
    shell = shlex.join([sys.executable, str(HERE / "piped_shell.py")])
    done = wakefold("conformance", directory, "--shell", shell)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "file   passed  failed  skipped",
        "owner  4       0       0",
        "tools  0       1       0",
        "zone   0       0       6",
        "tools:0: -: there is no vector file tools.jsonl",
        "not judged, since they are no shell's business: zone",
        "4 passed, 1 failed",
    ]
    done = wakefold("conformance", directory, "--only", "owner", "--shell", shell, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    counts = {"passed": 4, "failed": 0, "skipped": 0, "failures": []}
    assert json.loads(done.stdout) == {"files": [{"name": "owner", "judged": True, **counts}]}


def test_the_command_shows_what_the_program_said(few: Path) -> None:
    """Below the failure, and in the JSON."""
    program = RUDIMENT + "greet(); receive(); sys.exit('no tea \\x1b[31m')"
    shell = shlex.join([sys.executable, "-c", program])
    done = wakefold("conformance", few, "--only", "owner", "--shell", shell)
    assert done.returncode == 1
    assert done.stdout.splitlines()[2:4] == [
        "owner:1: status_not_idle_v0: the shell ended (exit status 1), after 'begin'.",
        "    no tea \\u001b[31m",
    ]
    assert done.stdout.splitlines()[-1] == "0 passed, 2 failed"
    done = wakefold("conformance", few, "--only", "owner", "--shell", shell, "--json")
    failure = json.loads(done.stdout)["files"][0]["failures"][0]
    assert failure["said"] == ["no tea \x1b[31m"]


def test_a_bar_shows_on_a_terminal_and_nowhere_else(few: Path) -> None:
    """It counts the cases; standard output is as ever."""
    terminal, stderr = pty.openpty()
    shell = shlex.join([sys.executable, "-c", RUDIMENT + "greet(2)"])
    done = subprocess.run(
        [EXECUTABLE, "conformance", few, "--only", "owner", "--shell", shell],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "TERM": "xterm-256color"},
        timeout=60,
        check=False,
    )
    os.close(stderr)
    shown = os.read(terminal, 100_000)
    os.close(terminal)
    assert b"judging" in shown
    assert done.stdout.splitlines()[-1] == b"0 passed, 2 failed"


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["--shell", ""], 2, "--shell needs a command such as 'node shell.mjs'"),
        (["--shell", "a 'b"], 2, '--shell: no closing quotation in "a \'b"'),
        (["--shell", "x", "--only", "zone"], 2, "--only zone: with --shell only owner and tools are"),
        (["--shell", "x", "--time-limit", "0"], 2, "0.0 is not in the range x>=0.01"),
        (["--time-limit", "5"], 2, "--time-limit goes with --shell"),
        (
            ["--shell", "nope --now"],
            1,
            'the shell "nope" cannot be started (no such file or directory)',
        ),
    ],
)
def test_wrong_use_is_told_in_a_sentence(options: list[str], status: int, sentence: str) -> None:
    """On standard error, and nothing is judged."""
    done = wakefold("conformance", VECTORS, *options)
    assert (done.returncode, done.stdout) == (status, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
