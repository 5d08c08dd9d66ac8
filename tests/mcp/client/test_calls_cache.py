"""What a client keeps of what it was told, and for how long."""

from __future__ import annotations

from typing import Any

import pytest

from accord.jsonrpc.protocol.errors import InvalidResultError
from accord.mcp import Client
from accord.mcp.client.calls import MAX_KEPT, MAX_PAGES, MAX_SECONDS, Cache
from accord.mcp.protocol.messages import CacheableResult
from tests.mcp.client.demo import demo
from tests.mcp.client.scripted import complete, modern


def kept(ttl: int | None, scope: Any = "public") -> CacheableResult:
    if ttl is None:
        return CacheableResult()
    return CacheableResult(ttl_ms=ttl, cache_scope=scope)


def test_a_result_is_fresh_for_as_long_as_it_says() -> None:
    cache = Cache()
    result = kept(1000)
    cache.put("tools/list", "", result, now=10)
    assert cache.get("tools/list", "", now=10.9) is result
    assert cache.get("tools/list", "page", now=10.9) is None
    assert cache.get("tools/list", "", now=11) is None
    assert len(cache) == 0


@pytest.mark.parametrize("ttl", [None, 0, -5])
def test_what_has_no_time_is_not_kept(ttl: int | None) -> None:
    cache = Cache()
    cache.put("tools/list", "", kept(ttl), now=0)
    assert len(cache) == 0


def test_nothing_is_kept_for_ever_nor_without_limit() -> None:
    cache = Cache()
    cache.put("a", "", kept(10**15), now=0)
    assert cache.get("a", "", now=MAX_SECONDS) is None
    for number in range(MAX_KEPT + 10):
        cache.put("a", str(number), kept(1000), now=0)
    assert len(cache) == MAX_KEPT
    assert cache.get("a", "9", now=0) is None


def test_what_is_private_goes_with_the_credentials() -> None:
    cache = Cache()
    public = kept(1000)
    cache.put("a", "", public, now=0)
    cache.put("b", "", kept(1000, "private"), now=0)
    cache.forget_private()
    assert (cache.get("a", "", now=0), cache.get("b", "", now=0)) == (public, None)


async def test_lists_and_resources_are_asked_for_once_while_fresh() -> None:
    hints = {"ttlMs": 60_000, "cacheScope": "public"}
    server = modern(
        {
            "tools/list": lambda params: complete(tools=[], **hints),
            "resources/read": lambda params: complete(
                contents=[{"uri": params["uri"], "text": "x"}], **hints
            ),
        }
    )
    async with Client(server) as client:
        for _ in range(3):
            await client.list_tools()
            await client.read_resource("a:b")
            await client.read_resource("a:c")
    assert server.methods() == [
        *("server/discover", "tools/list", "resources/read", "resources/read")
    ]
    async with Client(server, cache=False) as client:
        for _ in range(3):
            await client.list_tools()
    assert server.methods().count("tools/list") == 4


async def test_a_change_that_is_heard_of_makes_what_is_kept_stale() -> None:
    server = demo()
    server.ttl_ms = 60_000
    async with (
        Client(server, mode="modern") as client,
        client.listen(tools=True, resources=["demo://motd"]) as changes,
    ):
        before = len(await client.list_tools())
        server.add_tool(lambda: None, name="new")
        await changes.next(5)
        after = len(await client.list_tools())
        assert (before, after) == (5, 6)


@pytest.mark.parametrize("cursors", [["a", "a"], ["a", "b", "a"]])
async def test_pages_that_lead_back_are_refused(cursors: list[str]) -> None:
    left = iter(cursors)
    server = modern({"tools/list": lambda params: complete(tools=[], nextCursor=next(left))})
    async with Client(server) as client:
        with pytest.raises(InvalidResultError, match="lead back"):
            await client.list_tools()


async def test_a_list_without_end_is_refused() -> None:
    count = 0

    def page(params: dict[str, Any]) -> Any:
        nonlocal count
        count += 1
        return complete(tools=[], nextCursor=str(count))

    async with Client(modern({"tools/list": page})) as client:
        with pytest.raises(InvalidResultError, match="pages"):
            await client.list_tools()
    assert count == MAX_PAGES
