"""Workflow definitions: their list, details with a graph, comparison of versions, start of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Struct

from accord.operations.errors import ServiceError
from accord.web.formatting import Tone, duration
from accord.web.graph_layout import Edge, Graph, GraphNode, Line
from accord.web.pages.workflows.inputs import fields_of, filled, value_of
from accord.web.redline import redline
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse
from accord.web.svg import draw
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

MAX_INLINE: Final = 4_000
"""The most characters of a value that is shown in a page with other content."""
MAX_SHOWN: Final = 1_000_000
"""The most characters of a value that is shown on a page of its own."""
LINE: Final = 100


class ShownValue(Struct, frozen=True):
    """A value as text, possibly cut."""

    text: str
    size: int
    """The length of the whole value in characters."""

    @property
    def is_cut(self) -> bool:
        return len(self.text) < self.size


def shown_value(value: Any, most: int = MAX_INLINE) -> ShownValue:
    """Format a value as indented JSON, cut to `most` characters.

    A string is returned without quotes.
    """
    text = value if isinstance(value, str) else _json(value, 2)
    return ShownValue(text[:most], len(text))


def in_line(value: Any) -> str:
    """Format a value as JSON on one line, cut to 100 characters (`LINE`)."""
    text = _json(value, -1)
    return text if len(text) <= LINE else f"{text[: LINE - 1]}…"


def _json(value: Any, indent: int) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()


_LINE: Final = re.compile(r"line (\d{1,7}), column")
_STEP: Final = re.compile(r"[^.\[\]]+")
MAX_DEPTH: Final = 100
_LEVELS: Final = {
    "SequenceStartEvent": 1,
    "MappingStartEvent": 1,
    "SequenceEndEvent": -1,
    "MappingEndEvent": -1,
}


def line_of(text: str, paths: Sequence[str]) -> list[int | None]:
    """Return the line number of each path in the text of a definition.

    A path, such as `steps[0].agent`, leads to a value of the definition. If the text does not have
    this value, the line is that of the nearest enclosing value. Lines are counted from 1; the line
    is None if the text cannot be parsed.
    """
    root = _composed(text)
    return [_line_in_path(path) or (None if root is None else _line(root, path)) for path in paths]


def _line_in_path(path: str) -> int | None:
    """Return the line number at the beginning of an error's path, or None.

    Only the paths of YAML syntax errors begin with a line number.
    """
    found = _LINE.match(path)
    return int(found[1]) if found else None


def _composed(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        return None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if _is_deep(yaml.parse(text, Loader=loader)):
            return None
        return yaml.compose(text, Loader=loader)
    except yaml.YAMLError:
        return None


def _is_deep(events: Iterable[Any]) -> bool:
    """Return true if lists and objects nest deeper than `MAX_DEPTH`.

    libyaml builds nodes recursively without a limit: 50,000 brackets would overflow the stack of
    the process.
    """
    depth = 0
    for event in events:
        depth += _LEVELS.get(type(event).__name__, 0)
        if depth > MAX_DEPTH:
            return True
    return False


def _line(node: Any, path: str) -> int:
    line: int = node.start_mark.line
    for step in _STEP.findall(path)[:MAX_DEPTH]:
        members = node.value
        if node.id == "mapping":
            found = next((pair for pair in members if pair[0].value == step), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif node.id == "sequence" and step.isdigit() and int(step) < len(members):
            node = members[int(step)]
            line = node.start_mark.line
        else:
            break
    return line + 1


EXAMPLE: Final = """\
# A first example: somebody is asked, and what they say is kept as an epic.
# Steps run as they are listed. Everything is checked before it is saved.
name: ask-first
description: Asks an administrator, then writes it down.
input:
  type: object
  required: [title]
  properties:
    title: {type: string, description: What the epic is called}
steps:
  - name: decide
    type: wait
    approval: {by: [Administrator], timeout: 86400}
  - name: keep
    type: call
    operation: create_epic
    input: {title: "${input.title}"}
output: {kept_as: "${steps.keep.output.reference_id}"}
"""
"""The example in the editor of a new workflow."""
_WIDTH: Final = 100
_FIRST: Final = ("name", "type", "description", "on")


def without_version(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without its version, because saving it assigns the next version."""
    return {name: value for name, value in definition.items() if name != "version"}


def as_json(definition: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(definition)).decode()


def as_yaml(definition: dict[str, Any]) -> str:
    """Return a definition as YAML, or as JSON if the YAML would be read differently."""
    try:
        import yaml

        from accord.workflows.core.yaml_values import read_yaml
    except ImportError:
        return as_json(definition)
    text: str = yaml.dump(
        _ordered(definition),
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=None,
    )
    text = text.replace("\n'on':", "\non:")  # quoted only for YAML 1.1, where `on` is a boolean
    # PyYAML writes YAML 1.1, which may read differently as 1.2.
    return text if read_yaml(text) == definition else as_json(definition)


def _ordered(value: Any) -> Any:
    """Return a value with members in the usual order, and with whole floats as integers."""
    if isinstance(value, dict):
        first = [name for name in _FIRST if name in value] if "name" in value else []
        return {name: _ordered(value[name]) for name in dict.fromkeys((*first, *value))}
    if isinstance(value, list):
        return [_ordered(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


END: Final = "end"
FAILED: Final = "\0failed"
"""The name of the box that stands for a failed run; no step has this name.

Lines lead from this box to the steps that run if the run fails."""


class Box(Struct, frozen=True):
    """A box in the graph of a definition, for one step."""

    name: str
    kind: str
    """The type of the step."""
    about: str
    """The agent of the step, the condition of the step, or the event that the step waits for."""


class Exit(Struct, frozen=True):
    """A line that leaves a box and whose target is not yet known."""

    source: str
    label: str = ""
    line: Line = "solid"
    tone: Tone = "idle"


class DefinitionGraph(Struct, frozen=True):
    """The boxes and lines that show a definition."""

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]

    def graph(self, show: Callable[[Box], GraphNode]) -> Graph:
        """Return the graph to draw; `show` is a function that converts a box to a node."""
        return Graph(tuple(show(each) for each in self.boxes), self.edges)


Exits: TypeAlias = list[Exit]


def read(definition: dict[str, Any]) -> Definition:
    """Decode a definition that was saved as JSON."""
    return definition_of(definition)


def outline(definition: Definition) -> DefinitionGraph:
    walk = _Walk()
    walk.scope(definition.steps, [])
    if definition.on_error:
        walk.boxes.append(Box(FAILED, "on error", "if the run fails"))
        walk.scope(definition.on_error, [Exit(FAILED, line="dashed")])
    return DefinitionGraph(tuple(walk.boxes), tuple(walk.edges))


def plain_node(box: Box) -> GraphNode:
    """Return a step's box as a node without a status."""
    return GraphNode(id=box.name, title=title_of(box), subtitle=box.about, note=box.kind)


def title_of(box: Box) -> str:
    return "failed" if box.name == FAILED else box.name


class _Walk:
    """A walk through the steps of a definition that collects boxes and lines."""

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self._jumps: dict[str, Exits] = {}
        self._ends: list[Exits] = []

    def scope(self, steps: Sequence[Step], entries: Exits) -> Exits:
        """Walk through a list of steps, and return the exits of the list.

        Steps with `next: end` are among the exits.
        """
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
    """Return the type of a step, and what it does or waits for."""
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


SECTION: Final = "/workflows"
RECENT: Final = 8
MAX_SOURCE: Final = 600_000
"""The most characters of a definition's source that are shown; no definition is larger."""

pages: Final = Pages()


@pages.get("/workflows")
async def listed(request: PageRequest) -> PageResponse:
    found = await request.run("list_workflows", limit=50, cursor=request.query["cursor"] or UNSET)
    return await request.page("workflows/list.html", found=found)


@pages.get("/workflows/{name}")
async def definition(request: PageRequest) -> PageResponse:
    return await _page(request)


@pages.post("/workflows/{name}/runs")
async def start(request: PageRequest) -> PageResponse:
    name = request.values["name"]
    try:
        workflow = await request.run("get_workflow", name=name)
        run = await request.run(
            "run_workflow", name=name, input=value_of(workflow.input, request.form)
        )
    except ServiceError as error:
        return await _page(request, error=error)
    return request.go(f"/runs/{quote(run.id)}")


@pages.post("/workflows/{name}/active")
async def set_active(request: PageRequest) -> PageResponse:
    """Activate or deactivate a workflow."""
    name, active = request.values["name"], request.form["active"] == "true"
    await request.run("update_workflow", name=name, active=active)
    notice = "Runs can be started again." if active else "No more runs can be started."
    return request.go(f"/workflows/{quote(name)}", notice)


@pages.get("/workflows/{name}/compare")
async def compare(request: PageRequest) -> PageResponse:
    """Show the changes between two versions of a definition."""
    name = request.values["name"].partition("@")[0]
    versions = await request.run("list_workflow_versions", name=name, limit=100)
    numbers = [str(each.version) for each in versions.items]
    later = request.query["to"] or numbers[0]
    earlier = request.query["from"] or (numbers[1] if len(numbers) > 1 else numbers[0])
    before = await request.run("get_workflow", name=f"{name}@{earlier}")
    after = await request.run("get_workflow", name=f"{name}@{later}")
    texts = [as_yaml(without_version(each.definition)) for each in (before, after)]
    return await request.page(
        "workflows/compare.html",
        section=SECTION,
        name=name,
        numbers=numbers,
        before=before,
        after=after,
        is_same=texts[0] == texts[1],
        changes=redline(texts[0], texts[1]),
    )


async def _page(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    workflow = await request.run("get_workflow", name=request.values["name"])
    versions = await request.run("list_workflow_versions", name=workflow.name, limit=10)
    runs = await request.run("list_runs", workflow=workflow.name, limit=RECENT)
    fields = fields_of(workflow.input)
    return await request.page(
        "workflows/definition.html",
        status=200 if error is None else error.kind.status,
        section=SECTION,
        workflow=workflow,
        newest=versions.items[0].version,
        versions=versions,
        runs=runs,
        picture=picture(workflow.definition),
        source=_source(workflow.definition, request.query["as"]),
        fields=filled(fields, request.form),
        error=error,
    )


def picture(definition: dict[str, Any]) -> Any:
    """Draw the graph of a definition."""
    found = read(definition)
    steps = len(outline(found).boxes)
    label = f"The workflow {found.name}: {steps} {'step' if steps == 1 else 'steps'}"
    return draw(outline(found).graph(plain_node), label)


def _source(definition: dict[str, Any], form: str) -> ShownValue:
    plain = without_version(definition)
    text = as_json(plain) if form == "json" else as_yaml(plain)
    return ShownValue(text[:MAX_SOURCE], len(text))
