"""The rounds of a run: each row once a round, ours and then the peer's, and both compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .measures import Comparison, Sample
from .processes import FailedWorkError, Peer, run_ours, run_peer, time_command
from .samples import Store
from .workloads import Row, Start


def measure_rows(
    rows: Sequence[Row], rounds: int, store: Store, peer: Peer | str, say: Callable[[str], None]
) -> dict[str, Comparison]:
    """What each row has measured; `FailedWorkError` where the sides come to different things."""
    ours: dict[str, list[Sample]] = {row.name: [] for row in rows}
    theirs: dict[str, list[Sample]] = {row.name: [] for row in rows}
    for number in range(rounds):
        for row in rows:
            say(f"round {number + 1} of {rounds}: {row.name}")
            mine, other = measure_row(row, store, peer)
            ours[row.name].append(mine)
            theirs[row.name] += [] if other is None else [other]
    return {row.name: Comparison(tuple(ours[row.name]), tuple(theirs[row.name])) for row in rows}


def measure_row(row: Row, store: Store, peer: Peer | str) -> tuple[Sample, Sample | None]:
    """One measurement on each side; none of the peer's where it is missing or has nothing equal."""
    if isinstance(row, Start):
        mine = time_command(row.ours)
        if row.peer is None or isinstance(peer, str):
            return mine, None
        return mine, time_command((peer.node, *row.peer), peer.directory)
    parameters = row.prepare(store)
    mine, found = run_ours(row.ours, parameters)
    if row.peer is None or isinstance(peer, str) or (row.needs_zstd and not peer.zstd):
        return mine, None
    other, found_there = run_peer(peer, row.peer, parameters)
    if found != found_there:
        raise FailedWorkError(f"{row.name}: ours came to {found}, the peer's to {found_there}")
    return mine, other
