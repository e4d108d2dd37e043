"""Pictures out of characters: the cell and the height of every number, and nothing lost between."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wakefold.wakeups import DAY_MS, HOUR_MS
from wakefold_shell.cli.charts import (
    TICKS,
    AxisAboutNow,
    count_decades,
    count_in_cells,
    draw_meter,
    draw_spark,
    hold_maxima,
    place,
    reach,
    share_lines,
    take_maxima,
    write_labels,
)
from wakefold_shell.cli.screens.marks import ASCII, BLOCKS

RAMP = "01234567"
CELLS = st.integers(1, 120)
TIMES = st.integers(-(10**14), 10**14)
COUNTS = st.lists(st.integers(0, 10**6), max_size=200)
DISTANCES = st.integers(0, 10_000 * 365 * DAY_MS)


@given(TIMES, st.integers(0, 10**13), CELLS, st.lists(TIMES))
def test_every_value_of_a_range_has_a_cell_and_order_is_kept(
    first: int, span: int, cells: int, values: list[int]
) -> None:
    """The ends lie on the first and the last cell; what is outside lies on the nearer one."""
    last = first + span
    assert place(first, first, last, cells) == 0
    assert place(last, first, last, cells) == (
        cells - 1 if span + 1 >= cells else span * cells // (span + 1)
    )
    found = [place(value, first, last, cells) for value in sorted(values)]
    assert all(0 <= cell < cells for cell in found)
    assert found == sorted(found)


def test_a_range_of_one_instant_and_no_cells_are_no_trouble() -> None:
    """Everything is at one place."""
    assert [place(value, 7, 7, 10) for value in (6, 7, 8)] == [0, 0, 9]
    assert place(7, 7, 7, 0) == place(7, 8, 7, 5) == 0
    assert count_in_cells([7], 7, 7, 0) == []
    assert hold_maxima([7], [1], 7, 7, 0) == []
    assert take_maxima([1, 2], 0) == []


@given(st.lists(st.integers(0, 1000)), CELLS)
def test_counting_loses_nothing_of_a_range(values: list[int], cells: int) -> None:
    """As many cells as asked for; what is outside falls on none."""
    counts = count_in_cells(values, 100, 900, cells)
    assert len(counts) == cells
    assert sum(counts) == sum(100 <= value <= 900 for value in values)


@given(COUNTS, CELLS)
def test_maxima_are_kept_on_fewer_cells(values: list[int], cells: int) -> None:
    """Never more cells than values, the peak among them; enough cells change nothing."""
    found = take_maxima(values, cells)
    assert len(found) == min(cells, len(values))
    assert max(found, default=0) == max(values, default=0)
    assert set(found) <= set(values)
    assert len(values) > cells or found == values


@given(st.dictionaries(st.integers(0, 500), st.integers(0, 50)), st.integers(0, 500), CELLS)
def test_a_count_holds_from_step_to_step(steps: dict[int, int], first: int, cells: int) -> None:
    """Each cell shows the highest that it holds in any instant of it, tried instant by instant."""
    at = sorted(steps)
    counts = [steps[instant] for instant in at]
    last = 500
    found = hold_maxima(at, counts, first, last, cells)
    assert len(found) == cells
    held = 0
    expected = [0] * cells
    seen = set()
    for instant in range(last + 1):
        held = steps.get(instant, held)
        if instant >= first:
            cell = place(instant, first, last, cells)
            expected[cell] = max(expected[cell], held)
            seen.add(cell)
    for cell in seen:
        assert found[cell] >= expected[cell]
    assert max(found) <= max([0, *counts])
    before = [count for instant, count in steps.items() if instant >= first]
    assert max(found) >= max([0, *before])


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(0, 10**6))
def test_a_spark_rises_with_its_values(values: list[int], limit: int) -> None:
    """One character a value, in their order; 0 alone has the lowest, the most the highest."""
    for drawn in (draw_spark(values, RAMP), draw_spark(values, RAMP, limit)):
        assert len(drawn) == len(values)
        pairs = sorted(zip(values, drawn, strict=True))
        assert all(lower[1] <= higher[1] for lower, higher in pairwise(pairs))
        assert all((mark == RAMP[0]) == (value == 0) for value, mark in pairs)
    assert max(values) == 0 or draw_spark([max(values)], RAMP) == RAMP[-1]
    over = [mark == RAMP[-1] for mark in draw_spark(values, RAMP, limit)]
    assert over == [value > limit for value in values]


def test_sparks_of_few_values() -> None:
    """No value, one, and all alike; a limit has a height of its own."""
    assert draw_spark([], RAMP) == ""
    assert draw_spark([5], RAMP) == "7"
    assert draw_spark([5, 5, 5], RAMP) == "777"
    assert draw_spark([0, 0], RAMP) == "00"
    assert draw_spark([0, 1, 3, 6, 7], RAMP, 6) == "01367"
    assert draw_spark([0, 1], RAMP, 0) == "07"


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 40))
def test_a_meter_is_full_at_its_limit_and_not_before(count: int, limit: int, cells: int) -> None:
    """A cell for each that is allowed, where there is room; a single one is seen."""
    drawn = draw_meter(count, limit, cells, "#", ".")
    assert len(drawn) == min(limit, cells)
    assert drawn.rstrip(".") == "#" * drawn.count("#")
    if 0 < limit <= cells:
        assert drawn.count("#") == min(count, limit)
    assert (drawn.count("#") > 0) == (count > 0 and limit > 0)
    assert count < limit or "." not in drawn


def test_the_digits_of_a_lateness_count_whole_seconds() -> None:
    """Ten times later is one cell more; early is none."""
    told = {-5000: 0, 0: 0, 999: 0, 1000: 1, 9999: 1, 10_000: 2, 60_000: 2, 100_000: 3, DAY_MS: 5}
    assert {late_ms: count_decades(late_ms) for late_ms in told} == told


@given(DISTANCES, DISTANCES, st.integers(2, 120), st.lists(st.integers(-(10**14), 10**14)))
def test_an_axis_about_now_keeps_order_and_sides(
    past_ms: int, future_ms: int, cells: int, distances: list[int]
) -> None:
    """The past lies before now, the future after it, the ends at the ends."""
    axis = AxisAboutNow(past_ms, future_ms, cells)
    found = [axis.place(distance) for distance in sorted(distances)]
    assert found == sorted(found)
    assert all(0 <= cell < cells for cell in found)
    assert axis.place(0) == axis.now_cell
    assert axis.place(-past_ms) == (0 if past_ms else axis.now_cell)
    assert axis.place(future_ms) == (cells - 1 if future_ms else axis.now_cell)
    assert len(axis.draw_labels()) == cells


def test_the_ends_of_an_axis_have_names() -> None:
    """The farther from now, the closer together."""
    axis = AxisAboutNow(reach([90_000]), reach([5 * HOUR_MS, 40 * DAY_MS]), 60)
    assert (axis.past_ms, axis.future_ms) == (600_000, 365 * DAY_MS)
    labels = axis.draw_labels()
    assert labels.startswith("-10 min")
    assert labels.endswith("+1 y")
    assert "now" in labels
    assert reach([]) == reach([0, -5]) == 0
    assert reach([10**18]) == TICKS[-1][0]


@given(st.lists(st.tuples(st.integers(-5, 60), st.text("ab", min_size=1, max_size=9))), CELLS)
def test_labels_never_touch(labels: list[tuple[int, str]], cells: int) -> None:
    """Each stands whole or not at all, the first of them in any case where it fits."""
    line = write_labels(labels, cells)
    assert len(line) == cells
    told = [label for _, label in labels]
    assert all(word in told for word in line.split())
    fitting = [label for label in told if len(label) <= cells]
    assert not fitting or fitting[0] in line.split()


@given(st.lists(st.integers(1, 60)), st.integers(1, 80), st.integers(1, 3))
def test_lines_hold_everything_in_order_and_what_fits(sizes: list[int], width: int, gap: int) -> None:
    """Nothing is left out, no line is wider than it may be but for one thing alone."""
    lines = share_lines(sizes, width, gap)
    assert [at for line in lines for at in line] == list(range(len(sizes)))
    assert all(lines)
    for line in lines:
        assert len(line) == 1 or sum(sizes[at] for at in line) + gap * (len(line) - 1) <= width
    for line, following in pairwise(lines):
        assert sum(sizes[at] + gap for at in line) + sizes[following[0]] > width


def test_both_alphabets_have_the_same_marks() -> None:
    """Each mark is one character; those that can stand in one picture differ."""
    for marks in (BLOCKS, ASCII):
        assert len(marks.ramp) == len(set(marks.ramp)) == len(BLOCKS.ramp)
        lane = (marks.line, marks.now, marks.stretch, marks.due, marks.overdue, marks.gate)
        findings = (marks.line, marks.refused, marks.stopped, marks.prevented)
        assert len(set(lane)) == len(lane)
        assert len(set(findings)) == len(findings)
        assert all(len(mark) == 1 for mark in (*lane, *findings, marks.filled, marks.empty))
    ramp_and_marks = "".join(str(getattr(ASCII, name)) for name in ASCII.__struct_fields__)
    assert ramp_and_marks.isascii()
