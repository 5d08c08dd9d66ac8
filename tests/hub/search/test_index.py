"""The index of SQLite is kept in few pieces."""

from __future__ import annotations

import asyncio

import pytest

from accord.hub.search import index
from accord.hub.search.index import MAX_SEGMENTS, IndexMaintenance
from tests.hub.world import World
from tests.patience import PATIENCE

PIECES = "SELECT COUNT(*) AS pieces FROM (SELECT DISTINCT segid FROM search_texts_idx)"


async def fill(world: World, count: int = 50) -> None:
    epic = await world.call("create_epic", title="Ferries")
    story = await world.call("create_user_story", epic_id=epic.id, title="Ferry")
    for number in range(count):
        title = f"Ferry {number} sails"
        await world.call("create_requirement", user_story_id=story.id, title=title)


async def found(world: World) -> list[str]:
    page = await world.call("search_requirements", query="ferry", limit=100)
    return [each.reference_id for each in page.items]


async def pieces(world: World) -> int:
    [row] = await world.store.fetch(PIECES)
    count: int = row["pieces"]
    return count


async def test_many_pieces_become_one_in_which_the_same_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _needs_pieces(world)
    monkeypatch.setattr(index, "PAGES_PER_MERGE", 1)  # so that it takes several steps
    await fill(world)
    before = await found(world)
    assert await pieces(world) > MAX_SEGMENTS
    await IndexMaintenance(world.store).merge()
    assert await pieces(world) == 1
    assert len(before) == 50
    assert await found(world) == before


async def test_few_pieces_are_left_alone(world: World) -> None:
    _needs_pieces(world)
    await fill(world, 1)
    commits = world.store.counts.commits
    await IndexMaintenance(world.store).merge()
    assert world.store.counts.commits == commits


async def test_others_write_meanwhile(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _needs_pieces(world)
    monkeypatch.setattr(index, "PAGES_PER_MERGE", 1)
    await fill(world)
    story = (await world.call("list_user_stories")).items[0]
    merging = asyncio.create_task(IndexMaintenance(world.store).merge())
    for number in range(20):
        title = f"Ferry {number} waits"
        await world.call("create_requirement", user_story_id=story.id, title=title)
    await merging
    assert len(await found(world)) == 70


async def test_a_server_does_it_by_itself_until_it_is_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _needs_pieces(world)
    monkeypatch.setattr(index, "INITIAL_DELAY", 0.0)
    await fill(world)
    keeping = IndexMaintenance(world.store)
    keeping.start()
    async with asyncio.timeout(PATIENCE):
        while True:
            if await pieces(world) == 1:
                break
            await asyncio.sleep(0.01)
    await keeping.close()


def _needs_pieces(world: World) -> None:
    if world.store.engine != "sqlite":
        pytest.skip("only on SQLite: PostgreSQL does the like by itself")
