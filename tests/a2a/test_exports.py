"""The public surface of `accord.a2a` is pinned: a change of it is a change of this file."""

from __future__ import annotations

import pytest

from accord import a2a

SURFACE = [
    "AddressPolicy",
    "Agent",
    "AgentCard",
    "AgentError",
    "ApiKey",
    "Bearer",
    "CallError",
    "Client",
    "DataPart",
    "DefiniteError",
    "FailedError",
    "FilePart",
    "Message",
    "PushConfig",
    "RejectedError",
    "Task",
    "TaskContext",
    "TaskResult",
    "TaskState",
    "TextPart",
    "Trace",
    "UnknownOutcomeError",
    "Wire",
    "call",
    "message_id",
]


def test_the_surface_is_what_is_listed() -> None:
    assert a2a.__all__ == SURFACE


@pytest.mark.parametrize("name", SURFACE)
def test_every_name_is_there(name: str) -> None:
    assert getattr(a2a, name) is not None
