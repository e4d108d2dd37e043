"""Many sessions in one process, each on its own; on asyncio and on trio."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from journal_files import NOON_MS, create_at, write_session
from wakefold import format_instant
from wakefold.conversations import Input
from wakefold_shell import supervisors
from wakefold_shell.clocks import FixedClock, SystemClock
from wakefold_shell.errors import ShellError
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.protocols import Clock
from wakefold_shell.runners import Runner
from wakefold_shell.sockets import SOCKET_NAME, ask
from wakefold_shell.stores.journal_store import hold_lock
from wakefold_shell.supervisors import Supervisor, find_sessions

pytestmark = pytest.mark.anyio


class Crew:
    """Agents that keep what they are given, by session; a supervisor that tells and looks often."""

    def __init__(self, root: Path, clock: Clock | None = None, *, once: bool = False) -> None:
        self.given: dict[str, list[tuple[tuple[str, int], ...]]] = {}
        self.told: list[str] = []
        self.made: list[Path] = []
        self.root, self._clock, self._once = root, clock or FixedClock(NOON_MS), once
        self.hold = anyio.Event()
        self.hold.set()
        self.supervisor = Supervisor(root, self._make_runner, once=once, tell=self.told.append)

    def _make_runner(self, directory: Path) -> Runner:
        async def take_turn(given: Input) -> None:
            self.given.setdefault(name_below(self.root, directory), []).append(given.occurrences)
            await self.hold.wait()

        self.made.append(directory)
        return Runner(directory, lambda *_: CallbackAgent(take_turn), self._clock, once=self._once)

    @property
    def live(self) -> list[str]:
        """The sessions whose door is open."""
        return sorted(
            name_below(self.root, directory)
            for directory in self.supervisor.live
            if (directory / SOCKET_NAME).exists()
        )


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """One entry for each scan of a root, of which there are many in a second."""
    seen: list[Path] = []
    found = supervisors.find_sessions

    def look(root: Path, *depth: int) -> Iterator[Path]:
        if not depth:  # else it looks further down
            seen.append(root)
        return found(root, *depth)

    monkeypatch.setattr(supervisors, "SCAN_SECONDS", 0.02)
    monkeypatch.setattr(supervisors, "find_sessions", look)
    return seen


def name_below(root: Path, directory: Path) -> str:
    return directory.relative_to(root).as_posix()


@asynccontextmanager
async def living(crew: Crew) -> AsyncIterator[None]:
    """A supervisor that lives as long as the block."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(crew.supervisor.run)
            yield
            crew.supervisor.stop()


async def run_once(crew: Crew) -> None:
    with anyio.fail_after(30):
        await crew.supervisor.run()


async def until(look: Callable[[], object]) -> None:
    while not look():
        await anyio.sleep(0.01)


async def let_scan(scans: list[Path], times: int = 6) -> None:
    """Let the supervisor look again, several times."""
    enough = len(scans) + times
    await until(lambda: len(scans) >= enough)


def write_due(directory: Path, at_ms: int = NOON_MS) -> bytes:
    """A session with a one-shot; the journal's bytes."""
    return write_session(directory, create_at(0, at=format_instant(at_ms))).read_bytes()


def write_corrupt(directory: Path) -> bytes:
    return write_session(directory, create_at(0), create_at(1)).read_bytes()


def read_journal(directory: Path) -> bytes:
    return (directory / "session.jsonl").read_bytes()


def test_sessions_are_found_down_to_the_third_level(tmp_path: Path) -> None:
    """At any depth up to that of `<root>/<anything>/<session id>`, plain or compressed."""
    for name in ("a", "x/b", "x/y/c", "x/y/z/too-deep"):
        write_session(tmp_path / name)
    (tmp_path / "x" / "d").mkdir()
    (tmp_path / "x" / "d" / "session.jsonl.zstd").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    found = {name_below(tmp_path, directory) for directory in find_sessions(tmp_path)}
    assert found == {"a", "x/b", "x/y/c", "x/d"}


def test_a_root_may_be_a_session_itself_and_nothing_inside_one_is(tmp_path: Path) -> None:
    """Directories of a session's own are not looked into."""
    write_session(tmp_path)
    write_session(tmp_path / "inner")
    assert list(find_sessions(tmp_path)) == [tmp_path]


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    """Neither to a session elsewhere nor round in a circle."""
    root = tmp_path / "root"
    write_session(tmp_path / "elsewhere")
    write_session(root / "a")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    (root / "circle").symlink_to(root)
    (root / "dangling").symlink_to(tmp_path / "missing")
    assert list(find_sessions(root)) == [root / "a"]


@pytest.mark.parametrize(
    ("refusal", "found"), [(FileNotFoundError, ["a", "c"]), (PermissionError, ["a", "b", "c"])]
)
def test_a_directory_that_cannot_be_read_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: type[OSError], found: list[str]
) -> None:
    """One that has gone meanwhile is left out; of one that may not be read, its runner tells."""
    scandir = os.scandir

    def scan(directory: Path) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        if directory.name == "b":
            raise refusal
        return scandir(directory)

    for name in ("a", "b", "c"):
        write_session(tmp_path / name)
    monkeypatch.setattr(os, "scandir", scan)
    assert sorted(name_below(tmp_path, directory) for directory in find_sessions(tmp_path)) == found


async def test_all_sessions_of_a_tree_are_owned(tmp_path: Path) -> None:
    """Each with an agent and a door of its own, whatever its depth."""
    names = ["a", "x/b", "x/y/c"]
    for name in names:
        write_due(tmp_path / name)
    crew = Crew(tmp_path)
    async with living(crew):
        await until(lambda: len(crew.given) == 3)
        assert crew.live == names
        for name in names:
            answer = await ask(tmp_path / name, {"tool": "schedule_list", "arguments": {}})
            assert answer == {"value": [], "timeZone": None}
    assert crew.given == {name: [(("schedule-1", NOON_MS),)] for name in names}
    assert crew.live == []
    assert crew.told == []


async def test_a_session_that_comes_later_is_taken(tmp_path: Path) -> None:
    """At the pace of every day: the supervisor looks once a second."""
    crew = Crew(tmp_path)
    async with living(crew):
        await anyio.sleep(0.1)
        write_due(tmp_path / "late")
        await until(lambda: crew.given)
    assert crew.given == {"late": [(("schedule-1", NOON_MS),)]}


async def test_c99_a_corrupt_session_is_told_once_and_stops_no_other(
    tmp_path: Path, scans: list[Path]
) -> None:
    """A stays closed, unchanged, however often the supervisor looks; B delivers on time."""
    due_ms = SystemClock().read_ms() + 500
    corrupt = write_corrupt(tmp_path / "a")
    write_due(tmp_path / "b", due_ms)
    crew = Crew(tmp_path, SystemClock())
    async with living(crew):
        await until(lambda: crew.given)
        await let_scan(scans)
        assert crew.live == ["b"]
    assert crew.given == {"b": [(("schedule-1", due_ms),)]}
    (sentence,) = crew.told
    assert sentence.startswith(f"{tmp_path / 'a' / 'session.jsonl'}:3 (byte ")
    assert "corrupt_schedule_log" in sentence
    assert crew.made.count(tmp_path / "a") == 1
    assert read_journal(tmp_path / "a") == corrupt


async def test_a_fault_nobody_thought_of_closes_its_session_alone(
    tmp_path: Path, scans: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told by its kind, once, without anything that a backend said."""
    write_due(tmp_path / "a")
    write_due(tmp_path / "b")
    crew = Crew(tmp_path)
    runs = Runner.run

    async def run(runner: Runner) -> None:
        if runner.directory.name == "a":
            raise LookupError("secret")
        await runs(runner)

    monkeypatch.setattr(Runner, "run", run)
    async with living(crew):
        await until(lambda: crew.given)
        await let_scan(scans)
    assert list(crew.given) == ["b"]
    assert crew.told == [f"{tmp_path / 'a'}: closed (LookupError)."]


@pytest.mark.usefixtures("scans")
async def test_an_agent_that_cannot_be_reached_closes_its_session_alone(tmp_path: Path) -> None:
    """The sentence is the runner's; what waits is kept."""
    write_due(tmp_path / "a")
    write_due(tmp_path / "b")
    given: list[Path] = []
    told: list[str] = []

    def make_runner(directory: Path) -> Runner:
        async def take_turn(_: Input) -> None:
            given.append(directory)

        def make_agent(*_: object) -> CallbackAgent:
            if directory.name == "a":
                raise ShellError("a has no agent.")
            return CallbackAgent(take_turn)

        return Runner(directory, make_agent, FixedClock(NOON_MS), once=True)

    with anyio.fail_after(30):
        await Supervisor(tmp_path, make_runner, once=True, tell=told.append).run()
    assert given == [tmp_path / "b"]
    assert told == ["a has no agent."]


async def test_a_session_of_another_owner_is_left_to_it_and_taken_when_free(
    tmp_path: Path, scans: list[Path]
) -> None:
    """Told once, if it lasts; no other session waits for it."""
    before = write_due(tmp_path / "a")
    write_due(tmp_path / "b")
    crew = Crew(tmp_path)
    async with living(crew):
        with hold_lock(tmp_path / "a"):
            await until(lambda: crew.told)
            await let_scan(scans)
            assert list(crew.given) == ["b"]
            assert read_journal(tmp_path / "a") == before
        await until(lambda: "a" in crew.given)
    (sentence,) = crew.told
    assert f"process {os.getpid()} owns this session" in sentence


async def test_a_session_that_is_held_for_a_moment_is_not_spoken_of(
    tmp_path: Path, scans: list[Path]
) -> None:
    """A command may be at it."""
    write_due(tmp_path / "a")
    crew = Crew(tmp_path)
    async with living(crew):
        with hold_lock(tmp_path / "a"):
            await until(lambda: crew.made)
        await let_scan(scans)
        await until(lambda: crew.given)
    assert crew.told == []


async def test_child_sessions_are_left_alone(tmp_path: Path, scans: list[Path]) -> None:
    """They have no reminders, which is nothing to tell of."""
    path = write_session(tmp_path / "child", create_at(0), header={"delegationDepth": 1})
    before = path.read_bytes()
    write_due(tmp_path / "b")
    crew = Crew(tmp_path)
    async with living(crew):
        await until(lambda: crew.given)
        await let_scan(scans)
        assert crew.live == ["b"]
    assert crew.told == []
    assert crew.made.count(tmp_path / "child") == 1
    assert path.read_bytes() == before


async def test_a_directory_without_sessions_is_waited_on_or_done_at_once(
    tmp_path: Path, scans: list[Path]
) -> None:
    """An empty root is no error."""
    (tmp_path / "notes").mkdir()
    await run_once(Crew(tmp_path, once=True))
    crew = Crew(tmp_path)
    async with living(crew):
        await let_scan(scans)
    assert crew.made == []
    assert crew.told == []


@pytest.mark.parametrize("kind", ["missing", "file"])
async def test_a_root_that_cannot_be_read_is_named(tmp_path: Path, kind: str) -> None:
    """In one sentence that says what to give instead."""
    root = tmp_path / "root"
    if kind == "file":
        root.touch()
    with (
        anyio.fail_after(30),
        pytest.raises(ShellError, match=r"; give a directory of sessions\.$") as caught,
    ):
        await Crew(root).supervisor.run()
    assert str(caught.value).startswith(f"{root}: ")


async def test_a_root_that_goes_for_a_moment_ends_nobody(tmp_path: Path, scans: list[Path]) -> None:
    """Those that live go on, and those that come are taken once it is back."""
    root = tmp_path / "root"
    write_due(root / "a")
    crew = Crew(root)
    async with living(crew):
        await until(lambda: crew.live == ["a"])
        root.rename(tmp_path / "away")
        await let_scan(scans)
        (tmp_path / "away").rename(root)
        write_due(root / "b")
        await until(lambda: crew.live == ["a", "b"])
    assert crew.told == []


async def test_once_ends_when_every_session_has_nothing_due(tmp_path: Path) -> None:
    """Whatever one of them is like; a second time there is nothing left."""
    write_corrupt(tmp_path / "corrupt")
    write_due(tmp_path / "a")
    write_due(tmp_path / "b", NOON_MS + 1)
    write_due(tmp_path / "owned")
    crew = Crew(tmp_path, once=True)
    with hold_lock(tmp_path / "owned"):
        await run_once(crew)
    assert list(crew.given) == ["a"]
    assert len(crew.told) == 2
    again = Crew(tmp_path / "a", once=True)
    await run_once(again)
    assert again.given == {}


@pytest.mark.usefixtures("scans")
async def test_a_stop_ends_all(tmp_path: Path) -> None:
    """In the middle of their turns; doors are shut and locks are free."""
    for name in ("a", "b"):
        write_due(tmp_path / name)
    crew = Crew(tmp_path)
    crew.hold = anyio.Event()
    async with living(crew):
        await until(lambda: len(crew.given) == 2)
    assert crew.supervisor.live == {}
    for name in ("a", "b"):
        assert not (tmp_path / name / SOCKET_NAME).exists()
        with hold_lock(tmp_path / name):
            assert read_journal(tmp_path / name).endswith(b"\n")


async def test_a_stop_before_the_start_is_heard(tmp_path: Path) -> None:
    """Nothing is owned."""
    write_due(tmp_path / "a")
    crew = Crew(tmp_path)
    crew.supervisor.stop()
    await run_once(crew)
    assert crew.made == []
