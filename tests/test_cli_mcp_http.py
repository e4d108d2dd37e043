"""`wakefold mcp --http` as a process: real sessions, the official client, signals and kills."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ResourceUpdatedNotification
from msgspec import Struct

from command import EXECUTABLE, wakefold, wakefold_json
from mcp_world import MODES, Mode, World
from web_service import BEARER, TOKEN, Service, status

pytestmark = pytest.mark.anyio

ERAS: Final = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def anyio_backend() -> str:
    """uvicorn runs on asyncio alone."""
    return "asyncio"


class Served(Struct):
    """A server's process, where it listens, and what it has written."""

    process: subprocess.Popen[bytes]
    port: int
    stdout: Path
    stderr: Path

    @property
    def service(self) -> Service:
        return Service(self.port, [], anyio.Event())

    def end(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """The exit status after a signal, and how many seconds it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(20), time.monotonic() - began


@contextmanager
def serving(scratch: Path, *arguments: str | Path) -> Iterator[Served]:
    """The real command on a port of its own, ended with the block."""
    scratch.mkdir(exist_ok=True)
    stdout, stderr = scratch / "stdout", scratch / "stderr"
    command = [EXECUTABLE, "mcp", "--http", "127.0.0.1:0", *map(str, arguments)]
    with stdout.open("wb") as out, stderr.open("wb") as err:
        environment = {**os.environ, "WAKEFOLD_MCP_TOKEN": TOKEN}
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
    try:
        deadline = time.monotonic() + 20
        while not (found := re.search(r"listening on http://127.0.0.1:(\d+)/mcp", stderr.read_text())):
            assert process.poll() is None, stderr.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield Served(process, int(found[1]), stdout, stderr)
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def connected(served: Served, mode: Mode) -> AsyncIterator[World]:
    """A client that has listed the tools, and therefore checks every answer."""
    heard: list[Any] = []

    async def hear(message: object) -> None:
        heard.append(message)

    headers = {"Authorization": f"Bearer {TOKEN}"}
    with anyio.fail_after(40):
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http_client:
            transport = streamable_http_client(served.service.url, http_client=http_client)
            client = Client(transport, mode=mode, message_handler=hear, read_timeout_seconds=10)
            async with client:
                await client.list_tools()
                yield World(client, heard)


async def create(world: World, prompt: str) -> str:
    """The id of a new reminder, which is not due yet."""
    made = await world.call("schedule_create", prompt=prompt, after_seconds=600)
    return str(made["reminder"]["id"])


def list_ids(session: Path) -> list[str]:
    """What the command line sees, whoever owns the session."""
    return [view["id"] for view in wakefold_json("list", "--session", session)]


@ERAS
async def test_every_tool_and_resource_of_a_session_is_reached(tmp_path: Path, mode: Mode) -> None:
    """Refusals and errors, too; what was made is in the log."""
    session = tmp_path / "s"
    with serving(tmp_path, "--session", session) as served:
        async with connected(served, mode) as world:
            tools = {tool.name for tool in (await world.client.list_tools()).tools}
            assert {"schedule_create", "schedule_list", "schedule_delete"} <= tools
            made = await create(world, "water")
            refused = await world.refuse("schedule_create", prompt="often", every_seconds=1)
            assert refused["code"] == "SCHEDULE_TOO_FREQUENT"
            assert (await world.refuse("schedule_delete", id=7))["message"]
            resources = (await world.client.list_resources()).resources
            assert any(made in str(resource.uri) for resource in resources)
            for resource in resources:
                assert await world.read(str(resource.uri))
            with pytest.raises(MCPError, match="no resource has such a URI"):
                await world.client.read_resource("wakefold://nonsense")
            assert list_ids(session) == [made]
            assert (await world.call("schedule_delete", id=made))["deleted"]
            assert list_ids(session) == []


async def until_updated(world: World) -> None:
    while not any(isinstance(message, ResourceUpdatedNotification) for message in world.heard):
        await anyio.sleep(0.02)


@ERAS
async def test_a_reminder_that_fires_is_told_shown_and_acknowledged(tmp_path: Path, mode: Mode) -> None:
    """Clients that listen hear of it; the next call shows it until it is acknowledged."""
    with serving(tmp_path, "--session", tmp_path / "s") as served:
        async with connected(served, mode) as world:
            await world.call("schedule_create", prompt="stretch", after_seconds=1)
            (uri,) = {
                str(resource.uri)
                for resource in (await world.client.list_resources()).resources
                if str(resource.uri).endswith("/inbox")
            }
            if mode == "legacy":
                with pytest.warns(MCPDeprecationWarning):
                    await world.client.session.subscribe_resource(uri)
                await until_updated(world)
            else:
                async with world.client.listen(resource_subscriptions=[uri]) as events:
                    await anext(aiter(events))
            (message,) = await world.until_inbox(1)
            assert '"stretch"' in message["text"]
            await world.call("inbox_acknowledge", id=message["id"])
            assert await world.until_inbox(0) == []
    (receipt,) = wakefold_json("receipts", tmp_path / "s")["receipts"]
    assert receipt["prompt"] == "stretch"


async def test_two_clients_at_once_live_on_one_session(tmp_path: Path) -> None:
    """Every reminder has an id of its own, and both see all of them."""
    made: list[str] = []

    async def make(served: Served, mode: Mode) -> None:
        async with connected(served, mode) as world:
            made.extend([await create(world, f"{mode} {number}") for number in range(10)])

    with serving(tmp_path, "--session", tmp_path / "s") as served:
        async with anyio.create_task_group() as clients:
            for mode in MODES:
                clients.start_soon(make, served, mode)
        for mode in MODES:
            async with connected(served, mode) as world:
                listed = (await world.call("schedule_list"))["reminders"]
                assert {view["id"] for view in listed} == set(made)
    assert len(set(made)) == len(made) == len(list_ids(tmp_path / "s")) == 20


async def test_a_server_that_is_killed_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """The next one takes the session up as it was told."""
    made: list[str] = []

    async def make(served: Served) -> None:
        try:
            async with connected(served, "auto") as world:
                while True:
                    made.append(await create(world, "x"))
        except* (MCPError, httpx2.TransportError):
            assert served.process.poll() is not None

    session = tmp_path / "s"
    with serving(tmp_path, "--session", session) as served:
        async with anyio.create_task_group() as clients:
            clients.start_soon(make, served)
            while len(made) < 10:
                await anyio.sleep(0.01)
            served.end(signal.SIGKILL)
    with serving(tmp_path, "--session", session) as served:
        async with connected(served, "auto") as world:
            made.append(await create(world, "after"))
    listed = list_ids(session)
    assert set(made) <= set(listed)
    assert len(listed) == len(set(listed)) <= len(made) + 1  # the one whose answer was cut off


CREATOR: Final = """
import anyio, httpx2, json, sys
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main(url, mode, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False) as http_client:
        async with Client(streamable_http_client(url, http_client=http_client), mode=mode) as client:
            while True:
                arguments = {"prompt": "x", "after_seconds": 600}
                made = await client.call_tool("schedule_create", arguments)
                print(made.structured_content["reminder"]["id"], flush=True)

anyio.run(main, *sys.argv[1:])
"""


@ERAS
async def test_a_client_that_is_killed_loses_nothing_acknowledged(tmp_path: Path, mode: Mode) -> None:
    """Amid its calls; the next one finds what it made, and goes on."""
    with serving(tmp_path, "--session", tmp_path / "s") as served:
        command = [sys.executable, "-c", CREATOR, served.service.url, mode, TOKEN]
        said = b""
        async with await anyio.open_process(command) as creator:
            assert creator.stdout is not None
            while said.count(b"\n") < 10:
                said += await creator.stdout.receive()
            creator.kill()
            said += b"".join([chunk async for chunk in creator.stdout])
        made = said.decode().split()
        async with connected(served, mode) as world:
            made.append(await create(world, "after"))
        listed = list_ids(tmp_path / "s")
        assert set(made) <= set(listed)
        assert len(listed) <= len(made) + 1  # the one whose answer was cut off
        assert served.end()[0] == 0


async def test_a_second_server_serves_through_the_first(tmp_path: Path) -> None:
    """It does not own the session, and takes it over once the first has ended."""
    session = tmp_path / "s"
    with (
        serving(tmp_path / "1", "--session", session) as first,
        serving(tmp_path / "2", "--session", session) as second,
    ):
        async with connected(second, "legacy") as late:
            async with connected(first, "auto") as early:
                made = [await create(early, "early"), await create(late, "late")]
            assert list_ids(session) == made
            assert first.end()[0] == 0
            made.append(await create(late, "later"))
    assert list_ids(session) == made


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_soon_and_frees_the_session(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Even while a client listens; not a byte was written on standard output, whatever was logged."""
    session = tmp_path / "s"
    with serving(tmp_path, "--session", session, "--log-level", "debug") as served:
        async with connected(served, "auto") as world:
            made = await create(world, "water")
            async with world.client.listen(resource_subscriptions=["wakefold://x"]):
                ended = await anyio.to_thread.run_sync(served.end, number)
    assert ended[0] == 0
    assert ended[1] < 6  # 2 s on a machine that has nothing else to do
    assert served.stdout.read_bytes() == b""
    told = served.stderr.read_text()
    assert f"stopped by {number.name}" in told
    assert "Traceback" not in told
    assert TOKEN not in told
    assert list_ids(session) == [made]


async def test_the_gate_stands_before_it_with_the_options_given(tmp_path: Path) -> None:
    """Each status for its reason, and a closed connection for a slow head."""
    options = ("--body-bytes-max", "2000", "--request-seconds-max", "0.5")
    names = ("--allow-host", "bells.example", "--allow-origin", "https://bells.example")
    with serving(tmp_path, "--session", tmp_path / "s", *options, *names) as served:
        service = served.service
        page = "Origin: https://bells.example"
        assert await service.initialize(BEARER, "Host: bells.example", page) == 200
        assert await service.initialize() == 401
        assert await service.initialize("Authorization: Bearer wrong") == 401
        assert await service.initialize(BEARER, "Origin: http://localhost:evil") == 403
        assert await service.initialize(BEARER, "Origin: null") == 403
        assert await service.initialize(BEARER, "Host: evil.example") == 421
        assert status(await service.ask(BEARER, body=b" " * 2001)) == 413
        head = f"POST /mcp HTTP/1.1\r\nHost: bells.example\r\n{BEARER}\r\n"
        assert status(await service.send(f"{head}Content-Length: 9\r\n\r\n{{".encode())) == 408
        assert await service.send(head.encode()) == b""


async def test_a_token_reaches_one_session_unless_a_root_is_named(tmp_path: Path) -> None:
    """Beside a session another one is not reached by any name; below a root each is, by its own."""
    for name in ("one", "two"):
        wakefold_json("create", "--session", tmp_path / "root" / name, name, "--after", "600")
    with serving(tmp_path, "--session", tmp_path / "root" / "one") as served:
        async with connected(served, "auto") as world:
            await world.refuse("schedule_list", session="two")
            (listed,) = (await world.call("schedule_list"))["reminders"]
            assert listed["prompt"] == "one"
    with serving(tmp_path, "--root", tmp_path / "root") as served:
        async with connected(served, "auto") as world:
            await world.refuse("schedule_list")
            for name in ("one", "two"):
                (listed,) = (await world.call("schedule_list", session=name))["reminders"]
                assert listed["prompt"] == name
            await world.refuse("schedule_list", session="../two")


async def test_a_token_comes_from_a_file_before_the_environment(tmp_path: Path) -> None:
    """The one of the environment does not let in any more."""
    file = tmp_path / "token"
    file.write_text("of-the-file\n")
    file.chmod(0o600)
    with serving(tmp_path, "--session", tmp_path / "s", "--token-file", file) as served:
        assert await served.service.initialize("Authorization: Bearer of-the-file") == 200
        assert await served.service.initialize(BEARER) == 401


async def test_a_command_that_is_woken_is_not_given_the_token(tmp_path: Path) -> None:
    """Whoever can make a reminder speak to it is not let in by that."""
    seen = tmp_path / "seen"
    command = (
        "--deliver",
        "exec",
        "--",
        "sh",
        "-c",
        f"cat > {seen}.part; env >> {seen}.part; mv {seen}.part {seen}",
    )
    with serving(tmp_path, "--session", tmp_path / "s", *command) as served:
        async with connected(served, "auto") as world:
            await world.call("schedule_create", prompt="stretch", after_seconds=1)
            while not seen.exists():
                await anyio.sleep(0.05)
    told = seen.read_text()
    assert "stretch" in told
    assert "WAKEFOLD_SESSION_ID=" in told
    assert TOKEN not in told


@pytest.mark.parametrize(
    ("arguments", "exit_status", "sentence"),
    [
        (["--http", "0.0.0.0:0"], 1, "--http 0.0.0.0:0: beyond loopback a token is required"),
        (
            ["--http", "192.0.2.1:0", "--token-file", "token"],
            1,
            "token: everybody may read this secret",
        ),
        (["--http", "127.0.0.1:0", "--token-file", "empty"], 1, "empty: a token has letters"),
        (["--http", "127.0.0.1:0", "--token-file", "missing"], 1, "missing: no such file"),
        (["--http", "no.such.host.invalid:0"], 1, "--http no.such.host.invalid:0: "),
        (["--http", "8765"], 2, "'8765' is no address such as 127.0.0.1:8765"),
        (["--http", "127.0.0.1:65536"], 2, "'127.0.0.1:65536' is no address"),
        (["--http", "::1:80"], 2, "'::1:80' is no address"),
        (["--token-file", "token"], 2, "--token-file goes with --http HOST:PORT"),
        (["--allow-host", "x"], 2, "--allow-host goes with --http HOST:PORT"),
        (["--allow-origin", "http://x"], 2, "--allow-origin goes with --http HOST:PORT"),
        (["--allow-origin", "x.example"], 2, "'x.example' is no origin such as https://"),
        (["--allow-origin", "https://x.example/"], 2, "'https://x.example/' is no origin"),
        (["--allow-origin", "null"], 2, "'null' is no origin"),
        (["--allow-origin", "http://localhost:*"], 2, "'http://localhost:*' is no origin"),
        (["--allow-host", "https://x.example"], 2, "'https://x.example' is no host such as"),
        (["--allow-host", "*.example"], 2, "'*.example' is no host"),
        (["--http", "127.0.0.1:0", "--body-bytes-max", "0"], 2, "0 is not in the range"),
    ],
)
def test_what_is_given_wrong_is_told_in_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    exit_status: int,
    sentence: str,
) -> None:
    """What, where, what to do; nothing listens, and no session is made."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("t0ken")
    (tmp_path / "token").chmod(0o644)
    (tmp_path / "empty").touch(0o600)
    done = wakefold("mcp", "--session", "s", *arguments)
    assert (done.returncode, done.stdout) == (exit_status, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "s").exists()
