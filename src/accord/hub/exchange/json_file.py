"""A project as JSON, the complete format. Pure.

Rows are counted through all members, in the order of `MEMBERS`.
"""

from __future__ import annotations

import json
from collections import Counter
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
    Origin,
    Project,
    Record,
    Type,
)
from accord.jsonrpc.protocol.codec import decode_json
from accord.operations.choices import choices_of_struct, corrected
from accord.operations.errors import InvalidError

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
    source: str = ""
    types: list[Raw] = []
    labels: list[Raw] = []
    items: list[Raw] = []
    relationships: list[Raw] = []
    comments: list[Raw] = []


def write(project: Project) -> str:
    """Return the text of a JSON file, indented."""
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if project.source:
        head["source"] = project.source
    encoded = msgspec.json.encode(head | {name: getattr(project, name) for name in MEMBERS})
    return msgspec.json.format(encoded, indent=1).decode() + "\n"


def read(text: str) -> Iterator[Numbered]:
    """Return the rows of a file. Raises FormatError."""
    try:
        file: _File = decode_json(text, _File)
        json.loads(text, object_pairs_hook=_check)
    except FormatError:
        raise
    except (msgspec.DecodeError, ValueError) as error:
        raise FormatError(f"this is no JSON export: {str(error)[:300]}") from None
    if file.format != FORMAT or file.version != VERSION:
        raise FormatError(
            f"this is {file.format[:40]!r} of version {file.version}, not {FORMAT!r} of "
            f"version {VERSION}"
        )
    return _rows(file)


def _rows(file: _File) -> Iterator[Numbered]:
    rows = count(1)
    if file.source:
        yield Numbered(0, Origin(file.source))
    for member, type in MEMBERS.items():
        for place, raw in enumerate(getattr(file, member)):
            record: Record | Fault
            try:
                record = msgspec.json.decode(raw, type=type)
            except msgspec.ValidationError as error:
                record = _again(raw, type, str(error)[:300], f"{member}[{place}]")
            except msgspec.DecodeError as error:
                record = Fault(f"{member}[{place}]: {str(error)[:300]}")
            yield Numbered(next(rows), record)


def _again(raw: Any, type: type[Any], said: str, where: str) -> Record | Fault:
    """Decode a refused row again, with its kind in another spelling.

    `User Story` is accepted for `user_story`.
    """
    try:
        value = corrected(msgspec.json.decode(raw), choices_of_struct(type), "")
        record: Record = msgspec.convert(value, type)
    except InvalidError as error:
        return Fault(f"{where}: {error.message}")
    except msgspec.DecodeError:
        return Fault(f"{where}: {said}")
    return record


def _check(pairs: list[tuple[str, Any]]) -> None:
    """Raise FormatError for a duplicate member or for the character U+0000.

    One of two members with the same name would be lost, and no database stores U+0000.
    """
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise FormatError(f"the member {twice[:64]!r} is there twice in one object")
    for name, value in pairs:
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and "\0" in text for text in texts):
            raise FormatError(f"{name[:64]} has the character U+0000, which is not allowed")
