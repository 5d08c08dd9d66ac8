"""Evaluates expressions and templates.

Expressions work on JSON values only: a member is always a key of an object, never a Python
attribute.

A template is a JSON value whose texts may contain expressions, written `${…}`. A text that consists
of one expression becomes the expression's value, of any type. In a longer text, values other than
texts are inserted as JSON. `$${` stands for a literal `${`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TypeAlias

from msgspec import DecodeError, Struct

from accord.jsonrpc.protocol.codec import NestingError, decode_json
from accord.workflows.core.errors import EvaluationError, ExpressionError
from accord.workflows.core.expressions.functions import (
    BINARY,
    FUNCTIONS,
    Budget,
    as_text,
    negate,
    type_name,
)
from accord.workflows.core.expressions.parser import VARIABLES, parse_tokens
from accord.workflows.core.expressions.syntax import (
    Binary,
    Call,
    Conditional,
    Constant,
    Has,
    Index,
    ListOf,
    Logic,
    LoopField,
    LoopFieldName,
    Macro,
    MapOf,
    Node,
    Select,
    StepField,
    StepFieldName,
    Unary,
    Variable,
    read_tokens,
)


class Scope(Protocol):
    """The source of the values of variables, steps and loops that an expression refers to."""

    def variable(self, name: str) -> Any: ...

    def step(self, name: str, field: StepFieldName) -> Any: ...

    def loop(self, up: int, field: LoopFieldName) -> Any: ...


def evaluate(node: Node, scope: Scope, budget: Budget) -> Any:
    """Return the value of an expression. Raise EvaluationError if it cannot be evaluated."""
    return _value(node, _Evaluation(scope, budget))


class _Evaluation:
    """The state of one evaluation.

    It has the scope, the budget, the variables bound by macros, and step outputs parsed as JSON.
    """

    __slots__ = ("bound", "budget", "parsed", "scope")

    def __init__(self, scope: Scope, budget: Budget) -> None:
        self.scope = scope
        self.budget = budget
        self.bound: dict[str, Any] = {}
        self.parsed: dict[StepField, Any] = {}


def _value(node: Node, at: _Evaluation) -> Any:
    at.budget.spend(1)
    return _VALUES[type(node)](node, at)


def _constant(node: Constant, at: _Evaluation) -> Any:  # noqa: ARG001 - an entry of `_VALUES`
    return node.value


def _variable(node: Variable, at: _Evaluation) -> Any:
    if node.name in at.bound:
        return at.bound[node.name]
    return at.scope.variable(node.name)


def _step(node: StepField, at: _Evaluation) -> Any:
    return at.scope.step(node.step, node.field)


def _loop(node: LoopField, at: _Evaluation) -> Any:
    return at.scope.loop(node.up, node.field)


def _list(node: ListOf, at: _Evaluation) -> list[Any]:
    return [_value(item, at) for item in node.items]


def _map(node: MapOf, at: _Evaluation) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in node.entries:
        name = _value(key, at)
        if not isinstance(name, str):
            raise EvaluationError(f"a key of an object is {type_name(name)}, not a text")
        made[name] = _value(value, at)
    return made


# Paths


def _container(node: Node, at: _Evaluation) -> Any:
    """Return the value that a path or macro is applied to; parse a step's text output as JSON."""
    value = _value(node, at)
    if not isinstance(value, str) or not isinstance(node, StepField):
        return value
    if node not in at.parsed:
        at.budget.spend_text(len(value))
        try:
            at.parsed[node] = decode_json(value)
        except NestingError as error:
            raise EvaluationError(f"{node.text} is {error}") from error
        except DecodeError as error:
            raise EvaluationError(
                f"{node.text} is a text and no JSON, so that nothing in it can be referred to"
            ) from error
    return at.parsed[node]


def _select(node: Select, at: _Evaluation) -> Any:
    return _member(_container(node.operand, at), node.name, node)


def _index(node: Index, at: _Evaluation) -> Any:
    return _member(_container(node.operand, at), _value(node.key, at), node)


def _member(value: Any, key: Any, node: Select | Index) -> Any:
    if isinstance(value, dict) and isinstance(key, str):
        if key in value:
            return value[key]
        raise EvaluationError(f"{path_text(node)} is not there")
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        if 0 <= key < len(value):
            return value[key]
        raise EvaluationError(f"{path_text(node)} is not there: the list has {len(value)} items")
    raise EvaluationError(
        f"{path_text(node)} is not there: {path_text(node.operand)} is {type_name(value)}"
    )


def path_text(node: Node) -> str:
    """Return a path as written in the expression, for error messages."""
    match node:
        case StepField() | LoopField():
            return node.text
        case Variable(name):
            return name
        case Select(operand, name):
            return f"{path_text(operand)}.{name}"
        case Index(operand, Constant(value)):
            return f"{path_text(operand)}[{as_text(value)}]"
        case Index(operand, _):
            return f"{path_text(operand)}[…]"
        case _:
            return "(…)"


def _has(node: Has, at: _Evaluation) -> bool:
    try:
        return _value(node.path, at) is not None
    except EvaluationError:
        at.budget.check()
        return False


# Operators


def _unary(node: Unary, at: _Evaluation) -> Any:
    return negate(node.operator, _value(node.operand, at))


def _binary(node: Binary, at: _Evaluation) -> Any:
    return BINARY[node.operator](at.budget, _value(node.left, at), _value(node.right, at))


def _logic(node: Logic, at: _Evaluation) -> bool:
    # CEL: an error on one side is ignored if the other side settles the result.
    settling = node.operator == "||"
    try:
        left = _truth(node.left, at)
    except EvaluationError:
        at.budget.check()
        if _truth(node.right, at) is settling:
            return settling
        raise
    return settling if left is settling else _truth(node.right, at)


def _truth(node: Node, at: _Evaluation) -> bool:
    value = _value(node, at)
    if not isinstance(value, bool):
        raise EvaluationError(f"a condition is {type_name(value)}, not true or false")
    return value


def _conditional(node: Conditional, at: _Evaluation) -> Any:
    return _value(node.yes if _truth(node.condition, at) else node.no, at)


def _call(node: Call, at: _Evaluation) -> Any:
    arguments = [_value(argument, at) for argument in node.arguments]
    return FUNCTIONS[node.function](at.budget, *arguments)


def _macro(node: Macro, at: _Evaluation) -> Any:
    target = _container(node.target, at)
    if isinstance(target, dict):
        target = list(target)
    if not isinstance(target, list):
        raise EvaluationError(f"{node.name} does not take {type_name(target)}")
    before = dict(at.bound)
    try:
        return _MACROS[node.name](node, target, at)
    finally:
        at.bound = before


def _each(node: Macro, item: Any, at: _Evaluation) -> Any:
    at.bound[node.variable] = item
    return _value(node.body, at)


def _holds(node: Macro, item: Any, at: _Evaluation) -> bool:
    at.bound[node.variable] = item
    return _truth(node.body, at)


_MACROS: Final[dict[str, Callable[[Macro, list[Any], _Evaluation], Any]]] = {
    "all": lambda node, items, at: all(_holds(node, item, at) for item in items),
    "exists": lambda node, items, at: any(_holds(node, item, at) for item in items),
    "exists_one": lambda node, items, at: sum(_holds(node, item, at) for item in items) == 1,
    "filter": lambda node, items, at: [item for item in items if _holds(node, item, at)],
    "map": lambda node, items, at: [_each(node, item, at) for item in items],
}

_VALUES: Final[dict[type, Callable[[Any, _Evaluation], Any]]] = {
    Constant: _constant,
    Variable: _variable,
    StepField: _step,
    LoopField: _loop,
    ListOf: _list,
    MapOf: _map,
    Select: _select,
    Index: _index,
    Has: _has,
    Unary: _unary,
    Binary: _binary,
    Logic: _logic,
    Conditional: _conditional,
    Call: _call,
    Macro: _macro,
}


class Fixed(Struct, frozen=True):
    """A template without expressions."""

    value: Any


class Single(Struct, frozen=True):
    """A template that is a single expression, so its value may have any type."""

    node: Node


class Mixed(Struct, frozen=True):
    """A text template that has expressions among other text."""

    parts: tuple[str | Node, ...]


class Items(Struct, frozen=True):
    """A template of a list that contains expressions."""

    items: tuple[Template, ...]


class Members(Struct, frozen=True):
    """A template of an object whose values contain expressions; keys never do."""

    members: tuple[tuple[str, Template], ...]


Template: TypeAlias = Fixed | Single | Mixed | Items | Members


class Misplaced(Struct, frozen=True):
    """An expression that cannot be parsed, with its path in the template."""

    path: str
    error: ExpressionError


def read_template(value: Any, variables: frozenset[str] = VARIABLES) -> Template:
    """Parse a JSON value as a template. Raise ExpressionError for the first invalid expression."""
    found: list[Misplaced] = []
    template = read_all(value, "", found, variables)
    if found:
        raise found[0].error
    return template


def read_all(
    value: Any, path: str, found: list[Misplaced], variables: frozenset[str] = VARIABLES
) -> Template:
    """Parse a JSON value as a template, and collect all invalid expressions.

    Invalid expressions are added to `found` instead of being raised as errors. `variables` are the
    names that the expressions may use.
    """
    match value:
        case str():
            try:
                return _read_text(value, variables)
            except ExpressionError as error:
                found.append(Misplaced(path, error))
                return Fixed(value)
        case list() | tuple():
            items = tuple(
                read_all(item, f"{path}[{index}]", found, variables)
                for index, item in enumerate(value)
            )
            plain = all(isinstance(item, Fixed) for item in items)
            return Fixed(value) if plain else Items(items)
        case dict():
            members = tuple(
                (key, read_all(item, f"{path}.{key}", found, variables))
                for key, item in value.items()
            )
            plain = all(isinstance(item, Fixed) for _, item in members)
            return Fixed(value) if plain else Members(members)
        case _:
            return Fixed(value)


def _read_text(text: str, variables: frozenset[str]) -> Template:
    parts: list[str | Node] = []
    literal, place = "", 0
    while (found := text.find("${", place)) >= 0:
        if found > place and text[found - 1] == "$":
            literal += text[place : found - 1] + "${"
            place = found + 2
            continue
        literal += text[place:found]
        tokens, place = read_tokens(text, found + 2, closing=True)
        if literal:
            parts.append(literal)
            literal = ""
        parts.append(parse_tokens(tokens, variables))
    literal += text[place:]
    if not parts:
        return Fixed(literal)
    if literal:
        parts.append(literal)
    return (
        Single(parts[0]) if len(parts) == 1 and not isinstance(parts[0], str) else Mixed((*parts,))
    )


def render(template: Template, scope: Scope, budget: Budget) -> Any:
    """Return the value of a template. Raise EvaluationError if an expression has none."""
    match template:
        case Fixed(value):
            return value
        case Single(node):
            return evaluate(node, scope, budget)
        case Mixed(parts):
            return "".join(_written(part, scope, budget) for part in parts)
        case Items(items):
            return [render(item, scope, budget) for item in items]
        case _:
            return {key: render(item, scope, budget) for key, item in template.members}


def _written(part: str | Node, scope: Scope, budget: Budget) -> str:
    text = part if isinstance(part, str) else as_text(evaluate(part, scope, budget))
    budget.spend_text(len(text))
    return text


def expressions(template: Template, path: str = "") -> Iterator[tuple[str, Node]]:
    """Yield every expression in a template with its path."""
    match template:
        case Fixed():
            return
        case Single(node):
            yield path, node
        case Mixed(parts):
            yield from ((path, part) for part in parts if not isinstance(part, str))
        case Items(items):
            for index, item in enumerate(items):
                yield from expressions(item, f"{path}[{index}]")
        case _:
            for key, item in template.members:
                yield from expressions(item, f"{path}.{key}")


def render_truth(template: Template, scope: Scope, budget: Budget) -> bool:
    """Return the value of a condition. Raise EvaluationError if it is not a boolean."""
    value = render(template, scope, budget)
    if not isinstance(value, bool):
        raise EvaluationError(f"a condition is {as_text(value)[:80]}, not true or false")
    return value
