"""`wakefold demo`: the main job on a scratch session, in a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio

from wakefold import (
    SEED,
    Create,
    Rejection,
    RequestZone,
    build_record,
    describe_rejection,
    either,
    format_instant,
    read_create_request,
)
from wakefold.events import Record
from wakefold_shell.cli.listing import encode_receipts, print_receipts, read_receipts
from wakefold_shell.cli.options import LINE_BYTES_DEFAULT, JsonOption, ProfileName
from wakefold_shell.cli.output import print_json, print_line
from wakefold_shell.clocks import SystemClock
from wakefold_shell.errors import ShellError
from wakefold_shell.hosts.streams import FrameStream
from wakefold_shell.owner import confirm, own_session, plan_events, read_ledger
from wakefold_shell.protocols import Followup, Host
from wakefold_shell.stores.journal_store import create_session, open_store
from wakefold_shell.stores.rows import Header

_ZONE: Final = RequestZone(implied="Europe/Berlin", session_time_zone="Europe/Berlin")
_DAY_MS: Final = 86_400_000


class _Collected:
    """A host that keeps the messages, for JSON output."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def hand_over(self, followup: Followup) -> None:
        self.messages.append(followup.message)


def demo(*, as_json: JsonOption = False) -> None:
    """See the main job: a scratch session, three reminders, one fires and has its receipt."""
    collected = _Collected()
    host: Host = collected if as_json else FrameStream(sys.stdout)
    with TemporaryDirectory(prefix="wakefold-demo-") as scratch:
        session = Path(scratch) / "session-demo"
        created = anyio.run(_live, session, host, _keep_quiet if as_json else _tell)
        found = read_receipts(session, ProfileName.SEED, LINE_BYTES_DEFAULT)
    if as_json:
        print_json(
            {
                "created": [record.id for record in created],
                "messages": collected.messages,
                "receipts": encode_receipts(found),
            }
        )
        return
    print_line("\nReceipts, read back from the log:\n")
    print_receipts(found)
    print_line("\nThe other two stay planned: in a session of your own, 'wakefold run' waits for them.")


async def _live(session: Path, host: Host, tell: Callable[[str], None]) -> list[Record]:
    """One short life of a session: create, wait, deliver."""
    clock = SystemClock()
    create_session(session, Header("session-demo", clock.read_ms(), time_zone="Europe/Berlin"))
    created = [
        await _create(session, arguments, clock.read_ms()) for arguments in _requests(clock.read_ms())
    ]
    tell("A scratch session, and three reminders as events in its log:\n")
    for record in created:
        tell(f"  {record.id}  {format_instant(record.scheduled_at_ms)}  {record.prompt}")
    tell(f"\nAsleep until {created[0].id} is due. Then the agent is handed this message:\n")
    await clock.sleep_until(created[0].scheduled_at_ms)
    with open_store(session) as store:
        await own_session(store, host, clock, once=True)
    return created


def _requests(now_ms: int) -> list[dict[str, object]]:
    tomorrow = format_instant(now_ms + _DAY_MS)
    return [
        {"prompt": "stretch your legs", "after_seconds": 2},
        {"prompt": "check the build", "every_seconds": 1800},
        {
            "prompt": "stand-up, nine in Berlin",
            "at": {"date": tomorrow[:10], "time": "09:00:00", "time_zone": "Europe/Berlin"},
        },
    ]


async def _create(session: Path, arguments: dict[str, object], now_ms: int) -> Record:
    """One reminder, validated by the core and appended to the session's log."""
    with open_store(session) as store:
        ledger = read_ledger(store, SEED)
        record = either(
            read_create_request(arguments).bind(
                lambda request: build_record(request, ledger, now_ms, _ZONE)
            ),
            lambda record: record,
            _refuse,
        )
        events, _ = plan_events(ledger, [Create(schedule=record)], now_ms)
        store.append(events)
        await confirm(store)
    return record


def _refuse(rejection: Rejection) -> Record:
    raise ShellError(describe_rejection(rejection))


def _tell(text: str) -> None:
    print_line(text)
    sys.stdout.flush()  # the wait comes after it, not before


def _keep_quiet(_: str) -> None:
    """Tell nothing."""
