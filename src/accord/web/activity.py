"""The activity feed and the history of items: changes as sentences and redlines.

The functions do no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from markupsafe import Markup
from msgspec import UNSET, Struct
from msgspec.structs import replace

from accord.hub.entities import Difference
from accord.hub.operations.changes import Revision
from accord.web import formatting
from accord.web.formatting import href_of
from accord.web.redline import redline, unified

ITEMS: Final = frozenset(
    {"epic", "user_story", "acceptance_criteria", "requirement", "steering_document", "prompt"}
)
AROUND: Final = 60
"""The number of unchanged characters that a redline shows on each side of a change."""
MAX_REDLINES: Final = 2
MAX_PLAIN: Final = 300
"""The most characters of a value that a redline compares; the rest of the value is not compared.

Values with a diff in the change itself are not cut."""

_BY_OPERATION: Final = {
    "activate_prompt": "activated",
    "deactivate_prompt": "deactivated",
    "accept_proposal": "accepted a proposal about",
    "undo": "took back a change of",
}
_IN_BULK: Final = {"import_items": "imported", "load_demo": "loaded the sample project,"}
LASTING_OPERATIONS: Final = frozenset(
    {"propose_changes", "reject_proposal", "create_baseline", "import_items", "load_demo"}
)
"""Operations that cannot be undone from lists of changes."""
_OF_ITEMS: Final = {"created": "created", "updated": "edited", "deleted": "deleted"}
_OF_COMMENTS: Final = {
    "created": "commented on",
    "updated": "edited a comment on",
    "deleted": "deleted a comment on",
}
_OF_OTHERS: Final[dict[str, tuple[str, str, str]]] = {
    "label": ("created the label", "changed the label", "deleted the label"),
    "item_label": ("labelled", "labelled", "took a label off"),
    "requirement_type": ("added the type", "described the type", "deleted the type"),
    "relationship_type": ("added the link type", "changed the link type", "deleted the link type"),
    "baseline": ("kept a baseline,", "changed the baseline", "deleted the baseline"),
    "lint_suppression": ("put a hint aside for", "put a hint aside for", "brought back a hint for"),
    "item_source": ("recorded the source of", "changed the source of", "removed the source of"),
    "steering_link": ("linked", "linked", "unlinked"),
    "relationship": ("linked", "confirmed", "unlinked"),
}
_ACTIONS: Final = ("created", "updated", "deleted")
_NAME: Final = re.compile(r"(?:EP|US|AC|REQ|STD|PROMPT)-[0-9]+")
_PROGRAMS: Final = {"rest": "API", "rpc": "API", "a2a": "agent", "cli": "command line"}
_HIDDEN: Final = frozenset({"status", "assignee", "epic_id", "user_story_id", "resolved"})
"""Fields that the sentence about a change describes completely. A change of only one such field
has no redline."""


class SentencePart(Struct, frozen=True):
    """A piece of the sentence that describes a change; the name of an item is a link."""

    text: str
    href: str = ""
    is_name: bool = False
    behind: str = " "
    """The text between this part and the next part."""


class FieldRedline(Struct, frozen=True):
    """The redline of a changed field."""

    field: str
    text: Markup


class ActivityEntry(Struct, frozen=True):
    """A change, as shown in the activity feed."""

    id: str
    time: str
    actor: str
    program: str
    """The kind of program used: `assistant`, `API`, …; empty for a person in a browser."""
    client: str
    """The name that the program gave itself."""
    token: str
    """The name of the access token that the program used."""
    proposal: Any
    """The change if an accepted proposal led to it, otherwise None."""
    parts: tuple[SentencePart, ...]
    heading: str
    """The title of the changed object, if the change touched only one."""
    redlines: tuple[FieldRedline, ...]
    is_undone: bool
    is_lasting: bool
    """True if lists of changes offer no undo for this change."""


class Day(Struct, frozen=True):
    name: str
    changes: tuple[ActivityEntry, ...]


def days(news: Sequence[Any], today: date) -> list[Day]:
    """Group changes, the result of `list_news`, by day."""
    by_day = groupby(news, lambda each: formatting.parse(each.time).date())
    return [
        Day(_day(day, today), tuple(activity_entry(each) for each in some)) for day, some in by_day
    ]


def activity_entry(news: Any) -> ActivityEntry:
    one = news.touched[0] if news.total == 1 and news.touched else None
    return ActivityEntry(
        id=news.id,
        time=news.time,
        actor=news.actor,
        program=_program(news),
        client=news.client or "" if news.client is not UNSET else "",
        token=news.token or "" if news.token is not UNSET else "",
        proposal=news if news.proposed_by is not UNSET else None,
        parts=tuple(_parts(news)),
        heading=one.heading if one is not None and _has_heading(one) else "",
        redlines=_redlines(one),
        is_undone=news.undone_by is not UNSET,
        is_lasting=news.operation in LASTING_OPERATIONS,
    )


def _program(news: Any) -> str:
    if news.face == "mcp":
        return "assistant"
    return "workflow" if news.face == "system" else _PROGRAMS.get(news.face, "")


def _day(day: date, today: date) -> str:
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return f"{datetime(day.year, day.month, day.day):%A}, {day.day} {day:%B %Y}"


# Sentences


def _parts(news: Any) -> Iterator[SentencePart]:
    touched = [each for each in news.touched if each.kind != "proposal"]
    if news.operation == "propose_changes":
        yield SentencePart("proposed changes")
    elif news.operation == "reject_proposal":
        yield SentencePart("rejected a proposal")
    elif news.operation in _IN_BULK:
        yield SentencePart(f"{_IN_BULK[news.operation]} {news.total:,} things")
    elif news.total == 1 and touched and news.operation not in _BY_OPERATION:
        yield from _about_one(touched[0])
    else:
        yield SentencePart(_BY_OPERATION.get(news.operation) or _shared_verb(touched))
        yield from _names(touched, news)


def _about_one(one: Any) -> Iterator[SentencePart]:
    if one.kind in ITEMS:
        yield from _about_item(one)
    elif one.kind == "comment":
        yield SentencePart(_comment_verb(one))
        yield _name(one.reference_id)
    else:
        verbs = _OF_OTHERS.get(one.kind)
        index = _ACTIONS.index(one.action)
        plain = one.kind.replace("_", " ")
        yield SentencePart(verbs[index] if verbs else f"{_OF_ITEMS[one.action]} a {plain}")
        yield from with_links(one.reference_id)


def _about_item(one: Any) -> Iterator[SentencePart]:
    name = _name_of(one)
    changed = {each.field: each for each in one.differences}
    if one.action != "updated":
        yield from (SentencePart(_OF_ITEMS[one.action]), name)
    elif not changed:
        yield from (SentencePart("moved"), name)
    elif changed.keys() == {"status"}:
        yield from (SentencePart("set"), name, SentencePart(f"to {changed['status'].after}"))
    elif changed.keys() == {"assignee"}:
        whom = changed["assignee"].after
        yield from (SentencePart("assigned" if whom else "unassigned"), name)
        if whom:
            yield SentencePart(f"to {whom}")
    elif changed.keys() <= {"epic_id", "user_story_id"}:
        parent = next(iter(changed.values()))
        yield from (
            SentencePart("moved"),
            name,
            SentencePart("to"),
            _name(str(parent.after)),
        )
    else:
        yield from (SentencePart("edited"), name)


def _comment_verb(one: Any) -> str:
    for each in one.differences:
        if each.field == "resolved":
            return "resolved a comment on" if each.after else "opened a comment again on"
    return _OF_COMMENTS[one.action]


def _shared_verb(touched: Sequence[Any]) -> str:
    actions = {each.action for each in touched}
    return _OF_ITEMS[actions.pop()] if len(actions) == 1 else "changed"


def _names(touched: Sequence[Any], news: Any) -> Iterator[SentencePart]:
    named = {each.reference_id: each for each in touched if each.reference_id}
    more = news.total - len(news.touched)
    for place, each in enumerate(named.values(), 1):
        part = (
            _name_of(each)
            if each.kind in ITEMS
            else SentencePart(each.reference_id.replace("_", " "))
        )
        yield part if place == len(named) else replace(part, behind=", ")
    if more > 0:
        yield SentencePart(f"and {more:,} more")


def with_links(reference: str) -> Iterator[SentencePart]:
    """Split a text such as `REQ-012 depends_on REQ-009` into parts, with items as links."""
    for word in reference.split():
        is_item = _NAME.fullmatch(word) is not None
        yield _name(word) if is_item else SentencePart(word.replace("_", " "))


def _name(reference: str) -> SentencePart:
    return SentencePart(reference, f"/items/{reference}", is_name=True)


def _name_of(one: Any) -> SentencePart:
    """Return the name of a changed object, as a link unless the object was deleted."""
    href = "" if one.action == "deleted" else href_of(one.kind, one.reference_id)
    return SentencePart(one.reference_id, href, is_name=True)


# What changed


def _has_heading(one: Any) -> bool:
    return one.kind in ITEMS or (one.kind in ("comment", "proposal") and one.action == "created")


def _redlines(one: Any) -> tuple[FieldRedline, ...]:
    if one is None or one.kind not in ITEMS or one.action != "updated":
        return ()
    fields = {each.field for each in one.differences}
    if fields <= _HIDDEN and len(fields) == 1:
        return ()
    return tuple(_redlined(each) for each in one.differences[:MAX_REDLINES])


def _redlined(difference: Any) -> FieldRedline:
    name = difference.field.removesuffix("_id").replace("_", " ")
    if difference.diff is not UNSET:
        return FieldRedline(name, unified(difference.diff, around=AROUND))
    return FieldRedline(
        name, redline(_text(difference.before), _text(difference.after), around=AROUND)
    )


def _text(value: Any) -> str:
    return "" if value is None or value is UNSET else str(value)[:MAX_PLAIN]


_TITLES: Final[dict[str, tuple[str, str, str]]] = {
    "relationship": ("Link added:", "Link changed:", "Link removed:"),
    "steering_link": ("Steering document linked:", "", "Steering document unlinked:"),
    "item_label": ("Label added:", "", "Label removed:"),
    "lint_suppression": ("Hint set aside:", "Hint set aside:", "Hint brought back:"),
    "comment": ("Comment added", "Comment edited", "Comment deleted"),
}
"""Titles of history rows by kind of object: for a created, an updated and a deleted one."""
_SHOWN: Final = frozenset({"text", "confirmed_reason", "reason", "type"})
"""Fields of related objects that a history row shows, because its title does not mention them."""


class HistoryRow(Struct, frozen=True):
    """A change in the history of an item."""

    revision: Revision
    title: tuple[SentencePart, ...]
    """The title of a change to a link, label, comment or lint hint of the item; empty for a change
    of the item itself."""
    differences: list[Difference]
    may_undo: bool


def history_rows(
    revisions: Iterable[Revision], *, actor: str, is_administrator: bool, is_first: bool = True
) -> list[HistoryRow]:
    """Return the rows of one page of an item's history, newest first.

    Undo is offered for the newest change of each object. Undone changes, and the changes that undid
    them, are ignored for that. Only the first page contains the newest change of the item.
    """
    superseded: set[str] = set() if is_first else {""}
    cancelled: set[str] = set()
    made = []
    for each in revisions:
        change, id = each.change, each.id or ""
        is_own = is_administrator or change.actor == actor
        is_creation = each.action == "created" and not id
        is_left = not change.undone_by and change.operation not in LASTING_OPERATIONS
        may_undo = is_own and is_left and id not in superseded and not is_creation
        made.append(HistoryRow(each, _history_title(each), _differences(each), may_undo))
        if change.id in cancelled:
            continue
        if change.undoes:
            cancelled.add(change.undoes)
        else:
            superseded.add(id)
    return made


def _history_title(revision: Revision) -> tuple[SentencePart, ...]:
    kind = revision.kind
    if kind is UNSET:
        return ()
    titles = _TITLES.get(kind)
    plain = kind.replace("_", " ")
    word = titles[_ACTIONS.index(revision.action)] if titles else f"{plain} {revision.action}"
    fields = {each.field: each for each in revision.differences}
    if kind == "comment":
        if "resolved" in fields and revision.action == "updated":
            word = f"Comment {'resolved' if fields['resolved'].after else 'opened again'}"
        return (SentencePart(word, behind=""),)
    if kind == "relationship" and revision.action == "updated" and "type" not in fields:
        word = "Link confirmed:"
    return (SentencePart(word), *with_links(_related_name(revision, fields)))


def _related_name(revision: Revision, fields: dict[str, Difference]) -> str:
    name = revision.reference_id or ""
    if revision.kind in ("item_label", "lint_suppression"):
        return name.partition(" ")[2]
    if revision.kind == "steering_link":
        ends = [fields[each] for each in ("steering_id", "epic_id") if each in fields]
        names = [each.after if each.after is not UNSET else each.before for each in ends]
        return " guides ".join(str(each) for each in names) or name
    return name


def _differences(revision: Revision) -> list[Difference]:
    if revision.kind is UNSET:
        return revision.differences
    if revision.kind == "relationship" and revision.action != "updated":
        return []
    return [each for each in revision.differences if each.field in _SHOWN]
