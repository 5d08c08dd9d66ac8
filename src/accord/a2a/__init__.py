"""The Agent2Agent protocol: clients and servers in both wire formats (0.3 and 1.0).

Exports the names that most programs need. Modules are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord import lazy_names

_HOMES = {
    "AddressPolicy": "accord.a2a.protocol.addresses",
    "Agent": "accord.a2a.server.agent",
    "AgentCard": "accord.a2a.protocol.card",
    "AgentError": "accord.a2a.protocol.errors",
    "ApiKey": "accord.a2a.exchange",
    "Bearer": "accord.a2a.exchange",
    "CallError": "accord.a2a.protocol.errors",
    "Client": "accord.a2a.client",
    "DataPart": "accord.a2a.protocol.model",
    "DefiniteError": "accord.a2a.protocol.errors",
    "FailedError": "accord.a2a.server.skills",
    "FilePart": "accord.a2a.protocol.model",
    "Message": "accord.a2a.protocol.model",
    "PushConfig": "accord.a2a.protocol.model",
    "RejectedError": "accord.a2a.server.skills",
    "Task": "accord.a2a.protocol.model",
    "TaskContext": "accord.a2a.server.skills",
    "TaskResult": "accord.a2a.protocol.outcome",
    "TaskState": "accord.a2a.protocol.model",
    "TextPart": "accord.a2a.protocol.model",
    "Trace": "accord.a2a.client",
    "UnknownOutcomeError": "accord.a2a.protocol.errors",
    "Wire": "accord.a2a.protocol.fields",
    "call": "accord.a2a.client",
    "message_id": "accord.a2a.protocol.model",
}

__all__ = list(_HOMES)


__getattr__, __dir__ = lazy_names(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.a2a.client import Client as Client, Trace as Trace, call as call
    from accord.a2a.exchange import ApiKey as ApiKey, Bearer as Bearer
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
    from accord.a2a.protocol.fields import Wire as Wire
    from accord.a2a.protocol.model import (
        DataPart as DataPart,
        FilePart as FilePart,
        Message as Message,
        PushConfig as PushConfig,
        Task as Task,
        TaskState as TaskState,
        TextPart as TextPart,
        message_id as message_id,
    )
    from accord.a2a.protocol.outcome import (
        TaskResult as TaskResult,
    )
    from accord.a2a.server.agent import (
        Agent as Agent,
    )
    from accord.a2a.server.skills import (
        FailedError as FailedError,
        RejectedError as RejectedError,
        TaskContext as TaskContext,
    )
