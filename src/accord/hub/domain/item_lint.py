"""The linter on an item: each of its texts by the rules that fit it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from accord.hub.domain.kinds import Kind
from accord.hub.domain.lint import FORMS, Report, lint

FIELDS: Final = ("title", "description")
"""The texts that are linted."""


def lint_item(
    kind: Kind, texts: Mapping[str, str], *, without: frozenset[str] = frozenset()
) -> dict[str, Report]:
    """Return the lint reports of an item, by field.

    The description is linted as a statement, or the title if there is no description; the other of
    the two is linted as prose.
    """
    title, description = texts.get("title", ""), texts.get("description", "")
    form = FORMS.get(kind, "prose")
    if form == "story" and not _lacks_form(f"{title}\n\n{description}"):
        without = without | {"story-form"}
    if not description.strip():
        return {"title": lint(title, form, without=without)}
    return {
        "title": lint(title, "prose", without=without),
        "description": lint(description, form, without=without),
    }


def _lacks_form(text: str) -> bool:
    return any(each.rule == "story-form" for each in lint(text, "story").findings)
