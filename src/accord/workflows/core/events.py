"""Events of a run, which are its history, and commands, which are what a run wants done.

Some events arrive from outside, `decisions` makes the others; all are recorded, so a history leads
to the same state for ever. Commands are sent in the transaction that records their events.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, json

from accord.workflows.core.definition import McpTarget, Retry, RpcTarget
from accord.workflows.core.state import FIRST_SCHEMA, SCHEMA, Failure, decode


class _Event(Struct, frozen=True, kw_only=True, tag_field="type"):
    at: float
    schema: int = FIRST_SCHEMA


# From outside


class RunStarted(_Event, frozen=True, tag="run_started"):
    """Somebody started the run; `depth` counts the runs above it."""

    input: Any = None
    depth: int = 0


class TaskSucceeded(_Event, frozen=True, tag="task_succeeded"):
    """An agent, a call or a child run is done."""

    task: str
    output: Any = None
    data: Any = None
    artifacts: Any = None
    attempts: int = 1
    size: int = 0


class TaskFailed(_Event, frozen=True, tag="task_failed"):
    """An agent, a call or a child run failed for good."""

    task: str
    error: Failure
    attempts: int = 1


class TaskAsked(_Event, frozen=True, tag="task_asked"):
    """An agent needs input: a signal named as the task continues it."""

    task: str
    prompt: Any = None


class SignalReceived(_Event, frozen=True, tag="signal_received"):
    """A signal, for whoever waits for its name, now or later."""

    name: str
    id: str
    payload: Any = None
    size: int = 0


class ApprovalGiven(_Event, frozen=True, tag="approval_given"):
    """Somebody decided."""

    task: str
    approved: bool
    by: str
    reason: str = ""


class PauseRequested(_Event, frozen=True, tag="pause_requested"):
    by: str = ""


class ResumeRequested(_Event, frozen=True, tag="resume_requested"):
    by: str = ""


class CancelRequested(_Event, frozen=True, tag="cancel_requested"):
    by: str = ""
    reason: str = ""


class RetryRequested(_Event, frozen=True, tag="retry_requested"):
    """Continue a failed or cancelled run, or run it again from a step, given by its key.

    Of schema 1 it always names a step, and means what it meant then. A run that started this one
    gives the name of the task that waits for it from now on."""

    schema: int = SCHEMA
    step: str | None = None
    by: str = ""
    parent_task: str | None = None


# Decided


class StepStarted(_Event, frozen=True, tag="step_started"):
    """A step started, with what its expressions gave: the input of a task, the choice of a
    condition (None for none), the items of a loop, the time at which a wait is over."""

    key: str
    frame: str
    input: Any = None
    choice: str | None = None
    items: list[Any] | None = None
    wake: float | None = None
    deadline: float | None = None


class StepFailed(_Event, frozen=True, tag="step_failed"):
    """A step could not start, or a loop could not go on."""

    key: str
    frame: str
    error: Failure


class RoundStarted(_Event, frozen=True, tag="round_started"):
    """What `while` says holds: another round."""

    key: str


class StepSettled(_Event, frozen=True, tag="step_settled"):
    """A parallel step or a loop is over; what still runs in it is cancelled."""

    key: str
    error: Failure | None = None


class TaskContinued(_Event, frozen=True, tag="task_continued"):
    """An agent gets the input that it needed."""

    key: str


class TimerFired(_Event, frozen=True, tag="timer_fired"):
    """A wait is over, or a step took too long."""

    key: str
    kind: Literal["wake", "deadline"]


class RunFinished(_Event, frozen=True, tag="run_finished"):
    """The run ended; what still runs in it is cancelled."""

    status: Literal["completed", "failed", "cancelled"]
    output: Any = None
    error: Failure | None = None


Arrival: TypeAlias = (
    RunStarted
    | TaskSucceeded
    | TaskFailed
    | TaskAsked
    | SignalReceived
    | ApprovalGiven
    | PauseRequested
    | ResumeRequested
    | CancelRequested
    | RetryRequested
)
Decided: TypeAlias = (
    StepStarted | StepFailed | RoundStarted | StepSettled | TaskContinued | TimerFired | RunFinished
)
Event: TypeAlias = Arrival | Decided

_EVENT_DECODER: json.Decoder[Event] = json.Decoder(Event)


def type_of(event: Event) -> str:
    """Return the type of an event, as histories name it."""
    return str(event.__struct_config__.tag)


def encode_event(event: Event) -> bytes:
    """An event as JSON."""
    return json.encode(event)


def decode_event(data: bytes) -> Event:
    """Return an event from JSON. Raise NewerSchemaError or msgspec.DecodeError for what is none."""
    return decode(_EVENT_DECODER, data)


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

_COMMAND_DECODER: json.Decoder[Command] = json.Decoder(Command)


def encode_command(command: Command) -> bytes:
    """A command as JSON."""
    return json.encode(command)


def decode_command(data: bytes) -> Command:
    """Return a command from JSON. Raise NewerSchemaError or msgspec.DecodeError."""
    return decode(_COMMAND_DECODER, data)
