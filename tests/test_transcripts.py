"""The owner and the tools, by the synchronous shell, on every recorded transcript."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tool_bench import ToolBench
from virtual_session import VirtualSession
from wakefold_laws.conformance import spell

VECTORS = Path(__file__).parent / "vectors"


def load(name: str) -> list[Any]:
    rows = (VECTORS / f"{name}.jsonl").read_text("ascii").splitlines()
    return [pytest.param(json.loads(row), id=json.loads(row)["name"]) for row in rows]


@pytest.mark.parametrize("case", load("owner"))
def test_the_owner_does_what_the_transcript_says(case: dict[str, Any]) -> None:
    """Effects in order, tool values, and the timer, after each step of the script."""
    session = VirtualSession(case["session"], case["start"], case.get("host", {}))
    session.shell.start()
    seen = [session.take()]
    for op in case["script"]:
        session.run_op(op)
        seen.append(session.take())
    for mine, theirs in zip(seen, case["expect"], strict=True):
        assert spell(mine) == spell(theirs)


@pytest.mark.parametrize("case", load("tools"))
def test_the_tools_answer_as_the_transcript_says(case: dict[str, Any]) -> None:
    """Value, appended changes, barriers and recomputes of each call."""
    bench = ToolBench(case["session"])
    for step, expected in zip(case["steps"], case["expect"], strict=True):
        assert spell(bench.run(step)) == spell(expected)
