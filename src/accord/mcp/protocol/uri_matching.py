"""From a URI back to the variables of a template, which RFC 6570 leaves to others.

What is matched is every URI that the template can give, and these rules decide where several
sets of variables could have given it:

- `{x}` takes at least one character and ends before `/`, `?` and `#`; `{+x}` takes at least
  one of any. Each takes as much as leaves enough for what follows.
- Expressions with a sign before their variables may be absent, and are present if they can
  be. `{/x}` is one segment of a path and `{/x*}` all that follow; `{.x}` ends where `{x}` does.
- `{?x,y}`, `{&x}` and `{;x}` take their variables in any order, each at most once; `{?x*}`
  takes a list if `x` occurs, and else everything that has no other name, as a mapping.
- Values are decoded. A variable that occurs twice must have the same value.

Matching takes time in proportion to the length of the URI times the number of parts: for
each part, from the last to the first, the positions where the rest can match are kept as the
bits of an integer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from accord.mcp.protocol.uri_grammar import Expression, Part, Variable, escape, unescape

MAX_URI: Final = 8_192
"""The limit of a URI to match, in characters."""

Value: TypeAlias = str | list[str] | dict[str, str]
Values: TypeAlias = dict[str, Value]

_SEGMENT: Final = re.compile(r"[^/?#]*")
_PATH: Final = re.compile(r"[^?#]*")
_QUERY: Final = re.compile(r"[^#]*")
_ANYTHING: Final = re.compile(r".*", re.DOTALL)


class Matcher:
    """The matcher of one template."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._literal = parts[0] if parts and isinstance(parts[0], str) else ""
        self._steps = [_Literal(it) if isinstance(it, str) else _Hole(it) for it in _grouped(parts)]

    def match(self, uri: str) -> Values | None:
        """Return the variables of a matching URI; None for any other."""
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
        """Return the variables, step by step.

        `rests` has two bit sets per step: the positions from which the rest can match, and those
        from which it can match with the next step present.
        """
        found: list[tuple[Variable, Value]] = []
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
        """Return the positions from which it can end at one of `after`."""
        found, position = 0, uri.find(self._text)
        while position >= 0:
            found |= 1 << position
            position = uri.find(self._text, position + 1)
        return found & (after >> len(self._text))

    def end(self, uri: str, position: int, after: int, preferred: int) -> int:
        return position + len(self._text)

    def values(self, text: str) -> list[tuple[Variable, Value]]:
        return []


class _Hole:
    """An expression, or several of one query: an optional sign, then characters."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._operator = expressions[0].operator
        self._signs = "".join(it.operator.first for it in expressions)
        self.optional = self._signs != ""
        self._variables = [it for each in expressions for it in each.variables]
        self._several = len(self._variables) > 1 or self._variables[0].explode
        self._kind = self._characters()

    def present(self, uri: str, after: int) -> int:
        """Return the positions from which it is present and ends at one of `after`."""
        inside = self._reaching(uri, after)
        if not self._signs:
            return inside
        signs = sum(1 << index for index, it in enumerate(uri) if it in self._signs)
        return signs & ((inside | after) >> 1)

    def end(self, uri: str, position: int, after: int, preferred: int) -> int:
        """Return the end of a match that begins at `position`.

        The longest one that lets the rest match, and preferably with the next step present.
        """
        least = position + 1
        if self._signs and uri[position:least] not in tuple(self._signs):
            return position
        longest = self._kind.match(uri, position + len(self._signs[:1]))
        assert longest is not None  # of no characters at least
        ends = after & (((2 << longest.end()) - 1) ^ ((1 << least) - 1))
        return ((ends & preferred) or ends or 1 << position).bit_length() - 1

    def values(self, text: str) -> list[tuple[Variable, Value]] | None:
        """Return the variables of a match; None if the text is invalid."""
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
        """Return the positions with one or more characters up to one of `after`."""
        found = 0
        for run in self._kind.finditer(uri):
            ends = (after >> (run.start() + 1)) & ((1 << (run.end() - run.start())) - 1)
            found |= ((1 << ends.bit_length()) - 1) << run.start()
        return found

    def _listed(self, texts: list[str]) -> list[tuple[Variable, Value]] | None:
        found: list[tuple[Variable, Value]] = []
        for index, variable in enumerate(self._variables):
            if variable.explode and texts:
                later = len(self._variables) - index - 1
                taken = max(1, len(texts) - later)
                found.append((variable, [unescape(it) for it in texts[:taken]]))
                texts = texts[taken:]
            elif texts:
                found.append((variable, unescape(texts[0])))
                texts = texts[1:]
        return None if texts else found

    def _named(self, text: str) -> list[tuple[Variable, Value]] | None:
        separator = self._operator.separator
        pairs = [it.partition("=")[::2] for it in text.split(separator) if it]
        found: list[tuple[Variable, Value]] = []
        for variable in self._variables:
            own = [unescape(value) for name, value in pairs if name == variable.name]
            pairs = [pair for pair in pairs if pair[0] != variable.name]
            if own and (variable.explode or len(own) == 1):
                found.append((variable, own if variable.explode else own[0]))
            elif own:
                return None
        taken = {variable.name for variable, _ in found}
        open_to_all = [it for it in self._variables if it.explode and it.name not in taken]
        others = {unescape(name): unescape(value) for name, value in pairs}
        if len(others) != len(pairs) or (others and not open_to_all):
            return None
        return [*found, (open_to_all[0], others)] if others else found


def _grouped(parts: Iterable[Part]) -> list[str | list[Expression]]:
    """Return the parts, with neighbours in a query as one.

    Their variables may be in any order.
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


def _agreed(found: Iterable[tuple[Variable, Value]]) -> Values | None:
    """Return the values by name; None if two of them differ."""
    values: Values = {}
    prefixes: list[tuple[Variable, Value]] = []
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
