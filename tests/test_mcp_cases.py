"""The cases of other schedulers' trouble that concern an MCP server, each by its number."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import EXECUTABLE, wakefold_json
from journal_files import NOON, NOON_MS, change, create_at, event, write_session
from live_sessions import FAR, LONG_AGO, holding, until
from mcp_pipes import ENDS_SECONDS_MAX, INITIALIZE, INITIALIZED, is_free, piping
from mcp_world import MODES, Mode, connected, texts_of
from memory_world import HandClock
from wakefold import parse_instant
from wakefold_shell.mcp.resources import name_uri
from wakefold_shell.mcp.sessions import Place

MIDNIGHT = "2027-01-31T23:00:00.000Z"
LOCAL = "2027-02-01 00:00:00 Europe/Amsterdam"

CLIENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(child.pid, flush=True)
time.sleep(60)
"""

NOISY = """
import logging, sys, warnings

class Log(logging.StreamHandler):
    pass

handler = Log(sys.stdout)  # as a careless program has it: made before the server begins
logging.basicConfig(level=logging.DEBUG, handlers=[handler])
print("a banner, buffered")
import wakefold_shell.mcp.answers as answers
from wakefold_shell.cli.app import run

look = answers.list_reminders

async def look_noisily(attachment):
    print("a print in a call, buffered")
    logging.getLogger("noise").warning("a warning in a call")
    warnings.warn("another warning")
    sys.stdout.write("half a line")
    return await look(attachment)

answers.list_reminders = look_noisily
sys.stdout.flush()
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_c37_times_are_utc_and_local_and_the_code_converts_them(
    tmp_path: Path, mode: Mode
) -> None:
    """The zone is the session's own or the caller's word, and never that of the process."""
    write_session(tmp_path / "home", create_at(0, at=MIDNIGHT), header={"timeZone": "Europe/Amsterdam"})
    write_session(tmp_path / "away", create_at(0, at=MIDNIGHT))
    async with connected(tmp_path / "home", mode) as world:
        (view,) = (await world.call("schedule_list"))["reminders"]
        assert (view["scheduledAt"], view["local"]) == (MIDNIGHT, LOCAL)
        tokyo = await world.call("schedule_list", time_zone="Asia/Tokyo")
        assert tokyo["reminders"][0]["local"] == "2027-02-01 08:00:00 Asia/Tokyo"
        assert (await world.read(name_uri("home", "reminders")))["reminders"][0]["local"] == LOCAL
    clock = HandClock(parse_instant(MIDNIGHT) or 0)
    async with connected(tmp_path / "home", mode, clock=clock) as world:
        (message,) = await world.until_inbox(1)
        assert message["occurrences"][0]["local"] == LOCAL
        receipts = await world.read(name_uri("home", "receipts"))
        assert receipts["receipts"][0]["local"] == LOCAL
    async with connected(tmp_path / "away", mode) as world:
        (view,) = (await world.call("schedule_list"))["reminders"]
        assert (view["scheduledAt"], "local" in view) == (MIDNIGHT, False)
        at = {"date": "2027-02-01", "time": "00:00:00", "time_zone": "europe/amsterdam"}
        made = await world.call("schedule_create", prompt="x", at=at)
        assert (made["reminder"]["scheduledAt"], made["reminder"]["local"]) == (MIDNIGHT, LOCAL)


def test_c37_the_zone_of_the_process_is_never_read(tmp_path: Path) -> None:
    write_session(tmp_path, create_at(0, at=MIDNIGHT))
    with piping("--session", tmp_path, TZ="Asia/Tokyo") as server:
        server.greet()
        (view,) = server.call("schedule_list")["structuredContent"]["reminders"]
        assert "local" not in view
        at = {"date": "2027-02-01", "time": "00:00:00"}
        refused = server.call("schedule_create", prompt="x", at=at)
        value = json.loads(refused["content"][0]["text"])
        assert value["code"] == "timezone_confirmation_required"


def test_c93_every_byte_of_standard_output_is_protocol_whatever_is_logged(tmp_path: Path) -> None:
    """Debug logging on, with buffered prints, a warning and a handler that was made for it before."""
    session = tmp_path / "s"
    write_session(session, create_at(0, at=LONG_AGO))
    (tmp_path / "noisy.py").write_text(NOISY)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    lines = [
        INITIALIZE,
        INITIALIZED,
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "schedule_list", "arguments": {}},
        },
        {"jsonrpc": "2.0", "id": 2, "method": "no/such/method"},
    ]
    command = [sys.executable, str(tmp_path / "noisy.py"), "mcp", "--session", str(session)]
    with subprocess.Popen(
        [*command, "--log-level", "debug"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"a banner, buffered\n"  # that one was before the server
        process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        process.stdin.write(b"this is no JSON\n")
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(3)]
        rest, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    messages = [json.loads(line) for line in (*answers, *rest.splitlines())]
    assert {message["id"] for message in messages if "id" in message} >= {0, 1, 2}
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    for words in (b"a print in a call", b"a warning in a call", b"half a line", b"DEBUG"):
        assert words in errors


def test_c94_the_server_ends_with_its_client_and_a_new_one_takes_over(tmp_path: Path) -> None:
    """Its input closes as the client, its parent, is killed; the lock is free within seconds."""
    write_session(tmp_path, create_at(0, at=FAR))
    parent = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            CLIENT,
            *(EXECUTABLE, "mcp", "--session", str(tmp_path)),
        ],
        stdout=subprocess.PIPE,
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        until((tmp_path / "session.sock").exists)
        assert int((tmp_path / "session.lock").read_text()) == child
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        until(lambda: is_free(tmp_path))
    with piping("--session", tmp_path) as server:
        server.greet()
        assert server.call("schedule_list")["structuredContent"]["total"] == 1
        assert int((tmp_path / "session.lock").read_text()) == server.process.pid
        assert server.close_input() < ENDS_SECONDS_MAX
    assert is_free(tmp_path)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_c107_what_cannot_be_listed_is_an_error_and_never_an_empty_list(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is damaged, unreadable, locked, or not there."""
    monkeypatch.setattr("wakefold_shell.mcp.sessions.PATIENCE_SECONDS", 0.2)
    sound = create_at(0, at=FAR)
    write_session(tmp_path / "corrupt", sound, change(1, operation="delete", id="nobody"))
    write_session(tmp_path / "torn", sound, event(7))
    write_session(tmp_path / "locked", sound)
    (tmp_path / "unreadable" / "session.jsonl").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    wanted = {
        "corrupt": "corrupt_schedule_log",
        "torn": "corrupt_schedule_log",
        "locked": "persistence_uncertain",
        "unreadable": "persistence_uncertain",
        "empty": "session_not_found",
        "missing": "session_not_found",
    }
    with holding(tmp_path / "locked"):
        for name, code in wanted.items():
            async with connected(tmp_path / name, mode) as world:
                assert (await world.refuse("schedule_list"))["code"] == code
        async with connected(Place(tmp_path, is_root=True), mode) as world:
            for name in ("locked", "wrong-id"):
                refused = await world.refuse("schedule_list", session=name)
                assert refused["code"] in {"persistence_uncertain", "session_not_found"}


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_c108_two_hundred_reminders_of_4_kb_are_never_cut_in_silence(
    tmp_path: Path, mode: Mode
) -> None:
    """Every answer is bounded and says how many there are; every prompt is whole by its id."""
    prompts = {f"r{place}": f"{place:04}" * 1000 for place in range(200)}
    rows = (create_at(place, name, text, FAR) for place, (name, text) in enumerate(prompts.items()))
    write_session(tmp_path, *rows)
    async with connected(tmp_path, mode, clock=HandClock(NOON_MS)) as world:
        found: list[str] = []
        arguments: dict[str, str] = {}
        while True:
            result = await world.ask("schedule_list", **arguments)
            assert len(texts_of(result)[0]) < 16_000
            page = result.structured_content
            assert page is not None
            assert page["total"] == 200
            for view in page["reminders"]:
                assert view["promptCharacters"] == 4000
                assert "[cut: 200 of 4000 characters; schedule_list with its id" in view["prompt"]
            found += [view["id"] for view in page["reminders"]]
            if "nextCursor" not in page:
                break
            arguments = {"cursor": page["nextCursor"]}
        assert found == list(prompts)
        for name in ("r0", "r123", "r199"):
            (view,) = (await world.call("schedule_list", id=name))["reminders"]
            assert (view["prompt"], "promptCharacters" in view) == (prompts[name], False)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_c108_a_frame_of_two_hundred_reminders_is_bounded_and_can_be_read_whole(
    tmp_path: Path, mode: Mode
) -> None:
    """Repeating reminders that are due together make one message."""
    prompts = {f"r{place}": f"{place:04}" * 1000 for place in range(200)}
    shape = {"kind": "every", "everySeconds": 300, "scheduledAt": NOON}
    rows = [{**shape, "id": name, "prompt": text} for name, text in prompts.items()]
    write_session(
        tmp_path,
        *(change(place, operation="create", schedule=row) for place, row in enumerate(rows)),
    )
    async with connected(tmp_path, mode, clock=HandClock(NOON_MS)) as world:
        (message,) = await world.until_inbox(1)
        assert message["textCharacters"] > 800_000
        assert message["occurrencesTotal"] == 200
        result = await world.ask("schedule_list")
        assert len(json.dumps(result.structured_content)) < 32_000
        whole = await world.read(name_uri(tmp_path.name, "inbox", message["id"]))
        assert all(prompt in whole["text"] for prompt in prompts.values())
        assert len(whole["occurrences"]) == 200


def test_c108_over_the_pipe_too(tmp_path: Path) -> None:
    """The owner is another process here: what it tells through its door is not cut either."""
    write_session(tmp_path, *(create_at(place, f"r{place}", "x" * 4000, FAR) for place in range(200)))
    with piping("--session", tmp_path) as owner, piping("--session", tmp_path) as second:
        for server in (owner, second):
            server.greet()
            page = server.call("schedule_list")["structuredContent"]
            assert (page["total"], len(page["reminders"]), "nextCursor" in page) == (200, 25, True)
    assert len(wakefold_json("list", "--session", tmp_path)) == 200
