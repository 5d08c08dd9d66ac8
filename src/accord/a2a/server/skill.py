"""A skill: a function, what the card says of it, and how a message becomes its arguments."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Final, get_type_hints

import msgspec
from msgspec import Struct

from accord.a2a.protocol import card
from accord.a2a.protocol.message import Message
from accord.a2a.protocol.parts import DataPart
from accord.a2a.server.context import RejectedError, TaskContext
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.nesting import decode_json

MAX_WHY: Final = 300


class Skill(Struct, frozen=True, kw_only=True):
    """A function that does what is asked for."""

    card: card.Skill
    function: Callable[..., Any]
    arguments: dict[str, Any]
    """The types of its parameters."""
    direct: bool
    """Whether it answers with a message, at once, without there being a task."""

    async def call(self, message: Message, context: TaskContext | None) -> Any:
        """What the function gives; an async generator as it is. Raises RejectedError for a
        message that it cannot take."""
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
) -> Skill:
    """Raises RegistrationError for a function that no message can be given to."""
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
    shown = card.Skill(
        id=id,
        name=name or id.replace("_", " ").capitalize(),
        description=described.pop("description", "") or inspect.getdoc(function) or id,
        tags=described.pop("tags", ()) or (id,),  # 1.0 wants one at least
        **described,
    )
    arguments = {name: hints[name] for name in parameters}
    return Skill(card=shown, function=function, arguments=arguments, direct=direct)


def _argument(kind: Any, message: Message, context: TaskContext | None) -> Any:
    if kind is TaskContext:
        return context
    if kind is Message:
        return message
    if kind is str:
        return message.text
    return _converted(kind, message)


def _converted(kind: Any, message: Message) -> Any:
    """The message's data, or the JSON that its text is."""
    try:
        for part in message.parts:
            if isinstance(part, DataPart):
                return msgspec.convert(part.data, kind)
        return decode_json(message.text, kind)
    except msgspec.MsgspecError as error:
        raise RejectedError(
            f"the message is not what is expected: {str(error)[:MAX_WHY]}"
        ) from None
