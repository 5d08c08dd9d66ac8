"""An agent with a skill of each kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from msgspec import Struct

from accord.a2a import (
    Agent,
    DataPart,
    FailedError,
    FilePart,
    Message,
    RejectedError,
    TaskContext,
    TextPart,
)


class Numbers(Struct):
    a: int
    b: int


def make_agent(started: asyncio.Event | None = None, **options: Any) -> Agent:
    """`started` is set when the skill `wait` is at work."""
    agent = Agent("demo", description="Does a bit of everything.", **options)

    @agent.skill
    async def shout(text: str) -> str:
        """Says it in capitals."""
        return text.upper()

    @agent.skill(direct=True)
    async def echo(message: Message) -> str:
        """Answers directly."""
        return f"echo: {message.text}"

    @agent.skill
    def add(numbers: Numbers) -> dict[str, int]:
        """Adds two numbers."""
        return {"sum": numbers.a + numbers.b}

    @agent.skill
    async def tell(text: str) -> AsyncIterator[str]:
        """Tells it word by word."""
        for word in text.split():
            yield f"{word} "

    @agent.skill
    async def ask(text: str, task: TaskContext) -> str:
        """Asks back."""
        task.say("thinking")
        answer = await task.ask("Which city?")
        return f"{text} in {answer.text}"

    @agent.skill
    async def wait(text: str) -> str:
        """Takes its time."""
        if started is not None:
            started.set()
        await asyncio.Event().wait()
        return text

    @agent.skill
    async def many(text: str) -> list[Any]:
        """Makes parts of every kind."""
        return [TextPart(text=text), FilePart.of(b"x", name="x.bin"), DataPart(data=[1])]

    @agent.skill
    async def nothing(text: str) -> None:
        """Makes nothing."""

    @agent.skill
    async def picture(text: str) -> bytes:
        """Makes a file."""
        return b"\x89PNG"

    @agent.skill
    async def reject(text: str) -> str:
        """Will not."""
        raise RejectedError("not today")

    @agent.skill
    async def fail(text: str) -> str:
        """Cannot."""
        raise FailedError("no model")

    @agent.skill
    async def crash(text: str) -> str:
        """Breaks."""
        raise RuntimeError("secret detail")

    return agent
