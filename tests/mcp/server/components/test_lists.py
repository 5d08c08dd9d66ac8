"""Lists: pages that stay where they are, bytes that are made once, changes that are told."""

from __future__ import annotations

from typing import Any

import pytest

from accord import RegistrationError, RpcError
from accord.mcp import Client, Principal, Server
from accord.mcp.client.client import Mode
from accord.mcp.protocol.definitions import Prompt
from accord.mcp.server.components.prompts import ServedPrompt
from accord.mcp.server.components.registry import ComponentRegistry
from tests.mcp.server.direct import Caller

pytestmark = pytest.mark.req("M-05")


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


def numbered(count: int, **options: Any) -> Server:
    server = Server("s", **options)
    for index in range(count):
        server.add_tool(lambda: None, f"t{index}", inline=True)
    return server


async def test_all_pages_together_are_the_list(mode: Mode) -> None:
    async with Client(numbered(7, page_size=3), mode=mode) as client:
        pages = []
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            pages.append([tool.name for tool in page.tools])
            if not isinstance(page.next_cursor, str):
                break
            cursor = page.next_cursor
    assert pages == [["t0", "t1", "t2"], ["t3", "t4", "t5"], ["t6"]]


async def test_pages_do_not_move_when_the_list_changes(mode: Mode) -> None:
    server = numbered(5, page_size=2)
    async with Client(server, mode=mode, cache=False) as client:
        first = await client.list_tools(cursor=None)
        assert isinstance(first.next_cursor, str)
        server.tools.remove("t0")
        server.tools.remove("t2")
        server.add_tool(lambda: None, "new")
        second = await client.list_tools(cursor=first.next_cursor)
    assert [tool.name for tool in second.tools] == ["t3", "t4"]


async def test_a_page_whose_components_are_gone_is_empty() -> None:
    server = numbered(3, page_size=2)
    async with Client(server, cache=False) as client:
        first = await client.list_tools(cursor=None)
        assert isinstance(first.next_cursor, str)
        server.tools.remove("t2")
        second = await client.list_tools(cursor=first.next_cursor)
    assert second.tools == []


@pytest.mark.parametrize("cursor", ["", "nope", "YWZ0ZXI6OTk", "YWZ0ZXI6MA"])
async def test_a_cursor_that_nobody_gave_is_refused(cursor: str, mode: Mode) -> None:
    async with Client(numbered(3), mode=mode) as client:
        with pytest.raises(RpcError) as caught:
            await client.list_tools(cursor=cursor)
    assert caught.value.code == -32602
    assert caught.value.data == {"reason": "invalid_cursor"}


async def test_a_change_is_seen_at_once_by_everybody(mode: Mode) -> None:
    server = numbered(1)
    async with Client(server, mode=mode) as client, client.listen(tools=True) as changes:
        assert [tool.name for tool in await client.list_tools()] == ["t0"]
        server.add_tool(lambda: None, "new")
        assert (await changes.next(5)).kind == "tools"
        assert [tool.name for tool in await client.list_tools()] == ["t0", "new"]
        server.tools.remove("t0")
        assert (await changes.next(5)).kind == "tools"
        assert [tool.name for tool in await client.list_tools()] == ["new"]


async def test_a_list_is_made_once_however_often_it_is_asked_for() -> None:
    server = Server("s")
    seen = []

    def enabled(context: Any) -> bool:
        seen.append(context.principal)
        return context.principal is not None

    server.add_tool(lambda: None, "some", enabled=enabled)
    for index in range(3):
        server.add_tool(lambda: None, f"t{index}")
    router = server.router
    method = router.methods["tools/list"]
    made = []
    for principal in (None, Principal(subject="a"), None, Principal(subject="b")):
        caller = Caller(principal)
        answer = await caller.ask(server, "tools/list")
        made.append(len(answer["result"]["tools"]))
    assert made == [3, 4, 3, 4]
    assert method is router.methods["tools/list"]
    assert seen == [None, Principal(subject="a"), None, Principal(subject="b")]


def thing() -> ServedPrompt:
    return ServedPrompt(Prompt(name="thing"))


def test_a_registry_may_replace_and_remove() -> None:
    registry: ComponentRegistry[ServedPrompt] = ComponentRegistry("thing")
    changes: list[int] = []
    registry.observers.append(lambda: changes.append(registry.version))
    first, second = thing(), thing()
    registry.add("a", first)
    registry.replace("a", second)
    registry.replace("b", first)
    assert [registry.get("a"), registry.get("b")] == [second, first]
    assert registry.numbered() == [(1, second), (2, first)]
    registry.remove("a")
    assert "a" not in registry
    assert changes == [1, 2, 3, 4]
    with pytest.raises(RegistrationError, match="there is no thing 'a'"):
        registry.remove("a")
