"""`wakefold mcp` as clients start it: a process, its pipes, its end; the real executable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from command import EXECUTABLE, said, wakefold, wakefold_json
from journal_files import create_at, write_session
from live_sessions import FAR, LONG_AGO, STUBBORN, holding, list_reasons, until
from mcp_pipes import ENDS_SECONDS_MAX, INITIALIZE, is_free, piping
from mcp_world import MODES, Mode, piped
from wakefold_shell.mcp.resources import name_uri
from web_services import SECRET, serving, status


def read_inbox(result: dict[str, Any]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = result["structuredContent"]["inbox"]["messages"]
    return messages


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_drives_the_process(tmp_path: Path, mode: Mode) -> None:
    """Tools, a refusal, a resource and a notice of change, as in memory."""
    session = tmp_path / "s"

    async def drive() -> None:
        async with piped("--session", session, mode=mode) as world:
            assert (await world.refuse("schedule_list"))["code"] == "session_not_found"
            await world.call("schedule_create", prompt="far", at=FAR)
            async with (
                world.client.listen(resource_subscriptions=[name_uri("s", "inbox")])
                if (mode == "auto")
                else piped("--session", session)
            ):
                await world.call("schedule_create", prompt="soon", after_seconds=1)
                (message,) = await world.until_inbox(1)
            assert (await world.read(name_uri("s", "reminders")))["total"] == 1
            answer = await world.call("inbox_acknowledge", id=message["id"])
            assert answer["acknowledged"] is True
            assert (await world.call("schedule_delete", id="schedule-1"))["deleted"] is True

    anyio.run(drive)
    assert is_free(session)
    assert list_reasons(session) == ["completed"]


def test_the_end_of_the_input_ends_the_server_at_once_whatever_is_under_way(tmp_path: Path) -> None:
    """Pipelined calls whose answers nobody waits for; what the log holds is sound."""
    write_session(tmp_path, create_at(0, at=LONG_AGO))
    with piping("--session", tmp_path) as server:
        server.greet()
        for number in range(1, 101):
            params = {"name": "schedule_create", "arguments": {"prompt": "x", "after_seconds": 9}}
            server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        assert server.close_input() < ENDS_SECONDS_MAX
        assert server.process.returncode == 0
    assert is_free(tmp_path)
    assert wakefold("validate", tmp_path).returncode == 0


def test_a_server_that_was_asked_nothing_ends_with_its_input_too(tmp_path: Path) -> None:
    write_session(tmp_path)
    with piping("--session", tmp_path) as server:
        until((tmp_path / "session.sock").exists)
        assert server.close_input() < ENDS_SECONDS_MAX
    assert is_free(tmp_path)


@pytest.mark.long
def test_a_server_at_rest_ends_within_two_seconds(tmp_path: Path) -> None:
    """The median of five, on a machine that has nothing else to do."""
    took = []
    for number in range(5):
        session = tmp_path / str(number)
        session.mkdir()
        write_session(session, create_at(0, at=FAR))
        with piping("--session", session) as server:
            server.greet()
            assert server.call("schedule_list")["isError"] is False
            took.append(server.close_input())
        assert is_free(session)
    assert sorted(took)[2] < 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_while_its_input_is_open(
    tmp_path: Path, number: signal.Signals
) -> None:
    write_session(tmp_path)
    with piping("--session", tmp_path) as server:
        server.greet()
        assert server.call("schedule_list")["isError"] is False
        began = time.monotonic()
        server.process.send_signal(number)
        assert server.process.wait(timeout=30) == 0
        assert time.monotonic() - began < ENDS_SECONDS_MAX
        until(lambda: f"wakefold: stopped by {number.name}.\n".encode() in server.errors)
    assert is_free(tmp_path)


def test_a_client_that_stops_reading_ends_the_server(tmp_path: Path) -> None:
    """Its end of the output is closed, its end of the input is not."""
    write_session(tmp_path)
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [EXECUTABLE, "mcp", "--session", str(tmp_path)], stdin=subprocess.PIPE, stdout=theirs
    )
    os.close(theirs)
    with process:
        until((tmp_path / "session.sock").exists)
        os.close(ours)
        assert process.stdin is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        try:
            assert process.wait(timeout=10) == 1
        finally:
            process.kill()
    assert is_free(tmp_path)


def test_a_message_that_was_not_acknowledged_survives_the_end_of_the_server(tmp_path: Path) -> None:
    """Killed before it is acknowledged: shown again, with the same id. Killed after it: never again."""
    write_session(tmp_path, create_at(0, at=LONG_AGO), create_at(1, "far", at=FAR))
    with piping("--session", tmp_path) as server:
        server.greet()
        until(lambda: read_inbox(server.call("schedule_list")))
        (first,) = read_inbox(server.call("schedule_list"))
        server.process.kill()
        server.process.wait()
    with piping("--session", tmp_path) as server:
        server.greet()
        assert read_inbox(server.call("schedule_list")) == [first]
        acknowledged = server.call("inbox_acknowledge", id=first["id"])["structuredContent"]
        server.process.kill()
        server.process.wait()
        assert acknowledged["acknowledged"] is True
    with piping("--session", tmp_path) as server:
        server.greet()
        result = server.call("schedule_list")
        assert read_inbox(result) == []
        assert [view["id"] for view in result["structuredContent"]["reminders"]] == ["far"]
        again = server.call("inbox_acknowledge", id=first["id"])["structuredContent"]
        assert again["acknowledged"] is True
        assert server.close_input() < ENDS_SECONDS_MAX
    assert list_reasons(tmp_path) == ["completed"]
    assert [receipt["delivery"] for receipt in wakefold_json("receipts", tmp_path)["receipts"]] == [
        "handed-over"
    ]


def test_two_servers_share_a_session_and_the_second_takes_over_when_the_first_is_killed(
    tmp_path: Path,
) -> None:
    """Each serves its client all along; whatever was acknowledged, by either, stands afterwards."""
    write_session(tmp_path, create_at(0, "due", at=LONG_AGO), create_at(1, "far", at=FAR))
    with piping("--session", tmp_path) as first, piping("--session", tmp_path) as second:
        made: list[str] = []
        for server in (first, second):
            server.greet()
        for place in range(10):
            server = (first, second)[place % 2]
            result = server.call("schedule_create", prompt=f"p{place}", after_seconds=9_999)
            made.append(result["structuredContent"]["reminder"]["id"])
        assert len(set(made)) == 10
        until(lambda: read_inbox(second.call("schedule_list")))
        (message,) = read_inbox(second.call("schedule_list"))
        assert read_inbox(first.call("schedule_list")) == [message]
        owner = int((tmp_path / "session.lock").read_text())
        owning, serving = (first, second) if owner == first.process.pid else (second, first)
        owning.process.kill()
        owning.process.wait()
        result = serving.call("schedule_list")
        ids = [view["id"] for view in result["structuredContent"]["reminders"]]
        assert ids == ["far", *made]
        assert read_inbox(result) == [message]
        assert serving.call("inbox_acknowledge", id=message["id"])["isError"] is False
        serving.call("schedule_create", prompt="soon", after_seconds=1)
        until(lambda: read_inbox(serving.call("schedule_list")))
        assert serving.close_input() < ENDS_SECONDS_MAX
    assert is_free(tmp_path)
    assert list_reasons(tmp_path) == ["completed"]
    assert len(wakefold_json("list", "--session", tmp_path)) == 11


def test_an_owner_that_is_no_server_is_asked_and_commands_ask_the_server(tmp_path: Path) -> None:
    """`wakefold create` reaches the server's session, as it reaches a runner's."""
    write_session(tmp_path)
    with piping("--session", tmp_path) as server:
        server.greet()
        until((tmp_path / "session.sock").exists)
        assert wakefold_json("create", "--session", tmp_path, "tea", "--after", "900")["id"]
        assert (
            wakefold("say", "--session", tmp_path, "good morning").stdout == "queued for the agent.\n"
        )
        (message,) = read_inbox(server.call("schedule_list"))
        assert (message["source"], message["text"]) == ("message", "good morning")
        assert server.close_input() < ENDS_SECONDS_MAX


def test_a_command_is_woken_by_each_message_and_ended_with_the_server(tmp_path: Path) -> None:
    """`--deliver exec`: what the command prints goes to standard error, never into the protocol."""
    write_session(tmp_path, create_at(0, prompt="tea", at=LONG_AGO))
    with piping(
        "--session", tmp_path, "--deliver", "exec", "--", "sh", "-c", "cat; echo; echo done"
    ) as server:
        server.greet()
        until(lambda: b"done\n" in server.errors)
        assert b'reminder_prompt_json: "tea"' in server.errors
        until(lambda: list_reasons(tmp_path) == ["completed"])
        assert read_inbox(server.call("schedule_list")) == []
        assert server.close_input() < ENDS_SECONDS_MAX
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.lines)


def test_a_web_service_is_woken_by_each_message_and_a_failed_one_waits_in_the_inbox(
    tmp_path: Path,
) -> None:
    """`--deliver http`: what is to be offered again is shown, and taken by nobody else."""
    write_session(tmp_path / "fine", create_at(0, at=LONG_AGO))
    write_session(tmp_path / "down", create_at(0, at=LONG_AGO))
    secret = {"WAKEFOLD_WEBHOOK_SECRET": SECRET}
    with serving(status(200), status(503)) as service:
        with piping(
            "--session", tmp_path / "fine", "--deliver", "http", service.url, **secret
        ) as server:
            server.greet()
            until(lambda: list_reasons(tmp_path / "fine") == ["completed"])
            assert read_inbox(server.call("schedule_list")) == []
            assert server.close_input() < ENDS_SECONDS_MAX
        with piping(
            "--session", tmp_path / "down", "--deliver", "http", service.url, **secret
        ) as server:
            server.greet()
            until(lambda: list_reasons(tmp_path / "down") == ["failed"])
            (message,) = read_inbox(server.call("schedule_list"))
            refused = server.call("inbox_acknowledge", id=message["id"])
            assert json.loads(refused["content"][0]["text"])["code"] == "taken_elsewhere"
            assert server.close_input() < ENDS_SECONDS_MAX
    assert len(service.requests) == 2
    assert is_free(tmp_path / "down")


def test_a_stubborn_command_delays_the_end_by_its_grace_alone(tmp_path: Path) -> None:
    write_session(tmp_path, create_at(0, at=LONG_AGO))
    command = ("--deliver", "exec", "--", sys.executable, "-c", STUBBORN)
    with piping("--session", tmp_path, *command) as server:
        server.greet()
        until(lambda: server.errors.strip().splitlines()[-1:][0].isdigit() if server.errors else False)
        child = int(server.errors.split()[-1])
        assert server.close_input() < ENDS_SECONDS_MAX
    assert is_free(tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_the_environment_names_the_session_below_a_root(tmp_path: Path) -> None:
    write_session(tmp_path / "a", create_at(0, "of-a", at=FAR))
    write_session(tmp_path / "b", create_at(0, "of-b", at=FAR))
    with piping("--root", tmp_path, WAKEFOLD_SESSION=str(tmp_path / "b")) as server:
        server.greet()
        for arguments, wanted in (({}, "of-b"), ({"session": "a"}, "of-a")):
            result = server.call("schedule_list", **arguments)["structuredContent"]
            assert [view["id"] for view in result["reminders"]] == [wanted]
        assert server.close_input() < ENDS_SECONDS_MAX


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either --session DIR or --root DIR"),
        (("--session", "a", "--root", "b"), "give either --session DIR or --root DIR"),
        (("--session", "a", "--deliver", "exec"), "--deliver exec goes with -- COMMAND"),
        (("--session", "a", "--", "true"), "--deliver exec goes with -- COMMAND"),
        (("--session", "a", "--deliver", "exec", "--", "no-such-command"), "is not found"),
        (("--session", "a", "--deliver", "stdout"), "--deliver"),
        (("--session", "a", "--deliver", "http", "http://127.0.0.1:1/x"), "needs a secret"),
        (("--session", "a", "--log-level", "loud"), "--log-level"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    done = wakefold("mcp", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in said(done)
    assert said(done).count("\n") == 1


def test_a_person_at_a_terminal_is_told_what_it_is_for(tmp_path: Path) -> None:
    """And where the session is, however the directory was written."""
    write_session(tmp_path / "s", create_at(0, at=FAR))
    leader, follower = os.openpty()
    process = subprocess.Popen(
        [EXECUTABLE, "mcp", "--session", "x/../s"],
        cwd=tmp_path,
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(follower)
    until((tmp_path / "s" / "session.sock").exists)
    os.write(leader, b"\x04")
    out, err = process.communicate(timeout=30)
    os.close(leader)
    assert (process.returncode, out) == (0, b"")
    assert b"wakefold: speaking the protocol with the terminal, for clients; Ctrl-D ends it.\n" in err


def test_without_the_extra_it_says_which_one(tmp_path: Path) -> None:
    """A module of its name that cannot be imported stands in the way."""
    (tmp_path / "mcp.py").write_text("raise ImportError\n")
    done = wakefold("mcp", "--session", tmp_path / "s", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert (
        said(done) == "wakefold: the MCP server needs the extra 'mcp': pip install 'wakefold[mcp]'.\n"
    )


def test_a_session_that_is_held_by_somebody_silent_is_served_once_it_is_free(tmp_path: Path) -> None:
    """The server does not exit meanwhile, and a call says what is the matter."""
    write_session(tmp_path, create_at(0, at=FAR))
    with holding(tmp_path) as silent, piping("--session", tmp_path) as server:
        server.greet()
        refused = server.call("schedule_list")
        assert json.loads(refused["content"][0]["text"])["code"] == "persistence_uncertain"
        silent.kill()
        silent.wait()
        assert server.call("schedule_list")["structuredContent"]["total"] == 1
        assert server.close_input() < ENDS_SECONDS_MAX
