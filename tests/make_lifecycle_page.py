"""Write the generated part of `docs/lifecycle.md`: `python tests/make_lifecycle_page.py`.

The diagram shows how a run moves from phase to phase; the table holds the whole product of phases and
signals. Both are read off `advance`, none of it is drawn by hand.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from journal_files import NOON_MS  # noqa: E402
from lifecycle_cells import LEDGER, list_cells  # noqa: E402 - after the path above
from wakefold.owners import Owner, Phase  # noqa: E402

PAGE = ROOT / "docs/lifecycle.md"
START, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"


def render() -> str:
    """The diagram and the table."""
    return "\n".join(["```mermaid", *_diagram(), "```", "", *_table(), ""])


def replace_part(page: str) -> str:
    """The page with its generated part made anew."""
    before, rest = page.split(START)
    _, after = rest.split(END)
    return f"{before}{START}{render()}{END}{after}"


def _diagram() -> list[str]:
    """Every move between phases, for something due and for nothing due."""
    moves: dict[tuple[str, str], list[str]] = {}
    for now_ms, note in ((NOON_MS, ""), (NOON_MS - 1, " (not due)")):
        for phase, signal, what in list_cells(Owner(ledger=LEDGER), now_ms):
            target = what.split(" ")[0]
            label = signal + (note if signal in {"Flushed", "ClaimGranted"} else "")
            if target != phase.value and phase is not Phase.GONE:
                labels = moves.setdefault((phase.value, target), [])
                if label not in labels and signal not in labels:
                    labels.append(label)
    for phase, signal, what in list_cells(Owner(ledger=LEDGER, disposing=True)):
        if what.startswith("gone") and phase is not Phase.GONE:
            moves.setdefault((phase.value, "gone"), []).append(signal)
    rows = [f"    {a} --> {b}: {', '.join(labels)}" for (a, b), labels in moves.items()]
    return ["stateDiagram-v2", "    [*] --> resting", *rows, "    gone --> [*]"]


def _table() -> list[str]:
    rows = ["| phase | signal | next phase, marks set, and effects in order |", "|---|---|---|"]
    for phase, cells in groupby(list_cells(Owner(ledger=LEDGER)), key=lambda cell: cell[0]):
        for _, signal, what in cells:
            rows.append(f"| {phase.value} | {signal} | {what.replace(' > ', ': ')} |")
    return rows


if __name__ == "__main__":
    PAGE.write_text(replace_part(PAGE.read_text("utf-8")), "utf-8")
