"""Hearing of changes, in both eras, over one connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import ConnectionClosedError, RpcError
from accord.mcp import Client
from accord.mcp.client.client import Mode
from accord.mcp.client.subscriptions import MAX_WAITING, Change, Changes, SubscriptionRequest
from tests.mcp.client.demo import demo
from tests.mcp.client.scripted import legacy, modern, never, refuse
from tests.patience import PATIENCE

MODES: tuple[Mode, ...] = ("modern", "legacy")
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.mark.req("M-14")
@pytest.mark.parametrize("mode", MODES)
async def test_only_what_was_asked_for_is_told(mode: Mode) -> None:
    server = demo()
    async with Client(server, mode=mode) as client:
        async with (
            client.listen(tools=True) as tools,
            client.listen(resources=["demo://motd"]) as motd,
            client.listen(resources=["*", "weather://oslo"], prompts=True) as others,
        ):
            server.resource_updated("demo://motd")
            server.add_tool(lambda: None, name="new")
            server.resource("demo://new")(lambda: "x")
            server.prompt("new")(lambda: "x")
            assert await tools.next(5) == Change("tools")
            assert await motd.next(5) == Change("resource", "demo://motd")
            assert {await others.next(5), await others.next(5)} == {
                Change("resources"),
                Change("prompts"),
            }
            for changes in (tools, motd, others):
                with pytest.raises(TimeoutError):
                    await changes.next(0.01)
        assert len(server.listeners) == (0 if mode == "modern" else 1)


@pytest.mark.parametrize("mode", MODES)
async def test_a_change_is_told_once_however_often_it_happened(mode: Mode) -> None:
    server = demo()
    async with Client(server, mode=mode) as client, client.listen(tools=True) as changes:
        for number in range(5):
            server.add_tool(lambda: None, name=f"tool{number}")
        await client.ping()
        assert await changes.next(5) == Change("tools")
        with pytest.raises(TimeoutError):
            await changes.next(0.01)


async def test_listening_ends_when_the_server_ends_it() -> None:
    server = demo()
    async with Client(server, mode="modern") as client, client.listen(tools=True) as changes:
        server.closing.set()
        async with asyncio.timeout(PATIENCE):
            assert [change async for change in changes] == []
        with pytest.raises(ConnectionClosedError):
            await changes.next(5)


async def test_a_server_that_refuses_to_tell() -> None:
    server = modern({"subscriptions/listen": refuse(-32601)})
    async with Client(server) as client:
        with pytest.raises(RpcError):
            async with client.listen(tools=True):
                pass


async def test_a_server_that_does_not_acknowledge() -> None:
    server = modern({"subscriptions/listen": never, "notifications/cancelled": lambda params: None})
    async with Client(server, timeout=0.05) as client:
        with pytest.raises(TimeoutError):
            async with client.listen(tools=True):
                pass
        await asyncio.sleep(0)
        with pytest.raises(RpcError):
            await client.call_tool("x")
    assert server.methods()[-2:] == ["subscriptions/listen", "notifications/cancelled"]


async def test_what_belongs_to_another_subscription_is_not_heard() -> None:
    async def listen(params: dict[str, Any]) -> None:
        changed = "notifications/tools/list_changed"
        await server.peer.notify(changed, {"_meta": {SUBSCRIPTION: 99}})
        await server.peer.notify(ACKNOWLEDGED, {"_meta": {SUBSCRIPTION: 2}, "notifications": {}})
        await server.peer.notify(changed, {"_meta": {SUBSCRIPTION: 99}})
        await server.peer.notify(changed)
        await server.peer.notify(changed, {"_meta": {SUBSCRIPTION: 2}})
        await never(params)

    server = modern(
        {"subscriptions/listen": listen, "notifications/cancelled": lambda params: None}
    )
    async with Client(server) as client, client.listen(tools=True) as changes:
        assert await changes.next(5) == Change("tools")
        with pytest.raises(TimeoutError):
            await changes.next(0.01)


async def test_subscriptions_are_made_and_taken_back_in_the_handshake_era() -> None:
    server = legacy(
        {"resources/subscribe": lambda params: {}, "resources/unsubscribe": lambda params: {}}
    )
    async with Client(server, mode="legacy") as client:
        async with client.listen(resources=["a:b"]):
            pass
        await client.subscribe("c:d")
        await client.unsubscribe("c:d")
    assert server.heard[2:] == [
        ("resources/subscribe", {"uri": "a:b"}),
        ("resources/unsubscribe", {"uri": "a:b"}),
        ("resources/subscribe", {"uri": "c:d"}),
        ("resources/unsubscribe", {"uri": "c:d"}),
    ]


async def test_subscriptions_that_the_server_does_not_declare_are_refused_here() -> None:
    async with Client(legacy({}, resources={}), mode="legacy") as client:
        with pytest.raises(RpcError) as error:
            await client.subscribe("a:b")
        assert error.value.code == -32004
        with pytest.raises(RpcError):
            async with client.listen(resources=["a:b"]):
                pass


def test_parts_of_a_subscribed_resource_count() -> None:
    wanted = SubscriptionRequest(uris=("file:///dir/",))
    assert wanted.includes(Change("resource", "file:///dir/a"))
    assert not wanted.includes(Change("resource", "file:///other"))


async def test_changes_that_nobody_reads_are_bounded() -> None:
    changes = Changes()
    for number in range(MAX_WAITING + 5):
        changes.put(Change("resource", str(number)))
    changes.end()
    read = [change async for change in changes]
    assert len(read) == MAX_WAITING
    assert read[0] == Change("resource", "5")


async def test_an_error_ends_the_changes() -> None:
    changes = Changes()
    changes.end(ConnectionClosedError("gone"))
    with pytest.raises(ConnectionClosedError, match="gone"):
        await anext(changes)
