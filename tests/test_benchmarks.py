"""The benchmarks reckon right and compare equal things; no figure is judged here."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import rounds
from benchmarks.measures import (
    Comparison,
    Sample,
    Spread,
    Target,
    faster_than_peer,
    memory_within,
    times_other,
    value_beyond,
    value_within,
)
from benchmarks.processes import FailedWorkError, Peer
from benchmarks.reports import END, START, Report, has_marks, show_value
from benchmarks.rounds import measure_row
from benchmarks.samples import Store, draw_events
from benchmarks.workloads import Work
from core_logs import ok
from wakefold import PUBLISHED, SCHEDULE_CHANGE, SEED, Event, Profile, fold, list_active

FAST = Comparison(
    ours=(Sample(10, 30), Sample(20, 50), Sample(10, 40)),
    peer=(Sample(40), Sample(20), Sample(30, 90)),
)
ALONE = Comparison(ours=(Sample(2), Sample(5), Sample(5)))
TABLE = {"fast": FAST, "alone": ALONE}
ROW = Work("row", "the same number", "count", "count", lambda _: {})
PEER = Peer("node", Path(), "v24", "package 1", zstd=True)


def test_a_ratio_is_taken_round_by_round() -> None:
    """Not from the medians: a slow moment of the machine hits both sides of a round."""
    assert FAST.ratio == Spread(median=3, low=1, high=4)
    assert ALONE.ratio is None


@pytest.mark.parametrize(
    ("target", "found", "met"),
    [
        (faster_than_peer("", "fast", 3), 3, True),
        (faster_than_peer("", "fast", 3.1), 3, False),
        (faster_than_peer("", "alone", 3), None, None),
        (value_within("", "ms", "fast", 10), 10, True),
        (value_within("", "ms", "fast", 9), 10, False),
        (value_beyond("", "ms", "fast", "alone", 5), 5, True),
        (times_other("", "fast", "alone", 4), 4, True),
        (times_other("", "fast", "alone", 3.9), 4, False),
        (memory_within("", "fast", 50), 50, True),
        (memory_within("", "fast", 49), 50, False),
        (memory_within("", "missing", 49), None, None),
    ],
)
def test_a_target_is_met_missed_or_not_measured(
    target: Target, found: float | None, met: bool | None
) -> None:
    """The highest memory counts, the middle ratio, and our own middle value."""
    assert (target.find(TABLE), target.judge(TABLE)) == (found, met)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.5, "ms", "0.50 ms"),
        (12.34, "µs", "12.3 µs"),
        (9999.4, "ms", "9,999 ms"),
        (12_345, "ms", "12.3 s"),
        (838_555, "µs", "839 ms"),
    ],
)
def test_a_value_is_shown_with_three_figures(value: float, unit: str, shown: str) -> None:
    assert show_value(value, unit) == shown


def test_a_page_gets_its_table_between_the_marks(tmp_path: Path) -> None:
    """What stands around it stays, and a page without marks is told."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}stale\n{END}after\n", "utf-8")
    Report("small", 3, [ROW], {"row": FAST}, PEER).replace_part(page)
    text = page.read_text("utf-8")
    assert text.startswith(f"before\n{START}")
    assert text.endswith(f"{END}after\n")
    assert "| row | 10.0 ms | 30.0 ms | 3 (1 to 4) | 50 MiB | 90 MiB |" in text
    assert "stale" not in text
    assert has_marks(page)
    page.write_text("before\n", "utf-8")
    assert not has_marks(page)


def test_a_row_whose_sides_differ_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast they are."""
    monkeypatch.setattr(rounds, "run_ours", lambda *_: (Sample(1), {"active": 3}))
    monkeypatch.setattr(rounds, "run_peer", lambda *_: (Sample(2), {"active": 3}))
    assert measure_row(ROW, Store(Path()), PEER) == (Sample(1), Sample(2))
    monkeypatch.setattr(rounds, "run_peer", lambda *_: (Sample(2), {"active": 4}))
    with pytest.raises(FailedWorkError, match=r"row: ours came to .*3.*, the peer's to .*4"):
        measure_row(ROW, Store(Path()), PEER)


@pytest.mark.parametrize("profile", [SEED, PUBLISHED])
def test_a_log_that_is_drawn_is_sound(profile: Profile) -> None:
    """Under both profiles, so that both sides fold all of it; as many are active as were asked for."""
    rows = list(draw_events(20, 2000))
    events = [Event(SCHEDULE_CHANGE, seq, 0, row["data"]) for seq, row in enumerate(rows)]
    ledger = ok(fold(events, 0, profile))
    assert len(list_active(ledger)) in (19, 20)
    assert ledger.position == 2000
    assert len(ledger.seen_ids) > 100
