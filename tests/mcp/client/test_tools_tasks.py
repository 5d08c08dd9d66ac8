"""Calls that go on after their answer, in both forms, with servers that do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from accord import RpcError
from accord.jsonrpc.protocol.errors import CallTimeoutError, InvalidResultError
from accord.mcp import Client
from tests.mcp.client.scripted import complete, legacy, modern, text, watched_server

TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
TOOL_TASKS: dict[str, Any] = {"tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}
TIMES = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}


def task(status: str, **members: Any) -> dict[str, Any]:
    return {
        "taskId": "t1",
        "status": status,
        **TIMES,
        "ttlMs": None,
        "pollIntervalMs": 1,
        **members,
    }


def old_task(status: str, **members: Any) -> dict[str, Any]:
    return {"taskId": "t1", "status": status, **TIMES, "ttl": None, "pollInterval": 1, **members}


def created(**members: Any) -> dict[str, Any]:
    return {"resultType": "task", **task("working", **members)}


def steps(*tasks: dict[str, Any]) -> Any:
    left: Iterator[dict[str, Any]] = iter(tasks)
    return lambda params: complete(**next(left))


@pytest.mark.req("M-07")
async def test_a_call_that_the_server_makes_a_task_of_is_waited_for() -> None:
    server = modern(
        {
            "tools/call": lambda params: created(),
            "tasks/get": steps(task("working"), task("completed", result=text("done"))),
        },
        **TASKS,
    )
    async with watched_server(server) as (url, _), Client(url) as client:
        assert (await client.call_tool("x")).text == "done"
    assert server.methods() == ["server/discover", "tools/call", "tasks/get", "tasks/get"]


async def test_a_task_is_started_and_its_result_waited_for() -> None:
    server = modern(
        {
            "tools/call": lambda params: created(statusMessage="begun"),
            "tasks/get": steps(
                task("working"),
                task("completed", result=text("done", structuredContent={"n": 1})),
            ),
        },
        **TASKS,
    )
    async with Client(server) as client:
        running = await client.call_tool("x", task=True, into=dict[str, int])
        assert (running.id, running.status, running.message) == ("t1", "working", "begun")
        assert await running.refresh() == "working"
        assert (await running.result()).structured == {"n": 1}
        assert running.status == "completed"


async def test_a_server_may_answer_at_once() -> None:
    server = modern({"tools/call": lambda params: complete(**text("done"))}, **TASKS)
    async with Client(server) as client:
        running = await client.call_tool("x", task=True)
        assert running.status == "completed"
        assert await running.refresh() == "completed"
        await running.cancel()
        assert (await running.result()).text == "done"
    assert server.methods() == ["server/discover", "tools/call"]


async def test_a_task_asks_and_no_question_is_put_twice() -> None:
    asked = []

    def fill_in(form: Any) -> dict[str, Any]:
        asked.append(form.message)
        return {"name": "anna"}

    form = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
    one = {"q1": {"method": "elicitation/create", "params": form}}
    two = {**one, "q2": {"method": "roots/list"}}
    server = modern(
        {
            "tools/call": lambda params: created(),
            "tasks/get": steps(
                task("input_required", inputRequests=one),
                task("input_required", inputRequests=one),
                task("input_required", inputRequests=two),
                task("completed", result=text("done")),
            ),
            "tasks/update": lambda params: complete(),
        },
        **TASKS,
    )
    async with (
        watched_server(server) as (url, _),
        Client(url, elicitation=fill_in, roots=[]) as client,
    ):
        assert (await client.call_tool("x")).text == "done"
    assert asked == ["Who?"]
    assert [
        params["inputResponses"] for name, params in server.heard if name == "tasks/update"
    ] == [
        {"q1": {"action": "accept", "content": {"name": "anna"}}},
        {"q2": {"roots": []}},
    ]


async def test_a_task_that_fails_or_is_cancelled() -> None:
    error = {"code": -32050, "message": "no", "data": [1]}
    server = modern(
        {
            "tools/call": lambda params: created(),
            "tasks/get": steps(task("failed", error=error), task("cancelled")),
        },
        **TASKS,
    )
    async with Client(server) as client:
        with pytest.raises(RpcError) as failed:
            await client.call_tool("x")
        assert (failed.value.code, failed.value.data, failed.value.remote) == (-32050, [1], True)
        with pytest.raises(RpcError) as cancelled:
            await client.call_tool("x")
        assert cancelled.value.code == -32084


async def test_a_task_is_cancelled_with_its_caller() -> None:
    polled = asyncio.Event()

    def get(params: dict[str, Any]) -> Any:
        polled.set()
        return complete(**task("working", pollIntervalMs=60_000))

    server = modern(
        {
            "tools/call": lambda params: created(),
            "tasks/get": get,
            "tasks/cancel": lambda params: complete(),
        },
        **TASKS,
    )
    async with Client(server) as client:
        caller = asyncio.create_task(client.call_tool("x"))
        await polled.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        running = client.task("t1")
        with pytest.raises(CallTimeoutError):
            await running.result(timeout=0.02)
        await running.cancel()
    assert server.methods()[-4:] == ["tasks/get", "tasks/cancel", "tasks/get", "tasks/cancel"]


async def test_waiting_ends_when_the_task_has_outlived_its_time() -> None:
    server = modern(
        {
            "tools/call": lambda params: created(ttlMs=30),
            "tasks/get": lambda params: complete(**task("working", ttlMs=30)),
        },
        **TASKS,
    )
    async with Client(server) as client:
        running = await client.call_tool("x", task=True)
        with pytest.raises(CallTimeoutError, match=r"within 0\.03 s"):
            await running.result()


@pytest.mark.req("M-07")
async def test_a_task_of_the_handshake_era() -> None:
    server = legacy(
        {
            "tools/call": lambda params: {"task": old_task("working")},
            "tasks/get": steps_plain(old_task("working"), old_task("completed")),
            "tasks/result": lambda params: text("done"),
            "tasks/cancel": lambda params: old_task("cancelled"),
        },
        **TOOL_TASKS,
    )
    async with watched_server(server) as (url, _), Client(url, mode="legacy") as client:
        running = await client.call_tool("x", {"a": 1}, task=True, ttl=60)
        assert (running.id, running.status) == ("t1", "working")
        assert (await running.result()).text == "done"
        await running.cancel()
    assert server.heard[2:] == [
        ("tools/call", {"name": "x", "arguments": {"a": 1}, "task": {"ttl": 60_000}}),
        ("tasks/get", {"taskId": "t1"}),
        ("tasks/get", {"taskId": "t1"}),
        ("tasks/result", {"taskId": "t1"}),
        ("tasks/cancel", {"taskId": "t1"}),
    ]


def steps_plain(*tasks: dict[str, Any]) -> Any:
    left = iter(tasks)
    return lambda params: next(left)


async def test_a_task_of_the_handshake_era_asks_while_its_result_is_waited_for() -> None:
    async def result(params: dict[str, Any]) -> Any:
        roots = await server.peer.call("roots/list", {})
        return text(str(len(roots["roots"])))

    server = legacy(
        {
            "tools/call": lambda params: {"task": old_task("working")},
            "tasks/get": lambda params: old_task("input_required"),
            "tasks/result": result,
        },
        **TOOL_TASKS,
    )
    async with Client(server, mode="legacy", roots=["file:///a"]) as client:
        running = await client.call_tool("x", task=True)
        assert (await running.result()).text == "1"


async def test_a_cancelled_task_of_the_handshake_era() -> None:
    server = legacy({"tasks/get": lambda params: old_task("cancelled")}, **TOOL_TASKS)
    async with Client(server, mode="legacy") as client:
        with pytest.raises(RpcError) as error:
            await client.task("t1").result()
        assert error.value.code == -32084


async def test_tasks_that_the_server_does_not_declare_are_refused_here() -> None:
    async with Client(legacy({}), mode="legacy") as client:
        with pytest.raises(RpcError) as error:
            await client.call_tool("x", task=True)
        assert error.value.code == -32004
        with pytest.raises(RpcError):
            client.task("t1")
    async with Client(modern({})) as client:
        with pytest.raises(RpcError):
            client.task("t1")


async def test_a_task_that_makes_no_sense_is_refused() -> None:
    server = modern(
        {"tools/call": lambda params: created(), "tasks/get": lambda params: task("odd")}, **TASKS
    )
    async with Client(server) as client:
        with pytest.raises(InvalidResultError):
            await client.call_tool("x")
