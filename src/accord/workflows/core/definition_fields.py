"""Reads a JSON value as a definition, field by field, and collects all problems.

Each field has a reader function. An invalid field is omitted or replaced by a default value, so
that the rest can still be checked. `rules` then checks how the steps fit together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from msgspec import Struct

from accord.workflows.core.definition import (
    AgentStep,
    Approval,
    CallStep,
    ConditionStep,
    Definition,
    LoopStep,
    McpTarget,
    ParallelStep,
    PluginStep,
    Retry,
    RpcTarget,
    Step,
    Trigger,
    WaitStep,
    WorkflowStep,
)
from accord.workflows.core.errors import (
    MAX_ITERATIONS,
    MAX_NESTING,
    MAX_SECONDS,
    MAX_STEPS,
    MAX_TRIGGERS,
    CronError,
    Problem,
)
from accord.workflows.core.expressions.functions import type_name
from accord.workflows.core.triggers import read_cron, read_time

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_EVENT: Final = re.compile(r"[a-z][a-z_]{0,62}\.(created|updated|deleted)", re.ASCII)
_SECRET: Final = re.compile(
    r"env:ACCORD_SECRET_[A-Z0-9_]{1,100}|file:[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", re.ASCII
)
_MAX_TEXT: Final = 2_000

Field: TypeAlias = Callable[["Shape", Any, str], Any]


class _Invalid:
    """The type of `_INVALID`, which a field reader returns for an invalid value."""


_INVALID: Final = _Invalid()


class Shape:
    """A reader of one definition, which adds the problems that it finds to `problems`."""

    def __init__(self, types: Collection[str] = ()) -> None:
        """Create a reader that accepts plugin steps of these types."""
        self.problems: list[Problem] = []
        self._types = types
        self._steps = 0
        self._nesting = 0

    def definition(self, value: Any) -> Definition | None:
        """Read a definition from a JSON value; return None if the value is not an object."""
        if not isinstance(value, dict):
            self.refuse("definition", f"a definition is an object, not {type_name(value)}")
            return None
        fields = self.read_fields(value, _DEFINITION, "", ("name", "steps"))
        if self._steps > MAX_STEPS:
            self.refuse("steps", f"{self._steps:,} steps are over the limit of {MAX_STEPS:,}")
        return Definition(**{"name": "", "steps": (), **fields})

    def refuse(self, path: str, message: str, hint: str = "") -> _Invalid:
        """Add a problem to `problems`; return `_INVALID`, as the result of a field reader."""
        self.problems.append(Problem(path, message, hint))
        return _INVALID

    def read_fields(
        self,
        value: dict[str, Any],
        known: Mapping[str, Field],
        path: str,
        required: tuple[str, ...],
    ) -> dict[str, Any]:
        """Read the fields of an object; return the valid ones by their Python names."""
        read: dict[str, Any] = {}
        for name, member in value.items():
            where = _joined(path, name)
            if name not in known:
                near = get_close_matches(name[:80], known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
                self.refuse(where, f"there is no field {name[:80]!r}", hint)
                continue
            result = known[name](self, member, where)
            if result is not _INVALID:
                read[_KEYWORD_FIELDS.get(name, name)] = result
        for name in required:
            if name not in value:
                self.refuse(_joined(path, name), f"{name!r} is missing")
        return read

    # Steps

    def steps(self, value: Any, path: str) -> tuple[Step, ...]:
        """Read a list of steps, omitting entries that cannot be read as steps."""
        if not isinstance(value, list):
            self.refuse(path, f"steps are a list, not {type_name(value)}")
            return ()
        if not value:
            self.refuse(path, "the list of steps is empty", "leave it out, or put steps into it")
            return ()
        if self._nesting == MAX_NESTING:
            self.refuse(path, f"steps are nested deeper than {MAX_NESTING}")
            return ()
        self._nesting += 1
        steps = [self._step(each, f"{path}[{index}]") for index, each in enumerate(value)]
        self._nesting -= 1
        return tuple(step for step in steps if step is not None)

    def _step(self, value: Any, path: str) -> Step | None:
        self._steps += 1
        if not isinstance(value, dict):
            self.refuse(path, f"a step is an object, not {type_name(value)}")
            return None
        kind = value.get("type")
        if isinstance(kind, str) and kind in self._types:
            return self._made(_PLUGIN, value, path, plugin=kind)
        if not isinstance(kind, str) or kind not in _STEPS:
            self._refuse_type(value, path)
            name = value.get("name")
            return WaitStep(name=name) if isinstance(name, str) else None
        return self._made(_STEPS[kind], value, path)

    def _made(self, spec: _Spec, value: dict[str, Any], path: str, **more: str) -> Step:
        fields = self.read_fields(value, spec.fields, path, ("name", *spec.required))
        fields.pop("type", None)
        spec.check(self, value, path)
        return spec.struct(**{"name": "", **spec.empty, **more, **fields})

    def _refuse_type(self, value: dict[str, Any], path: str) -> None:
        known = (*_STEPS, *sorted(self._types))
        kinds = ", ".join(known)
        if "type" not in value:
            self.refuse(f"{path}.type", "'type' is missing", f"there are {kinds}")
            return
        kind = value["type"]
        near = get_close_matches(str(kind)[:80], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {kinds}"
        self.refuse(f"{path}.type", f"there is no type of step {str(kind)[:80]!r}", hint)

    def one_of(self, value: dict[str, Any], path: str, *names: str) -> str | None:
        """Return which one of several fields is present; add a problem unless exactly one is."""
        present = [name for name in names if name in value]
        if len(present) == 1:
            return present[0]
        found = f"not {' and '.join(present)}" if present else "and none is there"
        self.refuse(path, f"exactly one of {', '.join(names)} is needed, {found}")
        return None

    def only_with(self, value: dict[str, Any], path: str, owner: str, *names: str) -> None:
        """Add a problem for each of these fields that is present without the field `owner`."""
        for name in names:
            if name in value and owner not in value:
                self.refuse(f"{path}.{name}", f"{name!r} goes with {owner!r} only")


def _joined(path: str, name: str) -> str:
    return f"{path}.{name[:80]}" if path else name[:80]


# Fields


def _any(shape: Shape, value: Any, path: str) -> Any:  # noqa: ARG001 - readers of fields are alike
    return value


def _text(shape: Shape, value: Any, path: str) -> Any:
    if not isinstance(value, str) or not value.strip():
        return shape.refuse(path, "a text is needed")
    if len(value) > _MAX_TEXT:
        return shape.refuse(
            path, f"a text of {len(value):,} characters is over the limit of {_MAX_TEXT:,}"
        )
    return value


def _name(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(value, str) and NAME.fullmatch(value):
        return value
    hint = "letters, digits, _ and -, beginning with a letter, at most 64 characters"
    return shape.refuse(path, f"{str(value)[:80]!r} is no name", hint)


def _template(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(value, str):
        return value
    return shape.refuse(path, "an expression is needed", "write it as ${…}")


def _over(shape: Shape, value: Any, path: str) -> Any:
    return value if isinstance(value, list) else _template(shape, value, path)


def _number(least: float, most: float, what: str) -> Field:
    def field(shape: Shape, value: Any, path: str) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and least <= value <= most:
            return float(value)
        hint = f"a number from {least:,.12g} to {most:,.12g}"
        return shape.refuse(path, f"{str(value)[:80]!r} is no {what}", hint)

    return field


def _integer(least: int, most: int) -> Field:
    def field(shape: Shape, value: Any, path: str) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        hint = f"a whole number from {least:,} to {most:,}"
        return shape.refuse(path, f"{str(value)[:80]!r} is not allowed", hint)

    return field


def _choice(*allowed: str) -> Field:
    def field(shape: Shape, value: Any, path: str) -> Any:
        if isinstance(value, str) and value in allowed:
            return value
        return shape.refuse(
            path, f"{str(value)[:80]!r} is not allowed", f"one of {', '.join(allowed)}"
        )

    return field


def _truth(shape: Shape, value: Any, path: str) -> Any:
    return value if isinstance(value, bool) else shape.refuse(path, "true or false is needed")


_seconds: Final = _number(0.0, MAX_SECONDS, "duration in seconds")
_limit: Final = _number(0.001, MAX_SECONDS, "duration in seconds")
_COUNT: Final = _integer(1, 1_000)


def _for(shape: Shape, value: Any, path: str) -> Any:
    return value if isinstance(value, str) and "${" in value else _seconds(shape, value, path)


def _until(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(value, str) and ("${" in value or read_time(value) is not None):
        return value
    hint = "a time with a zone, as in 2026-11-15T09:30:00Z, or ${…}"
    return shape.refuse(path, f"{str(value)[:80]!r} is no time", hint)


def _join(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(value, int):
        return _COUNT(shape, value, path)
    return _choice("all", "any", "majority")(shape, value, path)


def _people(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(value, list) and value and all(isinstance(each, str) and each for each in value):
        return tuple(value)
    return shape.refuse(path, "a list of people or roles is needed")


def _struct(kind: type[Struct], known: Mapping[str, Field], *required: str) -> Field:
    def field(shape: Shape, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return shape.refuse(path, f"an object is needed, not {type_name(value)}")
        read = shape.read_fields(value, known, path, required)
        return kind(**read) if all(name in read for name in required) else _INVALID

    return field


def _lists(named: bool) -> Field:
    """Return a field reader for labelled lists of steps; if `named`, labels must be valid names."""

    def field(shape: Shape, value: Any, path: str) -> Any:
        if not isinstance(value, dict) or not value:
            return shape.refuse(path, "an object with lists of steps is needed")
        lists: dict[str, tuple[Step, ...]] = {}
        for name, steps in value.items():
            if named:
                _name(shape, name, path)
            lists[name] = shape.steps(steps, _joined(path, name))
        return lists

    return field


def _steps(shape: Shape, value: Any, path: str) -> Any:
    return shape.steps(value, path)


def _handler(*words: str) -> Field:
    def field(shape: Shape, value: Any, path: str) -> Any:
        if isinstance(value, list):
            return shape.steps(value, path)
        if isinstance(value, str) and value in words:
            return value
        hint = f"{', '.join(words)}, or a list of steps"
        return shape.refuse(path, f"{str(value)[:80]!r} is not allowed", hint)

    return field


# Triggers


def _event(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(value, str) and _EVENT.fullmatch(value):
        return value
    hint = "KIND.created, KIND.updated or KIND.deleted, as in requirement.created"
    return shape.refuse(path, f"{str(value)[:80]!r} is no event", hint)


def _schedule(shape: Shape, value: Any, path: str) -> Any:
    if not isinstance(value, str):
        return shape.refuse(path, f"a schedule is a text, not {type_name(value)}")
    try:
        read_cron(value)
    except CronError as error:
        return shape.refuse(path, f"{value[:80]!r} is no schedule: {error}", _CRON_HINT)
    return value


def _secret(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(value, str) and _SECRET.fullmatch(value):
        return value
    hint = "env:ACCORD_SECRET_NAME or file:NAME, never the secret itself"
    return shape.refuse(path, "this is no reference to a secret", hint)


def _triggers(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(value, str):
        return _some([_trigger(shape, value, path)])
    if not isinstance(value, list):
        return shape.refuse(path, f"an event or a list is needed, not {type_name(value)}")
    if len(value) > MAX_TRIGGERS:
        return shape.refuse(path, f"{len(value):,} triggers are over the limit of {MAX_TRIGGERS:,}")
    return _some([_trigger(shape, each, f"{path}[{index}]") for index, each in enumerate(value)])


def _some(triggers: list[Trigger | _Invalid]) -> tuple[Trigger, ...]:
    return tuple(each for each in triggers if isinstance(each, Trigger))


def _trigger(shape: Shape, value: Any, path: str) -> Trigger | _Invalid:
    if isinstance(value, str):
        event = _event(shape, value, path)
        return _INVALID if event is _INVALID else Trigger(event=event)
    if not isinstance(value, dict):
        return shape.refuse(path, f"a trigger is a text or an object, not {type_name(value)}")
    kind = shape.one_of(value, path, "event", "schedule", "webhook")
    shape.only_with(value, path, "event", "filter")
    shape.only_with(value, path, "schedule", "timezone")
    shape.only_with(value, path, "webhook", "secret")
    needed = ("secret",) if kind == "webhook" else ()
    fields = shape.read_fields(value, _TRIGGER, path, needed)
    return _INVALID if kind is None or kind not in fields else Trigger(**fields)


# Types of steps


def _no_check(shape: Shape, value: dict[str, Any], path: str) -> None:
    """Check nothing: the fields of this step type need no check across fields."""


def _check_parallel(shape: Shape, value: dict[str, Any], path: str) -> None:
    join, branches = value.get("join"), value.get("branches")
    if isinstance(join, int) and isinstance(branches, dict) and join > len(branches):
        shape.refuse(f"{path}.join", f"{join} of {len(branches)} branches can never be done")


def _check_condition(shape: Shape, value: dict[str, Any], path: str) -> None:
    kind = shape.one_of(value, path, "if", "switch")
    shape.only_with(value, path, "if", "then", "else")
    shape.only_with(value, path, "switch", "cases", "default")
    needed = {"if": "then", "switch": "cases"}.get(kind or "")
    if needed is not None and needed not in value:
        shape.refuse(f"{path}.{needed}", f"{needed!r} is missing")


def _check_loop(shape: Shape, value: dict[str, Any], path: str) -> None:
    shape.one_of(value, path, "over", "while")
    if "while" in value and value.get("mode") == "parallel":
        shape.refuse(
            f"{path}.mode",
            "rounds of 'while' follow on each other",
            "leave 'mode' out, or use 'over'",
        )
    if "max_parallelism" in value and value.get("mode") != "parallel":
        shape.refuse(f"{path}.max_parallelism", "'max_parallelism' goes with mode: parallel only")


def _check_wait(shape: Shape, value: dict[str, Any], path: str) -> None:
    shape.one_of(value, path, "signal", "approval", "for", "until")


def _check_call(shape: Shape, value: dict[str, Any], path: str) -> None:
    shape.one_of(value, path, "operation", "mcp", "rpc")


class _Spec(Struct, frozen=True):
    """A step type's specification: struct, field readers, and a check across fields.

    `empty` has the values used for required fields that are missing or invalid.
    """

    struct: Callable[..., Step]
    fields: Mapping[str, Field]
    required: tuple[str, ...] = ()
    empty: Mapping[str, Any] = {}
    check: Callable[[Shape, dict[str, Any], str], None] = _no_check


_KEYWORD_FIELDS: Final = {"if": "if_", "else": "else_", "while": "while_", "for": "for_"}
_COMMON: Final[dict[str, Field]] = {
    "name": _name,
    "type": _any,
    "next": _name,
    "timeout": _limit,
    "on_error": _handler("continue"),
}
_RETRY: Final = _struct(
    Retry,
    {
        "attempts": _integer(1, 100),
        "initial_delay": _seconds,
        "multiplier": _number(1.0, 100.0, "multiplier"),
        "max_delay": _seconds,
        "jitter": _truth,
        "failures": _choice("unknown", "all"),
    },
)
_STEPS: Final[dict[str, _Spec]] = {
    "agent": _Spec(
        AgentStep,
        {**_COMMON, "agent": _text, "input": _any, "retry": _RETRY},
        ("agent",),
        {"agent": ""},
    ),
    "parallel": _Spec(
        ParallelStep,
        {**_COMMON, "branches": _lists(named=True), "max_parallelism": _COUNT, "join": _join},
        ("branches",),
        {"branches": {}},
        _check_parallel,
    ),
    "condition": _Spec(
        ConditionStep,
        {
            **_COMMON,
            "if": _template,
            "then": _steps,
            "else": _steps,
            "switch": _template,
            "cases": _lists(named=False),
            "default": _steps,
        },
        check=_check_condition,
    ),
    "loop": _Spec(
        LoopStep,
        {
            **_COMMON,
            "over": _over,
            "while": _template,
            "body": _steps,
            "mode": _choice("sequential", "parallel"),
            "max_parallelism": _COUNT,
            "max_iterations": _integer(1, MAX_ITERATIONS),
            "on_error": _handler("stop", "continue", "collect"),
        },
        ("body",),
        {"body": ()},
        _check_loop,
    ),
    "wait": _Spec(
        WaitStep,
        {
            **_COMMON,
            "signal": _name,
            "approval": _struct(
                Approval,
                {"by": _people, "timeout": _limit, "message": _text, "data": _any},
                "by",
            ),
            "for": _for,
            "until": _until,
        },
        check=_check_wait,
    ),
    "workflow": _Spec(
        WorkflowStep,
        {**_COMMON, "workflow": _text, "input": _any},
        ("workflow",),
        {"workflow": ""},
    ),
    "call": _Spec(
        CallStep,
        {
            **_COMMON,
            "operation": _text,
            "mcp": _struct(McpTarget, {"server": _text, "tool": _text}, "server", "tool"),
            "rpc": _struct(RpcTarget, {"url": _text, "method": _text}, "url", "method"),
            "input": _any,
            "retry": _RETRY,
        },
        check=_check_call,
    ),
}
_PLUGIN: Final = _Spec(PluginStep, {**_COMMON, "input": _any, "retry": _RETRY})
TYPES: Final = frozenset(_STEPS)
"""The built-in step types."""
_CRON_HINT: Final = "minute hour day month weekday, as in 0 9 * * 1-5, or @daily and its like"
_TRIGGER: Final[dict[str, Field]] = {
    "event": _event,
    "filter": _template,
    "schedule": _schedule,
    "timezone": _text,
    "webhook": _name,
    "secret": _secret,
    "input": _any,
}
_DEFINITION: Final[dict[str, Field]] = {
    "name": _name,
    "version": _integer(1, 2**31 - 1),
    "description": _text,
    "on": _triggers,
    "input": _any,
    "steps": _steps,
    "output": _any,
    "on_error": _steps,
}
