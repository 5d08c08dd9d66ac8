"""At most one prompt is active, whoever activates which at the same moment.

ACCORD_RACES=100 makes it a hundred times as many rounds, which are a thousand (`make races`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord.store import Store, Transaction, open_store
from accord.store.store import ConstraintError
from tests.hub.races.line import Line, lines, unique
from tests.hub.races.racing import Racing
from tests.hub.world import World

TIMES = int(os.environ.get("ACCORD_RACES", "1"))
ROUNDS = 10 * TIMES
WRITERS = 64
PROMPTS = 16

ACTIVE = "SELECT COUNT(*) AS total FROM items WHERE active = 1"


async def active_in(store: Store) -> int:
    """How many prompts are active, as the database says."""
    total: int = (await store.fetch(ACTIVE))[0]["total"]
    return total


@asynccontextmanager
async def watched(store: Store) -> AsyncIterator[list[int]]:
    """How many prompts were active whenever somebody looked, while something else was done."""
    seen: list[int] = []
    is_over = False

    async def watch() -> None:
        while not is_over:
            seen.append(await active_in(store))
            await asyncio.sleep(0.001)

    task = asyncio.create_task(watch())
    try:
        yield seen
    finally:
        is_over = True
        await task


@pytest.mark.timeout(300 * TIMES)
@pytest.mark.req("H-11")
async def test_over_rest_and_mcp_at_most_one_is_active(racing: Racing) -> None:
    async with (
        lines(racing.url, racing.token, WRITERS) as writers,
        open_store(racing.database) as store,
        watched(store) as seen,
    ):
        first = writers[0]
        names = []
        for _ in range(PROMPTS):
            given = {"name": unique("kindness"), "content": "Be kind."}
            names.append((await first.ask("POST", "/prompts", given)).json["reference_id"])
        for number in range(ROUNDS):
            await asyncio.gather(
                *(
                    activate(writer, names[(number + place) % PROMPTS], by_tool=place % 2 == 0)
                    for place, writer in enumerate(writers)
                )
            )
            active = (await first.ask("GET", "/prompts/active")).json
            assert active["reference_id"] in names
            assert await active_in(store) == 1
    assert set(seen) <= {0, 1}
    assert len(seen) > ROUNDS


async def activate(writer: Line, name: str, *, by_tool: bool) -> None:
    if by_tool:
        answer = await writer.tool("activate_prompt", id=name)
        result = answer.json["result"]
        assert "isError" not in result, result
        made = result["structuredContent"]
    else:
        answer = await writer.ask("PATCH", f"/prompts/{name}/activate")
        made = answer.json
    assert answer.status == 200, answer
    assert (made["reference_id"], made["active"]) == (name, True)


@pytest.mark.timeout(300 * TIMES)
@pytest.mark.req("H-11")
async def test_through_two_runners_at_most_one_is_active(world: World, url: str) -> None:
    async with open_store(url, durable=False) as store, watched(store) as seen:
        runners = [world, World(store)]
        names = [
            (
                await world.call("create_prompt", world.admin, name=unique("p"), content="Be kind.")
            ).id
            for _ in range(PROMPTS)
        ]
        for number in range(ROUNDS):
            made: list[Any] = await asyncio.gather(
                *(
                    runners[place % 2].call(
                        "activate_prompt", world.admin, id=names[(number + place) % PROMPTS]
                    )
                    for place in range(WRITERS)
                )
            )
            assert all(each.active for each in made)
            assert await active_in(store) == 1
    assert set(seen) <= {0, 1}


@pytest.mark.req("H-11")
async def test_the_database_itself_refuses_a_second_active_prompt(world: World) -> None:
    for name in ("a", "b"):
        await world.call("create_prompt", world.admin, name=name, content="Be kind.")
    await world.call("activate_prompt", world.admin, id="a")

    async def activate_b(transaction: Transaction) -> None:
        await transaction.execute("UPDATE items SET active = 1 WHERE name = 'b'")

    with pytest.raises(ConstraintError):
        await world.store.transact(activate_b)
    assert (await world.call("get_active_prompt")).name == "a"
