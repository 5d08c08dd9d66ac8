"""How the fields of a thing changed, as people read it: redlines, and words for empty. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from markupsafe import Markup
from msgspec import UNSET, Struct

from accord.hub.entities import Difference
from accord.web.redline import redline, unified

LONG: Final = 60
"""Characters from which a text stands below its name."""
AROUND: Final = 160
"""Characters that stayed and are shown next to what did not."""
NAMES: Final = {
    "acceptance_criteria_id": "acceptance criteria",
    "confirmed_reason": "reason",
    "user_story_id": "user story",
}


class Told(Struct, frozen=True):
    """How one field changed."""

    name: str
    text: Markup
    is_long: bool


def told(found: Iterable[Difference]) -> list[Told]:
    """Differences as redlines, in their order."""
    return [_told(each) for each in found]


def _told(difference: Difference) -> Told:
    name = NAMES.get(difference.field, difference.field.removesuffix("_id").replace("_", " "))
    if difference.diff is not UNSET:
        return Told(name, unified(str(difference.diff), around=AROUND), is_long=True)
    before, after = _words(difference.before), _words(difference.after)
    is_long = max(len(before), len(after)) > LONG
    if before and after and not is_long:  # two short values: one in place of the other
        return Told(
            name, Markup("<del>{}</del> <ins>{}</ins>").format(before, after), is_long=False
        )
    return Told(name, redline(before, after, around=AROUND), is_long=is_long)


def _words(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(str(each) for each in value)
        case _:
            return "" if value is UNSET else str(value)
