"""`wakefold fleet worker`, `status` and `retry`: who works for a fleet, and how it stands."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from wakefold.guard_reports import list_startup_lines
from wakefold_shell.cli.delivering import (
    Deliver,
    DeliverOption,
    Delivery,
    Limits,
    TargetArgument,
    choose_target,
)
from wakefold_shell.cli.fleet_ways import fleet_extra
from wakefold_shell.cli.option_groups import OptionGroup, spread_groups
from wakefold_shell.cli.options import (
    ConfigOption,
    FleetOption,
    JsonOption,
    NoGuardOption,
    ProfileName,
    ProfileOption,
    ProtocolNumber,
    ProtocolOption,
)
from wakefold_shell.cli.output import print_json, print_table, show_duration, show_text
from wakefold_shell.cli.running import stop_on_signal
from wakefold_shell.cli.speech import print_line
from wakefold_shell.cli.waiting import StatusLine
from wakefold_shell.configurations import find_config
from wakefold_shell.errors import show_time
from wakefold_shell.guarding import NO_GUARD_LINE, Watchman
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.stores.rows import Header

if TYPE_CHECKING:
    from wakefold_shell.fleet.reports import Report
    from wakefold_shell.fleet.workers import Worker

_CONCURRENCY: Final = 4
_DRAIN_SECONDS: Final = 30.0


class Terms(OptionGroup, frozen=True):
    """How a worker works, and under which limits."""

    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, help="How many agents answer at once.")
    ] = _CONCURRENCY
    drain: Annotated[
        float,
        typer.Option(
            "--drain",
            metavar="SECONDS",
            min=0,
            help="How long agents may go on answering once the worker is to stop.",
        ),
    ] = _DRAIN_SECONDS
    config: ConfigOption = None
    no_guard: NoGuardOption = False
    protocol: ProtocolOption = ProtocolNumber.TWO
    profile: ProfileOption = ProfileName.SEED


@spread_groups
def worker(
    terms: Terms,
    limits: Limits,
    target: TargetArgument = None,
    *,
    fleet: FleetOption,
    deliver: DeliverOption = Deliver.STDOUT,
    as_json: JsonOption = False,
) -> None:
    """Wake the fleet's sessions at their time and deliver, until SIGINT or SIGTERM.

    A second signal ends agents that still answer. Any number of workers share a database, with the same
    options. A message is given at least once, with its id; a job that fails is held, told, and left to
    'wakefold fleet retry'.
    """
    chosen = choose_target(deliver, target or [], limits)
    line = StatusLine()
    make_agent = Delivery(chosen, limits, line, as_json=as_json).choose_agent
    body = _make_worker(fleet, terms, partial(make_agent, None), line)
    logging.getLogger("pgqueuer").propagate = False  # what matters is told in sentences
    logging.getLogger("pgqueuer").addHandler(logging.NullHandler())
    anyio.run(_work, body, line)


def _make_worker(
    dsn: str, terms: Terms, make_agent: Callable[[Header], Agent], line: StatusLine
) -> Worker:
    """A worker as a command's options say; the limits in force are told, or that there are none."""
    with fleet_extra():
        from wakefold_shell.fleet.tails import Policy  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.workers import Pace, Worker  # noqa: PLC0415 - as above
    bounds = None if terms.no_guard else find_config(terms.config)
    for text in [NO_GUARD_LINE] if bounds is None else list_startup_lines(bounds):
        line.print(text)
    return Worker(
        dsn,
        Policy(profile=terms.profile.profile, limits=bounds, protocol=terms.protocol.number),
        make_agent,
        concurrency=terms.concurrency,
        watchman=None if bounds is None else Watchman(terms.config, line.print),
        tell=line.say,
        pace=Pace(drain_seconds=terms.drain),
    )


def status(*, fleet: FleetOption, as_json: JsonOption = False) -> None:
    """Show how a fleet stands: what is due and late, held jobs, workers, and how late messages were."""
    with fleet_extra():
        from wakefold_shell.fleet.links import open_link  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.reports import read_report  # noqa: PLC0415 - as above
        from wakefold_shell.fleet.schema import check_schema  # noqa: PLC0415 - as above
    with open_link(fleet, check_schema) as link:
        report = link.run(read_report)
    if as_json:
        print_json(_encode_report(report))
    else:
        _print_report(report)


def retry(*, fleet: FleetOption, as_json: JsonOption = False) -> None:
    """Queue all held jobs again, once what made them fail is mended."""
    with fleet_extra():
        from wakefold_shell.fleet.links import open_link  # noqa: PLC0415 - an extra
        from wakefold_shell.fleet.schema import check_schema  # noqa: PLC0415 - as above
        from wakefold_shell.fleet.sweeps import retry_held  # noqa: PLC0415 - as above
    with open_link(fleet, check_schema) as link:
        queued = link.run(retry_held)
    if as_json:
        print_json({"queued": queued})
    else:
        print_line(f"{queued} queued again")


async def _work(body: Worker, line: StatusLine) -> None:
    """Work until a signal asks for the end; what ends it otherwise is raised outside the group."""
    failure: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, body.stop, line)
        try:
            await body.run()
        except Exception as error:  # noqa: BLE001 - raised below
            failure.append(error)
        tasks.cancel_scope.cancel()
    if failure:
        raise failure[0]


def _encode_report(report: Report) -> dict[str, object]:
    late = report.lateness
    return {
        "now": show_time(report.now_ms),
        "sessions": report.sessions,
        "planned": report.planned,
        "due": report.due,
        "late": report.late,
        "waiting": report.waiting,
        "held": report.held,
        "heldJobs": [
            {
                "id": job.id,
                "kind": job.kind,
                "session": job.session_id,
                "heldAt": show_time(job.held_at_ms),
                "error": job.why,
            }
            for job in report.jobs
        ],
        "workers": [{"name": one.name, "since": show_time(one.since_ms)} for one in report.workers],
        "lateness": {
            "count": late.count,
            "p50Ms": late.p50_ms,
            "p90Ms": late.p90_ms,
            "p99Ms": late.p99_ms,
            "maxMs": late.greatest_ms,
        },
    }


def _print_report(report: Report) -> None:
    print_line(
        f"sessions {report.sessions}, planned {report.planned}, due {report.due}, late {report.late}"
    )
    print_line(f"occurrences that wait for a turn: {report.waiting}")
    late = report.lateness
    if late.p50_ms is not None and late.p90_ms is not None and late.p99_ms is not None:
        shown = (late.p50_ms, late.p90_ms, late.p99_ms, late.greatest_ms or 0)
        p50, p90, p99, most = map(show_duration, shown)
        print_line(
            f"late, of {late.count} in the last hour: p50 {p50}, p90 {p90}, p99 {p99}, most {most}"
        )
    print_line(f"workers: {', '.join(show_text(one.name) for one in report.workers) or 'none'}")
    print_line(f"held jobs: {report.held}")
    if report.jobs:
        rows = [
            (
                str(job.id),
                job.kind,
                show_text(job.session_id),
                show_time(job.held_at_ms),
                job.why or "-",
            )
            for job in report.jobs
        ]
        print_table(
            ("job", "kind", "session", "held at", "why"), [(*r[:4], show_text(r[4])) for r in rows]
        )
