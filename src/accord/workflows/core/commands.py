"""What a run wants done. Each is sent in the transaction that records the events it came with."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct, json

from accord.workflows.core.definition import McpTarget, Retry, RpcTarget
from accord.workflows.core.state import FIRST_SCHEMA, decode


class _Command(Struct, frozen=True, kw_only=True, tag_field="type"):
    task: str
    schema: int = FIRST_SCHEMA


class _Call(_Command, frozen=True, kw_only=True):
    """What is answered by TaskSucceeded, TaskFailed or TaskAsked. Without `retry` the policy of
    whoever is called holds."""

    step: str
    input: Any = None
    retry: Retry | None = None
    deadline: float | None = None
    resumes: str = ""
    """The task whose call this repeats, since nobody knows what became of it: the other side gets
    the same message id."""


class CallAgent(_Call, frozen=True, kw_only=True, tag="call_agent"):
    """Ask an agent."""

    agent: str


class CallOperation(_Call, frozen=True, kw_only=True, tag="call_operation"):
    """Call an operation of this installation, as whoever started the run."""

    operation: str


class CallTool(_Call, frozen=True, kw_only=True, tag="call_tool"):
    """Call a tool of an MCP server."""

    target: McpTarget


class CallMethod(_Call, frozen=True, kw_only=True, tag="call_method"):
    """Call a JSON-RPC method."""

    target: RpcTarget


class CallPlugin(_Call, frozen=True, kw_only=True, tag="call_plugin"):
    """Have a plugin do a step of the type that it adds."""

    plugin: str


class StartChild(_Command, frozen=True, tag="start_child"):
    """Start a run of another workflow, the newest version where none is given; answered by
    TaskSucceeded or TaskFailed when it ends."""

    step: str
    workflow: str
    version: int | None = None
    input: Any = None
    depth: int = 1
    resumes: str = ""
    """The task that started the run before: it is continued, if it is there."""


class RequestApproval(_Command, frozen=True, tag="request_approval"):
    """Let people know that they are asked; answered by ApprovalGiven."""

    step: str
    by: tuple[str, ...]
    deadline: float | None = None
    message: str = ""
    data: Any = None


class ContinueTask(_Command, frozen=True, tag="continue_task"):
    """Give an agent the input that it asked for."""

    payload: Any = None


class CancelTask(_Command, frozen=True, tag="cancel_task"):
    """Nobody waits for a task any more."""


class CancelChild(_Command, frozen=True, tag="cancel_child"):
    """Cancel the run that a task started, or that it resumes."""

    resumes: str = ""


Command: TypeAlias = (
    CallAgent
    | CallOperation
    | CallTool
    | CallMethod
    | CallPlugin
    | StartChild
    | RequestApproval
    | ContinueTask
    | CancelTask
    | CancelChild
)

_DECODER: json.Decoder[Command] = json.Decoder(Command)


def encode_command(command: Command) -> bytes:
    """A command as JSON."""
    return json.encode(command)


def decode_command(data: bytes) -> Command:
    """Return a command from JSON. Raise NewerSchemaError or msgspec.DecodeError."""
    return decode(_DECODER, data)
