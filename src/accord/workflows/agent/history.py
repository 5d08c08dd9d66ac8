"""The history of a task: what was said to a run and what it asked, as messages. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.formats import V10
from accord.a2a.protocol.model import DataPart, Message, Part, TextPart
from accord.workflows.storage.conversations import Conversation
from accord.workflows.storage.loading import Loaded

MAX_BYTES: Final = 256 * 1024
"""The largest message that is kept whole."""


class TaskRun(Struct, frozen=True):
    """A run as a task: with its context and its history."""

    run: Loaded
    context_id: str
    history: tuple[Message, ...] = ()


def task_run(run: Loaded, conversation: Conversation) -> TaskRun:
    """Return a run with what was said to it; of one that nobody spoke to, its input is told."""
    context_id = conversation.context_id
    messages = tuple(map(_read, conversation.messages)) or (first_message(run, context_id),)
    return TaskRun(run, context_id, messages)


def first_message(run: Loaded, context_id: str) -> Message:
    """Return the message that would have begun a run which was begun in another way."""
    return Message(
        message_id=f"{run.row.id}/input",
        role="user",
        parts=parts_of(run.state.input),
        context_id=context_id,
        task_id=run.row.id,
    )


def parts_of(value: Any) -> tuple[Part, ...]:
    """Return a value as parts: who looks for text finds it, and who looks for data does, too."""
    if isinstance(value, str):
        return (TextPart(text=value),)
    text = TextPart(text=msgspec.json.encode(value).decode(), media_type="application/json")
    return (text, DataPart(data=value))


def written(messages: Iterable[Message], run_id: str, context_id: str) -> list[str]:
    """Return messages of a task as they are stored. Of a large one only its beginning is kept."""
    return [_written(replace(each, task_id=run_id, context_id=context_id)) for each in messages]


def _written(message: Message) -> str:
    text = msgspec.json.encode(V10.message(message)).decode()
    size = len(text.encode())
    if size <= MAX_BYTES:
        return text
    note = f"(a message of {size:,} bytes, of which {MAX_BYTES // 4:,} characters are kept)"
    parts = (TextPart(text=message.text[: MAX_BYTES // 4]), TextPart(text=note))
    return msgspec.json.encode(V10.message(replace(message, parts=parts, metadata={}))).decode()


def _read(text: str) -> Message:
    return V10.read_message(text.encode())
