"""Tasks, in both forms: what is the same in both, over a connection in memory."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord import Router, RpcError
from accord.jsonrpc.methods.context import Context as RpcContext
from accord.mcp import Context
from accord.mcp.server.session import Principal, link_of
from accord.mcp.server.task_store import MemoryTaskStore
from tests.mcp.server.asking_client import client_of
from tests.mcp.server.task_demo import Demo, TaskClient

ERAS = pytest.mark.parametrize("era", ["handshake", "stateless"])
OVER = ("completed", "failed", "cancelled")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@asynccontextmanager
async def client(demo: Demo, era: str, router: Router | None = None) -> AsyncIterator[TaskClient]:
    async with client_of(demo.server, router) as found:
        tasks = TaskClient(found, era)
        await tasks.prepare()
        yield tasks


async def refused(tasks: TaskClient, method: str, id: str, **params: Any) -> int:
    with pytest.raises(RpcError) as caught:
        await tasks.request(method, {"taskId": id, **params})
    return caught.value.code


@pytest.mark.req("M-07")
@ERAS
async def test_a_call_goes_on_after_its_answer(era: str) -> None:
    demo = Demo()
    async with client(demo, era) as tasks:
        task = await tasks.start("wait", {"text": "ready"})
        assert task["status"] == "working"
        assert TIME.fullmatch(task["createdAt"])
        assert (await tasks.get(task["taskId"]))["status"] == "working"
        demo.release.set()
        assert (await tasks.until(task["taskId"], *OVER))["status"] == "completed"


@ERAS
async def test_a_task_can_be_cancelled_and_stays_so(era: str) -> None:
    demo = Demo()
    async with client(demo, era) as tasks:
        id = (await tasks.start("wait"))["taskId"]
        await demo.begun.wait()
        await tasks.request("tasks/cancel", {"taskId": id})
        await demo.stopped.wait()
        assert (await tasks.get(id))["status"] == "cancelled"
        demo.release.set()
        assert (await tasks.get(id))["status"] == "cancelled"
        assert demo.server.core.tasks.running == 0


@ERAS
async def test_a_task_that_does_not_exist_is_not_found(era: str) -> None:
    async with client(Demo(), era) as tasks:
        methods = ["tasks/get", "tasks/cancel"]
        if era == "handshake":
            methods.append("tasks/result")
        for method in methods:
            assert await refused(tasks, method, "unknown") == -32602


@ERAS
async def test_a_task_of_another_principal_is_not_there(era: str) -> None:
    demo = Demo()
    who = [Principal(subject="ada")]

    @demo.server.router.intercept
    async def authenticate(context: RpcContext, proceed: Any) -> Any:
        link_of(context).principal = who[0]
        return await proceed()

    async with client(demo, era) as tasks:
        id = (await tasks.start("wait"))["taskId"]
        assert (await tasks.get(id))["status"] == "working"
        who[0] = Principal(subject="eve")
        assert await refused(tasks, "tasks/get", id) == -32602
        assert await refused(tasks, "tasks/cancel", id) == -32602
        if era == "handshake":
            assert await refused(tasks, "tasks/result", id) == -32602
            assert (await tasks.request("tasks/list", {}))["tasks"] == []
        else:
            assert await refused(tasks, "tasks/update", id, inputResponses={}) == -32602
        who[0] = Principal(subject="ada")
        assert (await tasks.get(id))["status"] == "working"
        await tasks.request("tasks/cancel", {"taskId": id})


async def test_a_session_without_a_principal_has_its_own_tasks_which_go_with_it() -> None:
    demo = Demo()
    async with client(demo, "handshake") as one, client(demo, "handshake") as other:
        id = (await one.start("wait"))["taskId"]
        await demo.begun.wait()
        assert await refused(other, "tasks/get", id) == -32602
        assert await refused(other, "tasks/cancel", id) == -32602
        assert await refused(other, "tasks/result", id) == -32602
        assert (await other.request("tasks/list", {}))["tasks"] == []
        await one.client.peer.close()
        await demo.stopped.wait()
    store = demo.server.core.tasks.store
    assert isinstance(store, MemoryTaskStore)
    assert len(store) == 0


@ERAS
async def test_ids_of_tasks_cannot_be_guessed(era: str) -> None:
    async with client(Demo(), era) as tasks:
        ids = {(await tasks.start("quick"))["taskId"] for _ in range(20)}
    assert len(ids) == 20
    assert all(len(id) == 32 for id in ids)


@ERAS
async def test_tasks_are_forgotten_when_their_time_is_over(era: str) -> None:
    demo = Demo(ttl_ms=50)
    async with client(demo, era) as tasks:
        id = (await tasks.start("wait"))["taskId"]
        await demo.stopped.wait()
        assert await refused(tasks, "tasks/get", id) == -32602
    store = demo.server.core.tasks.store
    assert isinstance(store, MemoryTaskStore)
    assert len(store) == 0


@ERAS
async def test_there_are_only_so_many_tasks(era: str) -> None:
    for settings in ({"max_tasks": 2}, {"max_tasks_per_owner": 2}):
        async with client(Demo(**settings), era) as tasks:
            for _ in range(2):
                await tasks.start("wait")
            with pytest.raises(RpcError) as caught:
                await tasks.start("wait")
        assert caught.value.code == -32603
        assert caught.value.data == {"reason": "max_concurrent_tasks"}


@ERAS
async def test_tasks_end_with_their_server(era: str) -> None:
    demo = Demo()
    async with client(demo, era) as tasks:
        id = (await tasks.start("wait"))["taskId"]
        await demo.begun.wait()
        demo.server.closing.set()
        await demo.stopped.wait()
        assert (await tasks.until(id, *OVER))["status"] == "cancelled"
    assert demo.server.core.tasks.running == 0


@ERAS
async def test_a_failure_is_told_and_no_more_than_that(era: str) -> None:
    async with client(Demo(), era) as tasks:
        id = (await tasks.start("fail", {"how": "protocol"}))["taskId"]
        task = await tasks.until(id, *OVER)
        assert (task["status"], task["statusMessage"]) == ("failed", "no such thing")
        hidden = await tasks.until((await tasks.start("fail", {"how": "no"}))["taskId"], *OVER)
        assert "secret" not in str(hidden)


@ERAS
async def test_many_tasks_do_not_get_into_each_others_way(era: str) -> None:
    demo = Demo()
    async with client(demo, era) as tasks:
        started = await asyncio.gather(
            *(tasks.start("wait", {"text": str(number)}) for number in range(50))
        )
        demo.release.set()
        for number, each in enumerate(started):
            await tasks.until(each["taskId"], "completed")
            if era == "handshake":
                result = await tasks.request("tasks/result", {"taskId": each["taskId"]})
            else:
                result = (await tasks.get(each["taskId"]))["result"]
            assert result["content"][0]["text"] == str(number)


@ERAS
async def test_tasks_go_on_behind_middleware(era: str) -> None:
    demo = Demo()
    done: list[int] = []

    @demo.server.middleware
    async def look(request: Any, proceed: Any) -> Any:
        return await proceed()

    @demo.server.tool(task="optional")
    async def effect(context: Context) -> str:
        async def slow() -> int:
            await demo.release.wait()
            done.append(1)
            return 7

        return str(await context.once("slow", slow))

    async with client(demo, era) as tasks:
        id = (await tasks.start("effect"))["taskId"]
        await tasks.get(id)
        demo.release.set()
        assert (await tasks.until(id, *OVER))["status"] == "completed"
    assert done == [1]
