"""The clock starts runs: once for each time, whoever looks, and whoever is killed."""

from __future__ import annotations

import asyncio
import logging
import sys

import pytest

from accord.store import open_store
from accord.workflows.triggers.triggers import Scheduler
from tests.hub.world import world_at
from tests.patience import PATIENCE
from tests.workflows.triggers.site import NOW, Site

NOON = NOW - NOW % 86_400 + 12 * 3_600
DAY = 86_400.0
DAILY = 'name: daily\non: [{schedule: "0 12 * * *"}]'


def scheduler(site: Site) -> Scheduler:
    return Scheduler(site.store, site.world.trail, now=lambda: site.now)


@pytest.mark.req("W-07")
async def test_a_run_starts_when_its_time_comes(site: Site) -> None:
    await site.save(DAILY)
    clock = scheduler(site)
    site.now = NOON - 3
    assert await clock.fire_due() == 3
    assert await site.runs() == []
    site.now = NOON + 0.5
    assert await clock.fire_due() == 5.0
    [run] = await site.runs()
    assert run["input"] == {"at": "2025-11-15T12:00:00Z"}
    assert (run["workflow"], run["origin"], run["created_at"]) == ("daily", "schedule", NOON + 0.5)
    assert (run["user_id"], run["username"]) == (site.world.admin.user_id, "ada")
    assert run["traceparent"].startswith(f"00-{run['correlation_id']}-")
    [record] = site.world.trail.records
    assert (record.actor, record.operation, record.target) == (
        "ada",
        "schedule",
        f"daily@1, {run['id']}",
    )
    await clock.fire_due()
    assert len(await site.runs()) == 1
    site.now = NOON + DAY
    await clock.fire_due()
    assert [run["input"]["at"] for run in await site.runs()] == [
        "2025-11-15T12:00:00Z",
        "2025-11-16T12:00:00Z",
    ]


async def test_times_that_nobody_saw_are_made_up_for_once(site: Site) -> None:
    await site.save(DAILY)
    site.now = NOON + 3 * DAY + 60
    await scheduler(site).fire_due()
    assert [run["input"]["at"] for run in await site.runs()] == ["2025-11-15T12:00:00Z"]
    [row] = await site.store.fetch("SELECT next_at FROM triggers")
    assert row["next_at"] == NOON + 4 * DAY


async def test_many_that_look_start_one_run(migrated_url: str) -> None:
    async with world_at(migrated_url) as world, open_store(migrated_url, durable=False) as other:
        site = Site(world)
        for number in range(5):
            await site.save(f'name: daily{number}\non: [{{schedule: "0 12 * * *"}}]')
        site.now = NOON
        trail = world.trail
        both = [Scheduler(store, trail, now=lambda: site.now) for store in (site.store, other) * 2]
        await asyncio.gather(*(each.fire_due() for each in both))
        assert sorted(run["workflow"] for run in await site.runs()) == [
            f"daily{number}" for number in range(5)
        ]


@pytest.mark.req("W-09")
async def test_who_is_killed_while_firing_loses_and_repeats_nothing(migrated_url: str) -> None:
    names = [f"daily{number:02}" for number in range(40)]
    async with world_at(migrated_url) as world:
        site = Site(world)
        for name in names:
            await site.save(f'name: {name}\non: [{{schedule: "0 12 * * *"}}]')
        site.now = NOON
        killed = 0
        for _ in range(3):
            before = len(await site.runs())
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.workflows.triggers.firing", migrated_url, str(NOON))
            )
            async with asyncio.timeout(60):
                while process.returncode is None and len(await site.runs()) < before + 5:  # noqa: ASYNC110
                    await asyncio.sleep(0)
                if process.returncode is None:
                    process.kill()
                    killed += 1
                await process.wait()
        await scheduler(site).fire_due()
        assert sorted(run["workflow"] for run in await site.runs()) == names
        assert killed


async def test_a_time_that_was_fired_while_it_was_saved_again_has_one_run(site: Site) -> None:
    await site.save(DAILY)
    site.now = NOON
    await scheduler(site).fire_due()
    # What a version has that was read before the time was fired, and is written after it.
    await site.store.execute("UPDATE triggers SET next_at = $1", NOON)
    await scheduler(site).fire_due()
    assert len(await site.runs()) == 1


async def test_nothing_runs_in_the_name_of_who_is_not_active(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    await site.save(DAILY)
    await site.store.execute("UPDATE users SET active = 0 WHERE username = 'ada'")
    site.now = NOON
    with caplog.at_level(logging.ERROR):
        await scheduler(site).fire_due()
    assert await site.runs() == []
    said = (
        "ada, who saved the workflow and in whose name it runs, is not active: have somebody else "
        "save it"
    )
    assert await site.letters() == [("starter_inactive", "daily", said)]
    assert f"daily was not started at 2025-11-15T12:00:00Z: {said}" in caplog.text


async def test_one_that_cannot_be_fired_does_not_keep_others_from_it(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    await site.save(DAILY)
    await site.save('name: lost\non: [{schedule: "0 11 * * *", timezone: Europe/Berlin}]')
    await site.store.execute(
        "UPDATE triggers SET spec = replace(spec, 'Berlin', 'Atlantis') WHERE workflow = 'lost'"
    )
    site.now = NOON
    with caplog.at_level(logging.ERROR):
        assert await scheduler(site).fire_due() == 5.0
    assert [run["workflow"] for run in await site.runs()] == ["daily"]
    assert "lost was not started by its schedule" in caplog.text


async def test_it_wakes_when_a_schedule_is_saved(site: Site) -> None:
    clock = scheduler(site)
    await clock.start()
    try:
        site.now = NOON - 60
        await site.save(DAILY)
        site.now = NOON
        await site.save("name: another\non: epic.created")  # wakes it: what it knew is old
        async with asyncio.timeout(PATIENCE):
            while not await site.runs():  # noqa: ASYNC110 - the database tells nobody
                await asyncio.sleep(0.01)
    finally:
        await clock.close()


async def test_closing_what_never_started_does_nothing(site: Site) -> None:
    await site.save(DAILY)
    site.now = NOON + 60
    await scheduler(site).close()
    assert await site.runs() == []
