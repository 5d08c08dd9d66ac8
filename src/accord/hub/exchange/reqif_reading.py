"""ReqIF files, of ours and of other tools. Pure.

Files are hostile: one with a DOCTYPE is refused, so that there are no entities, and elements nest
a limited number of times. What is not asked for is dropped while it is read.

Our own files give what was written. Of others, a SPECIFICATION becomes an epic, what stands at its
top and has something below it a user story, and everything else requirements. Their identifiers
stay: the same file read again finds what it made before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Final
from uuid import UUID, uuid5
from xml.parsers import expat

from msgspec import Struct

from accord.hub.domain.folding import fold
from accord.hub.domain.kinds import KINDS, Kind
from accord.hub.exchange.cells import split
from accord.hub.exchange.csv_file import FIELDS, NULLABLE
from accord.hub.exchange.project import Fault, FormatError, Item, Link, Numbered
from accord.hub.exchange.reqif_file import ATTRIBUTES, NAMESPACE, OURS, TOOL, XHTML

MAX_DEPTH: Final = 100
KNOWN_TYPES: Final = frozenset(
    {
        *("depends_on", "blocks", "relates_to", "conflicts_with", "derives_from", "refines"),
        *("verifies", "satisfies", "duplicates"),
    }
)
"""Relations of other tools that mean what ours mean; all others become `relates_to`."""
MAX_TITLE: Final = 500

KEPT: Final = frozenset(
    {
        "SPEC-OBJECT-TYPE",
        "SPEC-RELATION-TYPE",
        "SPEC-OBJECT",
        "SPEC-RELATION",
        "SPECIFICATION",
        "REQ-IF-HEADER",
        "DATATYPE-DEFINITION-ENUMERATION",
    }
)
"""Elements that are looked at whole; others only lead to them."""
BLOCKS: Final = frozenset({"div", "p", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "table"})
TITLES: Final = ("ReqIF.Name", "ReqIF.ChapterName", "Title", "Name", "Object Heading")
TEXTS: Final = ("ReqIF.Text", "ReqIF.Description", "Description", "Text", "Object Text")

_FIELDS: Final = {shown: field for field, shown in ATTRIBUTES.items()}
_KINDS: Final = {of_kind.title: kind for kind, of_kind in KINDS.items()}


class _Element:
    """An element, with the names of ReqIF without their namespace."""

    __slots__ = ("attributes", "children", "name")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[_Element | str] = []

    @property
    def id(self) -> str:
        return self.attributes.get("IDENTIFIER", "")

    def elements(self, name: str = "") -> Iterator[_Element]:
        for child in self.children:
            if isinstance(child, _Element) and (not name or child.name == name):
                yield child

    def find(self, *path: str) -> _Element | None:
        found: _Element | None = self
        for name in path:
            found = None if found is None else next(found.elements(name), None)
        return found

    def text(self, *path: str) -> str:
        found = self.find(*path)
        texts = found.children if found is not None else ()
        return "".join(each for each in texts if isinstance(each, str)).strip()

    def reference(self, within: str) -> str:
        """The identifier in the element that a `…-REF` within `within` names."""
        holder = self.find(within)
        first = None if holder is None else next(holder.elements(), None)
        return "" if first is None else first.text()


class _Object(Struct):
    """A SPEC-OBJECT: its type, and its attributes by name."""

    id: str
    type: str
    values: dict[str, str]


class _Place(Struct):
    """A SPEC-HIERARCHY: an object, and those below it."""

    object: str
    below: list[_Place]


class _File:
    """What a file holds."""

    def __init__(self) -> None:
        self.tool = ""
        self.title = ""
        self.types: dict[str, str] = {}
        """The names of types, of attributes and of the values of enumerations, by identifier."""
        self.objects: dict[str, _Object] = {}
        self.relations: list[tuple[str, str, str, str]] = []
        self.specifications: list[tuple[str, str, list[_Place]]] = []

    def keep(self, element: _Element) -> None:
        match element.name:
            case "REQ-IF-HEADER":
                self.tool = element.text("SOURCE-TOOL-ID")
                self.title = element.text("TITLE")
            case "SPEC-OBJECT":
                self._keep_object(element)
            case "SPEC-RELATION":
                self.relations.append(
                    (
                        element.id,
                        element.reference("SOURCE"),
                        element.reference("TYPE"),
                        element.reference("TARGET"),
                    )
                )
            case "SPECIFICATION":
                name = element.attributes.get("LONG-NAME", "")
                self.specifications.append((element.id, name, _places(element)))
            case _:
                self._keep_names(element)

    def _keep_names(self, element: _Element) -> None:
        if element.id:
            self.types[element.id] = element.attributes.get("LONG-NAME", "")
        for child in element.elements():
            self._keep_names(child)

    def _keep_object(self, element: _Element) -> None:
        values = element.find("VALUES")
        found = _Object(element.id, element.reference("TYPE"), {})
        for value in values.elements() if values is not None else ():
            found.values[value.reference("DEFINITION")] = self._value(value)
        self.objects[found.id] = found

    def _value(self, value: _Element) -> str:
        if "THE-VALUE" in value.attributes:
            return value.attributes["THE-VALUE"]
        chosen = value.find("VALUES")
        if chosen is not None:
            # Types stand after objects in some files: names are looked up in the end.
            return "\0".join(each.text() for each in chosen.elements())
        xhtml = value.find("THE-VALUE")
        return "" if xhtml is None else _plain(xhtml)

    def named(self, found: _Object) -> dict[str, str]:
        """The attributes of an object by the names of their definitions."""
        return {
            self.types.get(definition, definition): "; ".join(
                self.types.get(part, part) for part in value.split("\0")
            )
            for definition, value in found.values.items()
        }


def read(text: str) -> Iterator[Numbered]:
    """The rows of a file. Raises FormatError."""
    file = _parse(text)
    return _own(file) if file.tool == TOOL else _foreign(file)


def _parse(text: str) -> _File:
    file = _File()
    stack: list[_Element] = []
    kept = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal kept
        if len(stack) >= MAX_DEPTH:
            raise FormatError(f"elements are nested more than {MAX_DEPTH} times")
        element = _Element(_local(name), attributes)
        if kept:
            stack[-1].children.append(element)
        if kept or element.name in KEPT:
            kept += 1
        stack.append(element)

    def end(name: str) -> None:
        nonlocal kept
        element = stack.pop()
        if kept:
            kept -= 1
            if not kept:
                file.keep(element)

    def data(characters: str) -> None:
        if kept:
            stack[-1].children.append(characters)

    def refuse(*_: object) -> None:
        raise FormatError("a DOCTYPE is not allowed")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except (expat.ExpatError, UnicodeEncodeError) as error:
        raise FormatError(f"this is no XML: {error}") from None
    return file


def _local(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    if namespace not in (NAMESPACE, XHTML):
        return name
    return local


def _places(element: _Element) -> list[_Place]:
    below = element.find("CHILDREN")
    if below is None:
        return []
    return [
        _Place(each.reference("OBJECT"), _places(each)) for each in below.elements("SPEC-HIERARCHY")
    ]


def _plain(element: _Element) -> str:
    """The text of XHTML: line breaks stay, blocks stand on lines of their own."""
    parts: list[str] = []

    def walk(each: _Element) -> None:
        for child in each.children:
            if isinstance(child, str):
                parts.append(child)
            elif child.name == "br":
                parts.append("\n")
            else:
                if child.name in BLOCKS and parts and not parts[-1].endswith("\n"):
                    parts.append("\n")
                walk(child)

    walk(element)
    return "".join(parts)


# Our own files


def _own(file: _File) -> Iterator[Numbered]:
    rows = count(1)
    names = {id: file.named(found) for id, found in file.objects.items()}
    placed = [pair for _, _, places in file.specifications for pair in _with_parents(places, "")]
    for id, parent in placed:
        found = file.objects.get(id)
        kind = _KINDS.get(file.types.get(found.type, "")) if found is not None else None
        if found is None or kind is None:
            yield Numbered(next(rows), Fault(f"{id[:64]!r} is not described, or of no known type"))
        else:
            yield Numbered(next(rows), _own_item(kind, id, names[id], _uuid(parent)))
    for relation, source, type, target in file.relations:
        yield Numbered(
            next(rows),
            Link(
                source=_uuid(source),
                type=file.types.get(type, type),
                target=_uuid(target),
                id=_uuid(relation),
            ),
        )


def _with_parents(places: list[_Place], parent: str) -> Iterator[tuple[str, str]]:
    for place in places:
        yield place.object, parent
        yield from _with_parents(place.below, place.object)


def _own_item(kind: Kind, id: str, named: dict[str, str], parent: str) -> Item:
    values: dict[str, Any] = {
        _FIELDS[name]: value for name, value in named.items() if name in _FIELDS
    }
    for field in NULLABLE & FIELDS[kind]:
        values.setdefault(field, None)
    for field in ("labels", "epics"):
        if field in values:
            values[field] = split(values[field])
    if "active" in values:
        values["active"] = values["active"] == "True"
    if "priority" in values:
        values["priority"] = int(values["priority"]) if values["priority"].isdecimal() else 0
    if KINDS[kind].parent is not None:
        values["parent"] = parent
    return Item(kind=kind, id=_uuid(id), **values)


# Files of other tools


def _foreign(file: _File) -> Iterator[Numbered]:
    rows = count(1)
    specifications = file.specifications or [
        ("", file.title, [_Place(id, []) for id in file.objects])
    ]
    placed: set[str] = set()
    for specification, title, places in specifications:
        epic = _uuid(f"specification {specification}")
        shown = title or file.title or "Imported requirements"
        yield Numbered(next(rows), Item(kind="epic", id=epic, title=shown[:MAX_TITLE]))
        loose = _uuid(f"loose {specification}")
        if any(not place.below for place in places):
            story = Item(kind="user_story", id=loose, parent=epic, title=shown[:MAX_TITLE])
            yield Numbered(next(rows), story)
        for place in places:
            within = loose
            if place.below:
                within = _uuid(place.object)
                yield Numbered(next(rows), _described(file, "user_story", place.object, epic))
                placed.add(place.object)
            for id, _ in _with_parents(place.below or [place], ""):
                if id not in placed:
                    placed.add(id)
                    yield Numbered(next(rows), _described(file, "requirement", id, within))
    for relation, source, type, target in file.relations:
        if source in placed and target in placed:
            name = fold(file.types.get(type, "")).replace(" ", "_")
            name = name if name in KNOWN_TYPES else "relates_to"
            link = Link(source=_uuid(source), type=name, target=_uuid(target), id=_uuid(relation))
            yield Numbered(next(rows), link)


def _described(file: _File, kind: Kind, id: str, parent: str) -> Item | Fault:
    found = file.objects.get(id)
    if found is None:
        return Fault(f"the object {id[:64]!r} is not in the file")
    named = file.named(found)
    text = next((named[name] for name in TEXTS if named.get(name)), "").strip()
    title = next((named[name] for name in TITLES if named.get(name)), "")
    title = " ".join((title or text or named.get("ReqIF.ForeignID", "") or id).split())
    return Item(kind=kind, id=_uuid(id), parent=parent, title=title[:MAX_TITLE], description=text)


def _uuid(identifier: str) -> str:
    """An identifier as a UUID: the one in it, or one that follows from it."""
    if not identifier:
        return ""
    try:
        return str(UUID(identifier.removeprefix("_")))
    except ValueError:
        return str(uuid5(OURS, identifier))
