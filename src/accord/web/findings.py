"""What a search found, as pages show it: where it leads, what it is, the words that were asked for
marked. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from markupsafe import Markup, escape
from msgspec import Struct

KINDS: Final = {
    "epic": "Epic",
    "user_story": "User story",
    "acceptance_criteria": "Acceptance criteria",
    "requirement": "Requirement",
    "steering_document": "Steering document",
    "prompt": "Prompt",
    "comment": "Comment",
}
"""By the name in the API: what people call it."""
_MARK: Final = Markup("<mark>{}</mark>")


class Finding(Struct, frozen=True):
    """One of them."""

    href: str
    reference_id: str
    kind: str
    title: str
    status: str
    snippet: Markup
    has_marks: bool
    """Whether the snippet has any of the words."""


def finding(found: Any) -> Finding:
    """From what `search_global` gives."""
    return Finding(
        href=href_of(found.kind, found.reference_id, found.id),
        reference_id=found.reference_id,
        kind=KINDS.get(found.kind, found.kind),
        title=found.title,
        status=found.status or "",
        snippet=marked(found.snippet, found.marks),
        has_marks=bool(found.marks),
    )


def href_of(kind: str, reference_id: str, id: str = "") -> str:
    """Where something is shown. A comment is on the page of what it is on."""
    if kind == "comment":
        return f"/items/{reference_id}#comment-{id}"
    return f"/prompts/{reference_id}" if kind == "prompt" else f"/items/{reference_id}"


def marked(text: str, marks: Sequence[Sequence[int]]) -> Markup:
    """A text in which all that stands between the places of each pair is marked."""
    pieces: list[Markup] = []
    end = 0
    for begin, until in marks:
        pieces += [escape(text[end:begin]), _MARK.format(text[begin:until])]
        end = until
    return Markup("").join([*pieces, escape(text[end:])])
