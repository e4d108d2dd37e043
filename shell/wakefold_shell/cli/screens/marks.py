"""The characters of pictures: an alphabet of blocks, and one of ASCII for where no others are known.

This module decides which character stands for what. It refuses to know which alphabet a terminal shows.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Marks(Struct, frozen=True, kw_only=True):
    """The characters of pictures. A ramp rises from the mark of 0 to that of the highest."""

    ramp: str
    filled: str
    empty: str
    line: str
    now: str
    stretch: str
    due: str
    overdue: str
    gate: str
    refused: str
    stopped: str
    prevented: str
    item: str


BLOCKS: Final = Marks(
    ramp="▁▂▃▄▅▆▇█",
    filled="▇",
    empty="▁",
    line="·",
    now="│",
    stretch="━",
    due="◆",
    overdue="!",
    gate="◇",
    refused="✗",
    stopped="■",
    prevented="–",  # noqa: RUF001 - a dash, as wide as the others
    item="•",
)
ASCII: Final = Marks(
    ramp="_.:-=+*#",
    filled="#",
    empty=".",
    line=".",
    now="|",
    stretch="=",
    due="o",
    overdue="!",
    gate=">",
    refused="x",
    stopped="#",
    prevented="-",
    item="*",
)
