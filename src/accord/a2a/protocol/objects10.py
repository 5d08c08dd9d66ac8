"""The objects of format 1.0 (ProtoJSON) as they stand on the wire. What they mean is said
elsewhere."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType


class _Object(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pass


class PartObject(_Object, frozen=True, kw_only=True):
    text: str | None = None
    raw: str | None = None
    url: str | None = None
    data: Any = UNSET
    filename: str | None = None
    media_type: str | None = None
    metadata: dict[str, Any] | None = None


class MessageObject(_Object, frozen=True, kw_only=True):
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
    id: str
    context_id: str | None = None
    status: StatusObject
    artifacts: list[ArtifactObject] | None = None
    history: list[MessageObject] | None = None
    metadata: dict[str, Any] | None = None


class StatusUpdateObject(_Object, frozen=True, kw_only=True):
    task_id: str
    context_id: str
    status: StatusObject
    metadata: dict[str, Any] | None = None


class ArtifactUpdateObject(_Object, frozen=True, kw_only=True):
    task_id: str
    context_id: str
    artifact: ArtifactObject
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: dict[str, Any] | None = None


class EventObject(_Object, frozen=True, kw_only=True):
    """One of these."""

    task: TaskObject | None = None
    message: MessageObject | None = None
    status_update: StatusUpdateObject | None = None
    artifact_update: ArtifactUpdateObject | None = None


class AuthenticationObject(_Object, frozen=True, kw_only=True):
    scheme: str = ""
    credentials: str | None = None


class PushObject(_Object, frozen=True, kw_only=True):
    task_id: str | None = None
    url: str
    id: str | None = None
    token: str | None = None
    authentication: AuthenticationObject | None = None


class PushesObject(_Object, frozen=True, kw_only=True):
    configs: list[PushObject]


class TasksObject(Struct, frozen=True, kw_only=True, rename="camel"):
    # 1.0, section 3.1.4: all of these are there, empty or not.
    tasks: list[TaskObject]
    next_page_token: str
    page_size: int
    total_size: int


class ConfigurationObject(_Object, frozen=True, kw_only=True):
    accepted_output_modes: list[str] | None = None
    task_push_notification_config: PushObject | None = None
    history_length: int | None = None
    return_immediately: bool | None = None


class SendObject(_Object, frozen=True, kw_only=True):
    tenant: str | None = None
    message: MessageObject
    configuration: ConfigurationObject | None = None
    metadata: dict[str, Any] | None = None


class TaskQueryObject(_Object, frozen=True, kw_only=True):
    tenant: str | None = None
    id: str
    history_length: int | None = None


class ListQueryObject(_Object, frozen=True, kw_only=True):
    context_id: str | None = None
    status: str | None = None
    page_size: int | None = None
    page_token: str | None = None
    history_length: int | None = None
    status_timestamp_after: str | None = None
    include_artifacts: bool | None = None


class PushQueryObject(_Object, frozen=True, kw_only=True):
    task_id: str
    id: str | None = None


class Wrapped(Struct, frozen=True):
    task: Raw | UnsetType = UNSET
    message: Raw | UnsetType = UNSET
