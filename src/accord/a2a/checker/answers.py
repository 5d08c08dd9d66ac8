"""The checks of a result: whether it is a whole task or message of its format. Pure, but that it
tells what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from accord.a2a.checker.conversation import Conversation
from accord.a2a.checker.envelope import Result
from accord.a2a.protocol import tolerant
from accord.a2a.protocol.formats import FORMATS, UNREADABLE
from accord.a2a.protocol.message import Message
from accord.a2a.protocol.states import NAMES_10, TaskState
from accord.a2a.protocol.task import Answer, Event, Task, Unrecognized
from accord.a2a.protocol.versions import Wire

STATES: Final = {
    Wire.V03: frozenset(state.value for state in TaskState),
    Wire.V10: frozenset(NAMES_10.values()),
}
MAX_DEPTH: Final = 32


def check_answer(talk: Conversation, result: Result) -> Answer | None:
    """The answer in a result, where it can be understood at all."""
    state = _state(result.value)
    if state is not None and (not isinstance(state, str) or state not in STATES[talk.wire]):
        talk.failed("send-state", f"the state is {str(state)[:80]!r}")
        talk.skipped("send-result", "the state cannot be read")
        return None
    if state is not None:
        talk.passed("send-state")
    check_parts(talk, result.value)
    try:
        event = read_whole(talk.wire, result)
    except UNREADABLE as error:
        talk.failed("send-result", str(error))
        return read_loosely(talk.wire, result)
    if not isinstance(event, Task | Message):
        talk.failed("send-result", "it is an event of a stream")
        return None
    talk.passed("send-result", "a task" if isinstance(event, Task) else "a message")
    return event


def read_whole(wire: Wire, result: Result) -> Event:
    """What a result is, taken strictly. Raises one of UNREADABLE."""
    return FORMATS[wire].read_event(result.raw)


def read_loosely(wire: Wire, result: Result) -> Answer | None:
    """Return what Accord's client makes of a result, which forgives much of what is wrong."""
    try:
        answer = FORMATS[wire].read_answer(result.raw)
    except UNREADABLE:
        answer = Unrecognized(result.value)
    if isinstance(answer, Unrecognized):
        answer = tolerant.read_answer(result.value).answer
    return None if isinstance(answer, Unrecognized) else answer


def _state(value: Any) -> Any:
    """The state in a task, of either format; None where there is none."""
    if not isinstance(value, dict):
        return None
    wrapped = value.get("task")
    task = wrapped if isinstance(wrapped, dict) else value
    status = task.get("status")
    return status.get("state") if isinstance(status, dict) else None


def check_parts(talk: Conversation, value: Any) -> None:
    """Whether every part in a result says what it is."""
    for part in _parts(value, 0):
        kind = part.get("kind")
        if talk.wire is Wire.V03 and kind not in ("text", "file", "data"):
            talk.failed("send-parts", f"a part is of kind {str(kind)[:40]!r}")
        elif talk.wire is Wire.V10 and "kind" in part:
            talk.failed("send-parts", "a part has a kind, which 1.0 does not have")
    talk.passed("send-parts")


def _parts(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """All parts in a value, wherever they are; metadata and data are nobody's business."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for each in value:
            yield from _parts(each, depth + 1)
    if isinstance(value, dict):
        for name, each in value.items():
            if name == "parts" and isinstance(each, list):
                yield from (part for part in each if isinstance(part, dict))
            elif name not in ("metadata", "data"):
                yield from _parts(each, depth + 1)
