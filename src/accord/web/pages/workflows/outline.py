"""A definition as a graph: which step leads to which, and what each is in two words. Pure.

Steps that run side by side follow what is before them at once, and lead to a box that joins them. A
loop leads back to its beginning. What only runs after a failure hangs on a dashed line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from accord.web.dates import duration
from accord.web.drawing.graph import Edge, Graph, Line, Node
from accord.web.states import Tone
from accord.workflows.core.definition import (
    AgentStep,
    CallStep,
    ConditionStep,
    Definition,
    LoopStep,
    ParallelStep,
    PluginStep,
    Step,
    WaitStep,
    WorkflowStep,
    handler_steps,
)
from accord.workflows.core.reading import definition_of

END: Final = "end"
FAILED: Final = "\0failed"
"""Not a step: where what runs after a failed run begins."""


class Box(Struct, frozen=True):
    """A step, as it is drawn."""

    name: str
    kind: str
    """Its type, in a word."""
    about: str
    """Who does it, or what it waits for."""


class Exit(Struct, frozen=True):
    """Where something goes on from."""

    source: str
    label: str = ""
    line: Line = "solid"
    tone: Tone = "idle"


class Outline(Struct, frozen=True):
    """All boxes and lines of a definition."""

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]

    def graph(self, show: Callable[[Box], Node]) -> Graph:
        """The graph whose boxes look as `show` says."""
        return Graph(tuple(show(each) for each in self.boxes), self.edges)


Exits: TypeAlias = list[Exit]


def read(definition: dict[str, Any]) -> Definition:
    """A definition that was saved."""
    return definition_of(definition)


def outline(definition: Definition) -> Outline:
    walk = _Walk()
    walk.scope(definition.steps, [])
    if definition.on_error:
        walk.boxes.append(Box(FAILED, "on error", "if the run fails"))
        walk.scope(definition.on_error, [Exit(FAILED, line="dashed")])
    return Outline(tuple(walk.boxes), tuple(walk.edges))


def plain_node(box: Box) -> Node:
    """A step that is only described."""
    return Node(id=box.name, title=title_of(box), subtitle=box.about, note=box.kind)


def title_of(box: Box) -> str:
    return "failed" if box.name == FAILED else box.name


class _Walk:
    """Goes through lists of steps in their order."""

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self._jumps: dict[str, Exits] = {}
        self._ends: list[Exits] = []

    def scope(self, steps: Sequence[Step], entries: Exits) -> Exits:
        """A list that `next: end` is the end of."""
        self._ends.append([])
        exits = self._list(steps, entries)
        return exits + self._ends.pop()

    def _list(self, steps: Sequence[Step], entries: Exits) -> Exits:
        for step in steps:
            exits = self._step(step, entries + self._jumps.pop(step.name, []))
            entries = []
            if step.next == END:
                self._ends[-1] += exits
            elif step.next is not None:
                self._jumps.setdefault(step.next, []).extend(exits)
            else:
                entries = exits
        return entries

    def _step(self, step: Step, entries: Exits) -> Exits:
        match step:
            case ParallelStep():
                exits = self._parallel(step, entries)
            case ConditionStep():
                exits = self._condition(step, entries)
            case LoopStep():
                exits = self._loop(step, entries)
            case _:
                exits = self._box(step, entries)
        handler = handler_steps(step)
        if handler:
            failed = Exit(step.name, "on error", "dashed", "warn")
            exits = exits + self._list(handler, [failed])
        return exits

    def _box(self, step: Step, entries: Exits) -> Exits:
        kind, about = described(step)
        self.boxes.append(Box(step.name, kind, about))
        self._lead(entries, step.name)
        return [Exit(step.name)]

    def _lead(self, entries: Exits, target: str) -> None:
        self.edges += [
            Edge(
                source=each.source, target=target, label=each.label, line=each.line, tone=each.tone
            )
            for each in dict.fromkeys(entries)
        ]

    def _parallel(self, step: ParallelStep, entries: Exits) -> Exits:
        ends: Exits = []
        for steps in step.branches.values():
            ends += self.scope(steps, entries) if steps else entries
        return self._box(step, ends)

    def _condition(self, step: ConditionStep, entries: Exits) -> Exits:
        self._box(step, entries)
        lists = [
            *(step.cases or {}).items(),
            ("then", step.then),
            ("else", step.else_ or (() if step.then is not None else None)),
            ("default", step.default or (() if step.cases is not None else None)),
        ]
        exits: Exits = []
        for label, steps in lists:
            if steps is not None:
                exits += self._list(steps, [Exit(step.name, label)])
        return exits

    def _loop(self, step: LoopStep, entries: Exits) -> Exits:
        self._box(step, entries)
        exits = self.scope(step.body, [Exit(step.name)])
        self._lead([Exit(each.source, "next round", "dashed") for each in exits], step.name)
        return exits or [Exit(step.name)]


def described(step: Step) -> tuple[str, str]:
    """What kind of step it is, and what it is about."""
    match step:
        case AgentStep():
            return "agent", step.agent
        case ParallelStep():
            return "join", f"{_rule(step)} of {len(step.branches)}"
        case ConditionStep():
            return "condition", _expression(step.if_ if step.if_ is not None else step.switch)
        case LoopStep() if step.while_ is not None:
            return "loop", f"while {_expression(step.while_)}"
        case LoopStep():
            return "loop", f"each of {_expression(step.over)}"
        case WaitStep():
            return "wait", _awaited(step)
        case WorkflowStep():
            return "workflow", step.workflow
        case CallStep():
            return "call", _called(step)
        case PluginStep():
            return step.plugin, ""


def _rule(step: ParallelStep) -> str:
    return str(step.join)


def _awaited(step: WaitStep) -> str:
    if step.approval is not None:
        return " or ".join(step.approval.by)
    if step.signal is not None:
        return f"signal {step.signal}"
    if step.for_ is not None:
        return f"for {step.for_ if isinstance(step.for_, str) else duration(step.for_)}"
    return f"until {step.until}"


def _called(step: CallStep) -> str:
    if step.mcp is not None:
        return f"{step.mcp.tool} at {step.mcp.server}"
    if step.rpc is not None:
        return f"{step.rpc.method} at {step.rpc.url}"
    return step.operation or ""


def _expression(value: object) -> str:
    if isinstance(value, str):
        return value.removeprefix("${").removesuffix("}")
    return f"{len(value)} items" if isinstance(value, list) else ""
