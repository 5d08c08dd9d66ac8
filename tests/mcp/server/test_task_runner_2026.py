"""Tasks of 2026-07-28, an extension: the server decides, `tasks/get` has everything."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import Router, RpcError
from tests.mcp.server.asking_client import INFO, client_of, modern, text_of, unchecked
from tests.mcp.server.task_demo import EXTENSION, WITH_TASKS, Demo, TaskClient
from tests.mcp.server.test_task_runner import OVER, client, refused

MISSING = {
    "reason": "capability_not_supported",
    "requiredCapabilities": {"extensions": {EXTENSION: {}}},
}
ACCEPT = {"action": "accept", "content": {"value": "Ada"}}


async def test_the_extension_is_declared_and_nothing_else() -> None:
    async with client_of(Demo().server) as found:
        result = await found.peer.call("server/discover", {"_meta": modern()})
    assert result["capabilities"]["extensions"] == {EXTENSION: {}}
    assert "tasks" not in result["capabilities"]


async def test_the_handle_of_a_task_is_flat() -> None:
    async with client(Demo(ttl_ms=60_000, poll_ms=250), "stateless") as tasks:
        task = await tasks.start("wait")
    assert task == {
        "resultType": "task",
        "_meta": INFO,
        "taskId": task["taskId"],
        "status": "working",
        "createdAt": task["createdAt"],
        "lastUpdatedAt": task["createdAt"],
        "ttlMs": 60_000,
        "pollIntervalMs": 250,
    }


async def test_a_task_that_is_done_has_its_result() -> None:
    demo = Demo()
    async with client(demo, "stateless") as tasks:
        id = (await tasks.start("wait"))["taskId"]
        working = await tasks.get(id)
        demo.release.set()
        done = await tasks.until(id, *OVER)
    assert "result" not in working
    assert done == {
        **working,
        "status": "completed",
        "lastUpdatedAt": done["lastUpdatedAt"],
        "result": {
            "resultType": "complete",
            "_meta": INFO,
            "content": [{"type": "text", "text": "done"}],
        },
    }


async def test_a_tool_that_reports_an_error_has_completed() -> None:
    async with client(Demo(), "stateless") as tasks:
        id = (await tasks.start("fail", {"how": "told"}))["taskId"]
        task = await tasks.until(id, *OVER)
    assert task["status"] == "completed"
    assert task["result"]["isError"] is True


async def test_a_task_that_failed_has_its_error() -> None:
    async with client(Demo(), "stateless") as tasks:
        id = (await tasks.start("fail", {"how": "protocol"}))["taskId"]
        task = await tasks.until(id, *OVER)
    assert task["status"] == "failed"
    assert task["error"] == {"code": -32099, "message": "no such thing", "data": {"a": 1}}


async def test_cancelling_is_acknowledged_and_nothing_more() -> None:
    async with client(Demo(), "stateless") as tasks:
        id = (await tasks.start("wait"))["taskId"]
        empty = {"resultType": "complete", "_meta": INFO}
        assert await tasks.request("tasks/cancel", {"taskId": id}) == empty
        assert await tasks.request("tasks/cancel", {"taskId": id}) == empty
        done = (await tasks.start("quick"))["taskId"]
        await tasks.until(done, "completed")
        assert await tasks.request("tasks/cancel", {"taskId": done}) == empty
        assert (await tasks.get(done))["status"] == "completed"


async def test_clients_without_the_extension_get_plain_results() -> None:
    demo = Demo()
    demo.release.set()
    async with client_of(demo.server) as found:
        assert text_of(await found.tool("wait", _meta=modern())) == "done"
        with pytest.raises(RpcError) as caught:
            await found.tool("quick", _meta=modern())
        assert (caught.value.code, caught.value.data) == (-32021, MISSING)
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            params = {"taskId": "x", "inputResponses": {}, "_meta": modern()}
            if method != "tasks/update":
                del params["inputResponses"]
            with pytest.raises(RpcError) as caught:
                await found.peer.call(method, params)
            assert (caught.value.code, caught.value.data) == (-32021, MISSING)


async def test_what_the_older_form_had_is_gone() -> None:
    async with unchecked(Demo().server) as found:
        tasks = TaskClient(found, "stateless")
        assert await refused(tasks, "tasks/result", "x") == -32601
        assert await refused(tasks, "tasks/list", "x") == -32601
        call = {"name": "greet", "arguments": {}, "task": {"ttl": 1}}
        assert text_of(await tasks.request("tools/call", call)) == "Hello, you!"


async def test_a_task_asks_and_is_answered() -> None:
    async with client(Demo(), "stateless") as tasks:
        id = (await tasks.start("ask"))["taskId"]
        task = await tasks.until(id, "input_required")
        assert task["inputRequests"] == {
            "name": {
                "method": "elicitation/create",
                "params": {
                    "message": "Name?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {"value": {"type": "string"}},
                        "required": ["value"],
                    },
                },
            }
        }
        ignored = await tasks.request(
            "tasks/update", {"taskId": id, "inputResponses": {"other": {"action": "accept"}}}
        )
        assert ignored == {"resultType": "complete", "_meta": INFO}
        assert (await tasks.get(id))["status"] == "input_required"
        answer = {"taskId": id, "inputResponses": {"name": ACCEPT}}
        assert await tasks.request("tasks/update", answer) == ignored
        done = await tasks.until(id, *OVER)
        assert text_of(done["result"]) == "Hello Ada"
        assert await tasks.request("tasks/update", answer) == ignored


async def test_answers_may_come_one_by_one() -> None:
    async with client(Demo(), "stateless") as tasks:
        id = (await tasks.start("ask_two"))["taskId"]
        task = await tasks.until(id, "input_required")
        assert list(task["inputRequests"]) == ["a", "b"]
        await tasks.request("tasks/update", {"taskId": id, "inputResponses": {"a": ACCEPT}})
        task = await tasks.get(id)
        assert (task["status"], list(task["inputRequests"])) == ("input_required", ["b"])
        await tasks.request("tasks/update", {"taskId": id, "inputResponses": {"b": ACCEPT}})
        assert text_of((await tasks.until(id, *OVER))["result"]) == "AdaAda"


async def test_what_is_no_answer_is_refused_and_the_question_stays() -> None:
    async with client(Demo(), "stateless") as tasks:
        id = (await tasks.start("ask"))["taskId"]
        await tasks.until(id, "input_required")
        for wrong in ({"action": "accept", "content": {"value": 1}}, {"action": "accept"}):
            responses = {"name": wrong}
            assert await refused(tasks, "tasks/update", id, inputResponses=responses) == -32602
        assert (await tasks.get(id))["status"] == "input_required"


async def test_a_task_that_asks_can_be_cancelled() -> None:
    demo = Demo()
    async with client(demo, "stateless") as tasks:
        id = (await tasks.start("ask"))["taskId"]
        await tasks.until(id, "input_required")
        await tasks.request("tasks/cancel", {"taskId": id})
        task = await tasks.get(id)
        assert (task["status"], "inputRequests" in task) == ("cancelled", False)
    assert demo.server.core.tasks.running == 0


async def test_questions_before_a_task_begins_are_asked_in_rounds() -> None:
    demo = Demo()
    async with client(demo, "stateless") as tasks:
        call = {"name": "ask_first", "arguments": {}}
        first = await tasks.request("tools/call", call)
        assert (first["resultType"], "taskId" in first) == ("input_required", False)
        second = await tasks.request(
            "tools/call",
            {
                **call,
                "inputResponses": {"name": ACCEPT},
                "requestState": first["requestState"],
            },
        )
        assert (second["resultType"], second["status"]) == ("task", "working")
        assert not {"requestState", "inputRequests"} & second.keys()
        demo.release.set()
        id = second["taskId"]
        task = await tasks.until(id, "input_required")
        assert list(task["inputRequests"]) == ["color"]
        color = {"action": "accept", "content": {"value": "red"}}
        await tasks.request("tasks/update", {"taskId": id, "inputResponses": {"color": color}})
        assert text_of((await tasks.until(id, *OVER))["result"]) == "Ada red"
    assert demo.server.core.tasks.running == 0


async def test_a_call_that_has_not_become_a_task_ends_with_its_caller() -> None:
    demo = Demo()
    begun, stopped = asyncio.Event(), asyncio.Event()

    @demo.server.tool(task="required", starts_task=True)
    async def never() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    async with client(demo, "stateless") as tasks:
        call = tasks.client.peer.begin(
            "tools/call", {"name": "never", "arguments": {}, "_meta": modern(WITH_TASKS)}
        )
        await begun.wait()
        await tasks.client.peer.notify("notifications/cancelled", {"requestId": call.id})
        await stopped.wait()
        call.cancel()


async def test_a_client_can_listen_to_its_tasks() -> None:
    demo = Demo()
    router = Router()
    heard: asyncio.Queue[Any] = asyncio.Queue()

    def hear(method: str) -> None:
        @router.method(method)
        async def listen(**params: Any) -> None:
            heard.put_nowait((method, params))

    for each in ("tasks", "subscriptions/acknowledged", "progress", "message"):
        hear(f"notifications/{each}")
    async with client(demo, "stateless", router) as tasks:
        id = (await tasks.start("ask"))["taskId"]
        await tasks.until(id, "input_required")
        listening = tasks.client.peer.begin(
            "subscriptions/listen",
            {"notifications": {"taskIds": [id, "unknown", id]}, "_meta": modern(WITH_TASKS)},
        )
        subscription = {"io.modelcontextprotocol/subscriptionId": listening.id}
        assert await heard.get() == (
            "notifications/subscriptions/acknowledged",
            {"_meta": subscription, "notifications": {"taskIds": [id]}},
        )
        await tasks.request("tasks/update", {"taskId": id, "inputResponses": {"name": ACCEPT}})
        method, working = await heard.get()
        assert (method, working["status"]) == ("notifications/tasks", "working")
        _, done = await heard.get()
        told = await tasks.get(id)
        del told["resultType"]
        assert done == {**told, "_meta": subscription}
        listening.cancel()
    assert heard.empty()


async def test_only_clients_with_the_extension_can_listen_to_tasks() -> None:
    async with client_of(Demo().server) as found:
        with pytest.raises(RpcError) as caught:
            await found.peer.call(
                "subscriptions/listen",
                {"notifications": {"taskIds": ["x"]}, "_meta": modern()},
            )
    assert (caught.value.code, caught.value.data) == (-32021, MISSING)
