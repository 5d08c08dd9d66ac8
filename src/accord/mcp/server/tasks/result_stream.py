"""One `tasks/result` of 2025-11-25: it waits for the end of a task, and meanwhile its client
is asked what the task asks."""

from __future__ import annotations

import asyncio
import time

import msgspec
from msgspec import Raw

from accord.jsonrpc.errors import RpcError, TransportError
from accord.mcp.protocol.input_requests import InputRequest
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.input_requests.ask import Asker
from accord.mcp.server.tasks.record import TaskAnswer, TaskRecord, task_error
from accord.mcp.server.tasks.tasks import Tasks
from accord.mcp.server.tasks.wire import related

_decode_request = msgspec.json.Decoder(InputRequest).decode


class ResultStream:
    """The client of one `tasks/result`, asked on behalf of a task.

    2025-11-25, tasks, results: a client may leave such a stream at any time, which is invisible
    over HTTP. So if there are several for one task, the newest asks.
    """

    def __init__(
        self, tasks: Tasks, asker: Asker, incoming: Incoming, newest: dict[str, ResultStream]
    ) -> None:
        self._tasks = tasks
        self._asker = asker
        self._incoming = incoming
        self._newest = newest
        """The newest stream of each task, which asks its questions."""
        self._asked: dict[str, asyncio.Task[None]] = {}

    async def end_of(self, id: str) -> TaskRecord:
        """Return the task at its end.

        Raises RpcError if it is removed before.
        """
        former = self._newest.get(id)
        self._newest[id] = self
        if former is not None:
            former.stop_asking()
        try:
            while True:
                changed = self._tasks.next_change(id)
                record = await self._tasks.find(id, self._incoming)
                if record.is_over:
                    return record
                if self._newest.setdefault(id, self) is self:
                    self._ask_new(record)
                await changed
        finally:
            await self._leave(id)

    def stop_asking(self) -> None:
        """Withdraw the current questions: another stream asks them."""
        for work in self._asked.values():
            work.cancel()
        self._asked.clear()

    def _ask_new(self, record: TaskRecord) -> None:
        for key in self._asked.keys() - record.questions.keys():
            self._asked.pop(key).cancel()
        for key, request in record.questions.items():
            if key not in self._asked:
                asking = self._ask(record.id, key, bytes(request))
                self._asked[key] = asyncio.create_task(asking)

    async def _ask(self, id: str, key: str, request: bytes) -> None:
        try:
            answer = await self._answer(id, request)
        except TransportError:
            return  # the client is gone: it may come back and be asked again
        await self._tasks.store.change(
            id, lambda record: record.answered({key: answer}, time.time())
        )

    async def _answer(self, id: str, request: bytes) -> TaskAnswer:
        asked = _decode_request(request)
        params = related(msgspec.json.decode(asked.params), id)
        if "elicitationId" in params:
            self._asker.elicitations.remember(params["elicitationId"], self._incoming.link)
        try:
            raw = await self._incoming.link.ask(
                asked.method, params, into=Raw, timeout=self._asker.timeout
            )
        except TransportError:
            raise
        except RpcError as error:
            return TaskAnswer(error=task_error(error))
        return TaskAnswer(result=Raw(bytes(raw)))

    async def _leave(self, id: str) -> None:
        """Stop asking, and let another waiting stream ask."""
        work = tuple(self._asked.values())
        self.stop_asking()
        await asyncio.gather(*work, return_exceptions=True)
        if self._newest.get(id) is self:
            del self._newest[id]
            self._tasks.wake(id)
