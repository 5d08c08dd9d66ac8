"""The objects of format 0.3 as they stand on the wire. What they mean is said elsewhere."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType


class _Object(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pass


class FileObject(_Object, frozen=True, kw_only=True):
    bytes: str | None = None
    uri: str | None = None
    name: str | None = None
    mime_type: str | None = None


class PartObject(_Object, frozen=True, kw_only=True):
    kind: str = ""
    text: str | UnsetType = UNSET
    file: FileObject | UnsetType = UNSET
    data: Any = UNSET
    metadata: dict[str, Any] | None = None


class MessageObject(_Object, frozen=True, kw_only=True):
    kind: str = ""
    message_id: str
    role: str
    parts: list[PartObject]
    context_id: str | None = None
    task_id: str | None = None
    metadata: dict[str, Any] | None = None
    extensions: list[str] | None = None
    reference_task_ids: list[str] | None = None


class StatusObject(_Object, frozen=True, kw_only=True):
    state: str
    message: MessageObject | None = None
    timestamp: str | None = None


class ArtifactObject(_Object, frozen=True, kw_only=True):
    artifact_id: str
    parts: list[PartObject]
    name: str | None = None
    description: str | None = None
    metadata: dict[str, Any] | None = None
    extensions: list[str] | None = None


class TaskObject(_Object, frozen=True, kw_only=True):
    kind: str = ""
    id: str
    context_id: str
    status: StatusObject
    artifacts: list[ArtifactObject] | None = None
    history: list[MessageObject] | None = None
    metadata: dict[str, Any] | None = None


class StatusUpdateObject(_Object, frozen=True, kw_only=True):
    kind: str = ""
    task_id: str
    context_id: str
    status: StatusObject
    final: bool | UnsetType = UNSET
    metadata: dict[str, Any] | None = None


class ArtifactUpdateObject(_Object, frozen=True, kw_only=True):
    kind: str = ""
    task_id: str
    context_id: str
    artifact: ArtifactObject
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: dict[str, Any] | None = None


class AuthenticationObject(_Object, frozen=True, kw_only=True):
    schemes: list[str] = []
    credentials: str | None = None


class PushObject(_Object, frozen=True, kw_only=True):
    url: str
    id: str | None = None
    token: str | None = None
    authentication: AuthenticationObject | None = None


class TaskPushObject(_Object, frozen=True, kw_only=True):
    task_id: str
    push_notification_config: PushObject


class ConfigurationObject(_Object, frozen=True, kw_only=True):
    accepted_output_modes: list[str] | None = None
    blocking: bool | None = None
    history_length: int | None = None
    push_notification_config: PushObject | None = None


class SendObject(_Object, frozen=True, kw_only=True):
    message: MessageObject
    configuration: ConfigurationObject | None = None
    metadata: dict[str, Any] | None = None


class TaskQueryObject(_Object, frozen=True, kw_only=True):
    id: str
    history_length: int | None = None


class PushQueryObject(_Object, frozen=True, kw_only=True):
    id: str
    push_notification_config_id: str | None = None


class Kind(Struct, frozen=True):
    kind: str
