"""What a run waits for that somebody can say, and what an answer to it is. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from accord.a2a.protocol.model import DataPart, Message
from accord.operations.errors import InvalidError
from accord.workflows.core.definition import WaitStep
from accord.workflows.operations.run_views import pending_approvals
from accord.workflows.storage.loading import Loaded

STEP: Final = "step"
"""The member of a message's metadata that says which of several it answers."""
_WORDS: Final = {"approve": True, "approved": True, "reject": False, "rejected": False}
MAX_SHOWN: Final = 1_000


class Wait(Struct, frozen=True, kw_only=True):
    """Something that a run waits for."""

    kind: Literal["approval", "signal", "question"]
    step: str
    """The key of the step that waits."""
    signal: str = ""
    """What continues it; empty for approvals."""
    text: str
    """For people."""
    data: Any = None
    """What there is to look at for a decision."""


class Decision(Struct, frozen=True):
    """What somebody decided."""

    approved: bool
    reason: str


def waits_of(run: Loaded) -> Iterator[Wait]:
    """What a run waits for."""
    state = run.state
    if state.phase != "running":
        return
    for approval in pending_approvals(run.program, state):
        by = " or ".join(approval.by)
        text = f"{approval.key} waits for the approval of {by}"
        if approval.message:
            text = f"{text}: {_shown(approval.message)}"
        yield Wait(kind="approval", step=approval.key, text=text, data=approval.data)
    for signal, keys in state.waiters.items():
        for key in keys:
            step = state.steps[key]
            if isinstance(run.program.plans[step.name].step, WaitStep):
                text = f"{key} waits for the signal {signal}"
                yield Wait(kind="signal", step=key, signal=signal, text=text)
            else:
                text = f"{key} asks: {_shown(step.prompt)}"
                yield Wait(kind="question", step=key, signal=signal, text=text)


def _shown(prompt: Any) -> str:
    text = prompt if isinstance(prompt, str) else msgspec.json.encode(prompt).decode()
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def wait_meant(waits: list[Wait], message: Message) -> Wait:
    """What a message answers. Raises InvalidError where that is not clear."""
    step = message.metadata.get(STEP)
    found = [each for each in waits if step in (None, each.step, each.signal or None)]
    if len(found) == 1:
        return found[0]
    steps = ", ".join(each.step for each in waits)
    raise InvalidError(f"message.metadata.{STEP}", f"must be one of: {steps}")


def decision_in(message: Message) -> Decision:
    """The decision in a message: a text such as `approve`, or `reject`, with a reason behind it;
    or data with `approved` and `reason`. Raises InvalidError."""
    for part in message.parts:
        if isinstance(part, DataPart) and isinstance(part.data, dict):
            approved = part.data.get("approved")
            if isinstance(approved, bool):
                return Decision(approved, str(part.data.get("reason", "")))
    word, _, reason = message.text.strip().partition(" ")
    known = _WORDS.get(word.lower().rstrip(":,.!"))
    if known is None:
        raise InvalidError(
            "message",
            "the run waits for an approval: say approve or reject, and why; or send data with "
            '{"approved": true, "reason": "…"}',
        )
    return Decision(known, reason.strip())


def payload_of(message: Message) -> Any:
    """What a message says to a signal, or to an agent that asks: its data, else its text."""
    data = [part.data for part in message.parts if isinstance(part, DataPart)]
    return data[0] if data else message.text
