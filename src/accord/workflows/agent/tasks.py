"""Conversion between workflow runs and A2A tasks and messages.

Functions here do no I/O, so the same run always gives the same task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.formats import V10
from accord.a2a.protocol.model import (
    Artifact,
    ArtifactUpdate,
    DataPart,
    Event,
    Message,
    Part,
    StatusUpdate,
    Task,
    TaskState,
    TaskStatus,
    TextPart,
)
from accord.jsonrpc.protocol.codec import decode_json
from accord.operations.errors import InvalidError
from accord.workflows.core.definition import Definition, WaitStep
from accord.workflows.core.rules import input_problem
from accord.workflows.core.state import RunStatus, State
from accord.workflows.operations.run_views import pending_approvals
from accord.workflows.storage.history import LoadedRun
from accord.workflows.storage.runs import TaskConversation

SKILL: Final = "skill"
"""The key in a message's metadata that names the workflow to run."""


def task_input(message: Message, definition: Definition) -> Any:
    """Return the input of a run from an A2A message.

    A message can be interpreted in several ways, for example as a text or as an object with the
    text. Return the first interpretation that satisfies the input schema of the workflow, or simply
    the first if none does; starting the run then fails with a validation error.
    """
    readings = list(_readings(message))
    fitting = (each for each in readings if input_problem(definition, each) is None)
    return next(fitting, readings[0])


def _readings(message: Message) -> Iterator[Any]:
    data = [part.data for part in message.parts if isinstance(part, DataPart)]
    if data:
        yield from data
        return
    text = message.text
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield decode_json(text)
        except msgspec.DecodeError:
            pass
    others = {name: each for name, each in message.metadata.items() if name != SKILL}
    if others:
        yield {**others, "text": text}
        yield text
    else:
        yield text
        yield {"text": text}


STEP: Final = "step"
"""The key in a message's metadata that names the step that the message answers."""
_WORDS: Final = {"approve": True, "approved": True, "reject": False, "rejected": False}
MAX_PROMPT: Final = 1_000


class OpenWait(Struct, frozen=True, kw_only=True):
    """A step that waits for a message: an approval, a signal, or an answer to an agent."""

    kind: Literal["approval", "signal", "question"]
    step: str
    """The key of the waiting step."""
    signal: str = ""
    """The name of the signal that the step waits for; empty for approvals."""
    text: str
    """The question to show to people."""
    data: Any = None
    """The data to review before an approval."""


class ApprovalDecision(Struct, frozen=True):
    """The decision on an approval."""

    approved: bool
    reason: str


def waits_of(run: LoadedRun) -> Iterator[OpenWait]:
    """Yield the steps of a run that wait for a message."""
    state = run.state
    if state.phase != "running":
        return
    for approval in pending_approvals(run.program, state):
        by = " or ".join(approval.by)
        text = f"{approval.key} waits for the approval of {by}"
        if approval.message:
            text = f"{text}: {_prompt_text(approval.message)}"
        yield OpenWait(kind="approval", step=approval.key, text=text, data=approval.data)
    for signal, keys in state.waiters.items():
        for key in keys:
            step = state.steps[key]
            if isinstance(run.program.plans[step.name].step, WaitStep):
                text = f"{key} waits for the signal {signal}"
                yield OpenWait(kind="signal", step=key, signal=signal, text=text)
            else:
                text = f"{key} asks: {_prompt_text(step.prompt)}"
                yield OpenWait(kind="question", step=key, signal=signal, text=text)


def _prompt_text(prompt: Any) -> str:
    text = prompt if isinstance(prompt, str) else msgspec.json.encode(prompt).decode()
    return text if len(text) <= MAX_PROMPT else f"{text[:MAX_PROMPT]}…"


def addressed_wait(waits: list[OpenWait], message: Message) -> OpenWait:
    """Find the waiting step that a message answers.

    The message may name the step or its signal in its metadata; otherwise all waiting steps match.
    Raise InvalidError unless exactly one step matches.
    """
    step = message.metadata.get(STEP)
    found = [each for each in waits if step in (None, each.step, each.signal or None)]
    if len(found) == 1:
        return found[0]
    steps = ", ".join(each.step for each in waits)
    raise InvalidError(f"message.metadata.{STEP}", f"must be one of: {steps}")


def read_decision(message: Message) -> ApprovalDecision:
    """Return the decision stated in a message that answers an approval.

    The message has either a text, which begins with a word such as `approve` or `reject` and goes
    on with the reason, or data with `approved` and `reason`. Raise InvalidError if it has neither.
    """
    for part in message.parts:
        if isinstance(part, DataPart) and isinstance(part.data, dict):
            approved = part.data.get("approved")
            if isinstance(approved, bool):
                return ApprovalDecision(approved, str(part.data.get("reason", "")))
    word, _, reason = message.text.strip().partition(" ")
    known = _WORDS.get(word.lower().rstrip(":,.!"))
    if known is None:
        raise InvalidError(
            "message",
            "the run waits for an approval: say approve or reject, and why; or send data with "
            '{"approved": true, "reason": "…"}',
        )
    return ApprovalDecision(known, reason.strip())


def payload_of(message: Message) -> Any:
    """Return the first data part of a message, or else its text, as the payload of a signal."""
    data = [part.data for part in message.parts if isinstance(part, DataPart)]
    return data[0] if data else message.text


MAX_STORED_MESSAGE: Final = 256 * 1024
"""The maximum size of a stored message, in bytes; longer messages are cut."""


class A2ATask(Struct, frozen=True):
    """A run with its context id and messages, which `task_of` converts to an A2A task."""

    run: LoadedRun
    context_id: str
    history: tuple[Message, ...] = ()


def a2a_task(run: LoadedRun, conversation: TaskConversation) -> A2ATask:
    """Combine a run with its stored messages, for conversion by `task_of`.

    If no messages are stored, a message with the input of the run takes their place.
    """
    context_id = conversation.context_id
    messages = tuple(map(_decode_message, conversation.messages)) or (
        first_message(run, context_id),
    )
    return A2ATask(run, context_id, messages)


def first_message(run: LoadedRun, context_id: str) -> Message:
    """Return a message with the input of a run that was not started by an A2A message."""
    return Message(
        message_id=f"{run.row.id}/input",
        role="user",
        parts=parts_of(run.state.input),
        context_id=context_id,
        task_id=run.row.id,
    )


def parts_of(value: Any) -> tuple[Part, ...]:
    """Return a value as message parts: a text as such, any other value as JSON text and as data."""
    if isinstance(value, str):
        return (TextPart(text=value),)
    text = TextPart(text=msgspec.json.encode(value).decode(), media_type="application/json")
    return (text, DataPart(data=value))


def stored_messages(messages: Iterable[Message], run_id: str, context_id: str) -> list[str]:
    """Encode messages for storage, cutting those that are too large."""
    return [
        _encode_message(replace(each, task_id=run_id, context_id=context_id)) for each in messages
    ]


def _encode_message(message: Message) -> str:
    text = msgspec.json.encode(V10.message(message)).decode()
    size = len(text.encode())
    if size <= MAX_STORED_MESSAGE:
        return text
    note = (
        f"(a message of {size:,} bytes, of which {MAX_STORED_MESSAGE // 4:,} characters are kept)"
    )
    parts = (TextPart(text=message.text[: MAX_STORED_MESSAGE // 4]), TextPart(text=note))
    return msgspec.json.encode(V10.message(replace(message, parts=parts, metadata={}))).decode()


def _decode_message(text: str) -> Message:
    return V10.read_message(text.encode())


OUTPUT: Final = "output"
_STATES: Final[dict[RunStatus, TaskState]] = {
    "pending": TaskState.SUBMITTED,
    "running": TaskState.WORKING,
    "waiting": TaskState.WORKING,
    "paused": TaskState.WORKING,
    "completed": TaskState.COMPLETED,
    "failed": TaskState.FAILED,
    "cancelled": TaskState.CANCELED,
}
"""The A2A state for each run status; a run that a message can continue is INPUT_REQUIRED."""


def task_of(task: A2ATask) -> Task:
    """Convert a run to an A2A task."""
    run, context_id = task.run, task.context_id
    row, state = run.row, run.state
    waits = list(waits_of(run)) if state.status == "waiting" else []
    status = TaskStatus(
        state=TaskState.INPUT_REQUIRED if waits else _STATES[state.status],
        message=_status_message(row.id, context_id, state, waits),
        timestamp=_time(state.finished_at or state.started_at or row.created_at),
    )
    return Task(
        id=row.id,
        context_id=context_id,
        status=status,
        artifacts=(_artifact(state.output),) if state.phase == "completed" else (),
        history=task.history,
        metadata={"workflow": f"{row.workflow}@{row.version}"},
    )


def task_events(before: Task, after: Task) -> list[Event]:
    """Return the A2A events that tell a client what changed between two states of a task."""
    events: list[Event] = [
        ArtifactUpdate(
            task_id=after.id, context_id=after.context_id, artifact=each, last_chunk=True
        )
        for each in after.artifacts
        if each not in before.artifacts
    ]
    if (before.status.state, before.status.message) != (after.status.state, after.status.message):
        events.append(
            StatusUpdate(task_id=after.id, context_id=after.context_id, status=after.status)
        )
    return events


def _artifact(output: Any) -> Artifact:
    return Artifact(artifact_id=OUTPUT, name=OUTPUT, parts=parts_of(output))


def _status_message(
    run_id: str, context_id: str, state: State, waits: list[OpenWait]
) -> Message | None:
    if waits:
        entries = [
            {"kind": each.kind, "step": each.step}
            | ({} if each.data is None else {"data": each.data})
            for each in waits
        ]
        text = TextPart(text="\n".join(each.text for each in waits))
        return _message(run_id, context_id, (text, DataPart(data={"waits": entries})))
    if state.error is not None:
        return _message(
            run_id, context_id, (TextPart(text=f"{state.error.code}: {state.error.message}"),)
        )
    if state.status == "paused":
        return _message(run_id, context_id, (TextPart(text="the run is paused"),))
    return None


def _message(run_id: str, context_id: str, parts: tuple[Part, ...]) -> Message:
    # The id is the same each time, so that clients see one message per status.
    return Message(
        message_id=f"{run_id}/status",
        role="agent",
        parts=parts,
        context_id=context_id,
        task_id=run_id,
    )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
