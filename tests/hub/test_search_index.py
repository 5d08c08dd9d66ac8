"""Words, misspelt words, and the merges of the index of SQLite."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, strategies as st

from accord.hub import search_index
from accord.hub.search_index import (
    MAX_SEGMENTS,
    IndexMaintenance,
    distance,
    similar_words,
    spelling_keys,
)
from tests.hub.world import World
from tests.patience import PATIENCE

LETTERS = st.characters(min_codepoint=97, max_codepoint=122)


@pytest.mark.parametrize(
    ("word", "other", "slips"),
    [
        ("ferry", "ferry", 0),
        ("fery", "ferry", 1),
        ("ferrry", "ferry", 1),
        ("ferri", "ferry", 1),
        ("frery", "ferry", 1),
        ("ferr", "ferryman", 0),
        ("fery", "ferryman", 1),
        ("boat", "ferry", 3),
    ],
)
def test_slips_are_counted(word: str, other: str, slips: int) -> None:
    assert distance(word, other, 2) == slips


def test_the_nearest_words_are_meant() -> None:
    known = ["payment", "payments", "pavement", "parchment", "ferry"]
    assert similar_words("paymnet", known) == ["payment", "payments"]
    assert similar_words("payment", ["payment"]) == []
    assert similar_words("xxxx", known) == []


@given(st.text(LETTERS, min_size=4, max_size=20), st.data())
def test_a_word_with_one_slip_has_a_key_in_common_with_itself(
    word: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(word) - 1))
    slip = data.draw(st.sampled_from(["lost", "added", "changed", "swapped"]))
    letter = data.draw(LETTERS)
    wrong = {
        "lost": word[:place] + word[place + 1 :],
        "added": word[:place] + letter + word[place:],
        "changed": word[:place] + letter + word[place + 1 :],
        "swapped": word[:place] + word[place : place + 2][::-1] + word[place + 2 :],
    }[slip]
    assert set(spelling_keys(wrong, slips=2)) & set(spelling_keys(word))
    assert distance(wrong, word, 2) <= 2


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
    monkeypatch.setattr(search_index, "PAGES_PER_MERGE", 1)  # so that it takes several steps
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
    monkeypatch.setattr(search_index, "PAGES_PER_MERGE", 1)
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
    monkeypatch.setattr(search_index, "INITIAL_DELAY", 0.0)
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
