"""How a task asks: its questions are part of its record until somebody answers them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from msgspec import UNSET, Raw

from accord.jsonrpc.errors import from_wire
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.results import InputRequiredResult
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.input_requests.ask import (
    Named,
    Question,
    QuestionKeys,
    check_capabilities,
    read_answer,
    request_of,
)
from accord.mcp.server.input_requests.elicitation import ElicitUrl
from accord.mcp.server.input_requests.request_state import Once
from accord.mcp.server.tasks.record import TaskAnswer, TaskRecord
from accord.mcp.server.tasks.store import TaskStore


class TaskInputChannel:
    """The input channel of one task; implements `InputChannel`."""

    def __init__(
        self, id: str, incoming: Incoming, store: TaskStore, profile: Profile, once: Once
    ) -> None:
        self.once = once
        self.waiting = 0
        self._id = id
        self._incoming = incoming
        self._store = store
        self._profile: Profile = profile
        self._keys = QuestionKeys()
        self._waiting: dict[str, asyncio.Future[TaskAnswer]] = {}

    async def ask(self, questions: Sequence[Named]) -> list[Any]:
        check_capabilities(questions, self._incoming, self._profile)
        placed = [self._place(*each) for each in questions]
        keys = {key for key, _, _ in placed}
        try:
            asked = {key: request for key, _, request in placed}
            await self._store.change(self._id, lambda record: record.asking(asked, time.time()))
            answers = [await self._waiting[key] for key, _, _ in placed]
        except asyncio.CancelledError:
            await self._store.change(self._id, lambda record: record.withdrawn(keys, time.time()))
            raise
        finally:
            for key in keys:
                del self._waiting[key]
        return [
            self._read(key, question, answer)
            for (key, question, _), answer in zip(placed, answers, strict=True)
        ]

    def _place(self, name: str, question: Question[Any]) -> tuple[str, Question[Any], Raw]:
        request = request_of(question, self._incoming.version)
        # Tasks extension, update: no key is used for two questions in the life of a task.
        key = self._keys.key(name, question.label, sha256(request).hexdigest())
        self._waiting[key] = asyncio.get_running_loop().create_future()
        return key, question, Raw(request)

    def _read(self, key: str, question: Question[Any], answer: TaskAnswer) -> Any:
        if answer.error is not UNSET:
            error = answer.error
            data = None if error.data is UNSET else error.data
            raise from_wire(error.code, error.message, data)
        assert answer.result is not UNSET
        return read_answer(question, key, bytes(answer.result), self._incoming.era, self._profile)

    def hear(self, record: TaskRecord) -> None:
        """Take the answers in a changed record."""
        for key, answer in record.answers.items():
            waiting = self._waiting.get(key)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)

    def refuse(self, questions: Sequence[ElicitUrl]) -> BaseException:
        check_capabilities(
            [("", question) for question in questions], self._incoming, self._profile
        )
        return failure(
            "url_elicitation_required",
            "This request requires more information.",
            era=self._incoming.era,
            profile=self._profile,
            elicitations=[question.params(self._incoming.version) for question in questions],
        )

    async def required(self) -> InputRequiredResult | None:
        return None
