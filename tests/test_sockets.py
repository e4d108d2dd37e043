"""The door of a live session: one request, one answer, whatever comes to it; on asyncio and on trio."""

from __future__ import annotations

import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream, SocketListener, SocketStream

from wakefold.events import Json
from wakefold.json_text import parse_json
from wakefold_shell import sockets
from wakefold_shell.errors import JournalError, ShellError
from wakefold_shell.sockets import SOCKET_NAME, ask, open_door, serve

pytestmark = pytest.mark.anyio

NO_OBJECT: Json = {"error": "the request is no JSON object."}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is the working one, so that plain clients reach its socket by a short name."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_deep(directory: Path) -> Path:
    """A directory below another, its path longer than any socket's address."""
    deep = directory / ("d" * 150) / "é"
    deep.mkdir(parents=True)
    return deep


def name_entries(directory: Path) -> list[str]:
    return [entry.name for entry in directory.iterdir()]


async def echo(request: Json) -> Json:
    return {"value": request}


@asynccontextmanager
async def serving(
    directory: Path, answer: Callable[[Json], Awaitable[Json]] = echo
) -> AsyncIterator[None]:
    """A door that is served as long as the block lasts."""
    with anyio.fail_after(30):
        async with open_door(directory) as door, anyio.create_task_group() as tasks:
            tasks.start_soon(serve, door, answer)
            yield
            tasks.cancel_scope.cancel()


async def send_raw(content: bytes) -> bytes:
    """What comes back for these bytes, until the connection ends."""
    heard = b""
    async with await anyio.connect_unix(SOCKET_NAME) as connection:
        with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
            await connection.send(content)
            while True:
                heard += await connection.receive()
    return heard


async def test_a_request_gets_its_answer_through_a_socket_of_ones_own(tmp_path: Path) -> None:
    """Any JSON object goes there and back, and nobody else may knock."""
    place = tmp_path / SOCKET_NAME
    request: Json = {"text": "é\n\u2028\ud83d", "list": [1, None, {"big": "x" * 1_000_000}]}
    async with serving(tmp_path):
        assert stat.S_ISSOCK(place.lstat().st_mode)
        assert stat.S_IMODE(place.lstat().st_mode) == 0o600
        assert await ask(tmp_path, request) == {"value": request}
        assert await ask(tmp_path, {}) == {"value": {}}
    assert not place.exists()


async def test_a_directory_may_have_a_longer_path_than_a_socket_address(tmp_path: Path) -> None:
    """The way to it is shortened, and nothing is left behind."""
    deep = make_deep(tmp_path)
    async with serving(deep):
        assert stat.S_IMODE((deep / SOCKET_NAME).lstat().st_mode) == 0o600
        assert await ask(deep, {"n": 1}) == {"value": {"n": 1}}
    assert name_entries(deep) == []
    assert await ask(deep, {"n": 1}) is None


async def test_a_long_relative_path_means_the_same_directory(here: Path) -> None:
    """It is relative to where the program stands, not to where its short name is kept."""
    deep = make_deep(here).relative_to(here)
    async with serving(deep):
        assert await ask(here / deep, {"n": 1}) == {"value": {"n": 1}}
        assert await ask(deep, {"n": 2}) == {"value": {"n": 2}}


async def test_nobody_listens_where_no_socket_or_a_stale_one_is(here: Path) -> None:
    """Both are told alike: there is no answer."""
    assert await ask(here / "missing", {}) is None
    assert await ask(here, {}) is None
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(SOCKET_NAME)
    assert await ask(here, {}) is None


async def test_the_socket_of_a_dead_process_is_replaced(here: Path) -> None:
    """Whoever holds the writer's lock takes its place."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(SOCKET_NAME)
    async with serving(here):
        assert await ask(here, {"n": 1}) == {"value": {"n": 1}}


async def test_a_regular_file_in_its_place_is_named_and_left_alone(tmp_path: Path) -> None:
    """Nothing of somebody else's is removed."""
    place = tmp_path / SOCKET_NAME
    place.write_text("mine")
    with pytest.raises(JournalError, match="remove what stands in its place") as caught:
        async with open_door(tmp_path):
            pytest.fail("it was opened")
    assert str(caught.value).startswith(f"{place}: ")
    assert place.read_text() == "mine"


async def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The system's words, in one sentence."""
    with pytest.raises(JournalError, match="no such file or directory"):
        async with open_door(tmp_path / "missing"):
            pytest.fail("it was opened")


async def test_the_socket_is_removed_when_the_block_fails(tmp_path: Path) -> None:
    """Whatever ends a session, nobody is sent to a door behind which it no longer lives."""
    with pytest.raises(LookupError):
        async with open_door(tmp_path):
            raise LookupError
    assert name_entries(tmp_path) == []


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "content",
    [
        b"GET / HTTP/1.1\r\n",
        b"\n",
        b"[1]\n",
        b'"text"\n',
        b"null\n",
        b"NaN\n",
        b"\xff\xfe\n",
        b"\0\0\n",
        b'{"a":1}{"b":2}\n',
        b"[" * 200_000 + b"\n",
    ],
    ids=["http", "empty", "list", "text", "null", "nan", "not-utf-8", "nul", "two", "deep"],
)
async def test_what_is_no_object_is_told_so(content: bytes) -> None:
    """One clear answer, and the next request is answered as ever."""
    async with serving(Path()):
        assert parse_json((await send_raw(content)).decode()) == NO_OBJECT
        assert await ask(Path(), {"n": 1}) == {"value": {"n": 1}}


@pytest.mark.usefixtures("here")
async def test_one_connection_is_one_request() -> None:
    """What follows the first line is not read."""
    async with serving(Path()):
        assert await send_raw(b'{"n":1}\n{"n":2}\n') == b'{"value":{"n":1}}\n'


@pytest.mark.usefixtures("here")
async def test_a_line_without_end_is_not_taken_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection ends without an answer, and others are answered as ever."""
    monkeypatch.setattr(sockets, "_LINE_BYTES_MAX", 10_000)
    async with serving(Path()):
        assert await send_raw(b"x" * 2_000_000) == b""
        assert await ask(Path(), {"n": 1}) == {"value": {"n": 1}}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("content", [b"", b'{"n":', b'{"n":1}\n'], ids=["nothing", "half", "whole"])
async def test_a_client_that_leaves_does_no_harm(content: bytes) -> None:
    """Gone before its request was whole, or before its answer."""
    asked: list[Json] = []

    async def answer(request: Json) -> Json:
        asked.append(request)
        return {"value": "x" * 1_000_000}

    async with serving(Path(), answer):
        async with await anyio.connect_unix(SOCKET_NAME) as connection:
            if content:
                await connection.send(content)
        assert await ask(Path(), {"n": 2}) == {"value": "x" * 1_000_000}
    assert asked[-1] == {"n": 2}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("content", [b"", b'{"n":'], ids=["nothing", "half"])
async def test_a_client_that_says_no_more_is_shown_out(
    monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """After its time, without an answer; meanwhile others are answered."""
    monkeypatch.setattr(sockets, "_REQUEST_SECONDS_MAX", 0.2)
    async with serving(Path()), await anyio.connect_unix(SOCKET_NAME) as silent:
        if content:
            await silent.send(content)
        assert await ask(Path(), {"n": 1}) == {"value": {"n": 1}}
        with pytest.raises(anyio.EndOfStream):
            await silent.receive()
        assert await ask(Path(), {"n": 2}) == {"value": {"n": 2}}


@pytest.mark.usefixtures("here")
async def test_an_answer_may_take_longer_than_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit is for the client: a tool waits for its turn and for the disk."""
    monkeypatch.setattr(sockets, "_REQUEST_SECONDS_MAX", 0.1)

    async def answer(request: Json) -> Json:
        await anyio.sleep(0.3)
        return request

    async with serving(Path(), answer):
        assert await ask(Path(), {"n": 1}) == {"n": 1}


async def test_a_moment_without_descriptors_shuts_no_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes then is let in a little later."""
    turns = iter([True, False, False])  # whether the system lets one in

    with anyio.fail_after(30):
        async with open_door(tmp_path) as door, anyio.create_task_group() as tasks:
            accepts = type(door).accept

            async def accept(listener: SocketListener) -> SocketStream:
                if not next(turns, True):
                    raise anyio.BrokenResourceError
                return await accepts(listener)

            monkeypatch.setattr(type(door), "accept", accept)
            tasks.start_soon(serve, door, echo)
            assert await ask(tmp_path, {"n": 1}) == {"value": {"n": 1}}
            assert await ask(tmp_path, {"n": 2}) == {"value": {"n": 2}}
            assert next(turns, None) is None
            tasks.cancel_scope.cancel()


async def test_several_clients_are_served_at_a_time(tmp_path: Path) -> None:
    """Each answer waits until all have asked, and each client gets its own."""
    numbers = range(20)
    asked: list[Json] = []
    answers: dict[int, Json | None] = {}
    complete = anyio.Event()

    async def answer(request: Json) -> Json:
        asked.append(request)
        if len(asked) == len(numbers):
            complete.set()
        await complete.wait()
        return request

    async def put(number: int) -> None:
        answers[number] = await ask(tmp_path, {"n": number})

    async with serving(tmp_path, answer), anyio.create_task_group() as clients:
        for number in numbers:
            clients.start_soon(put, number)
    assert answers == {number: {"n": number} for number in numbers}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("said", [b"", b'{"value":', b"nonsense\n"], ids=["nothing", "half", "garbage"])
async def test_a_server_that_ends_before_its_answer_is_told_with_what_to_do(said: bytes) -> None:
    """Nobody knows whether the request was carried out: the list says."""

    async def attend(connection: ByteStream) -> None:
        async with connection:
            await connection.receive()
            if said:
                await connection.send(said)

    with anyio.fail_after(30):
        async with (
            await anyio.create_unix_listener(SOCKET_NAME) as listener,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(listener.serve, attend)
            with pytest.raises(
                ShellError, match=r"ended before it answered; look with 'wakefold list'"
            ):
                await ask(Path(), {"n": 1})
            tasks.cancel_scope.cancel()
