"""The header fields of one message: parsed at the first access, checked before they are sent.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Pairs = list[tuple[bytes, bytes]]

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class DuplicateFieldError(Exception):
    """A field that may be given only once is given twice; `name` is in lower case."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Fields(Mapping[str, str]):
    """Header fields by name, in any letter case; a repeated one is joined with commas."""

    __slots__ = ("_pairs", "_values")

    def __init__(self, pairs: Pairs, values: dict[str, str] | None = None) -> None:
        """`values` are those of `pairs`, if they have been parsed already."""
        self._pairs = pairs
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._read()[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"Fields({self._read()!r})"

    def _read(self) -> dict[str, str]:
        if self._values is None:
            self._values = parse_fields(self._pairs)
            self._pairs = []  # heads are remembered: once is enough
        return self._values


def parse_fields(pairs: Pairs, *, once: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the values of fields by their names in lower case.

    Raises DuplicateFieldError for a field of `once` that is given twice.
    """
    values: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name = raw_name.decode("latin-1").lower()
        value = raw_value.decode("latin-1").strip(" \t")
        if name in values:
            if name in once:
                raise DuplicateFieldError(name)
            value = f"{values[name]}, {value}"
        values[name] = value
    return values


def check_headers(headers: Mapping[str, str], *, reserved: frozenset[str]) -> None:
    """Raises ValueError for headers that cannot be sent, and for those that are not the user's."""
    for name, value in headers.items():
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is not the name of a header")
        if name.lower() in reserved:
            raise ValueError(f"the header {name} belongs to the protocol")
        if _VALUE.fullmatch(value) is None:
            raise ValueError(f"the value of the header {name} has characters that no header has")
