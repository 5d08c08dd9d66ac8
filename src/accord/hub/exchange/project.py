"""A project as values: what imports read and exports write. Pure.

Items name each other by reference id or by UUID. A field that is UNSET was not given: an import
leaves it unchanged.
"""

from __future__ import annotations

from typing import Final, TypeAlias
from uuid import UUID, uuid5

from msgspec import UNSET, Struct, UnsetType

from accord.hub.domain.rules import Kind

MAX_CHARACTERS: Final = 32 * 1024 * 1024
"""The maximum size of an imported text."""
MAX_ROWS: Final = 20_000
"""The maximum number of rows in one import."""
MAX_SOURCE: Final = 200
"""In characters. PostgreSQL indexes at most 2,704 bytes for source and foreign id together."""
MAX_FOREIGN_ID: Final = 400
"""In characters."""


OURS: Final = UUID("5bb1c2f0-7b5e-5b0e-9c56-2f4f0d6f3a11")
"""The namespace of ids that are derived from identifiers of other tools."""


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
    """False if files of other sources may use the same id, such as `SPEC-1`."""


class NotKept(Struct, frozen=True):
    """A part of a file that the hub has no place for, and how many times it occurs."""

    what: str
    count: int = 1


Record: TypeAlias = Type | Label | Item | Link | Comment


class Numbered(Struct, frozen=True):
    """A record with its row number.

    An `Origin` and a `NotKept` are about the whole file.
    """

    row: int
    record: Record | Fault | Origin | NotKept
    not_kept: tuple[str, ...] = ()
    """The parts of the row that the hub has no place for."""
    notes: tuple[str, ...] = ()
    """Notes on the row for the report."""
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
    """Return the UUID of a new item: the same for each import from this source."""
    return str(uuid5(OURS, f"{len(source)} {source} {foreign_id}"))
