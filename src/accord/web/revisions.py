"""The history of an item as rows of a page: what each change did, and which can be undone. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET, Struct

from accord.hub.entities import Difference
from accord.hub.operations.changes import Revision
from accord.web.activity import LASTING_OPERATIONS, SentencePart, with_links

_TITLES: Final[dict[str, tuple[str, str, str]]] = {
    "relationship": ("Link added:", "Link changed:", "Link removed:"),
    "steering_link": ("Steering document linked:", "", "Steering document unlinked:"),
    "item_label": ("Label added:", "", "Label removed:"),
    "lint_suppression": ("Hint set aside:", "Hint set aside:", "Hint brought back:"),
    "comment": ("Comment added", "Comment edited", "Comment deleted"),
}
"""By kind: what was created, updated and deleted."""
_ACTIONS: Final = ("created", "updated", "deleted")
_SHOWN: Final = frozenset({"text", "confirmed_reason", "reason", "type"})
"""Fields of related things that the title does not tell."""


class HistoryRow(Struct, frozen=True):
    """One row of a history."""

    revision: Revision
    title: tuple[SentencePart, ...]
    """Of a change to a link, a label, a comment or a hint; empty for the item itself."""
    differences: list[Difference]
    may_undo: bool


def entries(
    revisions: Iterable[Revision], *, actor: str, is_administrator: bool, is_first: bool = True
) -> list[HistoryRow]:
    """Return the rows of a page of history, newest first. Undo is offered for the newest change of
    each thing; a change and its undo cancel each other. Only the first page knows the newest
    change of the item itself."""
    superseded: set[str] = set() if is_first else {""}
    cancelled: set[str] = set()
    made = []
    for each in revisions:
        change, id = each.change, each.id or ""
        is_own = is_administrator or change.actor == actor
        is_creation = each.action == "created" and not id
        is_left = not change.undone_by and change.operation not in LASTING_OPERATIONS
        may_undo = is_own and is_left and id not in superseded and not is_creation
        made.append(HistoryRow(each, _title(each), _differences(each), may_undo))
        if change.id in cancelled:
            continue
        if change.undoes:
            cancelled.add(change.undoes)
        else:
            superseded.add(id)
    return made


def _title(revision: Revision) -> tuple[SentencePart, ...]:
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
    return (SentencePart(word), *with_links(_name(revision, fields)))


def _name(revision: Revision, fields: dict[str, Difference]) -> str:
    name = revision.reference_id or ""
    if revision.kind in ("item_label", "lint_suppression"):
        return name.partition(" ")[2]
    if revision.kind == "steering_link":
        ends = [fields[each] for each in ("steering_id", "epic_id") if each in fields]
        told = [each.after if each.after is not UNSET else each.before for each in ends]
        return " guides ".join(str(each) for each in told) or name
    return name


def _differences(revision: Revision) -> list[Difference]:
    if revision.kind is UNSET:
        return revision.differences
    if revision.kind == "relationship" and revision.action != "updated":
        return []
    return [each for each in revision.differences if each.field in _SHOWN]
