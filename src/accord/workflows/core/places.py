"""Where each step of a definition stands: in which steps, in which lists, in which order."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from accord.workflows.core.definition import (
    Definition,
    LoopStep,
    ParallelStep,
    Step,
    handler_steps,
    inner_lists,
)

ListKind: TypeAlias = Literal["branch", "choice", "body", "handler"]


class Inside(Struct, frozen=True):
    """One list of steps inside a step."""

    owner: str
    kind: ListKind
    label: str


class Place(Struct, frozen=True):
    """Where one step stands; `order` counts all steps as they are written, `within` goes from the
    outermost list that is inside a step to the innermost."""

    step: Step
    path: str
    order: int
    within: tuple[Inside, ...]

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops around the step, the outermost first."""
        return tuple(each.owner for each in self.within if each.kind == "body")


def list_kind(step: Step) -> ListKind:
    """What the inner lists of a step are."""
    match step:
        case ParallelStep():
            return "branch"
        case LoopStep():
            return "body"
        case _:
            return "choice"


def find_places(definition: Definition) -> list[Place]:
    """The places of all steps, in the order in which they are written."""
    places: list[Place] = []
    _add(definition.steps, "steps", (), places)
    if definition.on_error is not None:
        _add(definition.on_error, "on_error", (), places)
    return places


def _add(
    steps: tuple[Step, ...], path: str, within: tuple[Inside, ...], places: list[Place]
) -> None:
    for index, step in enumerate(steps):
        where = f"{path}[{index}]"
        places.append(Place(step, where, len(places), within))
        for label, inner in inner_lists(step):
            inside = Inside(step.name, list_kind(step), label)
            _add(inner, f"{where}.{label}", (*within, inside), places)
        handler = handler_steps(step)
        if handler is not None:
            inside = Inside(step.name, "handler", "on_error")
            _add(handler, f"{where}.on_error", (*within, inside), places)
