"""URI templates (RFC 6570, all levels): parsed, expanded and matched.

RFC 6570 does not define matching. Here a template matches every URI that it can expand to. Each
expression gets the longest part of the URI that lets the rest of the template match. Parts after
which the next expression is not empty are preferred, even if others are longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

MAX_TEMPLATE: Final = 8_192
"""Maximum length of a template in characters."""
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


class TemplateVariable(Struct, frozen=True):
    """A variable as one expression uses it."""

    name: str
    explode: bool = False
    prefix: int | None = None


class Expression(Struct, frozen=True):
    operator: Operator
    variables: tuple[TemplateVariable, ...]


Part: TypeAlias = str | Expression
"""A literal, escaped as in a URI, or an expression."""


def parse(text: str) -> tuple[Part, ...]:
    """Return the parts of a template.

    Raises ValueError for a malformed template.
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
    """Return escaped text with its escapes decoded.

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
        TemplateVariable(it[1], explode=it[2] is not None, prefix=int(it[3]) if it[3] else None)
        for it in found
        if it is not None
    ]
    if len(variables) != len(found):
        raise ValueError(f"'{template}' is no URI template: '{{{text}}}' is no expression")
    return Expression(operator, tuple(variables))


MAX_URI: Final = 8_192
"""Maximum length in characters of a URI to match."""

Value: TypeAlias = str | list[str] | dict[str, str]
Values: TypeAlias = dict[str, Value]

_SEGMENT: Final = re.compile(r"[^/?#]*")
_PATH: Final = re.compile(r"[^?#]*")
_QUERY: Final = re.compile(r"[^#]*")
_ANYTHING: Final = re.compile(r".*", re.DOTALL)


class Matcher:
    """A matcher of URIs against one template."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._literal = parts[0] if parts and isinstance(parts[0], str) else ""
        self._steps = [_Literal(it) if isinstance(it, str) else _Hole(it) for it in _grouped(parts)]

    def match(self, uri: str) -> Values | None:
        """Return the values of variables in a matching URI; None for any other URI."""
        if len(uri) > MAX_URI:
            return None
        if not uri.isascii():
            uri = "".join(it if it.isascii() else escape(it) for it in uri)
        if not uri.startswith(self._literal):
            return None
        after = 1 << len(uri)
        rests: list[tuple[int, int]] = [(after, 0)]
        for step in reversed(self._steps):
            present = step.present(uri, after)
            after = present | after if step.optional else present
            rests.append((after, present))
        if not after & 1:
            return None
        try:
            return self._take(uri, rests[-2::-1])
        except UnicodeDecodeError:
            return None

    def _take(self, uri: str, rests: Iterable[tuple[int, int]]) -> Values | None:
        """Return the values of variables, split from the URI step by step.

        The steps are the literals and expressions of the template. `rests` has two bit sets per
        step: the positions after it from which the rest can match, and those from which the rest
        can match with the next step present.
        """
        found: list[tuple[TemplateVariable, Value]] = []
        position = 0
        for step, (after, preferred) in zip(self._steps, rests, strict=True):
            end = step.end(uri, position, after, preferred)
            values = step.values(uri[position:end])
            if values is None:
                return None
            found += values
            position = end
        return _agreed(found)


class _Literal:
    optional = False

    def __init__(self, text: str) -> None:
        self._text = text

    def present(self, uri: str, after: int) -> int:
        """Return the start positions of the literal where it ends at one of `after`.

        Positions are bit sets.
        """
        found, position = 0, uri.find(self._text)
        while position >= 0:
            found |= 1 << position
            position = uri.find(self._text, position + 1)
        return found & (after >> len(self._text))

    def end(self, uri: str, position: int, after: int, preferred: int) -> int:
        return position + len(self._text)

    def values(self, text: str) -> list[tuple[TemplateVariable, Value]]:
        return []


class _Hole:
    """The part of a URI for an expression, or for adjacent expressions of one query.

    It is an optional sign, such as `?`, followed by characters.
    """

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._operator = expressions[0].operator
        self._signs = "".join(it.operator.first for it in expressions)
        self.optional = self._signs != ""
        self._variables = [it for each in expressions for it in each.variables]
        self._several = len(self._variables) > 1 or self._variables[0].explode
        self._kind = self._characters()

    def present(self, uri: str, after: int) -> int:
        """Return the start positions of matches that end at one of `after`.

        Only matches that are not empty count. Positions are bit sets.
        """
        inside = self._reaching(uri, after)
        if not self._signs:
            return inside
        signs = sum(1 << index for index, it in enumerate(uri) if it in self._signs)
        return signs & ((inside | after) >> 1)

    def end(self, uri: str, position: int, after: int, preferred: int) -> int:
        """Return the end of the match that begins at `position`.

        It is the last position from which the rest can match, preferably with the next step
        present.
        """
        least = position + 1
        if self._signs and uri[position:least] not in tuple(self._signs):
            return position
        longest = self._kind.match(uri, position + len(self._signs[:1]))
        assert longest is not None  # of no characters at least
        ends = after & (((2 << longest.end()) - 1) ^ ((1 << least) - 1))
        return ((ends & preferred) or ends or 1 << position).bit_length() - 1

    def values(self, text: str) -> list[tuple[TemplateVariable, Value]] | None:
        """Return the values of variables in a match; None if the text is invalid."""
        if not text:
            return []
        inside = text[1:] if self._signs else text
        if self._operator.named:
            return self._named(inside)
        if not self._several:
            return self._listed([inside])
        return self._listed(inside.split(self._operator.separator))

    def _characters(self) -> re.Pattern[str]:
        match self._operator.symbol:
            case "+" | "#":
                return _ANYTHING
            case "?" | "&":
                return _QUERY
            case "/" if self._several:
                return _PATH
            case _:
                return _SEGMENT

    def _reaching(self, uri: str, after: int) -> int:
        """Return the positions from which one or more characters lead to one of `after`.

        Positions are bit sets.
        """
        found = 0
        for run in self._kind.finditer(uri):
            ends = (after >> (run.start() + 1)) & ((1 << (run.end() - run.start())) - 1)
            found |= ((1 << ends.bit_length()) - 1) << run.start()
        return found

    def _listed(self, texts: list[str]) -> list[tuple[TemplateVariable, Value]] | None:
        found: list[tuple[TemplateVariable, Value]] = []
        for index, variable in enumerate(self._variables):
            if variable.explode and texts:
                later = len(self._variables) - index - 1
                count = max(1, len(texts) - later)
                found.append((variable, [unescape(it) for it in texts[:count]]))
                texts = texts[count:]
            elif texts:
                found.append((variable, unescape(texts[0])))
                texts = texts[1:]
        return None if texts else found

    def _named(self, text: str) -> list[tuple[TemplateVariable, Value]] | None:
        separator = self._operator.separator
        pairs = [it.partition("=")[::2] for it in text.split(separator) if it]
        found: list[tuple[TemplateVariable, Value]] = []
        for variable in self._variables:
            own = [unescape(value) for name, value in pairs if name == variable.name]
            pairs = [pair for pair in pairs if pair[0] != variable.name]
            if own and (variable.explode or len(own) == 1):
                found.append((variable, own if variable.explode else own[0]))
            elif own:
                return None
        names = {variable.name for variable, _ in found}
        open_to_all = [it for it in self._variables if it.explode and it.name not in names]
        others = {unescape(name): unescape(value) for name, value in pairs}
        if len(others) != len(pairs) or (others and not open_to_all):
            return None
        return [*found, (open_to_all[0], others)] if others else found


def _grouped(parts: Iterable[Part]) -> list[str | list[Expression]]:
    """Return the parts, with adjacent expressions of a query combined.

    The variables of a query may be in any order.
    """
    grouped: list[str | list[Expression]] = []
    for part in parts:
        last = grouped[-1] if grouped else ""
        if isinstance(part, str):
            grouped.append(part)
        elif isinstance(last, list) and _is_query(last[0]) and part.operator.symbol == "&":
            last.append(part)
        else:
            grouped.append([part])
    return grouped


def _is_query(expression: Expression) -> bool:
    return expression.operator.symbol in ("?", "&")


def _agreed(found: Iterable[tuple[TemplateVariable, Value]]) -> Values | None:
    """Merge values of variables to a mapping by name.

    Return None if one name has different values.
    """
    values: Values = {}
    prefixes: list[tuple[TemplateVariable, Value]] = []
    for variable, value in found:
        if variable.prefix is not None:
            prefixes.append((variable, value))
        elif values.setdefault(variable.name, value) != value:
            return None
    for variable, value in sorted(prefixes, key=lambda it: -len(it[1])):
        whole = values.setdefault(variable.name, value)
        if not isinstance(whole, str) or whole[: variable.prefix] != value:
            return None
    return values


Scalar: TypeAlias = str | int | float
Expandable: TypeAlias = Scalar | Sequence[Scalar | None] | Mapping[str, Scalar | None] | None
"""The value of a variable. None, an empty list and an empty mapping count as absent."""


class UriTemplate:
    """A URI template such as `weather://{city}{?units}`.

    Raises ValueError for a malformed template.
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
        """Return the values of variables in a URI that the template can expand to.

        Return None for any other URI. The module's docstring has the rules.
        """
        return self._matcher.match(uri)

    def expand(self, values: Mapping[str, Expandable]) -> str:
        """Return the URI that the template expands to with these values.

        Raises ValueError for a list or a mapping where the template has a prefix modifier,
        such as `{var:3}`.
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


def _texts(operator: Operator, variable: TemplateVariable, value: Expandable) -> Iterator[str]:
    """Yield the expanded texts of a variable; the operator's separator joins them."""
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
    """Return the escaped members of a list or a mapping.

    Each member is a name and a value; the name is None for a list.
    """
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
