"""What JSON values are to expressions: what their types are called, when two are equal, which comes
first, how they read as text."""

from __future__ import annotations

from typing import Any, Final

from msgspec import json

from accord.workflows.core.budget import Budget
from accord.workflows.core.errors import EvaluationError

_MAX_DEPTH: Final = 100


def type_name(value: Any) -> str:
    """What a value is called in messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_text(value: Any) -> str:
    """A text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.encode(value).decode()


def equal(budget: Budget, one: Any, other: Any, depth: int = 0) -> bool:
    """Whether two values are the same JSON: 1 and 1.0 are, 1 and true are not."""
    budget.spend(1)
    if depth > _MAX_DEPTH:
        raise EvaluationError(f"values are nested deeper than {_MAX_DEPTH} levels")
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    match one, other:
        case list(), list():
            return len(one) == len(other) and all(
                equal(budget, left, right, depth + 1)
                for left, right in zip(one, other, strict=True)
            )
        case dict(), dict():
            return one.keys() == other.keys() and all(
                equal(budget, one[key], other[key], depth + 1) for key in one
            )
        case str(), str():
            budget.spend_text(min(len(one), len(other)))
            return one == other
        case _:
            return bool(one == other)


def less(budget: Budget, one: Any, other: Any) -> bool:
    """Whether one value comes before another; only numbers and texts have an order.

    Raises EvaluationError.
    """
    if is_number(one) and is_number(other):
        return bool(one < other)
    if isinstance(one, str) and isinstance(other, str):
        budget.spend_text(min(len(one), len(other)))
        return one < other
    raise EvaluationError(f"{type_name(one)} and {type_name(other)} have no order")
