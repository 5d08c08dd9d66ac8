"""A project as JSON: everything that is exchanged. Pure.

Rows are counted through all members, in the order of `MEMBERS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from accord.hub.exchange.project import (
    Comment,
    Fault,
    FormatError,
    Item,
    Label,
    Link,
    Numbered,
    Project,
    Record,
    Type,
)

FORMAT: Final = "accord-hub"
VERSION: Final = 1
MEMBERS: Final[dict[str, Any]] = {
    "types": Type,
    "labels": Label,
    "items": Item,
    "relationships": Link,
    "comments": Comment,
}


class _File(Struct, forbid_unknown_fields=True):
    format: str
    version: int
    types: list[Raw] = []
    labels: list[Raw] = []
    items: list[Raw] = []
    relationships: list[Raw] = []
    comments: list[Raw] = []


def write(project: Project) -> str:
    """The text of a file, indented."""
    head = {"format": FORMAT, "version": VERSION}
    encoded = msgspec.json.encode(head | {name: getattr(project, name) for name in MEMBERS})
    return msgspec.json.format(encoded, indent=1).decode() + "\n"


def read(text: str) -> Iterator[Numbered]:
    """The rows of a file. Raises FormatError."""
    try:
        file = msgspec.json.decode(text, type=_File)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise FormatError(f"this is no JSON export: {str(error)[:300]}") from None
    if file.format != FORMAT or file.version != VERSION:
        raise FormatError(
            f"this is {file.format[:40]!r} of version {file.version}, not {FORMAT!r} of "
            f"version {VERSION}"
        )
    return _rows(file)


def _rows(file: _File) -> Iterator[Numbered]:
    rows = count(1)
    for member, type in MEMBERS.items():
        for place, raw in enumerate(getattr(file, member)):
            record: Record | Fault
            try:
                record = msgspec.json.decode(raw, type=type)
            except (msgspec.DecodeError, RecursionError) as error:
                record = Fault(f"{member}[{place}]: {str(error)[:300]}")
            yield Numbered(next(rows), record)
