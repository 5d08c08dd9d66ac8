"""Addresses of private networks are refused before every kind of call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.a2a import AddressPolicy
from accord.workflows.bridge.agents import AgentCache, check_agent
from accord.workflows.bridge.client_pool import Secrets
from accord.workflows.core.definition import McpTarget, RpcTarget
from accord.workflows.core.events import CallMethod, CallTool
from tests.a2a.scripted import Asked
from tests.workflows.bridge.unruly import Unruly, done, unruly
from tests.workflows.bridge.yard import LOCAL, Yard, working

METADATA = "http://169.254.169.254/latest/meta-data"


@pytest.fixture
async def agent() -> AsyncIterator[Unruly]:
    async with unruly(lambda asked, n: done(asked)) as made:
        yield made


async def refusals(yard: Yard, url: str) -> list[str]:
    """The codes with which everything that could be called at `url` is refused."""
    ids = []
    for wire in ("a2a-0.3", "a2a-1.0", "auto", "plain"):
        await yard.register(wire, url, wire=wire)
        ids.append(await yard.ask(wire))
    method = CallMethod(task="m", step="m", target=RpcTarget(url=url, method="x"))
    tool = CallTool(task="t", step="t", target=McpTarget(server=url, tool="x"))
    ids += await yard.give(method, tool)
    return [(await yard.told(id)).error.code for id in ids]


async def test_private_addresses_are_refused_unless_they_are_allowed(
    migrated_url: str, agent: Unruly
) -> None:
    async with working(migrated_url, policy=AddressPolicy()) as yard:
        assert await refusals(yard, agent.url) == ["address_refused"] * 6
    assert agent.asked == []


async def test_link_local_addresses_are_always_refused(migrated_url: str) -> None:
    async with working(migrated_url, policy=LOCAL) as yard:
        assert await refusals(yard, METADATA) == ["address_refused"] * 6


async def test_what_the_policy_names_is_called(migrated_url: str, agent: Unruly) -> None:
    policy = AddressPolicy(networks=("127.0.0.0/8",))
    async with working(migrated_url, policy=policy) as yard:
        await yard.register("a", agent.url)
        assert (await yard.told(await yard.ask("a"))).output == "done"


async def test_a_redirect_to_elsewhere_is_not_followed(migrated_url: str, agent: Unruly) -> None:
    def answer(asked: Asked, n: int) -> bytes:
        return f"HTTP/1.1 302 x\r\nlocation: {agent.url}\r\ncontent-length: 0\r\n\r\n".encode()

    async with unruly(answer) as lures, working(migrated_url) as yard:
        codes = await refusals(yard, lures.url)
        assert codes[:5] == ["http_302"] * 5
        assert codes[5] != "tool_failed"
    assert agent.asked == []


async def test_health_is_not_asked_for_where_it_may_not_be(migrated_url: str) -> None:
    async with working(migrated_url) as yard:
        await yard.register("a", METADATA, wire="plain")
        found = await AgentCache(yard.store).get("a")
        assert found is not None
        checked = await check_agent(found, LOCAL, Secrets(Path("/nowhere"), {}))
    assert checked.health == "unhealthy"
    assert "link-local" in checked.detail
