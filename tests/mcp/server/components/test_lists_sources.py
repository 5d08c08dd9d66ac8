"""Resources and prompts that a source lists, guards, and instructions for who asks."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from accord import RpcError
from accord.mcp import Client, Context, Server
from accord.mcp.client.client import Mode
from accord.mcp.protocol.definitions import Prompt, Resource
from accord.mcp.protocol.messages import GetPromptResult, failure
from accord.mcp.server.components.lists import SourcePage
from accord.mcp.server.components.prompts import ServedPrompt, user_message
from accord.mcp.server.session import Incoming


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


class Numbers:
    """Resources by their numbers, two to a page."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.version = 0
        self.asked: list[str] = []

    async def page(self, after: str) -> SourcePage[Resource]:
        self.asked.append(after)
        start = int(after or 0)
        end = min(start + 2, self.count)
        found = [Resource(uri=f"number://{each}", name=str(each)) for each in range(start, end)]
        return SourcePage(found, str(end) if end < self.count else "")


class Told(ServedPrompt):
    def get(self, arguments: Mapping[str, str], context: Context) -> GetPromptResult:
        return GetPromptResult(messages=[user_message(f"about {self.definition.name}")])


class Prompts:
    def __init__(self, *names: str) -> None:
        self.names = names
        self.version = 0

    async def page(self, after: str) -> SourcePage[Prompt]:
        return SourcePage([Prompt(name=name) for name in self.names])

    async def find(self, name: str) -> ServedPrompt | None:
        return Told(Prompt(name=name)) if name in self.names else None


def numbered(count: int) -> tuple[Server, Numbers]:
    server = Server("numbers")
    server.add_resource("number://about", "numbers")
    source = Numbers(count)
    server.resource_source = source
    return server, source


async def uris(client: Client) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += [each.uri for each in page.resources]
        if not isinstance(page.next_cursor, str):
            return found
        cursor = page.next_cursor


async def test_a_source_goes_on_with_the_list_of_a_registry(mode: Mode) -> None:
    server, source = numbered(5)
    async with Client(server, mode=mode, cache=False) as client:
        expected = ["number://about", *(f"number://{each}" for each in range(5))]
        assert await uris(client) == expected
        assert source.asked == ["", "2", "4"]


async def test_pages_are_kept_until_the_source_has_changed(mode: Mode) -> None:
    server, source = numbered(1)
    async with Client(server, mode=mode, cache=False) as client:
        await uris(client)
        await uris(client)
        assert source.asked == [""]
        source.count = 2
        source.version += 1
        assert await uris(client) == ["number://about", "number://0", "number://1"]
        assert source.asked == ["", ""]


@pytest.mark.parametrize("cursor", ["nonsense", "9" * 2_000])
async def test_a_place_that_no_page_gave_is_refused(mode: Mode, cursor: str) -> None:
    server, _ = numbered(1)
    async with Client(server, mode=mode) as client:
        with pytest.raises(RpcError) as caught:
            await client.list_resources(cursor=cursor)
        assert caught.value.code == -32602


async def test_prompts_of_a_source_are_listed_and_found(mode: Mode) -> None:
    server = Server("tales")
    server.prompt_source = Prompts("frog", "toad")
    async with Client(server, mode=mode) as client:
        listed = await client.list_prompts(cursor=None)
        assert [each.name for each in listed.prompts] == ["frog", "toad"]
        told = await client.get_prompt("toad")
        assert [message.content for message in told.messages] == [
            user_message("about toad").content
        ]
        with pytest.raises(RpcError) as caught:
            await client.get_prompt("newt")
        assert caught.value.code == -32602


async def test_a_guard_looks_at_every_request(mode: Mode) -> None:
    server, _ = numbered(1)
    seen: list[str] = []

    def guard(incoming: Incoming) -> None:
        seen.append(incoming.method)
        if incoming.method == "resources/list":
            raise failure("insufficient_permissions", "no", era=incoming.era)

    server.guards.append(guard)
    async with Client(server, mode=mode) as client:
        with pytest.raises(RpcError) as caught:
            await client.list_resources(cursor=None)
        assert caught.value.code == (-32600 if mode == "modern" else -32055)
        await client.list_resource_templates(cursor=None)
    assert seen[-2:] == ["resources/list", "resources/templates/list"]


async def test_instructions_may_depend_on_who_asks(mode: Mode) -> None:
    async def instructions(context: Context) -> str:
        return f"Hello {context.client.name if context.client else 'you'}."

    async with Client(Server("polite", instructions=instructions), mode=mode) as client:
        assert client.instructions == "Hello accord."
