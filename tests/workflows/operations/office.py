"""An installation without a server, people who call its operations, and an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from accord.a2a.demo import DemoAgent
from accord.a2a.server.serving import serve
from accord.app.engine import open_engine
from accord.app.runtime import Runtime, open_runtime
from accord.app.settings import Settings
from accord.operations.arguments import convert
from accord.operations.context import Caller, Role
from accord.operations.operation import Outcome
from accord.workflows.operations.run_views import Run
from tests.patience import PATIENCE as PATIENCE

KEY = "a key of the tests that is long enough for everything that is derived from it"
PEOPLE: dict[str, Role] = {
    "ada": "Administrator",
    "uma": "User",
    "otto": "User",
    "carl": "Commenter",
}

ECHO = {
    "name": "echo",
    "steps": [{"name": "ask", "type": "agent", "agent": "demo", "input": "${input}"}],
}
GATE = {
    "name": "gate",
    "steps": [{"name": "ok", "type": "wait", "approval": {"by": ["uma", "administrator"]}}],
    "output": "${steps.ok.output.reason}",
}


class Office:
    """An installation for tests of operations."""

    def __init__(self, local: Runtime, settings: Settings, people: dict[str, Caller]) -> None:
        self.local = local
        self.settings = settings
        self.people = people

    async def outcome(
        self, operation: str, by: str | Caller = "ada", /, **arguments: Any
    ) -> Outcome:
        found = self.local.runner.registry[operation]
        caller = by if isinstance(by, Caller) else self.people[by]
        return await self.local.runner.run(found, lambda: convert(found, arguments), caller)

    async def call(self, operation: str, by: str | Caller = "ada", /, **arguments: Any) -> Any:
        return (await self.outcome(operation, by, **arguments)).result

    async def save(self, *definitions: dict[str, Any]) -> None:
        for each in definitions:
            await self.call("create_workflow", definition=each)

    async def start(self, name: str, input: Any = None, by: str | Caller = "ada") -> str:
        id: str = (await self.call("run_workflow", by, name=name, input=input)).id
        return id

    async def until(self, id: str, *states: str) -> Run:
        """A run, once it is in one of these states."""
        async with asyncio.timeout(PATIENCE):
            while True:
                run: Run = await self.call("get_run", id=id)
                if run.state in states:
                    return run
                await asyncio.sleep(0.01)

    async def ended(self, id: str) -> Run:
        async with asyncio.timeout(PATIENCE):
            await self.local.watch.wait(id, None)
        run: Run = await self.call("get_run", id=id)
        return run

    async def until_event(self, id: str, type: str, times: int) -> Run:
        """A run, once something happened in it so often."""
        async with asyncio.timeout(PATIENCE):
            while True:
                events = (await self.call("get_run_history", id=id, limit=100)).items
                if sum(event.type == type for event in events) >= times:
                    run: Run = await self.call("get_run", id=id)
                    return run
                await asyncio.sleep(0.01)

    def token(self, name: str, *scopes: Any, id: str = "") -> Caller:
        """Somebody as a program with such a token calls in their name."""
        return replace(self.people[name], via="token", scopes=frozenset(scopes), token_id=id)


@asynccontextmanager
async def open_office(folder: Path, url: str, **settings: Any) -> AsyncIterator[Office]:
    """An office on a database that is migrated; nobody executes runs."""
    shared = url.startswith("postgresql")
    chosen = Settings(
        data=str(folder),
        database=url if shared else "",
        secret_key=KEY if shared else "",
        **{"allow_private_agents": True, **settings},
    )
    async with open_runtime(chosen) as local:
        people = {}
        for name, role in PEOPLE.items():
            user = (await local.run("create_user", username=name, role=role)).result
            people[name] = Caller(
                user_id=user.id, username=name, role=role, via="session", face="rest"
            )
        yield Office(local, chosen, people)


@asynccontextmanager
async def executing(office: Office) -> AsyncIterator[str]:
    """Runs are executed, and the agent demo is there; its URL."""
    async with AsyncExitStack() as stack:
        serving = await stack.enter_async_context(serve(DemoAgent("demo"), "http://127.0.0.1:0/"))
        await stack.enter_async_context(open_engine(office.settings, office.local))
        await office.call("create_agent", name="demo", url=serving.url)
        yield serving.url
