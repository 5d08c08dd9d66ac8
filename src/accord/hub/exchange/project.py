"""A project as values, which imports read and exports write, and as JSON. Pure.

Items refer to each other by reference id or by UUID. A field that is UNSET was not given: an import
leaves it unchanged. JSON is the complete format. Its rows are numbered across all members, in the
order of `JSON_MEMBERS`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid5

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.hub.domain.rules import Kind
from accord.jsonrpc.protocol.codec import decode_json
from accord.operations.choices import choices_of_struct, corrected
from accord.operations.errors import InvalidError

MAX_CHARACTERS: Final = 32 * 1024 * 1024
"""The maximum size of an imported text."""
MAX_ROWS: Final = 20_000
"""The maximum number of rows in one import."""
MAX_SOURCE: Final = 200
"""The maximum length of a source in characters. PostgreSQL indexes at most 2,704 bytes for source
and foreign id together."""
MAX_FOREIGN_ID: Final = 400
"""The maximum length of a foreign id in characters."""


OURS: Final = UUID("5bb1c2f0-7b5e-5b0e-9c56-2f4f0d6f3a11")
"""The UUID namespace of ids that are derived from identifiers of other tools."""


class FormatError(ValueError):
    """A text, or a row of it, that violates its format."""


class _Record(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Type(_Record, kw_only=True):
    """A requirement type."""

    name: str
    description: str = ""


class Label(_Record, kw_only=True):
    name: str
    colour: str


class Item(_Record, kw_only=True):
    """An epic, a story, criteria, a requirement, a steering document or a prompt."""

    kind: Kind
    reference_id: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    parent: str | UnsetType = UNSET
    acceptance_criteria: str | None | UnsetType = UNSET
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    type: str | UnsetType = UNSET
    assignee: str | None | UnsetType = UNSET
    labels: list[str] | UnsetType = UNSET
    name: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    role: str | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    epics: list[str] | UnsetType = UNSET
    creator: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    """For information only: an import sets neither this nor the version."""
    version: int | UnsetType = UNSET
    foreign_id: str | UnsetType = UNSET
    """The identifier of the item in its source, exactly as the source writes it."""
    source: str | UnsetType = UNSET
    """The source of the item, if it differs from the origin of the file."""


class Link(_Record, kw_only=True):
    """A relationship."""

    source: str
    type: str
    target: str
    id: str | UnsetType = UNSET
    creator: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET


class Comment(_Record, kw_only=True):
    target: str
    text: str
    id: str | UnsetType = UNSET
    reply_to: str | None | UnsetType = UNSET
    author: str | UnsetType = UNSET
    quote: str = ""
    quote_position: int | None = None
    resolved: bool = False
    resolved_by: str | None | UnsetType = UNSET
    created_at: str | UnsetType = UNSET


class Fault(Struct, frozen=True):
    """The error in a row that cannot be read."""

    detail: str


class Origin(Struct, frozen=True):
    """The source of the rows that follow: the namespace of the names in them.

    Rows without an origin are rows of this hub itself.
    """

    source: str
    """The id of a repository, a specification or a hub; empty if the file has none, so the caller
    has to name the source."""
    certain: bool = True
    """True if `source` is globally unique; false if other files may use it, such as `SPEC-1`."""


class NotKept(Struct, frozen=True):
    """A part of a file that the hub has no place for, and how many times it occurs."""

    what: str
    count: int = 1


Record: TypeAlias = Type | Label | Item | Link | Comment


class Numbered(Struct, frozen=True):
    """A record of an import file with its row number.

    In place of a record it has the error of a row (`Fault`), the source of the following rows
    (`Origin`), or a part of the file that is not imported (`NotKept`).
    """

    row: int
    record: Record | Fault | Origin | NotKept
    not_kept: tuple[str, ...] = ()
    """The parts of the row that the hub has no place for."""
    notes: tuple[str, ...] = ()
    """Notes on the row for the import report."""
    former_id: str = ""
    """The UUID that earlier releases derived from the foreign id, without its source."""


class Project(Struct, kw_only=True):
    """Everything in an export, in the order of import."""

    source: str = ""
    """The id of the hub that exported it."""
    types: list[Type] = []
    labels: list[Label] = []
    items: list[Item] = []
    relationships: list[Link] = []
    comments: list[Comment] = []


def former_id(identifier: str) -> str:
    """Return the UUID that earlier releases derived from a foreign id alone."""
    return str(uuid5(OURS, identifier))


def derived_id(source: str, foreign_id: str) -> str:
    """Return a UUID that is derived from a source and a foreign id.

    Every import of the item gets the same UUID.
    """
    return str(uuid5(OURS, f"{len(source)} {source} {foreign_id}"))


JSON_FORMAT: Final = "accord-hub"
JSON_VERSION: Final = 1
JSON_MEMBERS: Final[dict[str, Any]] = {
    "types": Type,
    "labels": Label,
    "items": Item,
    "relationships": Link,
    "comments": Comment,
}


class _JsonFile(Struct, forbid_unknown_fields=True):
    format: str
    version: int
    source: str = ""
    types: list[Raw] = []
    labels: list[Raw] = []
    items: list[Raw] = []
    relationships: list[Raw] = []
    comments: list[Raw] = []


def write_json(project: Project) -> str:
    """Return the text of a JSON file, indented."""
    head: dict[str, Any] = {"format": JSON_FORMAT, "version": JSON_VERSION}
    if project.source:
        head["source"] = project.source
    encoded = msgspec.json.encode(head | {name: getattr(project, name) for name in JSON_MEMBERS})
    return msgspec.json.format(encoded, indent=1).decode() + "\n"


def read_json(text: str) -> Iterator[Numbered]:
    """Return the rows of a JSON export.

    Raises FormatError if the text is no JSON export, or one of another version.
    """
    try:
        file: _JsonFile = decode_json(text, _JsonFile)
        json.loads(text, object_pairs_hook=_check_members)
    except FormatError:
        raise
    except (msgspec.DecodeError, ValueError) as error:
        raise FormatError(f"this is no JSON export: {str(error)[:300]}") from None
    if file.format != JSON_FORMAT or file.version != JSON_VERSION:
        raise FormatError(
            f"this is {file.format[:40]!r} of version {file.version}, not {JSON_FORMAT!r} of "
            f"version {JSON_VERSION}"
        )
    return _json_rows(file)


def _json_rows(file: _JsonFile) -> Iterator[Numbered]:
    rows = count(1)
    if file.source:
        yield Numbered(0, Origin(file.source))
    for member, type in JSON_MEMBERS.items():
        for place, raw in enumerate(getattr(file, member)):
            record: Record | Fault
            try:
                record = msgspec.json.decode(raw, type=type)
            except msgspec.ValidationError as error:
                record = _corrected_record(raw, type, str(error)[:300], f"{member}[{place}]")
            except msgspec.DecodeError as error:
                record = Fault(f"{member}[{place}]: {str(error)[:300]}")
            yield Numbered(next(rows), record)


def _corrected_record(raw: Any, type: type[Any], problem: str, where: str) -> Record | Fault:
    """Decode an invalid row again, with its kind in the spelling of the hub.

    `User Story` is accepted for `user_story`. Returns a `Fault` if the row is still invalid.
    """
    try:
        value = corrected(msgspec.json.decode(raw), choices_of_struct(type), "")
        record: Record = msgspec.convert(value, type)
    except InvalidError as error:
        return Fault(f"{where}: {error.message}")
    except msgspec.DecodeError:
        return Fault(f"{where}: {problem}")
    return record


def _check_members(pairs: list[tuple[str, Any]]) -> None:
    """Raise FormatError for a duplicate member or for the character U+0000.

    One of two members with the same name would be lost, and no database stores U+0000.
    """
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        duplicate = Counter(names).most_common(1)[0][0]
        raise FormatError(f"the member {duplicate[:64]!r} is there twice in one object")
    for name, value in pairs:
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and "\0" in text for text in texts):
            raise FormatError(f"{name[:64]} has the character U+0000, which is not allowed")
