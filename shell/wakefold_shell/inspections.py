"""What is told of a session as of an instant, and of an audit of it: the same wherever it is shown.

This module decides the names and the order of the JSON that `inspect` and `guard audit` print, and
which the report page holds. It refuses to count: the core does.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from wakefold import Ledger, encode_view, format_instant, list_views, plan_next_wake
from wakefold.audits import Audit, Finding, Refused, Stopped
from wakefold.guard import UNTIL_A_WORD, Guard, find_not_before
from wakefold.guard_config import GuardConfig
from wakefold.guard_reports import describe_reason, describe_refusal
from wakefold.retargets import ZONELESS_REMEDY, describe_zoneless, list_zoneless
from wakefold.views import View
from wakefold.wakeups import HOUR_MS, Wakeups, find_day_start
from wakefold_shell.errors import show_time


class Inspection(Struct, frozen=True):
    """The active reminders in create order, the next wake (`None`: none planned), and the counts."""

    views: tuple[View, ...]
    next_wake_ms: int | None
    wakeups: dict[str, int]


def inspect_session(ledger: Ledger, wakeups: Wakeups, limits: GuardConfig, now_ms: int) -> Inspection:
    """How a session stands under its guard's limits."""
    not_before_ms = find_not_before(Guard(config=limits, wakeups=wakeups), now_ms)
    wake = plan_next_wake(ledger, now_ms, not_before_ms)
    return Inspection(
        views=list_views(ledger, now_ms, not_before_ms),
        next_wake_ms=None if wake is None or wake.at_ms == UNTIL_A_WORD else wake.at_ms,
        wakeups={
            "consecutive": wakeups.consecutive,
            "maxConsecutive": wakeups.max_consecutive,
            "today": wakeups.count_since(find_day_start(now_ms, limits.day_boundary_offset_minutes)),
            "lastHour": wakeups.count_since(now_ms - HOUR_MS),
            "total": wakeups.total,
        },
    )


def list_zone_warnings(ledger: Ledger) -> list[str]:
    """A sentence for each reminder that is not planned, since this tz database lacks its zone."""
    return [f"{describe_zoneless(record)}: {ZONELESS_REMEDY}." for record in list_zoneless(ledger)]


def encode_inspection(found: Inspection) -> dict[str, Any]:
    """The inspection as JSON."""
    next_wake_ms = found.next_wake_ms
    return {
        "active": [encode_view(view) for view in found.views],
        "nextWake": None if next_wake_ms is None else format_instant(next_wake_ms),
        "wakeups": found.wakeups,
    }


def encode_audit(result: Audit, limits: GuardConfig) -> dict[str, Any]:
    """An audit as JSON: its findings in order, then its totals."""
    return {
        "findings": [encode_finding(each, limits) for each in result.findings],
        "wakeups": result.wakeups,
        "longestStreak": result.longest_streak,
        "busiestHour": result.busiest_hour,
        "busiestDay": result.busiest_day,
        "prevented": sum(result.prevented.values()),
        "preventedBy": dict(result.prevented),
    }


def encode_finding(finding: Finding, limits: GuardConfig) -> dict[str, Any]:
    """One finding as JSON."""
    head = {"seq": finding.seq, "at": show_time(finding.time_ms)}
    if isinstance(finding, Refused):
        reason = describe_refusal(finding.refusal)
        code = finding.refusal.code
        return {**head, "kind": "refused", "id": finding.schedule_id, "code": code, "reason": reason}
    if isinstance(finding, Stopped):
        deleted = [record.id for record in finding.stop.to_delete]
        reason = describe_reason(finding.stop, limits)
        return {**head, "kind": "stopped", "reason": reason, "deleted": deleted, "told": finding.told}
    return {**head, "kind": "prevented", "id": finding.schedule_id, "limit": finding.limit}
