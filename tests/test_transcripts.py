"""The recorded transcripts of owner and tools: by the core alone, and by the real shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synchronous_shell import SynchronousShell
from tool_bench import ToolBench
from wakefold_laws.conformance import check_directory, spell
from wakefold_laws.transcripts import BACKENDS
from wakefold_laws.virtual_world import VirtualWorld

VECTORS = Path(__file__).parent / "vectors"


def load(name: str) -> list[Any]:
    rows = (VECTORS / f"{name}.jsonl").read_text("ascii").splitlines()
    return [pytest.param(json.loads(row), id=json.loads(row)["name"]) for row in rows]


@pytest.mark.parametrize("case", load("owner"))
def test_a_synchronous_shell_does_what_the_owners_transcript_says(case: dict[str, Any]) -> None:
    """Effects in order, tool values, and the timer, after each step of the script."""
    world = VirtualWorld(case["session"], case["start"], case.get("host", {}))
    SynchronousShell(world).start()
    list(world.quiesce())
    seen = [world.take()]
    for op in case["script"]:
        list(world.run_op(op))
        seen.append(world.take())
    for mine, theirs in zip(seen, case["expect"], strict=True):
        assert spell(mine) == spell(theirs)


@pytest.mark.parametrize("case", load("tools"))
def test_the_tools_alone_answer_as_their_transcript_says(case: dict[str, Any]) -> None:
    """Value, appended changes, barriers and recomputes of each call."""
    bench = ToolBench(case["session"])
    for step, expected in zip(case["steps"], case["expect"], strict=True):
        assert spell(bench.run(step)) == spell(expected)


@pytest.mark.parametrize("name", ["owner", "tools"])
def test_the_real_shell_does_what_the_transcripts_say_on_every_backend(name: str) -> None:
    """Performer, FIFO and sleeping of the anyio shell, on asyncio and on trio."""
    assert BACKENDS == ("asyncio", "trio")
    (report,) = check_directory(VECTORS, [name])
    assert report.failures == ()
    assert report.passed == len((VECTORS / f"{name}.jsonl").read_bytes().splitlines())
