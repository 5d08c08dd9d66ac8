"""Workflow definitions: steps, triggers, and their nesting.

A definition from `reading.read_definition` satisfies every rule; these types alone check only some.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

AGENT_TIMEOUT: Final = 3_600.0
"""Seconds for everything that an agent or a call does, where the step says nothing else."""

JoinRule: TypeAlias = Literal["all", "any", "majority"] | int
LoopMode: TypeAlias = Literal["sequential", "parallel"]
StepType: TypeAlias = str
"""`agent`, `parallel`, `condition`, `loop`, `wait`, `workflow`, `call`, or a type that a plugin
adds."""
TriggerKind: TypeAlias = Literal["event", "schedule", "webhook"]


class Retry(Struct, frozen=True, forbid_unknown_fields=True):
    """Which failures of a task are tried again, and when. Seconds."""

    attempts: int = 3
    initial_delay: float = 1.0
    multiplier: float = 2.0
    max_delay: float = 30.0
    jitter: bool = True
    failures: Literal["unknown", "all"] = "unknown"
    """Only those whose outcome is unknown, or also what the other side says has failed."""


class Approval(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who may decide: names of people or roles; how long they have, and what they are shown: a
    text and any data, both with expressions."""

    by: tuple[str, ...]
    timeout: float | None = None
    message: str | None = None
    data: Any = None


class McpTarget(Struct, frozen=True, forbid_unknown_fields=True):
    server: str
    tool: str


class RpcTarget(Struct, frozen=True, forbid_unknown_fields=True):
    url: str
    method: str


class _Step(
    Struct,
    frozen=True,
    kw_only=True,
    tag_field="type",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What all steps have."""

    name: str
    next: str | None = None
    timeout: float | None = None


class AgentStep(_Step, frozen=True, tag="agent"):
    """Asks an agent."""

    agent: str
    input: Any = None
    retry: Retry | None = None
    on_error: Handler = None


class ParallelStep(_Step, frozen=True, tag="parallel"):
    """Runs lists of steps side by side, until enough of them are done."""

    branches: dict[str, tuple[Step, ...]]
    max_parallelism: int | None = None
    join: JoinRule = "all"
    on_error: Handler = None


class ConditionStep(_Step, frozen=True, tag="condition"):
    """Runs one list of steps, or none: by `if`, or by `switch`."""

    if_: str | None = field(default=None, name="if")
    then: tuple[Step, ...] | None = None
    else_: tuple[Step, ...] | None = field(default=None, name="else")
    switch: str | None = None
    cases: dict[str, tuple[Step, ...]] | None = None
    default: tuple[Step, ...] | None = None
    on_error: Handler = None


class LoopStep(_Step, frozen=True, tag="loop"):
    """Runs a list of steps for each item, or as long as something holds."""

    body: tuple[Step, ...]
    over: str | list[Any] | None = None
    while_: str | None = field(default=None, name="while")
    mode: LoopMode = "sequential"
    max_parallelism: int | None = None
    max_iterations: int = 1_000
    on_error: Literal["stop", "continue", "collect"] | tuple[Step, ...] = "stop"


class WaitStep(_Step, frozen=True, tag="wait"):
    """Waits for a signal, for somebody's decision, for some time, or until a time."""

    signal: str | None = None
    approval: Approval | None = None
    for_: float | str | None = field(default=None, name="for")
    until: str | None = None
    on_error: Handler = None


class WorkflowStep(_Step, frozen=True, tag="workflow"):
    """Runs another workflow as a child."""

    workflow: str
    input: Any = None
    on_error: Handler = None


class CallStep(_Step, frozen=True, tag="call"):
    """Calls an operation of this installation, a tool of an MCP server, or a JSON-RPC method."""

    operation: str | None = None
    mcp: McpTarget | None = None
    rpc: RpcTarget | None = None
    input: Any = None
    retry: Retry | None = None
    on_error: Handler = None


class PluginStep(_Step, frozen=True, tag="plugin"):
    """Does what a plugin does, which is known here by its name only: what a run did can be told
    where the plugin is gone. It is written with that name as its type; see `spelling`."""

    plugin: str
    input: Any = None
    retry: Retry | None = None
    on_error: Handler = None


Step: TypeAlias = (
    AgentStep
    | ParallelStep
    | ConditionStep
    | LoopStep
    | WaitStep
    | WorkflowStep
    | CallStep
    | PluginStep
)
Handler: TypeAlias = Literal["continue"] | tuple[Step, ...] | None


class Trigger(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What starts runs by itself: an event such as `requirement.created`, a schedule as cron has
    them, or a webhook. Without `input` a run gets what the trigger sees."""

    event: str | None = None
    filter: str | None = None
    schedule: str | None = None
    timezone: str = "UTC"
    webhook: str | None = None
    secret: str | None = None
    input: Any = None

    @property
    def kind(self) -> TriggerKind:
        if self.event is not None:
            return "event"
        return "schedule" if self.schedule is not None else "webhook"


class Definition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A workflow."""

    name: str
    version: int | None = None
    description: str = ""
    on: tuple[Trigger, ...] = ()
    input: Any = None
    steps: tuple[Step, ...]
    output: Any = None
    on_error: tuple[Step, ...] | None = None


def type_of(step: Step) -> StepType:
    """The type of a step, as it is written."""
    return step.plugin if isinstance(step, PluginStep) else str(step.__struct_config__.tag)


def handler_steps(step: Step) -> tuple[Step, ...] | None:
    """The steps that run when this one failed for good."""
    return step.on_error if isinstance(step.on_error, tuple) else None


def inner_lists(step: Step) -> list[tuple[str, tuple[Step, ...]]]:
    """The lists of steps inside a step, its handler not among them, by where they stand in it."""
    match step:
        case ParallelStep():
            return [(f"branches.{name}", steps) for name, steps in step.branches.items()]
        case ConditionStep():
            parts = (("then", step.then), ("else", step.else_), ("default", step.default))
            cases = [(f"cases.{label}", steps) for label, steps in (step.cases or {}).items()]
            return cases + [(name, steps) for name, steps in parts if steps is not None]
        case LoopStep():
            return [("body", step.body)]
        case _:
            return []


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
