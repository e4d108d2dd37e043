"""Every carried vector of the core passes, and nothing is left unjudged."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakefold.json_text import parse_json
from wakefold_laws.conformance import check_directory

VECTORS = Path(__file__).with_name("vectors")

MAY_BE_SKIPPED = {"icu-julian", "tzdb-release-sensitive", "not-in-tzdb"}


@pytest.mark.parametrize(
    "name",
    [
        "calendar_next",
        "create",
        "cron_parse",
        "decision",
        "decision_v2",
        "decode",
        "fold",
        "fold_v2",
        "framing",
        "guard_count",
        "local_time",
        "occurrence",
        "offset_instant",
        "presentation",
        "request_zone",
        "update",
        "view",
        "zone",
    ],
)
def test_every_vector_of_a_file_passes(name: str) -> None:
    """All lines are judged and pass, but for those whose tags say that they depend on a platform."""
    lines = (VECTORS / f"{name}.jsonl").read_text("ascii").splitlines()
    tags = [set(_tags(line)) for line in lines]
    (report,) = check_directory(VECTORS, only=[name])
    assert report.name == name
    assert report.failures == ()
    assert report.passed + report.skipped == len(lines)
    assert report.skipped == sum(bool(found) for found in tags)
    assert set().union(*tags) <= MAY_BE_SKIPPED
    assert report.passed > 0


def _tags(line: str) -> list[str]:
    case = parse_json(line)
    assert isinstance(case, dict)
    tags: list[str] = case.get("tags", [])
    return tags
