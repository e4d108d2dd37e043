"""The laws of a store that is killed or loses its power: nothing acknowledged is lost or changed.

Each law takes a store through a few batches and barriers, looks at every state that a crash may leave
(`disks` says which those are), and goes on from each in a new directory: open, read, append, barrier,
another crash, and open again. What no barrier has acknowledged may be missing, but only from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from msgspec import Struct

from wakefold_laws.disks import Disk, Tree, count_bytes, list_torn, write_tree
from wakefold_laws.power_cuts import Machine, watch_calls, watch_syncs
from wakefold_laws.store_trials import (
    Life,
    Trial,
    describe_error,
    describe_events,
    make_events,
    try_on_every_backend,
)

#: Data that a file's buffer holds, and data that it does not.
#:
#: :meta hide-value:
PADDINGS: Final = ("", "x" * 10_000)

_IN_STEP: Final = " before that has come back"

_WRITE_REMEDY: Final = (
    "before flush() answers True, write all that was appended to the file (file.flush() empties the "
    "buffer that Python keeps), and never cut or rewrite in place what was acknowledged "
    "(a store that keeps its log elsewhere than in the directory is checked with in_directory=False)"
)
_ORDER_REMEDY: Final = (
    "write events in their order, each after the last, and change none that is written"
)
_TORN_REMEDY: Final = (
    "what stands after the last whole record was never acknowledged: leave it out when the log is read "
    "(a store that writes in C or elsewhere, as SQLite does, is checked with writes_in_python=False)"
)
_NEXT_REMEDY: Final = (
    "cut off (truncate) what a torn write has left before the next append, "
    "so that no new record is written behind half of an old one"
)
_RENAME_REMEDY: Final = (
    "sync a new file before it is renamed to take the old one's place, "
    "and never cut or rewrite in place what was acknowledged"
)
_NAMES_REMEDY: Final = (
    "after a file is created or renamed, and before flush() answers True, sync its directory too: "
    "descriptor = os.open(directory, os.O_RDONLY), os.fsync(descriptor), os.close(descriptor)"
)
_FAILED_REMEDY: Final = (
    "let flush() raise or answer False when os.fsync raises, and from then on as long as this store "
    "is open: the system takes for written what it has lost, and a later os.fsync succeeds all the same"
)


class Crash(Struct, frozen=True):
    """What happened, the files that it left, and what to tell if a store does not stand it."""

    cause: str
    tree: Tree
    facts: str
    remedy: str
    in_step: bool = False
    """Whether it happened before the last step was through."""


@try_on_every_backend
async def check_kills(trial: Trial) -> None:
    """A kill at any moment loses nothing acknowledged, and of the rest at most the end."""
    await live(trial, kill_at_any_moment, kill)


@try_on_every_backend
async def check_torn_writes(trial: Trial) -> None:
    """A kill inside a write, which leaves it torn at any byte, loses nothing acknowledged either."""
    await live(trial, kill_inside_writes, kill)


def kill_at_any_moment(disk: Disk) -> list[Crash]:
    """The process is killed after the last step, or between any two calls of it."""
    return [kill(disk), *(describe_kill(state.tree, _IN_STEP) for state in disk.states)]


def kill_inside_writes(disk: Disk) -> list[Crash]:
    """The process is killed in the last step, inside each write."""
    return [describe_kill(tree, " inside a write") for tree in list_torn(disk.states)]


def kill(disk: Disk) -> Crash:
    """The process is killed after the last step; the machine runs on."""
    return describe_kill(disk.read(), "")


def describe_kill(tree: Tree, when: str) -> Crash:
    """What a kill has left; `when` is empty for one after the last step."""
    return Crash(
        f"the process is killed{when}", tree, describe_files(tree), _WRITE_REMEDY, in_step=bool(when)
    )


def describe_files(tree: Tree) -> str:
    """The files with their lengths."""
    files = [
        f"{path} with {count_bytes(content)}" for path, content in tree.items() if content is not None
    ]
    return ", ".join(files) or "none"


@try_on_every_backend
async def check_power_cuts(trial: Trial) -> None:
    """A power cut loses nothing acknowledged, and of the rest at most the end."""
    await live(trial, cut_power_at_any_moment, cut_power)


def cut_power_at_any_moment(disk: Disk) -> list[Crash]:
    """The power is cut after the last step, and some of what was not synced is left; or in it."""
    facts, remedy = disk.explain_loss()
    after = [
        Crash(f"the power is cut; {survival.cause}", survival.tree, facts, remedy)
        for survival in disk.list_survivals()
    ]
    cause = f"the power is cut{_IN_STEP}; what was not synced is lost"
    return after + [
        Crash(cause, tree, describe_files(tree), _RENAME_REMEDY, in_step=True)
        for tree in (state.synced for state in disk.states)
    ]


def cut_power(disk: Disk) -> Crash:
    """The power is cut, and nothing is left but what was synced."""
    facts, remedy = disk.explain_loss()
    return Crash("the power is cut; what was not synced is lost", disk.read_synced(), facts, remedy)


@try_on_every_backend
async def check_names(trial: Trial) -> None:
    """A power cut does not lose a file's name: its directory is synced as the file itself is."""
    await live(trial, lambda disk: [cut_names(disk)], cut_names)


def cut_names(disk: Disk) -> Crash:
    """The power is cut, and no name is left that was not synced with its directory."""
    whole, left = disk.read_synced(), disk.read_synced(names_synced=True)
    lost = ", ".join(path for path, content in whole.items() if left.get(path, b"") != content)
    return Crash(
        "the power is cut; files created or renamed since their directory was synced are as before",
        left,
        f"created or renamed since: {lost or 'none'}",
        _NAMES_REMEDY,
    )


async def live(
    trial: Trial, list_crashes: Callable[[Disk], list[Crash]], crash_again: Callable[[Disk], Crash]
) -> None:
    """A life of two batches, crashes at every step of it, and what comes after each of them."""
    crashes: list[tuple[Trial, Crash]] = []

    @contextmanager
    def step() -> Iterator[None]:
        acknowledged = trial.acknowledged
        with watch_calls(disk):
            yield
        for crash in list_crashes(disk):
            branch = trial.branch()
            if crash.in_step:  # nobody has heard an answer
                branch.acknowledged = acknowledged
                branch.steps[-1] = branch.steps[-1].removesuffix(": True")
            crashes.append((branch, crash))
        disk.begin()

    trial.directory.mkdir(0o700)
    with watch_syncs() as machine:
        with machine.watch(trial.directory) as disk, ExitStack() as lives:
            with step():
                life = lives.enter_context(trial.begin())
            for padding in PADDINGS:
                with step():
                    life.append(make_events(len(trial.log), 3, padding))
                with step():
                    await life.flush()
        # The plainest failure first: something was acknowledged, and is lost.
        for branch, crash in sorted(crashes, key=lambda pair: not pair[0].acknowledged):
            await go_on(branch, machine, crash, crash_again)


@try_on_every_backend
async def check_failed_syncs(trial: Trial) -> None:
    """After a sync has failed, no barrier of that life acknowledges what may be lost."""
    trial.directory.mkdir(0o700)
    with watch_syncs() as machine, machine.watch(trial.directory) as disk, trial.begin() as life:
        life.append(make_events(len(trial.log), 3))
        await life.flush()
        with watch_calls(disk):
            trial.note("from here on os.fsync raises: the disk fails")
            machine.refusing = True
            await append_and_ask(life)
            trial.note("from here on os.fsync succeeds again")
            machine.refusing = False
            await append_and_ask(life)
        crash = Crash(
            "the power is cut; what was not synced, or was in the sync that failed, is lost",
            disk.read_synced(),
            disk.explain_loss()[0],
            _FAILED_REMEDY,
        )
        await go_on(trial, machine, crash, cut_power)


async def append_and_ask(life: Life) -> None:
    """Give two events to a store in trouble; if it refuses them they may be there all the same."""
    trial = life.trial
    batch = make_events(len(trial.log), 2)
    trial.log += batch
    trial.note(f"append({describe_events(batch)})")
    try:
        life.store.append(batch)
    except Exception as error:  # noqa: BLE001 - a store has errors of its own
        trial.steps[-1] += f": raised {describe_error(error)}"
    else:
        await life.ask()


async def go_on(
    trial: Trial, machine: Machine, crash: Crash, crash_again: Callable[[Disk], Crash]
) -> None:
    """The next life after a crash, its own crash, and the life after that."""
    directory, after = trial.name_directory(), trial.name_directory()
    write_tree(directory, crash.tree)
    trial.note(crash.cause)
    trial.facts, trial.remedy = crash.facts, _TORN_REMEDY
    with machine.watch(directory) as disk, trial.open(directory, "what is left") as life:
        found = life.read()
        trial.remedy = crash.remedy if found == trial.log[: len(found)] else _ORDER_REMEDY
        trial.check_survivors(found)
        trial.log, trial.remedy = found, _NEXT_REMEDY
        life.append(make_events(len(found), 1))
        await life.flush()
        again, whole = crash_again(disk), disk.read()
        write_tree(after, again.tree)
    trial.steps[-1] = again.cause
    trial.facts, trial.remedy = again.facts, _NEXT_REMEDY if again.tree == whole else again.remedy
    with trial.open(after, "what is left") as life:
        life.check_all_places()
