"""The laws judge a newcomer's store: the lawful one passes, each mistake meets its law."""

from __future__ import annotations

from typing import Final

import pytest

import line_store
from line_store import open_lines
from wakefold_laws.store_laws import (
    STORE_LAWS,
    OpenStore,
    check_store,
)

MISTAKES: Final[tuple[tuple[OpenStore, str, str], ...]] = (
    (open_lines(line_store.AnsweringNothing), "check_barriers", "found: None"),
    (open_lines(line_store.IgnoringTheStart), "check_appends", "read_events(1)"),
    (open_lines(line_store.NeedingAnEvent), "check_empty_batches", "it raised IndexError"),
    (open_lines(line_store.TakingEverything), "check_refusals", "the batch was taken"),
    (open_lines(line_store.LookingAtTheFirstAlone), "check_refusals", "append(events 3, 3)"),
    (open_lines(line_store.ReadingWhatGrows), "check_readers", "changed size during iteration"),
    (open_lines(line_store.WritingText), "check_data", "it raised UnicodeEncodeError"),
    (open_lines(mode="w+b"), "check_lives", "found: no events"),
    (
        open_lines(line_store.SplittingText),
        "check_data_in_the_next_life",
        "split lines at b'\\n' alone",
    ),
    (
        open_lines(line_store.ForgettingItsHeader),
        "check_header",
        "expected: seed_length=0, time_zone='",
    ),
    (open_lines(locked=False), "check_lease", "a second writer was let in"),
    (open_lines(line_store.KeepingInTheBuffer), "check_kills", "file.flush() empties the buffer"),
    (open_lines(line_store.WritingLater), "check_kills", "found: no events"),
    (open_lines(line_store.TrippingOverTornLines), "check_kills", "leave it out when the log is read"),
    (open_lines(line_store.LeavingTornLines), "check_kills", "cut off (truncate) what a torn write"),
    (
        open_lines(line_store.TakingWholeLinesWithoutEnd),
        "check_kills",
        "cut off (truncate) what a torn",
    ),
    (open_lines(line_store.RewritingInPlace), "check_kills", "never cut or rewrite in place"),
    (open_lines(line_store.WritingBackwards), "check_kills", "write events in their order"),
    (open_lines(line_store.ForgettingFsync), "check_power_cuts", "of which 0 bytes were synced"),
    (open_lines(line_store.SyncingBeforeWriting), "check_power_cuts", "os.fsync came before the bytes"),
    (
        open_lines(line_store.SyncingAnotherFile),
        "check_power_cuts",
        "called for the directory, log.lock",
    ),
    (open_lines(name_synced=False), "check_names", "created or renamed since: log.jsonl"),
    (
        open_lines(line_store.RenamingWithoutItsDirectory, lock_name="log.lock"),
        "check_names",
        "created or renamed since: log",
    ),
    (open_lines(line_store.SwallowingFailures), "check_failed_syncs", "from here on os.fsync raises"),
    (open_lines(line_store.TryingAgain), "check_failed_syncs", "from then on as long as"),
)


def test_a_lawful_store_keeps_every_law() -> None:
    """Nothing is said of it."""
    check_store(open_lines())


@pytest.mark.parametrize(("open_store", "law", "words"), MISTAKES)
def test_a_mistake_is_caught_by_the_law_that_names_it(
    open_store: OpenStore, law: str, words: str
) -> None:
    """The first law that breaks is the right one, and says what was done and what to do."""
    with pytest.raises(AssertionError) as caught:
        check_store(open_store)
    text = str(caught.value)
    assert text.startswith(f"this store breaks a law ({law}): ")
    assert words in text
    assert "\ndone:\n  1. open_store(an empty directory)\n" in text
    assert "\nexpected: " in text
    assert "\nfound: " in text
    assert "\nto do: " in text
    assert "/tmp" not in text


def test_each_law_has_caught_a_mistake() -> None:
    """No law stands that nothing can break."""
    assert {law for _, law, _ in MISTAKES} == {law.__name__ for law in STORE_LAWS}
