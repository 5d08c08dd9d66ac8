"""A system with workflows and people, called as an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from accord.a2a import Bearer, Client, Message, Task, TextPart
from accord.a2a.demo import DemoAgent
from accord.app.runtime import open_runtime
from accord.app.settings import Settings
from accord.app.system import System, open_system
from tests.a2a.scripted import LOCAL

GREET = {
    "name": "greet",
    "description": "Greets somebody.",
    "input": {"type": "object", "required": ["text"]},
    "steps": [{"name": "pause", "type": "wait", "for": 0.01}],
    "output": "Hello ${input.text}",
}
COUNT = {
    "name": "count",
    "steps": [{"name": "pause", "type": "wait", "for": 0.01}],
    "output": {"given": "${input}"},
}
SIGNAL = {"name": "listen", "steps": [{"name": "hear", "type": "wait", "signal": "go"}]}
APPROVE = {
    "name": "approve",
    "steps": [{"name": "gate", "type": "wait", "approval": {"by": ["administrator"]}}],
    "output": "${steps.gate.output.reason}",
}
ASK = {
    "name": "ask",
    "steps": [{"name": "city", "type": "agent", "agent": "demo", "input": "ask Which city?"}],
}
BREAK = {
    "name": "break",
    "steps": [{"name": "no", "type": "agent", "agent": "demo", "input": "fail badly"}],
}
LONG = {"name": "long", "steps": [{"name": "pause", "type": "wait", "for": 3600}]}
ALL = (GREET, COUNT, SIGNAL, APPROVE, ASK, BREAK, LONG)


class Running(Struct, frozen=True):
    """A system with workflows, and tokens for it."""

    system: System
    token: str
    other: str
    """Of somebody else, who may do as much."""
    password: str
    """Of the first person, who owns `token`."""

    async def sign_in(self) -> str:
        """Begin a login session of the first person; its token."""
        signed_in = await self.system.runtime.accounts.sign_in("admin", self.password)
        return signed_in.token

    @property
    def url(self) -> str:
        return f"{self.system.url}/a2a"

    def client(self, token: str | None = None, **options: Any) -> Client:
        given = self.token if token is None else token
        auth = Bearer(given) if given else None
        return Client(self.url, auth=auth, policy=LOCAL, **options)


class Prepared(Struct, frozen=True):
    """An installation with people and workflows, which tests copy."""

    data: Path
    token: str
    other: str
    password: str


async def prepare(settings: Settings) -> Prepared:
    async with open_runtime(settings) as local:
        first = await local.accounts.first_run()
        assert first is not None
        await local.run(
            "create_user", username="eve", password="correct horse battery", role="User"
        )
        await local.run("create_agent", name="demo", url="http://127.0.0.1:1/")
        for definition in ALL:
            await local.run("create_workflow", definition=definition)
        mine, others = [
            (await local.run("create_token", name="t", user=user, scopes=scopes)).result.token
            for user, scopes in (
                (first.username, ["read", "run", "approve"]),
                ("eve", ["read", "run"]),
            )
        ]
    return Prepared(Path(settings.data), mine, others, first.password)


def message(text: str, skill: str, message_id: str = "m-1", **metadata: Any) -> Message:
    return Message(
        message_id=message_id,
        role="user",
        parts=(TextPart(text=text),),
        metadata={"skill": skill, **metadata},
    )


async def send(client: Client, sent: Any, message_id: str = "m-1", **options: Any) -> Task:
    answer = await client.send(sent, id="t-1", message_id=message_id, **options)
    assert isinstance(answer, Task)
    return answer


def said(task: Task) -> str:
    return "" if task.status.message is None else task.status.message.text


@asynccontextmanager
async def serving(settings: Settings, prepared: Prepared) -> AsyncIterator[Running]:
    """The system, with an agent of its own to ask."""
    async with (
        DemoAgent("demo").serve("http://127.0.0.1:0/", drain=0) as demo,
        open_system(settings) as system,
    ):
        await system.runtime.run("update_agent", name="demo", url=demo.url)
        yield Running(system, prepared.token, prepared.other, prepared.password)
