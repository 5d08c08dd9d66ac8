"""Runs as tasks of A2A: inputs, questions, messages and states. Pure.

The same run gives the same task. The input of a run is read from a message; an answer to a question
of a run is an approval or a signal.
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
"""The member of a message's metadata that names the workflow."""


def task_input(message: Message, definition: Definition) -> Any:
    """Return the first reading of a message that the workflow accepts.

    If it accepts none, return the first reading, for which the run is refused.
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
"""The member of a message's metadata that names the step that the message answers."""
_WORDS: Final = {"approve": True, "approved": True, "reject": False, "rejected": False}
MAX_PROMPT: Final = 1_000


class OpenWait(Struct, frozen=True, kw_only=True):
    """A wait of a run that a message can end."""

    kind: Literal["approval", "signal", "question"]
    step: str
    """The key of the step that waits."""
    signal: str = ""
    """The signal that continues the step; empty for approvals."""
    text: str
    """The prompt for people."""
    data: Any = None
    """The data to decide on."""


class ApprovalDecision(Struct, frozen=True):
    """The decision on an approval."""

    approved: bool
    reason: str


def waits_of(run: LoadedRun) -> Iterator[OpenWait]:
    """Return the open waits of a run."""
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
    """Return the wait that a message answers. Raise InvalidError if that is unclear."""
    step = message.metadata.get(STEP)
    found = [each for each in waits if step in (None, each.step, each.signal or None)]
    if len(found) == 1:
        return found[0]
    steps = ", ".join(each.step for each in waits)
    raise InvalidError(f"message.metadata.{STEP}", f"must be one of: {steps}")


def read_decision(message: Message) -> ApprovalDecision:
    """Return the decision in a message. Raise InvalidError.

    It is a text such as `approve` or `reject`, followed by a reason, or data with `approved` and
    `reason`.
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
    """Return the data of a message, else its text, for a signal or a question."""
    data = [part.data for part in message.parts if isinstance(part, DataPart)]
    return data[0] if data else message.text


MAX_STORED_MESSAGE: Final = 256 * 1024
"""Bytes of a message that is stored uncut."""


class A2ATask(Struct, frozen=True):
    """A run as a task, with its context and its history."""

    run: LoadedRun
    context_id: str
    history: tuple[Message, ...] = ()


def a2a_task(run: LoadedRun, conversation: TaskConversation) -> A2ATask:
    """Return a run with its messages; without messages, its input is the first."""
    context_id = conversation.context_id
    messages = tuple(map(_decode_message, conversation.messages)) or (
        first_message(run, context_id),
    )
    return A2ATask(run, context_id, messages)


def first_message(run: LoadedRun, context_id: str) -> Message:
    """Return the first message of a run that was started in another way."""
    return Message(
        message_id=f"{run.row.id}/input",
        role="user",
        parts=parts_of(run.state.input),
        context_id=context_id,
        task_id=run.row.id,
    )


def parts_of(value: Any) -> tuple[Part, ...]:
    """Return a value as parts, both as text and as data."""
    if isinstance(value, str):
        return (TextPart(text=value),)
    text = TextPart(text=msgspec.json.encode(value).decode(), media_type="application/json")
    return (text, DataPart(data=value))


def stored_messages(messages: Iterable[Message], run_id: str, context_id: str) -> list[str]:
    """Return messages as they are stored; a large one is cut."""
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
"""The task states of runs without open waits; a run with open waits requires input."""


def task_of(task: A2ATask) -> Task:
    """Return a run as a task."""
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
    """Return the events that lead from the former task to the present one."""
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
