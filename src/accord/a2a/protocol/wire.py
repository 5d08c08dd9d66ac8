"""The base of the wire formats: conversion between the model and JSON objects.

Names are those of one version, from the tables in `fields`. Other differences between 0.3 and 1.0
are in `formats`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from accord.a2a.protocol.fields import (
    ArtifactObject,
    ArtifactUpdateObject,
    AuthenticationObject,
    Codec,
    ConfigurationObject,
    FieldTable,
    MessageObject,
    PartObject,
    PushObject,
    PushQueryObject,
    SendObject,
    StatusObject,
    StatusUpdateObject,
    TaskObject,
    TaskQueryObject,
)
from accord.a2a.protocol.model import (
    RESTING,
    Answer,
    Artifact,
    ArtifactUpdate,
    Event,
    Message,
    Part,
    PushConfig,
    PushQuery,
    Send,
    StatusUpdate,
    Task,
    TaskPush,
    TaskQuery,
    TaskState,
    TaskStatus,
    Unrecognized,
)


class WireFormat(ABC):
    """A writer and reader of the model in one version.

    Writers return objects for the encoder. Readers raise one of the exceptions in
    `UNREADABLE`, with the reason as the message.
    """

    # more attributes than CPython finds quickly in a dict
    __slots__ = (
        "_artifact_object",
        "_artifact_update_object",
        "_authentication_object",
        "_codec",
        "_configuration_object",
        "_decode_message",
        "_decode_push_query",
        "_decode_send",
        "_decode_task",
        "_decode_task_query",
        "_has_blocking",
        "_has_final",
        "_has_schemes",
        "_has_tenants",
        "_message_object",
        "_no_context",
        "_part_object",
        "_push_object",
        "_push_query_object",
        "_role_names",
        "_roles",
        "_send_object",
        "_state_names",
        "_states",
        "_status_object",
        "_status_update_object",
        "_task_object",
        "_task_query_object",
        "_version",
    )

    def __init__(self, table: FieldTable) -> None:
        self._codec = codec = Codec(table)
        self._version = table.version
        self._role_names, self._state_names = table.roles, table.states
        self._roles = {name: role for role, name in table.roles.items()}
        self._states = {name: state for state, name in table.states.items()}
        self._no_context = "" if codec.requires(TaskObject, "context_id") else None
        self._has_tenants = codec.has(SendObject, "tenant")
        self._has_final = codec.has(StatusUpdateObject, "final")
        self._has_blocking = codec.has(ConfigurationObject, "blocking")
        self._has_schemes = codec.has(AuthenticationObject, "schemes")

        self._part_object = codec.writer(PartObject)
        self._message_object = codec.writer(MessageObject)
        self._status_object = codec.writer(StatusObject)
        self._artifact_object = codec.writer(ArtifactObject)
        self._task_object = codec.writer(TaskObject)
        self._status_update_object = codec.writer(StatusUpdateObject)
        self._artifact_update_object = codec.writer(ArtifactUpdateObject)
        self._authentication_object = codec.writer(AuthenticationObject)
        self._push_object = codec.writer(PushObject)
        self._configuration_object = codec.writer(ConfigurationObject)
        self._send_object = codec.writer(SendObject)
        self._task_query_object = codec.writer(TaskQueryObject)
        self._push_query_object = codec.writer(PushQueryObject)

        self._decode_task = codec.decoder(TaskObject)
        self._decode_message = codec.decoder(MessageObject)
        self._decode_send = codec.decoder(SendObject)
        self._decode_task_query = codec.decoder(TaskQueryObject)
        self._decode_push_query = codec.decoder(PushQueryObject)

    # Where the versions differ in more than names

    @abstractmethod
    def _write_part(self, part: Part) -> PartObject: ...

    @abstractmethod
    def _read_part(self, part: PartObject) -> Part: ...

    @abstractmethod
    def answer(self, answer: Answer) -> Any: ...

    @abstractmethod
    def event(self, event: Event) -> Any: ...

    @abstractmethod
    def read_answer(self, raw: bytes) -> Answer | Unrecognized: ...

    @abstractmethod
    def read_event(self, raw: bytes) -> Event: ...

    @abstractmethod
    def push(self, push: TaskPush) -> Any: ...

    @abstractmethod
    def pushes(self, pushes: Sequence[TaskPush]) -> Any: ...

    @abstractmethod
    def nothing(self) -> Any:
        """Return the empty result that answers the deletion of a webhook."""

    @abstractmethod
    def read_push(self, raw: bytes) -> PushConfig: ...

    @abstractmethod
    def read_push_params(self, raw: bytes) -> TaskPush: ...

    # Tasks and messages, written

    def message(self, message: Message) -> MessageObject:
        return self._message_object(
            message_id=message.message_id,
            role=self._role_names[message.role],
            parts=[self._write_part(part) for part in message.parts],
            context_id=message.context_id or None,
            task_id=message.task_id or None,
            metadata=message.metadata or None,
            extensions=list(message.extensions) if message.extensions else None,
            reference_task_ids=list(message.reference_task_ids)
            if message.reference_task_ids
            else None,
        )

    def _status(self, status: TaskStatus) -> StatusObject:
        return self._status_object(
            state=self._state_names[status.state],
            message=None if status.message is None else self.message(status.message),
            timestamp=status.timestamp or None,
        )

    def artifact(self, artifact: Artifact) -> ArtifactObject:
        return self._artifact_object(
            artifact_id=artifact.artifact_id,
            parts=[self._write_part(part) for part in artifact.parts],
            name=artifact.name or None,
            description=artifact.description or None,
            metadata=artifact.metadata or None,
            extensions=list(artifact.extensions) if artifact.extensions else None,
        )

    def task(self, task: Task) -> TaskObject:
        return self._task_object(
            id=task.id,
            context_id=task.context_id or self._no_context,
            status=self._status(task.status),
            artifacts=[self.artifact(each) for each in task.artifacts] or None,
            history=[self.message(each) for each in task.history] or None,
            metadata=task.metadata or None,
        )

    def _status_update(self, event: StatusUpdate) -> StatusUpdateObject:
        return self._status_update_object(
            task_id=event.task_id,
            context_id=event.context_id,
            status=self._status(event.status),
            final=event.status.state in RESTING if self._has_final else UNSET,
            metadata=event.metadata or None,
        )

    def _artifact_update(self, event: ArtifactUpdate) -> ArtifactUpdateObject:
        return self._artifact_update_object(
            task_id=event.task_id,
            context_id=event.context_id,
            artifact=self.artifact(event.artifact),
            append=event.append or None,
            last_chunk=event.last_chunk or None,
            metadata=event.metadata or None,
        )

    # Requests, written

    def _push(self, config: PushConfig, task_id: str = "") -> PushObject:
        authentication = None
        if config.scheme:
            authentication = self._authentication_object(
                schemes=(config.scheme,) if self._has_schemes else (),
                scheme="" if self._has_schemes else config.scheme,
                credentials=config.credentials or None,
            )
        return self._push_object(
            task_id=task_id or None,
            url=config.url,
            id=config.id or None,
            token=config.token or None,
            authentication=authentication,
        )

    def push_params(self, push: TaskPush) -> Any:
        return self.push(push)

    def send_params(self, send: Send) -> SendObject:
        waits = self._has_blocking
        return self._send_object(
            tenant=(send.tenant or None) if self._has_tenants else None,
            message=self.message(send.message),
            configuration=self._configuration_object(
                accepted_output_modes=list(send.accepted_output_modes)
                if send.accepted_output_modes
                else None,
                blocking=send.blocking if waits else None,
                push=None if send.push is None else self._push(send.push),
                history_length=send.history_length,
                return_immediately=None if waits else not send.blocking,
            ),
            metadata=send.metadata or None,
        )

    def task_params(self, query: TaskQuery) -> TaskQueryObject:
        return self._task_query_object(
            tenant=(query.tenant or None) if self._has_tenants else None,
            id=query.id,
            history_length=query.history_length,
        )

    def push_query_params(self, query: PushQuery) -> PushQueryObject:
        return self._push_query_object(task_id=query.task_id, config_id=query.config_id or None)

    # Tasks and messages, read

    def read_task(self, raw: bytes) -> Task:
        return self._read_task(self._decode_task(raw))

    def read_message(self, raw: bytes) -> Message:
        return self._read_message(self._decode_message(raw))

    def _read_message(self, message: MessageObject) -> Message:
        role = self._roles.get(message.role)
        if role is None:
            names = " or ".join(self._roles)
            raise ValueError(f"a message's role is {message.role[:40]!r}, not {names}")
        return Message(
            message_id=message.message_id,
            role=role,
            parts=tuple(map(self._read_part, message.parts)),
            context_id=message.context_id or "",
            task_id=message.task_id or "",
            metadata=message.metadata or {},
            extensions=tuple(message.extensions) if message.extensions else (),
            reference_task_ids=tuple(message.reference_task_ids)
            if message.reference_task_ids
            else (),
        )

    def _read_state(self, name: str) -> TaskState:
        state = self._states.get(name)
        if state is None:
            raise ValueError(f"a task's state is {name[:40]!r}, which is none of {self._version}")
        return state

    def _read_status(self, status: StatusObject) -> TaskStatus:
        return TaskStatus(
            state=self._read_state(status.state),
            message=None if status.message is None else self._read_message(status.message),
            timestamp=status.timestamp or "",
        )

    def _read_artifact(self, artifact: ArtifactObject) -> Artifact:
        return Artifact(
            artifact_id=artifact.artifact_id,
            parts=tuple(map(self._read_part, artifact.parts)),
            name=artifact.name or "",
            description=artifact.description or "",
            metadata=artifact.metadata or {},
            extensions=tuple(artifact.extensions) if artifact.extensions else (),
        )

    def _read_task(self, task: TaskObject) -> Task:
        return Task(
            id=task.id,
            context_id=task.context_id or "",
            status=self._read_status(task.status),
            artifacts=tuple(map(self._read_artifact, task.artifacts)) if task.artifacts else (),
            history=tuple(map(self._read_message, task.history)) if task.history else (),
            metadata=task.metadata or {},
        )

    def _read_status_update(self, update: StatusUpdateObject) -> StatusUpdate:
        return StatusUpdate(
            task_id=update.task_id,
            context_id=update.context_id,
            status=self._read_status(update.status),
            metadata=update.metadata or {},
        )

    def _read_artifact_update(self, update: ArtifactUpdateObject) -> ArtifactUpdate:
        return ArtifactUpdate(
            task_id=update.task_id,
            context_id=update.context_id,
            artifact=self._read_artifact(update.artifact),
            append=bool(update.append),
            last_chunk=bool(update.last_chunk),
            metadata=update.metadata or {},
        )

    # Requests, read

    def read_send(self, raw: bytes) -> Send:
        return self._read_send(self._decode_send(raw))

    def _read_send(self, send: SendObject) -> Send:
        configuration = send.configuration or ConfigurationObject()
        push = configuration.push
        return Send(
            message=self._read_message(send.message),
            # 0.3 does not define the default of `blocking`; agents wait, as 1.0 requires.
            blocking=configuration.blocking is not False and not configuration.return_immediately,
            history_length=length(configuration.history_length),
            accepted_output_modes=tuple(configuration.accepted_output_modes or ()),
            push=None if push is None else self._read_push(push),
            metadata=send.metadata or {},
            tenant=send.tenant or "",
        )

    def _read_push(self, push: PushObject) -> PushConfig:
        authentication = push.authentication or AuthenticationObject()
        return PushConfig(
            url=push.url,
            id=push.id or "",
            token=push.token or "",
            scheme=authentication.schemes[0] if authentication.schemes else authentication.scheme,
            credentials=authentication.credentials or "",
        )

    def read_task_query(self, raw: bytes) -> TaskQuery:
        query = self._decode_task_query(raw)
        return TaskQuery(
            id=query.id, history_length=length(query.history_length), tenant=query.tenant or ""
        )

    def read_push_query(self, raw: bytes) -> PushQuery:
        query = self._decode_push_query(raw)
        return PushQuery(task_id=query.task_id, config_id=query.config_id or "")


def length(length: int | None) -> int | None:
    if length is not None and length < 0:
        raise ValueError("historyLength must not be below zero")
    return length
