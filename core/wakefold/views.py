"""What managing callers read of a record (spec section 6).

This module decides a record's state as of an instant and what stands in the way of its delivery. It
refuses to choose the instant, and to say anything about a model or a person.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from wakefold.events import Json, Record, encode_record
from wakefold.instants import format_instant, is_representable
from wakefold.ledger import Ledger, list_active
from wakefold.records import Standing, find_due, is_recurring
from wakefold.recurrence import Profile, find_gate

#: What stands in `heldUntil` where no instant ends the hold.
NEXT_WORD: Final = "next-external-word"


#: What wakes a cold session: nothing without a runner of its own, or whoever is free (a fleet).
DeliveryMode = Literal["session-local", "host"]


class View(Struct, frozen=True):
    """A record as of an instant.

    `delivery_not_before_ms` is set only for a recurring record that is overdue behind a closed gate,
    `held_until_ms` only for one that is overdue under a hold; past year 9999 it means the next external
    word.
    """

    record: Record
    state: Literal["scheduled", "overdue", "paused"]
    delivery_not_before_ms: int | None = None
    delivery_mode: DeliveryMode = "session-local"
    held_until_ms: int | None = None

    @property
    def not_before_ms(self) -> int | None:
        """The later of what an overdue record waits for, in epoch ms; `None` where there is nothing."""
        both = (self.delivery_not_before_ms, self.held_until_ms)
        return max((at_ms for at_ms in both if at_ms is not None), default=None)


def view_record(
    record: Record,
    now_ms: int,
    profile: Profile,
    last_accepted_at_ms: int | None,
    not_before_ms: int | None = None,
    delivery_mode: DeliveryMode = "session-local",
) -> View:
    """One record as of `now_ms`, given the last recurring batch of its session and a hold, if any."""
    if record.standing.paused:
        return View(record=record, state="paused", delivery_mode=delivery_mode)
    if now_ms < find_due(record):
        return View(record=record, state="scheduled", delivery_mode=delivery_mode)
    gate_ms = find_gate(profile, last_accepted_at_ms)
    held = (
        is_recurring(record) and gate_ms is not None and now_ms < gate_ms and is_representable(gate_ms)
    )
    return View(
        record=record,
        state="overdue",
        delivery_not_before_ms=gate_ms if held else None,
        delivery_mode=delivery_mode,
        held_until_ms=not_before_ms,
    )


def list_views(
    ledger: Ledger,
    now_ms: int,
    not_before_ms: int | None = None,
    delivery_mode: DeliveryMode = "session-local",
) -> tuple[View, ...]:
    """All active records as of `now_ms`, in create order; none goes before `not_before_ms` (a hold).

    :shape: a tuple of `View`; `encode_view` makes JSON of one
    :units: `now_ms` and `not_before_ms` are epoch milliseconds UTC
    :errors: none, it is total
    :source: spec section 6
    """
    return tuple(
        view_record(
            record, now_ms, ledger.profile, ledger.last_accepted_at_ms, not_before_ms, delivery_mode
        )
        for record in list_active(ledger)
    )


def encode_view(view: View) -> Json:
    """The view as tools answer with it, keys in that order.

    :shape: the record's fields, `state`, `deliveryMode`, `deliveryNotBefore?`, `heldUntil?`; of version
        2 also `revision`, `runs`, `snoozedUntil?`
    :units: instants are canonical text; `heldUntil` may be `next-external-word`
    :errors: raises `ValueError` on a record whose target is outside years 0001 to 9999, which no folded
        one has
    :source: spec section 6; calendar.md section 3
    """
    value = {
        **encode_record(view.record),
        "state": view.state,
        "deliveryMode": view.delivery_mode,
    }
    if view.delivery_not_before_ms is not None:
        value["deliveryNotBefore"] = format_instant(view.delivery_not_before_ms)
    if view.held_until_ms is not None:
        held = is_representable(view.held_until_ms)
        value["heldUntil"] = format_instant(view.held_until_ms) if held else NEXT_WORD
    return {**value, **_encode_standing(view.record.standing)}


def _encode_standing(standing: Standing) -> Json:
    if standing.version == 1:
        return {}
    value: Json = {"revision": standing.revision, "runs": standing.runs}
    if standing.snoozed_until_ms is None:
        return value
    return {**value, "snoozedUntil": format_instant(standing.snoozed_until_ms)}
