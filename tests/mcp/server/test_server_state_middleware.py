"""Functions around every request, and what lives as long as a server is served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
import pytest
from msgspec.structs import replace

from accord import RegistrationError, RpcError
from accord.mcp import Accepted, Client, Context, Depends, Request, Server, TextContent
from accord.mcp.client.client import Mode

pytestmark = pytest.mark.req("M-16")


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


def adding() -> Server:
    server = Server("s")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


async def test_middleware_stands_around_every_request_in_order(mode: Mode) -> None:
    server = adding()
    seen: list[str] = []

    @server.middleware
    async def outer(request: Request, proceed: Any) -> Any:
        seen.append(f"outer {request.method}")
        try:
            return await proceed()
        finally:
            seen.append("outer done")

    @server.middleware
    async def inner(request: Request, proceed: Any) -> Any:
        seen.append(f"inner {request.params.__class__.__name__} {request.context.version[:2]}")
        return await proceed()

    async with Client(server, mode=mode) as client:
        seen.clear()
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
        assert seen == [
            "outer tools/call",
            "inner CallToolParams 20",
            "outer done",
        ]
        seen.clear()
        assert [tool.name for tool in await client.list_tools()] == ["add"]
        assert seen == ["outer tools/list", "inner ListParams 20", "outer done"]


async def test_middleware_may_change_params_and_results(mode: Mode) -> None:
    server = adding()

    @server.middleware
    async def change(request: Request, proceed: Any) -> Any:
        if request.method == "tools/list":
            result = await proceed()
            return replace(result, tools=[replace(it, title="new") for it in result.tools])
        if request.method != "tools/call":
            return await proceed()
        arguments = msgspec.json.decode(request.params.arguments)
        raw = msgspec.Raw(msgspec.json.encode({**arguments, "b": 10}))
        result = await proceed(replace(request.params, arguments=raw))
        return replace(result, content=[*result.content, TextContent(text="more")])

    async with Client(server, mode=mode) as client:
        assert [tool.title for tool in await client.list_tools()] == ["new"]
        result = await client.call_tool("add", {"a": 1, "b": 2})
    assert result.content == [TextContent(text="11"), TextContent(text="more")]


async def test_middleware_may_stop_a_request_or_try_again(mode: Mode) -> None:
    server = Server("s")
    times = 0

    @server.tool
    async def flaky() -> str:
        nonlocal times
        times += 1
        if times < 3:
            raise RpcError("not yet", code=-32050)
        return "done"

    @server.middleware
    async def again(request: Request, proceed: Any) -> Any:
        if request.method == "prompts/list":
            raise RpcError("closed", code=-32051)
        while True:
            try:
                return await proceed()
            except RpcError:
                continue

    server.prompt("p")(lambda: "p")
    async with Client(server, mode=mode) as client:
        assert (await client.call_tool("flaky")).text == "done"
        with pytest.raises(RpcError, match="closed"):
            await client.list_prompts()
    assert times == 3


async def test_middleware_may_ask_the_user(mode: Mode) -> None:
    server = adding()

    @server.middleware
    async def confirm(request: Request, proceed: Any) -> Any:
        if request.method == "tools/call":
            answer = await request.context.elicit("Really?", bool)
            if not isinstance(answer, Accepted) or not answer.content:
                raise RpcError("refused", code=-32050)
        return await proceed()

    async with Client(server, mode=mode, elicitation=lambda asked: {"value": True}) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"


def test_middleware_is_async() -> None:
    with pytest.raises(RegistrationError, match="no async function"):
        Server("s").middleware(lambda request, proceed: proceed())


# Lifespan


async def test_a_lifespan_lives_as_long_as_the_server_is_served(mode: Mode) -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[dict[str, str]]:
        events.append(f"begin {server.info.name}")
        yield {"db": "open"}
        events.append("end")

    server = Server("s", lifespan=lifespan)

    @server.tool
    async def look(context: Context) -> str:
        return str(context.lifespan["db"])

    for _ in range(2):
        async with Client(server, mode=mode) as one, Client(server, mode=mode) as two:
            assert (await one.call_tool("look")).text == "open"
            assert (await two.call_tool("look")).text == "open"
    assert events == ["begin s", "end"] * 2
    assert server.lifespan_value is None


async def test_a_lifespan_is_entered_and_left_in_one_task() -> None:
    tasks: list[Any] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        async with asyncio.timeout(None):  # which insists on it
            tasks.append(asyncio.current_task())
            yield
            tasks.append(asyncio.current_task())

    server = Server("s", lifespan=lifespan)
    running = server.running()
    await asyncio.create_task(running.__aenter__())
    await asyncio.create_task(running.__aexit__(None, None, None))
    assert tasks[0] is tasks[1]


async def test_a_lifespan_that_cannot_begin_is_told_to_whoever_serves() -> None:
    times = 0

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        nonlocal times
        times += 1
        if times == 1:
            raise OSError("no database")
        yield

    server = Server("s", lifespan=lifespan)
    with pytest.raises(OSError, match="no database"):
        async with server.running():
            pass
    async with server.running():
        pass
    assert times == 2


async def test_who_gives_up_waiting_for_a_lifespan_leaves_nothing_behind() -> None:
    begun = asyncio.Event()

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        begun.set()
        await asyncio.Event().wait()
        yield

    server = Server("s", lifespan=lifespan)
    before = asyncio.all_tasks()

    async def use() -> None:
        async with server.running():
            pass

    task = asyncio.create_task(use())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


# Injection


class Database:
    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False


OPENED: list[Database] = []


def user(context: Context) -> str:
    return context.version[:2]


async def database(name: Annotated[str, Depends(user)]) -> AsyncIterator[Database]:
    opened = Database(name)
    OPENED.append(opened)
    yield opened
    opened.closed = True


Db = Annotated[Database, Depends(database)]


def same(db: Db) -> Database:
    return db


async def test_dependencies_are_made_once_for_a_call_and_cleaned_up(mode: Mode) -> None:
    server = Server("s")

    @server.tool
    async def find(text: str, db: Db, other: Annotated[Database, Depends(same)]) -> list[Any]:
        return [text, db.name, db is other, db.closed]

    @server.tool
    def blocking(db: Db) -> str:
        return db.name

    OPENED.clear()
    async with Client(server, mode=mode) as client:
        listed = {tool.name: tool.input_schema["properties"] for tool in await client.list_tools()}
        assert listed == {"find": {"text": {"type": "string"}}, "blocking": {}}
        assert (await client.call_tool("find", {"text": "a"})).text == '["a","20",true,false]'
        assert (await client.call_tool("blocking")).text == "20"
        refused = await client.call_tool("find", {"text": "a", "db": 1})
    assert refused.is_error
    assert [each.closed for each in OPENED] == [True, True]


def wants_two(a: Context, b: Context) -> None: ...


def by_position(context: Context, /) -> None: ...


def needs(x: int) -> int:
    return x


def depends(x: Annotated[int, Depends(needs)]) -> None: ...


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (wants_two, "both ask for the context"),
        (by_position, "injected by name"),
        (depends, "nobody gives parameter 'x'"),
    ],
)
def test_what_cannot_be_injected_is_refused(function: Any, match: str) -> None:
    with pytest.raises(RegistrationError, match=match):
        Server("s").add_tool(function)
