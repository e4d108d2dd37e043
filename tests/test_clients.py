"""An agent that comes by itself: what an acknowledgement means, in logs of any making."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from journal_files import NOON_MS, event, write_session
from runner_world import living, put
from wakefold.conversations import USER_MESSAGE, read_input
from wakefold.events import Event, Json
from wakefold_shell.clocks import FixedClock
from wakefold_shell.errors import LostAnswerError
from wakefold_shell.hosts.clients import ClientAgent, encode_input, identify, was_taken
from wakefold_shell.runners import Runner
from wakefold_shell.sockets import ask

WORD: Json = {"content": [{"type": "text", "text": "x"}], "source": {"kind": "user"}, "role": "user"}


def queue(*messages: Json) -> bytes:
    spliced = {"target": "next-turn", "start": 0, "inserted": list(messages)}
    return event(0, "agent/inbox/spliced", spliced)


def leave(directory: Path) -> Runner:
    return Runner(directory, lambda _, __: ClientAgent(), FixedClock(NOON_MS))


@pytest.mark.parametrize("own", [None, 7, "", "a\nb", "\ud800"], ids=ascii)
def test_a_message_without_a_plain_id_has_one_all_the_same(own: object) -> None:
    """The same for the same message, another for another."""
    given = read_input({**WORD, "id": own}, 1)
    name = identify(given)
    assert name == identify(read_input({**WORD, "id": own}, 2))
    assert name != identify(read_input({**WORD, "id": own, "role": "other"}, 1))
    assert name.isascii()
    assert encode_input(given)["id"] == name
    assert was_taken([Event(USER_MESSAGE, 0, 1, given.message)], name)
    assert not was_taken([Event(USER_MESSAGE, 0, 1, WORD), Event(USER_MESSAGE, 1, 1, None)], "other")


@pytest.mark.anyio
@pytest.mark.parametrize("own", [None, "\ud800"], ids=ascii)
async def test_such_a_message_can_be_acknowledged(tmp_path: Path, own: object) -> None:
    write_session(tmp_path, queue({**WORD, "id": own}))
    async with living(leave(tmp_path)):
        (shown,) = (await put(tmp_path, {"show": "inbox"}))["value"]
        for _ in range(2):
            taken = await put(tmp_path, {"acknowledge": shown["id"]})
            assert taken["value"] == {"id": shown["id"], "acknowledged": True}
        assert (await put(tmp_path, {"show": "inbox"}))["value"] == []


@pytest.mark.anyio
async def test_many_acknowledge_one_message_at_once(tmp_path: Path) -> None:
    """It is taken once, and everybody is told so."""
    write_session(tmp_path, queue({**WORD, "id": "m"}))
    answers: list[Any] = []
    async with living(leave(tmp_path)):

        async def acknowledge() -> None:
            answers.append((await put(tmp_path, {"acknowledge": "m"}))["value"])

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(acknowledge)
    assert answers == [{"id": "m", "acknowledged": True}] * 5
    assert (tmp_path / "session.jsonl").read_text().count('"turn/start"') == 1


@pytest.mark.anyio
async def test_an_acknowledgement_that_is_not_durable_is_not_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is the inbox shown: whoever asks is told to look at the disk."""
    write_session(tmp_path, queue({**WORD, "id": "m"}))

    async def fail(_: object) -> bool:
        return False

    async with living(leave(tmp_path)):
        with monkeypatch.context() as patch:
            patch.setattr("wakefold_shell.stores.journal_store.JournalStore.flush", fail)
            answer = await put(tmp_path, {"show": "inbox"})
    assert answer["code"] == "persistence_uncertain"


@pytest.mark.anyio
async def test_a_request_that_a_session_ends_over_is_lost_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process as through the door; before and after, nobody lives there."""
    write_session(tmp_path, queue({**WORD, "id": "m"}))
    runner = leave(tmp_path)
    request: Json = {"show": "inbox"}
    assert await runner.ask(request) is None
    async with living(runner):
        assert await runner.ask(request) == await put(tmp_path, request)
        stuck: Json = {"acknowledge": "m"}
        monkeypatch.setattr(ClientAgent, "acknowledge", wait_for_ever)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_soon, runner)
            for ask_ in (runner.ask, partial(ask, tmp_path)):
                tasks.start_soon(lose, ask_, stuck)
    assert await runner.ask(request) is None


async def wait_for_ever(*_: object) -> None:
    await anyio.sleep_forever()


async def end_soon(runner: Runner) -> None:
    await anyio.sleep(0.1)
    runner.stop()


async def lose(ask_: Callable[[Json], Awaitable[object]], request: Json) -> None:
    with pytest.raises(LostAnswerError, match="ended before it answered"):
        await ask_(request)
