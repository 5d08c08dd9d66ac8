"""A demo agent: the first word of a message chooses what happens, failures included."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from math import isfinite
from typing import Final
from uuid import uuid4

from accord.a2a.protocol.fields import Wire
from accord.a2a.protocol.model import (
    Answer,
    Event,
    ListQuery,
    Message,
    PushQuery,
    Send,
    Task,
    TaskPush,
    TaskState,
    TaskStatus,
)
from accord.a2a.server.agent import Agent
from accord.a2a.server.backend import Backend, TaskPage, now
from accord.a2a.server.skills import FailedError, RejectedError, TaskContext
from accord.jsonrpc.protocol.errors import InternalError

MAX_DELAY_SECONDS: Final = 600.0
MAX_REMEMBERED: Final = 10_000
"""How many message ids `UnreliableBackend` remembers, to fail only once for each message."""
BOTH_WIRES: Final = (Wire.V10, Wire.V03)
_ONCE: Final = ("crash", "forget")


class DemoAgent(Agent):
    """The demo agent; serve it with `serve` or `run`, like any agent."""

    def __init__(self, name: str, *, token: str = "", wires: Sequence[Wire] = BOTH_WIRES) -> None:
        super().__init__(
            name,
            description="Does what the first word of a message says, to try things with.",
            token=token,
            wires=wires,
            choose=_chosen,
        )
        for skill in (echo, slow, stream, ask, fail, reject):
            self.skill(tags=["demo"], examples=[f"{skill.__name__} …"])(skill)

    def backend(self) -> Backend:
        return UnreliableBackend(super().backend())


def _chosen(message: Message) -> str:
    word = _word(message)
    return word if word in ("slow", "stream", "ask", "fail", "reject") else "echo"


def _word(message: Message) -> str:
    return message.text.partition(" ")[0]


def _rest(text: str) -> str:
    return text.partition(" ")[2]


async def echo(text: str) -> str:
    """Answers the text."""
    word, _, rest = text.partition(" ")
    return rest if word in ("echo", *_ONCE) else text


async def slow(text: str) -> str:
    """Answers after so many seconds."""
    try:
        seconds = float(_rest(text))
    except ValueError:
        raise RejectedError("say slow and a number of seconds, as in: slow 5") from None
    if not isfinite(seconds) or not 0 <= seconds <= MAX_DELAY_SECONDS:
        raise RejectedError(f"the seconds must be from 0 to {MAX_DELAY_SECONDS:g}")
    await asyncio.sleep(seconds)
    return f"that took {seconds:g} s"


async def stream(text: str) -> AsyncIterator[str]:
    """Answers word by word."""
    for word in _rest(text).split():
        yield f"{word} "


async def ask(text: str, task: TaskContext) -> str:
    """Asks the text, and answers what it is told."""
    answer = await task.ask(_rest(text) or "What is the answer?")
    return f"you said: {answer.text}"


async def fail(text: str) -> str:
    """Fails."""
    raise FailedError(_rest(text) or "it failed, as it was told to")


async def reject(text: str) -> str:
    """Rejects the task."""
    raise RejectedError(_rest(text) or "it was told to reject this")


class UnreliableBackend:
    """A `Backend` that crashes on some messages and forgets some tasks, once each."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._met: OrderedDict[str, None] = OrderedDict()

    async def send(self, send: Send, caller: str) -> Answer:
        message = send.message
        word = _word(message)
        if word in _ONCE and message.message_id not in self._met:
            self._meet(message.message_id)
            if word == "crash":
                raise InternalError("the demo crashed, as it was told to")
            return _task_not_found(message)
        return await self._backend.send(send, caller)

    def _meet(self, message_id: str) -> None:
        self._met[message_id] = None
        if len(self._met) > MAX_REMEMBERED:
            self._met.popitem(last=False)

    async def get(self, task_id: str, caller: str) -> Task:
        return await self._backend.get(task_id, caller)

    async def cancel(self, task_id: str, caller: str) -> Task:
        return await self._backend.cancel(task_id, caller)

    async def list(self, query: ListQuery, caller: str) -> TaskPage:
        return await self._backend.list(query, caller)

    def follow(
        self, task_id: str, caller: str, until: frozenset[TaskState]
    ) -> AsyncGenerator[Event, None]:
        return self._backend.follow(task_id, caller, until)

    async def set_push(self, push: TaskPush, caller: str) -> TaskPush:
        return await self._backend.set_push(push, caller)

    async def list_push(self, query: PushQuery, caller: str) -> Sequence[TaskPush]:
        return await self._backend.list_push(query, caller)

    async def delete_push(self, query: PushQuery, caller: str) -> None:
        await self._backend.delete_push(query, caller)

    @property
    def takes_webhooks(self) -> bool:
        return self._backend.takes_webhooks

    async def close(self, drain: float) -> None:
        await self._backend.close(drain)


def _task_not_found(message: Message) -> Task:
    return Task(
        id=str(uuid4()),
        context_id=message.context_id or str(uuid4()),
        status=TaskStatus(state=TaskState.WORKING, timestamp=now()),
        history=(message,),
    )
