"""Triggers are saved with the version that they belong to."""

from __future__ import annotations

import asyncio

import pytest

from accord.operations.errors import ConflictError
from accord.operations.storage import LANE
from accord.store.store import Transaction
from accord.workflows.core.definition import Trigger
from accord.workflows.storage.definitions import ALL_TRIGGER_COLUMNS
from accord.workflows.storage.runs import Starter
from accord.workflows.triggers.triggers import SavedTrigger, read_trigger, renew_triggers
from tests.patience import PATIENCE
from tests.workflows.triggers.site import NOW, Site

ALL = """name: all
input: {type: object}
on:
  - {event: epic.created, filter: "${event.after.priority == 1}"}
  - {event: epic.created, filter: "${event.after.priority == 2}"}
  - {schedule: "0 12 * * *"}
  - {webhook: hook, secret: "file:hook"}"""


async def saved(site: Site) -> list[SavedTrigger]:
    rows = await site.store.fetch(f"SELECT {ALL_TRIGGER_COLUMNS} FROM triggers ORDER BY kind, spec")
    return [read_trigger(row) for row in rows]


async def test_only_the_newest_version_has_triggers(site: Site) -> None:
    await site.save(ALL, starter=Starter(user_id="u", username="uma", scopes="read run"))
    first = await saved(site)
    assert [each.start.trigger for each in first] == [
        Trigger(event="epic.created", filter="${event.after.priority == 1}"),
        Trigger(event="epic.created", filter="${event.after.priority == 2}"),
        Trigger(schedule="0 12 * * *"),
        Trigger(webhook="hook", secret="file:hook"),
    ]
    noon = NOW - NOW % 86_400 + 12 * 3_600
    assert [each.next_at for each in first] == [None, None, noon, None]
    assert {(each.version, each.saved_by.username, each.saved_by.scopes) for each in first} == {
        (1, "uma", "read run")
    }
    assert first[0].schema == {"type": "object"}
    await site.save(ALL)
    again = await saved(site)
    assert [each.id for each in again] == [each.id for each in first]
    assert {each.version for each in again} == {2}
    await site.save("name: all")
    assert await saved(site) == []


async def test_a_time_that_came_before_it_was_saved_again_is_kept(site: Site) -> None:
    await site.save(ALL)
    site.now += 86_400.0
    await site.save(ALL)
    [schedule] = [each for each in await saved(site) if each.kind == "schedule"]
    assert schedule.next_at == NOW - NOW % 86_400 + 12 * 3_600


async def test_what_may_not_be_run_has_no_triggers(site: Site) -> None:
    await site.save("name: all\non: epic.created")
    await site.save("name: all\non: epic.deleted")
    await set_active(site, "all", 2, active=False)
    assert [(each.version, each.name) for each in await saved(site)] == [(1, "epic.created")]
    await set_active(site, "all", active=False)
    assert await saved(site) == []
    await set_active(site, "all", active=True)
    [again] = await saved(site)
    assert (again.version, again.name, again.saved_by.username) == (2, "epic.deleted", "otto")


async def set_active(site: Site, name: str, version: int | None = None, *, active: bool) -> None:
    """Let versions be run or not, as an operation would that otto calls."""
    otto = Starter(user_id=site.world.other.user_id, username="otto")

    async def work(db: Transaction) -> None:
        await db.execute(
            "UPDATE workflows SET active = $2 WHERE name = $1 AND ($3 = 0 OR version = $3)",
            *(name, int(active), version or 0),
        )
        await renew_triggers(db, name, otto, site.now)

    await site.store.transact(work, lane=LANE)


async def test_a_webhook_belongs_to_one_workflow(site: Site) -> None:
    await site.save(ALL)
    other = 'name: other\non: [{webhook: hook, secret: "file:x"}]'
    with pytest.raises(ConflictError, match="the workflow 'all' has a webhook 'hook' already"):
        await site.save(other)
    await set_active(site, "all", active=False)
    assert await site.save(other) == 1


async def test_triggers_are_announced(site: Site) -> None:
    heard = asyncio.Event()
    stop = await site.store.listen("triggers", heard.set)
    await site.save(ALL)
    async with asyncio.timeout(PATIENCE):
        await heard.wait()
    stop()
