"""What happens in a run. Its history is a list of these, and nothing else is kept.

Some arrive from outside, others are decided by `decisions`; both are recorded, so that a history
folds to the same state whatever decides today. `at` is in seconds since 1970.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, json

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

_DECODER: json.Decoder[Event] = json.Decoder(Event)


def type_of(event: Event) -> str:
    """What an event is called in histories."""
    return str(event.__struct_config__.tag)


def encode_event(event: Event) -> bytes:
    """An event as JSON."""
    return json.encode(event)


def decode_event(data: bytes) -> Event:
    """Return an event from JSON. Raise NewerSchemaError or msgspec.DecodeError for what is none."""
    return decode(_DECODER, data)
