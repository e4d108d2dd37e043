"""Files that are put in place whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from wakefold_shell.files import put_file


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_takes_the_place_of_another_and_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    """What a crash has left under the other name is in nobody's way; on disk first, if asked for."""
    synced: list[Path] = []

    def sync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", sync)
    place, scratch = tmp_path / "a", tmp_path / ".a.new"
    place.write_bytes(b"old")
    scratch.write_bytes(b"half")
    put_file(place, b"new", durable=durable)
    assert place.read_bytes() == b"new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [place]
    assert synced == ([scratch] if durable else [])


def test_a_file_that_cannot_be_put_in_place_leaves_what_was_there(tmp_path: Path) -> None:
    """And nothing beside it."""
    place = tmp_path / "a"
    place.mkdir()
    with pytest.raises(OSError, match="directory"):
        put_file(place, b"new")
    assert list(tmp_path.iterdir()) == [place]
    with pytest.raises(FileNotFoundError):
        put_file(tmp_path / "none" / "b", b"new")
