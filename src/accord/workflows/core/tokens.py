"""The words of an expression. A step's name after `steps.` is one word, dashes included."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.workflows.core.errors import ExpressionError
from accord.workflows.core.limits import MAX_EXPRESSION

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
    """One word, and the character at which it begins."""

    kind: TokenKind
    text: str
    position: int


def read_tokens(text: str, start: int, closing: bool) -> tuple[list[Token], int]:
    """The words of `text` from `start` on, and where they end: with `closing` after the brace that
    closes what was opened before `start`, else at the end of the text.

    Raises ExpressionError.
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
    """The text that a literal stands for.

    Raises ExpressionError for an escape that is none.
    """

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
