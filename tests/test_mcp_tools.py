"""The MCP server's tools and inbox, driven by the official client in memory; both eras, both loops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from journal_files import HEADER, NOON, NOON_MS, change, create_at, create_every, event, write_session
from mcp_world import MODES, Mode, World, connected, texts_of
from memory_world import MINUTE_MS, HandClock
from runner_world import Crew, make_runner, read_rows
from runner_world import living as living_runner
from wakefold import format_instant
from wakefold.conversations import make_message, name_person
from wakefold_shell.guarding import Watchman
from wakefold_shell.mcp.sessions import Place
from wakefold_shell.mcp.shapes import MESSAGES_MAX, PAGE_LENGTH, PROMPT_CHARACTERS_MAX
from wakefold_shell.mcp.texts import REPLACEMENT

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

SOON_MS = NOON_MS + MINUTE_MS
SOON = format_instant(SOON_MS)
FAR = "2099-01-01T00:00:00.000Z"


def queue_words(*texts: str) -> bytes:
    """The line of a splice by which words wait for the agent as `m0`, `m1`, ..."""
    words = [
        make_message(f"m{place}", text, name_person("r", None)) for place, text in enumerate(texts)
    ]
    return event(0, "agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": words})


async def list_ids(world: World) -> list[str]:
    return [view["id"] for view in (await world.call("schedule_list"))["reminders"]]


async def test_the_tools_are_described_as_they_are_and_always_alike(tmp_path: Path, mode: Mode) -> None:
    write_session(tmp_path)
    async with connected(tmp_path, mode) as world:
        first, second = await world.client.list_tools(), await world.client.list_tools()
    assert first.tools == second.tools
    assert [tool.name for tool in first.tools] == [
        "schedule_create",
        "schedule_list",
        "schedule_update",
        "schedule_delete",
        "inbox_read",
        "inbox_acknowledge",
    ]
    for tool in first.tools:
        assert tool.output_schema is not None
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        assert "session" not in tool.input_schema["properties"]
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint == (tool.name in {"schedule_list", "inbox_read"})


async def test_a_reminder_is_made_listed_and_ended(tmp_path: Path, mode: Mode) -> None:
    write_session(tmp_path)
    async with connected(tmp_path, mode) as world:
        made = await world.call("schedule_create", prompt="tea", after_seconds=300.0)
        reminder = {
            "id": "schedule-1",
            "kind": "after",
            "prompt": "tea",
            "afterSeconds": 300,
            "scheduledAt": format_instant(NOON_MS + 300_000),
            "state": "scheduled",
            "deliveryMode": "session-local",
        }
        empty = {"total": 0, "messages": []}
        assert made == {"reminder": reminder, "inbox": empty}
        await world.call("schedule_create", prompt="sun", at="2027-02-01T09:00:00+01:00")
        await world.call("schedule_create", prompt="walk", every_seconds=1800)
        listed = await world.call("schedule_list")
        assert listed["reminders"][0] == reminder
        assert (listed["total"], await list_ids(world)) == (
            3,
            ["schedule-1", "schedule-2", "schedule-3"],
        )
        gone = await world.call("schedule_delete", id="schedule-1")
        assert gone == {"id": "schedule-1", "deleted": True, "inbox": empty}
        again = await world.call("schedule_delete", id="schedule-1")
        assert (again["deleted"], again["code"]) == (False, "schedule_not_found")
        assert await list_ids(world) == ["schedule-2", "schedule-3"]


async def test_a_reminder_is_edited_and_its_local_time_is_that_of_its_rule(
    tmp_path: Path, mode: Mode
) -> None:
    write_session(tmp_path, header={"timeZone": "Europe/Berlin"})
    paris = {"time": "09:00:00", "time_zone": "Europe/Paris"}
    async with connected(tmp_path, mode) as world:
        made = await world.call("schedule_create", prompt="tea", daily=paris, title="Tea", max_runs=9)
        assert made["reminder"]["local"] == "2027-01-05 09:00:00 Europe/Paris"
        assert (made["reminder"]["revision"], made["reminder"]["maxRuns"]) == (0, 9)
        done = await world.call("schedule_update", id="schedule-1", revision=0, title=None)
        assert (done["updated"], done["reminder"]["revision"]) == (True, 1)
        assert "title" not in done["reminder"]
        late = await world.call("schedule_update", id="schedule-1", revision=0, paused=True)
        assert late == {
            "id": "schedule-1",
            "updated": False,
            "code": "schedule_conflict",
            "inbox": {"total": 0, "messages": []},
        }
        await world.call("schedule_update", id="schedule-1", revision=1, paused=True)
        (paused,) = (await world.call("schedule_list"))["reminders"]
        assert (paused["state"], paused["revision"]) == ("paused", 2)
        (named,) = (await world.call("schedule_list", time_zone="UTC"))["reminders"]
        assert named["local"] == "2027-01-05 08:00:00 UTC"
        await world.call("schedule_update", id="schedule-1", paused=False)
        moved = await world.call(
            "schedule_update", id="schedule-1", snooze_until="2027-01-05T09:00:00Z"
        )
        assert moved["reminder"]["snoozedUntil"] == "2027-01-05T09:00:00.000Z"
        weekly = {"weekdays": [5, 1], "time": "09:00:00", "time_zone": "UTC"}
        ruled = await world.call("schedule_update", id="schedule-1", weekly=weekly)
        assert (ruled["reminder"]["kind"], ruled["reminder"]["weekdays"]) == ("weekly", [1, 5])
        cron = {"expression": "0 9 * * MON-FRI", "time_zone": "UTC"}
        assert (await world.call("schedule_create", prompt="x", cron=cron))["reminder"]["local"]


async def test_under_protocol_1_nothing_of_version_2_is_offered_or_done(
    tmp_path: Path, mode: Mode
) -> None:
    path = write_session(tmp_path, create_at(0))
    async with connected(Place(tmp_path, protocol=1), mode) as world:
        tools = (await world.client.list_tools()).tools
        assert "schedule_update" not in [tool.name for tool in tools]
        assert set(tools[0].input_schema["properties"]) == {
            *("prompt", "after_seconds", "at", "every_seconds")
        }
        for tool, arguments in (
            ("schedule_create", {"prompt": "x", "daily": {"time": "09:00:00", "time_zone": "UTC"}}),
            ("schedule_update", {"id": "schedule-1", "paused": True}),
        ):
            refused = await world.refuse(tool, **arguments)
            assert refused["code"] == "invalid_selector"
            assert "Only version 1" in refused["message"]
        assert (await world.call("schedule_create", prompt="x", after_seconds=60))["reminder"]
    assert b'"version":2' not in path.read_bytes()


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("schedule_create", {"prompt": "x"}, "invalid_selector"),
        ("schedule_create", {"prompt": "x", "cron": {"expression": "? ? ? ? ?"}}, "invalid_rule"),
        ("schedule_update", {}, "invalid_selector"),
        ("schedule_update", {"id": "far"}, "invalid_selector"),
        ("schedule_update", {"id": "far", "paused": True, "title": "x"}, "invalid_selector"),
        ("schedule_update", {"id": "far", "revision": -1, "paused": True}, "invalid_rule"),
        (
            "schedule_create",
            {"prompt": "x", "after_seconds": 1, "at": NOON},
            "invalid_selector",
        ),
        ("schedule_create", {"prompt": " ", "after_seconds": 1}, "invalid_prompt"),
        ("schedule_create", {"prompt": "x", "after_seconds": 0}, "invalid_rule"),
        ("schedule_create", {"prompt": "x", "at": "tomorrow"}, "invalid_rule"),
        ("schedule_create", {"prompt": "x", "at": NOON}, "not_future"),
        ("schedule_create", {"prompt": "x", "every_seconds": 60}, "frequency_too_high"),
        ("schedule_create", {"prompt": "x", "after_seconds": 2**52}, "time_out_of_range"),
        (
            "schedule_create",
            {"prompt": "x", "at": {"date": "2027-02-01", "time": "09:00:00", "time_zone": "Mars"}},
            "invalid_time_zone",
        ),
        (
            "schedule_create",
            {"prompt": "x", "at": {"date": "2027-02-01", "time": "09:00:00"}},
            "timezone_confirmation_required",
        ),
        ("schedule_create", {"prompt": "x", "after_seconds": 1, "session": "x"}, "invalid_selector"),
        ("schedule_list", {"all": True}, "invalid_selector"),
        ("schedule_list", {"id": 7}, "invalid_selector"),
        ("schedule_list", {"id": " x"}, "invalid_rule"),
        ("schedule_list", {"cursor": "0123456789abcdef"}, "invalid_cursor"),
        ("schedule_list", {"time_zone": "Mars"}, "invalid_time_zone"),
        ("schedule_delete", {}, "invalid_rule"),
        ("schedule_delete", {"id": 7}, "invalid_rule"),
        ("inbox_read", {"offset": -1}, "invalid_selector"),
        ("inbox_acknowledge", {}, "invalid_selector"),
        ("inbox_acknowledge", {"id": " "}, "invalid_rule"),
        ("schedule_erase", {}, "unknown_tool"),
    ],
)
async def test_a_refusal_is_text_that_a_model_can_read(
    tmp_path: Path, mode: Mode, tool: str, arguments: dict[str, Any], code: str
) -> None:
    journal = write_session(tmp_path)
    before = journal.read_bytes()
    async with connected(tmp_path, mode) as world:
        assert (await world.refuse(tool, **arguments))["code"] == code
    assert journal.read_bytes() == before


async def test_the_guards_refusal_is_one_too_and_says_when_a_slot_frees(
    tmp_path: Path, mode: Mode
) -> None:
    """What it holds for registries of other frameworks is left out."""
    write_session(tmp_path)
    (tmp_path / "wakefold.toml").write_text("[guard]\nminRepeatingIntervalSeconds = 3600\n")
    watchman = Watchman(None, lambda _: None)
    async with connected(tmp_path, mode, watchman=watchman) as world:
        value = await world.refuse("schedule_create", prompt="x", every_seconds=1800)
        assert "3600" in value["message"]
        assert value.keys() == {"code", "message"}
        assert await list_ids(world) == []


async def test_a_due_reminder_is_shown_with_every_answer_until_it_is_acknowledged(
    tmp_path: Path, mode: Mode
) -> None:
    write_session(tmp_path, create_at(0, prompt="stretch", at=SOON))
    clock = HandClock()
    async with connected(tmp_path, mode, clock=clock) as world:
        assert (await world.call("schedule_list"))["inbox"] == {"total": 0, "messages": []}
        clock.move(SOON_MS)
        (message,) = await world.until_inbox(1)
        assert message["source"] == "reminder"
        assert message["occurrences"] == [{"id": "schedule-1", "occurrenceAt": SOON}]
        assert message["text"].startswith("[SCHEDULE REMINDER]\n")
        assert message["text"].endswith('reminder_prompt_json: "stretch"')
        for tool, arguments in (("schedule_list", {}), ("schedule_delete", {"id": "schedule-1"})):
            result = await world.ask(tool, **arguments)
            assert result.structured_content is not None
            assert result.structured_content["inbox"]["messages"] == [message]
            assert message["text"] in texts_of(result)[1]
            assert message["id"] in texts_of(result)[1]
        refused = await world.ask("schedule_create", prompt="x")
        assert (refused.is_error, refused.structured_content) == (True, None)
        assert message["text"] in texts_of(refused)[1]
        read = await world.call("inbox_read")
        assert (read["total"], read["message"], read["offset"]) == (1, message, 0)
        assert (await world.call("inbox_read", id=message["id"]))["message"] == message
        taken = await world.call("inbox_acknowledge", id=message["id"])
        assert taken == {
            "id": message["id"],
            "acknowledged": True,
            "inbox": {"total": 0, "messages": []},
        }
        assert await world.call("inbox_acknowledge", id=message["id"]) == taken
        unknown = await world.call("inbox_acknowledge", id="another")
        assert (unknown["acknowledged"], unknown["code"]) == (False, "message_not_found")
        assert (await world.call("inbox_read"))["code"] == "message_not_found"
        (receipt,) = (await world.read(f"wakefold://sessions/{tmp_path.name}/receipts"))["receipts"]
        assert receipt["delivery"] == "handed-over"


async def test_what_is_not_acknowledged_is_shown_by_the_next_server_and_what_is_is_not(
    tmp_path: Path, mode: Mode
) -> None:
    """The message keeps its id; a repeating reminder goes on once it is acknowledged."""
    write_session(tmp_path, create_every(0, "r", at=SOON))
    clock = HandClock(SOON_MS)
    async with connected(tmp_path, mode, clock=clock) as world:
        (first,) = await world.until_inbox(1)
    async with connected(tmp_path, mode, clock=clock) as world:
        assert await world.until_inbox(1) == [first]
        clock.move(SOON_MS + 5 * MINUTE_MS)
        assert (await world.call("schedule_list"))["inbox"]["total"] == 1
        await world.call("inbox_acknowledge", id=first["id"])
    async with connected(tmp_path, mode, clock=clock) as world:
        (second,) = await world.until_inbox(1)
        assert second["id"] != first["id"]
        assert (await world.call("inbox_acknowledge", id=first["id"]))["acknowledged"] is True
    reasons = [row["data"]["reason"] for row in read_rows(tmp_path)[1:] if row["type"] == "turn/end"]
    assert reasons == [{"kind": "completed"}]


async def test_messages_are_acknowledged_in_their_order(tmp_path: Path, mode: Mode) -> None:
    """Many wait: the first few are shown, all are counted."""
    write_session(tmp_path, queue_words(*(f"word {place}" for place in range(5))))
    async with connected(tmp_path, mode) as world:
        result = await world.ask("schedule_list")
        assert "The other 2 are shown once these are acknowledged." in texts_of(result)[1]
        listed = await world.call("schedule_list")
        assert listed["inbox"]["total"] == 5
        assert [message["id"] for message in listed["inbox"]["messages"]] == ["m0", "m1", "m2"]
        assert len(listed["inbox"]["messages"]) == MESSAGES_MAX
        assert listed["inbox"]["messages"][0]["source"] == "message"
        assert (await world.refuse("inbox_acknowledge", id="m1"))["code"] == "not_first"
        for name in ("m0", "m1"):
            assert (await world.call("inbox_acknowledge", id=name))["acknowledged"] is True
        assert [message["id"] for message in await world.until_inbox(3)] == ["m2", "m3", "m4"]


async def test_a_long_message_is_read_piece_by_piece(tmp_path: Path, mode: Mode) -> None:
    """What is cut says so, and the pieces make the whole."""
    text = "".join(f"{place:07} " for place in range(2500))
    write_session(tmp_path, queue_words(text))
    async with connected(tmp_path, mode) as world:
        (shown,) = await world.until_inbox(1)
        assert shown["textCharacters"] == 20_000
        assert shown["text"].startswith(text[:8000])
        assert "[cut: 8000 of 20000 characters; inbox_read with offset 8000 has more]" in shown["text"]
        pieces: list[str] = []
        offset: int | None = 0
        while offset is not None:
            read = await world.call("inbox_read", id="m0", offset=offset)
            pieces.append(read["message"]["text"].partition(" [cut: ")[0])
            offset = read.get("nextOffset")
        assert "".join(pieces) == text
        whole = await world.read(f"wakefold://sessions/{tmp_path.name}/inbox/m0")
        assert whole["text"] == text


async def test_a_lone_surrogate_in_the_log_harms_nobody(tmp_path: Path, mode: Mode) -> None:
    """It is shown as U+FFFD, and counted."""
    write_session(tmp_path, create_at(0, prompt="a\ud800b"), create_at(1, "s\udfff", at=SOON))
    async with connected(tmp_path, mode, clock=HandClock(NOON_MS - 1)) as world:
        listed = await world.call("schedule_list")
        assert listed["charactersReplaced"] == 2
        assert [view["prompt"] for view in listed["reminders"]] == [f"a{REPLACEMENT}b", "x"]
        assert listed["reminders"][1]["id"] == f"s{REPLACEMENT}"
        uri = f"wakefold://sessions/{tmp_path.name}/reminders"
        assert (await world.read(uri))["charactersReplaced"] == 2
        await world.client.list_resources()


async def test_a_lone_surrogate_in_a_message_harms_nobody_either(tmp_path: Path, mode: Mode) -> None:
    write_session(tmp_path, queue_words("a\ud800b"))
    async with connected(tmp_path, mode) as world:
        (message,) = await world.until_inbox(1)
        assert message["text"] == f"a{REPLACEMENT}b"
        listed = await world.call("schedule_list")
        assert (listed["inbox"]["charactersReplaced"], "charactersReplaced" in listed) == (1, False)
        assert (await world.call("inbox_read"))["charactersReplaced"] == 1
        taken = await world.call("inbox_acknowledge", id="m0")
        assert taken["acknowledged"] is True


async def test_a_page_follows_the_one_before_whatever_has_gone_meanwhile(
    tmp_path: Path, mode: Mode
) -> None:
    write_session(tmp_path, *(create_at(n, f"r{n}", at=SOON) for n in range(2 * PAGE_LENGTH + 3)))
    async with connected(tmp_path, mode) as world:
        first = await world.call("schedule_list")
        assert len(first["reminders"]) == PAGE_LENGTH
        await world.call("schedule_delete", id="r0")
        second = await world.call("schedule_list", cursor=first["nextCursor"])
        assert second["reminders"][0]["id"] == f"r{PAGE_LENGTH}"
        assert second["total"] == 2 * PAGE_LENGTH + 2
        last = await world.call("schedule_list", cursor=second["nextCursor"])
        assert "nextCursor" not in last
        assert len(last["reminders"]) == 3
        await world.call("schedule_delete", id=f"r{PAGE_LENGTH - 1}")
        stale = await world.refuse("schedule_list", cursor=first["nextCursor"])
        assert stale["code"] == "invalid_cursor"


async def test_one_reminder_is_shown_whole_by_its_id(tmp_path: Path, mode: Mode) -> None:
    prompt = "y" * (PROMPT_CHARACTERS_MAX + 1)
    write_session(tmp_path, create_at(0, prompt=prompt, at=SOON), create_at(1, "other", at=SOON))
    async with connected(tmp_path, mode) as world:
        listed = await world.call("schedule_list")
        assert listed["reminders"][0]["promptCharacters"] == PROMPT_CHARACTERS_MAX + 1
        assert "[cut: 200 of 201 characters;" in listed["reminders"][0]["prompt"]
        found = await world.call("schedule_list", id="schedule-1")
        assert (found["total"], [view["prompt"] for view in found["reminders"]]) == (2, [prompt])
        none = await world.call("schedule_list", id="schedule-9")
        assert (none["total"], none["reminders"], none["code"]) == (2, [], "schedule_not_found")


async def test_a_place_without_a_session_gets_one_by_the_first_good_create(
    tmp_path: Path, mode: Mode
) -> None:
    """As on the command line; anything else answers that there is none."""
    directory = tmp_path / "new"
    async with connected(directory, mode) as world:
        assert (await world.refuse("schedule_list"))["code"] == "session_not_found"
        bad = await world.refuse("schedule_create", prompt="x", after_seconds=0)
        assert bad["code"] == "session_not_found"
        assert not directory.exists()
        await world.call("schedule_create", prompt="x", after_seconds=1)
        assert await list_ids(world) == ["schedule-1"]


async def test_a_place_that_cannot_be_looked_at_is_an_error(tmp_path: Path, mode: Mode) -> None:
    async with connected(tmp_path / ("x" * 300), mode) as world:
        refused = await world.refuse("schedule_list")
        assert refused["code"] == "persistence_uncertain"
        assert "file name too long" in refused["message"]


async def test_an_eager_call_and_a_slow_one_keep_their_order(tmp_path: Path, mode: Mode) -> None:
    """Twenty creates at once: twenty ids, none twice."""
    write_session(tmp_path)
    async with connected(tmp_path, mode) as world:
        made: list[str] = []

        async def create(prompt: str) -> None:
            answer = await world.call("schedule_create", prompt=prompt, after_seconds=60)
            made.append(answer["reminder"]["id"])

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(create, str(number))
        assert sorted(made) == sorted(f"schedule-{number + 1}" for number in range(20))
        assert (await world.call("schedule_list"))["total"] == 20


async def test_a_session_that_another_owns_is_served_through_its_door_and_taken_over(
    tmp_path: Path, mode: Mode
) -> None:
    """An owner with an agent of its own keeps its messages to itself."""
    write_session(tmp_path, create_at(0, "due", at=SOON), create_at(1, "far", at=FAR))
    crew, clock = Crew(), HandClock()
    crew.hold = anyio.Event()
    owner = make_runner(tmp_path, crew, clock)
    async with living_runner(owner), connected(tmp_path, mode, clock=clock) as world:
        assert await list_ids(world) == ["due", "far"]
        clock.move(SOON_MS)
        while not crew.given:
            await anyio.sleep(0.01)
        made = await world.call("schedule_create", prompt="by the door", after_seconds=600)
        owner.stop()
        assert await list_ids(world) == ["far", made["reminder"]["id"]]
        clock.move(SOON_MS + 600_000)
        (message,) = await world.until_inbox(1)
        assert message["occurrences"][0]["id"] == made["reminder"]["id"]


async def test_messages_of_a_session_with_an_agent_of_its_own_are_not_acknowledged_here(
    tmp_path: Path, mode: Mode
) -> None:
    write_session(tmp_path, queue_words("first", "second"))
    crew = Crew()
    crew.hold = anyio.Event()
    async with living_runner(make_runner(tmp_path, crew)):
        async with connected(tmp_path, mode) as world:
            while not crew.given:
                await anyio.sleep(0.01)
            assert [message["id"] for message in await world.until_inbox(1)] == ["m1"]
            assert (await world.call("inbox_acknowledge", id="m0"))["acknowledged"] is True
            refused = await world.refuse("inbox_acknowledge", id="m1")
            assert refused["code"] == "taken_elsewhere"
        crew.hold.set()


async def test_a_root_has_many_sessions_and_each_call_names_one(tmp_path: Path, mode: Mode) -> None:
    """By its id or its directory; never by a way out of the root."""
    root = tmp_path / "root"
    write_session(root / "a", header={"id": "session-a"})
    write_session(root / "deep" / "b", create_at(0, "of-b", at=SOON), header={"id": "session-b"})
    write_session(tmp_path / "outside", create_at(0, "secret", at=SOON), header={"id": "session-c"})
    async with connected(Place(root, is_root=True), mode) as world:
        tools = (await world.client.list_tools()).tools
        assert all("session" in tool.input_schema["required"] for tool in tools)
        for name in ("session-b", "b", "deep/b", "deep%2Fb", str(root / "deep" / "b")):
            listed = await world.call("schedule_list", session=name)
            assert [view["id"] for view in listed["reminders"]] == ["of-b"]
        await world.call("schedule_create", session="session-a", prompt="x", after_seconds=60)
        assert (await world.call("schedule_list", session="a"))["total"] == 1
        for name in (
            "../outside",
            "session-c",
            str(tmp_path / "outside"),
            "deep/../a",
            "",
            "deep",
            ".",
        ):
            assert (await world.refuse("schedule_list", session=name))["code"] == "session_not_found"
        assert (await world.refuse("schedule_list"))["code"] == "session_not_found"
        assert (await world.refuse("schedule_list", session=7))["code"] == "invalid_rule"


async def test_a_root_that_is_not_there_is_an_error(tmp_path: Path, mode: Mode) -> None:
    async with connected(Place(tmp_path / "none", is_root=True), mode) as world:
        refused = await world.refuse("schedule_list", session="a")
        assert "give a directory of sessions" in refused["message"]


async def test_a_default_session_is_meant_where_none_is_named(tmp_path: Path, mode: Mode) -> None:
    """As `WAKEFOLD_SESSION` gives it."""
    write_session(tmp_path / "a", create_at(0, "of-a", at=SOON), header={"id": "session-a"})
    write_session(tmp_path / "b", create_at(0, "of-b", at=SOON), header={"id": "session-b"})
    async with connected(Place(tmp_path, is_root=True, name="session-a"), mode) as world:
        tools = (await world.client.list_tools()).tools
        assert all("session" not in tool.input_schema.get("required", ()) for tool in tools)
        assert await list_ids(world) == ["of-a"]
        listed = await world.call("schedule_list", session="b")
        assert [view["id"] for view in listed["reminders"]] == ["of-b"]


async def test_two_sessions_of_one_name_are_told_apart_by_their_directories(
    tmp_path: Path, mode: Mode
) -> None:
    write_session(tmp_path / "x" / "same", create_at(0, "of-x", at=SOON))
    write_session(tmp_path / "y" / "same", create_at(0, "of-y", at=SOON))
    async with connected(Place(tmp_path, is_root=True), mode) as world:
        for name in ("same", HEADER["id"]):
            refused = await world.refuse("schedule_list", session=name)
            assert "more than one" in refused["message"]
        listed = await world.call("schedule_list", session="x/same")
        assert [view["id"] for view in listed["reminders"]] == ["of-x"]


async def test_a_session_that_is_mended_is_served_again(tmp_path: Path, mode: Mode) -> None:
    """The server need not be started anew."""
    journal = write_session(tmp_path, create_at(0, at=SOON))
    sound = journal.read_bytes()
    journal.write_bytes(sound + change(1, operation="delete", id="nobody"))
    async with connected(tmp_path, mode) as world:
        for _ in range(2):
            assert (await world.refuse("schedule_list"))["code"] == "corrupt_schedule_log"
        journal.write_bytes(sound)
        with anyio.fail_after(20):
            while (await world.ask("schedule_list")).is_error:  # who met the fault may still be leaving
                await anyio.sleep(0.01)
        assert await list_ids(world) == ["schedule-1"]


async def test_a_child_session_says_that_it_has_no_reminders(tmp_path: Path, mode: Mode) -> None:
    write_session(tmp_path, header={"delegationDepth": 1})
    async with connected(tmp_path, mode) as world:
        refused = await world.refuse("schedule_create", prompt="x", after_seconds=60)
        assert "child session" in refused["message"]


async def test_an_error_of_ours_is_an_internal_error_and_the_server_lives_on(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path)
    async with connected(tmp_path, mode) as world:
        with monkeypatch.context() as patch:
            patch.setattr("wakefold_shell.mcp.answers.cut_page", lambda *_: 1 / 0)
            refused = await world.refuse("schedule_list")
            assert refused["code"] == "internal_error"
            assert "division" not in json.dumps(refused)
        assert await list_ids(world) == []
