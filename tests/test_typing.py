"""Typing is a tested feature: what a strict consumer of the front door sees, and what it may not do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
CONSUMER: Final = Path(__file__).parent / "typing" / "consumer.py"

REVEALED: Final = [
    "int | None",
    "OneShotDue | BatchDue | SkipDue",
    "Result[Ledger, CorruptScheduleLog]",
    "Ledger",
    "Result[Ledger, CorruptScheduleLog]",
    "Result[Ledger, CorruptScheduleLog]",
    "Result[Event, CorruptScheduleLog]",
    "Result[Create | Delete | Dispatch | EDIT, CorruptScheduleLog]",
    "tuple[RECORD, ...]",
    "Result[OneShotDue | BatchDue | SkipDue | Wait, TimeOutOfRange]",
    "Result[str, TimeOutOfRange]",
    "Wake | None",
    "int",
    "Literal['scheduled'] | Literal['overdue'] | Literal['paused']",
    "Result[RECORD, REJECTION]",
    "Result[Receipt | None, CorruptScheduleLog]",
    "Result[tuple[DispatchReceipt, ...], CorruptScheduleLog]",
    "int | None",
    "str | None",
    "str",
]

UNIONS: Final = {
    "RECORD": ("AfterRecord", "AtRecord", "EveryRecord", "CalendarRecord"),
    "EDIT": ("StatedDispatch", "Skip", "Update", "Pause", "Resume", "Snooze"),
    "REJECTION": (
        *("InvalidPrompt", "InvalidSelector", "InvalidRule", "InvalidTimeZone"),
        *("TimezoneConfirmationRequired", "NotFuture", "TimeOutOfRange", "FrequencyTooHigh"),
        *("CorruptScheduleLog", "PersistenceUncertain", "InternalError"),
    ),
}


def _spell_out(text: str) -> str:
    """A revealed type with each union in full."""
    for name, members in UNIONS.items():
        text = re.sub(rf"\b{name}\b", " | ".join(members), text)
    return text


def _check(path: Path, cache: Path) -> list[str]:
    """What mypy says of one file under the project's own settings, module paths left out."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return [re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for the runs of this file."""
    return tmp_path_factory.mktemp("mypy")


def test_a_consumer_sees_exact_types(cache: Path) -> None:
    """No `Any` comes out of the front door, and a strict consumer has nothing to complain of."""
    *notes, summary = _check(CONSUMER, cache)
    assert summary == "Success: no issues found in 1 source file"
    revealed = [note.split("Revealed type is ")[1].strip('"') for note in notes]
    assert revealed == [_spell_out(text) for text in REVEALED]


MISUSES: Final = [
    ('wakefold.decide_due(LEDGER, "now")', "arg-type"),
    ("wakefold.decide_due(LEDGER, 1.5)", "arg-type"),
    ("wakefold.decide_due(LEDGER)", "call-arg"),
    ("wakefold.list_active(wakefold.fold([]))", "arg-type"),
    ("LEDGER.position = 1", "misc"),
    ("LEDGER.records['x'] = RECORD", "index"),
    ('wakefold.AtRecord("t", "p")', "call-arg"),
    ("wakefold.Ledger(wakefold.SEED)", "call-arg"),
    ("wakefold.fold([]).unwrap().active", "attr-defined"),
    ("wakefold.frame_decision(wakefold.Wait(None))", "arg-type"),
    ("x: str = wakefold.parse_instant('soon')", "assignment"),
]

PREAMBLE: Final = """\
import wakefold
LEDGER = wakefold.Ledger()
RECORD = wakefold.AtRecord("t", "p", 0)
"""


def test_each_misuse_is_seen(tmp_path: Path, cache: Path) -> None:
    """A mistake is one error of the checker, with its own code, before it is one of the program."""
    path = tmp_path / "misuse.py"
    path.write_text(PREAMBLE + "".join(f"{line}\n" for line, _ in MISUSES))
    found = [said for said in _check(path, cache) if "error:" in said]
    places = [re.sub(r".*:([0-9]+): error: .*\[([a-z-]+)\]", r"\1 \2", said) for said in found]
    assert places == [f"{place} {code}" for place, (_, code) in enumerate(MISUSES, start=4)]
