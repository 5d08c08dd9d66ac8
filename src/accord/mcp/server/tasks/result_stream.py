"""One `tasks/result` of 2025-11-25: it waits for the end of a task, and meanwhile its client
is asked what the task asks."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
from msgspec import Raw

from accord.jsonrpc.errors import RpcError, TransportError
from accord.mcp.server.elicitations import Elicitations
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.questions import InputRequest
from accord.mcp.server.tasks.record import TaskAnswer, TaskRecord, task_error
from accord.mcp.server.tasks.tasks import Tasks
from accord.mcp.server.tasks.wire import related

_decode_request = msgspec.json.Decoder(InputRequest).decode


class ResultStream:
    """The client of one request, asked on behalf of a task."""

    def __init__(
        self,
        tasks: Tasks,
        incoming: Incoming,
        claimed: set[tuple[str, str]],
        elicitations: Elicitations,
        timeout: float | None,
    ) -> None:
        self._tasks = tasks
        self._incoming = incoming
        self._claimed = claimed
        """The questions that are being asked, by the ids of their tasks and their keys: none is
        asked by two at a time."""
        self._elicitations = elicitations
        self._timeout = timeout
        self._asked: dict[str, asyncio.Task[None]] = {}

    async def end_of(self, id: str) -> TaskRecord:
        """The task at its end. Raises RpcError if it is gone before."""
        try:
            while True:
                changed = self._tasks.next_change(id)
                record = await self._tasks.find(id, self._incoming)
                if record.is_over:
                    return record
                self._ask_new(record)
                await changed
        finally:
            await self._leave()

    def _ask_new(self, record: TaskRecord) -> None:
        for key, request in record.questions.items():
            if (record.id, key) not in self._claimed:
                self._claimed.add((record.id, key))
                asking = self._ask(record.id, key, bytes(request))
                self._asked[key] = asyncio.create_task(asking)
        for key, work in self._asked.items():
            if key not in record.questions:
                work.cancel()

    async def _ask(self, id: str, key: str, request: bytes) -> None:
        try:
            answer = await self._answer(id, request)
            await self._tasks.store.change(
                id, lambda record: record.answered({key: answer}, time.time())
            )
        except TransportError:
            pass  # the client is gone: it may come back and be asked again
        finally:
            self._claimed.discard((id, key))
            self._tasks.wake(id)

    async def _answer(self, id: str, request: bytes) -> TaskAnswer:
        asked = _decode_request(request)
        params: Any = related(asked.params, id)
        if "elicitationId" in params:
            self._elicitations.remember(params["elicitationId"], self._incoming.link)
        try:
            raw = await self._incoming.link.ask(
                asked.method, params, into=Raw, timeout=self._timeout
            )
        except TransportError:
            raise
        except RpcError as error:
            return TaskAnswer(error=task_error(error))
        return TaskAnswer(result=Raw(bytes(raw)))

    async def _leave(self) -> None:
        """Nobody waits here any more: what is being asked is taken back."""
        for work in self._asked.values():
            work.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)
