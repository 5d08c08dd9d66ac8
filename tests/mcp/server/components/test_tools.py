"""Tools: what clients are told of them, what they take and what they give, in both eras."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from accord import RegistrationError, RpcError
from accord.mcp import (
    Audio,
    AudioContent,
    CallToolResult,
    Client,
    Context,
    EmbeddedResource,
    File,
    Icon,
    Image,
    ImageContent,
    McpLimits,
    Principal,
    ResourceContents,
    ResourceLink,
    Server,
    TextContent,
    ToolAnnotations,
    ToolError,
)
from accord.mcp.client.client import Mode
from accord.mcp.client.tools import ToolResult
from tests.mcp.server.direct import Caller

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 8


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


async def called(server: Server, mode: Mode, name: str, **arguments: Any) -> ToolResult[Any]:
    async with Client(server, mode=mode) as client:
        return await client.call_tool(name, arguments)


@pytest.mark.req("M-05")
async def test_a_definition_has_all_that_was_said(mode: Mode) -> None:
    server = Server("s")

    @server.tool(
        "weigh",
        title="Weigh",
        annotations=ToolAnnotations(read_only_hint=True),
        icons=(Icon("https://example.org/i.png"),),
        meta={"example.org/a": 1},
    )
    async def weigh_it(what: str) -> float:
        """How heavy it is."""
        return 1.0

    async with Client(server, mode=mode) as client:
        (tool,) = await client.list_tools()
    assert (tool.name, tool.title, tool.description) == ("weigh", "Weigh", "How heavy it is.")
    assert tool.annotations == ToolAnnotations(read_only_hint=True)
    assert tool.icons == (Icon("https://example.org/i.png"),)
    assert tool.meta == {"example.org/a": 1}


class Color(Enum):
    RED = "red"
    BLUE = "blue"


def take(
    a: Annotated[int, msgspec.Meta(description="the first", gt=0)],
    b: Annotated[str, pydantic.Field(description="the second", max_length=5)],
    c: Annotated[str, "the third"] = "x",
    d: Literal["on", "off"] = "on",
    e: Color = Color.RED,
) -> None:
    """Takes."""


async def test_parameters_are_described_by_their_annotations() -> None:
    server = Server("s")
    server.add_tool(take)
    schema = server.tools.get("take").definition.input_schema  # type: ignore[union-attr]
    assert schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "exclusiveMinimum": 0, "description": "the first"},
            "b": {"type": "string", "maxLength": 5, "description": "the second"},
            "c": {"type": "string", "description": "the third", "default": "x"},
            "d": {"enum": ["off", "on"], "default": "on"},
            "e": {"$ref": "#/$defs/Color", "default": "red"},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
        "$defs": schema["$defs"],
    }


class InMsgspec(msgspec.Struct):
    x: int


@dataclass
class InDataclass:
    x: int


class InTypedDict(TypedDict):
    x: int


class InPydantic(pydantic.BaseModel):
    x: int


def as_msgspec() -> InMsgspec:
    return InMsgspec(1)


def as_dataclass() -> InDataclass:
    return InDataclass(1)


def as_typed_dict() -> InTypedDict:
    return {"x": 1}


def as_pydantic() -> InPydantic:
    return InPydantic(x=1)


@pytest.mark.req("M-05")
@pytest.mark.parametrize("function", [as_msgspec, as_dataclass, as_typed_dict, as_pydantic])
async def test_objects_of_every_kind_are_structured_content(function: Any, mode: Mode) -> None:
    server = Server("s")
    server.tool("get")(function)
    async with Client(server, mode=mode) as client:
        (tool,) = await client.list_tools()
        result = await client.call_tool("get")
    assert tool.output_schema is not None
    assert result.structured == {"x": 1}
    assert result.content == [TextContent(text='{"x":1}')]


def as_list() -> list[InMsgspec]:
    return [InMsgspec(1)]


async def test_a_list_is_wrapped_only_where_structured_content_must_be_an_object(
    mode: Mode,
) -> None:
    server = Server("s")
    server.add_tool(as_list)
    async with Client(server, mode=mode) as client:
        (tool,) = await client.list_tools()
        result = await client.call_tool("as_list")
    assert tool.output_schema is not None
    if mode == "legacy":
        assert tool.output_schema["type"] == "object"
        assert result.structured == {"result": [{"x": 1}]}
    else:
        assert tool.output_schema["type"] == "array"
        assert result.structured == [{"x": 1}]


async def test_structured_content_can_be_declined(mode: Mode) -> None:
    server = Server("s")
    server.tool(structured=False)(as_msgspec)
    async with Client(server, mode=mode) as client:
        (tool,) = await client.list_tools()
        result = await client.call_tool("as_msgspec")
    assert tool.output_schema is None
    assert not result.has_structured
    assert result.text == '{"x":1}'


@pytest.mark.req("M-08")
@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", [TextContent(text="text")]),
        (None, []),
        (Image(b"i", "image/png"), [ImageContent(data="aQ==", mime_type="image/png")]),
        (Image(PNG), [ImageContent.of(PNG, "image/png")]),
        (Audio(b"a", "audio/wav"), [AudioContent(data="YQ==", mime_type="audio/wav")]),
        (
            File(b"%PDF-1", uri="file:///a.pdf"),
            [
                EmbeddedResource(
                    resource=ResourceContents.of("file:///a.pdf", b"%PDF-1", "application/pdf")
                )
            ],
        ),
        (PNG, [ImageContent.of(PNG, "image/png")]),
        (b"OggS", [AudioContent.of(b"OggS", "audio/ogg")]),
        (
            b"any",
            [
                EmbeddedResource(
                    resource=ResourceContents.of(
                        "urn:accord:bytes", b"any", "application/octet-stream"
                    )
                )
            ],
        ),
        (
            ["a", ResourceLink(uri="x:y", name="y"), Image(PNG)],
            [
                TextContent(text="a"),
                ResourceLink(uri="x:y", name="y"),
                ImageContent.of(PNG, "image/png"),
            ],
        ),
        (CallToolResult(content=[TextContent(text="mine")]), [TextContent(text="mine")]),
    ],
)
async def test_content_of_every_kind(value: Any, content: Any, mode: Mode) -> None:
    server = Server("s")
    server.tool("get")(lambda: value)
    assert (await called(server, mode, "get")).content == content


async def test_a_picture_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(b"GIF89a")
    assert Image.read(tmp_path / "a.gif") == Image(b"GIF89a", "image/gif")


WRITTEN = {
    "type": "object",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "properties": {"n": {"$ref": "#/$defs/N"}},
    "required": ["n"],
    "$defs": {"N": {"type": "integer", "minimum": 1}},
}


async def test_a_written_schema_is_passed_on_and_arguments_are_checked_by_it(mode: Mode) -> None:
    server = Server("s")

    @server.tool(input_schema=WRITTEN)
    async def double(arguments: dict[str, Any], context: Context) -> str:
        return str(2 * arguments["n"])

    async with Client(server, mode=mode) as client:
        (tool,) = await client.list_tools()
        good = await client.call_tool("double", {"n": 2})
        bad = await client.call_tool("double", {"n": 0})
    assert tool.input_schema == WRITTEN
    assert good.text == "4"
    assert bad.is_error
    assert bad.text.startswith("arguments: ")


def test_a_function_with_a_written_schema_takes_one_dict() -> None:
    def two(a: dict[str, Any], b: int) -> None: ...

    with pytest.raises(RegistrationError, match="one parameter"):
        Server("s").tool(input_schema=WRITTEN)(two)


@pytest.mark.parametrize("schema", [{}, {"type": "array"}])
def test_an_input_schema_is_of_an_object(schema: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError, match="type 'object'"):
        Server("s").tool("get", input_schema=schema)(lambda arguments: None)


async def test_results_are_checked_by_a_written_output_schema(
    mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s")

    @server.tool(output_schema=WRITTEN)
    async def get(n: int) -> Any:
        return {"n": n}

    async with Client(server, mode=mode) as client:
        (tool,) = await client.list_tools()
        good = await client.call_tool("get", {"n": 3})
        bad = await client.call_tool("get", {"n": -3})
    assert tool.output_schema == WRITTEN
    assert good.structured == {"n": 3}
    assert bad.is_error
    assert "-3" not in bad.text
    assert "tool get failed" in caplog.text


Region = Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})]
Wrong = Annotated[list[str], msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})]


def in_region(region: Region) -> None: ...


def in_regions(regions: Wrong) -> None: ...


def test_a_parameter_may_be_wanted_in_a_header() -> None:
    server = Server("s")
    tool = server.add_tool(in_region)
    assert tool.definition.input_schema["properties"]["region"]["x-mcp-header"] == "Region"
    with pytest.raises(RegistrationError, match="not primitive"):
        server.add_tool(in_regions)


@pytest.mark.parametrize("name", ["", "<lambda>"])
def test_a_tool_needs_a_name(name: str) -> None:
    with pytest.raises(RegistrationError, match="needs a name"):
        Server("s").add_tool(take, name)


def test_an_unusual_name_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    Server("s").add_tool(take, "über uns")
    assert "clients expect" in caplog.text


def test_a_name_is_taken_once() -> None:
    server = Server("s")
    server.add_tool(take)
    with pytest.raises(RegistrationError, match="there is a tool 'take' already"):
        server.add_tool(take)


async def test_arguments_must_be_an_object() -> None:
    server = Server("s")

    @server.tool
    async def one(a: int = 1) -> int:
        return a

    @server.tool(input_schema={"type": "object"})
    async def whole(arguments: dict[str, Any]) -> None: ...

    for name in ("one", "whole"):
        answer = await Caller().ask(server, "tools/call", name=name, arguments=[1])
        assert answer["result"]["isError"] is True


# Limits


async def test_a_tool_that_takes_too_long_is_ended(mode: Mode) -> None:
    server = Server("s", limits=McpLimits(call_seconds=0.02))
    ended = asyncio.Event()

    @server.tool
    async def sleep() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    result = await called(server, mode, "sleep")
    assert (result.is_error, result.text) == (True, "The tool took longer than 0.02 s.")
    assert ended.is_set()


async def test_a_tool_keeps_a_time_of_its_own(mode: Mode) -> None:
    server = Server("s", limits=McpLimits(call_seconds=0.01))

    @server.tool(timeout=0.05)
    async def own() -> None:
        await asyncio.Event().wait()

    @server.tool(timeout=None)
    async def patient() -> str:
        await asyncio.sleep(0.05)
        return "done"

    assert (await called(server, mode, "own")).text == "The tool took longer than 0.05 s."
    assert (await called(server, mode, "patient")).text == "done"


async def test_a_timeout_of_the_tool_itself_is_a_failure_like_any_other() -> None:
    server = Server("s")

    @server.tool
    async def fail() -> None:
        raise TimeoutError("secret")

    result = await called(server, "modern", "fail")
    assert result.is_error
    assert result.text.startswith("The tool failed.")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"timeout": -1.0}, "not a number above 0"),
        ({"timeout": 1.0, "inline": True}, "nothing can stop it"),
    ],
)
def test_a_timeout_that_cannot_be_kept_is_refused(options: Any, match: str) -> None:
    with pytest.raises(RegistrationError, match=match):
        Server("s").add_tool(take, **options)


async def test_a_result_that_is_too_large_is_not_sent(mode: Mode) -> None:
    server = Server("s", limits=McpLimits(max_result_bytes=1_000))
    server.tool("large")(lambda: "x" * 1_001)
    server.tool("small")(lambda: "x" * 500)
    result = await called(server, mode, "large")
    assert result.is_error
    size = len('{"content":[{"type":"text","text":""}]}') + 1_001
    assert result.text == (
        f"The result of {size:,} bytes is over the limit of 1,000. Ask for less."
    )
    assert not (await called(server, mode, "small")).is_error


async def test_no_more_calls_run_at_once_than_a_tool_allows(mode: Mode) -> None:
    server = Server("s")
    begun, end = asyncio.Event(), asyncio.Event()

    @server.tool(concurrency=1)
    async def wait() -> str:
        begun.set()
        await end.wait()
        return "done"

    async with Client(server, mode=mode) as client:
        first = asyncio.create_task(client.call_tool("wait"))
        await begun.wait()
        with pytest.raises(RpcError) as caught:
            await client.call_tool("wait")
        end.set()
        assert (await first).text == "done"
        assert (await client.call_tool("wait")).text == "done"
    assert caught.value.data == {"reason": "max_concurrent_tools", "limit": 1}


async def test_no_more_calls_run_at_once_than_a_session_may_have() -> None:
    server = Server("s", limits=McpLimits(max_calls_per_session=1))
    begun, end = asyncio.Event(), asyncio.Event()

    @server.tool
    async def wait() -> None:
        begun.set()
        await end.wait()

    async with Client(server, mode="legacy") as client, Client(server, mode="legacy") as other:
        first = asyncio.create_task(client.call_tool("wait"))
        await begun.wait()
        with pytest.raises(RpcError, match="1 calls of this session"):
            await client.call_tool("wait")
        second = asyncio.create_task(other.call_tool("wait"))
        end.set()
        await asyncio.gather(first, second)


# Who sees what


async def test_a_tool_that_is_not_enabled_is_not_there(mode: Mode) -> None:
    server = Server("s")
    open_ = True
    server.tool("door", enabled=lambda context: open_)(lambda: "open")
    server.tool("wall")(lambda: "wall")
    async with Client(server, mode=mode) as client:
        assert [tool.name for tool in await client.list_tools()] == ["door", "wall"]
        assert (await client.call_tool("door")).text == "open"
        open_ = False
        assert [tool.name for tool in await client.list_tools()] == ["wall"]
        with pytest.raises(RpcError, match="Unknown tool: door"):
            await client.call_tool("door")


async def test_scopes_decide_who_sees_and_calls_a_tool() -> None:
    server = Server("s")
    server.tool("all", inline=True)(lambda: "all")
    server.tool("some", inline=True, scopes=("admin",))(lambda: "some")
    admin = Caller(Principal(subject="a", scopes=frozenset({"admin", "x"})))
    user = Caller(Principal(subject="u"))
    listed = {}
    for name, caller in (("admin", admin), ("user", user), ("nobody", Caller())):
        result = (await caller.ask(server, "tools/list"))["result"]
        listed[name] = [it["name"] for it in result["tools"]], result["cacheScope"]
    assert listed == {
        "admin": (["all", "some"], "private"),
        "user": (["all"], "private"),
        "nobody": (["all"], "private"),
    }
    good = await admin.ask(server, "tools/call", name="some")
    assert good["result"]["content"] == [{"type": "text", "text": "some"}]
    bad = await user.ask(server, "tools/call", name="some")
    assert bad["error"]["data"] == {"reason": "insufficient_permissions", "scopes": ["admin"]}


async def test_what_depends_on_nobody_may_be_shared() -> None:
    server = Server("s", ttl_ms=60_000)
    server.tool("all")(lambda: "all")
    result = (await Caller().ask(server, "tools/list"))["result"]
    assert (result["ttlMs"], result["cacheScope"]) == (60_000, "public")
    mine = (await Caller(Principal(subject="a")).ask(server, "tools/list"))["result"]
    assert mine["cacheScope"] == "private"


# Failing


async def test_errors_of_a_tool_reach_whom_they_are_for(mode: Mode) -> None:
    server = Server("s")

    @server.tool
    async def told() -> None:
        raise ToolError("the disk is full")

    @server.tool
    async def protocol() -> None:
        raise RpcError("no", code=-32050, data={"a": 1})

    async with Client(server, mode=mode) as client:
        assert (await client.call_tool("told")).text == "the disk is full"
        with pytest.raises(RpcError) as caught:
            await client.call_tool("protocol")
    assert (caught.value.code, caught.value.data) == (-32050, {"a": 1})


@pytest.mark.req("M-11")
async def test_in_the_extended_profile_failures_of_a_call_have_codes() -> None:
    server = Server("s", codes="extended", limits=McpLimits(call_seconds=0.01))

    @server.tool
    async def wait(a: int) -> None:
        await asyncio.Event().wait()

    codes = []
    async with Client(server, mode="legacy") as client:
        for arguments in ({"a": "x"}, {"a": 1}):
            with pytest.raises(RpcError) as caught:
                await client.call_tool("wait", arguments)
            codes.append((caught.value.code, caught.value.data["reason"]))
    assert codes == [(-32034, "invalid_tool_arguments"), (-32032, "tool_timeout")]


# Threads


async def test_a_plain_function_runs_in_a_thread_unless_it_is_quick() -> None:
    server = Server("s")
    threads: dict[str, bool] = {}

    @server.tool
    def slow() -> None:
        threads["slow"] = threading.current_thread() is threading.main_thread()

    @server.tool(inline=True)
    def quick() -> None:
        threads["quick"] = threading.current_thread() is threading.main_thread()

    async with Client(server) as client:
        await client.call_tool("slow")
        await client.call_tool("quick")
    assert threads == {"slow": False, "quick": True}


async def test_a_plain_function_may_return_something_to_await() -> None:
    server = Server("s")

    async def soon(text: str) -> str:
        return text

    server.tool("slow")(lambda: soon("later"))
    server.tool("quick", inline=True)(lambda: soon("later"))
    async with Client(server) as client:
        assert (await client.call_tool("slow")).text == "later"
        assert (await client.call_tool("quick")).text == "later"


async def test_a_call_that_is_cancelled_before_it_begins_leaves_nothing_behind() -> None:
    server = Server("s")

    @server.tool
    async def wait() -> None:
        await asyncio.Event().wait()

    async with Client(server) as client:
        for _ in range(3):
            task = asyncio.create_task(client.call_tool("wait"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await client.ping()
    assert server.tools.get("wait").running == 0  # type: ignore[union-attr]
