"""The model of A2A: messages, tasks and their states, webhooks, and what clients ask for. Pure.

Both wire formats write and read these values; names on the wire are in `fields`. Agents write
states in various words: `state_of` recognizes those that occur.
"""

from __future__ import annotations

import re
from base64 import b64encode
from enum import StrEnum
from hashlib import sha1
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace


class TaskState(StrEnum):
    """The state of a task; the values are the names of 0.3."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELED = "canceled"
    UNKNOWN = "unknown"


TERMINAL: Final = frozenset(
    (TaskState.COMPLETED, TaskState.FAILED, TaskState.REJECTED, TaskState.CANCELED)
)
"""States in which a task is over."""
INTERRUPTED: Final = frozenset((TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED))
"""States in which a task waits for a message."""
RESTING: Final = TERMINAL | INTERRUPTED
"""States in which a blocking call returns and a stream may end."""

STATE_NAMES_10: Final = {
    state: "TASK_STATE_" + state.name for state in TaskState if state is not TaskState.UNKNOWN
} | {TaskState.UNKNOWN: "TASK_STATE_UNSPECIFIED"}
"""The names of the states in 1.0."""


_STATE_WORDS: Final[dict[TaskState, str]] = {
    TaskState.COMPLETED: "completed complete done finished finish success succeeded successful "
    "ok okay passed resolved answered",
    TaskState.FAILED: "failed fail failure failing error errored crashed aborted timeout timedout "
    "expired exception",
    TaskState.REJECTED: "rejected reject refused declined denied",
    TaskState.CANCELED: "canceled cancelled cancel stopped terminated killed",
    TaskState.INPUT_REQUIRED: "inputrequired inputneeded needsinput requiresinput "
    "awaitinginput waitingforinput requiresaction",
    TaskState.AUTH_REQUIRED: "authrequired authneeded needsauth requiresauth "
    "authenticationrequired authorizationrequired",
    TaskState.SUBMITTED: "submitted submit accepted received created new queued scheduled",
    TaskState.WORKING: "working work inprogress progress started active busy paused "
    "suspended open initialized initialised",
    TaskState.UNKNOWN: "unknown unspecified",
}
_STATES: Final = {word: state for state, words in _STATE_WORDS.items() for word in words.split()}
_STATE_NUMBERS: Final = (
    TaskState.UNKNOWN,
    TaskState.SUBMITTED,
    TaskState.WORKING,
    TaskState.COMPLETED,
    TaskState.FAILED,
    TaskState.CANCELED,
    TaskState.INPUT_REQUIRED,
    TaskState.REJECTED,
    TaskState.AUTH_REQUIRED,
)
"""States by their numbers in a2a.proto: ProtoJSON allows numbers for enumerations."""
_STATE_PREFIX: Final = re.compile(r"^(?:task)?state")
_PUNCTUATION: Final = re.compile(r"[\s_.\-]+")


def state_of(word: Any) -> TaskState | None:
    """Return the state for a word or number; None if it is not recognized.

    Words that end in "ing" (pending, thinking, running) are work in progress. A number may be
    written as 3, 3.0 or "3".
    """
    if isinstance(word, str) and word.isascii() and word.isdigit() and len(word) < 3:
        word = int(word)
    if isinstance(word, float) and word.is_integer():
        word = int(word)
    if isinstance(word, int) and not isinstance(word, bool):
        return _STATE_NUMBERS[word] if 0 <= word < len(_STATE_NUMBERS) else None
    if not isinstance(word, str):
        return None
    word = _STATE_PREFIX.sub("", _PUNCTUATION.sub("", word).lower())
    found = _STATES.get(word)
    if found is None and word.endswith("ing"):
        return TaskState.WORKING
    return found


MAX_WHOLE_NUMBER: Final = 2**53
"""The largest integer up to which floats represent every integer exactly."""


class _Part(Struct, frozen=True, kw_only=True):
    media_type: str = ""
    name: str = ""
    metadata: dict[str, Any] = {}


class TextPart(_Part, frozen=True):
    text: str


class FilePart(_Part, frozen=True):
    """A file: either its content in base64 or its URL."""

    content: str | None = None
    url: str = ""

    @staticmethod
    def of(data: bytes, *, name: str = "", media_type: str = "") -> FilePart:
        return FilePart(content=b64encode(data).decode("ascii"), name=name, media_type=media_type)


class DataPart(_Part, frozen=True):
    """A part that contains any JSON value."""

    data: Any


Part: TypeAlias = TextPart | FilePart | DataPart


def whole_numbers(value: Any) -> Any:
    """Turn whole floats in `value` into integers: ProtoJSON makes floats of all numbers."""
    match value:
        case float() if value.is_integer() and abs(value) <= MAX_WHOLE_NUMBER:
            return int(value)
        case dict():
            return {name: whole_numbers(each) for name, each in value.items()}
        case list():
            return [whole_numbers(each) for each in value]
        case _:
            return value


Role: TypeAlias = Literal["user", "agent"]


class Message(Struct, frozen=True, kw_only=True):
    """One message of a conversation, from the client or the agent."""

    message_id: str
    role: Role
    parts: tuple[Part, ...]
    context_id: str = ""
    task_id: str = ""
    metadata: dict[str, Any] = {}
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the text of all text parts, a line each."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


class TaskStatus(Struct, frozen=True, kw_only=True):
    state: TaskState
    message: Message | None = None
    timestamp: str = ""
    """ISO 8601 in UTC, with Z."""


class Artifact(Struct, frozen=True, kw_only=True):
    """An output of a task."""

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
        """Return the task with its latest `length` messages only; None keeps all."""
        if length is None or length >= len(self.history):
            return self
        return replace(self, history=self.history[len(self.history) - length :])


class StatusUpdate(Struct, frozen=True, kw_only=True):
    """An event: a task has a new state, or a new message about its state."""

    task_id: str
    context_id: str
    status: TaskStatus
    metadata: dict[str, Any] = {}


class ArtifactUpdate(Struct, frozen=True, kw_only=True):
    """An event: a task has a new artifact, or more parts of an artifact."""

    task_id: str
    context_id: str
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False
    metadata: dict[str, Any] = {}


class Unrecognized(Struct, frozen=True):
    """A raw result that is neither a task nor a message."""

    value: Any


Answer: TypeAlias = Task | Message
Event: TypeAlias = Task | Message | StatusUpdate | ArtifactUpdate
"""An event of a stream."""


def updated(task: Task, event: StatusUpdate | ArtifactUpdate) -> Task:
    """Apply an event to a task. Return the changed task."""
    if isinstance(event, ArtifactUpdate):
        return replace(task, artifacts=_with(task.artifacts, event))
    message = task.status.message
    history = task.history if message is None else (*task.history, message)
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
        new = replace(old, parts=_append_parts(old.parts, new.parts), metadata=metadata)
    return (*artifacts[:at], new, *artifacts[at + 1 :])


def _append_parts(old: tuple[Part, ...], new: tuple[Part, ...]) -> tuple[Part, ...]:
    """Append parts to a list: adjacent pieces of a text become one text."""
    if old and new and isinstance(old[-1], TextPart) and isinstance(new[0], TextPart):
        last = replace(old[-1], text=old[-1].text + new[0].text)
        return (*old[:-1], last, *new[1:])
    return (*old, *new)


class PushConfig(Struct, frozen=True, kw_only=True):
    """A webhook, and how the agent authenticates there."""

    url: str
    id: str = ""
    token: str = ""
    """A token sent with each event, by which the receiver recognizes the agent."""
    scheme: str = ""
    """The scheme of the Authorization header, such as `Bearer`."""
    credentials: str = ""


class Send(Struct, frozen=True, kw_only=True):
    """A request to send a message to an agent, with options for the answer."""

    message: Message
    blocking: bool = True
    """True to wait for the answer until the task has ended or waits for the client."""
    history_length: int | None = None
    accepted_output_modes: tuple[str, ...] = ()
    push: PushConfig | None = None
    metadata: dict[str, Any] = {}
    tenant: str = ""


class TaskQuery(Struct, frozen=True, kw_only=True):
    """A reference to one task: to get, cancel or follow."""

    id: str
    history_length: int | None = None
    tenant: str = ""


class ListQuery(Struct, frozen=True, kw_only=True):
    """A query for a page of tasks (1.0)."""

    context_id: str = ""
    state: TaskState | None = None
    page_size: int = 50
    page_token: str = ""
    history_length: int | None = None
    updated_after: str = ""
    include_artifacts: bool = False


class PushQuery(Struct, frozen=True, kw_only=True):
    """A query for all webhooks of a task, or for one of them."""

    task_id: str
    config_id: str = ""


class TaskPush(Struct, frozen=True, kw_only=True):
    """A webhook for a task."""

    task_id: str
    config: PushConfig


_MESSAGE_ID_NAMESPACE: Final = UUID("6f2a1c0e-9d5b-5b0e-8f43-2a7f4a0c51d7").bytes
_UUID_VARIANT: Final = "89ab89ab89ab89ab"


def message_id(run: str, step: str, iteration: str, attempt_group: str) -> str:
    """Return the id of the message that a step of a workflow run sends to an agent.

    Retries after an unknown outcome have the same attempt group, and therefore the same id.
    """
    # as JSON, so that no two lists of names run together
    name = msgspec.json.encode((run, step, iteration, attempt_group))
    # RFC 9562, 5.5: a UUID of version 5, without the objects that `uuid` makes on the way
    made = sha1(_MESSAGE_ID_NAMESPACE + name, usedforsecurity=False).hexdigest()
    rest = f"5{made[13:16]}-{_UUID_VARIANT[int(made[16], 16)]}{made[17:20]}-{made[20:32]}"
    return f"{made[:8]}-{made[8:12]}-{rest}"
