"""Fleets under kills, restarts and storms: nothing is lost, nothing comes twice."""

from __future__ import annotations

import pytest

from fleet_soak import Plan, run_soak
from fleet_storm import REMINDERS, Storm, raise_storm
from postgres_servers import ask, open_server
from wakefold_shell.fleet.schema import init_schema

pytestmark = pytest.mark.anyio

SAMPLE = Plan(sessions=20, seconds=10, workers=2, kills=2, restarts=1)
WHOLE = Plan(sessions=300, seconds=240, workers=3, kills=20, restarts=2)


@pytest.fixture
def anyio_backend() -> str:
    """The queue and its driver know asyncio alone."""
    return "asyncio"


@pytest.mark.parametrize(
    "plan", [SAMPLE, pytest.param(WHOLE, marks=pytest.mark.long)], ids=["sample", "whole"]
)
async def test_a_fleet_outlives_its_workers_and_its_server(plan: Plan) -> None:
    """Every acknowledged reminder is delivered or deleted or still to come, each occurrence once."""
    with open_server(on_disk=True) as server, server.make_database() as dsn:
        ask(dsn, init_schema)
        outcome = await run_soak(server, dsn, plan)
    print(outcome)  # noqa: T201 - the figures of the long profile
    assert (outcome.lost, outcome.doubled, outcome.untaken) == (0, 0, 0)
    assert outcome.followups == outcome.dispatches > plan.sessions
    assert outcome.creates == outcome.deletes + outcome.left + outcome.ended


@pytest.mark.parametrize(
    ("sessions", "wakes", "workers"),
    [(40, 140, 2), pytest.param(1500, 5000, 3, marks=pytest.mark.long)],
    ids=["sample", "whole"],
)
async def test_a_storm_of_wakes_gives_each_session_one_message(
    fleet: str, sessions: int, wakes: int, workers: int
) -> None:
    storm = await raise_storm(fleet, sessions, wakes, workers)
    print(storm)  # noqa: T201 - as above
    assert storm == Storm(sessions, sessions * REMINDERS, sessions * REMINDERS, 0)
