"""`wakefold explain`: why a reminder has or has not been delivered."""

from __future__ import annotations

from typing import Annotated

import typer

from wakefold import SCHEDULE_CHANGE, CorruptScheduleLog, either, format_instant
from wakefold.conversations import CONVERSATION_TYPES
from wakefold.explanations import (
    Explanation,
    Mark,
    describe_verdict,
    encode_explanation,
    explain,
)
from wakefold.wakeups import COUNTED_TYPES
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    ConfigOption,
    JournalArgument,
    JsonOption,
    LineBytesOption,
    NoGuardOption,
    NowOption,
    ProfileName,
    ProfileOption,
    choose_clock,
)
from wakefold_shell.cli.output import print_json, show_text, warn
from wakefold_shell.cli.progress import watch
from wakefold_shell.cli.speech import print_line
from wakefold_shell.configurations import find_config_beside
from wakefold_shell.stores.care import find_owner
from wakefold_shell.stores.journals import find_corruption, locate_journal, open_journal


def explain_(  # noqa: PLR0913 - a log, and what it is read under
    journal: JournalArgument,
    schedule_id: Annotated[str, typer.Argument(metavar="ID", help="The reminder's id.")],
    *,
    config: ConfigOption = None,
    no_guard: NoGuardOption = False,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Say why a reminder has or has not been delivered: what stands in its way, or what ended it.

    Read from the log, under the guard's limits. It is told, too, whether anybody lives there.
    """
    limits = None if no_guard else find_config_beside(config, journal)
    with open_journal(journal, line_bytes_max) as opened:
        types = CONVERSATION_TYPES | COUNTED_TYPES | {SCHEDULE_CHANGE}
        events = list(watch(opened, opened.read_events(types)))

        def refuse(fault: CorruptScheduleLog) -> Explanation:
            raise find_corruption(opened, fault)

        now_ms, seed_length = choose_clock(now).read_ms(), opened.header.seed_length
        told = explain(events, schedule_id, now_ms, limits, seed_length, profile.profile)
        explanation = either(told, lambda found: found, refuse)
    warn(opened)
    owner = find_owner(locate_journal(journal).parent)
    if as_json:
        print_json({**encode_explanation(explanation), "owner": owner})
        return
    print_line(f"{show_text(explanation.id)}: {describe_verdict(explanation.verdict)}")
    _tell_last("delivered", explanation.last_delivery, f", {explanation.deliveries} in all")
    _tell_last("skipped", explanation.last_skip, "")
    print_line(f"session: {owner or 'nobody lives in it, so that nothing is delivered'}")


def _tell_last(done: str, mark: Mark | None, rest: str) -> None:
    if mark is not None:
        at, occurrence = format_instant(mark.at_ms), format_instant(mark.occurrence_ms)
        print_line(f"last {done}: {at}, the occurrence of {occurrence} (event {mark.seq}){rest}")
