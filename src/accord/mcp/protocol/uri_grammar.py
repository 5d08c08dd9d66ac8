"""The grammar of URI templates (RFC 6570, section 2): a text to literals and expressions."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from msgspec import Struct

MAX_TEMPLATE: Final = 8_192
"""The limit of a template, in characters."""
MAX_EXPRESSIONS: Final = 64

_PIECE: Final = re.compile(r"\{([^{}]*)\}|([^{}]+)")
_VARCHAR: Final = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})"
_VARIABLE: Final = re.compile(rf"({_VARCHAR}(?:\.?{_VARCHAR})*)(?:(\*)|:([1-9][0-9]{{0,3}}))?")
_NO_LITERAL: Final = re.compile(r'[\x00-\x20"<>\\^`|\x7f]|%(?![0-9A-Fa-f]{2})')
_ENCODED: Final = r"%[0-9A-Fa-f]{2}"
_NOT_UNRESERVED: Final = re.compile(r"[^A-Za-z0-9\-._~]")
_NOT_RESERVED_EITHER: Final = re.compile(
    rf"{_ENCODED}|[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]",
)
_TRIPLETS: Final = re.compile(rf"(?:{_ENCODED})+")


class Operator(Struct, frozen=True):
    """The expansion rules of an operator (RFC 6570, appendix A)."""

    symbol: str
    first: str
    separator: str
    named: bool = False
    if_empty: str = ""
    reserved: bool = False
    """True if reserved characters are not escaped."""


OPERATORS: Final = {
    operator.symbol: operator
    for operator in (
        Operator("", "", ","),
        Operator("+", "", ",", reserved=True),
        Operator("#", "#", ",", reserved=True),
        Operator(".", ".", "."),
        Operator("/", "/", "/"),
        Operator(";", ";", ";", named=True),
        Operator("?", "?", "&", named=True, if_empty="="),
        Operator("&", "&", "&", named=True, if_empty="="),
    )
}


class Variable(Struct, frozen=True):
    """A variable as one expression uses it."""

    name: str
    explode: bool = False
    prefix: int | None = None


class Expression(Struct, frozen=True):
    operator: Operator
    variables: tuple[Variable, ...]


Part: TypeAlias = str | Expression
"""A literal, escaped as in a URI, or an expression."""


def parse(text: str) -> tuple[Part, ...]:
    """Return the parts of a template.

    Raises ValueError for a malformed one.
    """
    if len(text) > MAX_TEMPLATE:
        raise ValueError(
            f"URI template of {len(text):,} characters is over the limit of {MAX_TEMPLATE:,}"
        )
    parts: list[Part] = []
    end = 0
    for piece in _PIECE.finditer(text):
        if piece.start() != end:
            break
        end = piece.end()
        parts.append(_expression(text, piece[1]) if piece[2] is None else _literal(text, piece[2]))
    if end != len(text):
        raise ValueError(f"'{text}' is no URI template: a brace at {end} has no partner")
    if sum(isinstance(part, Expression) for part in parts) > MAX_EXPRESSIONS:
        raise ValueError(f"URI template has more than {MAX_EXPRESSIONS} expressions")
    return tuple(parts)


def escape(text: str, *, reserved: bool = False) -> str:
    """Return a value escaped for a URI.

    With `reserved`, reserved characters and existing escapes stay as they are.
    """
    unsafe = _NOT_RESERVED_EITHER if reserved else _NOT_UNRESERVED
    return unsafe.sub(_percent, text)


def unescape(text: str) -> str:
    """Return the value of an escaped text.

    Raises UnicodeDecodeError for bytes that are not UTF-8.
    """
    return _TRIPLETS.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(), text)


def _percent(found: re.Match[str]) -> str:
    text = found[0]
    return text if len(text) == 3 else "".join(f"%{byte:02X}" for byte in text.encode())


def _literal(template: str, text: str) -> str:
    if _NO_LITERAL.search(text):
        raise ValueError(f"'{template}' is no URI template: '{text}' cannot be in a URI")
    return escape(text, reserved=True)


def _expression(template: str, text: str) -> Expression:
    operator = OPERATORS.get(text[:1], OPERATORS[""])
    found = [_VARIABLE.fullmatch(it) for it in text[len(operator.symbol) :].split(",")]
    variables = [
        Variable(it[1], explode=it[2] is not None, prefix=int(it[3]) if it[3] else None)
        for it in found
        if it is not None
    ]
    if len(variables) != len(found):
        raise ValueError(f"'{template}' is no URI template: '{{{text}}}' is no expression")
    return Expression(operator, tuple(variables))
