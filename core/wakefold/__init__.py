"""Reminders for agents as events in the session's own append-only log: the pure functional core.

Everything here takes data and gives data. There is no clock, no file and no task: `now` is always an
argument in epoch milliseconds, and the shell (`wakefold_shell`) performs what the core decides.

- **fold** a log into a `Ledger`: `fold`, `evolve`, `list_active`
- **validate** a candidate event before it is appended: `validate`, `decode_change`, `encode_change`
- **plan-next-wake**: `decide_due`, `plan_next_wake`, `preview`, `list_dispatches`
- **presentation**: `present_dispatch`, `list_receipts`, `list_views`, `frame_decision`
- **requests**: `read_create_request`, `build_record`, `find_request_zone`
"""

from wakefold.events import (
    SCHEDULE_CHANGE,
    AfterRecord,
    AtRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    Record,
    decode_change,
    encode_change,
)
from wakefold.framing import frame_decision
from wakefold.guard import admit, reap
from wakefold.implied_zones import RequestZone, find_request_zone
from wakefold.instants import format_instant, parse_instant
from wakefold.ledger import Ledger, evolve, fold, list_active, validate
from wakefold.outcomes import either
from wakefold.receipts import Receipt, list_receipts, present_dispatch
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold.rejections import CorruptScheduleLog, Rejection, describe_rejection, error_value
from wakefold.requests import build_record, read_create_request
from wakefold.views import encode_view, list_views
from wakefold.wakes import (
    Decision,
    Wait,
    decide_due,
    list_dispatches,
    plan_next_wake,
    preview,
)
from wakefold.wakeups import count_wakeups

__version__ = "0.1.0"

__all__ = [
    "PUBLISHED",
    "SCHEDULE_CHANGE",
    "SEED",
    "AfterRecord",
    "AtRecord",
    "Change",
    "CorruptScheduleLog",
    "Create",
    "Decision",
    "Delete",
    "Dispatch",
    "Event",
    "EveryRecord",
    "Ledger",
    "Profile",
    "Receipt",
    "Record",
    "Rejection",
    "RequestZone",
    "Wait",
    "admit",
    "build_record",
    "count_wakeups",
    "decide_due",
    "decode_change",
    "describe_rejection",
    "either",
    "encode_change",
    "encode_view",
    "error_value",
    "evolve",
    "find_request_zone",
    "fold",
    "format_instant",
    "frame_decision",
    "list_active",
    "list_dispatches",
    "list_receipts",
    "list_views",
    "parse_instant",
    "plan_next_wake",
    "present_dispatch",
    "preview",
    "read_create_request",
    "reap",
    "validate",
]
