"""Which URIs a change concerns: those of what changed, and of the lists and trees it stands in.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from accord.hub.domain.kinds import KINDS, Kind, parse_reference
from accord.operations.work import is_uuid

LISTS: Final = "requirements://"
TREES: Final = frozenset[Kind](("epic", "user_story"))
"""Kinds with a hierarchy below them."""
POINTERS: Final = ("parent_id", "source_id", "target_id", "item_id", "epic_id", "steering_id")
"""Fields that refer to an item."""


class Revision(Struct, frozen=True):
    """The effect of a change on one entity."""

    kind: str
    id: str
    reference_id: str
    action: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def pointed(self, field: str) -> Iterator[str]:
        """Yield the old and the new value of a field."""
        for values in (self.before, self.after):
            value = values.get(field)
            if isinstance(value, str):
                yield value

    @property
    def items(self) -> set[str]:
        """The ids of all items that the revision is about."""
        found = {id for field in POINTERS for id in self.pointed(field)}
        if self.kind in KINDS:
            found.add(self.id)
        elif self.kind in ("item_label", "steering_link"):
            found |= set(self.id.split(":")[:2])
        return found


class Place(Struct, frozen=True):
    """The location of an item in the hierarchy."""

    kind: Kind
    id: str
    reference_id: str
    parent_id: str | None = None


def uri_of(kind: Kind, name: str) -> str:
    """Return the URI of an item, by UUID or reference id."""
    return f"{KINDS[kind].scheme}://{name}"


def list_uri(kind: Kind) -> str:
    return f"{LISTS}{KINDS[kind].plural}"


def uris_of(revision: Revision, places: Mapping[str, Place]) -> set[str]:
    """Return the URIs with contents that a revision changed.

    These are the URIs of the entity itself, and of the lists and trees that contain it.
    """
    if revision.kind in KINDS:
        return set(_of_item(revision, places))
    if revision.kind == "requirement_type":
        return {f"{LISTS}requirement-types"}
    if revision.kind == "relationship":
        ends = {*revision.pointed("source_id"), *revision.pointed("target_id")}
        return set(_of_each(ends, places, "/relationships"))
    if revision.kind in ("item_label", "steering_link"):
        return set(_of_each(revision.items, places, ""))
    return set()


def _of_item(revision: Revision, places: Mapping[str, Place]) -> Iterator[str]:
    kind: Kind = revision.kind  # type: ignore[assignment]
    own = places.get(revision.id) or Place(kind, revision.id, revision.reference_id)
    yield list_uri(kind)
    for base in _names(own):
        yield base
        if kind in TREES:
            yield f"{base}/hierarchy"
        if kind == "requirement":
            yield f"{base}/relationships"
    if kind == "prompt":
        yield f"{LISTS}prompts/active"
    above = {*revision.pointed("parent_id"), *((own.parent_id,) if own.parent_id else ())}
    for parent in above:
        yield from _of_parent(places.get(parent), KINDS[kind].plural, places)


def _of_parent(parent: Place | None, children: str, places: Mapping[str, Place]) -> Iterator[str]:
    if parent is None:
        return
    for base in _names(parent):
        yield f"{base}/{children}"
    while parent is not None:
        for base in _names(parent):
            yield f"{base}/hierarchy"
        parent = places.get(parent.parent_id or "")


def _of_each(ids: set[str], places: Mapping[str, Place], below: str) -> Iterator[str]:
    for id in ids:
        if id in places:
            for base in _names(places[id]):
                yield base + below


def _names(place: Place) -> tuple[str, str]:
    return uri_of(place.kind, place.reference_id), uri_of(place.kind, place.id)


def changes_prompts(revision: Revision) -> bool:
    """Return whether a revision changes the list of prompts."""
    named = {"name", "title", "description"}
    return revision.kind == "prompt" and (
        revision.action != "updated" or bool(named & {*revision.before, *revision.after})
    )


def changes_items(revision: Revision) -> bool:
    """Return whether a revision adds or removes an item."""
    return revision.kind in KINDS and revision.action != "updated"


def canonical(uri: str) -> str:
    """Return a URI in the spelling of notifications, with a canonical reference id."""
    scheme, mark, rest = uri.partition("://")
    name, slash, below = rest.partition("/")
    if scheme.endswith("requirements") or not mark:
        return uri
    reference = parse_reference(name)
    if reference is not None:
        name = str(reference)
    elif is_uuid(name):
        name = name.lower()
    return f"{scheme}://{name}{slash}{below}"
