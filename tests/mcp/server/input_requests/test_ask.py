"""A handler that asks its client is written once; here it is asked in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
from msgspec import Struct

from accord import Router, RpcError
from accord.mcp import Accepted, Context, Elicit, ElicitUrl, Roots, Sample, Server, TextContent
from accord.mcp.server.server_state import McpLimits
from tests.mcp.server.asking_client import Client, client_of, modern, text_of, unchecked


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Order(Struct):
    name: str
    count: int = 1
    size: Size = Size.SMALL


def demo(**options: Any) -> Server:
    server = Server("demo", version="1", **options)

    @server.tool
    async def greet(context: Context) -> str:
        answer = await context.elicit("Your name?", str)
        return f"Hello {answer.content}" if answer.action == "accept" else answer.action

    @server.tool
    async def order(context: Context) -> str:
        answer = await context.elicit("What?", Order)
        return repr(answer.content) if isinstance(answer, Accepted) else answer.action

    @server.tool
    async def think(context: Context) -> str:
        result = await context.sample("Why?", max_tokens=9, system_prompt="Short", temperature=0.5)
        assert isinstance(result.content, TextContent)
        return result.content.text

    @server.tool
    async def where(context: Context) -> list[str]:
        return [root.uri for root in await context.roots()]

    @server.tool
    async def twice(context: Context) -> str:
        first = await context.elicit("First?", str)
        second = await context.elicit("Second?", str)
        assert isinstance(first, Accepted)
        assert isinstance(second, Accepted)
        return first.content + second.content

    @server.tool
    async def named(context: Context) -> str:
        found = await context.ask(name=Elicit("Name?", str), tale=Sample("Tell", max_tokens=5))
        return f"{found['name'].content}: {found['tale'].content.text}"

    @server.tool
    async def gathered(context: Context) -> str:
        name, roots = await asyncio.gather(context.elicit("Name?", str), context.roots())
        assert isinstance(name, Accepted)
        return f"{name.content} {len(roots)}"

    @server.tool
    async def grouped(context: Context) -> str:
        async with asyncio.TaskGroup() as group:
            name = group.create_task(context.elicit("Name?", str))
            roots = group.create_task(context.roots())
        found = name.result()
        assert isinstance(found, Accepted)
        return f"{found.content} {len(roots.result())}"

    @server.tool
    def plain(context: Context) -> str:
        answer = context.from_thread(context.elicit("Name?", str))
        return f"Hello {answer.content}" if isinstance(answer, Accepted) else "who?"

    @server.prompt
    async def prompt(context: Context) -> str:
        answer = await context.elicit("Name?", str)
        return f"I am {answer.content}" if isinstance(answer, Accepted) else "nobody"

    @server.resource("demo://who")
    async def resource(context: Context) -> str:
        answer = await context.elicit("Name?", str)
        return answer.content if isinstance(answer, Accepted) else "nobody"

    return server


ANSWERS: dict[str, Any] = {
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "Because."},
        "model": "m",
    },
    "roots/list": {"roots": [{"uri": "file:///a"}]},
}


def answer_of(method: str, params: dict[str, Any]) -> Any:
    if method != "elicitation/create":
        return ANSWERS[method]
    content = {"name": "cup"} if params["message"] == "What?" else {"value": params["message"][0]}
    return {"action": "accept", "content": content}


def answering(heard: list[Any] | None = None) -> Router:
    """A client's own methods, which answer each question in the same way."""
    router = Router()

    def add(method: str) -> None:
        @router.method(method)
        async def answer(**params: Any) -> Any:
            if heard is not None:
                heard.append((method, params))
            return answer_of(method, params)

    for each in ("elicitation/create", "sampling/createMessage", "roots/list"):
        add(each)
    return router


async def call_both_ways(method: str, params: dict[str, Any]) -> tuple[Any, Any]:
    """The result of a request in each era."""
    async with client_of(demo(), answering()) as client:
        await client.shake_hands()
        shaken = await client.peer.call(method, params)
    async with client_of(demo()) as client:
        stateless, _ = await client.ask_until_done(
            method, params, lambda key, it: answer_of(it["method"], it.get("params", {}))
        )
    return shaken, stateless


@pytest.mark.req("M-06")
@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("greet", "Hello Y"),
        ("order", "Order(name='cup', count=1, size=<Size.SMALL: 's'>)"),
        ("think", "Because."),
        ("where", '["file:///a"]'),
        ("twice", "FS"),
        ("named", "N: Because."),
        ("gathered", "N 1"),
        ("grouped", "N 1"),
        ("plain", "Hello N"),
    ],
)
async def test_a_tool_asks_in_both_eras(tool: str, text: str) -> None:
    for result in await call_both_ways("tools/call", {"name": tool, "arguments": {}}):
        assert text_of(result) == text


async def test_a_prompt_and_a_resource_ask_in_both_eras() -> None:
    for result in await call_both_ways("prompts/get", {"name": "prompt"}):
        assert result["messages"] == [
            {"role": "user", "content": {"type": "text", "text": "I am N"}}
        ]
    for result in await call_both_ways("resources/read", {"uri": "demo://who"}):
        assert result["contents"] == [{"uri": "demo://who", "mimeType": "text/plain", "text": "N"}]


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_may_say_no(action: str) -> None:
    router = Router()

    @router.method("elicitation/create")
    async def answer(**params: Any) -> Any:
        return {"action": action}

    async with client_of(demo(), router) as client:
        await client.shake_hands()
        assert text_of(await client.tool("greet")) == action
    async with client_of(demo()) as client:
        result, _ = await client.ask_until_done(
            "tools/call", {"name": "greet"}, lambda key, it: {"action": action}
        )
        assert text_of(result) == action


async def test_a_question_looks_the_same_in_both_eras() -> None:
    heard: list[Any] = []
    async with client_of(demo(), answering(heard)) as client:
        await client.shake_hands()
        await client.tool("order")
        await client.tool("think")
    async with client_of(demo()) as client:
        for tool in ("order", "think"):
            _, [asked] = await client.ask_until_done(
                "tools/call",
                {"name": tool},
                lambda key, it: answer_of(it["method"], it["params"]),
            )
            [request] = asked["inputRequests"].values()
            assert (request["method"], request["params"]) in heard
    assert heard == [
        (
            "elicitation/create",
            {
                "message": "What?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "count": {"type": "integer", "default": 1},
                        "size": {
                            "type": "string",
                            "default": "s",
                            "oneOf": [
                                {"const": "s", "title": "Small"},
                                {"const": "l", "title": "Large"},
                            ],
                        },
                    },
                    "required": ["name"],
                },
            },
        ),
        (
            "sampling/createMessage",
            {
                "messages": [{"role": "user", "content": {"type": "text", "text": "Why?"}}],
                "maxTokens": 9,
                "systemPrompt": "Short",
                "temperature": 0.5,
            },
        ),
    ]


NEEDED: list[tuple[str, dict[str, Any]]] = [
    ("greet", {"elicitation": {"form": {}}}),
    ("think", {"sampling": {}}),
    ("where", {"roots": {}}),
]


@pytest.mark.req("M-04")
@pytest.mark.parametrize(("tool", "needed"), NEEDED)
async def test_a_client_is_not_asked_what_it_has_not_declared(
    tool: str, needed: dict[str, Any]
) -> None:
    data = {"reason": "capability_not_supported", "requiredCapabilities": needed}
    async with client_of(demo(), answering()) as client:
        await client.shake_hands(capabilities={})
        with pytest.raises(RpcError) as caught:
            await client.tool(tool)
    assert (caught.value.code, caught.value.data) == (-32004, data)
    async with client_of(demo()) as client:
        with pytest.raises(RpcError) as caught:
            await client.tool(tool, _meta=modern({}))
    assert (caught.value.code, caught.value.data) == (-32021, data)


@pytest.mark.parametrize(
    ("capabilities", "ask"),
    [
        ({"elicitation": {"url": {}}}, lambda context: context.elicit("?", str)),
        ({"elicitation": {}}, lambda context: context.elicit_url("?", "https://a.example")),
        ({"sampling": {}}, lambda context: context.sample("?", max_tokens=1, tools=[])),
        (
            {"sampling": {}},
            lambda context: context.sample("?", max_tokens=1, include_context="thisServer"),
        ),
    ],
)
async def test_each_way_of_asking_has_its_own_capability(
    capabilities: dict[str, Any], ask: Callable[[Context], Any]
) -> None:
    server = Server("demo", version="1")

    @server.tool
    async def tool(context: Context) -> str:
        return str(await ask(context))

    async with client_of(server, answering()) as client:
        await client.shake_hands(capabilities=capabilities)
        with pytest.raises(RpcError) as caught:
            await client.tool("tool")
    assert caught.value.code == -32004


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
async def test_versions_without_elicitation_are_not_asked(version: str) -> None:
    async with unchecked(demo(), answering()) as client:
        await client.shake_hands(version, {"elicitation": {}, "roots": {}})
        with pytest.raises(RpcError) as caught:
            await client.tool("greet")
        assert caught.value.code == -32004
        assert text_of(await client.tool("where")) == '["file:///a"]'


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "perhaps"},
        {},
        {"action": "accept"},
        {"action": "accept", "content": {"value": 1}},
    ],
)
async def test_what_is_no_answer_is_refused(answer: Any) -> None:
    router = Router()

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        return answer

    async def ask(client: Client) -> RpcError:
        with pytest.raises(RpcError) as caught:
            await client.ask_until_done("tools/call", {"name": "greet"}, lambda key, it: answer)
        return caught.value

    server = demo()
    near_enough = answer.get("action") == "accept"
    async with client_of(server, router) if near_enough else unchecked(server, router) as client:
        await client.shake_hands()
        with pytest.raises(RpcError) as caught:
            await client.tool("greet")
    assert caught.value.code == -32602
    async with unchecked(server) as client:
        assert (await ask(client)).code == -32602


async def test_a_question_that_the_client_fails_to_answer_fails_the_call() -> None:
    router = Router()

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        raise RpcError("User rejected", code=-1)

    async with client_of(demo(), router) as client:
        await client.shake_hands()
        with pytest.raises(RpcError) as caught:
            await client.tool("greet")
    assert (caught.value.code, caught.value.message) == (-1, "User rejected")


async def test_answers_may_be_waited_for_only_so_long() -> None:
    router = Router()
    asked = asyncio.Event()

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    async with client_of(demo(ask_timeout=0.05), router) as client:
        await client.shake_hands()
        with pytest.raises(RpcError) as caught:
            await client.tool("greet")
    assert asked.is_set()
    assert caught.value.code == -32009


async def test_only_tools_prompts_and_resources_can_ask() -> None:
    server = demo()
    failures: list[RuntimeError] = []

    @server.completion
    async def complete(value: str, context: Context) -> list[str]:
        try:
            await context.elicit("Name?", str)
        except RuntimeError as error:
            failures.append(error)
        return []

    async with client_of(server) as client:
        await client.peer.call(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "prompt"},
                "argument": {"name": "a", "value": ""},
                "_meta": modern(),
            },
        )
    assert [str(failure) for failure in failures] == [
        "only tools, prompts and resources can ask the client, not completion/complete"
    ]


async def test_a_thread_that_waits_for_an_answer_is_let_go_with_its_caller() -> None:
    server = Server("demo", version="1")
    router = Router()
    asked, left = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @server.tool
    def plain(context: Context) -> str:
        try:
            context.from_thread(context.elicit("Name?", str))
        finally:
            loop.call_soon_threadsafe(left.set)
        return ""

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    async with client_of(server, router) as client:
        await client.shake_hands()
        call = client.peer.begin("tools/call", {"name": "plain", "arguments": {}})
        await asked.wait()
        await client.peer.notify("notifications/cancelled", {"requestId": call.id})
        await left.wait()
        call.cancel()


async def test_blocking_questions_are_for_threads() -> None:
    server = Server("demo", version="1")

    @server.tool
    async def wrong(context: Context) -> str:
        try:
            context.from_thread(context.elicit("Name?", str))
        except RuntimeError as error:
            return str(error)
        return "asked"

    async with client_of(server) as client:
        await client.shake_hands()
        assert text_of(await client.tool("wrong")) == (
            "from_thread is for plain functions that run in a thread: use await"
        )


async def test_roots_can_be_asked_for_with_others() -> None:
    server = Server("demo", version="1")

    @server.tool
    async def both(context: Context) -> str:
        found = await context.ask(roots=Roots(), name=Elicit("Name?"))
        return f"{len(found['roots'])} {found['name'].action}"

    async with client_of(server, answering()) as client:
        await client.shake_hands()
        assert text_of(await client.tool("both")) == "1 accept"


async def test_a_page_is_opened_and_its_client_told_when_the_user_is_done() -> None:
    server = Server("demo", version="1")
    router = Router()
    asked: list[Any] = []
    completed: asyncio.Queue[Any] = asyncio.Queue()

    @server.tool
    async def pay(context: Context) -> str:
        return (await context.elicit_url("Pay", "https://a.example/pay", id="e1")).action

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        asked.append(params)
        return {"action": "accept"}

    @router.method("notifications/elicitation/complete")
    async def complete(**params: Any) -> None:
        completed.put_nowait(params)

    async with client_of(server, router) as client:
        await client.shake_hands()
        assert text_of(await client.tool("pay")) == "accept"
        server.elicitation_completed("unknown")
        server.elicitation_completed("e1")
        server.elicitation_completed("e1")
        assert await completed.get() == {"elicitationId": "e1"}
        await client.peer.call("ping")
    assert completed.empty()
    assert asked == [
        {
            "mode": "url",
            "message": "Pay",
            "url": "https://a.example/pay",
            "elicitationId": "e1",
        }
    ]


async def test_open_pages_are_forgotten_with_their_session() -> None:
    server = Server("demo", version="1")

    @server.tool
    async def pay(context: Context) -> str:
        return (await context.elicit_url("Pay", "https://a.example/pay")).action

    async with client_of(server, answering_pages()) as client:
        await client.shake_hands()
        await client.tool("pay")
        assert len(server.asker.elicitations) == 1
    await asyncio.sleep(0)
    assert len(server.asker.elicitations) == 0


def answering_pages() -> Router:
    router = Router()

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        return {"action": "accept"}

    return router


async def test_a_call_may_need_a_page_first() -> None:
    server = Server("demo", version="1")

    @server.tool
    async def files(context: Context) -> str:
        raise context.url_required(ElicitUrl("Sign in", "https://a.example", id="e1"))

    async with client_of(server) as client:
        await client.shake_hands()
        with pytest.raises(RpcError) as caught:
            await client.tool("files")
    assert (caught.value.code, caught.value.data) == (
        -32042,
        {
            "reason": "url_elicitation_required",
            "elicitations": [
                {
                    "mode": "url",
                    "message": "Sign in",
                    "url": "https://a.example",
                    "elicitationId": "e1",
                }
            ],
        },
    )


async def test_a_handler_that_waits_for_an_answer_is_not_late() -> None:
    server = demo(limits=McpLimits(call_seconds=0.02))
    router = Router()

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        await asyncio.sleep(0.1)
        return {"action": "decline"}

    @server.tool
    async def work() -> str:
        await asyncio.Event().wait()
        return ""

    async with client_of(server, router) as client:
        await client.shake_hands()
        assert text_of(await client.tool("greet")) == "decline"
        assert text_of(await client.tool("work")) == "The tool took longer than 0.02 s."
