"""Write `core/wakefold/zone_aliases.py` from `tests/zones.json`: `python tests/make_zone_aliases.py`.

The core reads no files, so the CLDR table is carried as a module.
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE / "zones.json"
TARGET = HERE.parent / "core" / "wakefold" / "zone_aliases.py"


def render() -> str:
    """The module's text; identities are left out, since a name without an entry is canonical."""
    aliases: dict[str, str] = json.loads(SOURCE.read_text("utf-8"))
    lines = [f'    "{name}": "{canonical}",' for name, canonical in sorted(aliases.items())]
    return "\n".join(
        (
            '"""Alias to canonical zone name, CLDR spelling (spec section 5).',
            "",
            "This module decides nothing: it is data, written by `tests/make_zone_aliases.py`.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import Final",
            "",
            "#: Names of the tz database that are not canonical, each with the name that is.",
            "ALIASES: Final[dict[str, str]] = {",
            *lines,
            "}",
            "",
        )
    )


if __name__ == "__main__":
    TARGET.write_text(render(), "utf-8")
