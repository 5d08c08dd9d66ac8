"""Validates definitions: names, jumps, references and JSON Schemas.

Names of agents, operations and the like are checked against those of the installation. An
expression may only refer to steps that can have run before: earlier steps of the same list or of
the lists around it, and, in an error handler, also the failed step and its inner steps. The input
of a run is validated here as well, by the schema in the definition.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from accord.schema.validator import JsonSchema, TooComplexError
from accord.workflows.core.definition import (
    AgentStep,
    CallStep,
    ConditionStep,
    Definition,
    LoopStep,
    ParallelStep,
    Place,
    PluginStep,
    Step,
    Trigger,
    WaitStep,
    WorkflowStep,
    find_places,
    handler_steps,
    inner_lists,
)
from accord.workflows.core.errors import Problem
from accord.workflows.core.expressions.evaluation import Misplaced, Single, expressions, read_all
from accord.workflows.core.expressions.parser import VARIABLES
from accord.workflows.core.expressions.syntax import LoopField, Node, StepField, Variable, walk
from accord.workflows.core.outputs import size_problem
from accord.workflows.core.triggers import SEEN

_SCHEMA: Final = {"$ref": "#"}
_SCHEMAS: Final = {"type": "object", "additionalProperties": _SCHEMA}
_LIST: Final = {"type": "array", "minItems": 1, "items": _SCHEMA}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_NUMBER: Final = {"type": "number"}
_BOOLEAN: Final = {"type": "boolean"}
_TYPE: Final = {"enum": ["null", "boolean", "object", "array", "number", "string", "integer"]}

# JSON Schema 2020-12: the values that each keyword allows.
_KEYWORDS: Final[dict[str, Any]] = {
    "$id": _TEXT, "$schema": _TEXT, "$ref": _TEXT, "$anchor": _TEXT, "$comment": _TEXT,
    "$defs": _SCHEMAS, "definitions": _SCHEMAS,
    "title": _TEXT, "description": _TEXT, "examples": {"type": "array"}, "deprecated": _BOOLEAN,
    "readOnly": _BOOLEAN, "writeOnly": _BOOLEAN, "format": _TEXT,
    "type": {"anyOf": [_TYPE, {"type": "array", "items": _TYPE, "minItems": 1}]},
    "enum": {"type": "array"},
    "allOf": _LIST, "anyOf": _LIST, "oneOf": _LIST, "not": _SCHEMA,
    "if": _SCHEMA, "then": _SCHEMA, "else": _SCHEMA,
    "minimum": _NUMBER, "maximum": _NUMBER, "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER, "multipleOf": {"type": "number", "exclusiveMinimum": 0},
    "minLength": _COUNT, "maxLength": _COUNT, "pattern": _TEXT,
    "minItems": _COUNT, "maxItems": _COUNT, "uniqueItems": _BOOLEAN, "items": _SCHEMA,
    "prefixItems": _LIST, "contains": _SCHEMA, "minContains": _COUNT, "maxContains": _COUNT,
    "unevaluatedItems": _SCHEMA,
    "minProperties": _COUNT, "maxProperties": _COUNT, "required": _TEXTS,
    "properties": _SCHEMAS, "patternProperties": _SCHEMAS, "additionalProperties": _SCHEMA,
    "unevaluatedProperties": _SCHEMA, "propertyNames": _SCHEMA, "dependentSchemas": _SCHEMAS,
    "dependentRequired": {"type": "object", "additionalProperties": _TEXTS},
}  # fmt: skip
_OF_SCHEMAS: Final = JsonSchema({"type": ["object", "boolean"], "properties": _KEYWORDS})


def schema_problem(schema: Any) -> str | None:
    """Return the first problem of a JSON Schema as a sentence; None if it is valid."""
    try:
        problem = _OF_SCHEMAS.problem(schema)
    except TooComplexError:
        return "the schema is too large or too deep"
    if problem is not None:
        return problem.replace("the value", "the schema", 1)
    whole = JsonSchema(schema)
    missing = next((ref for ref in _references(schema) if _is_missing(whole, ref)), None)
    return None if missing is None else f"the schema refers to {missing!r}, which is not in it"


def input_problem(definition: Definition, value: Any) -> str | None:
    """Return why a run cannot start with this input; None if it can."""
    _, failure = size_problem("input", value)
    if failure is not None:
        return failure.message
    try:
        return JsonSchema(True if definition.input is None else definition.input).problem(value)
    except TooComplexError:
        return "the input is too large or too deep for its schema"


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from _references(member)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _is_missing(whole: JsonSchema, reference: str) -> bool:
    # `find` returns True, the schema that accepts everything, for a missing reference.
    return whole.find(reference) is True


END: Final = "end"
"""The jump target that ends the innermost run, branch or round around the step."""

_WORKFLOW: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}(@[1-9][0-9]{0,8})?", re.ASCII)
_URL: Final = re.compile(r"https?://[^\s/]+\S*")
_MAX_SUGGESTIONS: Final = 20


class Arguments(Struct, frozen=True):
    """The names of the arguments that an operation or a plugin step takes."""

    names: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()


class Known(Struct, frozen=True):
    """The names in this installation that a definition may refer to.

    If a field is None, references of that kind are not checked. `workflows` has `NAME` and
    `NAME@VERSION`. `kinds` are the kinds of entities whose changes can trigger runs.
    """

    agents: frozenset[str] | None = None
    operations: Mapping[str, Arguments] | None = None
    workflows: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    timezones: frozenset[str] | None = None
    steps: Mapping[str, Arguments] = {}
    """The step types that plugins add, with their arguments."""


class _Scope(Struct, frozen=True):
    """The names that may be used at one place of a definition.

    Expressions may refer to the steps in `visible`, and `next` to those in `targets`. `loops` has
    an entry for each loop around the place, outermost first: True if it iterates over items.
    `failed` is True inside error handlers.
    """

    visible: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    loops: tuple[bool, ...] = ()
    failed: bool = False
    variables: frozenset[str] = VARIABLES


class _ListCheck(Struct, frozen=True):
    """The result of checking a list of steps.

    `names` are the names of the steps in the list. `falls` is True if a run can reach the end of
    the list without a jump.
    """

    names: frozenset[str]
    falls: bool


def find_problems(
    definition: Definition, known: Known, mentioned: frozenset[str]
) -> Iterator[Problem]:
    """Yield the problems of a definition whose fields are valid.

    `mentioned` has the names of all steps, even of those that could not be read, so that references
    to them are not reported as missing.
    """
    rules = _Rules(definition, known, mentioned)
    rules.check()
    yield from rules.problems


class _Rules:
    """A checker of one definition."""

    def __init__(self, definition: Definition, known: Known, mentioned: frozenset[str]) -> None:
        self.problems: list[Problem] = []
        self._definition = definition
        self._known = known
        self._mentioned = mentioned
        self._jumped: set[str] = set()
        self._places: dict[str, Place] = {}

    def check(self) -> None:
        definition = self._definition
        self._index()
        if definition.input is not None and (problem := schema_problem(definition.input)):
            self._refuse("input", problem)
        for index, trigger in enumerate(definition.on):
            self._trigger(trigger, f"on[{index}]")
        main = self._list(definition.steps, "steps", _Scope())
        after = _Scope(visible=main.names, failed=False)
        if definition.on_error is not None:
            self._list(definition.on_error, "on_error", replace(after, failed=True))
        self._value(definition.output, "output", after, None)

    def _refuse(self, path: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(path, message, hint))

    def _index(self) -> None:
        for place in find_places(self._definition):
            name = place.step.name
            if name == END:
                self._refuse(f"{place.path}.name", f"no step can be called {END!r}")
            first = self._places.setdefault(name, place)
            if name and first is not place:
                self._refuse(
                    f"{place.path}.name",
                    f"{name!r} is the name of {first.path} already",
                    "names are unique in the whole definition",
                )

    # Triggers

    def _trigger(self, trigger: Trigger, path: str) -> None:
        known = self._known
        if trigger.event is not None:
            kind = trigger.event.partition(".")[0]
            self._exists("kind", kind, known.kinds, f"{path}.event")
        self._exists("timezone", trigger.timezone, known.timezones, f"{path}.timezone")
        names = [each.webhook for each in self._definition.on if each.webhook is not None]
        if names.count(trigger.webhook or "") > 1:
            self._refuse(f"{path}.webhook", f"{trigger.webhook!r} is there twice")
        scope = _Scope(variables=frozenset({SEEN[trigger.kind]}))
        self._single(trigger.filter, f"{path}.filter", scope, None)
        self._value(trigger.input, f"{path}.input", scope, None)

    # Control flow

    def _list(self, steps: tuple[Step, ...], path: str, scope: _Scope) -> _ListCheck:
        """Check a list of steps; `scope.targets` are steps outside the list that it may jump to."""
        visible, falls = scope.visible, True
        later = [step.name for step in steps]
        for index, step in enumerate(steps):
            where = f"{path}[{index}]"
            if not falls and step.name not in self._jumped:
                self._refuse(
                    where, f"{step.name!r} is never reached", "every step before it jumps over it"
                )
            targets = scope.targets.union(later[index + 1 :])
            here = replace(scope, visible=visible, targets=targets)
            inner, falls = self._step(step, where, here)
            visible |= inner | {step.name}
        return _ListCheck(visible - scope.visible, falls)

    def _step(self, step: Step, path: str, scope: _Scope) -> tuple[frozenset[str], bool]:
        self._outside(step, path)
        self._expressions(step, path, scope)
        inner, falls = self._inside(step, path, scope)
        handler = handler_steps(step)
        if handler is not None:
            around = replace(scope, visible=scope.visible | inner, failed=True)
            walked = self._list(handler, f"{path}.on_error", around)
            inner, falls = inner | walked.names, falls or walked.falls
        falls = falls or step.on_error == "continue"
        if step.next is not None:
            self._jump(step, path, scope)
            falls = False
        return inner, falls

    def _inside(self, step: Step, path: str, scope: _Scope) -> tuple[frozenset[str], bool]:
        """Check the inner lists of a step.

        Return two values: the names of the inner steps that remain visible after the step, and a
        boolean that is True if the step can complete without a jump.
        """
        match step:
            case LoopStep():
                self._loop(step, path, scope)
                return frozenset(), True
            case ParallelStep():
                lanes = replace(scope, targets=frozenset())
                walked = self._each(step, path, lanes)
                return frozenset().union(*(each.names for each in walked)), True
            case ConditionStep():
                walked = self._each(step, path, scope)
                names: frozenset[str] = frozenset().union(*(each.names for each in walked))
                is_open = step.else_ is None if step.switch is None else step.default is None
                return names, is_open or any(each.falls for each in walked)
            case _:
                return frozenset(), True

    def _each(self, step: Step, path: str, scope: _Scope) -> list[_ListCheck]:
        return [self._list(steps, f"{path}.{label}", scope) for label, steps in inner_lists(step)]

    def _loop(self, step: LoopStep, path: str, scope: _Scope) -> None:
        loops = (*scope.loops, step.over is not None)
        body = self._list(
            step.body, f"{path}.body", replace(scope, targets=frozenset(), loops=loops)
        )
        round_before = replace(scope, visible=scope.visible | body.names, loops=loops)
        self._single(step.while_, f"{path}.while", round_before, step)

    def _jump(self, step: Step, path: str, scope: _Scope) -> None:
        target = step.next
        if target is None or target == END or target in self._mentioned - self._places.keys():
            return
        self._jumped.add(target)
        if target in scope.targets:
            return
        where = f"{path}.next"
        if target not in self._places:
            self._refuse(where, *self._no_such("step", target, self._places))
        elif self._places[target].order <= self._order(step):
            self._refuse(where, f"{target!r} is not later", "jumps lead forward only")
        else:
            self._refuse(
                where,
                f"{target!r} is in another list of steps",
                "a jump stays in its list, or leaves conditions and handlers",
            )

    def _order(self, step: Step) -> int:
        return self._places[step.name].order

    # References

    def _expressions(self, step: Step, path: str, scope: _Scope) -> None:
        match step:
            case AgentStep() | WorkflowStep() | CallStep() | PluginStep():
                self._value(step.input, f"{path}.input", scope, step)
            case ConditionStep():
                self._single(step.if_, f"{path}.if", scope, step)
                self._single(step.switch, f"{path}.switch", scope, step)
            case LoopStep(over=str()):
                self._single(step.over, f"{path}.over", scope, step)
            case LoopStep():
                self._value(step.over, f"{path}.over", scope, step)
            case WaitStep():
                self._value(step.for_, f"{path}.for", scope, step)
                self._value(step.until, f"{path}.until", scope, step)
                if step.approval is not None:
                    where = f"{path}.approval"
                    self._value(step.approval.message, f"{where}.message", scope, step)
                    self._value(step.approval.data, f"{where}.data", scope, step)
            case _:
                return

    def _single(self, value: Any, path: str, scope: _Scope, step: Step | None) -> None:
        template = self._value(value, path, scope, step)
        if isinstance(value, str) and template is not None and not isinstance(template, Single):
            self._refuse(path, "one expression is needed", "write it as ${…}, with nothing around")

    def _value(self, value: Any, path: str, scope: _Scope, step: Step | None) -> Any:
        """Parse a value as a template and check its references; return None if it is invalid."""
        found: list[Misplaced] = []
        template = read_all(value, path, found, scope.variables)
        for each in found:
            self._refuse(each.path, f"the expression cannot be read: {each.error}")
        for where, node in expressions(template, path):
            for part, _ in walk(node):
                self._reference(part, where, scope, step)
        return None if found else template

    def _reference(self, part: Node, path: str, scope: _Scope, step: Step | None) -> None:
        match part:
            case StepField() if scope.variables != VARIABLES:
                self._refuse(path, f"{part.text} is not there", "no step has run before a run")
            case StepField(name, _):
                if name not in scope.visible:
                    self._unseen(name, path, step)
            case LoopField(up, field):
                if up >= len(scope.loops):
                    hint = f"there are {len(scope.loops)} loops around it"
                    self._refuse(path, f"{part.text} is not in so many loops", hint)
                elif field == "item" and not scope.loops[-1 - up]:
                    hint = "a loop with 'while' has loop.index only"
                    self._refuse(path, f"{part.text} is not there", hint)
            case Variable("error") if not scope.failed:
                self._refuse(path, "nothing has failed here", "error is for steps of on_error")
            case _:
                return

    def _unseen(self, name: str, path: str, step: Step | None) -> None:
        if name not in self._places:
            if name not in self._mentioned:
                self._refuse(path, *self._no_such("step", name, self._places))
            return
        self._refuse(path, *self._why_unseen(self._places[name], step))

    def _why_unseen(self, target: Place, step: Step | None) -> tuple[str, str]:
        name = target.step.name
        here = self._places[step.name] if step is not None else None
        around = here.loops if here is not None else ()
        loop = next((loop for loop in target.loops if loop not in around), None)
        if here is not None and here.step.name == name:
            return f"{name!r} refers to itself", ""
        if loop is not None:
            return (
                f"{name!r} runs in each round of {loop!r}, which is not around this",
                f"steps.{loop}.output is the list of what the rounds gave",
            )
        if here is None:
            return f"{name!r} runs after a failure only", ""
        if any(inside.owner == name for inside in here.within):
            return f"{name!r} is still running here", ""
        for mine, other in zip(here.within, target.within, strict=False):
            if mine.owner == other.owner and mine.label != other.label:
                if mine.kind == other.kind == "branch":
                    return f"{name!r} runs at the same time, in another branch", ""
                return f"{name!r} does not run where this step does", ""
        return f"{name!r} has not run yet", "refer to earlier steps only"

    # Names from outside

    def _outside(self, step: Step, path: str) -> None:
        known = self._known
        match step:
            case AgentStep():
                self._exists("agent", step.agent, known.agents, f"{path}.agent")
            case CallStep(operation=str(operation)):
                self._exists("operation", operation, known.operations, f"{path}.operation")
                taken = (known.operations or {}).get(operation)
                if taken is not None:
                    self._arguments(operation, taken, step.input, f"{path}.input")
            case CallStep(rpc=rpc) if rpc is not None and not _URL.fullmatch(rpc.url):
                self._refuse(
                    f"{path}.rpc.url", f"{rpc.url[:80]!r} is no address", "http://… or https://…"
                )
            case PluginStep():
                taken = known.steps[step.plugin]
                self._arguments(step.plugin, taken, step.input, f"{path}.input")
            case WorkflowStep():
                self._workflow(step.workflow, f"{path}.workflow")
            case _:
                return

    def _arguments(self, operation: str, taken: Arguments, given: Any, path: str) -> None:
        """Check the names of the arguments passed to an operation or plugin step.

        Their values are not checked, because they may contain expressions.
        """
        if isinstance(given, str):  # an expression: its value is not known yet
            return
        if not isinstance(given, Mapping | None):
            self._refuse(path, f"{operation} takes an object, with a member for each argument")
            return
        there = frozenset(given or ())
        for name in sorted(there - taken.names):
            self._refuse(f"{path}.{name}", *self._no_such("argument", name, sorted(taken.names)))
        for name in sorted(taken.required - there):
            self._refuse(path, f"{operation} needs {name!r}")

    def _workflow(self, name: str, path: str) -> None:
        if name and not _WORKFLOW.fullmatch(name):
            self._refuse(path, f"{name[:80]!r} is no workflow", "NAME or NAME@VERSION")
        elif name != self._definition.name:
            self._exists("workflow", name, self._known.workflows, path)

    def _exists(self, what: str, name: str, known: Collection[str] | None, path: str) -> None:
        if name and known is not None and name not in known:
            self._refuse(path, *self._no_such(what, name, sorted(known)))

    def _no_such(self, what: str, name: str, names: Iterable[str]) -> tuple[str, str]:
        there = [each for each in names if each]
        near = get_close_matches(name[:80], there, n=1)
        if near:
            return f"there is no {what} {name[:80]!r}", f"did you mean {near[0]!r}?"
        more = (
            "" if len(there) <= _MAX_SUGGESTIONS else f" and {len(there) - _MAX_SUGGESTIONS:,} more"
        )
        hint = (
            f"there are {', '.join(there[:_MAX_SUGGESTIONS])}{more}" if there else "there are none"
        )
        return f"there is no {what} {name[:80]!r}", hint
