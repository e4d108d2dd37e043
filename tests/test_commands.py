"""An agent that is a command: what it is given, what is kept of it, and how it is ended."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tracemalloc
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from journal_files import NOON, NOON_MS
from memory_world import (
    Life,
    MemoryStore,
    at,
    data_of,
    every,
    live_out,
    living,
    settle,
    types_of,
    until,
)
from wakefold import Event
from wakefold.conversations import Input
from wakefold.deliveries import trace_deliveries
from wakefold.events import Json
from wakefold_shell import processes
from wakefold_shell.errors import ShellError
from wakefold_shell.hosts import commands
from wakefold_shell.hosts.commands import INHERITED, OUTPUT_BYTES_MAX, CommandAgent
from wakefold_shell.hosts.inboxes import ANSWER_BYTES_MAX, Answer

pytestmark = pytest.mark.anyio

ENVIRONMENT = {"WAKEFOLD_SESSION": "/the/session", "WAKEFOLD_SESSION_ID": "session-test"}
ONE = Input({}, NOON_MS, "text", (("schedule-1", NOON_MS),))
TWO = Input({}, NOON_MS, "text", (("a", NOON_MS), ("b", NOON_MS + 1)))
PERSON = Input({}, NOON_MS, "text")

SHOW_ENVIRONMENT = (
    "import json, os\n"
    "names = [k for k in os.environ if k.startswith(('WAKEFOLD_S', 'WAKEFOLD_O'))]\n"
    "print(json.dumps({k: os.environ[k] for k in names}))"
)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever refuses to end is given less time than people give it."""
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(commands, "_PIPE_SECONDS", 0.2)


class Run:
    """One input given to a command, and what was told of it."""

    def __init__(
        self,
        *command: str,
        seconds_max: float = 30,
        output_bytes_max: int = OUTPUT_BYTES_MAX,
        pass_env: Sequence[str] = (),
    ) -> None:
        self.output = b""
        self.ends: list[tuple[Input, Answer]] = []
        self.begun = self.duration_ms = 0
        self.agent = CommandAgent(
            command,
            ENVIRONMENT,
            seconds_max,
            self._hear,
            self._note_end,
            output_bytes_max=output_bytes_max,
            pass_env=pass_env,
        )

    async def answer(self, given: Input = PERSON) -> Answer:
        """The answer, but for how long it took."""
        with anyio.fail_after(10):
            answer = await self.agent.answer(given, self._begin)
        assert self.ends[-1:] == [(given, answer)]
        assert answer.duration_ms is not None
        self.duration_ms = answer.duration_ms
        return Answer(answer.text, answer.kind, answer.detail)

    def _begin(self) -> None:
        self.begun += 1

    def _hear(self, chunk: bytes) -> None:
        self.output += chunk

    def _note_end(self, given: Input, answer: Answer) -> None:
        self.ends.append((given, answer))


def python(script: str) -> tuple[str, ...]:
    return (sys.executable, "-c", script)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is only not yet waited for does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in {"Z", "X"}
    return False


def read_lines(path: Path) -> list[str]:
    """What a command has written so far, whole lines only."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


async def read_pids(path: Path, count: int) -> list[int]:
    """The process ids that a command has written, one a line."""
    await until(lambda: len(read_lines(path)) == count)
    return list(map(int, read_lines(path)))


async def wait_gone(pids: Sequence[int]) -> None:
    """Return once none of the processes runs any more."""
    await until(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize(
    "text",
    ["", "hello\n", "x" * 1_000_000, "a\0b\ud800c \U0001f600\n\n"],
    ids=["nothing", "a line", "1 MB", "NUL and surrogates"],
)
@pytest.mark.parametrize("reads", [True, False])
async def test_the_message_is_whole_on_standard_input(
    text: str, tmp_path: Path, *, reads: bool
) -> None:
    """Neither its length nor its characters matter, nor whether the command reads it."""
    copy = tmp_path / "copy"
    run = Run("sh", "-c", f"cat > {shlex.quote(str(copy))}" if reads else "exit 0")
    answer = await run.answer(Input({}, NOON_MS, text))
    assert answer == Answer(None, "completed", {"exitStatus": 0})
    assert run.begun == 1
    if reads:
        assert copy.read_bytes() == text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (
            ONE,
            {
                "WAKEFOLD_SOURCE": "reminder",
                "WAKEFOLD_OCCURRENCES": [{"id": "schedule-1", "occurrenceAt": NOON}],
                "WAKEFOLD_SCHEDULE_ID": "schedule-1",
                "WAKEFOLD_OCCURRENCE_AT": NOON,
            },
        ),
        (
            TWO,
            {
                "WAKEFOLD_SOURCE": "reminder",
                "WAKEFOLD_OCCURRENCES": [
                    {"id": "a", "occurrenceAt": NOON},
                    {"id": "b", "occurrenceAt": "2027-01-04T12:00:00.001Z"},
                ],
            },
        ),
        (PERSON, {"WAKEFOLD_SOURCE": "person", "WAKEFOLD_OCCURRENCES": []}),
        (
            Input({}, NOON_MS, "text", (("a\0\ud800", NOON_MS),)),
            {
                "WAKEFOLD_SOURCE": "reminder",
                "WAKEFOLD_OCCURRENCES": [{"id": "a\0\ud800", "occurrenceAt": NOON}],
                "WAKEFOLD_OCCURRENCE_AT": NOON,
            },
        ),
    ],
    ids=["single", "batch", "person", "unsayable id"],
)
async def test_the_environment_names_the_session_and_what_is_delivered(
    given: Input, named: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it names nothing that an outer command of ours was given."""
    monkeypatch.setenv("WAKEFOLD_SCHEDULE_ID", "of an outer command")
    monkeypatch.setenv("WAKEFOLD_OCCURRENCE_AT", "of an outer command")
    monkeypatch.setenv("WAKEFOLD_SOMETHING", "of an outer command")
    answer = await Run(*python(SHOW_ENVIRONMENT)).answer(given)
    assert answer.text is not None
    seen = json.loads(answer.text)
    seen["WAKEFOLD_OCCURRENCES"] = json.loads(seen["WAKEFOLD_OCCURRENCES"])
    assert seen == {**ENVIRONMENT, **named}


@pytest.mark.parametrize(
    ("script", "kind", "text", "detail"),
    [
        ("echo done", "completed", "done\n", {"exitStatus": 0}),
        ("exit 0", "completed", None, {"exitStatus": 0}),
        ("echo half; exit 3", "failed", "half\n", {"exitStatus": 3}),
        ("kill -KILL $$", "failed", None, {"exitStatus": -9}),
        ("printf 'a\\377b'", "completed", "a\N{REPLACEMENT CHARACTER}b", {"exitStatus": 0}),
    ],
)
async def test_output_and_exit_status_are_the_answer(
    script: str, kind: str, text: str | None, detail: Json
) -> None:
    """Whoever listens hears the same."""
    run = Run("sh", "-c", script)
    answer = await run.answer(ONE)
    assert (answer.kind, answer.text, answer.detail) == (kind, text, detail)
    assert run.output.decode("utf-8", "replace") == (text or "")


@pytest.mark.parametrize("limit", [1, 70_000, 1_000_000])
async def test_a_command_that_floods_is_ended_with_its_children(limit: int, tmp_path: Path) -> None:
    """Nothing beyond the limit is passed on, only an answer is kept, and the turn has failed."""
    pids = tmp_path / "pids"
    script = f"echo $$ > {pids}; sleep 60 & echo $! >> {pids}; exec yes"
    run = Run("sh", "-c", script, output_bytes_max=limit)
    answer = await run.answer(ONE)
    assert (answer.kind, answer.detail) == ("failed", {"outputBytesMax": limit})
    assert len(run.output) == limit
    assert answer.text is not None
    assert len(answer.text) <= ANSWER_BYTES_MAX + len("\n[... cut]")
    await wait_gone(await read_pids(pids, 2))


async def test_a_flood_takes_no_memory() -> None:
    """What is beyond the answer is let go as it comes."""
    command = ("head", "-c", "200000000", "/dev/zero")
    sizes: list[int] = []
    agent = CommandAgent(
        command, {}, 30, lambda chunk: sizes.append(len(chunk)), output_bytes_max=300_000_000
    )
    tracemalloc.start()
    with anyio.fail_after(30):
        answer = await agent.answer(ONE, lambda: None)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (answer.kind, sum(sizes)) == ("completed", 200_000_000)
    assert peak_bytes < 20_000_000


async def test_a_command_inherits_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is listed, the locale, and what is passed by name; the message is in no variable."""
    for name in ("AWS_SECRET_ACCESS_KEY", "WAKEFOLD_WEBHOOK_SECRET", "PASSED", "LD_PRELOAD_"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("WAKEFOLD_NO_CHECKPOINT", "1")
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    given = Input({}, NOON_MS, "the whole message", (("a", NOON_MS),))
    seen: list[dict[str, str]] = []
    for passed in ((), ("PASSED", "NOT_SET")):
        answer = await Run(*python(script), pass_env=passed).answer(given)
        seen.append(json.loads(answer.text or ""))
    ours = {*ENVIRONMENT, "WAKEFOLD_SOURCE", "WAKEFOLD_OCCURRENCES"}
    ours |= {"WAKEFOLD_SCHEDULE_ID", "WAKEFOLD_OCCURRENCE_AT"}
    left = {name for name in seen[0] if name not in INHERITED and not name.startswith("LC_")}
    assert left == ours
    assert {"PATH", "LC_TIME", "WAKEFOLD_NO_CHECKPOINT"} <= set(seen[0])
    assert set(seen[1]) - set(seen[0]) == {"PASSED"}
    assert "the whole message" not in str(seen)


@pytest.mark.parametrize("over", [0, 1, 200_000])
async def test_a_long_output_is_cut_in_the_log_and_passed_on_whole(over: int) -> None:
    """The cut is marked; what is exactly as long as the limit is not cut."""
    size = ANSWER_BYTES_MAX + over
    run = Run(*python(f"print('x' * {size}, end='')"))
    answer = await run.answer()
    assert run.output == b"x" * size
    assert answer.text == "x" * ANSWER_BYTES_MAX + ("\n[... cut]" if over else "")


async def test_what_a_command_did_stands_in_the_log() -> None:
    """The turn's end holds the exit status, the answer the output, and the trace says failed."""
    store = MemoryStore(at("a", NOON_MS - 1), every("e"))
    run = Run("sh", "-c", 'test -n "$WAKEFOLD_SCHEDULE_ID" && echo "$WAKEFOLD_SCHEDULE_ID"; exit 3')
    life = await live_out(store, run.agent)
    assert life.host.trouble is None
    reasons = [data["reason"] for data in data_of(store.events, "turn/end")]
    assert reasons == [{"kind": "failed", "exitStatus": 3}] * 2
    took_ms = [data["durationMs"] for data in data_of(store.events, "step/end")]
    assert took_ms == [answer.duration_ms for _, answer in run.ends]
    traced = trace_deliveries(store.events).values()
    assert [delivery.duration_ms for delivery in traced] == took_ms
    assert "agent/inbox/spliced" not in types_of(store.events[-2:]), "a command is never run again"
    assert [given.occurrences for given, _ in run.ends] == [(("a", NOON_MS - 1),), (("e", NOON_MS),)]
    said = [str(data["message"]) for data in data_of(store.events, "assistant/message")]
    assert [name in text for name, text in zip(("a\\n", "e\\n"), said, strict=True)] == [True, True]
    assert {delivery.outcome for delivery in trace_deliveries(store.events).values()} == {"failed"}


async def test_the_time_limit_ends_a_command_and_its_children(tmp_path: Path) -> None:
    """The log keeps what it had said by then, and by which limit it was ended."""
    pids = tmp_path / "pids"
    script = f"echo begun; echo $$ > {pids}; sleep 60 & echo $! >> {pids}; wait"
    run = Run("sh", "-c", script, seconds_max=0.8)
    answer = await run.answer(ONE)
    assert answer == Answer("begun\n", "failed", {"secondsMax": 0.8})
    assert 800 <= run.duration_ms < 10_000
    await wait_gone(await read_pids(pids, 2))


@pytest.mark.parametrize(
    "script",
    [
        "trap '' TERM; echo $$ > {pids}; echo $$ >> {pids}; sleep 60",
        "sh -c 'trap \"\" TERM; echo $$ >> {pids}; sleep 60' & echo $! >> {pids}; wait",
    ],
    ids=["the command", "its child"],
)
async def test_what_ignores_the_request_to_end_is_killed(script: str, tmp_path: Path) -> None:
    """After a moment of grace, be it the command itself or something that it started."""
    pids = tmp_path / "pids"
    run = Run("sh", "-c", script.format(pids=pids), seconds_max=0.8)
    answer = await run.answer()
    assert answer.detail == {"secondsMax": 0.8}
    await wait_gone(await read_pids(pids, 2))


async def test_a_command_that_ends_well_at_the_request_was_still_ended_by_the_limit() -> None:
    """Its own exit status then tells nothing."""
    run = Run("sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.02; done", seconds_max=0.2)
    assert (await run.answer()).detail == {"secondsMax": 0.2}


async def test_what_a_command_leaves_behind_does_not_hold_the_turn(tmp_path: Path) -> None:
    """A child in the background may keep the pipe open, and lives on as the command wished."""
    pids = tmp_path / "pids"
    run = Run("sh", "-c", f"sleep 60 & echo $! > {pids}; echo said")
    answer = await run.answer()
    assert answer == Answer("said\n", "completed", {"exitStatus": 0})
    (pid,) = await read_pids(pids, 1)
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


async def test_a_listener_that_breaks_fails_the_turn_and_ends_the_command(tmp_path: Path) -> None:
    """The log names what broke, not the group that carried it; the session goes on."""
    pids = tmp_path / "pids"

    def break_off(_: bytes) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    command = ["sh", "-c", f"echo $$ > {pids}; echo said; exec sleep 60"]
    store = MemoryStore(at("a"))
    life = await live_out(store, CommandAgent(command, ENVIRONMENT, 30, break_off))
    assert life.host.trouble is None
    error = "BrokenPipeError: [Errno 32] Broken pipe"
    assert data_of(store.events, "turn/end") == [
        {"turn": 1, "reason": {"kind": "failed", "error": error}}
    ]
    await wait_gone(await read_pids(pids, 1))


@pytest.mark.parametrize("problem", ["not there", "no right to run it", "no program"])
async def test_a_command_that_cannot_be_started_is_a_sentence_and_the_input_stays(
    problem: str, tmp_path: Path
) -> None:
    """The next life, with the command mended, gives the same message."""
    place = tmp_path / "agent"
    if problem != "not there":
        place.write_bytes(b"\0\1\2")
        place.chmod(0o600 if problem == "no right to run it" else 0o700)
    store = MemoryStore(at("a"))
    run = Run(str(place))
    life = Life(store, run.agent)
    with anyio.fail_after(5):
        await life.run()
    assert isinstance(life.host.trouble, ShellError)
    assert "cannot be started" in str(life.host.trouble)
    assert "stays in the inbox" in str(life.host.trouble)
    assert store.batches == [["agent/inbox/spliced", "schedule/change"]]
    assert run.ends == []
    mended = Run("sh", "-c", "exit 0")
    await live_out(store, mended.agent)
    assert [given.occurrences for given, _ in mended.ends] == [(("a", NOON_MS),)]


async def test_a_command_whose_turn_cannot_be_written_is_ended(tmp_path: Path) -> None:
    """It has been started, but the log does not know: it comes again with the next life."""
    pids = tmp_path / "pids"
    store = MemoryStore(at("a"))
    store.hold = anyio.Event()
    run = Run("sh", "-c", f"echo $$ > {pids}; exec sleep 60")
    life = Life(store, run.agent)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(life.run)
            await until(lambda: store.flushes == 1)
            store.let_one()
            await until(lambda: store.flushes == 2)
            store.broken = {"append"}
            store.hold.set()
    assert isinstance(life.host.trouble, OSError)
    await wait_gone(list(map(int, read_lines(pids))))


@pytest.mark.parametrize("begun", [False, True], ids=["just started", "in its turn"])
@pytest.mark.parametrize("stubborn", [False, True])
async def test_cancelled_while_a_command_runs_nothing_of_it_is_left(
    tmp_path: Path, *, stubborn: bool, begun: bool
) -> None:
    """The command and its child are gone within 2 s, and nothing is written."""
    pids = tmp_path / "pids"
    trap = "trap '' TERM;" if stubborn else ""
    store = MemoryStore(at("a"))
    run = Run("sh", "-c", f"{trap} echo $$ > {pids}; sleep 60 & echo $! >> {pids}; wait")
    found: list[int] = []
    left: list[Event] = []
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Life(store, run.agent).run)
            if begun:
                await until(lambda: "turn/start" in types_of(store.events))
            found += await read_pids(pids, 2)
            left += store.events
            tasks.cancel_scope.cancel()
    with anyio.fail_after(2):
        await wait_gone(found)
    assert store.events == left
    assert run.ends == []
    outcome = trace_deliveries(store.events)["a", NOON_MS].outcome
    assert outcome == "under-way" if begun else outcome in {"under-way", "waiting"}


async def test_a_person_speaks_while_a_command_runs_and_is_answered_after_it(tmp_path: Path) -> None:
    """One command at a time."""
    go = tmp_path / "go"
    script = f'test -n "$WAKEFOLD_SCHEDULE_ID" && until test -e {go}; do sleep 0.01; done; cat'
    store = MemoryStore(at("a"))
    run = Run("sh", "-c", script)
    async with living(Life(store, run.agent)) as life:
        await until(lambda: "turn/start" in types_of(store.events))
        await life.host.say(life.session, "hello", None)
        await settle()
        assert run.ends == []
        go.touch()
        await until(lambda: len(run.ends) == 2)
        await life.rest()
    assert run.output.endswith(b"hello")
    assert [bool(given.occurrences) for given, _ in run.ends] == [True, False]
