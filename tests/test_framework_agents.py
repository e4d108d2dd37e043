"""The agents of the frameworks: each scenario with both, on stub models; nothing reaches a network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from framework_agents import INSTRUCTIONS, KITS, NONE, Brain, Kit, Options, Seen, Thought, follow
from journal_files import HEADER, NOON_MS, create_at, write_session
from memory_world import HandClock, Life, MemoryStore, at, data_of, living, settle, types_of, until
from wakefold.conversations import Input
from wakefold.deliveries import trace_deliveries
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig
from wakefold.tools import ToolAnswer, ToolName
from wakefold_shell.clocks import FixedClock
from wakefold_shell.hosts.inboxes import Agent, Answer
from wakefold_shell.runners import Runner
from wakefold_shell.stores.rows import Header

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("kit", KITS, ids=lambda kit: type(kit).__name__),
]

SOON: Thought = ("schedule_create", {"prompt": "drink tea", "after_seconds": 60})
LIST: Thought = ("schedule_list", {})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Home:
    """A session whose agent is one of a framework; each life ends with its block."""

    def __init__(self, kit: Kit, place: Path, store: MemoryStore | None = None) -> None:
        self.kit, self.history = kit, place / "history"
        self.store = MemoryStore() if store is None else store
        self.clock = HandClock()
        self.life: Life | None = None

    async def call(self, tool: ToolName, arguments: object) -> ToolAnswer:
        assert self.life is not None
        return await self.life.session.call(tool, arguments)

    @asynccontextmanager
    async def live(
        self, brain: Brain, guard: GuardConfig | None = None, options: Options = NONE
    ) -> AsyncIterator[Life]:
        agent = self.kit.make_agent(brain, self.call, self.history, options)
        async with self.live_as(agent, guard) as life:
            yield life

    @asynccontextmanager
    async def live_as(self, agent: Agent, guard: GuardConfig | None = None) -> AsyncIterator[Life]:
        self.life = Life(self.store, agent, self.clock, guard=guard)
        async with living(self.life):
            yield self.life

    async def say(self, text: str) -> None:
        """Say something, and wait for the end of its turn."""
        assert self.life is not None
        await self.life.host.say(self.life.session, text, None)
        await self.life.rest()

    async def wake(self, brain: Brain) -> None:
        """Move the clock to what the session waits for, and wait for the end of the turn."""
        assert self.life is not None
        due_ms, asked = self.life.waits[-1], len(brain.seen)
        assert due_ms is not None
        self.clock.move(due_ms)
        await until(lambda: len(brain.seen) > asked)
        await self.life.rest()

    @property
    def ends(self) -> list[object]:
        """How each turn ended."""
        return [data["reason"] for data in data_of(self.store.events, "turn/end")]

    async def read_history(self) -> Seen:
        return await self.kit.read_history(self.history)


@pytest.fixture
def home(kit: Kit, tmp_path: Path) -> Home:
    return Home(kit, tmp_path)


def texts(seen: Seen, kind: str) -> list[str]:
    return [text for what, text in seen if what == kind]


async def test_the_model_makes_a_reminder_and_is_woken_by_it(home: Home) -> None:
    """It sees the whole conversation then, the reminder's frame at its end."""
    brain = follow(SOON, "I shall.", "Time for tea!")
    async with home.live(brain):
        await home.say("remind me to drink tea")
        await home.wake(brain)
    kinds = [kind for kind, _ in brain.seen[-1]]
    assert kinds == ["system", "user", "call", "result", "said", "user"]
    assert brain.seen[-1][:2] == [("system", INSTRUCTIONS), ("user", "remind me to drink tea")]
    (result,) = texts(brain.seen[-1], "result")
    assert json.loads(result)["id"] == "schedule-1"
    frame = texts(brain.seen[-1], "user")[-1]
    assert frame.startswith("[SCHEDULE REMINDER]\n")
    assert 'reminder_prompt_json: "drink tea"' in frame
    answers = data_of(home.store.events, "assistant/message")
    assert [answer["message"]["content"][0]["text"] for answer in answers] == [  # type: ignore[index]
        "I shall.",
        "Time for tea!",
    ]
    ((_, delivery),) = trace_deliveries(home.store.events).items()
    assert delivery.outcome == "handed-over"
    assert home.ends == 2 * [{"kind": "completed"}]


def make_again(seen: Seen) -> Thought:
    """An eager model's rule: whatever it is woken by, it wants to be woken again."""
    return SOON if seen[-1][0] == "user" else "Again!"


async def test_the_guard_stops_an_eager_model_which_reads_why(home: Home) -> None:
    """The refusal is the tool's result, the run goes on, and then nothing wakes it any more."""
    brain = Brain(make_again)
    async with home.live(brain, DEFAULT_CONFIG) as life:
        await home.say("remind me to drink tea, again and again")
        for _ in range(4):
            await home.wake(brain)
        assert life.waits[-1] is None
    *made, refused = [json.loads(text) for text in texts(brain.seen[-1], "result")]
    assert [view["id"] for view in made] == [f"schedule-{number}" for number in range(1, 5)]
    assert refused["isError"] is True
    assert refused["error"]["info"]["code"] == "SCHEDULE_HOURLY_CAP"
    assert len(trace_deliveries(home.store.events)) == 4
    assert home.ends == 5 * [{"kind": "completed"}]


async def test_a_model_that_is_down_is_a_failed_turn_and_takes_nothing_from_memory(home: Home) -> None:
    """The message stays in the history, and the next turn sees it before its own."""
    home.store = MemoryStore(at("a"))
    async with home.live(follow(ConnectionError("no route"))) as life:
        await life.rest()
    (end,) = home.ends
    assert end == {"kind": "failed", "error": "ConnectionError: no route"}
    (kept,) = texts(await home.read_history(), "user")
    assert '"prompt of a"' in kept
    brain = follow("Here again.")
    async with home.live(brain):
        await home.say("hello")
    assert texts(brain.seen[-1], "user") == [kept, "hello"]
    assert brain.seen[-1][0] == ("system", INSTRUCTIONS)
    assert home.ends[1:] == [{"kind": "completed"}]


@pytest.mark.parametrize("answered", [True, False])
async def test_a_run_that_breaks_off_leaves_a_history_to_go_on_from(
    home: Home, kit: Kit, answered: bool
) -> None:
    """Whether the tool had answered or not: at the limit of requests, and down after a tool."""
    options = kit.limit(1) if answered else NONE
    script: list[Thought | Exception] = [LIST] if answered else [LIST, ConnectionError("no route")]
    async with home.live(follow(*script), options=options):
        await home.say("what is there?")
    brain = follow("Nothing.")
    async with home.live(brain):
        await home.say("well?")
    assert [kind for kind, _ in brain.seen[-1]] == ["system", "user", "call", "result", "user"]
    failed, completed = home.ends
    assert isinstance(failed, dict)
    assert failed["kind"] == "failed"
    assert completed == {"kind": "completed"}


class Unbegun:
    """An agent that is never reached, or one whose turn cannot be noted as begun."""

    def __init__(self, agent: Agent | None) -> None:
        self.agent = agent

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        del begin

        def fail() -> None:
            raise OSError("disk")

        if self.agent is None:
            raise OSError("away")
        return await self.agent.answer(given, fail)


@pytest.mark.parametrize("reached", [False, True])
async def test_after_a_restart_before_the_turn_the_message_is_offered_again_and_kept_once(
    home: Home, kit: Kit, reached: bool
) -> None:
    """Also where the history has it already, and only the note is missing that its turn has begun."""
    home.store = MemoryStore(at("a"))
    agent = kit.make_agent(follow(), home.call, home.history)
    async with home.live_as(Unbegun(agent if reached else None)) as life:
        await until(lambda: life.host.trouble is not None)
    assert types_of(home.store.events[1:]) == ["agent/inbox/spliced", "schedule/change"]
    kept = await home.read_history() if reached else []
    assert [kind for kind, _ in kept] == (["user"] if reached else [])
    brain = follow("Noted.")
    async with home.live(brain) as life:
        await life.rest()
    assert brain.seen[-1][0] == ("system", INSTRUCTIONS)
    (frame,) = texts(brain.seen[-1], "user")
    assert '"prompt of a"' in frame
    assert home.ends == [{"kind": "completed"}]


async def test_two_runs_never_interleave(home: Home) -> None:
    """What is said, and what becomes due, during a run waits for its end."""
    home.store = MemoryStore(at("a", NOON_MS + 1))
    brain = follow("first", "second", "third")
    brain.hold = anyio.Event()
    async with home.live(brain) as life:
        await life.host.say(life.session, "one", None)
        await until(lambda: len(brain.seen) == 1)
        await life.host.say(life.session, "two", None)
        home.clock.move(NOON_MS + 1)
        await settle()
        assert len(brain.seen) == 1
        brain.hold.set()
        await until(lambda: len(brain.seen) == 3)
        await life.rest()
    history = [pair for pair in await home.read_history() if pair[0] != "system"]
    assert history[:4] == [("user", "one"), ("said", "first"), ("user", "two"), ("said", "second")]
    assert history[5:] == [("said", "third")]


async def test_a_run_that_is_cancelled_stays_in_the_history(home: Home) -> None:
    """The next life closes its turn as interrupted and does not offer its message again."""
    brain = follow()
    brain.hold = anyio.Event()
    async with home.live(brain) as life:
        await life.host.say(life.session, "one", None)
        await until(lambda: len(brain.seen) == 1)
    assert home.ends == []
    brain = follow("second")
    async with home.live(brain):
        await home.say("two")
    assert texts(brain.seen[-1], "user") == ["one", "two"]
    assert home.ends == [{"kind": "interrupted"}, {"kind": "completed"}]


async def test_a_run_that_is_cancelled_inside_a_tool_can_be_gone_on_from(home: Home) -> None:
    """The call without an answer is closed, or left out, as the framework does it."""

    async def never(tool: ToolName, arguments: object) -> ToolAnswer:
        del tool, arguments
        called.set()
        await anyio.sleep_forever()
        raise AssertionError

    called = anyio.Event()
    agent = home.kit.make_agent(follow(LIST), never, home.history)
    async with home.live_as(agent) as life:
        await life.host.say(life.session, "one", None)
        await called.wait()
    brain = follow(LIST, "second")
    async with home.live(brain):
        await home.say("two")
    assert texts(brain.seen[-1], "user") == ["one", "two"]
    assert texts(brain.seen[-1], "result")[-1] == "[]"
    assert home.ends == [{"kind": "interrupted"}, {"kind": "completed"}]


@pytest.mark.parametrize(
    ("thought", "code"),
    [
        (("schedule_create", {"prompt": "x"}), "invalid_selector"),
        (("schedule_create", {"prompt": "x", "after_seconds": 1, "loud": True}), "invalid_selector"),
        (("schedule_create", {"prompt": "x", "after_seconds": "1"}), "invalid_rule"),
        (("schedule_create", {"prompt": " ", "after_seconds": 1}), "invalid_prompt"),
        (("schedule_delete", {}), "invalid_rule"),
        (("schedule_list", {"all": True}), "invalid_selector"),
    ],
)
async def test_the_core_refuses_bad_arguments_and_the_model_reads_it(
    home: Home, thought: Thought, code: str
) -> None:
    """Whatever a framework does with schemas."""
    brain = follow(thought, "Sorry.")
    async with home.live(brain):
        await home.say("try")
    (result,) = texts(brain.seen[-1], "result")
    assert json.loads(result)["code"] == code
    assert home.ends == [{"kind": "completed"}]


@pytest.mark.parametrize("arguments", ['{"prompt": ', "[1]", '"x"', "NaN", ""])
@pytest.mark.parametrize("tool", ["schedule_create", "schedule_delete"])
async def test_arguments_that_are_no_object_are_answered_and_the_run_goes_on(
    home: Home, tool: str, arguments: str
) -> None:
    """By the framework or by the core; the second call is a sound one."""
    brain = follow((tool, arguments), SOON, "Done.")
    async with home.live(brain):
        await home.say("try")
    refused, made = texts(brain.seen[-1], "result")
    assert "scheduledAt" not in refused
    assert json.loads(made)["id"] == "schedule-1"
    assert home.ends == [{"kind": "completed"}]


async def test_a_list_without_arguments_is_a_list(home: Home) -> None:
    """Some models write nothing at all where a tool takes nothing."""
    brain = follow(("schedule_list", ""), "Empty.")
    async with home.live(brain):
        await home.say("list")
    assert texts(brain.seen[-1], "result") == ["[]"]


async def test_half_characters_reach_no_model_raw_and_break_nothing(home: Home) -> None:
    """In a word, in a stored prompt, and in what the model says itself."""
    home.store = MemoryStore(at("\ud800", NOON_MS + 1))
    brain = follow(LIST, "so \ud800", "fine")
    async with home.live(brain):
        await home.say("a \ud800 b \ud83d\ude00")
        await home.say("two")
    assert brain.seen[1][1] == ("user", "a \ufffd b \U0001f600")
    (result,) = texts(brain.seen[1], "result")
    assert '"id":"\\ud800"' in result
    assert texts(await home.read_history(), "said")[1] == "fine"
    assert home.ends == 2 * [{"kind": "completed"}]


async def test_half_characters_in_arguments_make_no_reminder_and_end_no_session(
    home: Home, kit: Kit
) -> None:
    """Pydantic AI has the model try again; the SDK hashes every call, and fails the run by that."""
    brain = follow(("schedule_create", '{"prompt":"\\ud800","after_seconds":60}'), "Odd.", "Fine.")
    async with home.live(brain):
        await home.say("one")
        await home.say("two")
    first, second = home.ends
    assert isinstance(first, dict)
    assert first["kind"] == ("completed" if kit.name == "Pydantic AI" else "failed")
    assert second == {"kind": "completed"}
    assert "schedule/change" not in types_of(home.store.events)


@pytest.mark.parametrize("trouble", [RuntimeError("broken"), TimeoutError()])
async def test_a_tool_whose_session_is_gone_answers_and_ends_no_run(
    home: Home, trouble: Exception
) -> None:
    """The model reads of an internal error, and nothing of what it was."""

    async def fail(tool: ToolName, arguments: object) -> ToolAnswer:
        del tool, arguments
        raise trouble

    brain = follow(LIST, "I cannot.")
    async with home.live_as(home.kit.make_agent(brain, fail, home.history)):
        await home.say("list")
    (result,) = texts(brain.seen[-1], "result")
    assert json.loads(result)["code"] == "internal_error"
    assert "broken" not in result
    assert home.ends == [{"kind": "completed"}]


async def test_killed_in_the_middle_of_a_run_the_agent_remembers_what_it_was_given(
    kit: Kit, tmp_path: Path
) -> None:
    """The next life closes the turn as interrupted, and does not offer the message again."""
    journal = write_session(tmp_path, create_at(0))
    with start_stuck_agent(tmp_path, kit) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"asked\n"
        process.kill()
    brain = follow("Here again.")

    def make_host(place: Path, header: Header) -> Agent:
        assert header.id == HEADER["id"]
        return kit.make_agent(brain, runner.call, place / "history")

    runner = Runner(tmp_path, make_host, FixedClock(NOON_MS))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            await tasks.start(runner.run)
            await runner.say("hello")
            await until(lambda: b'"Here again."' in journal.read_bytes())
            runner.stop()
    frame, word = texts(brain.seen[0], "user")
    assert frame.startswith("[SCHEDULE REMINDER]\n")
    assert word == "hello"
    assert journal.read_bytes().count(b'"reason":{"kind":"interrupted"}') == 1


def start_stuck_agent(directory: Path, kit: Kit) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("stuck_agent.py")
    return subprocess.Popen(
        [sys.executable, script, directory, str(KITS.index(kit))], stdout=subprocess.PIPE
    )


def test_another_event_loop_is_refused_in_a_sentence(kit: Kit, tmp_path: Path) -> None:
    """The agent is not reached, so that the message stays in the inbox."""

    async def live() -> None:
        home = Home(kit, tmp_path, MemoryStore(at("a")))
        async with home.live(follow()) as life:
            await until(lambda: life.host.trouble is not None)
        assert str(life.host.trouble) == (
            f"{kit.name} runs on asyncio only: run the session with anyio.run(..., backend='asyncio')."
        )
        assert life.host.busy

    anyio.run(live, backend="trio")
