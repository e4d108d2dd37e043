"""`wakefold demo`: the main job on a scratch session, in a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio

from wakefold import SEED, format_instant
from wakefold.conversations import Input
from wakefold.tools import answer_value
from wakefold_shell.cli.listing import print_receipts
from wakefold_shell.cli.options import LINE_BYTES_DEFAULT, JsonOption
from wakefold_shell.cli.output import print_json
from wakefold_shell.cli.speech import print_line
from wakefold_shell.clocks import SystemClock
from wakefold_shell.dispatches import encode_receipts, read_receipts
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.hosts.inboxes import InboxHost
from wakefold_shell.owner import Session
from wakefold_shell.stores.journal_store import create_session, open_store
from wakefold_shell.stores.rows import Header

_DAY_MS: Final = 86_400_000
_PATIENCE_SECONDS: Final = 30.0


def demo(*, as_json: JsonOption = False) -> None:
    """See the main job: a scratch session, three reminders, one fires and has its receipt."""
    with TemporaryDirectory(prefix="wakefold-demo-") as scratch:
        directory = Path(scratch) / "session-demo"
        created, messages = anyio.run(_live, directory, _keep_quiet if as_json else _tell)
        found = read_receipts(directory, SEED, LINE_BYTES_DEFAULT)
    if as_json:
        print_json({"created": created, "messages": messages, "receipts": encode_receipts(found)})
        return
    print_line("\nReceipts, read back from the log:\n")
    print_receipts(found)
    print_line("\nThe other two stay planned: in a session of your own, 'wakefold run' waits for them.")


async def _live(directory: Path, tell: Callable[[str], None]) -> tuple[list[str], list[str]]:
    """One short life of a session: its tools make reminders, its owner delivers the first."""
    clock = SystemClock()
    messages: list[str] = []
    came = anyio.Event()

    async def take_turn(given: Input) -> str:
        messages.append(given.text)
        tell(given.text)
        came.set()
        return "Noted."

    create_session(directory, Header("session-demo", clock.read_ms(), time_zone="Europe/Berlin"))
    created: list[str] = []
    with open_store(directory) as store:
        host = InboxHost(CallbackAgent(take_turn))
        session = Session(store, host, clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run, session)
            tell("A scratch session, and three reminders as events in its log:\n")
            for arguments in _requests(clock.read_ms()):
                view: Any = answer_value(await session.call("schedule_create", arguments))
                tell(f"  {view['id']}  {view['scheduledAt']}  {view['prompt']}")
                created.append(view["id"])
            tell(f"\nAsleep until {created[0]} is due. Then the agent is handed this message:\n")
            with anyio.fail_after(_PATIENCE_SECONDS):
                await came.wait()
                await host.wait_idle()
            session.dispose()
    return created, messages


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


def _tell(text: str) -> None:
    print_line(text)
    sys.stdout.flush()  # the wait comes after it, not before


def _keep_quiet(_: str) -> None:
    """Tell nothing."""
