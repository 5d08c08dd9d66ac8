"""The Agent2Agent protocol: calling agents, and being one, in both of its wire formats.

The names that most programs need. They are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy_names import lazy

_HOMES = {
    "AddressPolicy": "accord.a2a.protocol.addresses",
    "Agent": "accord.a2a.server.agent",
    "AgentCard": "accord.a2a.protocol.card",
    "AgentError": "accord.a2a.protocol.errors",
    "ApiKey": "accord.a2a.client.auth",
    "Bearer": "accord.a2a.client.auth",
    "CallError": "accord.a2a.protocol.errors",
    "Client": "accord.a2a.client.client",
    "DataPart": "accord.a2a.protocol.parts",
    "DefiniteError": "accord.a2a.protocol.errors",
    "FailedError": "accord.a2a.server.context",
    "FilePart": "accord.a2a.protocol.parts",
    "Message": "accord.a2a.protocol.message",
    "PushConfig": "accord.a2a.protocol.push",
    "RejectedError": "accord.a2a.server.context",
    "Task": "accord.a2a.protocol.task",
    "TaskContext": "accord.a2a.server.context",
    "TaskResult": "accord.a2a.protocol.outcome",
    "TaskState": "accord.a2a.protocol.states",
    "TextPart": "accord.a2a.protocol.parts",
    "Trace": "accord.a2a.client.trace",
    "UnknownOutcomeError": "accord.a2a.protocol.errors",
    "Wire": "accord.a2a.protocol.versions",
    "call": "accord.a2a.client.calling",
    "message_id": "accord.a2a.protocol.ids",
}

__all__ = list(_HOMES)


__getattr__, __dir__ = lazy(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.a2a.client.auth import (
        ApiKey as ApiKey,
        Bearer as Bearer,
    )
    from accord.a2a.client.calling import (
        call as call,
    )
    from accord.a2a.client.client import (
        Client as Client,
    )
    from accord.a2a.client.trace import (
        Trace as Trace,
    )
    from accord.a2a.protocol.addresses import (
        AddressPolicy as AddressPolicy,
    )
    from accord.a2a.protocol.card import (
        AgentCard as AgentCard,
    )
    from accord.a2a.protocol.errors import (
        AgentError as AgentError,
        CallError as CallError,
        DefiniteError as DefiniteError,
        UnknownOutcomeError as UnknownOutcomeError,
    )
    from accord.a2a.protocol.ids import (
        message_id as message_id,
    )
    from accord.a2a.protocol.message import (
        Message as Message,
    )
    from accord.a2a.protocol.outcome import (
        TaskResult as TaskResult,
    )
    from accord.a2a.protocol.parts import (
        DataPart as DataPart,
        FilePart as FilePart,
        TextPart as TextPart,
    )
    from accord.a2a.protocol.push import (
        PushConfig as PushConfig,
    )
    from accord.a2a.protocol.states import (
        TaskState as TaskState,
    )
    from accord.a2a.protocol.task import (
        Task as Task,
    )
    from accord.a2a.protocol.versions import (
        Wire as Wire,
    )
    from accord.a2a.server.agent import (
        Agent as Agent,
    )
    from accord.a2a.server.context import (
        FailedError as FailedError,
        RejectedError as RejectedError,
        TaskContext as TaskContext,
    )
