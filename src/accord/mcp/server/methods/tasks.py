"""`tasks/…`: in 2025-11-25 get, result, list and cancel; in 2026-07-28, where tasks are an
extension, get, update and cancel."""

from __future__ import annotations

import time
from typing import Any

from msgspec import UNSET, Raw

from accord.jsonrpc.errors import from_wire
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.cursors import decode_cursor, encode_cursor
from accord.mcp.protocol.params import ListParams
from accord.mcp.protocol.results import Result
from accord.mcp.protocol.tasks import ListTasksResult, TaskParams, UpdateTaskParams
from accord.mcp.protocol.versions import V2025_11_25, Era
from accord.mcp.server.core import HANDSHAKE, STATELESS, Core, Row
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.input_requests.ask import invalid_answer, problem_with_answer
from accord.mcp.server.tasks.record import TaskAnswer, TaskRecord
from accord.mcp.server.tasks.result_stream import ResultStream
from accord.mcp.server.tasks.tasks import check_extension
from accord.mcp.server.tasks.wire import detailed, task, task_result


def methods(core: Core) -> dict[str, Row]:
    tasks = _Tasks(core)
    return {
        "tasks/get": Row(TaskParams, tasks.get),
        "tasks/cancel": Row(TaskParams, tasks.cancel),
        "tasks/result": Row(TaskParams, tasks.result, HANDSHAKE),
        "tasks/list": Row(ListParams, tasks.list, HANDSHAKE),
        "tasks/update": Row(UpdateTaskParams, tasks.update, STATELESS),
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
        """Return the original request's result, or raise its error.

        2025-11-25, tasks: exactly what the request would have been answered with.
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
        """Raise RpcError where there are no tasks.

        That is in older versions, and for clients that do not declare the extension.
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
