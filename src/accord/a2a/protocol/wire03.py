"""Format 0.3: objects say by `kind` what they are. The model to that, and back.

Written strictly. Answers are read strictly too, but that agents write null for nothing: what breaks
the format is left to `tolerant`. Clients may leave `kind` out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from accord.a2a.protocol.message import Message, Role
from accord.a2a.protocol.objects03 import (
    ArtifactObject,
    ArtifactUpdateObject,
    AuthenticationObject,
    ConfigurationObject,
    FileObject,
    Kind,
    MessageObject,
    PartObject,
    PushObject,
    PushQueryObject,
    SendObject,
    StatusObject,
    StatusUpdateObject,
    TaskObject,
    TaskPushObject,
    TaskQueryObject,
)
from accord.a2a.protocol.params import PushQuery, Send, TaskPush, TaskQuery
from accord.a2a.protocol.parts import DataPart, FilePart, Part, TextPart, whole_numbers
from accord.a2a.protocol.push import PushConfig
from accord.a2a.protocol.states import RESTING, TaskState
from accord.a2a.protocol.task import (
    Answer,
    Artifact,
    ArtifactUpdate,
    Event,
    StatusUpdate,
    Task,
    TaskStatus,
    Unrecognized,
)

COMPAT: Final = "data_part_compat"
"""Marks data that is no object, which 0.3 does not have: it is in the member `value`, as the
official SDKs write it."""

_ROLES: Final[dict[str, Role]] = {"user": "user", "agent": "agent"}
_STATES: Final = {state.value: state for state in TaskState}


_any: Final = msgspec.json.Decoder().decode
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_kind: Final = msgspec.json.Decoder(Kind).decode
_task: Final = msgspec.json.Decoder(TaskObject).decode
_message: Final = msgspec.json.Decoder(MessageObject).decode
_status_update: Final = msgspec.json.Decoder(StatusUpdateObject).decode
_artifact_update: Final = msgspec.json.Decoder(ArtifactUpdateObject).decode
_push: Final = msgspec.json.Decoder(TaskPushObject).decode
_send: Final = msgspec.json.Decoder(SendObject).decode
_task_query: Final = msgspec.json.Decoder(TaskQueryObject).decode
_push_query: Final = msgspec.json.Decoder(PushQueryObject).decode

# Writing


def _part(part: Part) -> PartObject:
    metadata = part.metadata or None
    match part:
        case TextPart(text=text):
            return PartObject(kind="text", text=text, metadata=metadata)
        case FilePart(content=content, url=url):
            file = FileObject(
                bytes=content,
                uri=url if content is None else None,
                name=part.name or None,
                mime_type=part.media_type or None,
            )
            return PartObject(kind="file", file=file, metadata=metadata)
        case DataPart(data=dict(data)):
            return PartObject(kind="data", data=data, metadata=metadata)
        case _:
            marked = {**part.metadata, COMPAT: True}
            return PartObject(kind="data", data={"value": part.data}, metadata=marked)


def message(message: Message) -> MessageObject:
    return MessageObject(
        kind="message",
        message_id=message.message_id,
        role=message.role,
        parts=[_part(part) for part in message.parts],
        context_id=message.context_id or None,
        task_id=message.task_id or None,
        metadata=message.metadata or None,
        extensions=list(message.extensions) or None,
        reference_task_ids=list(message.reference_task_ids) or None,
    )


def _status_object(status: TaskStatus) -> StatusObject:
    said = None if status.message is None else message(status.message)
    return StatusObject(state=status.state.value, message=said, timestamp=status.timestamp or None)


def _artifact_object(artifact: Artifact) -> ArtifactObject:
    return ArtifactObject(
        artifact_id=artifact.artifact_id,
        parts=[_part(part) for part in artifact.parts],
        name=artifact.name or None,
        description=artifact.description or None,
        metadata=artifact.metadata or None,
        extensions=list(artifact.extensions) or None,
    )


def task(task: Task) -> TaskObject:
    return TaskObject(
        kind="task",
        id=task.id,
        context_id=task.context_id,
        status=_status_object(task.status),
        artifacts=[_artifact_object(each) for each in task.artifacts] or None,
        history=[message(each) for each in task.history] or None,
        metadata=task.metadata or None,
    )


def answer(answer: Answer) -> Any:
    return task(answer) if isinstance(answer, Task) else message(answer)


def event(event: Event) -> Any:
    match event:
        case StatusUpdate():
            return StatusUpdateObject(
                kind="status-update",
                task_id=event.task_id,
                context_id=event.context_id,
                status=_status_object(event.status),
                final=event.status.state in RESTING,
                metadata=event.metadata or None,
            )
        case ArtifactUpdate():
            return ArtifactUpdateObject(
                kind="artifact-update",
                task_id=event.task_id,
                context_id=event.context_id,
                artifact=_artifact_object(event.artifact),
                append=event.append or None,
                last_chunk=event.last_chunk or None,
                metadata=event.metadata or None,
            )
        case _:
            return answer(event)


def _push_object(config: PushConfig) -> PushObject:
    authentication = None
    if config.scheme:
        authentication = AuthenticationObject(
            schemes=[config.scheme], credentials=config.credentials or None
        )
    return PushObject(
        url=config.url,
        id=config.id or None,
        token=config.token or None,
        authentication=authentication,
    )


def push(push: TaskPush) -> TaskPushObject:
    return TaskPushObject(task_id=push.task_id, push_notification_config=_push_object(push.config))


push_params = push


def pushes(pushes: Sequence[TaskPush]) -> list[TaskPushObject]:
    return [push(each) for each in pushes]


def nothing() -> None:
    """What deleting gives."""


def send_params(send: Send) -> SendObject:
    return SendObject(
        message=message(send.message),
        configuration=ConfigurationObject(
            accepted_output_modes=list(send.accepted_output_modes) or None,
            blocking=send.blocking,
            history_length=send.history_length,
            push_notification_config=None if send.push is None else _push_object(send.push),
        ),
        metadata=send.metadata or None,
    )


def task_params(query: TaskQuery) -> TaskQueryObject:
    return TaskQueryObject(id=query.id, history_length=query.history_length)


def push_query_params(query: PushQuery) -> PushQueryObject:
    return PushQueryObject(id=query.task_id, push_notification_config_id=query.config_id or None)


# Reading


def _read_part(part: PartObject) -> Part:
    metadata = part.metadata or {}
    kind = part.kind
    match kind:
        case "text" if part.text is not UNSET:
            return TextPart(text=part.text, metadata=metadata)
        case "file" if part.file is not UNSET:
            return _read_file(part.file, metadata)
        case "data" if part.data is not UNSET:
            data = whole_numbers(part.data)
            if metadata.get(COMPAT) is True and isinstance(data, dict) and "value" in data:
                rest = {name: each for name, each in metadata.items() if name != COMPAT}
                return DataPart(data=data["value"], metadata=rest)
            return DataPart(data=data, metadata=metadata)
        case "text" | "file" | "data":
            raise ValueError(f"a part of kind {kind!r} has no member {kind!r}")
        case "":
            raise ValueError("a part has no kind")
        case _:
            raise ValueError(f"a part is of kind {kind[:40]!r}, which is not text, file or data")


def _with_kind(part: PartObject) -> PartObject:
    """Return a part of a client, who may leave out what kind it is."""
    for kind in ("text", "file", "data"):
        if not part.kind and getattr(part, kind) is not UNSET:
            return replace(part, kind=kind)
    return part


def _read_file(file: FileObject, metadata: dict[str, Any]) -> FilePart:
    if (file.bytes is None) is (file.uri is None):
        raise ValueError("a file has either bytes or a uri")
    return FilePart(
        content=file.bytes,
        url=file.uri or "",
        name=file.name or "",
        media_type=file.mime_type or "",
        metadata=metadata,
    )


def _parts(parts: list[PartObject]) -> tuple[Part, ...]:
    return tuple(map(_read_part, parts))


def _read_role(name: str) -> Role:
    role = _ROLES.get(name)
    if role is None:
        raise ValueError(f"a message's role is {name[:40]!r}, not user or agent")
    return role


def _read_message(message: MessageObject) -> Message:
    return Message(
        message_id=message.message_id,
        role=_read_role(message.role),
        parts=_parts(message.parts),
        context_id=message.context_id or "",
        task_id=message.task_id or "",
        metadata=message.metadata or {},
        extensions=tuple(message.extensions or ()),
        reference_task_ids=tuple(message.reference_task_ids or ()),
    )


def _read_status(status: StatusObject) -> TaskStatus:
    state = _STATES.get(status.state)
    if state is None:
        raise ValueError(f"a task's state is {status.state[:40]!r}, which is none of 0.3")
    return TaskStatus(
        state=state,
        message=None if status.message is None else _read_message(status.message),
        timestamp=status.timestamp or "",
    )


def _read_artifact(artifact: ArtifactObject) -> Artifact:
    return Artifact(
        artifact_id=artifact.artifact_id,
        parts=_parts(artifact.parts),
        name=artifact.name or "",
        description=artifact.description or "",
        metadata=artifact.metadata or {},
        extensions=tuple(artifact.extensions or ()),
    )


def _read_task(task: TaskObject) -> Task:
    return Task(
        id=task.id,
        context_id=task.context_id,
        status=_read_status(task.status),
        artifacts=tuple(map(_read_artifact, task.artifacts or ())),
        history=tuple(map(_read_message, task.history or ())),
        metadata=task.metadata or {},
    )


def read_answer(raw: bytes) -> Answer | Unrecognized:
    if not raw.startswith(b"{"):
        return Unrecognized(_any(raw))
    members = _members(raw)
    kind = bytes(members.get("kind", b"null"))
    if kind == b'"task"':
        return _read_task(_task(raw))
    if kind == b'"message"':
        return _read_message(_message(raw))
    if members.keys() & {"status", "artifacts", "history", "parts"}:
        said = "has no kind" if kind == b"null" else f"is of kind {kind[:40].decode()}"
        raise ValueError(f"the result {said}")
    return Unrecognized(_any(raw))


def read_task(raw: bytes) -> Task:
    task = _task(raw)
    if task.kind != "task":
        raise ValueError(
            f"a task is of kind {task.kind[:40]!r}" if task.kind else "a task has no kind"
        )
    return _read_task(task)


def read_event(raw: bytes) -> Event:
    match _kind(raw).kind:
        case "task":
            return _read_task(_task(raw))
        case "message":
            return _read_message(_message(raw))
        case "status-update":
            status = _status_update(raw)
            return StatusUpdate(
                task_id=status.task_id,
                context_id=status.context_id,
                status=_read_status(status.status),
                metadata=status.metadata or {},
            )
        case "artifact-update":
            made = _artifact_update(raw)
            return ArtifactUpdate(
                task_id=made.task_id,
                context_id=made.context_id,
                artifact=_read_artifact(made.artifact),
                append=bool(made.append),
                last_chunk=bool(made.last_chunk),
                metadata=made.metadata or {},
            )
        case kind:
            raise ValueError(f"an event is of kind {kind[:40]!r}, which nobody knows")


def _read_config(push: PushObject) -> PushConfig:
    authentication = push.authentication or AuthenticationObject()
    return PushConfig(
        url=push.url,
        id=push.id or "",
        token=push.token or "",
        scheme=authentication.schemes[0] if authentication.schemes else "",
        credentials=authentication.credentials or "",
    )


def read_push_params(raw: bytes) -> TaskPush:
    push = _push(raw)
    return TaskPush(task_id=push.task_id, config=_read_config(push.push_notification_config))


def read_push(raw: bytes) -> PushConfig:
    return read_push_params(raw).config


def read_send(raw: bytes) -> Send:
    send = _send(raw)
    configuration = send.configuration or ConfigurationObject()
    push = configuration.push_notification_config
    parts = [_with_kind(part) for part in send.message.parts]
    return Send(
        message=_read_message(replace(send.message, parts=parts)),
        # 0.3 does not say what is meant without it; agents wait, as 1.0 asks for.
        blocking=configuration.blocking is not False,
        history_length=_length(configuration.history_length),
        accepted_output_modes=tuple(configuration.accepted_output_modes or ()),
        push=None if push is None else _read_config(push),
        metadata=send.metadata or {},
    )


def read_task_query(raw: bytes) -> TaskQuery:
    query = _task_query(raw)
    return TaskQuery(id=query.id, history_length=_length(query.history_length))


def read_push_query(raw: bytes) -> PushQuery:
    query = _push_query(raw)
    return PushQuery(task_id=query.id, config_id=query.push_notification_config_id or "")


def _length(length: int | None) -> int | None:
    if length is not None and length < 0:
        raise ValueError("historyLength must not be below zero")
    return length
