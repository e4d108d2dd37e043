"""The picture: what one more event costs, against how much is active and how long the log is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .measures import Sample, Table, spread
from .workloads import Size, name_active_row, name_length_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILE_NAME: Final = "performance.png"
_OURS: Final = ("wakefold", "#0072b2", "o")
_PEER: Final = ("released package", "#d55e00", "s")


def draw_costs(size: Size, table: Table, directory: Path) -> Path:
    """Draw both panels into a file of the directory; all their rows must have been measured."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and only for whoever wants the picture

    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.4), sharey=True, layout="constrained")
    actives = {active: name_active_row(active) for active in size.actives}
    lengths = {events: name_length_row(events) for events in size.lengths_events}
    _draw_panel(panels[0], table, actives)
    _draw_panel(panels[1], table, lengths)
    panels[0].set_xlabel("active reminders")
    panels[0].set_title(f"log of {size.changes:,} changes")
    panels[1].set_xlabel("events in the log, 5 % of them changes")
    panels[1].set_title(f"about {size.active:,} active reminders")
    panels[0].set_ylabel("time for one more event\nand the next wake (µs)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle("Cost of one more event in a live session (median; bars from lowest to highest)")
    path = directory / FILE_NAME
    directory.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)
    return path


def _draw_panel(axes: Axes, table: Table, rows: dict[int, str]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in ("top", "right"):
        axes.spines[spine].set_visible(False)
    sides = (
        (_OURS, [table[row].ours for row in rows.values()]),
        (_PEER, [table[row].peer for row in rows.values()]),
    )
    for (label, color, marker), samples in sides:
        if all(samples):
            _draw_line(axes, list(rows), samples, label=label, color=color, marker=marker)


def _draw_line(
    axes: Axes,
    places: Sequence[int],
    samples: Sequence[Sequence[Sample]],
    *,
    label: str,
    color: str,
    marker: str,
) -> None:
    spreads = [spread([sample.value for sample in row]) for row in samples]
    medians = [found.median for found in spreads]
    bars = [
        [found.median - found.low for found in spreads],
        [found.high - found.median for found in spreads],
    ]
    axes.errorbar(places, medians, yerr=bars, label=label, color=color, marker=marker, capsize=3)
