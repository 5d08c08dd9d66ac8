"""What is asked of an agent, apart from how it is written."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from accord.a2a.protocol.message import Message
from accord.a2a.protocol.push import PushConfig
from accord.a2a.protocol.states import TaskState


class Send(Struct, frozen=True, kw_only=True):
    """A message, and how it is to be answered."""

    message: Message
    blocking: bool = True
    """Whether to wait until the task rests."""
    history_length: int | None = None
    accepted_output_modes: tuple[str, ...] = ()
    push: PushConfig | None = None
    metadata: dict[str, Any] = {}
    tenant: str = ""


class TaskQuery(Struct, frozen=True, kw_only=True):
    """One task: to be told about, cancelled or followed."""

    id: str
    history_length: int | None = None
    tenant: str = ""


class ListQuery(Struct, frozen=True, kw_only=True):
    """A page of tasks (1.0)."""

    context_id: str = ""
    state: TaskState | None = None
    page_size: int = 50
    page_token: str = ""
    history_length: int | None = None
    updated_after: str = ""
    include_artifacts: bool = False


class PushQuery(Struct, frozen=True, kw_only=True):
    """The webhooks of a task, or one of them."""

    task_id: str
    config_id: str = ""


class TaskPush(Struct, frozen=True, kw_only=True):
    """A webhook for a task."""

    task_id: str
    config: PushConfig
