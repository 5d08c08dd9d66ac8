"""What is left of a server whose tasks have time left: nothing."""

from __future__ import annotations

import gc
import weakref

from accord.mcp import Client, Server


async def test_a_task_that_may_stay_for_an_hour_keeps_no_server_that_is_gone() -> None:
    server = Server("jobs")

    @server.tool(task="optional")
    async def job() -> str:
        return "done"

    async with Client(server) as client:
        task = await client.call_tool("job", task=True)
        assert (await task.result()).text == "done"
    gone = weakref.ref(server)
    del server, job, client, task
    gc.collect()
    assert gone() is None
