"""A server whose tools run as tasks, and a client that looks after them."""

from __future__ import annotations

import asyncio
from typing import Any

from accord import RpcError
from accord.mcp import Accepted, Context, Elicit, Server, ToolError
from accord.mcp.server.task_store import TaskSettings
from tests.mcp.server.asking_client import ALL, Client, modern

EXTENSION = "io.modelcontextprotocol/tasks"
WITH_TASKS = {**ALL, "extensions": {EXTENSION: {}}}


class Demo:
    """What tests need to see of the server's inside."""

    def __init__(self, **settings: Any) -> None:
        self.server = Server("demo", version="1", tasks=TaskSettings(**settings))
        self.release = asyncio.Event()
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()
        self._declare()

    def _declare(self) -> None:
        server = self.server

        @server.tool
        async def greet(name: str = "you") -> str:
            return f"Hello, {name}!"

        @server.tool(task="optional")
        async def wait(context: Context, text: str = "done") -> str:
            self.begun.set()
            try:
                context.progress(1)
                context.info("waiting")
                await self.release.wait()
            finally:
                self.stopped.set()
            return text

        @server.tool(task="required")
        async def quick() -> str:
            return "quick"

        @server.tool(task="optional")
        async def fail(how: str) -> str:
            if how == "told":
                raise ToolError("the disk is full")
            if how == "protocol":
                raise RpcError("no such thing", code=-32099, data={"a": 1})
            raise OSError("secret")

        @server.tool(task="optional")
        async def ask(context: Context) -> str:
            name = await context.elicit("Name?", str, key="name")
            return f"Hello {name.content}" if isinstance(name, Accepted) else name.action

        @server.tool(task="optional")
        async def ask_two(context: Context) -> str:
            found = await context.ask(a=Elicit("A?", str), b=Elicit("B?", str))
            return f"{found['a'].content}{found['b'].content}"

        @server.tool(task="required", starts_task=True)
        async def ask_first(context: Context) -> str:
            name = await context.elicit("Name?", str, key="name")
            await context.start_task()
            await self.release.wait()
            color = await context.elicit("Color?", str, key="color")
            assert isinstance(name, Accepted)
            return f"{name.content} {color.content if isinstance(color, Accepted) else '?'}"


class TaskClient:
    """Calls tools as tasks in one era."""

    def __init__(self, client: Client, era: str) -> None:
        self.client = client
        self.is_modern = era == "stateless"

    async def prepare(self) -> None:
        if not self.is_modern:
            await self.client.shake_hands()

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        if self.is_modern:
            params = {**params, "_meta": {**modern(WITH_TASKS), **params.get("_meta", {})}}
        return await self.client.peer.call(method, params)

    async def start(self, tool: str, arguments: dict[str, Any] | None = None, **task: Any) -> Any:
        """The handle of a new task."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments or {}}
        if not self.is_modern:
            params["task"] = task
        result = await self.request("tools/call", params)
        return result if self.is_modern else result["task"]

    async def get(self, id: str) -> Any:
        return await self.request("tasks/get", {"taskId": id})

    async def until(self, id: str, *statuses: str) -> Any:
        """The task when it has one of these statuses; events on the server decide when."""
        while True:
            found = await self.get(id)
            if found["status"] in statuses:
                return found
            await asyncio.sleep(0)
