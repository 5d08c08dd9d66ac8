"""The index is asked in several ways, which all find the same."""

from __future__ import annotations

import pytest

from accord.hub.search import query as asking
from accord.hub.search.query import ParsedQuery, facet, groups_of, query_for_many
from tests.hub.world import World

KIND = (facet("kind", "requirement"),)


async def fill(world: World) -> None:
    epic = await world.call("create_epic", title="Ferries")
    story = await world.call("create_user_story", epic_id=epic.id, title="Ferry")
    for title, priority in (("A ferry sails", 2), ("A ferry waits", 3), ("A ferryman rests", 2)):
        await world.call(
            "create_requirement", user_story_id=story.id, title=title, priority=priority
        )


@pytest.mark.parametrize("few", [0, 1, 3, 1000])
async def test_words_and_filters_find_the_same_whether_words_are_common_or_not(
    world: World, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    await fill(world)
    monkeypatch.setattr(asking, "MAX_CHECKED", few)
    for query, filters, expected in (
        ("ferry", {}, ["REQ-002", "REQ-001", "REQ-003"]),
        ("ferry", {"priority": 2}, ["REQ-001", "REQ-003"]),
        ("ferryman", {"priority": 2}, ["REQ-003"]),
        ("ferryman", {"priority": 3}, []),
        ("ferr rest", {"priority": 2, "status": "Draft"}, ["REQ-003"]),
    ):
        for _ in range(2):  # whether it is known by now that they are
            page = await world.call("search_requirements", query=query, **filters)
            assert [each.reference_id for each in page.items] == expected
            assert page.total == len(expected)


async def test_sqlite_is_asked_for_longer_words_only_where_there_are_any(world: World) -> None:
    if world.store.engine != "sqlite":
        pytest.skip("only on SQLite: PostgreSQL plans by itself")
    await fill(world)

    async def asked(query: str, *facets: tuple[str, ...]) -> str:
        asked = ParsedQuery(groups=groups_of(query), facets=facets)
        return (await query_for_many(world.store, "sqlite", asked)).match

    assert await asked("ferry") == '{title body} : (("ferry"*))'
    assert await asked("ferryman") == '{title body} : (("ferryman"))'
    assert await asked("*", KIND) == f'facets : ("{KIND[0]}")'
