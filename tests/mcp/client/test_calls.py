"""What a client can ask a server for, in both eras, in memory."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

import accord
from accord import RpcError
from accord.jsonrpc.protocol.catalogue import CATALOGUE
from accord.jsonrpc.protocol.errors import InvalidResultError
from accord.mcp import Client, Context, Server
from accord.mcp.client.client import Mode
from accord.mcp.client.tools import ToolFailedError
from accord.mcp.protocol.content import ResourceContents, TextContent
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.messages import Completion, LogParams, ProgressParams, PromptMessage
from tests.mcp.client.demo import demo
from tests.mcp.client.scripted import legacy, modern, refuse, watched_server
from tests.patience import PATIENCE

BOTH: tuple[Mode, ...] = ("modern", "legacy")
PROGRAM = [sys.executable, str(Path(__file__).with_name("demo.py"))]


@pytest.fixture(params=BOTH)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    async with Client(demo(), mode=request.param) as client:
        yield client


class Length(Struct):
    length: int


@pytest.mark.req("M-01", "M-15")
@pytest.mark.parametrize(
    ("mode", "version"),
    [("auto", "2026-07-28"), ("modern", "2026-07-28"), ("legacy", "2025-11-25")],
)
async def test_the_era_is_chosen(mode: Mode, version: str) -> None:
    async with Client(demo(), mode=mode) as client:
        assert client.protocol_version == version
        assert client.server == Implementation(name="demo", version="1")
        assert client.instructions == "Add with care."
        assert client.capabilities.tools is not None


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_version_can_be_fixed(version: str) -> None:
    async with Client(demo(), protocol_version=version) as client:
        assert client.protocol_version == version
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"


async def test_a_tool_is_called(client: Client) -> None:
    result = await client.call_tool("count", {"text": "abc"}, into=Length)
    assert result.structured == Length(3)
    assert result.content == [TextContent(text='{"length":3}')]
    assert not result.is_error


async def test_a_value_that_is_no_object_is_the_same_in_both_eras(client: Client) -> None:
    assert (await client.call_tool("add", {"a": 1, "b": 2}, into=int)).structured == 3


async def test_arguments_may_be_an_object_with_fields(client: Client) -> None:
    class Numbers(Struct):
        a: int
        b: int

    assert (await client.call_tool("add", Numbers(2, 3))).text == "5"


async def test_a_result_of_another_type_is_refused(client: Client) -> None:
    with pytest.raises(InvalidResultError, match="the tool count"):
        await client.call_tool("count", {"text": "abc"}, into=list[str])


async def test_a_tool_that_fails_gives_a_result_that_says_so(client: Client) -> None:
    result = await client.call_tool("fail", into=Length)
    assert result.is_error
    assert result.text == "the disk is full"
    with pytest.raises(ToolFailedError, match="the disk is full"):
        _ = result.structured


async def test_an_unknown_tool_is_an_error(client: Client) -> None:
    with pytest.raises(RpcError) as error:
        await client.call_tool("nope")
    assert error.value.code == -32602


@pytest.mark.req("M-05")
async def test_lists_come_whole_or_by_page(client: Client) -> None:
    names = ["add", "count", "fail", "work", "sleep"]
    assert [tool.name for tool in await client.list_tools()] == names
    page = await client.list_tools(cursor=None)
    assert [tool.name for tool in page.tools] == names[:2]
    assert isinstance(page.next_cursor, str)
    page = await client.list_tools(cursor=page.next_cursor)
    assert [tool.name for tool in page.tools] == names[2:4]


async def test_resources_are_listed_and_read(client: Client) -> None:
    assert [each.uri for each in await client.list_resources()] == ["demo://motd"]
    templates = await client.list_resource_templates()
    assert [each.uri_template for each in templates] == ["weather://{city}"]
    assert (await client.read_resource("weather://oslo")).contents == [
        ResourceContents(uri="weather://oslo", mime_type="text/plain", text="rain in oslo")
    ]


async def test_prompts_are_listed_got_and_completed(client: Client) -> None:
    assert [prompt.name for prompt in await client.list_prompts()] == ["greet"]
    assert (await client.get_prompt("greet", {"name": "you"})).messages == [
        PromptMessage("user", TextContent(text="hello you "))
    ]
    completion = await client.complete(prompt="greet", argument="name", value="an")
    assert completion == Completion(values=["anna", "anton"], total=2, has_more=False)


@pytest.mark.parametrize(("mode", "method"), [("modern", "server/discover"), ("legacy", "ping")])
async def test_the_server_is_pinged(mode: Mode, method: str) -> None:
    server = modern({}) if mode == "modern" else legacy({"ping": lambda params: {}})
    async with watched_server(server) as (url, _), Client(url, mode=mode) as client:
        await client.ping(timeout=PATIENCE)
        first = server.methods()
        await client.ping(timeout=PATIENCE)
        assert server.methods() == [*first, method]


@pytest.mark.parametrize("mode", BOTH)
async def test_progress_and_log_messages_are_told(mode: Mode) -> None:
    logged: list[LogParams] = []
    told: list[ProgressParams] = []
    async with Client(demo(), mode=mode, logging=logged.append) as client:
        result = await client.call_tool("work", {"steps": 2}, progress=told.append)
    assert result.text == "done"
    assert [(each.progress, each.total, each.message) for each in told] == [
        (1, 2, "step 1"),
        (2, 2, "step 2"),
    ]
    assert logged == [LogParams(level="info", data="worked")]


@pytest.mark.parametrize("mode", BOTH)
async def test_what_the_server_does_not_declare_is_refused_here(mode: Mode) -> None:
    async with Client(Server("empty"), mode=mode) as client:
        for attempt in (client.list_tools(), client.read_resource("a:b"), client.get_prompt("x")):
            with pytest.raises(RpcError) as error:
                await attempt
            assert error.value.code == -32004
            assert not error.value.remote


@pytest.mark.parametrize("mode", ["auto", *BOTH])
async def test_a_program_is_started_and_called(mode: Mode) -> None:
    async with Client(PROGRAM, mode=mode) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")


async def test_a_server_of_this_process_lives_while_it_is_called() -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[int]:
        steps.append("begun")
        yield 7
        steps.append("ended")

    server = Server("living", lifespan=lifespan)

    @server.tool
    async def value(context: Context) -> int:
        assert isinstance(context.lifespan, int)
        return context.lifespan

    async with Client(server) as client:
        assert (await client.call_tool("value", into=int)).structured == 7
        assert steps == ["begun"]
    assert steps == ["begun", "ended"]


async def test_a_server_is_reached_over_tcp_and_websocket() -> None:
    for scheme in ("tcp", "ws"):
        url = f"{scheme}://127.0.0.1:0"
        async with accord.serve(demo().router, url) as server, Client(server.url) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"


@pytest.mark.req("M-21")
@pytest.mark.parametrize(
    ("mode", "code", "name"),
    [
        ("legacy", -32002, "resource_not_found"),
        ("modern", -32020, "header_mismatch"),
        ("modern", -32602, "invalid_params"),
    ],
)
async def test_a_code_of_a_server_that_gives_no_reason_is_known_by_the_standard(
    mode: Mode, code: int, name: str
) -> None:
    methods = {"resources/read": refuse(code, data={"uri": "a:b"})}
    server = modern(methods) if mode == "modern" else legacy(methods)
    async with watched_server(server) as (url, _), Client(url, mode=mode) as client:
        with pytest.raises(RpcError) as caught:
            await client.read_resource("a:b")
    assert caught.value.entry is CATALOGUE.named(name)
    assert caught.value.data == {"uri": "a:b"}
