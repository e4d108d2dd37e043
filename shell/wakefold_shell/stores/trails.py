"""What a log begins with, measured: the digest of its bytes, as they are read and as they are written.

A digest over everything is the only proof that a log still begins as it did: an edit in the middle
leaves length, ends and maybe the file's times as they were. Reading and hashing are far cheaper than
decoding and folding. Of a database the lines are measured as a journal file would have them.
"""

from __future__ import annotations

from hashlib import sha256

from wakefold.snapshots import Prefix


class Trail:
    """The bytes of a log up to where it was read or written, as a running digest."""

    def __init__(self) -> None:
        """Nothing was read."""
        self.length_bytes = 0
        self._digest = sha256()

    def note(self, content: bytes) -> None:
        """More of the log was read, or written."""
        self._digest.update(content)
        self.length_bytes += len(content)

    def measure(self, session_id: str, lines: int) -> Prefix:
        """All of it; how many lines that are is known to the reader."""
        return Prefix(session_id, self.length_bytes, lines, self._digest.hexdigest())
