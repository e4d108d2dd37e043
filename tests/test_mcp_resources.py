"""The MCP server's resources and its notices of change, in memory; both eras, both loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

from journal_files import NOON_MS, change, create_at, write_session
from mcp_world import MODES, Mode, World, connected, joined, serving, subscribed, uris_heard
from memory_world import MINUTE_MS, HandClock, until
from runner_world import Crew, living, make_runner
from wakefold import format_instant
from wakefold_shell.mcp import notices
from wakefold_shell.mcp.resources import KINDS, list_templates, name_uri, read_uri
from wakefold_shell.mcp.sessions import Place
from wakefold_shell.mcp.shapes import PAGE_LENGTH

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

SOON_MS = NOON_MS + MINUTE_MS
SOON = format_instant(SOON_MS)
FAR = "2099-01-01T00:00:00.000Z"


async def list_all(world: World) -> list[str]:
    """Every resource, page by page."""
    found: list[str] = []
    cursor = None
    while True:
        page = await world.client.list_resources(cursor=cursor)
        assert len(page.resources) <= PAGE_LENGTH
        found += [resource.uri for resource in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            return found


async def test_every_reminder_is_listed_and_every_listed_one_can_be_read(
    tmp_path: Path, mode: Mode
) -> None:
    """Ids that need escaping too."""
    write_session(
        tmp_path / "s",
        create_at(0, "a/b c?", prompt="z" * 900, at=SOON),
        *(create_at(place, f"r{place}", at=SOON) for place in range(1, 60)),
    )
    async with connected(tmp_path / "s", mode) as world:
        uris = await list_all(world)
        assert uris[:3] == [f"wakefold://sessions/s/{kind}" for kind in KINDS]
        assert uris[3] == "wakefold://sessions/s/reminders/a%2Fb%20c%3F"
        assert len(uris) == len(set(uris)) == 63
        one = await world.read(uris[3])
        assert (one["id"], one["prompt"], one["scheduledAt"]) == ("a/b c?", "z" * 900, SOON)
        page = await world.read(uris[0])
        assert "[cut: 200 of 900 characters;" in page["reminders"][0]["prompt"]
        ids = [view["id"] for view in page["reminders"]]
        while "next" in page:
            assert page["total"] == 60
            page = await world.read(page["next"])
            ids += [view["id"] for view in page["reminders"]]
        assert ids == ["a/b c?", *(f"r{place}" for place in range(1, 60))]
        templates = (await world.client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == list_templates()
        with pytest.raises(MCPError, match="list again"):
            await world.client.list_resources(cursor="0123456789abcdef")


async def test_receipts_are_read_newest_first_with_what_became_of_them(
    tmp_path: Path, mode: Mode
) -> None:
    write_session(
        tmp_path,
        create_at(0, "old", prompt="p" * 300),
        change(1, operation="dispatch", id="old"),
        create_at(2, "new", at=SOON),
    )
    base = f"wakefold://sessions/{tmp_path.name}/receipts"
    async with connected(tmp_path, mode, clock=HandClock(SOON_MS)) as world:
        await world.until_inbox(1)
        receipts = (await world.read(base))["receipts"]
        assert [(receipt["scheduleId"], receipt["delivery"]) for receipt in receipts] == [
            ("new", "waiting"),
            ("old", "unknown"),
        ]
        assert receipts[0]["lateMs"] == 0
        assert receipts[1]["promptCharacters"] == 300
        assert (await world.read(f"{base}/1"))["prompt"] == "p" * 300


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("wakefold://sessions/s/secrets", "resource_not_found"),
        ("wakefold://sessions/s/reminders/none", "resource_not_found"),
        ("wakefold://sessions/s/reminders?cursor=00", "resource_not_found"),
        ("wakefold://sessions/s/reminders/a/b", "resource_not_found"),
        ("wakefold://sessions/other/reminders", "resource_not_found"),
        ("wakefold://sessions/%2E%2E/reminders", "resource_not_found"),
        ("file:///etc/passwd", "resource_not_found"),
        ("", "resource_not_found"),
    ],
)
async def test_a_uri_that_names_nothing_is_an_error_with_a_code(
    tmp_path: Path, mode: Mode, uri: str, code: str
) -> None:
    write_session(tmp_path / "s")
    async with connected(tmp_path / "s", mode) as world:
        with pytest.raises(MCPError) as refused:
            await world.client.read_resource(uri)
        assert (refused.value.code, refused.value.data) == (-32602, {"code": code})


async def test_what_cannot_be_read_is_an_error_and_no_empty_list(tmp_path: Path, mode: Mode) -> None:
    """A damaged log; and no session at all."""
    write_session(tmp_path / "s", change(0, operation="delete", id="nobody"))
    for place, code in (
        (tmp_path / "s", "corrupt_schedule_log"),
        (tmp_path / "n", "session_not_found"),
    ):
        async with connected(place, mode) as world:
            for kind in KINDS:
                with pytest.raises(MCPError) as refused:
                    await world.client.read_resource(name_uri(place.name, kind))
                assert refused.value.data == {"code": code}


async def test_a_root_lists_every_session_and_reads_the_one_that_is_named(
    tmp_path: Path, mode: Mode
) -> None:
    """Only those that are taken up list their reminders; a damaged one hides no other."""
    write_session(tmp_path / "a", create_at(0, "of-a", at=SOON))
    write_session(tmp_path / "deep" / "b", create_at(0, "of-b", at=SOON))
    write_session(tmp_path / "c", change(0, operation="delete", id="nobody"))
    async with connected(Place(tmp_path, is_root=True), mode) as world:
        pages = [name_uri(name, kind) for name in ("a", "c", "deep%2Fb") for kind in KINDS]
        assert await list_all(world) == pages
        await world.refuse("schedule_list", session="c")
        assert (await world.read("wakefold://sessions/deep%2Fb/reminders"))["total"] == 1
        assert await list_all(world) == [*pages, "wakefold://sessions/deep%2Fb/reminders/of-b"]
        with pytest.raises(MCPError):
            await world.client.read_resource("wakefold://sessions/deep/reminders")


async def test_subscribers_hear_of_a_reminder_that_fires(tmp_path: Path, mode: Mode) -> None:
    """Of what they subscribed to, and of nothing else."""
    write_session(tmp_path, create_at(0, "a", at=SOON), create_at(1, "b", at=FAR))
    clock = HandClock()
    name = tmp_path.name
    wanted = [name_uri(name, "inbox"), name_uri(name, "reminders", "a"), name_uri(name, "receipts")]
    async with connected(tmp_path, mode, clock=clock) as world:
        async with subscribed(world, mode, *wanted, name_uri(name, "reminders", "b")):
            await anyio.sleep(2 * notices.LOOK_SECONDS)
            assert uris_heard(world) == []
            clock.move(SOON_MS)
            await until(lambda: set(uris_heard(world)) == set(wanted))
        heard = len(uris_heard(world))
        await world.call("schedule_create", prompt="x", after_seconds=60)
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        assert len(uris_heard(world)) == heard


async def test_subscribers_hear_of_what_another_owner_does(tmp_path: Path, mode: Mode) -> None:
    """The session is another's, and below a root nobody has named it before."""
    write_session(tmp_path / "s", create_at(0, "a", at=SOON))
    clock = HandClock()
    receipts = name_uri("s", "receipts")
    async with (
        living(make_runner(tmp_path / "s", Crew(), clock)),
        connected(Place(tmp_path, is_root=True), mode, clock=clock) as world,
        subscribed(world, mode, receipts),
    ):
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        clock.move(SOON_MS)
        await until(lambda: receipts in uris_heard(world))
        assert set(uris_heard(world)) == {receipts}


async def test_clients_beyond_the_limit_are_not_told(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the newer era the one that comes is refused, in the older the one before is forgotten."""
    monkeypatch.setattr(notices, "SUBSCRIBERS_MAX", 1)
    write_session(tmp_path, create_at(0, at=SOON))
    clock, uri = HandClock(), name_uri(tmp_path.name, "inbox")
    async with (
        serving(tmp_path, clock=clock) as server,
        joined(server, mode) as first,
        joined(server, mode) as second,
        subscribed(first, mode, uri),
    ):
        if mode == "auto":
            with pytest.raises(MCPError, match="limit"):
                async with subscribed(second, mode, uri):
                    pass
            return
        async with subscribed(second, mode, uri):
            await anyio.sleep(2 * notices.LOOK_SECONDS)
            clock.move(SOON_MS)
            await until(lambda: uris_heard(second) == [uri])
            assert uris_heard(first) == []


async def test_resources_beyond_the_limit_are_not_told(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "URIS_MAX", 1)
    write_session(tmp_path, create_at(0, at=SOON))
    clock = HandClock()
    uris = [name_uri(tmp_path.name, kind) for kind in ("inbox", "receipts")]
    async with connected(tmp_path, mode, clock=clock) as world, subscribed(world, mode, *uris):
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        clock.move(SOON_MS)
        await until(lambda: uris_heard(world)[:1] == uris[:1])
        await anyio.sleep(notices.LOOK_SECONDS)
        assert uris_heard(world) == uris[:1]


async def test_a_subscriber_that_cannot_be_told_is_dropped(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others hear of it all the same, and the server lives on."""
    write_session(tmp_path, create_at(0, at=SOON))
    clock, tries = HandClock(), []

    async def fail(_: ServerSession, uri: str) -> None:
        tries.append(uri)
        raise anyio.BrokenResourceError

    monkeypatch.setattr(ServerSession, "send_resource_updated", fail)
    uri = name_uri(tmp_path.name, "inbox")
    async with connected(tmp_path, mode, clock=clock) as world, subscribed(world, mode, uri):
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        clock.move(SOON_MS)
        (message,) = await world.until_inbox(1)
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        await world.call("inbox_acknowledge", id=message["id"])
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        assert tries == ([uri] if mode == "legacy" else [])


async def test_a_log_that_cannot_be_read_is_looked_at_again_once_it_has_changed(
    tmp_path: Path, mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    """Not for ever in the meantime: why the session rests is logged once for each look."""
    journal = write_session(tmp_path, change(0, operation="delete", id="nobody"))
    uri = name_uri(tmp_path.name, "reminders")
    async with connected(tmp_path, mode) as world, subscribed(world, mode, uri):
        await anyio.sleep(4 * notices.LOOK_SECONDS)
        assert 1 <= caplog.text.count("corrupt_schedule_log") <= 2
        write_session(tmp_path, create_at(0, at=SOON))
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        with journal.open("ab") as file:
            file.write(create_at(1, "other", at=SOON))
        await until(lambda: uri in uris_heard(world))


async def test_a_fault_of_ours_while_looking_ends_nothing(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_session(tmp_path)

    async def fail(_: object) -> Any:  # noqa: ANN401 - it never returns
        raise ZeroDivisionError

    monkeypatch.setattr(notices, "list_reminders", fail)
    async with connected(tmp_path, mode) as world:
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        await world.call("schedule_create", prompt="x", after_seconds=60)
        await anyio.sleep(2 * notices.LOOK_SECONDS)
        assert (await world.call("schedule_list"))["total"] == 1
    assert caplog.text.count("nobody could be told of a change") == 2


async def test_an_error_of_ours_says_nothing_of_itself(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path)

    def fail(*_: object) -> Any:  # noqa: ANN401 - it never returns
        raise ZeroDivisionError

    monkeypatch.setattr("wakefold_shell.mcp.resources.cut_page", fail)
    async with connected(tmp_path, mode) as world:
        with pytest.raises(MCPError, match="An internal error") as refused:
            await world.client.read_resource(name_uri(tmp_path.name, "inbox"))
        assert refused.value.data["code"] == "internal_error"


@pytest.mark.parametrize("item", ["a", "a/b", "ä?", "100%", "x y"])
async def test_an_address_comes_back_from_its_uri(mode: Mode, item: str) -> None:
    del mode
    found = read_uri(name_uri("deep%2Fb", "reminders", item))
    assert (found.name, found.kind, found.item, found.cursor) == ("deep%2Fb", "reminders", item, None)
