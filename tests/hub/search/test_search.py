"""Search over both databases."""

from __future__ import annotations

from tests.hub.world import World


async def test_words_are_found(world: World) -> None:
    epic = await world.call("create_epic", title="Résumé upload", description="Payment and more")
    found = await world.call("search_global", query="resume")
    assert [each.reference_id for each in found.items] == [epic.reference_id]
    print(found)
    print(await world.call("search_global", query="EP-1"))
    print(await world.call("search_global", query="paymnet"))
