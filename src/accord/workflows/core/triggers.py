"""What starts runs by itself: whether it does, and with which input.

A trigger sees one value, under one name: `event`, `schedule` or `request`.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from msgspec import Struct

from accord.workflows.core.budget import Budget
from accord.workflows.core.definition import Trigger, TriggerKind
from accord.workflows.core.errors import EvaluationError
from accord.workflows.core.syntax import LoopFieldName, StepFieldName
from accord.workflows.core.templates import Template, read_template, render, render_truth

SEEN: Final[dict[TriggerKind, str]] = {
    "event": "event",
    "schedule": "schedule",
    "webhook": "request",
}
"""What the value is called that a trigger sees."""


class Start(Struct, frozen=True):
    """A trigger, its expressions read."""

    trigger: Trigger
    filter: Template | None
    input: Template | None


def compile_trigger(trigger: Trigger) -> Start:
    """A trigger made ready. It must have been read without problems."""
    variables = frozenset({SEEN[trigger.kind]})
    return Start(
        trigger,
        None if trigger.filter is None else read_template(trigger.filter, variables),
        None if trigger.input is None else read_template(trigger.input, variables),
    )


def applies(start: Start, seen: Any) -> bool:
    """Whether a trigger starts a run for what it sees. Raises EvaluationError."""
    return start.filter is None or render_truth(start.filter, _Scope(seen), Budget())


def input_for(start: Start, seen: Any) -> Any:
    """The input of the run that a trigger starts. Raises EvaluationError."""
    if start.input is not None:
        return render(start.input, _Scope(seen), Budget())
    return seen["body"] if start.trigger.kind == "webhook" else seen


class _Scope:
    """What expressions of a trigger see."""

    def __init__(self, seen: Any) -> None:
        self._seen = seen

    def variable(self, name: str) -> Any:
        return self._seen

    def step(self, name: str, field: StepFieldName) -> NoReturn:
        raise EvaluationError("no step has run before a run")

    def loop(self, up: int, field: LoopFieldName) -> NoReturn:
        raise EvaluationError("there is no loop around a trigger")
