"""Items and related entities as callers see them: results of operations.

Fields have the same names on every adapter. People are named by username; other entities by their
UUID (`…_id`) together with the name that people know (`…_reference_id`).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from accord.operations.context import Changed
from accord.operations.pages import Limit as Limit, Page as Page

Title: TypeAlias = Annotated[str, Meta(min_length=1, max_length=500)]
Text: TypeAlias = Annotated[str, Meta(max_length=50_000)]
Priority: TypeAlias = Annotated[
    int, Meta(ge=1, le=4, description="1 Critical, 2 High, 3 Medium, 4 Low")
]
Field: TypeAlias = Annotated[str, Meta(max_length=64)]
Fields: TypeAlias = Annotated[list[Field], Meta(max_length=40)]
"""The fields to return; ids and the version are always included."""
Detail: TypeAlias = Literal["concise", "full"]
"""The amount of text in an answer: concise answers omit long texts."""
Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
"""A UUID or a reference id."""
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100)]
"""The name of a label or a type."""
Username: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Since: TypeAlias = Annotated[str, Meta(max_length=27)]
"""The earliest date or time, in UTC, of a filter for changes."""
Cursor: TypeAlias = Annotated[str, Meta(max_length=4000)]
"""The cursor of a page. The maximum length is high, because the cursor of a list sorted by title
contains a title."""
VersionNumber: TypeAlias = Annotated[int, Meta(ge=1)]
Version: TypeAlias = Annotated[int, Meta(ge=1, description="Refuse if it was changed since.")]

WorkStatus: TypeAlias = Literal["Backlog", "Draft", "In Progress", "Done", "Cancelled"]
RequirementStatus: TypeAlias = Literal["Draft", "Active", "Obsolete"]
AnyStatus: TypeAlias = Literal[
    "Backlog", "Draft", "In Progress", "Done", "Cancelled", "Active", "Obsolete"
]

MAX_SEVERAL: Final = 20
SEVERAL: Final = Meta(min_length=1, max_length=MAX_SEVERAL)
"""The limits for the number of values in a filter on one field."""
AnyOfWorkStatus: TypeAlias = WorkStatus | Annotated[list[WorkStatus], SEVERAL]
"""The value of a filter: one status, or a list of alternatives."""
AnyOfRequirementStatus: TypeAlias = RequirementStatus | Annotated[list[RequirementStatus], SEVERAL]
AnyOfStatus: TypeAlias = AnyStatus | Annotated[list[AnyStatus], SEVERAL]
AnyOfPriority: TypeAlias = Priority | Annotated[list[Priority], SEVERAL]
AnyOfName: TypeAlias = Name | Annotated[list[Name], SEVERAL]
AnyOfUsername: TypeAlias = Username | Annotated[list[Username], SEVERAL]
AnyOfAssignee: TypeAlias = Annotated[AnyOfUsername, Meta(description="A username, or unassigned.")]
UNASSIGNED: Final = "unassigned"
"""The value of an assignee filter for items without an assignee."""
HAVE_ASSIGNEES: Final = ("epic", "user_story", "requirement")
"""Kinds of items that can be assigned."""
PromptRole: TypeAlias = Literal["user", "assistant"]

Gap: TypeAlias = Literal[
    "epic_without_stories",
    "story_without_criteria",
    "story_without_requirements",
    "criteria_without_requirements",
    "requirement_without_verification",
    "active_requirement_unverified",
    "active_requirement_needs_obsolete",
    "suspect_links",
    "open_under_cancelled",
    "steering_document_without_epics",
]
"""The kinds of gaps in coverage."""
GAPS: Final[tuple[Gap, ...]] = get_args(Gap)


class Entity(Changed, kw_only=True):
    """The fields of every entity with a reference id.

    A field that can be UNSET is left out of a concise answer, or if the caller asked for other
    `fields`.
    """

    id: str
    reference_id: str
    version: int
    created_at: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET


class Epic(Entity, kw_only=True):
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    status: WorkStatus | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    creator: str | UnsetType = UNSET
    assignee: str | None | UnsetType = UNSET
    labels: list[str] | UnsetType = UNSET


class UserStory(Epic, kw_only=True):
    epic_id: str | UnsetType = UNSET
    epic_reference_id: str | UnsetType = UNSET


class AcceptanceCriteria(Entity, kw_only=True):
    user_story_id: str | UnsetType = UNSET
    user_story_reference_id: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    """The beginning of the description."""
    description: str | UnsetType = UNSET
    author: str | UnsetType = UNSET
    labels: list[str] | UnsetType = UNSET


class Requirement(Entity, kw_only=True):
    user_story_id: str | UnsetType = UNSET
    user_story_reference_id: str | UnsetType = UNSET
    acceptance_criteria_id: str | None | UnsetType = UNSET
    acceptance_criteria_reference_id: str | None | UnsetType = UNSET
    type: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    status: RequirementStatus | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    creator: str | UnsetType = UNSET
    assignee: str | None | UnsetType = UNSET
    labels: list[str] | UnsetType = UNSET


class SteeringDocument(Entity, kw_only=True):
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    creator: str | UnsetType = UNSET
    epics: list[str] | UnsetType = UNSET
    """Reference ids of the epics that it is linked to."""
    labels: list[str] | UnsetType = UNSET


class PromptItem(Entity, kw_only=True):
    __schema_name__ = "Prompt"

    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    role: PromptRole | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    creator: str | UnsetType = UNSET


class Relationship(Changed, kw_only=True):
    id: str
    source_id: str
    source_reference_id: str
    source_title: str
    source_status: str
    """Empty for what has none."""
    target_id: str
    target_reference_id: str
    target_title: str
    target_status: str
    type: str
    inverse: str
    """What the link is called from its target's side."""
    creator: str
    created_at: str
    suspect: bool
    """Whether an end said something else since the link was made or confirmed."""
    changed: list[str] | UnsetType = UNSET
    """Of a suspect link: the reference ids of the ends that did."""
    confirmed_by: str | UnsetType = UNSET
    confirmed_at: str | UnsetType = UNSET
    confirmed_reason: str | UnsetType = UNSET


class Provenance(Struct, kw_only=True):
    """The program behind something that was made in a person's name."""

    face: str | UnsetType = UNSET
    """How it called: `mcp`, `rest`, `a2a`, …; `system` for a workflow."""
    client: str | UnsetType = UNSET
    """The program, as it calls itself."""
    token: str | UnsetType = UNSET
    """The name of the token that it used."""
    proposed_by: str | UnsetType = UNSET
    """Who proposed it, where it came from an accepted proposal; the program is the proposal's."""


class ItemComment(Changed, kw_only=True):
    __schema_name__ = "Comment"

    id: str
    target_id: str
    target_reference_id: str
    reply_to: str | None
    author: str
    text: str
    quote: str
    quote_position: int | None
    resolved: bool
    resolved_by: str | None
    resolved_with: Provenance | UnsetType = UNSET
    """The program that resolved it, unless a person did."""
    provenance: Provenance | UnsetType = UNSET
    """The program that wrote it, unless a person did."""
    version: int
    created_at: str
    updated_at: str


class Deletion(Changed, kw_only=True):
    """What was deleted, and what went with it."""

    __schema_name__ = "Deleted"

    deleted: str
    also_deleted: list[str]


class Difference(Struct, kw_only=True):
    """How one field changed."""

    field: str
    before: Any | UnsetType = UNSET
    after: Any | UnsetType = UNSET
    diff: str | UnsetType = UNSET
    """Of long texts, instead of both: a unified diff."""


def each_of(value: Any) -> list[Any]:
    """Return the values of a filter as a list; empty for None."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def one_or_list(values: list[Any]) -> Any:
    """Return the value of a filter: a list of values, but a single value without list."""
    return values[0] if len(values) == 1 else values
