"""The input of a run in a message. Pure.

What is sent as the input of a step goes the other way round: a text, an object whose `text` is the
message and whose other members are its metadata, or any value as JSON, or as data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from accord.a2a.protocol.model import DataPart, Message
from accord.jsonrpc.nesting import decode_json
from accord.workflows.core.definition import Definition
from accord.workflows.core.rules import input_problem

SKILL: Final = "skill"
"""The member of a message's metadata that names the workflow."""


def input_in(message: Message, definition: Definition) -> Any:
    """The first reading of a message that the workflow takes; else the first one, for which the
    run is refused."""
    readings = list(_readings(message))
    fitting = (each for each in readings if input_problem(definition, each) is None)
    return next(fitting, readings[0])


def _readings(message: Message) -> Iterator[Any]:
    data = [part.data for part in message.parts if isinstance(part, DataPart)]
    if data:
        yield from data
        return
    text = message.text
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield decode_json(text)
        except msgspec.DecodeError:
            pass
    others = {name: each for name, each in message.metadata.items() if name != SKILL}
    if others:
        yield {**others, "text": text}
        yield text
    else:
        yield text
        yield {"text": text}
