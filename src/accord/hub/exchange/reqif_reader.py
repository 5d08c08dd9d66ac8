"""Read ReqIF files, our own and those of other tools, as rows. Pure.

Files that Accord wrote give back the same items and links. In files of other tools a SPECIFICATION
becomes an epic, a top-level object with objects below it a user story, and every other object a
requirement. Objects outside of all specifications become requirements of the first one. The import
report names everything that has no place in the hub: with its row, or counted for the whole file.

Identifiers of other tools are foreign ids. Their source is the REPOSITORY-ID of the file, or else
the id of the specification. A specification id counts as unique only if it contains a UUID. With
any other id the caller has to name the source before an import may change items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, Final
from uuid import UUID

from msgspec import UNSET

from accord.hub.domain.rules import KINDS, Kind
from accord.hub.exchange.csv_file import FIELDS, NULLABLE, split_list
from accord.hub.exchange.decoding import ReqifArchive, is_archive
from accord.hub.exchange.project import (
    MAX_FOREIGN_ID,
    Fault,
    FormatError,
    Item,
    Link,
    NotKept,
    Numbered,
    Origin,
    former_id,
)
from accord.hub.exchange.reqif_parser import (
    CHANGED,
    STYLE,
    AttributeValue,
    HierarchyPlace,
    ReqifFile,
    Specification,
    SpecObject,
    is_unique,
    parse,
)
from accord.hub.exchange.reqif_writer import ATTRIBUTES, TOOL

MAX_TITLE: Final = 500
TITLES: Final = ("ReqIF.Name", "ReqIF.ChapterName", "Title", "Name", "Object Heading")
TEXTS: Final = ("ReqIF.Text", "ReqIF.Description", "Description", "Text", "Object Text")
FOREIGN_ID: Final = "ReqIF.ForeignID"
DEEPER: Final = "place below another requirement"

_FIELDS: Final = {shown: field for field, shown in ATTRIBUTES.items()}
_KINDS: Final = {of_kind.title: kind for kind, of_kind in KINDS.items()}


def read(content: str) -> Iterator[Numbered]:
    """Return the rows of a file, or of all files in an archive.

    Raises FormatError if the content is invalid, or has no requirement.
    """
    if is_archive(content):
        return _archive(ReqifArchive(content))
    file = parse(content)
    if not _has_objects(file):
        raise FormatError("there is no requirement (SPEC-OBJECT) in this file")
    return _rows(file, count(1))


def _archive(archive: ReqifArchive) -> Iterator[Numbered]:
    rows = count(1)
    if archive.others:
        yield Numbered(0, NotKept("attached file", len(archive.others)))
    files = [parse(text) for text in archive.texts()]
    if not any(_has_objects(file) for file in files):
        raise FormatError("there is no requirement (SPEC-OBJECT) in this archive")
    # One file may contain only relations between objects of other files: read it last.
    for file in sorted(files, key=_has_objects, reverse=True):
        yield from _rows(file, rows)


def _rows(file: ReqifFile, rows: Iterator[int]) -> Iterator[Numbered]:
    return _own(file, rows) if file.tool == TOOL else _foreign(file, rows)


def _has_objects(file: ReqifFile) -> bool:
    return bool(file.objects or file.duplicates)


def _totals(file: ReqifFile) -> Iterator[Numbered]:
    for what, number in file.not_kept.items():
        yield Numbered(0, NotKept(what, number))


# Our own files


def _own(file: ReqifFile, rows: Iterator[int]) -> Iterator[Numbered]:
    if file.repository:
        yield Numbered(0, Origin(file.repository))
    file.not_kept.pop(CHANGED, None)  # like `updated_at` in other formats, not reported
    yield from _totals(file)
    for specification in file.specifications:
        for lost in specification.lost:
            yield Numbered(0, NotKept(f"{_attribute(file.name_of(lost))} of a specification"))
    placed = [pair for each in file.specifications for pair in _with_parents(each.places, "")]
    seen: set[str] = set()
    for id, parent in placed:
        found = file.objects.get(id)
        kind = _KINDS.get(file.name_of(found.type)) if found is not None else None
        if id in seen:
            yield Numbered(next(rows), Fault(f"{id[:64]!r} is in the hierarchy twice"))
        elif found is None or kind is None:
            yield Numbered(next(rows), Fault(f"{id[:64]!r} is not described, or of no known type"))
        else:
            yield _own_item(next(rows), kind, found, file.named(found), _id(parent))
        seen.add(id)
    for id in file.objects.keys() - seen:
        yield Numbered(next(rows), Fault(f"{id[:64]!r} is not in the hierarchy"))
    yield from _duplicates(file, rows)
    for relation in file.relations:
        yield Numbered(
            next(rows),
            Link(
                source=_id(relation.source),
                type=file.name_of(relation.type),
                target=_id(relation.target),
                id=_id(relation.id),
            ),
            not_kept=tuple(_attribute(file.name_of(each)) for each in relation.lost),
        )


def _duplicates(file: ReqifFile, rows: Iterator[int]) -> Iterator[Numbered]:
    for id in file.duplicates:
        what = f"the identifier {id[:64]!r} is of two objects" if id else "an object has no id"
        yield Numbered(next(rows), Fault(what))


def _with_parents(places: Iterable[HierarchyPlace], parent: str) -> Iterator[tuple[str, str]]:
    for place in places:
        yield place.object, parent
        yield from _with_parents(place.below, place.object)


def _own_item(
    row: int, kind: Kind, found: SpecObject, named: list[AttributeValue], parent: str
) -> Numbered:
    values: dict[str, Any] = {
        _FIELDS[value.name]: value.text for value in named if value.name in _FIELDS
    }
    for field in NULLABLE & FIELDS[kind]:
        values.setdefault(field, None)
    for field in ("labels", "epics"):
        if field in values:
            values[field] = split_list(values[field])
    if "active" in values:
        if values["active"] not in ("True", "False"):
            return Numbered(row, Fault(f"active: {values['active'][:20]!r} is not True or False"))
        values["active"] = values["active"] == "True"
    if "priority" in values:
        if not values["priority"].isdecimal():
            return Numbered(row, Fault(f"priority: {values['priority'][:20]!r} is no number"))
        values["priority"] = int(values["priority"][:9])
    if KINDS[kind].parent is not None:
        values["parent"] = parent
    return Numbered(
        row,
        Item(kind=kind, id=_id(found.id), **values),
        not_kept=tuple(
            dict.fromkeys(
                (
                    *(("LONG-NAME",) if found.name else ()),
                    *(("DESC",) if found.description else ()),
                    *(
                        _attribute(value.name)
                        for value in named
                        if value.name not in _FIELDS and value.text.strip()
                    ),
                    *(f"{part} of {value.name}" for value in named for part in _formats(value)),
                    *found.further,
                )
            )
        ),
    )


# Files of other tools


def _foreign(file: ReqifFile, rows: Iterator[int]) -> Iterator[Numbered]:
    if file.repository:
        yield Numbered(0, Origin(file.repository))
    yield from _totals(file)
    names = {each.name for each in file.specifications if each.name}
    if file.title and names and " ".join(file.title.split()) not in names:
        yield Numbered(0, NotKept("TITLE of the header"))
    yield from _ForeignReader(file, rows).rows()


class _ForeignReader:
    """A reader that turns one file of another tool into rows."""

    def __init__(self, file: ReqifFile, rows: Iterator[int]) -> None:
        self._file = file
        self._rows = rows
        self._stories: set[str] = set()
        """Ids of the objects that became user stories."""
        self._placed: set[str] = set()
        """Ids of the objects that already have a row."""

    def rows(self) -> Iterator[Numbered]:
        file = self._file
        specifications = file.specifications
        if not specifications and _has_objects(file):
            specifications = [Specification("", file.title, [], ())]
        within = {id for each in specifications for id, _ in _with_parents(each.places, "")}
        outside = [id for id in file.objects if id not in within]
        for specification in specifications:
            if not file.repository:
                yield Numbered(0, Origin(specification.id, certain=is_unique(specification.id)))
            yield from self._specification(specification, outside)
            outside = []
        yield from _duplicates(file, self._rows)
        for relation in file.relations:
            if not relation.source or not relation.target:
                what = f"the relation {relation.id[:64]!r} has no source or no target"
                yield Numbered(next(self._rows), Fault(what))
                continue
            link = Link(
                source=relation.source,
                type=file.name_of(relation.type) or "without a type",
                target=relation.target,
                id=_id(relation.id) or UNSET,
            )
            lost = tuple(_attribute(file.name_of(each)) for each in relation.lost)
            yield Numbered(next(self._rows), link, not_kept=lost)

    def _specification(
        self, specification: Specification, outside: list[str]
    ) -> Iterator[Numbered]:
        title = specification.name or self._file.title or "Imported requirements"
        epic = f"specification {specification.id}"
        loose = f"loose {specification.id}"
        yield Numbered(
            next(self._rows),
            Item(kind="epic", foreign_id=epic, title=title[:MAX_TITLE].rstrip()),
            not_kept=(
                *(_attribute(self._file.name_of(each)) for each in specification.lost),
                *(("title after 500 characters",) if len(title) > MAX_TITLE else ()),
            ),
            former_id=former_id(epic),
        )
        if outside or any(not place.below for place in specification.places):
            story = Item(
                kind="user_story", foreign_id=loose, parent=epic, title=title[:MAX_TITLE].rstrip()
            )
            yield Numbered(next(self._rows), story, former_id=former_id(loose))
        for place in specification.places:
            story_id = loose
            if place.below:
                if place.object not in self._placed:
                    self._stories.add(place.object)
                    yield self._described("user_story", place.object, epic)
                    story_id = place.object
                elif place.object in self._stories:
                    yield Numbered(0, NotKept("further place of an object"))
                    story_id = place.object
            yield from self._requirements(place.below or [place], story_id, DEEPER, is_top=True)
        notes = ("it is in no specification of the file",) if self._file.specifications else ()
        for id in outside:
            yield self._described("requirement", id, loose, notes=notes)

    def _requirements(
        self, places: Iterable[HierarchyPlace], story: str, deeper: str, *, is_top: bool
    ) -> Iterator[Numbered]:
        for place in places:
            if place.object in self._placed:
                yield Numbered(0, NotKept("further place of an object"))
            else:
                lost = () if is_top else (deeper,)
                yield self._described("requirement", place.object, story, lost)
            yield from self._requirements(place.below, story, deeper, is_top=False)

    def _described(
        self,
        kind: Kind,
        id: str,
        parent: str,
        lost: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> Numbered:
        self._placed.add(id)
        row = next(self._rows)
        found = self._file.objects.get(id)
        if found is None:
            return Numbered(row, Fault(f"the object {id[:64]!r} is not in the file"))
        if len(id) > MAX_FOREIGN_ID:
            return Numbered(
                row,
                Fault(f"an identifier of {len(id):,} characters exceeds {MAX_FOREIGN_ID:,}"),
            )
        title, text, not_kept = _texts(self._file, found)
        own = _uuid(id)
        return Numbered(
            row,
            Item(
                kind=kind,
                id=own or UNSET,
                foreign_id=id,
                parent=parent,
                title=title[:MAX_TITLE].rstrip(),
                description=text,
            ),
            not_kept=(*not_kept, *lost),
            notes=notes,
            former_id="" if own else former_id(id),
        )


def _texts(file: ReqifFile, found: SpecObject) -> tuple[str, str, list[str]]:
    """Return title and text of an object, and the names of its unused parts."""
    named = file.named(found)
    filled = [value for value in named if value.text.strip()]
    text = _first(filled, TEXTS)
    title = _first(filled, TITLES)
    used = [text, title]
    is_cut = False
    foreign_id = _first(filled, (FOREIGN_ID,))
    not_kept = [f"type {file.name_of(found.type)}"] if file.name_of(found.type) else []
    if title is not None:
        heading, is_cut = title.text, True
        if found.name and found.name != " ".join(heading.split()):
            not_kept.append("LONG-NAME")
    elif found.name:
        heading, is_cut = found.name, True
    elif text is not None:
        heading = text.text
    else:
        heading = foreign_id.text if foreign_id is not None else found.id
        used.append(foreign_id)
    if found.description:
        not_kept.append("DESC")
    not_kept += [_attribute(value.name) for value in filled if value not in used]
    not_kept += [f"{part} of {value.name}" for value in named for part in _formats(value)]
    not_kept += found.further
    description = text.text.strip() if text is not None else ""
    heading = " ".join(heading.split())
    if is_cut and len(heading) > MAX_TITLE:
        not_kept.append("title after 500 characters")
    return heading, description, list(dict.fromkeys(not_kept))


def _formats(value: AttributeValue) -> list[str]:
    return [f"<{each}>" if each.islower() and each != STYLE else each for each in value.lost]


def _first(values: list[AttributeValue], names: tuple[str, ...]) -> AttributeValue | None:
    for name in names:
        for value in values:
            if value.name == name:
                return value
    return None


def _attribute(name: str) -> str:
    """Return the name of an attribute as the import report shows it."""
    return " ".join(name.split())[:100] or "attribute without a name"


def _uuid(identifier: str) -> str:
    """Return an identifier as a UUID; empty if it is none.

    A leading underscore is ignored.
    """
    try:
        return str(UUID(identifier.removeprefix("_")))
    except ValueError:
        return ""


def _id(identifier: str) -> str:
    """Return the UUID in an identifier, or else a UUID derived from the identifier.

    An empty identifier gives an empty text.
    """
    return (_uuid(identifier) or former_id(identifier)) if identifier else ""
