"""The methods `tasks/…` of both eras.

In 2025-11-25 these are `get`, `result`, `list` and `cancel`; in 2026-07-28, where tasks are an
extension, `get`, `update` and `cancel`. A `tasks/result` request waits for the end of its task, and
meanwhile forwards the task's questions to its client.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from accord.jsonrpc.protocol.errors import RpcError, TransportError, from_wire
from accord.mcp.protocol.input_requests import InputRequest
from accord.mcp.protocol.messages import ListParams, Result, failure
from accord.mcp.protocol.opaque_state import decode_cursor, encode_cursor
from accord.mcp.protocol.tasks import ListTasksResult, TaskParams, UpdateTaskParams
from accord.mcp.protocol.versions import V2025_11_25, Era
from accord.mcp.server.core import HANDSHAKE, STATELESS, Core, MethodRow
from accord.mcp.server.input_requests.ask import Asker, invalid_answer, problem_with_answer
from accord.mcp.server.session import Incoming
from accord.mcp.server.task_runner import Tasks, check_extension
from accord.mcp.server.task_store import (
    TaskAnswer,
    TaskRecord,
    detailed,
    related,
    task,
    task_error,
    task_result,
)

_decode_request = msgspec.json.Decoder(InputRequest).decode


class ResultStream:
    """A `tasks/result` request, through which the task's questions reach a client.

    2025-11-25, tasks, results: a client may leave such a stream at any time, which the server
    cannot see over HTTP. So if several requests wait for one task, only the newest asks the
    questions.
    """

    def __init__(
        self, tasks: Tasks, asker: Asker, incoming: Incoming, newest: dict[str, ResultStream]
    ) -> None:
        self._tasks = tasks
        self._asker = asker
        self._incoming = incoming
        self._newest = newest
        """The newest stream of each task, by task id; it asks the task's questions."""
        self._asked: dict[str, asyncio.Task[None]] = {}

    async def end_of(self, id: str) -> TaskRecord:
        """Wait for the end of a task and return its record.

        Raises RpcError if the task is removed before its end.
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
        """Withdraw the current questions, because another stream asks them."""
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
        decoded = _decode_request(request)
        params = related(msgspec.json.decode(decoded.params), id)
        if "elicitationId" in params:
            self._asker.elicitations.remember(params["elicitationId"], self._incoming.link)
        try:
            raw = await self._incoming.link.ask(
                decoded.method, params, into=Raw, timeout=self._asker.timeout
            )
        except TransportError:
            raise
        except RpcError as error:
            return TaskAnswer(error=task_error(error))
        return TaskAnswer(result=Raw(bytes(raw)))

    async def _leave(self, id: str) -> None:
        """Stop asking, and let another stream that waits for the task ask its questions."""
        work = tuple(self._asked.values())
        self.stop_asking()
        await asyncio.gather(*work, return_exceptions=True)
        if self._newest.get(id) is self:
            del self._newest[id]
            self._tasks.wake(id)


def task_methods(core: Core) -> dict[str, MethodRow]:
    tasks = _Tasks(core)
    return {
        "tasks/get": MethodRow(TaskParams, tasks.get),
        "tasks/cancel": MethodRow(TaskParams, tasks.cancel),
        "tasks/result": MethodRow(TaskParams, tasks.result, HANDSHAKE),
        "tasks/list": MethodRow(ListParams, tasks.list, HANDSHAKE),
        "tasks/update": MethodRow(UpdateTaskParams, tasks.update, STATELESS),
    }


class _Tasks:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._tasks = core.tasks
        self._streams: dict[str, ResultStream] = {}

    async def get(self, params: TaskParams, incoming: Incoming) -> Any:
        self._check(incoming)
        record = await self._tasks.find(params.task_id, incoming)
        if incoming.era is Era.STATELESS:
            return self._runner.replies.finish(detailed(record), incoming)
        return task_result(record)

    async def cancel(self, params: TaskParams, incoming: Incoming) -> Any:
        self._check(incoming)
        record = await self._tasks.find(params.task_id, incoming)
        cancelled = await self._tasks.cancel(record.id)
        if incoming.era is Era.STATELESS:
            # Tasks extension, cancellation: acknowledged, also when there is nothing to stop
            return self._runner.replies.finish(Result(), incoming)
        if cancelled is None:
            # 2025-11-25, tasks: what is over cannot be cancelled
            raise failure(
                "task_already_completed",
                f"Cannot cancel task: already in terminal status '{record.status}'",
                era=incoming.era,
                profile=self._server.codes,
            )
        return task_result(cancelled)

    async def result(self, params: TaskParams, incoming: Incoming) -> Any:
        self._check(incoming)
        await self._tasks.find(params.task_id, incoming)
        stream = ResultStream(self._tasks, self._server.asker, incoming, self._streams)
        return self._outcome(await stream.end_of(params.task_id), incoming)

    def _outcome(self, record: TaskRecord, incoming: Incoming) -> Any:
        """Return the result of the request that became a task, or raise its error.

        2025-11-25, tasks: the answer is exactly the one that the original request would have got.
        """
        if record.result is not UNSET:
            return record.result
        if record.error is not None:
            error = record.error
            data = None if error.data is UNSET else error.data
            raise from_wire(error.code, error.message, data)
        raise failure(
            "task_cancelled",
            "The task was cancelled",
            era=incoming.era,
            profile=self._server.codes,
        )

    async def list(self, params: ListParams, incoming: Incoming) -> Any:
        self._check(incoming)
        records = await self._tasks.owned(incoming)
        start = self._start(params, incoming, len(records))
        end = start + self._server.page_size
        return ListTasksResult(
            tasks=[task(record) for record in records[start:end]],
            next_cursor=encode_cursor(end) if end < len(records) else UNSET,
        )

    def _start(self, params: ListParams, incoming: Incoming, length: int) -> int:
        if params.cursor is UNSET:
            return 0
        start = decode_cursor(params.cursor)
        if start is None or not 0 < start <= length:
            raise failure(
                "invalid_cursor",
                "Invalid params: the cursor is none that this list gave, or the list has changed",
                era=incoming.era,
                profile=self._server.codes,
            )
        return start

    async def update(self, params: UpdateTaskParams, incoming: Incoming) -> Any:
        self._check(incoming)
        record = await self._tasks.find(params.task_id, incoming)
        answers = {}
        for key, raw in params.input_responses.items():
            request = record.questions.get(key)
            if request is None:
                continue  # tasks extension, update: what nobody asks for is ignored
            problem = problem_with_answer(bytes(request), bytes(raw))
            if problem:
                raise invalid_answer(key, problem, incoming.era)
            answers[key] = TaskAnswer(result=Raw(bytes(raw)))
        await self._tasks.store.change(
            record.id, lambda current: current.answered(answers, time.time())
        )
        return self._runner.replies.finish(Result(), incoming)

    def _check(self, incoming: Incoming) -> None:
        """Raise RpcError if the client of a request cannot use tasks.

        In the handshake era only clients of 2025-11-25 can use tasks; in the stateless era only
        clients that declare the extension for tasks.
        """
        if incoming.era is Era.STATELESS:
            check_extension(incoming)
        elif incoming.version != V2025_11_25:
            raise failure(
                "method_not_found",
                f"Method not found: {incoming.method} is not in {incoming.version}",
                era=incoming.era,
                method=incoming.method,
            )
