"""A server that stands in for another one, in each pair of eras."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, TypedDict

import pytest

from accord import ConnectError, RpcError
from accord.mcp import Accepted, CallToolResult, Client, Context, Server, ToolError, user_message
from accord.mcp.client.client import Mode
from accord.mcp.protocol.content import TextContent
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitUrlParams,
)
from accord.mcp.protocol.messages import LogParams, ProgressParams
from tests.patience import PATIENCE

pytestmark = pytest.mark.req("M-16")


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=["modern behind", "legacy behind"])
def behind(request: pytest.FixtureRequest) -> Mode:
    return request.param.partition(" ")[0]  # type: ignore[no-any-return]


def far() -> Server:
    server = Server("far", instructions="Be kind.")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def fail(how: str) -> str:
        if how == "tool":
            raise ToolError("full")
        raise RpcError("no", code=-32050, data={"a": 1})

    @server.tool
    async def tell(context: Context) -> str:
        context.progress(1, 2, "half")
        context.warning("careful")
        return "told"

    @server.tool
    async def ask(context: Context) -> list[Any]:
        answer = await context.elicit("Name?", str)
        sample = await context.sample("Hi", max_tokens=9)
        roots = await context.roots()
        name = answer.content if isinstance(answer, Accepted) else answer.action
        assert isinstance(sample.content, TextContent)
        return [name, sample.content.text, [root.uri for root in roots]]

    @server.tool
    async def page(context: Context) -> str:
        return (await context.elicit_url("Go", "https://example.org", id="7")).action

    @server.resource("data://{name}")
    def data(name: str) -> str:
        return f"data of {name}"

    @server.prompt
    def greet(name: str) -> list[Any]:
        return [user_message(f"hello {name}")]

    server.completion("greet", "name")(lambda value, arguments: [value + "da"])
    return server


async def test_components_are_those_of_the_other_server(mode: Mode, behind: Mode) -> None:
    proxy = Server.proxy(far(), mode=behind)
    async with Client(proxy, mode=mode) as client:
        names = [tool.name for tool in await client.list_tools()]
        assert names == ["add", "fail", "tell", "ask", "page"]
        assert client.instructions == "Be kind."
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
        assert (await client.read_resource("data://x")).contents[0].text == "data of x"
        assert (await client.get_prompt("greet", {"name": "Ada"})).messages == [
            user_message("hello Ada")
        ]
        found = await client.complete(prompt="greet", argument="name", value="A")
        assert found.values == ["Ada"]
    assert len(asyncio.all_tasks()) == 1


async def test_failures_are_passed_on_as_they_are(mode: Mode, behind: Mode) -> None:
    proxy = Server.proxy(far(), mode=behind)
    async with Client(proxy, mode=mode) as client:
        told = await client.call_tool("fail", {"how": "tool"})
        assert (told.is_error, told.text) == (True, "full")
        with pytest.raises(RpcError) as caught:
            await client.call_tool("fail", {"how": "rpc"})
        wrong = await client.call_tool("add", {"a": "x"})
    assert (caught.value.code, caught.value.data) == (-32050, {"a": 1})
    assert wrong.is_error


async def test_progress_and_log_messages_are_passed_on(mode: Mode, behind: Mode) -> None:
    told: list[Any] = []

    def progress(it: ProgressParams) -> None:
        told.append((it.progress, it.total, it.message))

    def log(it: LogParams) -> None:
        told.append((it.level, it.data))

    proxy = Server.proxy(far(), mode=behind)
    async with Client(proxy, mode=mode, logging=log) as client:
        assert (await client.call_tool("tell", progress=progress)).text == "told"
    assert told == [(1.0, 2.0, "half"), ("warning", "careful")]


def elicit(asked: ElicitForm | ElicitUrlParams) -> dict[str, Any]:
    return {} if isinstance(asked, ElicitUrlParams) else {"value": "Ada"}


def sample(asked: CreateMessage) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="ho"), model="m")


@pytest.mark.req("M-06")
async def test_questions_are_passed_on(mode: Mode, behind: Mode) -> None:
    proxy = Server.proxy(far(), mode=behind)
    async with Client(
        proxy, mode=mode, elicitation=elicit, sampling=sample, roots=["file:///a"]
    ) as client:
        assert (await client.call_tool("ask")).text == '["Ada","ho",["file:///a"]]'
        assert (await client.call_tool("page")).text == "accept"
    assert len(asyncio.all_tasks()) == 1


async def test_who_cannot_be_asked_is_not(mode: Mode, behind: Mode) -> None:
    proxy = Server.proxy(far(), mode=behind)
    async with Client(proxy, mode=mode) as client:
        try:
            failed = (await client.call_tool("ask")).is_error
        except RpcError:
            failed = True
    assert failed


@pytest.mark.parametrize("scheme", ["memory", "tcp", "http"])
async def test_questions_go_to_whoever_made_them_arise(
    mode: Mode, behind: Mode, scheme: str
) -> None:
    if scheme == "memory":
        await ask_at_once(Server.proxy(far(), mode=behind), mode)
        return
    async with far().serve(f"{scheme}://127.0.0.1:0") as served:
        await ask_at_once(Server.proxy(served.url, mode=behind), mode)


async def ask_at_once(proxy: Server, mode: Mode) -> None:

    def named(name: str) -> Client:
        return Client(
            proxy,
            mode=mode,
            elicitation=lambda asked: {"value": name},
            sampling=lambda asked: name,
            roots=[f"file:///{name}"],
        )

    async with named("a") as a, named("b") as b:
        results = await asyncio.gather(*(client.call_tool("ask") for client in (a, b) * 5))
    assert [result.text for result in results] == [
        f'["{name}","{name}",["file:///{name}"]]' for name in ("a", "b") * 5
    ]


async def test_a_question_for_nobody_in_particular_is_refused() -> None:
    server = Server("far")
    waiting = 0
    everybody = asyncio.Event()

    @server.tool
    async def ask(together: int, context: Context) -> str:
        nonlocal waiting
        waiting += 1
        if waiting == together:
            everybody.set()
        await everybody.wait()
        return (await context.elicit("Sure?")).action

    async with server.serve("tcp://127.0.0.1:0") as served:
        proxy = Server.proxy(served.url, mode="legacy", per_session=False)

        def new() -> Client:
            return Client(proxy, mode="legacy", elicitation=lambda asked: {})

        async with new() as a, new() as b:
            assert (await a.call_tool("ask", {"together": 1})).text == "accept"
            waiting = 0
            everybody.clear()
            both = await asyncio.gather(
                *(client.call_tool("ask", {"together": 2}) for client in (a, b)),
                return_exceptions=True,
            )
    assert [str(it) for it in both] == [
        "it is not certain whom this question is for (-32004)",
        "it is not certain whom this question is for (-32004)",
    ]


async def test_a_call_that_is_cancelled_is_cancelled_behind(mode: Mode, behind: Mode) -> None:
    server = Server("far")
    begun, ended = asyncio.Event(), asyncio.Event()

    @server.tool
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Client(Server.proxy(server, mode=behind), mode=mode) as client:
        call = asyncio.create_task(client.call_tool("wait"))
        await begun.wait()
        call.cancel()
        async with asyncio.timeout(PATIENCE):
            await ended.wait()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_changes_are_passed_on(mode: Mode, behind: Mode) -> None:
    server = far()
    proxy = Server.proxy(server, mode=behind)
    async with Client(proxy, mode=mode) as client:
        async with client.listen(tools=True) as changes:
            server.tool("new")(lambda: "new")
            assert (await changes.next(5)).kind == "tools"
            assert (await client.call_tool("new")).text == "new"
        async with client.listen(resources=["data://x"]) as changes:
            updating = asyncio.create_task(update(server, "data://x"))
            assert (await changes.next(5)).uri == "data://x"
            updating.cancel()


async def update(server: Server, uri: str) -> None:
    """Until somebody has heard: the proxy begins to listen when it is listened to."""
    while True:
        server.resource_updated(uri)
        await asyncio.sleep(0.01)


async def test_a_proxy_may_stand_under_a_prefix(mode: Mode) -> None:
    proxy = Server.proxy(far(), prefix="p")
    async with Client(proxy, mode=mode) as client:
        assert (await client.call_tool("p_add", {"a": 1, "b": 2})).text == "3"
        assert (await client.read_resource("data://p/x")).contents[0].uri == "data://p/x"


async def test_a_program_is_started_once_for_all(tmp_path: Path, mode: Mode) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os\n"
        "from accord.mcp import Server\n"
        "server = Server('program')\n"
        "server.tool('pid', inline=True)(lambda: str(os.getpid()))\n"
        "server.run()\n"
    )
    proxy = Server.proxy([sys.executable, str(program)])
    async with Client(proxy, mode=mode) as one, Client(proxy, mode=mode) as two:
        pids = [(await client.call_tool("pid")).text for client in (one, two)]
    assert pids[0] == pids[1]


async def test_a_client_of_ones_own_answers_itself() -> None:
    def mine(asked: Any) -> dict[str, str]:
        return {"value": "mine"}

    inner = Client(far(), elicitation=mine, sampling=lambda asked: "mine", roots=[])
    async with Client(Server.proxy(inner)) as client:
        result = await client.call_tool("ask", into=list[Any])
    assert result.structured == ["mine", "mine", []]


@pytest.mark.parametrize("name", ["Authorization", "cookie", "Mcp-Session-Id", "host"])
def test_credentials_and_the_requests_own_headers_are_never_forwarded(name: str) -> None:
    with pytest.raises(ValueError, match=name.lower()):
        Server.proxy("http://localhost/mcp", forward=[name])


async def test_allowed_headers_go_along_and_tokens_do_not(mode: Mode, behind: Mode) -> None:
    server = Server("far")

    @server.tool
    async def headers(context: Context) -> dict[str, str]:
        wanted = ("x-tenant", "authorization", "x-other")
        return {name: context.headers[name] for name in wanted if name in context.headers}

    async with server.serve("http://127.0.0.1:0/mcp") as served:
        proxy = Server.proxy(served.url, forward=["X-Tenant"], mode=behind)
        async with proxy.serve("http://127.0.0.1:0/mcp") as near:
            sent = {"x-tenant": "t1", "authorization": "Bearer secret", "x-other": "o"}
            async with Client(near.url, mode=mode, headers=sent) as client:
                result = await client.call_tool("headers")
    assert result.structured == {"x-tenant": "t1"}


async def test_a_server_behind_that_is_gone_is_told_of(
    mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    served = await far().serve("tcp://127.0.0.1:0")
    async with Client(Server.proxy(served.url), mode=mode) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
        await served.close()
        result = await client.call_tool("add", {"a": 1, "b": 2})
        with pytest.raises(RpcError):
            await client.read_resource("data://x")
    assert (result.is_error, result.text) == (
        True,
        "The server behind this tool cannot be reached.",
    )
    assert "tool add of the server behind failed" in caplog.text


async def test_a_proxy_of_nothing_cannot_be_served() -> None:
    with pytest.raises(ConnectError):
        async with Client(Server.proxy("tcp://127.0.0.1:1")):
            pass


async def test_a_result_that_breaks_its_promise_is_not_passed_on(mode: Mode) -> None:
    server = Server("far")

    @server.tool
    async def lie() -> Promised:
        return CallToolResult(content=[], structured_content={"x": "no number"})  # type: ignore[return-value]

    async with Client(Server.proxy(server), mode=mode) as client:
        result = await client.call_tool("lie")
    assert (result.is_error, result.text) == (
        True,
        "The server behind this tool gave a result that makes no sense.",
    )


class Promised(TypedDict):
    x: int
