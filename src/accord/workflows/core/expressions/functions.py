"""The operators and functions of expressions, which work on JSON values.

Each evaluation has a budget, to which work that depends on the size of values is charged.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, trunc
from typing import Any, Final, NoReturn

from msgspec import json

from accord.workflows.core.errors import MAX_EVALUATION_STEPS, MAX_EVALUATION_TEXT, EvaluationError


class Budget:
    """The number of steps and characters that an evaluation may still use.

    `spend` and `spend_text` raise EvaluationError when the budget is exceeded.
    """

    __slots__ = ("steps", "text")

    def __init__(self, steps: int = MAX_EVALUATION_STEPS, text: int = MAX_EVALUATION_TEXT) -> None:
        self.steps = steps
        self.text = text

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            self.check()

    def spend_text(self, characters: int) -> None:
        self.text -= characters
        if self.text < 0:
            self.check()

    def check(self) -> None:
        """Raise EvaluationError if the budget is exceeded.

        Code that catches an EvaluationError and continues must call this, because the exceeded
        budget may have been the cause.
        """
        if self.steps < 0:
            raise EvaluationError(
                f"the expression takes more than {MAX_EVALUATION_STEPS:,} steps to evaluate"
            )
        if self.text < 0:
            raise EvaluationError(
                f"the expression handles more than {MAX_EVALUATION_TEXT:,} characters of text"
            )


_MAX_DEPTH: Final = 100


def type_name(value: Any) -> str:
    """Return the name of a JSON value's type, for error messages."""
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
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.encode(value).decode()


def equal(budget: Budget, one: Any, other: Any, depth: int = 0) -> bool:
    """Return True if two JSON values are equal: 1 equals 1.0, but 1 does not equal true."""
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
    """Return True if one value is less than another.

    Raise EvaluationError unless both are numbers or both are texts.
    """
    if is_number(one) and is_number(other):
        return bool(one < other)
    if isinstance(one, str) and isinstance(other, str):
        budget.spend_text(min(len(one), len(other)))
        return one < other
    raise EvaluationError(f"{type_name(one)} and {type_name(other)} have no order")


_MAX_DIGITS: Final = 40


def _refuse(operator: str, *values: Any) -> NoReturn:
    raise EvaluationError(f"{operator} does not take {' and '.join(map(type_name, values))}")


def _bounded(operator: str, value: Any) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise EvaluationError(f"the result of {operator} has more than 64 bits")
    if isinstance(value, float) and not isfinite(value):
        raise EvaluationError(f"the result of {operator} is no number")
    return value


def _add(budget: Budget, left: Any, right: Any) -> Any:
    if is_number(left) and is_number(right):
        return _bounded("+", left + right)
    if isinstance(left, str) and isinstance(right, str):
        budget.spend_text(len(left) + len(right))
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        budget.spend(len(left) + len(right))
        return left + right
    _refuse("+", left, right)


def _numbers(operator: str, left: Any, right: Any) -> None:
    if not is_number(left) or not is_number(right):
        _refuse(operator, left, right)


def _subtract(budget: Budget, left: Any, right: Any) -> Any:
    _numbers("-", left, right)
    return _bounded("-", left - right)


def _multiply(budget: Budget, left: Any, right: Any) -> Any:
    _numbers("*", left, right)
    return _bounded("*", left * right)


def _divide(budget: Budget, left: Any, right: Any) -> Any:
    _numbers("/", left, right)
    if right == 0:
        raise EvaluationError("a division by zero")
    if isinstance(left, int) and isinstance(right, int):
        # CEL: the quotient of two ints is truncated toward zero.
        quotient = abs(left) // abs(right)
        return _bounded("/", quotient if (left < 0) == (right < 0) else -quotient)
    return _bounded("/", left / right)


def _remainder(budget: Budget, left: Any, right: Any) -> Any:
    if not isinstance(left, int) or not isinstance(right, int):
        _refuse("%", left, right)
    _numbers("%", left, right)
    if right == 0:
        raise EvaluationError("a division by zero")
    # CEL: the remainder has the sign of the dividend.
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _contained(budget: Budget, left: Any, right: Any) -> bool:
    if isinstance(right, list):
        return any(equal(budget, left, item) for item in right)
    if isinstance(right, dict):
        return isinstance(left, str) and left in right
    _refuse("in", left, right)


BINARY: Final[dict[str, Callable[[Budget, Any, Any], Any]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
    "==": equal,
    "!=": lambda budget, left, right: not equal(budget, left, right),
    "<": less,
    "<=": lambda budget, left, right: not less(budget, right, left),
    ">": lambda budget, left, right: less(budget, right, left),
    ">=": lambda budget, left, right: not less(budget, left, right),
    "in": _contained,
}


def negate(operator: str, value: Any) -> Any:
    """Apply `!` to a boolean, or `-` to a number. Raise EvaluationError for other values."""
    if operator == "!" and isinstance(value, bool):
        return not value
    if operator == "-" and is_number(value):
        return _bounded("-", -value)
    _refuse(operator, value)


def _size(budget: Budget, value: Any) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    _refuse("size", value)


def _string(budget: Budget, value: Any) -> str:
    text = as_text(value)
    budget.spend_text(len(text))
    return text


def _int(budget: Budget, value: Any) -> int:
    number: int = _bounded("int", trunc(_number("int", value)))
    return number


def _double(budget: Budget, value: Any) -> float:
    return float(_number("double", value))


def _number(function: str, value: Any) -> int | float:
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and len(value) <= _MAX_DIGITS:
        for kind in (int, float):
            try:
                number: int | float = _bounded(function, kind(value))
            except ValueError:
                continue
            return number
        raise EvaluationError(f"{function} does not take the text {value!r}")
    _refuse(function, value)


def _texts(function: str, *values: Any) -> None:
    if not all(isinstance(value, str) for value in values):
        _refuse(function, *values)


def _contains(budget: Budget, value: str, part: str) -> bool:
    _texts("contains", value, part)
    # CPython's search is linear but for constructed cases.
    budget.spend_text(len(value))
    return part in value


def _starts(budget: Budget, value: str, part: str) -> bool:
    _texts("startsWith", value, part)
    return value.startswith(part)


def _ends(budget: Budget, value: str, part: str) -> bool:
    _texts("endsWith", value, part)
    return value.endswith(part)


def _lower(budget: Budget, value: str) -> str:
    _texts("lowerAscii", value)
    budget.spend_text(len(value))
    return "".join(letter.lower() if letter.isascii() else letter for letter in value)


def _upper(budget: Budget, value: str) -> str:
    _texts("upperAscii", value)
    budget.spend_text(len(value))
    return "".join(letter.upper() if letter.isascii() else letter for letter in value)


def _trim(budget: Budget, value: str) -> str:
    _texts("trim", value)
    budget.spend_text(len(value))
    return value.strip()


def _split(budget: Budget, value: str, separator: str) -> list[str]:
    _texts("split", value, separator)
    budget.spend_text(len(value))
    parts = value.split(separator) if separator else list(value)
    budget.spend(len(parts))
    return parts


def _join(budget: Budget, values: list[Any], separator: str) -> str:
    if not isinstance(values, list):
        _refuse("join", values)
    _texts("join", separator, *values)
    budget.spend(len(values))
    budget.spend_text(sum(map(len, values)) + len(separator) * len(values))
    return separator.join(values)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "size": _size,
    "string": _string,
    "int": _int,
    "double": _double,
    "contains": _contains,
    "startsWith": _starts,
    "endsWith": _ends,
    "lowerAscii": _lower,
    "upperAscii": _upper,
    "trim": _trim,
    "split": _split,
    "join": _join,
}
"""All functions and methods by name; a method gets its target as the first argument."""
