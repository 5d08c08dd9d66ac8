"""What is wrong with the params of a call, and the one error that says so.

A `Problem` names the parameter, the path to the fault in it, what was expected and what
came. Values are never repeated: a secret in the wrong place must not reach a log. All that
a caller chose (names, texts) is cut to a bounded length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final

from msgspec import Struct

from accord.jsonrpc.errors import RpcError, own_error

MAX_PROBLEMS: Final = 10
"""How many problems one error lists."""
MAX_TEXT: Final = 200
"""Longest name or text in a problem."""
MAX_DIAGNOSED_BYTES: Final = 2_048
"""Largest params or value that is read again for the sake of a better message: refusing must not
cost more than serving."""
_MAX_COMPARED: Final = 64
"""Longest name, and most allowed names, for which a close match is looked for."""


class Problem(Struct, frozen=True):
    """One thing that is wrong with the params."""

    parameter: str
    path: str
    expected: str
    got: str
    text: str = ""
    """Said instead of `expected …, got …` where that would not explain it."""
    members: dict[str, Any] = {}
    """What a program may want to know beyond the four."""

    @property
    def message(self) -> str:
        text = self.text or f"expected {self.expected}, got {self.got}"
        return f"parameter '{shorten(self.path)}': {shorten(text)}"

    def as_data(self) -> dict[str, Any]:
        return {
            "parameter": shorten(self.parameter),
            "path": shorten(self.path),
            "expected": shorten(self.expected),
            "got": shorten(self.got),
            **self.members,
        }


class ValueRefusedError(Exception):
    """A value is not of the type that its parameter has. Caught where parameters are bound."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__()
        self.problems = list(problems)


def invalid_params(problems: Sequence[Problem]) -> RpcError:
    """The error for a call with these problems, of which there is at least one.

    Its `data` has the members of the first, and all of them as `problems` if there are more.
    """
    problems = problems[:MAX_PROBLEMS]
    first, more = problems[0], len(problems) - 1
    if not more:
        return own_error("invalid_params", first.message, **first.as_data())
    return own_error(
        "invalid_params",
        f"{first.message} (and {more} more)",
        **first.as_data(),
        problems=[{**problem.as_data(), "message": problem.message} for problem in problems],
    )


def missing(name: str, expected: str) -> Problem:
    return Problem(name, name, expected, "nothing")


def unexpected(name: str, allowed: Sequence[str], *, suggest: bool) -> Problem:
    """A named parameter that the method does not take."""
    members: dict[str, Any] = {"allowed": list(allowed)}
    close = _closest(name, allowed) if suggest else None
    hint = ""
    if close:
        hint = f", did you mean '{close}'?"
        members["suggestion"] = close
    names = ", ".join(f"'{each}'" for each in allowed) or "none"
    text = f"no such parameter{hint} (allowed by name: {names})"
    return Problem(name, name, "no such parameter", "one", text, members)


def by_position_only(name: str) -> Problem:
    text = "it is taken by position only: send params as an array"
    return Problem(name, name, "a value by position", "one by name", text)


def too_many(takes: int, came: int | None) -> Problem:
    """More positional parameters than the method has; None if they were not counted."""
    got = "more" if came is None else f"{came:,}"
    text = f"the method takes {_count(takes)} by position, {got} came"
    return Problem("params", "params", f"at most {_count(takes)}", got, text)


def undecodable(parameter: str, path: str, expected: str, error: Exception) -> Problem:
    """A value that is no JSON which can be decoded, whatever its type."""
    why = "nested too deep" if isinstance(error, RecursionError) else str(error)
    return Problem(parameter, path, expected, "what cannot be decoded", f"not decodable: {why}")


def shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def json_kind(value: Any) -> str:
    """What a decoded JSON value is, in the words of msgspec's messages."""
    return _JSON_KINDS.get(type(value), "another value")


_JSON_KINDS: Final[dict[type, str]] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    list: "array",
    dict: "object",
}


def _count(parameters: int) -> str:
    return "1 parameter" if parameters == 1 else f"{parameters} parameters"


def _closest(name: str, allowed: Sequence[str]) -> str | None:
    # The comparison is quadratic, and the caller chose the name.
    if len(name) > _MAX_COMPARED or len(allowed) > _MAX_COMPARED:
        return None
    return next(iter(get_close_matches(name, allowed, n=1)), None)
