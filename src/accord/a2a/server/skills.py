"""Skills: functions of an agent, their arguments, and the context of the task they work on."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final, get_type_hints
from uuid import uuid4

import msgspec
from msgspec import Struct

from accord.a2a.protocol import card
from accord.a2a.protocol.model import (
    Artifact,
    ArtifactUpdate,
    DataPart,
    FilePart,
    Message,
    Part,
    StatusUpdate,
    Task,
    TaskState,
    TaskStatus,
    TextPart,
)
from accord.a2a.server.backend import Board, Entry, now
from accord.jsonrpc.protocol.codec import decode_json
from accord.jsonrpc.protocol.errors import AccordError, RegistrationError


class RejectedError(AccordError):
    """A skill refuses a request; the client gets the message of the error."""


class FailedError(AccordError):
    """A skill failed; the client gets the message of this exception.

    The messages of other exceptions are not shown to the client.
    """


class TaskContext:
    """The interface between a skill and the task that it works on."""

    def __init__(self, board: Board, entry: Entry, message: Message) -> None:
        self._board = board
        self._entry = entry
        self._heard: asyncio.Future[Message] | None = None
        self.message = message
        """The client's latest message."""

    @property
    def task(self) -> Task:
        """The current task."""
        return self._entry.task

    @property
    def is_asking(self) -> bool:
        """True if the task waits for a message of the client."""
        return self._heard is not None and not self._heard.done()

    def say(self, text: str) -> None:
        """Report progress to the client."""
        self.set_state(TaskState.WORKING, text)

    async def ask(self, question: str, *, state: TaskState = TaskState.INPUT_REQUIRED) -> Message:
        """Ask the client a question, and return the answer."""
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
        """Add an artifact, or add to an existing one with `append`. Return its id.

        `content` is a text, a part or a list of parts; any other value becomes a data part.
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
        """Pass the client's message to the skill that waits for it."""
        assert self._heard is not None
        self.set_state(TaskState.WORKING)  # the change puts the question before the answer
        self._board.record_message(self._entry, message)
        self._heard.set_result(message)

    def set_state(self, state: TaskState, text: str = "") -> None:
        task = self._entry.task
        status = TaskStatus(state=state, message=self._agent_message(text), timestamp=now())
        event = StatusUpdate(task_id=task.id, context_id=task.context_id, status=status)
        self._board.change(self._entry, event)

    def _agent_message(self, text: str) -> Message | None:
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
    """Convert the content of an artifact or message to parts."""
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


MAX_REASON: Final = 300


class SkillFunction(Struct, frozen=True, kw_only=True):
    """A function of an agent that works on messages."""

    card: card.Skill
    function: Callable[..., Any]
    arguments: dict[str, Any]
    """The types of the function's parameters, by name."""
    direct: bool
    """True if the function answers with a message at once, without a task."""

    async def call(self, message: Message, context: TaskContext | None) -> Any:
        """Call the function and return its result; an async generator is returned unstarted.

        Raises RejectedError for a message whose content does not fit the parameters.
        """
        arguments = {
            name: _argument(kind, message, context) for name, kind in self.arguments.items()
        }
        if inspect.isasyncgenfunction(self.function):
            return self.function(**arguments)
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**arguments)
        return await asyncio.to_thread(self.function, **arguments)


def make_skill(
    function: Callable[..., Any], *, direct: bool, id: str, name: str, **described: Any
) -> SkillFunction:
    """Return the skill for a function.

    Raises RegistrationError if a parameter has no type, or if a `direct` skill takes a
    `TaskContext` or is an async generator.
    """
    id = id or function.__name__
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters
    for parameter in parameters.values():
        if parameter.name not in hints:
            raise RegistrationError(f"the parameter {parameter.name} of {id} needs a type")
        if direct and hints[parameter.name] is TaskContext:
            raise RegistrationError(f"{id} answers directly, so that there is no task to know of")
    if direct and inspect.isasyncgenfunction(function):
        raise RegistrationError(f"{id} answers directly, and so all at once")
    card_entry = card.Skill(
        id=id,
        name=name or id.replace("_", " ").capitalize(),
        description=described.pop("description", "") or inspect.getdoc(function) or id,
        tags=described.pop("tags", ()) or (id,),  # 1.0 wants one at least
        **described,
    )
    arguments = {name: hints[name] for name in parameters}
    return SkillFunction(card=card_entry, function=function, arguments=arguments, direct=direct)


def _argument(kind: Any, message: Message, context: TaskContext | None) -> Any:
    if kind is TaskContext:
        return context
    if kind is Message:
        return message
    if kind is str:
        return message.text
    return _convert(kind, message)


def _convert(kind: Any, message: Message) -> Any:
    """Convert the message's data, or the JSON in its text, to a parameter's type.

    Raises RejectedError if that is impossible.
    """
    try:
        for part in message.parts:
            if isinstance(part, DataPart):
                return msgspec.convert(part.data, kind)
        return decode_json(message.text, kind)
    except msgspec.MsgspecError as error:
        raise RejectedError(
            f"the message is not what is expected: {str(error)[:MAX_REASON]}"
        ) from None
