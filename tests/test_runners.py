"""A session directory lived in: delivery, door, end and failure; on asyncio and on trio."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from journal_files import NOON, NOON_MS, create_at, create_every, event, write_session
from runner_world import LIST, Crew, living, make_runner, put, read_rows, until_open
from wakefold import format_instant
from wakefold.conversations import Input, make_message, name_person
from wakefold.events import Json
from wakefold.tools import answer_value
from wakefold_shell.clocks import FixedClock, SystemClock
from wakefold_shell.errors import CompositionError, ShellError, UnavailableError
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.hosts.inboxes import Answer
from wakefold_shell.runners import Runner
from wakefold_shell.sockets import SOCKET_NAME, ask
from wakefold_shell.stores.journal_store import OwnedError, hold_lock

pytestmark = pytest.mark.anyio


async def until(look: Callable[[], object]) -> None:
    while not look():
        await anyio.sleep(0.01)


async def run_once(directory: Path, crew: Crew, now_ms: int = NOON_MS) -> None:
    with anyio.fail_after(30):
        await make_runner(directory, crew, FixedClock(now_ms), once=True).run()


def list_reasons(directory: Path) -> list[dict[str, Any]]:
    """Why each turn ended."""
    return [row["data"]["reason"] for row in read_rows(directory)[1:] if row["type"] == "turn/end"]


def queue_word(seq: int, text: str) -> bytes:
    """The line of a person's word that waits for the agent."""
    message = make_message(f"m{seq}", text, name_person(f"r{seq}", None))
    return event(seq, "agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [message]})


async def test_once_delivers_what_is_due_and_ends(tmp_path: Path) -> None:
    """The frame is a turn of the agent's; dispatch and answer are in the log, and the door is shut."""
    write_session(
        tmp_path, create_at(0, prompt="stretch"), create_at(1, "b", at="2099-01-01T00:00:00.000Z")
    )
    crew, waits = Crew("done"), list[int | None]()
    with anyio.fail_after(30):
        await Runner(tmp_path, crew.make, FixedClock(NOON_MS), once=True, on_wait=waits.append).run()
    assert waits == []
    (text,) = crew.texts
    assert text.endswith('reminder_prompt_json: "stretch"')
    assert crew.given[0].occurrences == (("schedule-1", NOON_MS),)
    rows = read_rows(tmp_path)[1:]
    assert [row["seq"] for row in rows] == list(range(len(rows)))
    assert [row["data"].get("operation") for row in rows if row["type"] == "schedule/change"] == [
        *("create", "create", "dispatch"),
    ]
    (answer,) = [row for row in rows if row["type"] == "assistant/message"]
    assert answer["data"]["message"]["content"] == [{"type": "text", "text": "done"}]
    assert list_reasons(tmp_path) == [{"kind": "completed"}]
    assert not (tmp_path / SOCKET_NAME).exists()
    await run_once(tmp_path, crew)
    assert len(crew.texts) == 1


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        ([], []),
        ([event(0)], []),
        ([create_at(0, at="2099-01-01T00:00:00.000Z")], []),
        ([queue_word(0, "hello")], ["hello"]),
        ([create_at(0, at="2099-01-01T00:00:00.000Z"), queue_word(1, "hello")], ["hello"]),
        ([event(0, "turn/start", {"turn": 4}), event(1, "step/start", {"turn": 4, "step": 1})], []),
    ],
    ids=["empty", "foreign", "nothing-due", "word", "word-and-schedule", "open-turn"],
)
async def test_once_ends_when_nothing_is_due_and_no_turn_is_left(
    tmp_path: Path, lines: list[bytes], texts: list[str]
) -> None:
    """What waits in the inbox is given its turn first, with or without any reminder."""
    write_session(tmp_path, *lines)
    crew = Crew()
    await run_once(tmp_path, crew)
    assert crew.texts == texts
    kinds = [row["type"] for row in read_rows(tmp_path)[1:]]
    assert kinds.count("turn/start") == kinds.count("turn/end")


async def test_once_gives_every_batch_its_turn_before_it_ends(tmp_path: Path) -> None:
    """One-shots in the order of their targets, then the repeats."""
    write_session(
        tmp_path, create_at(0), create_at(1, "b"), create_every(2, "e", at=NOON), create_every(3, "f")
    )
    crew = Crew()
    await run_once(tmp_path, crew)
    delivered = [[schedule_id for schedule_id, _ in given.occurrences] for given in crew.given]
    assert delivered == [["schedule-1"], ["b"], ["e", "f"]]


async def test_a_live_runner_delivers_at_the_instant_and_tells_what_it_waits_for(
    tmp_path: Path,
) -> None:
    """It fires by itself, and afterwards nothing is planned."""
    target_ms = SystemClock().read_ms() + 400
    write_session(tmp_path, create_at(0, at=format_instant(target_ms)))
    crew, waits = Crew(), list[int | None]()
    runner = Runner(tmp_path, crew.make, SystemClock(), on_wait=waits.append)
    async with living(runner):
        await until(lambda: list_reasons(tmp_path))
        await until(lambda: waits[-1] is None)
    assert len(crew.texts) == 1
    assert waits[0] == target_ms
    (dispatch,) = [row for row in read_rows(tmp_path)[1:] if row["data"].get("operation") == "dispatch"]
    assert dispatch["time"] >= target_ms


async def test_the_tools_are_served_through_the_door(tmp_path: Path) -> None:
    """The answer is the tool's value, with the session's zone; a refusal is a value, too."""
    write_session(tmp_path, header={"timeZone": "Europe/Berlin"})
    async with living(make_runner(tmp_path, Crew())):
        create: Json = {"tool": "schedule_create", "arguments": {"prompt": "x", "after_seconds": 60}}
        created = await put(tmp_path, create)
        assert created["value"]["id"] == "schedule-1"
        assert created["value"]["scheduledAt"] == "2027-01-04T12:01:00.000Z"
        assert await ask(tmp_path, LIST) == {"value": [created["value"]], "timeZone": "Europe/Berlin"}
        refused = await put(tmp_path, {"tool": "schedule_create", "arguments": {"prompt": "x"}})
        assert refused["value"]["code"] == "invalid_selector"
        delete: Json = {"tool": "schedule_delete", "arguments": {"id": "schedule-1"}}
        deleted = await put(tmp_path, delete)
        assert deleted["value"] == {"id": "schedule-1", "deleted": True}
        assert await ask(tmp_path, LIST) == {"value": [], "timeZone": "Europe/Berlin"}
    assert [row["data"]["operation"] for row in read_rows(tmp_path)[1:]] == ["create", "delete"]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
async def test_a_word_through_the_door_is_given_to_the_agent(tmp_path: Path, zone: str | None) -> None:
    """It is queued, becomes a turn with its source, and the answer follows it in the log."""
    write_session(tmp_path)
    crew = Crew("hi")
    async with living(make_runner(tmp_path, crew)):
        said = await put(tmp_path, {"say": "hello", "clientTimeZone": zone})
        assert said["value"]["queued"] is True
        await until(lambda: list_reasons(tmp_path))
    assert crew.texts == ["hello"]
    rows = [row["data"] for row in read_rows(tmp_path)[1:] if row["type"] == "user/message"]
    assert rows[0]["id"] == said["value"]["id"]
    assert rows[0]["source"]["kind"] == "user"
    assert rows[0]["source"].get("clientTimeZone") == zone


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({}, "use one of its own version"),
        ({"tool": "schedule_change", "arguments": {}}, "use one of its own version"),
        ({"tool": ["schedule_list"]}, "use one of its own version"),
        ({"say": 1}, "use one of its own version"),
        ({"show": "outbox"}, "use one of its own version"),
        ({"acknowledge": 1}, "use one of its own version"),
        ({"say": "x", "clientTimeZone": "europe/berlin"}, "canonical name such as Europe/Berlin"),
        ({"say": "x", "clientTimeZone": 1}, "canonical name such as Europe/Berlin"),
    ],
)
async def test_what_the_door_does_not_know_is_answered_in_words(
    tmp_path: Path, request_: Json, words: str
) -> None:
    """One sentence, nothing is written, and the runner lives on."""
    path = write_session(tmp_path)
    before = path.read_bytes()
    async with living(make_runner(tmp_path, Crew())):
        answer = await put(tmp_path, request_)
        assert "value" not in answer
        assert words in answer["error"]
        assert await ask(tmp_path, LIST) == {"value": [], "timeZone": None}
    assert path.read_bytes() == before


@pytest.mark.parametrize("arguments", [None, 1, [], {"id": 1}, {"prompt": "x", "after_seconds": "1"}])
@pytest.mark.parametrize("tool", ["schedule_create", "schedule_delete"])
async def test_bad_arguments_are_refused_by_the_tool_itself(
    tmp_path: Path, tool: str, arguments: object
) -> None:
    """As the tools refuse everywhere: a value with its code and message."""
    write_session(tmp_path)
    async with living(make_runner(tmp_path, Crew())):
        answer = await put(tmp_path, {"tool": tool, "arguments": arguments})
    assert list(answer["value"])[:2] == ["code", "message"]
    assert len(read_rows(tmp_path)) == 1


async def test_a_program_calls_and_speaks_to_its_own_runner_once_it_has_started(tmp_path: Path) -> None:
    """Without the door; before the start and after the end it is told that nobody lives there."""
    crew = Crew("hi")
    write_session(tmp_path)
    runner = make_runner(tmp_path, crew)
    with pytest.raises(UnavailableError, match="does not live: run it first"):
        await runner.say("too early")
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            await tasks.start(runner.run)
            answer = await runner.call("schedule_create", {"prompt": "x", "after_seconds": 60})
            message_id = await runner.say("hello", "Europe/Berlin")
            await until(lambda: crew.given)
            runner.stop()
    assert answer_value(answer) == {
        "id": "schedule-1",
        "kind": "after",
        "prompt": "x",
        "afterSeconds": 60,
        "scheduledAt": format_instant(NOON_MS + 60_000),
        "state": "scheduled",
        "deliveryMode": "session-local",
    }
    (given,) = crew.given
    assert (given.text, given.message["id"]) == ("hello", message_id)
    with pytest.raises(UnavailableError, match="does not live: run it first"):
        await runner.call("schedule_list", {})


async def test_a_runner_that_cannot_start_says_so_to_whom_waits_for_it(tmp_path: Path) -> None:
    """The start raises what the run raises."""
    runner = make_runner(tmp_path / "nowhere", Crew())
    with pytest.raises(ExceptionGroup) as raised:
        async with anyio.create_task_group() as tasks:
            await tasks.start(runner.run)
    (trouble,) = raised.value.exceptions
    assert isinstance(trouble, ShellError)
    assert "nowhere" in str(trouble)


async def test_a_stop_ends_it_with_nothing_half_written(tmp_path: Path) -> None:
    """In the middle of a turn: the log is sound, and the next runner closes the turn as interrupted."""
    write_session(tmp_path, create_at(0))
    crew = Crew("never")
    crew.hold = anyio.Event()
    async with living(make_runner(tmp_path, crew)):
        await until(lambda: crew.given)
    assert not (tmp_path / SOCKET_NAME).exists()
    assert list_reasons(tmp_path) == []
    for _ in range(2):
        again = Crew()
        await run_once(tmp_path, again)
        assert again.texts == []
        assert list_reasons(tmp_path) == [{"kind": "interrupted"}]


async def test_a_stop_before_the_start_is_heard(tmp_path: Path) -> None:
    """Nothing is delivered."""
    path = write_session(tmp_path, create_at(0))
    before = path.read_bytes()
    crew = Crew()
    runner = make_runner(tmp_path, crew)
    runner.stop()
    with anyio.fail_after(30):
        await runner.run()
    assert crew.texts == []
    assert path.read_bytes() == before


async def test_a_cancelled_runner_lets_lock_and_door_go(tmp_path: Path) -> None:
    """Cancellation reaches whoever asked for it, the first time (C91)."""
    write_session(tmp_path, create_at(0, at="2099-01-01T00:00:00.000Z"))
    runner = make_runner(tmp_path, Crew())
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            await until_open(tmp_path)
            tasks.cancel_scope.cancel()
    assert not (tmp_path / SOCKET_NAME).exists()
    with hold_lock(tmp_path):
        pass


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(
    ("barriers", "words"),
    [
        (0, r"^the store does not confirm that the log is durable: check the disk, run again\.$"),
        (1, r"^a dispatch is not confirmed, the reminder may come again: check the disk\.$"),
    ],
)
async def test_a_disk_that_confirms_no_more_ends_it_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, barriers: int, words: str, *, once: bool
) -> None:
    """The first warning is the last: no message is given away, and the next runner gives it once."""
    confirmed: list[int] = []

    def sync(descriptor: int) -> None:
        if len(confirmed) == barriers:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        confirmed.append(descriptor)

    write_session(tmp_path, create_at(0))
    crew = Crew()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", sync)
        with anyio.fail_after(30), pytest.raises(ShellError, match=words):
            await make_runner(tmp_path, crew, once=once).run()
    assert crew.texts == []
    await run_once(tmp_path, crew, NOON_MS + 1)
    assert [given.occurrences for given in crew.given] == [(("schedule-1", NOON_MS),)]


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (ShellError("the agent is away."), r"^the agent is away\.$"),
        (BrokenPipeError(), r"^nobody reads standard output any more; the reminder stays in the inbox"),
        (LookupError("secret"), r"^the agent could not be given its turn \(LookupError\); the message"),
    ],
)
async def test_an_agent_that_cannot_be_reached_ends_it_and_keeps_the_message(
    tmp_path: Path, trouble: Exception, words: str
) -> None:
    """One sentence without anything of the backend's; the next runner offers the message again."""

    class Absent:
        async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
            del given, begin
            raise trouble

    write_session(tmp_path, create_at(0))
    with anyio.fail_after(30), pytest.raises(ShellError, match=words) as caught:
        await Runner(tmp_path, lambda *_: Absent(), FixedClock(NOON_MS)).run()
    assert "secret" not in str(caught.value)
    assert list_reasons(tmp_path) == []
    crew = Crew()
    await run_once(tmp_path, crew, NOON_MS + 1)
    assert [given.occurrences for given in crew.given] == [(("schedule-1", NOON_MS),)]


async def test_an_agent_that_fails_in_its_turn_is_kept_in_the_log(tmp_path: Path) -> None:
    """The turn ends as failed, and the session goes on with the next reminder."""

    async def fail(_: Input) -> str | None:
        raise LookupError("no model")

    write_session(tmp_path, create_at(0), create_at(1, "b"))
    with anyio.fail_after(30):
        await Runner(tmp_path, lambda *_: CallbackAgent(fail), FixedClock(NOON_MS), once=True).run()
    assert list_reasons(tmp_path) == [{"kind": "failed", "error": "LookupError: no model"}] * 2


async def test_a_corrupt_log_is_named_with_its_line(tmp_path: Path) -> None:
    """It ends in the log's own words, and not a byte is written."""
    path = write_session(tmp_path, create_at(0), create_at(1))
    before = path.read_bytes()
    with (
        anyio.fail_after(30),
        pytest.raises(ShellError, match=r":3 \(byte \d+\): corrupt_schedule_log"),
    ):
        await make_runner(tmp_path, Crew()).run()
    assert path.read_bytes() == before
    assert not (tmp_path / SOCKET_NAME).exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "the file is empty"), (b'{"type":"session","version":1}\n', "version 1 is unknown")],
)
async def test_what_is_no_journal_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    """Nothing is made of it."""
    (tmp_path / "session.jsonl").write_bytes(content)
    with anyio.fail_after(30), pytest.raises(ShellError, match=words):
        await make_runner(tmp_path, Crew()).run()
    assert (tmp_path / "session.jsonl").read_bytes() == content


async def test_a_child_session_is_refused_in_words(tmp_path: Path) -> None:
    """Children have no reminders."""
    path = write_session(tmp_path, create_at(0), header={"delegationDepth": 1})
    before = path.read_bytes()
    with (
        anyio.fail_after(30),
        pytest.raises(CompositionError, match=r"child session.* has no reminders"),
    ):
        await make_runner(tmp_path, Crew()).run()
    assert path.read_bytes() == before


async def test_a_second_runner_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    """One writer; the first is not disturbed, and its door stays open."""
    write_session(tmp_path)
    async with living(make_runner(tmp_path, Crew())):
        with pytest.raises(OwnedError, match=f"process {os.getpid()} owns this session"):
            await make_runner(tmp_path, Crew()).run()
        assert await ask(tmp_path, LIST) == {"value": [], "timeZone": None}


async def test_a_torn_tail_is_told_once_and_cut_by_the_first_append(tmp_path: Path) -> None:
    """What a crash left behind stands in nobody's way."""
    path = write_session(tmp_path, create_at(0))
    path.write_bytes(path.read_bytes() + b'{"type":"sch')
    told: list[str] = []
    crew = Crew()
    with anyio.fail_after(30):
        await Runner(tmp_path, crew.make, FixedClock(NOON_MS), once=True, tell=told.append).run()
    assert len(told) == 1
    assert "the last write was cut off" in told[0]
    assert len(crew.texts) == 1
    assert list_reasons(tmp_path) == [{"kind": "completed"}]


async def test_a_reminder_of_an_unknown_zone_is_told_and_others_are_delivered(
    tmp_path: Path,
) -> None:
    """Once in a life, with what to do; the session goes on, and the reminder keeps its place."""
    rule = {"kind": "daily", "time": "12:00:00.000", "timeZone": "Mars/Base", "scheduledAt": NOON}
    lost = {"version": 2, "operation": "create", "schedule": {"id": "b", "prompt": "x", **rule}}
    write_session(tmp_path, create_at(0), event(1, "schedule/change", lost), create_at(2, "c"))
    told: list[str] = []
    crew = Crew()
    with anyio.fail_after(30):
        await Runner(tmp_path, crew.make, FixedClock(NOON_MS), once=True, tell=told.append).run()
    (sentence,) = told
    assert sentence == (
        f'{tmp_path}: reminder "b" is due and passed over, since this tz database lacks its zone, '
        "Mars/Base: install a newer tzdata and run again, or update the reminder's zone."
    )
    assert len(crew.texts) == 2
    (view,) = await live_list(tmp_path)
    assert (view["id"], view["state"]) == ("b", "overdue")


async def live_list(directory: Path) -> list[Json]:
    """The reminders that a runner lists once it lives."""
    async with living(make_runner(directory, Crew())):
        answer = await put(directory, LIST)
    value: list[Json] = answer["value"]
    return value
