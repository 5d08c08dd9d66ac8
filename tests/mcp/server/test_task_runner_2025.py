"""Tasks of 2025-11-25: asked for by the client, fetched by `tasks/result`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import Router, RpcError
from tests.mcp.server.asking_client import client_of, text_of
from tests.mcp.server.task_demo import Demo
from tests.mcp.server.test_task_runner import OVER, client, refused


async def refused_call(tasks: Any, tool: str, **params: Any) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await tasks.request("tools/call", {"name": tool, "arguments": {}, **params})
    return caught.value


async def test_capabilities_and_lists_say_which_tools_can_be_tasks() -> None:
    async with client_of(Demo().server) as found:
        capabilities = (await found.shake_hands())["capabilities"]
        tools = (await found.peer.call("tools/list"))["tools"]
    assert capabilities["tasks"] == {
        "list": {},
        "cancel": {},
        "requests": {"tools": {"call": {}}},
    }
    support = {it["name"]: it.get("execution", {}).get("taskSupport") for it in tools}
    assert support["greet"] is None
    assert support["wait"] == "optional"
    assert support["quick"] == "required"


async def test_the_handle_of_a_task_tells_all_about_it() -> None:
    demo = Demo(poll_ms=250)
    async with client(demo, "handshake") as tasks:
        created = await tasks.request(
            "tools/call", {"name": "wait", "arguments": {}, "task": {"ttl": 60_000}}
        )
        task = created["task"]
        assert created == {
            "task": {
                "taskId": task["taskId"],
                "status": "working",
                "createdAt": task["createdAt"],
                "lastUpdatedAt": task["createdAt"],
                "ttl": 60_000,
                "pollInterval": 250,
            }
        }
        assert await tasks.get(task["taskId"]) == task


@pytest.mark.parametrize(
    ("asked", "got"), [(None, 5_000), (1, 1_000), (2_000, 2_000), (10**12, 9_000), (-5, 1_000)]
)
async def test_the_time_to_live_has_bounds(asked: int | None, got: int) -> None:
    async with client(Demo(ttl_ms=5_000, max_ttl_ms=9_000), "handshake") as tasks:
        wanted: dict[str, Any] = {} if asked is None else {"ttl": asked}
        task = await tasks.start("quick", **wanted)
    assert task["ttl"] == got


async def test_a_result_is_waited_for_and_says_which_task_it_is_of() -> None:
    demo = Demo()
    async with client(demo, "handshake") as tasks:
        id = (await tasks.start("wait"))["taskId"]
        waiting = [
            asyncio.create_task(tasks.request("tasks/result", {"taskId": id})) for _ in range(3)
        ]
        await demo.begun.wait()
        demo.release.set()
        results = await asyncio.gather(*waiting)
    expected = {
        "content": [{"type": "text", "text": "done"}],
        "_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}},
    }
    assert results == [expected] * 3


async def test_a_tool_that_reports_an_error_has_failed() -> None:
    async with client(Demo(), "handshake") as tasks:
        id = (await tasks.start("fail", {"how": "told"}))["taskId"]
        task = await tasks.until(id, *OVER)
        assert (task["status"], task["statusMessage"]) == ("failed", "the disk is full")
        result = await tasks.request("tasks/result", {"taskId": id})
    assert result["isError"] is True
    assert text_of(result) == "the disk is full"


async def test_the_error_of_a_request_is_the_error_of_its_result() -> None:
    async with client(Demo(), "handshake") as tasks:
        id = (await tasks.start("fail", {"how": "protocol"}))["taskId"]
        with pytest.raises(RpcError) as caught:
            await tasks.request("tasks/result", {"taskId": id})
    error = caught.value
    assert (error.code, error.message, error.data) == (-32099, "no such thing", {"a": 1})


async def test_the_result_of_what_was_cancelled_is_an_error() -> None:
    demo = Demo()
    async with client(demo, "handshake") as tasks:
        id = (await tasks.start("wait"))["taskId"]
        waiting = asyncio.create_task(tasks.request("tasks/result", {"taskId": id}))
        await demo.begun.wait()
        cancelled = await tasks.request("tasks/cancel", {"taskId": id})
        assert cancelled["status"] == "cancelled"
        with pytest.raises(RpcError) as caught:
            await waiting
        assert caught.value.data == {"reason": "task_cancelled"}
        assert await refused(tasks, "tasks/cancel", id) == -32602


async def test_a_task_that_is_forgotten_ends_the_wait_for_it() -> None:
    async with client(Demo(ttl_ms=30), "handshake") as tasks:
        id = (await tasks.start("wait"))["taskId"]
        assert await refused(tasks, "tasks/result", id) == -32602


async def test_tools_decide_whether_they_are_tasks() -> None:
    async with client(Demo(), "handshake") as tasks:
        assert (await refused_call(tasks, "quick")).code == -32601
        assert (await refused_call(tasks, "greet", task={})).code == -32601


async def test_older_versions_have_no_tasks() -> None:
    demo = Demo()
    demo.release.set()
    async with client_of(demo.server) as found:
        capabilities = (await found.shake_hands("2025-06-18", {}))["capabilities"]
        assert "tasks" not in capabilities
        assert text_of(await found.tool("wait")) == "done"
        with pytest.raises(RpcError) as caught:
            await found.tool("quick")
        assert caught.value.code == -32601


async def test_lists_have_pages() -> None:
    demo = Demo()
    demo.server.page_size = 2
    async with client(demo, "handshake") as tasks:
        ids = [(await tasks.start("quick"))["taskId"] for _ in range(5)]
        found: list[str] = []
        page = await tasks.request("tasks/list", {})
        found += [it["taskId"] for it in page["tasks"]]
        while "nextCursor" in page:
            page = await tasks.request("tasks/list", {"cursor": page["nextCursor"]})
            found += [it["taskId"] for it in page["tasks"]]
        assert found == ids
        with pytest.raises(RpcError) as caught:
            await tasks.request("tasks/list", {"cursor": "zz"})
        assert caught.value.code == -32602


def asked_by(server_asks: asyncio.Queue[Any], answer: Any) -> Router:
    router = Router()

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        server_asks.put_nowait(params)
        if isinstance(answer, RpcError):
            raise answer
        return answer

    return router


async def test_a_task_asks_through_the_request_for_its_result() -> None:
    asked: asyncio.Queue[Any] = asyncio.Queue()
    router = asked_by(asked, {"action": "accept", "content": {"value": "Ada"}})
    async with client(Demo(), "handshake", router) as tasks:
        id = (await tasks.start("ask"))["taskId"]
        await tasks.until(id, "input_required")
        assert asked.empty()
        result = await tasks.request("tasks/result", {"taskId": id})
        assert text_of(result) == "Hello Ada"
    assert asked.get_nowait() == {
        "message": "Name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"value": {"type": "string"}},
            "required": ["value"],
        },
        "_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}},
    }
    assert asked.empty()


async def test_of_several_who_wait_for_a_result_the_newest_is_asked() -> None:
    first_asked = asyncio.Event()
    router = Router()
    calls: list[int] = []

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            first_asked.set()
            await asyncio.Event().wait()
        return {"action": "decline"}

    async with client(Demo(), "handshake", router) as tasks:
        id = (await tasks.start("ask"))["taskId"]
        first = asyncio.create_task(tasks.request("tasks/result", {"taskId": id}))
        await first_asked.wait()
        second = await tasks.request("tasks/result", {"taskId": id})
        assert text_of(second) == text_of(await first) == "decline"
    assert len(calls) == 2


async def test_a_client_that_cannot_answer_fails_the_task() -> None:
    asked: asyncio.Queue[Any] = asyncio.Queue()
    router = asked_by(asked, RpcError("User rejected", code=-1))
    async with client(Demo(), "handshake", router) as tasks:
        id = (await tasks.start("ask"))["taskId"]
        with pytest.raises(RpcError) as caught:
            await tasks.request("tasks/result", {"taskId": id})
        assert caught.value.code == -1
        assert (await tasks.get(id))["status"] == "failed"


async def test_a_question_is_asked_again_when_the_first_who_was_asked_is_gone() -> None:
    first = asyncio.Event()
    router = Router()
    calls: list[int] = []

    @router.method("elicitation/create")
    async def elicit(**params: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            first.set()
            await asyncio.Event().wait()
        return {"action": "decline"}

    async with client(Demo(), "handshake", router) as tasks:
        id = (await tasks.start("ask"))["taskId"]
        call = tasks.client.peer.begin("tasks/result", {"taskId": id})
        await first.wait()
        await tasks.client.peer.notify("notifications/cancelled", {"requestId": call.id})
        call.cancel()
        result = await tasks.request("tasks/result", {"taskId": id})
        assert text_of(result) == "decline"


async def test_the_client_hears_of_each_status_and_of_progress() -> None:
    demo = Demo()
    router = Router()
    heard: asyncio.Queue[Any] = asyncio.Queue()

    def hear(method: str) -> None:
        @router.method(method)
        async def listen(**params: Any) -> None:
            heard.put_nowait((method, params))

    for each in ("tasks/status", "progress", "message"):
        hear(f"notifications/{each}")
    async with client(demo, "handshake", router) as tasks:
        created = await tasks.request(
            "tools/call",
            {"name": "wait", "arguments": {}, "task": {}, "_meta": {"progressToken": "p"}},
        )
        id = created["task"]["taskId"]
        demo.release.set()
        related = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}}}
        assert await heard.get() == (
            "notifications/progress",
            {"progressToken": "p", "progress": 1, **related},
        )
        assert await heard.get() == (
            "notifications/message",
            {"level": "info", "data": "waiting", **related},
        )
        method, status = await heard.get()
        assert method == "notifications/tasks/status"
        assert status == await tasks.get(id)
        assert status["status"] == "completed"
