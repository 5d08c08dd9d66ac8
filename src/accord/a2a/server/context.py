"""What a skill knows of the task that it works on, and says about it while it does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import msgspec

from accord.a2a.protocol.message import Message
from accord.a2a.protocol.parts import DataPart, FilePart, Part, TextPart
from accord.a2a.protocol.states import TaskState
from accord.a2a.protocol.task import Artifact, ArtifactUpdate, StatusUpdate, Task, TaskStatus
from accord.a2a.server.board import Board, Entry, now
from accord.jsonrpc.errors import AccordError


class RejectedError(AccordError):
    """Raised by a skill that will not do what it is asked for; the message is told."""


class FailedError(AccordError):
    """Raised by a skill that could not do it; the message is told, unlike that of any other
    exception."""


class TaskContext:
    """One task, as its skill sees it."""

    def __init__(self, board: Board, entry: Entry, message: Message) -> None:
        self._board = board
        self._entry = entry
        self._heard: asyncio.Future[Message] | None = None
        self.message = message
        """What was said last."""

    @property
    def task(self) -> Task:
        """The task as it is."""
        return self._entry.task

    @property
    def is_asking(self) -> bool:
        """Whether an answer of the client is waited for."""
        return self._heard is not None and not self._heard.done()

    def say(self, text: str) -> None:
        """Tell how it goes."""
        self.set_state(TaskState.WORKING, text)

    async def ask(self, question: str, *, state: TaskState = TaskState.INPUT_REQUIRED) -> Message:
        """Ask the client, and wait for what it answers."""
        self._heard = asyncio.get_running_loop().create_future()
        self.set_state(state, question)
        self.message = await self._heard
        return self.message

    def add(
        self,
        content: Any,
        *,
        artifact_id: str = "",
        name: str = "",
        append: bool = False,
        last: bool = False,
    ) -> str:
        """Give something that was made, or with `append` more of it; its id.

        A text, a part, a list of parts; any other value becomes a data part.
        """
        artifact_id = artifact_id or str(uuid4())
        task = self._entry.task
        event = ArtifactUpdate(
            task_id=task.id,
            context_id=task.context_id,
            artifact=Artifact(artifact_id=artifact_id, parts=parts_of(content), name=name),
            append=append,
            last_chunk=last,
        )
        self._board.change(self._entry, event)
        return artifact_id

    # For whoever runs the skill

    def hear(self, message: Message) -> None:
        """The client answered."""
        assert self._heard is not None
        self.set_state(TaskState.WORKING)  # which puts the question before the answer
        self._board.hear(self._entry, message)
        self._heard.set_result(message)

    def set_state(self, state: TaskState, text: str = "") -> None:
        task = self._entry.task
        status = TaskStatus(state=state, message=self._said(text), timestamp=now())
        event = StatusUpdate(task_id=task.id, context_id=task.context_id, status=status)
        self._board.change(self._entry, event)

    def _said(self, text: str) -> Message | None:
        task = self._entry.task
        return agent_message(text, task.context_id, task.id) if text else None


def agent_message(content: Any, context_id: str, task_id: str = "") -> Message:
    return Message(
        message_id=str(uuid4()),
        role="agent",
        parts=parts_of(content),
        context_id=context_id,
        task_id=task_id,
    )


def parts_of(content: Any) -> tuple[Part, ...]:
    """What a skill gave, as parts."""
    match content:
        case str():
            return (TextPart(text=content),)
        case TextPart() | FilePart() | DataPart():
            return (content,)
        case bytes():
            return (FilePart.of(content),)
        case Iterable() if _are_parts(content):
            return tuple(content)
        case _:
            return (DataPart(data=msgspec.to_builtins(content)),)


def _are_parts(content: Any) -> bool:
    if not isinstance(content, list | tuple) or not content:
        return False
    return all(isinstance(each, TextPart | FilePart | DataPart) for each in content)
