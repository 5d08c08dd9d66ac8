"""Health checks of agents, on both engines."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.store import Store, open_store
from accord.store.store import Row
from accord.workflows.bridge.agents import AgentCache, HealthChecks, check_agent
from accord.workflows.bridge.client_pool import Secrets
from accord.workflows.storage.agents import AgentRow
from tests.a2a.scripted import http
from tests.a2a.server.demo import make_agent
from tests.workflows.bridge.unruly import unruly
from tests.workflows.bridge.yard import LOCAL, Tasks, until

NONE = Secrets(Path("/nowhere"), {})


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        yield opened


async def registered(store: Store, url: str, wire: str) -> AgentRow:
    await Tasks(store).register("a", url, wire=wire, timeout=2.0)
    found = await AgentCache(store).get("a")
    assert found is not None
    return found


@pytest.mark.req("W-12")
@pytest.mark.parametrize("wire", ["auto", "a2a-0.3", "a2a-1.0"])
async def test_an_agent_with_a_card_is_healthy(store: Store, wire: str) -> None:
    async with make_agent().serve("http://127.0.0.1:0/") as serving:
        checked = await check_agent(await registered(store, serving.url, wire), LOCAL, NONE)
    assert (checked.health, checked.detail) == ("healthy", "")
    assert json.loads(checked.card or "")["name"] == "demo"


@pytest.mark.parametrize(
    ("wire", "status", "health"),
    [
        ("plain", 200, "healthy"),
        ("plain", 405, "healthy"),
        ("plain", 500, "unhealthy"),
        ("plain", 401, "unhealthy"),
        ("a2a-0.3", 404, "healthy"),
        ("a2a-0.3", 200, "unhealthy"),
        ("auto", 404, "unhealthy"),
        ("auto", 503, "unhealthy"),
    ],
)
async def test_an_agent_without_a_card_is_judged_by_its_answer(
    store: Store, wire: str, status: int, health: str
) -> None:
    async with unruly(lambda asked, n: http({}, status=status)) as agent:
        checked = await check_agent(await registered(store, agent.url, wire), LOCAL, NONE)
    assert checked.health == health


async def test_an_agent_that_is_away_is_unhealthy(store: Store) -> None:
    checked = await check_agent(await registered(store, "http://127.0.0.1:1/", "auto"), LOCAL, NONE)
    assert (checked.health, checked.card) == ("unhealthy", None)
    assert checked.detail.endswith("(unreachable)")


async def test_all_agents_are_checked_by_one_process_now_and_then(store: Store) -> None:
    tasks = Tasks(store)
    async with (
        make_agent().serve("http://127.0.0.1:0/") as serving,
        unruly(lambda asked, n: http({}, status=200)) as plain,
    ):
        await tasks.register("demo", serving.url, wire="auto")
        await tasks.register("plain", plain.url, wire="plain")
        await tasks.register("away", "http://127.0.0.1:1/", wire="plain", timeout=1.0)
        await tasks.register("off", "http://127.0.0.1:1/", active=0)
        checks = [HealthChecks(store, LOCAL, NONE, every=0.1) for _ in range(2)]
        for each in checks:
            await each.start()
        rows = await until(lambda: _checked(store))
        for each in checks:
            await each.close()
    found = {row["name"]: (row["health"], row["card"] is not None) for row in rows}
    assert found == {
        "demo": ("healthy", True),
        "plain": ("healthy", False),
        "away": ("unhealthy", False),
        "off": ("unknown", False),
    }
    assert await store.fetch("SELECT * FROM leases") == []


async def _checked(store: Store) -> list[Row] | None:
    rows = await store.fetch("SELECT name, health, card, checked_at FROM agents")
    return rows if sum(row["checked_at"] is not None for row in rows) == 3 else None
