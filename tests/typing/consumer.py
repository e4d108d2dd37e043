"""A strict consumer of the front door; `test_typing.py` compares what mypy reveals here."""

from __future__ import annotations

from typing import reveal_type

from wakefold import (
    Decision,
    Event,
    Ledger,
    Receipt,
    RequestZone,
    Wait,
    build_record,
    decide_due,
    decode_change,
    describe_rejection,
    either,
    evolve,
    fold,
    list_active,
    list_receipts,
    list_views,
    parse_instant,
    plan_next_wake,
    present_dispatch,
    preview,
    read_create_request,
    validate,
)

NOW_MS = 1_800_000_000_000
LOG = [Event(type="schedule/change", seq=0, time_ms=NOW_MS, data=None)]
ZONE = RequestZone(implied="UTC", session_time_zone="UTC")


def state(decision: Decision) -> str:
    """The three kinds of decision are told apart by their class."""
    if isinstance(decision, Wait):
        return str(reveal_type(decision.until_ms))
    return str(reveal_type(decision))


def title(receipt: Receipt | None) -> str | None:
    """An event that is no dispatch has no receipt."""
    return None if receipt is None else receipt.prompt


ledger = fold(LOG).value_or(Ledger())
request = read_create_request({"prompt": "p", "after_seconds": 60})

reveal_type(fold(LOG))
reveal_type(ledger)
reveal_type(evolve(ledger, LOG[0]))
reveal_type(fold(LOG).bind(lambda folded: evolve(folded, LOG[0])))
reveal_type(validate(ledger, LOG[0]))
reveal_type(decode_change(None))
reveal_type(list_active(ledger))
reveal_type(decide_due(ledger, NOW_MS))
reveal_type(decide_due(ledger, NOW_MS).map(state))
reveal_type(plan_next_wake(ledger, NOW_MS))
reveal_type(preview(ledger, NOW_MS, 5)[0].occurrence_ms)
reveal_type(list_views(ledger, NOW_MS)[0].state)
reveal_type(request.bind(lambda read: build_record(read, ledger, NOW_MS, ZONE)))
reveal_type(present_dispatch(LOG, 0))
reveal_type(list_receipts(LOG))
reveal_type(parse_instant("soon"))
reveal_type(either(present_dispatch(LOG, 0), title, lambda fault: fault.rule))
reveal_type(either(request, lambda read: read.prompt, describe_rejection))
