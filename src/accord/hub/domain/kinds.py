"""The kinds of items, as a table, and the names by which people call single ones."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal[
    "epic", "user_story", "acceptance_criteria", "requirement", "steering_document", "prompt"
]


class KindOf(Struct, frozen=True):
    """The properties of one kind of items."""

    kind: Kind
    prefix: str
    """The prefix of reference ids: EP-001."""
    plural: str
    """The name in paths and URIs: user-stories."""
    scheme: str
    """The URI scheme of a single item: user-story://US-001."""
    title: str
    """The name for people."""
    parent: Kind | None = None


KINDS: Final[dict[Kind, KindOf]] = {
    each.kind: each
    for each in (
        KindOf("epic", "EP", "epics", "epic", "Epic"),
        KindOf("user_story", "US", "user-stories", "user-story", "User story", "epic"),
        KindOf(
            "acceptance_criteria",
            "AC",
            "acceptance-criteria",
            "acceptance-criteria",
            "Acceptance criteria",
            "user_story",
        ),
        KindOf("requirement", "REQ", "requirements", "requirement", "Requirement", "user_story"),
        KindOf(
            "steering_document",
            "STD",
            "steering-documents",
            "steering-document",
            "Steering document",
        ),
        KindOf("prompt", "PROMPT", "prompts", "prompt", "Prompt"),
    )
}

_BY_PREFIX: Final = {each.prefix: each.kind for each in KINDS.values()}
_REFERENCE: Final = re.compile(r"([A-Za-z]{2,6})-([0-9]{1,12})", re.ASCII)


class Reference(Struct, frozen=True):
    """A reference id, the name that people use for an item."""

    kind: Kind
    number: int

    def __str__(self) -> str:
        return f"{KINDS[self.kind].prefix}-{self.number:03d}"


def parse_reference(text: str) -> Reference | None:
    """Return the reference id in a text such as `req-001`, or None.

    Letter case and leading zeros do not matter.
    """
    match = _REFERENCE.fullmatch(text.strip())
    kind = _BY_PREFIX.get(match[1].upper()) if match else None
    if match is None or kind is None or int(match[2]) == 0:
        return None
    return Reference(kind, int(match[2]))
