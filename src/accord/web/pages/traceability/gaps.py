"""What people call gaps, and the one thing that closes each. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.hub.entities import Gap
from accord.hub.operations.coverage import LackingItem


class Remedy(Struct, frozen=True):
    """A gap in words, and what to do about it."""

    title: str
    why: str
    label: str
    """Of the link that leads to where it is closed."""
    path: str
    """With `{id}` for the item."""
    needs_write: bool = True

    def href(self, item: LackingItem) -> str:
        return self.path.format(id=item.reference_id)


REMEDIES: Final[dict[Gap, Remedy]] = {
    "active_requirement_unverified": Remedy(
        "Active requirements that nothing verifies",
        "They are being built, and nobody could tell whether they work.",
        "Link what verifies it",
        "/items/{id}/link?type=~verifies",
    ),
    "suspect_links": Remedy(
        "Items whose links are suspect",
        "They say something else since their links were made.",
        "Look at its links",
        "/traceability/suspects",
        needs_write=False,
    ),
    "active_requirement_needs_obsolete": Remedy(
        "Active requirements that need an obsolete one",
        "What they depend on, derive from or refine has ended.",
        "See what it needs",
        "/traceability/graph?item={id}",
        needs_write=False,
    ),
    "open_under_cancelled": Remedy(
        "Open items under what was cancelled",
        "Nobody will finish them where they stand.",
        "Open it to end or move it",
        "/items/{id}",
    ),
    "story_without_requirements": Remedy(
        "User stories without requirements",
        "There is nothing to build yet.",
        "Add a requirement",
        "/new?parent={id}&kind=requirement",
    ),
    "story_without_criteria": Remedy(
        "User stories without acceptance criteria",
        "Nobody said when they are done.",
        "Add acceptance criteria",
        "/new?parent={id}&kind=acceptance_criteria",
    ),
    "criteria_without_requirements": Remedy(
        "Acceptance criteria without requirements",
        "Nothing is built to meet them.",
        "Link what it verifies",
        "/items/{id}/link?type=verifies",
    ),
    "epic_without_stories": Remedy(
        "Epics without user stories",
        "They are a title so far.",
        "Add a user story",
        "/new?parent={id}&kind=user_story",
    ),
    "requirement_without_verification": Remedy(
        "Drafts that nothing verifies yet",
        "They need acceptance criteria before they become active.",
        "Link what verifies it",
        "/items/{id}/link?type=~verifies",
    ),
    "steering_document_without_epics": Remedy(
        "Steering documents without epics",
        "They steer nothing.",
        "Open it to link an epic",
        "/items/{id}",
    ),
}
"""The worst first."""
