"""One server inside another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from accord import RegistrationError, RpcError
from accord.mcp import (
    Accepted,
    Client,
    Context,
    EmbeddedResource,
    Request,
    ResourceContents,
    ResourceLink,
    Server,
    TextContent,
    user_message,
)
from accord.mcp.client.client import Mode
from accord.mcp.server.components.registry import Namespace

pytestmark = pytest.mark.req("M-16")


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


def weather() -> Server:
    server = Server("weather")

    @server.tool
    async def forecast(city: str) -> dict[str, str]:
        return {city: "rain"}

    @server.tool
    async def links() -> list[ResourceLink | EmbeddedResource | TextContent]:
        return [
            ResourceLink(uri="data://cities/oslo", name="oslo"),
            ResourceLink(uri="https://example.org", name="elsewhere"),
            EmbeddedResource(resource=ResourceContents.of("data://cities/rome", "Rome")),
            TextContent(text="data://cities/oslo"),
        ]

    @server.resource("data://cities/{name}")
    def city(name: Literal["oslo", "rome"]) -> str:
        return name

    server.add_resource("info:about", "about")

    @server.prompt
    def ask(city: str) -> list[Any]:
        return [user_message(ResourceLink(uri=f"data://cities/{city}", name=city))]

    server.completion("ask", "city")(lambda value: [f"{value}slo"])
    return server


async def test_names_are_put_under_a_prefix(mode: Mode) -> None:
    main = Server("main")
    main.tool("own")(lambda: "own")
    main.mount(weather(), prefix="w")
    async with Client(main, mode=mode) as client:
        assert [it.name for it in await client.list_tools()] == ["own", "w_forecast", "w_links"]
        assert [it.uri for it in await client.list_resources()] == ["info:w/about"]
        (template,) = await client.list_resource_templates()
        assert (template.uri_template, template.name) == ("data://w/cities/{name}", "w_city")
        assert [it.name for it in await client.list_prompts()] == ["w_ask"]
        assert (await client.call_tool("w_forecast", {"city": "oslo"})).structured == {
            "oslo": "rain"
        }
        with pytest.raises(RpcError, match="Unknown tool"):
            await client.call_tool("forecast", {"city": "oslo"})


async def test_uris_are_those_that_clients_can_read(mode: Mode) -> None:
    main = Server("main")
    main.mount(weather(), prefix="w")
    async with Client(main, mode=mode) as client:
        assert (await client.read_resource("data://w/cities/oslo")).contents == [
            ResourceContents.of("data://w/cities/oslo", "oslo", "text/plain")
        ]
        assert (await client.call_tool("w_links")).content == [
            ResourceLink(uri="data://w/cities/oslo", name="oslo"),
            ResourceLink(uri="https://example.org", name="elsewhere"),
            EmbeddedResource(resource=ResourceContents.of("data://w/cities/rome", "Rome")),
            TextContent(text="data://cities/oslo"),
        ]
        prompt = await client.get_prompt("w_ask", {"city": "oslo"})
        assert [it.content for it in prompt.messages] == [
            ResourceLink(uri="data://w/cities/oslo", name="oslo")
        ]
        with pytest.raises(RpcError, match="not found"):
            await client.read_resource("data://cities/oslo")


async def test_what_is_mounted_is_completed_as_at_home(mode: Mode) -> None:
    main = Server("main")
    main.mount(weather(), prefix="w")
    async with Client(main, mode=mode) as client:
        by_function = await client.complete(prompt="w_ask", argument="city", value="o")
        by_annotation = await client.complete(
            resource="data://w/cities/{name}", argument="name", value="r"
        )
    assert (by_function.values, by_annotation.values) == (["oslo"], ["rome"])


async def test_what_comes_and_goes_later_does_so_everywhere(mode: Mode) -> None:
    inner, middle, main = weather(), Server("middle"), Server("main")
    middle.mount(inner, prefix="w")
    main.mount(middle, prefix="m")
    async with Client(main, mode=mode) as client, client.listen(tools=True) as changes:
        inner.tool("new")(lambda: "new")
        assert (await changes.next(5)).kind == "tools"
        assert (await client.call_tool("m_w_new")).text == "new"
        inner.tools.remove("forecast")
        assert (await changes.next(5)).kind == "tools"
        assert [it.name for it in await client.list_tools()] == ["m_w_links", "m_w_new"]


@pytest.mark.req("M-14")
async def test_new_contents_are_told_under_the_outer_uri(mode: Mode) -> None:
    inner, main = weather(), Server("main")
    main.mount(inner, prefix="w")
    uri = "data://w/cities/oslo"
    async with Client(main, mode=mode) as client, client.listen(resources=[uri]) as changes:
        inner.resource_updated("data://cities/oslo")
        assert (await changes.next(5)).uri == uri


async def test_a_mounted_server_keeps_its_lifespan_and_its_middleware(mode: Mode) -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        seen.append("begin")
        yield "inner"
        seen.append("end")

    @asynccontextmanager
    async def outer_lifespan(server: Server) -> AsyncIterator[str]:
        yield "outer"

    inner = Server("inner", lifespan=lifespan)

    @inner.tool
    async def look(context: Context) -> str:
        return str(context.lifespan)

    @inner.middleware
    async def watch(request: Request, proceed: Any) -> Any:
        seen.append(f"{request.method} {request.params.name} {request.context.lifespan}")
        return await proceed()

    main = Server("main", lifespan=outer_lifespan)
    main.mount(inner, prefix="i")

    @main.middleware
    async def around(request: Request, proceed: Any) -> Any:
        result = await proceed()
        if request.method == "tools/call":
            seen.append(f"{request.params.name} {request.context.lifespan}")
        return result

    async with Client(main, mode=mode) as client:
        assert (await client.call_tool("i_look")).text == "inner"
    assert seen == ["begin", "tools/call look inner", "i_look outer", "end"]


async def test_a_mounted_tool_can_ask(mode: Mode) -> None:
    inner, main = Server("inner"), Server("main")

    @inner.tool
    async def confirm(context: Context) -> bool:
        answer = await context.elicit("Really?", bool)
        return isinstance(answer, Accepted) and answer.content

    main.mount(inner, "i")
    async with Client(main, mode=mode, elicitation=lambda asked: {"value": True}) as client:
        assert (await client.call_tool("i_confirm")).text == "true"


async def test_without_a_prefix_nothing_is_renamed(mode: Mode) -> None:
    main = Server("main")
    main.mount(weather())
    async with Client(main, mode=mode) as client:
        assert [it.name for it in await client.list_tools()] == ["forecast", "links"]
        assert (await client.read_resource("info:about")).contents[0].text == "about"


def test_a_name_that_is_taken_is_refused_and_nothing_changes() -> None:
    main, other = Server("main"), Server("other")
    main.tool("w_links")(lambda: None)
    inner = weather()
    with pytest.raises(RegistrationError, match="'w_links' already"):
        main.mount(inner, prefix="w")
    assert main.tools.names() == ["w_links"]
    assert main.prompts.names() == []
    other.mount(inner, prefix="w")
    other.tool("w_new")(lambda: None)
    with pytest.raises(RegistrationError, match="'w_new' already"):
        inner.tool("new")(lambda: None)
    assert "new" not in inner.tools


def test_a_server_cannot_be_inside_itself() -> None:
    one, two = Server("one"), Server("two")
    one.mount(two, "a")
    for outer, inner in ((one, one), (two, one)):
        with pytest.raises(RegistrationError, match="cannot be mounted in itself"):
            outer.mount(inner, "b")


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("data://a/b", "data://p/a/b"),
        ("file:///a", "file://p//a"),
        ("urn:x:y", "urn:p/x:y"),
        ("a:{b}", "a:p/{b}"),
    ],
)
def test_a_uri_is_renamed_and_back(inner: str, outer: str) -> None:
    names = Namespace("p")
    assert names.uri(inner) == outer
    assert names.inner_uri(outer) == inner
    assert names.inner_uri("data://other/a") == "data://other/a"


def test_names_that_cannot_be_put_under_a_prefix_are_refused() -> None:
    with pytest.raises(RegistrationError, match="the prefix 'a b'"):
        Namespace("a b")
    with pytest.raises(RegistrationError, match="has no scheme"):
        Namespace("a").uri("{x}")
