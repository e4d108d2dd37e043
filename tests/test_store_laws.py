"""The laws judge a newcomer's store: the lawful one passes, each mistake meets its own law."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

import pytest

import line_store
from line_store import open_lines
from wakefold_laws.store_laws import (
    DURABLE_LAWS,
    FORGETFUL_LAWS,
    KILL_LAWS,
    STORE_LAWS,
    WRITE_LAWS,
    Law,
    OpenStore,
    check_store,
    select_laws,
)
from wakefold_laws.transcripts import BACKENDS
from wakefold_shell.stores.memory import MemoryStore

pytestmark = pytest.mark.usefixtures("quick_files")

LAWFUL: Final[dict[str, OpenStore]] = {
    "plain": open_lines(),
    "imported": open_lines(line_store.SyncingByAnotherName),
    "in the append": open_lines(line_store.SyncingWhenAppending),
    "below": line_store.open_below(name_synced=True),
    "renaming": open_lines(line_store.Renaming, lock_name="log.lock"),
}

MISTAKES: Final[dict[str, tuple[OpenStore, str, str]]] = {
    "answering nothing": (open_lines(line_store.AnsweringNothing), "check_barriers", "found: None"),
    "giving rows": (
        open_lines(line_store.GivingRows),
        "check_barriers",
        "expected: values of wakefold.Event",
    ),
    "ignoring the start": (open_lines(line_store.IgnoringTheStart), "check_appends", "read_events(1)"),
    "needing an event": (
        open_lines(line_store.NeedingAnEvent),
        "check_empty_batches",
        "it raised IndexError",
    ),
    "taking everything": (
        open_lines(line_store.TakingEverything),
        "check_refusals",
        "the batch was taken",
    ),
    "looking at the first alone": (
        open_lines(line_store.LookingAtTheFirstAlone),
        "check_refusals",
        "append(events 3, 3)",
    ),
    "reading what grows": (
        open_lines(line_store.ReadingWhatGrows),
        "check_readers",
        "changed size during iteration",
    ),
    "writing text": (open_lines(line_store.WritingText), "check_data", "it raised UnicodeEncodeError"),
    "shortening texts": (
        open_lines(line_store.ShorteningTexts),
        "check_data",
        "found: event 3 with xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}) for xxx",
    ),
    "opening to write": (open_lines(mode="w+b"), "check_lives", "found: no events"),
    "splitting text": (
        open_lines(line_store.SplittingText),
        "check_data_in_the_next_life",
        "split lines at b'\\n' alone",
    ),
    "forgetting its header": (
        open_lines(line_store.ForgettingItsHeader),
        "check_header",
        "time_zone='Europe/Berlin'",
    ),
    "changing its mind": (
        open_lines(line_store.ChangingItsMind),
        "check_header",
        "found: seed_length=0, time_zone='Europe/Berlin'",
    ),
    "inheriting too much": (
        open_lines(line_store.InheritingTooMuch),
        "check_header",
        "no seed longer than the log",
    ),
    "refusing without words": (
        open_lines(line_store.RefusingWithoutWords, locked=False),
        "check_lease",
        "expected: an exception that says why",
    ),
    "no lock": (open_lines(locked=False), "check_lease", "a second writer was let in"),
    "keeping in the buffer": (
        open_lines(line_store.KeepingInTheBuffer),
        "check_kills",
        "file.flush() empties the buffer",
    ),
    "writing later": (open_lines(line_store.WritingLater), "check_kills", "found: no events"),
    "tripping over torn lines": (
        open_lines(line_store.TrippingOverTornLines),
        "check_torn_writes",
        "leave it out when the log is read",
    ),
    "leaving torn lines": (
        open_lines(line_store.LeavingTornLines),
        "check_torn_writes",
        "cut off (truncate) what a torn write has left",
    ),
    "taking lines without end": (
        open_lines(line_store.TakingWholeLinesWithoutEnd),
        "check_torn_writes",
        "cut off (truncate) what a torn write has left",
    ),
    "rewriting in place": (
        open_lines(line_store.RewritingInPlace),
        "check_kills",
        "never cut or rewrite in place",
    ),
    "writing backwards": (
        open_lines(line_store.WritingBackwards),
        "check_kills",
        "write events in their order",
    ),
    "no fsync": (
        open_lines(line_store.ForgettingFsync),
        "check_power_cuts",
        "log.jsonl holds 204 bytes, of which 0 bytes were synced",
    ),
    "no fsync at all": (
        open_lines(line_store.ForgettingFsync, name_synced=False),
        "check_power_cuts",
        "os.fsync was called for nothing\nto do: in flush(), call os.fsync(file.fileno())",
    ),
    "syncing before writing": (
        open_lines(line_store.SyncingBeforeWriting),
        "check_power_cuts",
        "os.fsync came before the bytes",
    ),
    "syncing another file": (
        open_lines(line_store.SyncingAnotherFile),
        "check_power_cuts",
        "os.fsync was called for the directory, log.lock",
    ),
    "renaming before syncing": (
        open_lines(line_store.RenamingBeforeSyncing, lock_name="log.lock"),
        "check_power_cuts",
        "sync a new file before it is renamed",
    ),
    "no directory synced": (
        open_lines(name_synced=False),
        "check_names",
        "created or renamed since: log.jsonl",
    ),
    "no directory above synced": (
        line_store.open_below(name_synced=False),
        "check_names",
        "created or renamed since: below",
    ),
    "renaming alone": (
        open_lines(line_store.RenamingWithoutItsDirectory, lock_name="log.lock"),
        "check_names",
        "created or renamed since: log.jsonl",
    ),
    "swallowing failures": (
        open_lines(line_store.SwallowingFailures),
        "check_failed_syncs",
        "from here on os.fsync raises",
    ),
    "trying again": (
        open_lines(line_store.TryingAgain),
        "check_failed_syncs",
        "from then on as long as this store is open",
    ),
}


@pytest.mark.parametrize("open_store", LAWFUL.values(), ids=LAWFUL)
def test_a_lawful_store_keeps_every_law(open_store: OpenStore) -> None:
    """Nothing is said of it."""
    check_store(open_store)


@pytest.mark.parametrize(("open_store", "law", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_caught_by_the_law_that_names_it(
    open_store: OpenStore, law: str, words: str
) -> None:
    """The first law that breaks is the right one, and says what was done and what to do."""
    text = describe_failure(open_store)
    assert text.startswith(f"this store breaks a law ({law}): ")
    assert words in text
    assert "\ndone:\n  1. open_store(an empty directory)\n" in text
    assert "\nexpected: " in text
    assert "\nfound: " in text
    assert "\nto do: " in text
    assert "session-" not in text, "a path that nobody can open any more"


def describe_failure(open_store: OpenStore, *, durable: bool = True) -> str:
    """What is said of a store that breaks a law."""
    with pytest.raises(AssertionError) as caught:
        check_store(open_store, durable=durable)
    return str(caught.value)


def test_each_law_has_caught_a_mistake() -> None:
    """No law stands that nothing can break."""
    assert {law for _, law, _ in MISTAKES.values()} == {law.__name__ for law in STORE_LAWS}


def test_each_law_is_a_plain_function_with_a_sentence() -> None:
    """So that anybody's test runner can take them one by one."""
    for law in STORE_LAWS:
        assert law.__doc__ is not None
        assert law.__doc__.endswith(".")
    assert len({law.__name__ for law in STORE_LAWS}) == len(STORE_LAWS)


def test_a_store_that_knows_one_event_loop_is_told_the_other() -> None:
    """The loop is named where it is not the first."""
    text = describe_failure(open_lines(line_store.KnowingAsyncioAlone))
    assert text.startswith(f"this store breaks a law (check_barriers, on {BACKENDS[1]}): ")


def test_a_barrier_that_never_answers_is_not_waited_for_any_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told like any other answer that is not `True`."""
    monkeypatch.setattr("wakefold_laws.store_trials.ANSWER_SECONDS", 0.01)
    text = describe_failure(open_lines(line_store.NeverAnswering))
    assert "(check_barriers)" in text
    assert "found: TimeoutError: no answer within" in text


def test_a_store_that_forgets_is_told_how_it_is_checked() -> None:
    """Its own laws hold; the first that asks for another life names the argument."""
    check_store(lambda _: nullcontext(MemoryStore()), durable=False)
    text = describe_failure(lambda _: nullcontext(MemoryStore()))
    assert "(check_lives)" in text
    assert "durable=False" in text


def test_a_store_on_a_server_is_told_how_it_is_checked() -> None:
    """Its directory only names the session, so that a copy of it is another one."""
    logs: dict[Path, list[object]] = {}

    class ServedStore(MemoryStore):
        """Its log is somewhere else."""

    @contextmanager
    def open_served(directory: Path) -> Iterator[ServedStore]:
        with (directory / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            store = ServedStore()
            store._events = logs.setdefault(directory, [])  # type: ignore[assignment]  # noqa: SLF001
            yield store

    check_store(open_served, in_directory=False)
    text = describe_failure(open_served)
    assert "(check_kills)" in text
    assert "in_directory=False" in text


def test_a_factory_that_gives_no_store_is_told_so() -> None:
    """A generator without its decorator, a store without a barrier."""

    def generate(_: Path) -> Iterator[MemoryStore]:
        yield MemoryStore()

    assert "contextlib.contextmanager makes one" in describe_failure(generate)  # type: ignore[arg-type]
    text = describe_failure(lambda _: nullcontext(object()))  # type: ignore[arg-type]
    assert "'object' object has no attribute 'read_events'" in text


def test_laws_are_selected_by_what_can_be_seen() -> None:
    """All of them by default; each argument leaves some out, and keeps the order."""
    assert select_laws() == STORE_LAWS == (*FORGETFUL_LAWS, *DURABLE_LAWS)
    assert select_laws(durable=False) == FORGETFUL_LAWS
    assert select_laws(in_directory=False) == leave_out({*KILL_LAWS, *WRITE_LAWS})
    assert select_laws(writes_in_python=False) == leave_out({*WRITE_LAWS})


def leave_out(laws: set[Law]) -> tuple[Law, ...]:
    """All laws but these, in order."""
    return tuple(law for law in STORE_LAWS if law not in laws)


def test_the_laws_leave_the_process_as_it_was() -> None:
    """Syncs are real again, and nobody looks at the calls, also after a failure."""
    before = (*list_syncs(), sys.getprofile())
    describe_failure(open_lines(line_store.ForgettingFsync))
    describe_failure(open_lines(line_store.RewritingInPlace))
    assert before == (*list_syncs(), sys.getprofile())


def list_syncs() -> tuple[object, ...]:
    """What the process syncs by, under each name that is known here."""
    return os.fsync, os.fdatasync, vars(line_store)["fdatasync"]


def test_the_laws_need_no_hypothesis() -> None:
    """They come with wakefold alone."""
    script = "import sys, wakefold_laws.store_laws; sys.exit('hypothesis' in sys.modules)"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", script) == 0
