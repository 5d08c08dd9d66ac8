"""Cancelling calls as the Language Server Protocol has it, with vscode-jsonrpc at the other end.

JSON-RPC itself knows no cancellation, so neither does Accord: this is what a program adds.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from accord import Router, connect, serve
from accord.jsonrpc.protocol.messages import Id
from tests.interop.programs import driving, peer, serving

REQUEST_CANCELLED = -32800
"""The Language Server Protocol's code."""


def cancellable() -> Router:
    """A router whose calls can be cancelled, as the page tells to write it."""
    page = (Path(__file__).parents[2] / "docs" / "interop.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [recipe] = [block for block in blocks if '@router.method("$/cancelRequest")' in block]
    names: dict[str, Any] = {}
    exec(recipe.partition("async def main")[0], names)
    router: Router = names["router"]
    router.add(lambda a, b: a + b, "add")
    return router


def their_client(url: str, steps: list[Any], packages: Path) -> list[Any]:
    """What comes of the steps of a client on vscode-jsonrpc."""
    where = urlsplit(url)
    command = [*peer("vscode.js"), "call", "tcp", str(where.hostname), str(where.port)]
    with driving(command, packages=packages) as client:
        return client.run(steps)


@pytest.mark.req("F-15")
async def test_a_call_that_they_cancel_is_cancelled_here(packages: Path) -> None:
    router = cancellable()
    ended = asyncio.Event()

    @router.method
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serve(router, "tcp://127.0.0.1:0", framing="content-length") as server:
        steps = [{"cancel": "wait", "params": []}, {"call": "add", "params": [1, 2]}]
        came = await asyncio.to_thread(their_client, server.url, steps, packages)
    assert came == [
        {"error": {"code": REQUEST_CANCELLED, "message": "cancelled"}},
        {"result": 3},
    ]
    assert ended.is_set()


@pytest.mark.req("F-15", "O-16")
async def test_notifications_at_once_are_no_trouble_for_the_recipe(
    caplog: pytest.LogCaptureFixture,
) -> None:
    router = cancellable()
    begun, ended, go_on = asyncio.Semaphore(0), asyncio.Semaphore(0), asyncio.Event()

    @router.method
    async def note() -> None:
        begun.release()
        await go_on.wait()
        ended.release()

    async with serve(router, "memory:recipe"), connect("memory:recipe") as other:
        await other.notify("$/cancelRequest", {"id": 7})  # before anything ran
        for _ in range(2):
            await other.notify("note")
        for _ in range(2):
            await begun.acquire()
        go_on.set()
        for _ in range(2):
            await ended.acquire()
        assert await other.call("add", [1, 2]) == 3
    assert [each.getMessage() for each in caplog.records] == []


@pytest.mark.req("F-15", "O-16")
async def test_ids_that_come_twice_are_no_trouble_for_the_recipe() -> None:
    router = cancellable()
    begun, go_on = asyncio.Semaphore(0), asyncio.Event()

    @router.method
    async def wait() -> str:
        begun.release()
        await go_on.wait()
        return "done"

    async with serve(router, "tcp://127.0.0.1:0") as server:
        where = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(b'{"jsonrpc":"2.0","id":1,"method":"wait"}\n' * 2)
        for _ in range(2):
            await begun.acquire()
        go_on.set()
        answers = [json.loads(await reader.readline()) for _ in range(2)]
        writer.close()
        await writer.wait_closed()
    assert [answer["result"] for answer in answers] == ["done", "done"]


@pytest.mark.req("F-15")
async def test_a_call_that_they_cancel_runs_on_where_nobody_cares(packages: Path) -> None:
    router = Router()
    router.add(lambda a, b: a + b, "add")

    @router.method
    async def slow() -> str:
        await asyncio.sleep(0.1)
        return "done"

    async with serve(router, "tcp://127.0.0.1:0", framing="content-length") as server:
        steps = [{"cancel": "slow", "params": []}]
        came = await asyncio.to_thread(their_client, server.url, steps, packages)
    assert came == [{"result": "done"}]


@pytest.mark.req("F-15")
async def test_a_call_that_we_give_up_is_cancelled_there(packages: Path) -> None:
    told: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()
    key = str(uuid4())

    with serving([*peer("vscode.js"), "serve", "tcp"], packages=packages) as url:
        async with connect(url, framing="content-length") as other:

            def tell(id: Id, method: str) -> None:
                notify = other.notify("$/cancelRequest", {"id": id})
                told.put_nowait(asyncio.get_running_loop().create_task(notify))

            other.on_abandoned = tell
            call = other.begin("wait_for_cancellation", [key])
            assert await other.call("notes", [key]) == []
            call.cancel()
            await (await told.get())
            assert await other.call("notes", [key]) == ["cancelled"]
            assert other.statistics.answers_late == 1
