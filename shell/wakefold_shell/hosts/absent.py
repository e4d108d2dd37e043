"""A host that is not there: whoever only manages reminders delivers none."""

from __future__ import annotations

import anyio

from wakefold_shell.protocols import Followup


class AbsentHost:
    """Always busy, so that nothing is handed over; what is due stays due for a runner."""

    def claim(self) -> bool:
        """Never granted."""
        return False

    def hand_over(self, followup: Followup) -> None:
        """Refuse; a claim that is never granted is followed by no message."""
        del followup
        raise NotImplementedError

    def release(self) -> None:
        """Nothing was held."""

    async def wait_idle(self) -> None:
        """Wait for ever."""
        await anyio.sleep_forever()
