"""Envelopes: the JSON messages in the topics of the bus, and their encoding.

A task message has only the fields that observers need; workers read the task's row. A result
message is complete. Requests of external programs to start, cancel and signal runs are validated
strictly. Functions here do no I/O.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar
from uuid import UUID

from msgspec import UNSET, DecodeError, Meta, Raw, Struct, UnsetType, ValidationError, json

from accord.jsonrpc.protocol.codec import MAX_DEPTH, NestingError, check_nesting
from accord.workflows.bus.bus import EnvelopeError, RunAnnouncement
from accord.workflows.core.events import Arrival, TaskAsked, TaskFailed, TaskSucceeded
from accord.workflows.core.state import Failure
from accord.workflows.storage.messages import RunMessage
from accord.workflows.storage.tasks import Kind, NewTask, kind_and_target, task_id

SCHEMA: Final = 1
"""The schema version of all messages."""

_LEVELS: Final = 2
"""The nesting levels around a value: one for the message, one for the details of an error."""

T = TypeVar("T", bound="_Envelope | _RequestEnvelope")

Name: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00-\x1f]{1,200}$")]
Id: TypeAlias = Annotated[str, Meta(pattern=r"^[!-~]{1,200}$")]
Trace: TypeAlias = Annotated[str, Meta(pattern=r"^[!-~]{0,200}$")]
Status: TypeAlias = Literal["success", "error", "input_required"]


class _Envelope(Struct, frozen=True, kw_only=True, tag_field="type"):
    schema: int = SCHEMA
    message_id: str
    run_id: str
    correlation_id: str = ""
    traceparent: str = ""
    created_at: float


# From executors to bridges


class TaskSent(_Envelope, frozen=True, kw_only=True, tag="task"):
    """The message that announces a task to bridges.

    `agent` is the target of the task, whatever its kind: an agent's name or, for example, a URL.
    """

    task_id: str
    attempt_group: int = 1
    attempt: int = 1
    fence: int = 0
    kind: Kind
    agent: str
    deadline: float | None = None
    input: Any = None


class TaskCancelled(_Envelope, frozen=True, kw_only=True, tag="cancel"):
    """The notice that a task was cancelled."""

    task_id: str


# From bridges to executors


class TaskAnswered(_Envelope, frozen=True, kw_only=True, tag="result"):
    """The result of a task."""

    task_id: str
    attempt: int = 1
    status: Status
    output: Any = None
    data: Any = None
    artifacts: Any = None
    error: Failure | None = None
    prompt: Any = None


# From outside programs


class _RequestEnvelope(Struct, frozen=True, kw_only=True, tag_field="type"):
    schema: int
    message_id: Id
    correlation_id: Trace = ""
    traceparent: Trace = ""


class StartRun(_RequestEnvelope, frozen=True, kw_only=True, tag="start"):
    """A request to start a run as a user of this installation.

    Without `run_id`, the run's id is derived from the message id, so a duplicate message starts no
    second run.
    """

    workflow: Name
    version: Annotated[int, Meta(ge=1, le=2_147_483_647)] | None = None
    started_by: Name
    run_id: UUID | None = None
    input: Any = None


class CancelRun(_RequestEnvelope, frozen=True, kw_only=True, tag="cancel"):
    """A request to cancel a run."""

    run_id: UUID
    by: Name
    reason: Annotated[str, Meta(pattern=r"^[^\x00]{0,4000}$")] = ""


class SignalRun(_RequestEnvelope, frozen=True, kw_only=True, tag="signal"):
    """A request to send a run a signal; a second signal with the same `id` is ignored."""

    run_id: UUID
    name: Name
    id: Id | UnsetType = UNSET
    payload: Any = None


# For observers


class RunEvents(_Envelope, frozen=True, kw_only=True, tag="events"):
    """The events that one decision added to the history of a run."""

    sequence: int
    events: Raw


class DeadLetterNotice(_Envelope, frozen=True, kw_only=True, tag="dead_letter"):
    """A message that could not be read, or failed too often; `body` may be cut."""

    topic: str
    code: str
    message: str
    body: str


ToBridge: TypeAlias = TaskSent | TaskCancelled
RunRequest: TypeAlias = StartRun | CancelRun | SignalRun
AnyEnvelope: TypeAlias = TaskSent | TaskCancelled | TaskAnswered | RunEvents | DeadLetterNotice


class MessageOrigin(Struct, frozen=True):
    """The ids of a message and of its trace, which are repeated in the broker's headers."""

    message_id: str = ""
    correlation_id: str = ""
    traceparent: str = ""


class _SchemaNumber(Struct, frozen=True):
    schema: int


_encode: Final = json.Encoder().encode
_SCHEMA_NUMBER: Final = json.Decoder(_SchemaNumber)
_ORIGIN: Final = json.Decoder(MessageOrigin)
_TO_BRIDGE: Final[json.Decoder[ToBridge]] = json.Decoder(ToBridge)
_ANSWERS: Final = json.Decoder(TaskAnswered)
_REQUESTS: Final[json.Decoder[RunRequest]] = json.Decoder(RunRequest)


def encode(envelope: AnyEnvelope) -> str:
    """Encode an envelope as JSON."""
    return _encode(envelope).decode()


def read_to_bridge(data: bytes) -> ToBridge:
    """Decode a message that was sent to bridges. Raise EnvelopeError if it is invalid."""
    return _read(_TO_BRIDGE, data)


def read_answer(data: bytes) -> TaskAnswered:
    """Decode the result message of a task. Raise EnvelopeError if it is invalid."""
    answer = _read(_ANSWERS, data)
    if not answer.task_id.startswith(f"{answer.run_id}/"):
        raise EnvelopeError("unreadable", "the task is not one of the run")
    if (answer.status == "error") is (answer.error is None):
        raise EnvelopeError("unreadable", "`error` is there if and only if the status is error")
    return answer


def read_request(data: bytes) -> RunRequest:
    """Decode a request of an external program. Raise EnvelopeError if it is invalid."""
    return _read(_REQUESTS, data)


def read_origin(data: str | bytes) -> MessageOrigin:
    """Return the ids in a message; empty ones if the message cannot be decoded."""
    try:
        check_nesting(data, MAX_DEPTH + _LEVELS)
        return _ORIGIN.decode(data)
    except DecodeError:
        return MessageOrigin()


def task_sent(task: NewTask) -> TaskSent:
    """Return the message that announces a task to bridges."""
    command = task.command
    kind, target = kind_and_target(command)
    return TaskSent(
        message_id=task.id,
        run_id=task.run_id,
        task_id=task.id,
        attempt_group=task.attempt_group,
        kind=kind,
        agent=target,
        deadline=command.deadline,
        input=command.input,
        correlation_id=task.correlation_id,
        traceparent=task.traceparent,
        created_at=task.at,
    )


def task_cancelled(id: str, at: float) -> TaskCancelled:
    """Return the message that cancels a task."""
    run_id = id.partition("/")[0]
    return TaskCancelled(message_id=f"{id}/cancel", run_id=run_id, task_id=id, created_at=at)


def task_answered(message: RunMessage) -> TaskAnswered | None:
    """Return the result message for a message to the inbox of a run.

    Return None if the inbox message is not the outcome of a task.
    """
    arrival = message.arrival
    match arrival:
        case TaskSucceeded():
            return _answered(
                message, arrival.task, arrival.at,
                status="success", attempt=arrival.attempts, output=arrival.output,
                data=arrival.data, artifacts=arrival.artifacts,
            )  # fmt: skip
        case TaskFailed():
            return _answered(
                message, arrival.task, arrival.at,
                status="error", attempt=arrival.attempts, error=arrival.error,
            )  # fmt: skip
        case TaskAsked():
            return _answered(
                message, arrival.task, arrival.at,
                status="input_required", prompt=arrival.prompt,
            )  # fmt: skip
        case _:
            return None


def message_of(answer: TaskAnswered) -> RunMessage:
    """Convert a result message to the message for the inbox of the run."""
    return RunMessage(
        answer.message_id, answer.run_id, _arrival(answer), answer.traceparent,
        answer.correlation_id,
    )  # fmt: skip


def run_events(announcement: RunAnnouncement) -> RunEvents:
    """Return the message that announces the events of a decision."""
    return RunEvents(
        message_id=f"{announcement.run_id}/{announcement.sequence}",
        run_id=announcement.run_id,
        sequence=announcement.sequence,
        events=Raw(announcement.events),
        correlation_id=announcement.correlation_id,
        traceparent=announcement.traceparent,
        created_at=announcement.at,
    )


def _answered(message: RunMessage, task: str, at: float, **rest: Any) -> TaskAnswered:
    return TaskAnswered(
        message_id=message.id,
        run_id=message.run_id,
        task_id=task_id(message.run_id, task),
        correlation_id=message.correlation_id,
        traceparent=message.traceparent,
        created_at=at,
        **rest,
    )


def _arrival(answer: TaskAnswered) -> Arrival:
    task = answer.task_id[len(answer.run_id) + 1 :]
    at = answer.created_at
    if answer.status == "input_required":
        return TaskAsked(at=at, task=task, prompt=answer.prompt)
    if answer.error is not None:
        return TaskFailed(at=at, task=task, error=answer.error, attempts=answer.attempt)
    return TaskSucceeded(
        at=at,
        task=task,
        output=answer.output,
        data=answer.data,
        artifacts=answer.artifacts,
        attempts=answer.attempt,
    )


def _read(decoder: json.Decoder[T], data: bytes) -> T:
    try:
        check_nesting(data, MAX_DEPTH + _LEVELS)
        read = decoder.decode(data)
        _check(read.schema)
    except NestingError as error:
        raise EnvelopeError("unreadable", f"not a message: {error}") from None
    except (ValidationError, DecodeError, UnicodeDecodeError) as error:
        with suppress(ValidationError, DecodeError, UnicodeDecodeError):
            _check(_SCHEMA_NUMBER.decode(data).schema)
        raise EnvelopeError("unreadable", f"not a message: {error}") from None
    return read


def _check(schema: int) -> None:
    if schema > SCHEMA:
        text = f"schema {schema} is newer than {SCHEMA}, the newest that is known here"
        raise EnvelopeError("newer_schema", text)
