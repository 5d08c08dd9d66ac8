"""The checks of sending a message: the answer, its end, its output; and the same once more.

Messages are sent as Accord sends them: nobody waits, and what takes its time is followed."""

from __future__ import annotations

import asyncio
import time
from typing import Final
from uuid import uuid4

from msgspec.structs import replace

from accord.a2a.checker.answers import check_answer, check_parts, read_loosely
from accord.a2a.checker.conversation import Conversation
from accord.a2a.checker.envelope import Fault, Nothing, Result, Said
from accord.a2a.protocol.errors import TASK_NOT_FOUND
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.formats import FORMATS, UNREADABLE
from accord.a2a.protocol.message import Message
from accord.a2a.protocol.outcome import Done, Failed, Unclear, Waiting, Working, outcome_of
from accord.a2a.protocol.params import Send, TaskQuery
from accord.a2a.protocol.polling import intervals
from accord.a2a.protocol.requests import message_of
from accord.a2a.protocol.states import RESTING
from accord.a2a.protocol.task import Answer, Task
from accord.a2a.protocol.versions import Verb

_AFTER_SENT: Final = (
    "send-result",
    "send-parts",
    "send-state",
    "send-completed",
    "send-output",
    "send-non-blocking",
    "send-again",
)


class Sending:
    """Sends messages with one text, as Accord sends them."""

    def __init__(self, talk: Conversation, text: str, patience: float) -> None:
        self._talk = talk
        self._text = text
        self._patience = patience

    async def check(self) -> Answer | None:
        """What the agent answered in the end, where it did."""
        talk, message_id = self._talk, str(uuid4())
        said = await self.send(message_id)
        answer = await self._answer(said)
        await self._check_forgotten()
        if not isinstance(said, Result):
            return None
        if answer is not None:
            self._judge_end(answer)
        else:
            talk.skipped("send-completed", "the answer cannot be read")
            talk.skipped("send-output", "the answer cannot be read")
        await self._check_again(message_id, said)
        return answer

    async def _answer(self, said: Said) -> Answer | None:
        talk = self._talk
        if not isinstance(said, Result):
            talk.failed("send-answered", f"it was {said}")
            if isinstance(said, Nothing):
                talk.failed("send-non-blocking", f"it was {said}")
            for rule in _AFTER_SENT:
                talk.skipped(rule, "there was no result")
            return None
        talk.passed("send-answered")
        talk.passed("send-non-blocking")
        answer = check_answer(talk, said)
        if isinstance(answer, Message):
            talk.skipped("send-state", "the agent answers with messages, which have no state")
        return await self._rested(answer) if isinstance(answer, Task) else answer

    async def send(self, message_id: str, *, task_id: str = "") -> Said:
        """What comes of a message with the text."""
        # Members beside the text travel as metadata, as those of a step's input do.
        message = message_of(
            {"text": self._text, "check": "accord"}, message_id=message_id, task_id=task_id
        )
        send = Send(message=message, blocking=False)
        return await self._talk.ask(Verb.SEND, FORMATS[self._talk.wire].send_params(send))

    def _judge_end(self, answer: Answer) -> None:
        talk = self._talk
        match outcome_of(answer):
            case Done(extracted):
                talk.passed("send-completed")
                if extracted.warning:
                    talk.failed("send-output", extracted.warning)
                else:
                    talk.passed("send-output", repr(str(extracted.output)[:80]))
                return
            case Failed(code=code, message=message):
                talk.failed("send-completed", f"{code}: {message[:160]}")
            case Waiting(question=question):
                talk.skipped("send-completed", f"the agent asks back: {question[:160]!r}")
            case Working() | Unclear():
                talk.failed("send-completed", f"it still works after {self._patience:g} s")
        talk.skipped("send-output", "the task is not completed")

    async def _rested(self, task: Task) -> Task | None:
        """The task once it rests, or as it is when patience is over; None where it cannot be
        asked for."""
        waits = intervals(0.05, most=2.0)
        until = time.monotonic() + self._patience
        while task.id and task.status.state not in RESTING and time.monotonic() < until:
            await asyncio.sleep(next(waits))
            got = await self._get(task.id)
            if got is None:
                return None
            task = got
        return task

    async def _get(self, task_id: str) -> Task | None:
        talk = self._talk
        params = FORMATS[talk.wire].task_params(TaskQuery(id=task_id))
        said = await talk.ask(Verb.GET, params)
        if not isinstance(said, Result):
            talk.failed("task-get", f"it was {said}")
            return None
        check_parts(talk, said.value)
        try:
            task = FORMATS[talk.wire].read_task(said.raw)
        except UNREADABLE as error:
            talk.failed("task-get", str(error))
            return None
        if task.id != task_id:
            talk.failed("task-get", f"the id was {task_id[:80]!r}, and is {task.id[:80]!r}")
        return replace(task, id=task_id)

    # Once more, and for a task that is not there

    async def _check_again(self, message_id: str, first: Result) -> None:
        talk = self._talk
        said = await self.send(message_id)
        before = self._same(first)
        if not isinstance(said, Result):
            talk.failed("send-again", f"it was {said}")
        elif before is None:
            talk.skipped("send-again", "the answer cannot be read")
        elif self._same(said) == before:
            talk.passed("send-again")
        else:
            talk.failed("send-again", "it began another task, or gave another answer")

    def _same(self, result: Result) -> object:
        """What two answers to the same message have in common."""
        answer = read_loosely(self._talk.wire, result)
        if isinstance(answer, Task):
            return answer.id
        return None if answer is None else extract(answer).output

    async def _check_forgotten(self) -> None:
        said = await self.send(str(uuid4()), task_id=str(uuid4()))
        if isinstance(said, Fault) and said.code == TASK_NOT_FOUND:
            self._talk.passed("send-forgotten")
        else:
            what = "a result" if isinstance(said, Result) else str(said)
            self._talk.failed("send-forgotten", f"it was {what}")

    # For checks of tasks

    async def begin(self, text: str) -> Task | None:
        """A task of another text, which goes on for a while."""
        other = Sending(self._talk, text, self._patience)
        said = await other.send(str(uuid4()))
        answer = check_answer(self._talk, said) if isinstance(said, Result) else None
        return answer if isinstance(answer, Task) else None
