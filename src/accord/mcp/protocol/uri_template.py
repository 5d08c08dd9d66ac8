"""URI templates (RFC 6570, all levels), expanded and matched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from accord.mcp.protocol.uri_grammar import Expression, Operator, Variable, escape, parse
from accord.mcp.protocol.uri_matching import Matcher, Values

Scalar: TypeAlias = str | int | float
Expandable: TypeAlias = Scalar | Sequence[Scalar | None] | Mapping[str, Scalar | None] | None
"""Values of a variable. None, an empty list and an empty mapping count as absent."""


class UriTemplate:
    """A template such as `weather://{city}{?units}`.

    Raises ValueError for a malformed one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = parse(text)
        names = (
            variable.name
            for part in self._parts
            if isinstance(part, Expression)
            for variable in part.variables
        )
        self.variables = tuple(dict.fromkeys(names))
        self._matcher = Matcher(self._parts)

    def match(self, uri: str) -> Values | None:
        """Return the variables of a URI that the template can expand to.

        None for any other. See the module for the rules.
        """
        return self._matcher.match(uri)

    def expand(self, values: Mapping[str, Expandable]) -> str:
        """Return the expanded URI.

        Raises ValueError for a list or a mapping where the template wants a prefix of a text.
        """
        return "".join(
            part if isinstance(part, str) else _expanded(part, values) for part in self._parts
        )


def _expanded(expression: Expression, values: Mapping[str, Expandable]) -> str:
    operator = expression.operator
    texts = [
        text
        for variable in expression.variables
        for text in _texts(operator, variable, values.get(variable.name))
    ]
    return operator.first + operator.separator.join(texts) if texts else ""


def _texts(operator: Operator, variable: Variable, value: Expandable) -> Iterator[str]:
    """Yield a variable's texts, to be joined by the operator's separator."""
    if value is None:
        return
    if isinstance(value, str | int | float):
        text = _text(value)[: variable.prefix]
        yield _named(operator, variable.name, escape(text, reserved=operator.reserved))
        return
    if variable.prefix is not None:
        raise ValueError(f"'{variable.name}' has no first {variable.prefix} characters: no text")
    pairs = _pairs(operator, value)
    if variable.explode:
        yield from (_exploded(operator, variable.name, *pair) for pair in pairs)
    elif pairs:
        listed = ",".join(it for pair in pairs for it in pair if it is not None)
        yield _named(operator, variable.name, listed)


def _exploded(operator: Operator, variable: str, name: str | None, text: str) -> str:
    if name is None or operator.named:
        return _named(operator, variable if name is None else name, text)
    return f"{name}={text}"


def _pairs(
    operator: Operator, value: Sequence[Scalar | None] | Mapping[str, Scalar | None]
) -> list[tuple[str | None, str]]:
    """Return the escaped members, with their names if the value is a mapping."""
    named = value.items() if isinstance(value, Mapping) else ((None, it) for it in value)
    return [
        (
            None if name is None else escape(name, reserved=operator.reserved),
            escape(_text(member), reserved=operator.reserved),
        )
        for name, member in named
        if member is not None
    ]


def _named(operator: Operator, name: str, text: str) -> str:
    if not operator.named:
        return text
    return f"{name}={text}" if text else name + operator.if_empty


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
