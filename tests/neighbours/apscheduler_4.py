"""What the pre-release of APScheduler 4 does with missed schedules, clock changes and weekdays.

Run by hand with `apscheduler==4.0.0a6` and `sniffio`; it prints what it found.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from apscheduler import AsyncScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

BERLIN = ZoneInfo("Europe/Berlin")
RAN: list[str] = []


def note(name: str) -> None:
    """The job: its name is kept."""
    RAN.append(name)


async def miss_an_hour() -> None:
    """A one-shot and a repeat, both missed for an hour."""
    import apscheduler_4  # a schedule needs an importable function

    now = datetime.now(UTC)
    every = IntervalTrigger(minutes=5, start_time=now - timedelta(minutes=61))
    async with AsyncScheduler() as scheduler:
        await scheduler.add_schedule(
            apscheduler_4.note, DateTrigger(now - timedelta(hours=1)), args=["once"]
        )
        await scheduler.add_schedule(apscheduler_4.note, every, args=["every five minutes"])
        await scheduler.start_in_background()
        await asyncio.sleep(1.5)
    print("missed for an hour:", sorted(apscheduler_4.RAN))


def list_times(expression: str, start: datetime) -> None:
    """The next three times of a cron expression in Berlin."""
    trigger = CronTrigger.from_crontab(expression, timezone=BERLIN)
    trigger.start_time = start
    coming = [trigger.next().astimezone(UTC).astimezone(BERLIN) for _ in range(3)]
    print(f"{expression}:", *(f"{at:%a %d %H:%M (%z)}" for at in coming), sep="  ")


if __name__ == "__main__":
    asyncio.run(miss_an_hour())
    list_times("30 2 * * *", datetime(2027, 3, 27, 23, tzinfo=BERLIN))
    list_times("30 2 * * *", datetime(2027, 10, 30, 23, tzinfo=BERLIN))
    list_times("0 9 * * 1", datetime(2027, 1, 1, tzinfo=BERLIN))
