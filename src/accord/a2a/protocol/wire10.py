"""Format 1.0: ProtoJSON, in which the member that is there says what an object is. The model to
that, and back.

ProtoJSON leaves out what is empty, and readers take null for that too.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from accord.a2a.protocol.message import Message, Role
from accord.a2a.protocol.objects10 import (
    ArtifactObject,
    ArtifactUpdateObject,
    AuthenticationObject,
    ConfigurationObject,
    EventObject,
    ListQueryObject,
    MessageObject,
    PartObject,
    PushesObject,
    PushObject,
    PushQueryObject,
    SendObject,
    StatusObject,
    StatusUpdateObject,
    TaskObject,
    TaskQueryObject,
    TasksObject,
    Wrapped,
)
from accord.a2a.protocol.params import ListQuery, PushQuery, Send, TaskPush, TaskQuery
from accord.a2a.protocol.parts import DataPart, FilePart, Part, TextPart, whole_numbers
from accord.a2a.protocol.proto_names import camel
from accord.a2a.protocol.push import PushConfig
from accord.a2a.protocol.states import NAMES_10, TaskState
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

MAX_PAGE: Final = 100

_ROLES: Final[dict[str, Role]] = {"ROLE_USER": "user", "ROLE_AGENT": "agent"}
_ROLE_NAMES: Final[dict[Role, str]] = {role: name for name, role in _ROLES.items()}
_STATES: Final = {name: state for state, name in NAMES_10.items()}


_wrapped: Final = msgspec.json.Decoder(Wrapped).decode
_any: Final = msgspec.json.Decoder().decode
_task: Final = msgspec.json.Decoder(TaskObject).decode
_message: Final = msgspec.json.Decoder(MessageObject).decode
_event: Final = msgspec.json.Decoder(EventObject).decode
_push: Final = msgspec.json.Decoder(PushObject).decode
_send: Final = msgspec.json.Decoder(SendObject).decode
_task_query: Final = msgspec.json.Decoder(TaskQueryObject).decode
_list_query: Final = msgspec.json.Decoder(ListQueryObject).decode
_push_query: Final = msgspec.json.Decoder(PushQueryObject).decode

# Writing


def _part(part: Part) -> PartObject:
    filename, media_type, metadata = part.name or None, part.media_type or None, part.metadata
    text = raw = url = None
    data: Any = UNSET
    match part:
        case TextPart():
            text = part.text
        case FilePart(content=None):
            url = part.url
        case FilePart():
            raw = part.content
        case _:
            data = part.data
    return PartObject(
        text=text,
        raw=raw,
        url=url,
        data=data,
        filename=filename,
        media_type=media_type,
        metadata=metadata or None,
    )


def message(message: Message) -> MessageObject:
    return MessageObject(
        message_id=message.message_id,
        role=_ROLE_NAMES[message.role],
        parts=[_part(part) for part in message.parts],
        context_id=message.context_id or None,
        task_id=message.task_id or None,
        metadata=message.metadata or None,
        extensions=list(message.extensions) or None,
        reference_task_ids=list(message.reference_task_ids) or None,
    )


def _status_object(status: TaskStatus) -> StatusObject:
    said = None if status.message is None else message(status.message)
    return StatusObject(
        state=NAMES_10[status.state], message=said, timestamp=status.timestamp or None
    )


def artifact_object(artifact: Artifact) -> ArtifactObject:
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
        id=task.id,
        context_id=task.context_id or None,
        status=_status_object(task.status),
        artifacts=[artifact_object(each) for each in task.artifacts] or None,
        history=[message(each) for each in task.history] or None,
        metadata=task.metadata or None,
    )


def answer(answer: Answer) -> EventObject:
    if isinstance(answer, Task):
        return EventObject(task=task(answer))
    return EventObject(message=message(answer))


def event(event: Event) -> EventObject:
    match event:
        case StatusUpdate():
            return EventObject(
                status_update=StatusUpdateObject(
                    task_id=event.task_id,
                    context_id=event.context_id,
                    status=_status_object(event.status),
                    metadata=event.metadata or None,
                )
            )
        case ArtifactUpdate():
            return EventObject(
                artifact_update=ArtifactUpdateObject(
                    task_id=event.task_id,
                    context_id=event.context_id,
                    artifact=artifact_object(event.artifact),
                    append=event.append or None,
                    last_chunk=event.last_chunk or None,
                    metadata=event.metadata or None,
                )
            )
        case _:
            return answer(event)


def _push_object(config: PushConfig, task_id: str = "") -> PushObject:
    authentication = None
    if config.scheme:
        authentication = AuthenticationObject(
            scheme=config.scheme, credentials=config.credentials or None
        )
    return PushObject(
        task_id=task_id or None,
        url=config.url,
        id=config.id or None,
        token=config.token or None,
        authentication=authentication,
    )


def push(push: TaskPush) -> PushObject:
    return _push_object(push.config, push.task_id)


push_params = push


def pushes(pushes: Sequence[TaskPush]) -> PushesObject:
    return PushesObject(configs=[push(each) for each in pushes])


def tasks(tasks: Sequence[Task], *, next_page: str, size: int, total: int) -> TasksObject:
    return TasksObject(
        tasks=[task(each) for each in tasks],
        next_page_token=next_page,
        page_size=size,
        total_size=total,
    )


def nothing() -> dict[str, Any]:
    """What deleting gives: google.protobuf.Empty."""
    return {}


def send_params(send: Send) -> SendObject:
    return SendObject(
        tenant=send.tenant or None,
        message=message(send.message),
        configuration=ConfigurationObject(
            accepted_output_modes=list(send.accepted_output_modes) or None,
            task_push_notification_config=None if send.push is None else _push_object(send.push),
            history_length=send.history_length,
            return_immediately=not send.blocking,
        ),
        metadata=send.metadata or None,
    )


def task_params(query: TaskQuery) -> TaskQueryObject:
    return TaskQueryObject(
        tenant=query.tenant or None, id=query.id, history_length=query.history_length
    )


def push_query_params(query: PushQuery) -> PushQueryObject:
    return PushQueryObject(task_id=query.task_id, id=query.config_id or None)


# Reading


def _read_part(part: PartObject) -> Part:
    given = [each is not None for each in (part.text, part.raw, part.url)]
    if sum(given) + (part.data is not UNSET) != 1:
        raise ValueError("a part has one of text, raw, url and data")
    name, media_type = part.filename or "", part.media_type or ""
    metadata = part.metadata or {}
    if part.text is not None:
        return TextPart(text=part.text, name=name, media_type=media_type, metadata=metadata)
    if part.data is not UNSET:
        data = whole_numbers(part.data)
        return DataPart(data=data, name=name, media_type=media_type, metadata=metadata)
    if part.raw is not None:
        _check_base64(part.raw)
    return FilePart(
        content=part.raw, url=part.url or "", name=name, media_type=media_type, metadata=metadata
    )


def _check_base64(text: str) -> None:
    """ProtoJSON: standard or URL-safe, with or without padding."""
    padded = text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)
    try:
        b64decode(padded, validate=True)
    except ValueError as error:
        raise ValueError(f"the raw content of a part is not base64: {error}") from None


def _parts(parts: list[PartObject]) -> tuple[Part, ...]:
    return tuple(map(_read_part, parts))


def _read_message(message: MessageObject) -> Message:
    role = _ROLES.get(message.role)
    if role is None:
        raise ValueError(f"a message's role is {message.role[:40]!r}, not ROLE_USER or ROLE_AGENT")
    return Message(
        message_id=message.message_id,
        role=role,
        parts=_parts(message.parts),
        context_id=message.context_id or "",
        task_id=message.task_id or "",
        metadata=message.metadata or {},
        extensions=tuple(message.extensions or ()),
        reference_task_ids=tuple(message.reference_task_ids or ()),
    )


def _read_state(name: str) -> TaskState:
    state = _STATES.get(name)
    if state is None:
        raise ValueError(f"a task's state is {name[:40]!r}, which is none of 1.0")
    return state


def _read_status(status: StatusObject) -> TaskStatus:
    return TaskStatus(
        state=_read_state(status.state),
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
        context_id=task.context_id or "",
        status=_read_status(task.status),
        artifacts=tuple(map(_read_artifact, task.artifacts or ())),
        history=tuple(map(_read_message, task.history or ())),
        metadata=task.metadata or {},
    )


def read_answer(raw: bytes) -> Answer | Unrecognized:
    if not raw.startswith(b"{"):
        return Unrecognized(_any(raw))
    found = _wrapped(raw)
    if found.task is not UNSET:
        return _read_task(_task(found.task))
    if found.message is not UNSET:
        return _read_message(_message(found.message))
    return Unrecognized(_any(raw))


def read_task(raw: bytes) -> Task:
    return _read_task(_task(raw))


def read_message(raw: bytes) -> Message:
    return _read_message(_message(raw))


def read_event(raw: bytes) -> Event:
    event = _event(raw)
    match event:
        case EventObject(task=TaskObject() as task):
            return _read_task(task)
        case EventObject(message=MessageObject() as message):
            return _read_message(message)
        case EventObject(status_update=StatusUpdateObject() as status):
            return StatusUpdate(
                task_id=status.task_id,
                context_id=status.context_id,
                status=_read_status(status.status),
                metadata=status.metadata or {},
            )
        case EventObject(artifact_update=ArtifactUpdateObject() as made):
            return ArtifactUpdate(
                task_id=made.task_id,
                context_id=made.context_id,
                artifact=_read_artifact(made.artifact),
                append=bool(made.append),
                last_chunk=bool(made.last_chunk),
                metadata=made.metadata or {},
            )
        case _:
            raise ValueError("an event has one of task, message, statusUpdate and artifactUpdate")


def _read_config(push: PushObject) -> PushConfig:
    authentication = push.authentication or AuthenticationObject()
    return PushConfig(
        url=push.url,
        id=push.id or "",
        token=push.token or "",
        scheme=authentication.scheme,
        credentials=authentication.credentials or "",
    )


def read_push_params(raw: bytes) -> TaskPush:
    push = _push(camel(raw))
    if not push.task_id:
        raise ValueError("taskId is missing")
    return TaskPush(task_id=push.task_id, config=_read_config(push))


def read_push(raw: bytes) -> PushConfig:
    return _read_config(_push(raw))


def read_send(raw: bytes) -> Send:
    send = _send(camel(raw))
    configuration = send.configuration or ConfigurationObject()
    push = configuration.task_push_notification_config
    return Send(
        message=_read_message(send.message),
        blocking=not configuration.return_immediately,
        history_length=_length(configuration.history_length),
        accepted_output_modes=tuple(configuration.accepted_output_modes or ()),
        push=None if push is None else _read_config(push),
        metadata=send.metadata or {},
        tenant=send.tenant or "",
    )


def read_task_query(raw: bytes) -> TaskQuery:
    query = _task_query(camel(raw))
    return TaskQuery(
        id=query.id, history_length=_length(query.history_length), tenant=query.tenant or ""
    )


def read_list_query(raw: bytes) -> ListQuery:
    query = _list_query(camel(raw))
    size = 50 if query.page_size is None else query.page_size
    if not 1 <= size <= MAX_PAGE:
        raise ValueError(f"pageSize must be from 1 to {MAX_PAGE}, got {size}")
    state = None if not query.status else _read_state(query.status)
    return ListQuery(
        context_id=query.context_id or "",
        # proto3: the first of an enumeration is what is meant where nothing is said
        state=None if state is TaskState.UNKNOWN else state,
        page_size=size,
        page_token=query.page_token or "",
        history_length=_length(query.history_length),
        updated_after=query.status_timestamp_after or "",
        include_artifacts=bool(query.include_artifacts),
    )


def read_push_query(raw: bytes) -> PushQuery:
    query = _push_query(camel(raw))
    return PushQuery(task_id=query.task_id, config_id=query.id or "")


def _length(length: int | None) -> int | None:
    if length is not None and length < 0:
        raise ValueError("historyLength must not be below zero")
    return length
