"""Templates: JSON values with expressions, written `${…}`, in their texts.

A text that is one expression and nothing else becomes the value of the expression, of any type.
Within other text, a value that is no text is written as JSON. `$${` stands for a literal `${`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from accord.workflows.core.errors import EvaluationError, ExpressionError
from accord.workflows.core.expressions.evaluation import Scope, evaluate
from accord.workflows.core.expressions.functions import Budget, as_text
from accord.workflows.core.expressions.parser import VARIABLES, parse_tokens
from accord.workflows.core.expressions.syntax import Node, read_tokens


class Fixed(Struct, frozen=True):
    """A value without expressions."""

    value: Any


class Single(Struct, frozen=True):
    """One expression."""

    node: Node


class Mixed(Struct, frozen=True):
    """Text with expressions in it."""

    parts: tuple[str | Node, ...]


class Items(Struct, frozen=True):
    """A list with expressions in it."""

    items: tuple[Template, ...]


class Members(Struct, frozen=True):
    """An object with expressions in its values; its keys have none."""

    members: tuple[tuple[str, Template], ...]


Template: TypeAlias = Fixed | Single | Mixed | Items | Members


class Misplaced(Struct, frozen=True):
    """An expression that cannot be parsed, and its path in the value."""

    path: str
    error: ExpressionError


def read_template(value: Any, variables: frozenset[str] = VARIABLES) -> Template:
    """Parse a template from a JSON value. Raise ExpressionError for the first bad expression."""
    found: list[Misplaced] = []
    template = read_all(value, "", found, variables)
    if found:
        raise found[0].error
    return template


def read_all(
    value: Any, path: str, found: list[Misplaced], variables: frozenset[str] = VARIABLES
) -> Template:
    """Parse a template from a JSON value; append expressions that cannot be parsed to `found`.

    `variables` are the names that its expressions may refer to.
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
    """Return the value of a template. Raise EvaluationError."""
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
    """Yield every expression of a template with its path."""
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
    """Return the value of a condition. Raise EvaluationError if it is no boolean."""
    value = render(template, scope, budget)
    if not isinstance(value, bool):
        raise EvaluationError(f"a condition is {as_text(value)[:80]}, not true or false")
    return value
