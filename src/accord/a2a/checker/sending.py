"""The checks of sending a message: the answer, its end, its output; once more, and unwatched."""

from __future__ import annotations

import asyncio
import time
from uuid import uuid4

from accord.a2a.checker.answers import check_answer
from accord.a2a.checker.conversation import Conversation
from accord.a2a.checker.envelope import Fault, Result, Said
from accord.a2a.protocol.errors import TASK_NOT_FOUND
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.formats import FORMATS, UNREADABLE
from accord.a2a.protocol.message import Message
from accord.a2a.protocol.outcome import Done, Failed, Waiting, Working, outcome_of
from accord.a2a.protocol.params import Send, TaskQuery
from accord.a2a.protocol.polling import intervals
from accord.a2a.protocol.requests import message_of
from accord.a2a.protocol.states import RESTING
from accord.a2a.protocol.task import Answer, Task
from accord.a2a.protocol.versions import Verb

_AFTER_SENT = (
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
        said = await self._send(message_id)
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
        await self._check_unwatched()
        return answer

    async def _answer(self, said: Said) -> Answer | None:
        talk = self._talk
        if not isinstance(said, Result):
            talk.failed("send-answered", f"it was {said}")
            for rule in _AFTER_SENT:
                talk.skipped(rule, "there was no result")
            return None
        talk.passed("send-answered")
        answer = check_answer(talk, said)
        if isinstance(answer, Message):
            talk.skipped("send-state", "the agent answers with messages, which have no state")
        return await self._rested(answer) if isinstance(answer, Task) else answer

    async def _send(self, message_id: str, *, blocking: bool = True, task_id: str = "") -> Said:
        # Members beside the text travel as metadata, as those of a step's input do.
        message = message_of(
            {"text": self._text, "check": "accord"}, message_id=message_id, task_id=task_id
        )
        send = Send(message=message, blocking=blocking)
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
            case Working():
                talk.failed("send-completed", f"it still works after {self._patience:g} s")
        talk.skipped("send-output", "the task is not completed")

    async def _rested(self, task: Task) -> Task | None:
        """The task once it rests, or as it is when patience is over; None where it cannot be
        asked for."""
        talk, until, waits = (
            self._talk,
            time.monotonic() + self._patience,
            intervals(0.05, most=2.0),
        )
        while task.id and task.status.state not in RESTING and time.monotonic() < until:
            await asyncio.sleep(next(waits))
            params = FORMATS[talk.wire].task_params(TaskQuery(id=task.id))
            said = await talk.ask(Verb.GET, params)
            if not isinstance(said, Result):
                talk.failed("task-get", f"it was {said}")
                return None
            try:
                task = FORMATS[talk.wire].read_task(said.raw)
            except UNREADABLE as error:
                talk.failed("task-get", str(error))
                return None
        return task

    # Once more, and unwatched

    async def _check_again(self, message_id: str, first: Result) -> None:
        talk = self._talk
        said = await self._send(message_id)
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
        try:
            answer = FORMATS[self._talk.wire].read_answer(result.raw)
        except UNREADABLE:
            return None
        if isinstance(answer, Task):
            return answer.id
        return extract(answer).output

    async def _check_unwatched(self) -> None:
        talk, since = self._talk, time.monotonic()
        said = await self._send(str(uuid4()), blocking=False)
        if not isinstance(said, Result):
            talk.failed("send-non-blocking", f"it was {said}")
            return
        talk.passed("send-non-blocking", f"within {time.monotonic() - since:.1f} s")
        answer = check_answer(talk, said)
        if isinstance(answer, Task):
            # What nobody waits for is followed as well: it has to come to its end.
            rested = await self._rested(answer)
            if rested is not None and rested.status.state not in RESTING:
                why = f"a task that nobody waits for still works after {self._patience:g} s"
                talk.failed("send-completed", why)

    async def _check_forgotten(self) -> None:
        said = await self._send(str(uuid4()), task_id=str(uuid4()))
        if isinstance(said, Fault) and said.code == TASK_NOT_FOUND:
            self._talk.passed("send-forgotten")
        else:
            what = "a result" if isinstance(said, Result) else str(said)
            self._talk.failed("send-forgotten", f"it was {what}")

    # For checks of tasks

    async def begin(self, text: str) -> Task | None:
        """A task that goes on for a while."""
        other = Sending(self._talk, text, self._patience)
        said = await other._send(str(uuid4()), blocking=False)
        answer = check_answer(self._talk, said) if isinstance(said, Result) else None
        return answer if isinstance(answer, Task) else None
