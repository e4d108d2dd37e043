"""How a schedule stream can break the rules of its format, and how that reads (spec sections 3, 4, 9).

This module decides the names of the broken rules and one sentence for each. It refuses to know how a
fault was found, and where in the log.
"""

from __future__ import annotations

from typing import Final, Literal

#: Each way in which a schedule stream can break spec sections 3, 4 and 9, and calendar.md.
LogRule = Literal[
    "not_an_object",
    "wrong_keys",
    "unknown_version",
    "unknown_operation",
    "unknown_kind",
    "bad_id",
    "bad_prompt",
    "bad_seconds",
    "bad_instant",
    "bad_seed_length",
    "bad_dispatch_seq",
    "id_reused",
    "id_not_active",
    "one_shot_with_accepted_at",
    "every_without_accepted_at",
    "accepted_before_target",
    "batches_too_close",
    "plain_record",
    "bad_rule",
    "bad_title",
    "bad_max_runs",
    "bad_missed",
    "option_of_recurring",
    "grace_without_skip",
    "ended_by_option",
    "other_version",
    "paused",
    "not_paused",
    "bad_occurrence",
    "bad_next",
    "not_too_late",
    "snoozed_to_target",
]

#: What each says to the log's writer, without place and id.
LOG_SENTENCES: Final[dict[LogRule, str]] = {
    "not_an_object": "a schedule change must be a JSON object",
    "wrong_keys": "a key is missing or unknown",
    "unknown_version": "only versions 1 and 2 are known",
    "unknown_operation": "the operation is none of that version",
    "unknown_kind": "the kind is none of that version",
    "bad_id": "an id must be non-empty text without white space around it",
    "bad_prompt": "a prompt must be non-empty text without white space around it",
    "bad_seconds": "seconds must be a safe integer: above 0 for after, at least 300 for every",
    "bad_instant": "an instant must read like 2027-02-01T09:00:00.000Z and name a day that exists",
    "bad_seed_length": "the seed length must be a whole number from 0 to the log's length",
    "bad_dispatch_seq": "the dispatch seq must be the seq of an event of the log",
    "id_reused": "an id is created once and never again",
    "id_not_active": "no reminder of that id is active here",
    "one_shot_with_accepted_at": "the dispatch of a one-shot carries no acceptedAt",
    "every_without_accepted_at": "the dispatch of a repeating reminder must carry acceptedAt",
    "accepted_before_target": "a repeating reminder cannot be accepted before its target",
    "batches_too_close": "repeating batches must stand at least 300 s apart, in order",
    "plain_record": "a create of version 2 needs a calendar rule or an option",
    "bad_rule": "a calendar rule must be canonical, match a date, and come 300 s apart or more",
    "bad_title": "a title must be trimmed text of 1 to 120 characters",
    "bad_max_runs": "maxRuns must be a whole number above 0",
    "bad_missed": "missed must be latest or skip",
    "option_of_recurring": "maxRuns and until are for recurring reminders only",
    "grace_without_skip": "graceSeconds stands with missed skip, and only there",
    "ended_by_option": "maxRuns or until leave the reminder no occurrence",
    "other_version": "a reminder is dispatched by version 2 from its first event of version 2 on",
    "paused": "a paused reminder can only be resumed, updated or deleted",
    "not_paused": "only a paused reminder can be resumed",
    "bad_occurrence": "the occurrence must lie from the target to the acceptance, as the rule has it",
    "bad_next": "the next target must come after the acceptance, as the rule has it",
    "not_too_late": "only an occurrence that is later than its grace can be skipped",
    "snoozed_to_target": "a snooze must end after the target",
}
