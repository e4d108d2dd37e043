"""Write the generated part of `docs/lifecycle.md`: `python tests/make_lifecycle_page.py`.

The diagram shows how a run moves from phase to phase; the table holds the whole product of phases and
signals. Both are read off `advance`, none of it is drawn by hand. Where the moves have changed, the
diagram is drawn anew by Mermaid, from npm, in a real browser; it keeps what it was drawn from.
"""

from __future__ import annotations

import re
import sys
from html import escape, unescape
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from journal_files import NOON_MS  # noqa: E402
from lifecycle_cells import LEDGER, list_cells  # noqa: E402 - after the path above
from released_package import install_from_npm  # noqa: E402
from report_browser import open_browser  # noqa: E402
from wakefold.owners import Owner, Phase  # noqa: E402

PAGE = ROOT / "docs/lifecycle.md"
DIAGRAM = ROOT / "docs/lifecycle.svg"
MERMAID = "mermaid@12.3.0"
START, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"


def render() -> str:
    """The diagram's place and the table."""
    return "\n".join([f"![How a run moves from phase to phase]({DIAGRAM.name})", "", *_table(), ""])


def replace_part(page: str) -> str:
    """The page with its generated part made anew."""
    before, rest = page.split(START)
    _, after = rest.split(END)
    return f"{before}{START}{render()}{END}{after}"


def read_moves(diagram: str) -> str:
    """What a diagram was drawn from."""
    found = re.search(r"<desc>(.*?)</desc>", diagram, re.DOTALL)
    return unescape(found[1]) if found else ""


def draw(moves: str) -> str:
    """The moves as a picture on white, so that it can be read on a dark page, too."""
    with TemporaryDirectory() as place, open_browser() as browser:
        if reason := install_from_npm(Path(place), "Mermaid", MERMAID):
            sys.exit(reason)
        page = browser.new_page()
        page.add_script_tag(path=Path(place, "node_modules/mermaid/dist/mermaid.min.js"))
        picture: str = page.evaluate(_DRAW, moves)
    described = f"<desc>{escape(moves, quote=False)}</desc>"
    return re.sub(r"<svg[^>]*>", lambda tag: f"{_lighten(tag[0])}{described}", picture, count=1) + "\n"


_DRAW = """async (moves) => {
  const fontFamily = "DejaVu Sans, Verdana, sans-serif";
  mermaid.initialize({ startOnLoad: false, htmlLabels: false, theme: "neutral", fontFamily });
  return (await mermaid.render("phases", moves)).svg;
}"""


def _lighten(tag: str) -> str:
    return tag.replace('style="', 'style="background: white; ')


def list_moves() -> str:
    """Every move between phases, for something due and for nothing due, as Mermaid reads it."""
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
    return "\n".join(["stateDiagram-v2", "    [*] --> resting", *rows, "    gone --> [*]"])


def _table() -> list[str]:
    rows = ["| phase | signal | next phase, marks set, and effects in order |", "|---|---|---|"]
    for phase, cells in groupby(list_cells(Owner(ledger=LEDGER)), key=lambda cell: cell[0]):
        for _, signal, what in cells:
            rows.append(f"| {phase.value} | {signal} | {what.replace(' > ', ': ')} |")
    return rows


if __name__ == "__main__":
    PAGE.write_text(replace_part(PAGE.read_text("utf-8")), "utf-8")
    if not DIAGRAM.exists() or read_moves(DIAGRAM.read_text("utf-8")) != list_moves():
        DIAGRAM.write_text(draw(list_moves()), "utf-8")
