"""A recursive descent parser for expressions, a subset of CEL.

    expression  = or ["?" or ":" expression]
    or          = and {"||" and}
    and         = relation {"&&" relation}
    relation    = sum {("==" | "!=" | "<" | "<=" | ">" | ">=" | "in") sum}
    sum         = product {("+" | "-") product}
    product     = unary {("*" | "/" | "%") unary}
    unary       = ("!" | "-") unary | member
    member      = primary {"." NAME ["(" [list] ")"] | "[" expression "]"}
    primary     = literal | reference | NAME "(" [list] ")" | "(" expression ")" | list | map

CEL is the Common Expression Language. The parser checks the names and argument counts of functions;
`functions` implements them.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Final

from accord.workflows.core.errors import (
    MAX_EXPRESSION_DEPTH,
    MAX_EXPRESSION_NESTING,
    ExpressionError,
)
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
    Macro,
    MapOf,
    Node,
    Select,
    StepField,
    Token,
    Unary,
    Variable,
    read_tokens,
    text_value,
    walk,
)

FUNCTIONS: Final = {"size": 1, "string": 1, "int": 1, "double": 1}
"""The number of arguments of each function; `functions.FUNCTIONS` implements them."""
METHODS: Final = {
    "size": 0, "contains": 1, "startsWith": 1, "endsWith": 1, "lowerAscii": 0, "upperAscii": 0,
    "trim": 0, "split": 1, "join": 1,
}  # fmt: skip
"""The number of arguments of each method, not counting the target."""
MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})
VARIABLES: Final = frozenset({"input", "error"})
"""The variables of expressions in steps; such expressions may also refer to steps and loops."""
STEP_FIELDS: Final = frozenset({"output", "data", "artifacts", "error"})

_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_RESERVED: Final = frozenset({*_CONSTANTS, *VARIABLES, "in", "steps", "loop"})
_RELATIONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})


def parse(text: str) -> Node:
    """Parse an expression. Raise ExpressionError if it is invalid."""
    tokens, _ = read_tokens(text, 0, closing=False)
    return parse_tokens(tokens)


def parse_tokens(tokens: list[Token], variables: frozenset[str] = VARIABLES) -> Node:
    """Parse an expression from its tokens. Raise ExpressionError if it is invalid."""
    parser = _Parser(tokens, variables)
    node = parser.expression()
    parser.expect_end()
    if any(level > MAX_EXPRESSION_DEPTH for _, level in walk(node)):
        raise ExpressionError(
            f"an expression has more than {MAX_EXPRESSION_DEPTH} levels", tokens[0].position
        )
    return node


class _Parser:
    """A parser of one expression."""

    def __init__(self, tokens: list[Token], variables: frozenset[str]) -> None:
        self._tokens = tokens
        self._variables = variables
        self._place = 0
        self._nesting = 0
        self._bound: list[str] = []

    # Tokens

    @property
    def _token(self) -> Token:
        return self._tokens[self._place]

    def _at(self, *texts: str) -> bool:
        return self._token.kind in ("sign", "name") and self._token.text in texts

    def _take(self) -> Token:
        token = self._token
        self._place += 1
        return token

    def _taken(self, *texts: str) -> Token | None:
        return self._take() if self._at(*texts) else None

    def _expect(self, text: str) -> None:
        if not self._taken(text):
            raise self._unexpected(f"'{text}' is missing")

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._unexpected("the expression should end")

    def _unexpected(self, message: str) -> ExpressionError:
        found = repr(self._token.text[:40]) if self._token.text else "the end"
        return ExpressionError(f"{message} before {found}", self._token.position)

    def _name(self) -> Token:
        if self._token.kind != "name":
            raise self._unexpected("a name is missing")
        return self._take()

    # Operators, the weakest first

    def expression(self) -> Node:
        self._nesting += 1
        if self._nesting > MAX_EXPRESSION_NESTING:
            raise ExpressionError(
                f"an expression is nested deeper than {MAX_EXPRESSION_NESTING}",
                self._token.position,
            )
        node = self._or()
        if self._taken("?"):
            yes = self._or()
            self._expect(":")
            node = Conditional(node, yes, self.expression())
        self._nesting -= 1
        return node

    def _or(self) -> Node:
        return self._chain(self._and, Logic, "||")

    def _and(self) -> Node:
        return self._chain(self._relation, Logic, "&&")

    def _relation(self) -> Node:
        return self._chain(self._sum, Binary, *_RELATIONS)

    def _sum(self) -> Node:
        return self._chain(self._product, Binary, "+", "-")

    def _product(self) -> Node:
        return self._chain(self._unary, Binary, "*", "/", "%")

    def _chain(
        self, operand: Callable[[], Node], kind: type[Logic] | type[Binary], *operators: str
    ) -> Node:
        node = operand()
        while operator := self._taken(*operators):
            node = kind(operator.text, node, operand())
        return node

    def _unary(self) -> Node:
        signs: list[str] = []
        while sign := self._taken("!", "-"):
            signs.append(sign.text)
        node = self._number(signs.pop()) if self._negative(signs) else self._member()
        for operator in reversed(signs):
            node = Unary(operator, node)
        return node

    def _negative(self, signs: list[str]) -> bool:
        return bool(signs) and signs[-1] == "-" and self._token.kind in ("int", "double")

    # Operands

    def _member(self) -> Node:
        node = self._primary()
        while True:
            if self._taken("."):
                name = self._name()
                node = self._method(node, name) if self._taken("(") else Select(node, name.text)
            elif self._taken("["):
                node = Index(node, self.expression())
                self._expect("]")
            else:
                return node

    def _primary(self) -> Node:
        token = self._token
        if token.kind == "step":
            return self._step()
        if token.kind in ("int", "double"):
            return self._number("")
        if token.kind == "text":
            return Constant(text_value(self._take()))
        if token.kind == "name":
            return self._named(self._take())
        if self._taken("("):
            node = self.expression()
            self._expect(")")
            return node
        if self._taken("["):
            return ListOf(self._list("]"))
        if self._taken("{"):
            return self._map()
        raise self._unexpected("a value is missing")

    def _number(self, sign: str) -> Node:
        token = self._take()
        if token.kind == "double":
            return Constant(float(sign + token.text))
        # An int of CEL has 64 bits; more digits than 19 are not even converted.
        if len(token.text) > 19 or not -(2**63) <= int(sign + token.text) < 2**63:
            raise ExpressionError("a number has more than 64 bits", token.position)
        return Constant(int(sign + token.text))

    def _step(self) -> Node:
        token = self._take()
        step = token.text.partition(".")[2].strip()
        self._expect_field(f"steps.{step}", STEP_FIELDS)
        return StepField(step, self._take().text)  # type: ignore[arg-type]

    def _loop(self) -> Node:
        up = 0
        while self._parent():
            up += 1
        self._expect_field("loop", frozenset({"item", "index", "parent"}))
        return LoopField(up, self._take().text)  # type: ignore[arg-type]

    def _parent(self) -> bool:
        follows = self._at(".") and self._tokens[self._place + 1].text == "parent"
        if follows:
            self._place += 2
        return follows

    def _expect_field(self, of: str, fields: frozenset[str]) -> None:
        if not self._taken(".") or self._token.text not in fields:
            raise self._unexpected(f"after {of} stands one of .{', .'.join(sorted(fields))}")

    def _named(self, token: Token) -> Node:
        if self._taken("("):
            return self._function(token)
        if token.text in _CONSTANTS:
            return Constant(_CONSTANTS[token.text])
        if token.text == "loop":
            return self._loop()
        if token.text in self._variables or token.text in self._bound:
            return Variable(token.text)
        if token.text == "steps":
            raise ExpressionError("after steps stands .NAME, the name of a step", token.position)
        raise ExpressionError(
            f"there is no {token.text[:40]!r}; there are {', '.join(self._names)}", token.position
        )

    @property
    def _names(self) -> tuple[str, ...]:
        """The names that an expression may refer to, for error messages."""
        if self._variables != VARIABLES:
            return tuple(f"{each}.…" for each in sorted(self._variables))
        return ("input.…", "steps.NAME.output", "loop.item", "loop.index", "error.…")

    def _function(self, token: Token) -> Node:
        if token.text == "has":
            return self._has(token)
        arguments = self._list(")")
        _check_count(token, FUNCTIONS, len(arguments), "function")
        return Call(token.text, arguments)

    def _has(self, token: Token) -> Node:
        path = self.expression()
        self._expect(")")
        if not isinstance(path, Select | Index | StepField | LoopField | Variable):
            raise ExpressionError("has() takes a path, as in has(input.x)", token.position)
        return Has(path)

    def _method(self, target: Node, token: Token) -> Node:
        if token.text in MACROS:
            return self._macro(target, token)
        arguments = self._list(")")
        _check_count(token, METHODS, len(arguments), "method")
        return Call(token.text, (target, *arguments))

    def _macro(self, target: Node, token: Token) -> Node:
        variable = self._name()
        if variable.text in _RESERVED or variable.text in self._variables:
            raise ExpressionError(f"{variable.text!r} cannot be a variable", variable.position)
        self._expect(",")
        self._bound.append(variable.text)
        body = self.expression()
        self._bound.pop()
        self._expect(")")
        return Macro(token.text, target, variable.text, body)

    def _list(self, closing: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._taken(closing):
            items.append(self.expression())
            if not self._at(closing):
                self._expect(",")
        return tuple(items)

    def _map(self) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._taken("}"):
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression()))
            if not self._at("}"):
                self._expect(",")
        return MapOf(tuple(entries))


def _check_count(token: Token, known: dict[str, int], count: int, what: str) -> None:
    if token.text not in known:
        names = sorted({*known, *(MACROS if what == "method" else ("has",))})
        near = get_close_matches(token.text[:40], names, n=3) or names
        raise ExpressionError(
            f"there is no {what} {token.text[:40]!r}; there is {', '.join(near)}", token.position
        )
    if count != known[token.text]:
        raise ExpressionError(
            f"{token.text} takes {known[token.text]} arguments, not {count}", token.position
        )
