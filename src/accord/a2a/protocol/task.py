"""Tasks: work that an agent does, what came of it so far, and how news of it change that."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.message import Message
from accord.a2a.protocol.parts import Part, TextPart
from accord.a2a.protocol.states import TaskState


class TaskStatus(Struct, frozen=True, kw_only=True):
    state: TaskState
    message: Message | None = None
    timestamp: str = ""
    """ISO 8601 in UTC, with Z."""


class Artifact(Struct, frozen=True, kw_only=True):
    """Something that a task made."""

    artifact_id: str
    parts: tuple[Part, ...]
    name: str = ""
    description: str = ""
    metadata: dict[str, Any] = {}
    extensions: tuple[str, ...] = ()


class Task(Struct, frozen=True, kw_only=True):
    id: str
    status: TaskStatus
    context_id: str = ""
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()
    metadata: dict[str, Any] = {}

    def with_history(self, length: int | None) -> Task:
        """The same task with its latest messages only; None leaves all of them."""
        if length is None or length >= len(self.history):
            return self
        return replace(self, history=self.history[len(self.history) - length :])


class StatusUpdate(Struct, frozen=True, kw_only=True):
    """A task is in another state, or has more to say about it."""

    task_id: str
    context_id: str
    status: TaskStatus
    metadata: dict[str, Any] = {}


class ArtifactUpdate(Struct, frozen=True, kw_only=True):
    """A task made something, or more of it."""

    task_id: str
    context_id: str
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False
    metadata: dict[str, Any] = {}


class Unrecognized(Struct, frozen=True):
    """A result that is neither a task nor a message, as it came."""

    value: Any


Answer: TypeAlias = Task | Message
Event: TypeAlias = Task | Message | StatusUpdate | ArtifactUpdate
"""What a stream tells, one at a time."""


def updated(task: Task, event: StatusUpdate | ArtifactUpdate) -> Task:
    """The task after an event."""
    if isinstance(event, ArtifactUpdate):
        return replace(task, artifacts=_with(task.artifacts, event))
    said = task.status.message
    history = task.history if said is None else (*task.history, said)
    return replace(task, status=event.status, history=history)


def _with(artifacts: tuple[Artifact, ...], event: ArtifactUpdate) -> tuple[Artifact, ...]:
    new = event.artifact
    places = [n for n, each in enumerate(artifacts) if each.artifact_id == new.artifact_id]
    if not places:
        return (*artifacts, new)
    at = places[0]
    if event.append:
        old = artifacts[at]
        metadata = {**old.metadata, **new.metadata}
        new = replace(old, parts=_joined(old.parts, new.parts), metadata=metadata)
    return (*artifacts[:at], new, *artifacts[at + 1 :])


def _joined(old: tuple[Part, ...], new: tuple[Part, ...]) -> tuple[Part, ...]:
    """Parts after more of them came: a text that is written piece by piece stays one text."""
    if old and new and isinstance(old[-1], TextPart) and isinstance(new[0], TextPart):
        last = replace(old[-1], text=old[-1].text + new[0].text)
        return (*old[:-1], last, *new[1:])
    return (*old, *new)
