"""Two releases of the tz database, side by side: the zone files of the few zones that tests need.

`tests/tz_releases/2025b` and `2026f` hold compiled files of the packages tzdata 2025.2 and 2026.6; the
data is in the public domain. Casablanca and Vancouver set their clocks in the one and not in the other,
Chisinau at other hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import whenever

ROOT: Final = Path(__file__).with_suffix("").resolve()
OLD: Final = "2025b"
NEW: Final = "2026f"


@contextmanager
def tz_release(name: str) -> Iterator[None]:
    """The core reads these zones from one release, as long as the block lasts."""
    whenever.reset_tzpath([str(ROOT / name)])
    whenever.clear_tzcache()
    try:
        yield
    finally:
        whenever.reset_tzpath()
        whenever.clear_tzcache()
