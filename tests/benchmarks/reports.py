"""What a run tells: a table on the terminal, one JSON document, and a part of a page in Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from .measures import Comparison, Sample, Spread, Table, Target, find_peak, spread
from .processes import Peer
from .workloads import NO_PEER, TARGETS, Row

START, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"
COLUMNS: Final = ("row", "wakefold", "peer", "peer / wakefold", "memory", "peer's memory")
TARGET_COLUMNS: Final = ("target", "asked", "found", "")
_EQUAL: Final = (
    "What is equal on both sides, row by row; where the package has nothing equal, the table says\n"
    f"“{NO_PEER}”."
)
_LIBRARIES: Final = ("msgspec", "whenever", "returns", "zstandard")


@dataclass(frozen=True)
class Report:
    """A run: what was measured of which rows, at which size, how often, and with which peer."""

    size: str
    rounds: int
    rows: Sequence[Row]
    table: Table
    peer: Peer | str

    def list_cells(self) -> list[list[str]]:
        """The table's rows as text."""
        return [_list_cells(row, self.table[row.name]) for row in self.rows]

    def list_targets(self) -> list[list[str]]:
        """Each target that was measured: what, how it should be, how it is, and whether it is met."""
        if self.size != "full":
            return []
        judged = [(target, target.find(self.table)) for target in TARGETS]
        return [_list_target(t, found, self.table) for t, found in judged if found is not None]

    def describe_machine(self) -> list[str]:
        """On what this was run, a sentence each."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
        libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
        python = f"Python {platform.python_version()}, {libraries}"
        peer = (
            f"The peer: none, {self.peer}"
            if isinstance(self.peer, str)
            else f"The peer: {self.peer.package_version}, Node {self.peer.version}"
        )
        system = f"{platform.system()} {platform.machine()}"
        return [
            f"{os.cpu_count()} cores, {memory:.0f} GiB of memory, {system}.",
            f"{python}.",
            f"{peer}.",
            f"{self.rounds} rounds, size {self.size}.",
        ]

    def encode(self) -> dict[str, Any]:
        """The whole run as JSON values; units as in the table, memory in MiB."""
        return {
            "size": self.size,
            "rounds": self.rounds,
            "machine": self.describe_machine(),
            "rows": [_encode_row(row, self.table[row.name]) for row in self.rows],
            "targets": [
                dict(zip(("target", "asked", "found", "met"), cells, strict=True))
                for cells in self.list_targets()
            ],
        }

    def render(self) -> str:
        """The machine, the table, the targets and what is equal in each row, as Markdown."""
        equal = [f"- **{row.name}**: {row.equal}." for row in self.rows if row.equal != NO_PEER]
        targets = self.list_targets()
        parts = [
            " ".join(self.describe_machine()),
            _render_table(COLUMNS, self.list_cells()),
            *([_render_table(TARGET_COLUMNS, targets)] if targets else []),
            _EQUAL,
            "\n".join(equal),
        ]
        return "\n\n".join(parts) + "\n"

    def replace_part(self, page: Path) -> None:
        """Put the Markdown between the marks of a page."""
        before, rest = page.read_text("utf-8").split(START)
        _, after = rest.split(END)
        page.write_text(f"{before}{START}\n{self.render()}\n{END}{after}", "utf-8")


def has_marks(page: Path) -> bool:
    """Whether a page has a place for the generated part."""
    return {START.strip(), END.strip()} <= set(page.read_text("utf-8").splitlines())


def show_value(value: float, unit: str) -> str:
    """Three figures and the unit, a longer time in seconds."""
    if unit == "ms" and value >= 10_000:
        value, unit = value / 1000, "s"
    if unit == "µs" and value >= 10_000:
        value, unit = value / 1000, "ms"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def _list_cells(row: Row, compared: Comparison) -> list[str]:
    ratio = compared.ratio
    return [
        row.name,
        _show_median(compared.ours, row),
        _show_median(compared.peer, row) if compared.peer else NO_PEER,
        "-" if ratio is None else _show_ratio(ratio),
        _show_peak(compared.ours),
        _show_peak(compared.peer),
    ]


def _list_target(target: Target, found: float, table: Table) -> list[str]:
    sign = "≥" if target.at_least else "≤"
    met = "met" if target.judge(table) else "**missed**"
    return [target.words, f"{sign} {target.limit:g} {target.unit}", show_value(found, target.unit), met]


def _show_median(samples: Sequence[Sample], row: Row) -> str:
    return show_value(spread([sample.value for sample in samples]).median, row.unit)


def _show_ratio(ratio: Spread) -> str:
    return f"{_show_times(ratio.median)} ({_show_times(ratio.low)} to {_show_times(ratio.high)})"


def _show_times(times: float) -> str:
    return f"{times:,.0f}" if times >= 100 else f"{times:.2g}" if times < 1 else f"{times:.3g}"


def _show_peak(samples: Sequence[Sample]) -> str:
    peak = find_peak(samples)
    return "-" if peak is None else f"{peak:,.0f} MiB"


def _encode_row(row: Row, compared: Comparison) -> dict[str, Any]:
    ratio = compared.ratio
    return {
        "row": row.name,
        "equal": row.equal,
        "unit": row.unit,
        "ours": [asdict(sample) for sample in compared.ours],
        "peer": [asdict(sample) for sample in compared.peer],
        "ratio": None if ratio is None else asdict(ratio),
    }


def _render_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
