"""The events in the history of a run, and the commands that a run sends.

Some events arrive from outside the run, others are made by `decisions`. All are recorded, so the
same history always leads to the same state. A command is sent in the transaction that records its
event.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, json

from accord.workflows.core.definition import McpTarget, Retry, RpcTarget
from accord.workflows.core.state import FIRST_SCHEMA, SCHEMA, Failure, decode


class _Event(Struct, frozen=True, kw_only=True, tag_field="type"):
    at: float
    schema: int = FIRST_SCHEMA


# Events from outside


class RunStarted(_Event, frozen=True, tag="run_started"):
    """The run was started; `depth` is the number of its ancestor runs."""

    input: Any = None
    depth: int = 0


class TaskSucceeded(_Event, frozen=True, tag="task_succeeded"):
    """A task of the run (a call or a child run) succeeded."""

    task: str
    output: Any = None
    data: Any = None
    artifacts: Any = None
    attempts: int = 1
    size: int = 0


class TaskFailed(_Event, frozen=True, tag="task_failed"):
    """A task of the run (a call or a child run) failed and is not retried."""

    task: str
    error: Failure
    attempts: int = 1


class TaskAsked(_Event, frozen=True, tag="task_asked"):
    """An agent asked for input.

    The answer arrives as a signal whose name is the key of the step.
    """

    task: str
    prompt: Any = None


class SignalReceived(_Event, frozen=True, tag="signal_received"):
    """A signal arrived, for a step that waits for this name now or will do so later."""

    name: str
    id: str
    payload: Any = None
    size: int = 0


class ApprovalGiven(_Event, frozen=True, tag="approval_given"):
    """An approval was granted or rejected."""

    task: str
    approved: bool
    by: str
    reason: str = ""


class PauseRequested(_Event, frozen=True, tag="pause_requested"):
    """A request to start no further steps."""

    by: str = ""


class ResumeRequested(_Event, frozen=True, tag="resume_requested"):
    """A request to continue a paused run."""

    by: str = ""


class CancelRequested(_Event, frozen=True, tag="cancel_requested"):
    """A request to cancel the run."""

    by: str = ""
    reason: str = ""


class RetryRequested(_Event, frozen=True, tag="retry_requested"):
    """A request to continue an ended run, or to run it again from a step.

    Requests of schema 1 always name a step, and restart the run there; see `retry`. `parent_task`
    is set if this run is a child run whose step the parent run retries: it is the new task of the
    parent, which waits for this run from then on.
    """

    schema: int = SCHEMA
    step: str | None = None
    by: str = ""
    parent_task: str | None = None


# Events decided on


class StepStarted(_Event, frozen=True, tag="step_started"):
    """A step started; the event has the values of the step's expressions.

    Depending on the type of the step, these are the input of a task, the label of the list that a
    condition selects (None for no list), the items of a loop, or the time at which a wait ends.
    """

    key: str
    frame: str
    input: Any = None
    choice: str | None = None
    items: list[Any] | None = None
    wake: float | None = None
    deadline: float | None = None


class StepFailed(_Event, frozen=True, tag="step_failed"):
    """A step could not start, or a loop could not continue."""

    key: str
    frame: str
    error: Failure


class RoundStarted(_Event, frozen=True, tag="round_started"):
    """The `while` condition of a loop is true, so its next round started."""

    key: str


class StepSettled(_Event, frozen=True, tag="step_settled"):
    """A parallel step or a loop ended; the steps inside that still run are cancelled."""

    key: str
    error: Failure | None = None


class TaskContinued(_Event, frozen=True, tag="task_continued"):
    """The answer to an agent's question is sent to the agent."""

    key: str


class TimerFired(_Event, frozen=True, tag="timer_fired"):
    """The time of a wait was reached, or a step exceeded its deadline."""

    key: str
    kind: Literal["wake", "deadline"]


class RunFinished(_Event, frozen=True, tag="run_finished"):
    """The run ended; the steps still running in it are cancelled."""

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
    """Return the name of an event's type, as in stored events."""
    return str(event.__struct_config__.tag)


def encode_event(event: Event) -> bytes:
    """Encode an event as JSON."""
    return json.encode(event)


def decode_event(data: bytes) -> Event:
    """Decode an event from JSON.

    Raise NewerSchemaError if a newer release wrote it, msgspec.DecodeError if it is invalid.
    """
    return decode(_EVENT_DECODER, data)


class _Command(Struct, frozen=True, kw_only=True, tag_field="type"):
    task: str
    schema: int = FIRST_SCHEMA


class _Call(_Command, frozen=True, kw_only=True):
    """A call to something outside the run, answered by an arriving event.

    The event is TaskSucceeded, TaskFailed or TaskAsked. If `retry` is None, the retry policy of the
    target applies.
    """

    step: str
    input: Any = None
    retry: Retry | None = None
    deadline: float | None = None
    resumes: str = ""
    """The earlier task whose call, of unknown outcome, is repeated with the same message id."""


class CallAgent(_Call, frozen=True, kw_only=True, tag="call_agent"):
    """Call an agent."""

    agent: str


class CallOperation(_Call, frozen=True, kw_only=True, tag="call_operation"):
    """Call an operation of this installation as the user who started the run."""

    operation: str


class CallTool(_Call, frozen=True, kw_only=True, tag="call_tool"):
    """Call a tool of an MCP server."""

    target: McpTarget


class CallMethod(_Call, frozen=True, kw_only=True, tag="call_method"):
    """Call a JSON-RPC method."""

    target: RpcTarget


class CallPlugin(_Call, frozen=True, kw_only=True, tag="call_plugin"):
    """Call the function of a step type that a plugin adds."""

    plugin: str


class StartChild(_Command, frozen=True, tag="start_child"):
    """Start a child run, whose end is reported by TaskSucceeded or TaskFailed.

    If `version` is None, the newest active version of the workflow is used.
    """

    step: str
    workflow: str
    version: int | None = None
    input: Any = None
    depth: int = 1
    resumes: str = ""
    """The earlier task that started the child run; if that run exists, it is continued instead."""


class RequestApproval(_Command, frozen=True, tag="request_approval"):
    """Open an approval; the decision is reported by ApprovalGiven."""

    step: str
    by: tuple[str, ...]
    deadline: float | None = None
    message: str = ""
    data: Any = None


class ContinueTask(_Command, frozen=True, tag="continue_task"):
    """Send an agent the input that it asked for."""

    payload: Any = None


class CancelTask(_Command, frozen=True, tag="cancel_task"):
    """Cancel a call that a task of this run made."""


class CancelChild(_Command, frozen=True, tag="cancel_child"):
    """Cancel the child run that a task started or continued."""

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
    """Encode a command as JSON."""
    return json.encode(command)


def decode_command(data: bytes) -> Command:
    """Decode a command from JSON.

    Raise NewerSchemaError if a newer release wrote it, msgspec.DecodeError if it is invalid.
    """
    return decode(_COMMAND_DECODER, data)
