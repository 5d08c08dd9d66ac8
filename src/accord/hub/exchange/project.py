"""What is exchanged, as values. Pure.

Things name each other by reference id, or by UUID. A field that is UNSET was not given: an import
leaves it as it is.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from accord.hub.domain.kinds import Kind

MAX_CHARACTERS: Final = 32 * 1024 * 1024
"""Of a text that is imported."""
MAX_ROWS: Final = 20_000
"""How many things one import may hold."""


class FormatError(ValueError):
    """A text, or a row of it, that is not of the format it should be of."""


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
    """Only told: an import does not set it, nor the version."""
    version: int | UnsetType = UNSET


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
    """What is wrong with a row that cannot be read."""

    detail: str


Record: TypeAlias = Type | Label | Item | Link | Comment


class Numbered(Struct, frozen=True):
    """What stands in a row."""

    row: int
    record: Record | Fault


class Project(Struct, kw_only=True):
    """Everything, in the order in which it can be put into a database."""

    types: list[Type] = []
    labels: list[Label] = []
    items: list[Item] = []
    relationships: list[Link] = []
    comments: list[Comment] = []
