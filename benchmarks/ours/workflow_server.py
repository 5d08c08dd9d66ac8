"""`accord serve` with an agent, a workflow of so many steps, and two that wait. Prints its port,
then a token. Each number on stdin starts so many runs of the steps, and is answered when all of
them are done.

    python -m benchmarks.ours.workflow_server DATA AGENT_PORT STEPS [DATABASE_URL [BUS]]
"""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from accord.app.runtime import Runtime, open_runtime
from accord.app.settings import Settings
from accord.app.system import System, open_system, prepare
from accord.operations.arguments import convert
from accord.operations.context import Caller
from accord.store.store import Store
from accord.transports.serve import run_until_stopped

LOOK_SECONDS: Final = 0.1
FINISHED: Final = "SELECT count(*) AS runs FROM runs WHERE finished_at >= $1"
SIGNAL: Final = {"name": "rest", "type": "wait", "signal": "go"}
APPROVAL: Final = {"name": "rest", "type": "wait", "approval": {"by": ["administrator"]}}
FAILED: Final = "SELECT count(*) AS runs FROM runs WHERE status = 'failed'"


class Operator:
    """Calls operations as the administrator."""

    def __init__(self, local: Runtime, caller: Caller) -> None:
        self._runner = local.runner
        self._caller = caller

    async def do(self, name: str, /, **arguments: Any) -> Any:
        operation = self._runner.registry[name]
        asked = convert(operation, arguments)
        return (await self._runner.run(operation, asked, self._caller)).result


async def operator(local: Runtime) -> Operator:
    [row] = await local.store.fetch("SELECT id, username FROM users")
    caller = Caller(
        user_id=row["id"],
        username=row["username"],
        role="Administrator",
        via="local",
        face="cli",
    )
    return Operator(local, caller)


async def prepared(settings: Settings, port: int, steps: int) -> str:
    """Make a database with an agent and workflows; the administrator's token."""
    first = await prepare(settings)
    assert first is not None, "the database is not new"
    async with open_runtime(settings) as local:
        does = (await operator(local)).do
        url = f"http://127.0.0.1:{port}/"
        await does("create_agent", name="instant", url=url, wire="a2a-1.0", max_concurrency=256)
        each = {"type": "agent", "agent": "instant", "input": {"text": "${input}"}}
        named = [{"name": f"step-{number}", **each} for number in range(1, steps + 1)]
        for name, list in {"steps": named, "signal": [SIGNAL], "approval": [APPROVAL]}.items():
            await does("create_workflow", definition={"name": name, "steps": list})
        token = await local.run("create_token", user=first.username, name="benchmark")
    return str(token.result.token)


async def run_many(store: Store, does: Operator, count: int) -> None:
    """Start runs and wait until all of them are done."""
    began = time.time()
    await asyncio.gather(*(does.do("run_workflow", name="steps", input="Go") for _ in range(count)))
    finished = 0
    while finished < count:
        await asyncio.sleep(LOOK_SECONDS)
        [row] = await store.fetch(FINISHED, began)
        finished = row["runs"]
    [row] = await store.fetch(FAILED)
    assert row["runs"] == 0, f"{row['runs']} runs failed"


async def obey(local: Runtime) -> None:
    """Do what stdin says."""
    loop = asyncio.get_running_loop()
    does = await operator(local)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        await run_many(local.store, does, int(line))
        print("done", flush=True)


def main(data: str, port: str, steps: str, database: str = "", bus: str = "embedded") -> None:
    settings = Settings(
        data=data,
        port=0,
        database=database,
        secret_key="0" * 64 if database else "",
        bus=bus,
        allow_private_agents=True,
        rate_limit=0,
        log_level="error",
    )
    token = asyncio.run(prepared(settings, int(port), int(steps)))
    obeying: list[asyncio.Task[None]] = []

    def announce(system: System) -> None:
        print(urlsplit(system.url).port, flush=True)
        print(token, flush=True)
        obeying.append(asyncio.get_running_loop().create_task(obey(system.runtime)))

    run_until_stopped(partial(open_system, settings), announce)


main(*sys.argv[1:])
