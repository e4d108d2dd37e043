"""A log lives longer than a tz database: two releases of one, and the same log under both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import wakefold
from tz_releases import NEW, OLD, ROOT, tz_release
from wakefold import Ledger, fold, format_instant, list_receipts, preview
from wakefold.edits import StatedDispatch
from wakefold.retargets import list_moves, make_move
from wakefold.views import list_views
from wakefold.wakes import plan_next_wake
from wakefold_laws.conformance import FileReport, check_directory
from wakefold_laws.edit_logs import EditedLog, Writer, build_rules, edited_logs
from wakefold_shell.stores.journal_store import open_store

VECTORS = Path(__file__).parent / "vectors"
TAG = "tzdb-release-sensitive"
DAY_MS = 86_400_000
AUTUMN_MS = 1_793_361_600_000  # 2026-10-30T12:00Z, before Vancouver's clocks are set back, or are not
TARGET_MS = 1_793_552_400_000  # 2026-11-01T17:00Z
HOUR_MS = 3_600_000
MORNING = {"time": "09:00:00", "time_zone": "America/Vancouver"}

local_rules = build_rules(("Africa/Casablanca", "America/Vancouver", "Europe/Chisinau"))


def write_sensitive(directory: Path) -> dict[str, int]:
    """The cases that the vectors call sensitive, without saying so: how many there are of each file."""
    counts = {}
    for path in VECTORS.glob("*.jsonl"):
        cases: list[dict[str, Any]] = [
            json.loads(row) for row in path.read_text("utf-8").split("\n") if row
        ]
        found = [case for case in cases if TAG in case.get("tags", ())]
        if found:
            rows = [json.dumps({**case, "tags": []}) + "\n" for case in found]
            (directory / path.name).write_text("".join(rows), "utf-8")
            counts[path.stem] = len(found)
    return counts


def judge(release: str, directory: Path) -> tuple[FileReport, ...]:
    with tz_release(release):
        return check_directory(directory)


def test_every_sensitive_vector_holds_under_the_old_release_and_differs_under_the_new(
    tmp_path: Path,
) -> None:
    """So the releases are two, and the cases are left out elsewhere for the reason that is given."""
    counts = write_sensitive(tmp_path)
    assert len(counts) == 2
    old, new = judge(OLD, tmp_path), judge(NEW, tmp_path)
    assert {one.name: (one.passed, one.skipped, one.failures) for one in old} == {
        name: (count, 0, ()) for name, count in counts.items()
    }
    assert {one.name: (one.passed, one.skipped, len(one.failures)) for one in new} == {
        name: (0, 0, count) for name, count in counts.items()
    }


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from([(OLD, NEW), (NEW, OLD)]), st.integers(1, 400))
def test_a_log_is_the_same_under_another_release(
    data: st.DataObject, releases: tuple[str, str], days: int
) -> None:
    """State, receipts, views and the next wake; and a writer under the one goes on after the other."""
    writes, reads = releases
    with tz_release(writes):
        log = data.draw(edited_logs(local_rules, AUTUMN_MS))
        told = tell(log, log.ledger)
    with tz_release(reads):
        folded = fold(log.events, log.seed_length, log.profile).unwrap()
        assert folded == log.ledger
        assert tell(log, folded) == told
        writer = Writer(folded, log.now_ms + days * DAY_MS, log.events)
        writer.deliver()
    with tz_release(writes):
        assert fold(writer.events, log.seed_length, log.profile).unwrap() == writer.ledger


def tell(log: EditedLog, ledger: Ledger) -> list[object]:
    """What hosts and people are told of a log."""
    return [
        list_receipts(log.events, log.seed_length).unwrap(),
        list_views(ledger, log.now_ms),
        plan_next_wake(ledger, log.now_ms),
    ]


def test_a_stored_target_is_honoured_once_and_then_the_new_release_counts() -> None:
    """Nine o'clock in Vancouver is 17:00 UTC by the old release, 16:00 by the new one."""
    writer = Writer(Ledger(), AUTUMN_MS + 2 * DAY_MS)
    with tz_release(OLD):
        writer.create({"prompt": "x", "daily": MORNING})
    (record,) = writer.ledger.records.values()
    assert record.scheduled_at_ms == TARGET_MS
    with tz_release(NEW):
        coming = preview(writer.ledger, writer.now_ms, 3)
        assert [one.occurrence_ms - TARGET_MS for one in coming] == [
            0,
            DAY_MS - HOUR_MS,
            2 * DAY_MS - HOUR_MS,
        ]
        (move,) = list_moves(writer.ledger, writer.now_ms)
        assert move.target_ms == TARGET_MS - HOUR_MS
        writer.append(make_move(move))
        assert list_moves(writer.ledger, writer.now_ms) == ()
    with tz_release(OLD):
        assert fold(writer.events).unwrap() == writer.ledger
        (back,) = list_moves(writer.ledger, writer.now_ms)
        assert back.target_ms == TARGET_MS


@pytest.mark.parametrize(
    ("writes", "reads", "occurrences"),
    [
        (OLD, NEW, ("2026-11-01T17:00", "2026-11-02T16:00", "2026-11-03T16:00")),
        (NEW, OLD, ("2026-11-01T16:00", "2026-11-01T17:00", "2026-11-02T17:00")),
    ],
)
def test_dispatches_under_another_release_begin_with_the_stored_target(
    writes: str, reads: str, occurrences: tuple[str, ...]
) -> None:
    """The first one delivers it and states the next by the release of the day; neither is corrected
    later, so that a clock which is now an hour behind reaches nine once more on that day.
    """
    writer = Writer(Ledger(), AUTUMN_MS + 2 * DAY_MS)
    with tz_release(writes):
        writer.create({"prompt": "x", "daily": MORNING})
    delivered = []
    with tz_release(reads):
        for _ in occurrences:
            (record,) = writer.ledger.records.values()
            writer.now_ms = record.scheduled_at_ms
            (change,) = writer.deliver()
            assert isinstance(change, StatedDispatch)
            assert change.occurrence_ms == record.scheduled_at_ms
            delivered.append(format_instant(change.occurrence_ms))
        receipts = list_receipts(writer.events).unwrap()
    assert delivered == [f"{at}:00.000Z" for at in occurrences]
    with tz_release(writes):
        assert fold(writer.events).unwrap() == writer.ledger
        assert list_receipts(writer.events).unwrap() == receipts


@pytest.mark.parametrize("store", ["journal", "sqlite"])
def test_doctor_and_retarget_tell_what_an_update_of_the_tz_database_moves(
    tmp_path: Path, store: str
) -> None:
    """A session made before the update, looked at after it, written to, and read before it again."""
    session = tmp_path / "session"

    def run(release: str, *arguments: str | Path, exit_status: int = 0) -> str:
        done = wakefold(*arguments, "--now", "2026-11-01T12:00:00Z", PYTHONTZPATH=str(ROOT / release))
        assert (done.returncode, done.stderr) == (exit_status, "")
        return done.stdout

    run(
        OLD,
        "create",
        "--session",
        session,
        "x",
        "--daily",
        "09:00",
        "--zone",
        "America/Vancouver",
        "--store",
        store,
    )
    assert "this tz database places it at" not in run(OLD, "doctor", session)
    assert (
        '"schedule-1" comes at 2026-11-01T17:00:00.000Z, '
        "this tz database places it at 2026-11-01T16:00:00.000Z"
    ) in run(NEW, "doctor", session)
    before = run(OLD, "inspect", session, "--json")
    assert run(NEW, "inspect", session, "--json") == before
    run(NEW, "retarget", "--session", session, "--yes")
    after = run(NEW, "inspect", session, "--json")
    assert json.loads(after)["active"][0]["scheduledAt"] == "2026-11-01T16:00:00.000Z"
    assert run(OLD, "inspect", session, "--json") == after
    with open_store(session) as log:
        assert len(list(log.read_events(0))) == 2
