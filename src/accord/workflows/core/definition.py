"""The structs of workflow definitions: steps, triggers, and their nesting.

These types check only part of the rules; `reading.read_definition` checks all of them.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

AGENT_TIMEOUT: Final = 3_600.0
"""The default timeout in seconds of steps that call something outside the run."""

JoinRule: TypeAlias = Literal["all", "any", "majority"] | int
LoopMode: TypeAlias = Literal["sequential", "parallel"]
StepType: TypeAlias = str
"""`agent`, `parallel`, `condition`, `loop`, `wait`, `workflow`, `call`, or a type that a plugin
adds."""
TriggerKind: TypeAlias = Literal["event", "schedule", "webhook"]


class Retry(Struct, frozen=True, forbid_unknown_fields=True):
    """The retry policy of a step. Delays are in seconds."""

    attempts: int = 3
    initial_delay: float = 1.0
    multiplier: float = 2.0
    max_delay: float = 30.0
    jitter: bool = True
    failures: Literal["unknown", "all"] = "unknown"
    """The failures to retry.

    `unknown`: only failures of unknown outcome; `all`: also failures that the target reported.
    """


class Approval(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An approval by one of the people or roles in `by`, within `timeout` seconds.

    They see `message` and `data`, both of which may contain expressions.
    """

    by: tuple[str, ...]
    timeout: float | None = None
    message: str | None = None
    data: Any = None


class McpTarget(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool of an MCP server, which is named by its URL."""

    server: str
    tool: str


class RpcTarget(Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON-RPC method at a URL."""

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
    """The fields that all types of steps have."""

    name: str
    next: str | None = None
    timeout: float | None = None


class AgentStep(_Step, frozen=True, tag="agent"):
    """A call of an agent."""

    agent: str
    input: Any = None
    retry: Retry | None = None
    on_error: Handler = None


class ParallelStep(_Step, frozen=True, tag="parallel"):
    """Lists of steps that run side by side until enough of them are done."""

    branches: dict[str, tuple[Step, ...]]
    max_parallelism: int | None = None
    join: JoinRule = "all"
    on_error: Handler = None


class ConditionStep(_Step, frozen=True, tag="condition"):
    """A choice of one list of steps, or none, by `if` or by `switch`."""

    if_: str | None = field(default=None, name="if")
    then: tuple[Step, ...] | None = None
    else_: tuple[Step, ...] | None = field(default=None, name="else")
    switch: str | None = None
    cases: dict[str, tuple[Step, ...]] | None = None
    default: tuple[Step, ...] | None = None
    on_error: Handler = None


class LoopStep(_Step, frozen=True, tag="loop"):
    """A list of steps that runs for each item, or as long as a condition is true."""

    body: tuple[Step, ...]
    over: str | list[Any] | None = None
    while_: str | None = field(default=None, name="while")
    mode: LoopMode = "sequential"
    max_parallelism: int | None = None
    max_iterations: int = 1_000
    on_error: Literal["stop", "continue", "collect"] | tuple[Step, ...] = "stop"


class WaitStep(_Step, frozen=True, tag="wait"):
    """A wait for a signal, an approval, a duration, or a time."""

    signal: str | None = None
    approval: Approval | None = None
    for_: float | str | None = field(default=None, name="for")
    until: str | None = None
    on_error: Handler = None


class WorkflowStep(_Step, frozen=True, tag="workflow"):
    """A child run of another workflow."""

    workflow: str
    input: Any = None
    on_error: Handler = None


class CallStep(_Step, frozen=True, tag="call"):
    """A call of an operation of this installation, an MCP tool, or a JSON-RPC method."""

    operation: str | None = None
    mcp: McpTarget | None = None
    rpc: RpcTarget | None = None
    input: Any = None
    retry: Retry | None = None
    on_error: Handler = None


class PluginStep(_Step, frozen=True, tag="plugin"):
    """A step of a type that a plugin adds.

    Only the plugin's name is known here, so runs can still be shown after the plugin is removed.
    Stored definitions have that name as the type of the step; see `reading`.
    """

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
    """A trigger, which starts runs: an event, a cron schedule, or a webhook.

    `event` is a name such as `requirement.created`. Without `input`, the input of a run is the
    value of the trigger, for example the body of a webhook request.
    """

    event: str | None = None
    filter: str | None = None
    schedule: str | None = None
    timezone: str = "UTC"
    webhook: str | None = None
    secret: str | None = None
    input: Any = None

    @property
    def kind(self) -> TriggerKind:
        """The kind of the trigger, determined by the field that is set."""
        if self.event is not None:
            return "event"
        return "schedule" if self.schedule is not None else "webhook"


class Definition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The definition of a workflow."""

    name: str
    version: int | None = None
    description: str = ""
    on: tuple[Trigger, ...] = ()
    input: Any = None
    steps: tuple[Step, ...]
    output: Any = None
    on_error: tuple[Step, ...] | None = None


def type_of(step: Step) -> StepType:
    """Return the type of a step as written in definitions; for a plugin step, the plugin's name."""
    return step.plugin if isinstance(step, PluginStep) else str(step.__struct_config__.tag)


def handler_steps(step: Step) -> tuple[Step, ...] | None:
    """Return the steps of a step's error handler; None if it has none."""
    return step.on_error if isinstance(step.on_error, tuple) else None


def inner_lists(step: Step) -> list[tuple[str, tuple[Step, ...]]]:
    """Return the lists of steps inside a step, each with its path.

    The error handler of the step is not one of them.
    """
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
    """A reference to a list of steps inside another step.

    `owner` is the name of the other step; `kind` and `label` are those of the list.
    """

    owner: str
    kind: ListKind
    label: str


class Place(Struct, frozen=True):
    """The position of a step in a definition.

    `order` is the index of the step among all steps. `within` are the lists inside other steps that
    contain it, outermost first.
    """

    step: Step
    path: str
    order: int
    within: tuple[Inside, ...]

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of the loops that contain the step, outermost first."""
        return tuple(each.owner for each in self.within if each.kind == "body")


def list_kind(step: Step) -> ListKind:
    """Return the kind of the lists inside a step: `branch`, `body` or `choice`."""
    match step:
        case ParallelStep():
            return "branch"
        case LoopStep():
            return "body"
        case _:
            return "choice"


def find_places(definition: Definition) -> list[Place]:
    """Return the positions of all steps, in the order of the definition."""
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
