"""The tokens and the syntax tree of expressions.

References to steps and loops have node types of their own, so that a definition can be checked
without evaluating expressions. `steps.NAME` is one token, because step names may contain dashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.workflows.core.errors import MAX_EXPRESSION, ExpressionError

TokenKind: TypeAlias = Literal["step", "name", "int", "double", "text", "sign", "end"]

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<step>(?<![\w.])steps\s?\.\s?[A-Za-z_][A-Za-z0-9_-]*)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    | (?P<int>[0-9]+)
    | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]{}])
    )""",
    re.VERBOSE | re.ASCII,
)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {
    "n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "/": "/", "$": "$",
}  # fmt: skip
_SPACE: Final = re.compile(r"\s*", re.ASCII)


class Token(Struct, frozen=True):
    """A token, with the index of its first character in the text."""

    kind: TokenKind
    text: str
    position: int


def read_tokens(text: str, start: int, closing: bool) -> tuple[list[Token], int]:
    """Return the tokens of `text` from `start` on, and the position after them.

    With `closing`, the tokens end before the `}` that closes a brace opened before `start`;
    otherwise they end at the end of the text. Raise ExpressionError if the text is invalid.
    """
    tokens: list[Token] = []
    open_braces, place = 0, start
    while True:
        place = _skipped(text, place)
        if place - start > MAX_EXPRESSION:
            raise ExpressionError(
                f"an expression has more than {MAX_EXPRESSION:,} characters", start
            )
        if place == len(text):
            if closing:
                raise ExpressionError("'${' has no '}'", start)
            return [*tokens, Token("end", "", place)], place
        token = _read_token(text, place)
        place += len(token.text)
        if token.text == "{":
            open_braces += 1
        elif token.text == "}":
            open_braces -= 1
            if open_braces < 0 and closing:
                return [*tokens, Token("end", "", token.position)], place
        tokens.append(token)


def _skipped(text: str, place: int) -> int:
    space = _SPACE.match(text, place)
    return space.end() if space else place


def _read_token(text: str, place: int) -> Token:
    found = _TOKEN.match(text, place)
    if found is None:
        raise ExpressionError(f"{text[place]!r} is not understood", place)
    kind: TokenKind = found.lastgroup  # type: ignore[assignment]
    return Token(kind, found[kind], place)


def text_value(token: Token) -> str:
    """Return the value of a text literal. Raise ExpressionError if an escape is invalid."""

    def replaced(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape not in _ESCAPED:
            raise ExpressionError(f"'\\{escape}' is no escape", token.position + found.start() + 1)
        return _ESCAPED[escape]

    value = _ESCAPE.sub(replaced, token.text[1:-1])
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ExpressionError("a text has half a character", token.position)
    return value


StepFieldName: TypeAlias = Literal["output", "data", "artifacts", "error"]
LoopFieldName: TypeAlias = Literal["item", "index"]


class Constant(Struct, frozen=True):
    """A literal number, text, true, false or null."""

    value: Any


class Variable(Struct, frozen=True):
    """A variable: `input`, `error`, the variable of a trigger, or one bound by a macro."""

    name: str


class StepField(Struct, frozen=True):
    """A reference to a step: `steps.NAME.output`, `.data`, `.artifacts` or `.error`."""

    step: str
    field: StepFieldName

    @property
    def text(self) -> str:
        return f"steps.{self.step}.{self.field}"


class LoopField(Struct, frozen=True):
    """A reference to a loop around the expression: `loop.item` or `loop.index`.

    `up` is the number of times that `.parent` precedes the field; 0 refers to the innermost loop.
    """

    up: int
    field: LoopFieldName

    @property
    def text(self) -> str:
        return f"loop{'.parent' * self.up}.{self.field}"


class ListOf(Struct, frozen=True):
    """A list: `[items]`."""

    items: tuple[Node, ...]


class MapOf(Struct, frozen=True):
    """An object: `{key: value}`."""

    entries: tuple[tuple[Node, Node], ...]


class Select(Struct, frozen=True):
    """A member access by name: `operand.name`."""

    operand: Node
    name: str


class Index(Struct, frozen=True):
    """A member access by expression: `operand[key]`."""

    operand: Node
    key: Node


class Has(Struct, frozen=True):
    """`has(path)`: true if every part of the path exists, and its value is not null."""

    path: Node


class Unary(Struct, frozen=True):
    """A unary operator: `!operand` or `-operand`."""

    operator: str
    operand: Node


class Binary(Struct, frozen=True):
    """A binary operator: arithmetic, a comparison, or `in`."""

    operator: str
    left: Node
    right: Node


class Logic(Struct, frozen=True):
    """A logical operator, `&&` or `||`.

    An error on one side is ignored if the other side alone determines the result.
    """

    operator: str
    left: Node
    right: Node


class Conditional(Struct, frozen=True):
    """A conditional: `condition ? yes : no`."""

    condition: Node
    yes: Node
    no: Node


class Call(Struct, frozen=True):
    """A call: `function(arguments)`, or `target.function(arguments)`.

    In the second form, the target is the first of `arguments`.
    """

    function: str
    arguments: tuple[Node, ...]


class Macro(Struct, frozen=True):
    """A macro call, such as `target.all(variable, body)`."""

    name: str
    target: Node
    variable: str
    body: Node


Node: TypeAlias = (
    Constant
    | Variable
    | StepField
    | LoopField
    | ListOf
    | MapOf
    | Select
    | Index
    | Has
    | Unary
    | Binary
    | Logic
    | Conditional
    | Call
    | Macro
)


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct child nodes of a node."""
    match node:
        case ListOf(items):
            return items
        case MapOf(entries):
            return tuple(part for entry in entries for part in entry)
        case Select(operand, _) | Unary(_, operand) | Has(operand):
            return (operand,)
        case Index(operand, key):
            return (operand, key)
        case Binary(_, left, right) | Logic(_, left, right):
            return (left, right)
        case Conditional(condition, yes, no):
            return (condition, yes, no)
        case Call(_, arguments):
            return arguments
        case Macro(_, target, _, body):
            return (target, body)
        case _:
            return ()


def walk(node: Node) -> Iterator[tuple[Node, int]]:
    """Yield every node of an expression with its depth; the root has depth 1."""
    waiting = [(node, 1)]
    while waiting:
        part, level = waiting.pop()
        yield part, level
        waiting.extend((child, level + 1) for child in children(part))
