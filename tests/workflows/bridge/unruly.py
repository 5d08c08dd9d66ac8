"""Agents written by hand, which do what no agent should: a function answers every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from tests.a2a.scripted import Asked, http, read_asked

HANG = b"hang"
CUT = b""

Answer: TypeAlias = Callable[[Asked, int], bytes]
"""What the n-th request is answered with: bytes, HANG for nothing, CUT for a closed connection."""


class Unruly:
    """One such agent, and all that it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.url = ""
        self._came = asyncio.Condition()
        self.ended = 0
        """Connections that the other side ended while it waited for an answer."""

    @property
    def methods(self) -> list[str]:
        return [asked.json["method"] for asked in self.asked]

    @property
    def message_ids(self) -> list[str]:
        return [
            asked.json["params"]["message"]["messageId"]
            for asked in self.asked
            if asked.json["method"] == "message/send"
        ]

    async def wait(self, count: int) -> None:
        """Until it was asked so often."""
        async with self._came:
            await self._came.wait_for(lambda: len(self.asked) >= count)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await read_asked(reader)
                async with self._came:
                    self.asked.append(asked)
                    self._came.notify_all()
                answer = self.answer(asked, len(self.asked))
                if answer == HANG:
                    await reader.read()
                    self.ended += 1
                    return
                writer.write(answer)
                await writer.drain()
                if answer == CUT:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def unruly(answer: Answer) -> AsyncIterator[Unruly]:
    agent = Unruly(answer)
    server = await asyncio.start_server(agent.connected, "127.0.0.1", 0)
    agent.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        yield agent
    finally:
        server.close()
        await asyncio.sleep(0)


def reply(asked: Asked, result: Any) -> bytes:
    """A JSON-RPC answer."""
    return http({"jsonrpc": "2.0", "id": asked.json["id"], "result": result})


def refuse(asked: Asked, code: int, message: str, *, status: int = 200) -> bytes:
    error = {"code": code, "message": message}
    return http({"jsonrpc": "2.0", "id": asked.json["id"], "error": error}, status=status)


def task03(state: str, text: str = "", *, id: str = "r-1") -> dict[str, Any]:
    """A task of 0.3."""
    task: dict[str, Any] = {
        "kind": "task",
        "id": id,
        "contextId": "ctx-1",
        "status": {"state": state},
    }
    if text:
        parts = [{"kind": "text", "text": text}]
        task["artifacts"] = [{"artifactId": "a-1", "parts": parts}]
    return task


def done(asked: Asked, text: str = "done") -> bytes:
    return reply(asked, task03("completed", text))
