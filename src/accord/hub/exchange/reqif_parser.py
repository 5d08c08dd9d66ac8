"""Parse the parts of a ReqIF file that an import uses. Pure.

Files are untrusted: a file with a DOCTYPE is refused, so there are no entities, and the nesting of
elements is limited. Elements outside of the used parts are dropped while the file is parsed; losses
that matter are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final
from xml.parsers import expat

from msgspec import Struct

from accord.hub.exchange.decoding import check_declared_encoding
from accord.hub.exchange.project import FormatError
from accord.hub.exchange.reqif_writer import XHTML

NAMESPACES: Final = "http://www.omg.org/spec/ReqIF/"
"""The common beginning of the XML namespaces of all ReqIF versions."""
MAX_DEPTH: Final = 100
KEPT_ELEMENTS: Final = frozenset(
    {
        "SPEC-OBJECT-TYPE",
        "SPEC-RELATION-TYPE",
        "SPEC-OBJECT",
        "SPEC-RELATION",
        "SPECIFICATION",
        "SPECIFICATION-TYPE",
        "REQ-IF-HEADER",
        "DATATYPE-DEFINITION-ENUMERATION",
    }
)
"""Elements that the parser keeps with their content. It searches all other elements for these."""
COUNTED_ELEMENTS: Final = frozenset({"RELATION-GROUP", "REQ-IF-TOOL-EXTENSION"})
"""Elements that the parser only counts; the import report names them as not kept."""
USED_CHILDREN: Final = frozenset({"VALUES", "TYPE", "SOURCE", "TARGET", "OBJECT", "CHILDREN"})
"""Child elements of objects, relations, specifications and places that an import uses."""
BLOCKS: Final = frozenset({"div", "p", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "table"})
PLAIN_ELEMENTS: Final = frozenset({"THE-VALUE", "div", "p", "br", "span"})
"""Elements of XHTML that plain text represents without loss."""

STYLE: Final = "the attribute style"
CHANGED: Final = "LAST-CHANGE of objects"

_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}-?(?:[0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}")


class Element:
    """An XML element; the names of ReqIF and XHTML elements have no namespace."""

    __slots__ = ("attributes", "children", "name")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[Element | str] = []

    @property
    def id(self) -> str:
        """The IDENTIFIER of the element; empty if there is none."""
        return self.attributes.get("IDENTIFIER", "").strip()

    def elements(self, name: str = "") -> Iterator[Element]:
        """Yield the child elements; with `name`, only those of this name."""
        for child in self.children:
            if isinstance(child, Element) and (not name or child.name == name):
                yield child

    def find(self, *path: str) -> Element | None:
        """Return the first element at the end of a path of names, or None."""
        found: Element | None = self
        for name in path:
            found = None if found is None else next(found.elements(name), None)
        return found

    def text(self, *path: str) -> str:
        """Return the text of the element at the end of a path; empty if there is none."""
        found = self.find(*path)
        texts = found.children if found is not None else ()
        return "".join(each for each in texts if isinstance(each, str)).strip()

    def reference(self, within: str) -> str:
        """Return the identifier in a reference, such as the reference to a type.

        `within` is the name of the child element that contains the `…-REF` element with the
        identifier. Empty if there is no such element.
        """
        holder = self.find(within)
        first = None if holder is None else next(holder.elements(), None)
        return "" if first is None else first.text()


class AttributeValue(Struct):
    """The value of an attribute as plain text, and the names of the parts lost."""

    name: str
    text: str
    lost: tuple[str, ...] = ()


class SpecObject(Struct):
    """A SPEC-OBJECT: its type and its attributes by the ids of their definitions."""

    id: str
    type: str
    name: str
    description: str
    values: list[AttributeValue]
    further: tuple[str, ...]
    """The names of the child elements other than attributes and type, which are not imported."""


class Relation(Struct):
    id: str
    source: str
    type: str
    target: str
    lost: tuple[str, ...]


class HierarchyPlace(Struct):
    """A SPEC-HIERARCHY: an object, and the places below it."""

    object: str
    below: list[HierarchyPlace]


class Specification(Struct):
    id: str
    name: str
    places: list[HierarchyPlace]
    lost: tuple[str, ...]


class ReqifFile:
    """The parts of a ReqIF file that an import uses."""

    def __init__(self) -> None:
        self.tool = ""
        self.title = ""
        self.repository = ""
        self.names: dict[str, str] = {}
        """Names of types, attributes and enumeration values, by identifier."""
        self.objects: dict[str, SpecObject] = {}
        self.duplicates: list[str] = []
        """Identifiers of skipped objects: empty ones, and those that an earlier object has."""
        self.relations: list[Relation] = []
        self.specifications: list[Specification] = []
        self.not_kept: Counter[str] = Counter()

    def keep(self, element: Element) -> None:
        """Store the parts of an element that an import uses; count the other parts."""
        match element.name:
            case "REQ-IF-HEADER":
                self.tool = element.text("SOURCE-TOOL-ID")
                self.title = element.text("TITLE")
                self.repository = element.text("REPOSITORY-ID")
                if element.text("COMMENT"):
                    self.not_kept["COMMENT of the header"] += 1
            case "SPEC-OBJECT":
                self._keep_object(element)
            case "SPEC-RELATION":
                self.relations.append(
                    Relation(
                        id=element.id,
                        source=element.reference("SOURCE"),
                        type=element.reference("TYPE"),
                        target=element.reference("TARGET"),
                        lost=tuple(self._lost(element)),
                    )
                )
            case "SPECIFICATION":
                self.not_kept.update(_lost_of_places(element))
                name = " ".join(element.attributes.get("LONG-NAME", "").split())
                lost = tuple(self._lost(element, skipped=("LONG-NAME",)))
                self.specifications.append(Specification(element.id, name, _places(element), lost))
            case _:
                self._keep_names(element)

    def name_of(self, identifier: str) -> str:
        """Return the name of a type, attribute or value; without one, its identifier."""
        return self.names.get(identifier) or identifier

    def named(self, found: SpecObject) -> list[AttributeValue]:
        """Return the attribute values of an object, with identifiers replaced by names."""
        return [
            AttributeValue(
                self.name_of(value.name),
                "; ".join(self.name_of(part) for part in value.text.split("\0") if part)
                if value.text.startswith("\0")
                else value.text,
                value.lost,
            )
            for value in found.values
        ]

    def _keep_names(self, element: Element) -> None:
        if element.id:
            self.names[element.id] = " ".join(element.attributes.get("LONG-NAME", "").split())
        if element.name.startswith("ATTRIBUTE-DEFINITION") and element.find("DEFAULT-VALUE"):
            self.not_kept[f"default value of {self.name_of(element.id)}"] += 1
        for child in element.elements():
            self._keep_names(child)

    def _keep_object(self, element: Element) -> None:
        found = SpecObject(
            id=element.id,
            type=element.reference("TYPE"),
            name=" ".join(element.attributes.get("LONG-NAME", "").split()),
            description=element.attributes.get("DESC", "").strip(),
            values=list(_values(element)),
            further=tuple(
                each.name for each in element.elements() if each.name not in USED_CHILDREN
            ),
        )
        if found.id in self.objects or not found.id:
            self.duplicates.append(found.id)
        else:
            self.objects[found.id] = found
        if "LAST-CHANGE" in element.attributes:
            self.not_kept[CHANGED] += 1

    def _lost(self, element: Element, skipped: tuple[str, ...] = ()) -> Iterator[str]:
        """Yield names of the parts of a specification or relation that are not imported."""
        for name in ("LONG-NAME", "DESC"):
            if name not in skipped and element.attributes.get(name, "").strip():
                yield name
        for value in _values(element):
            if value.text.strip():
                # Types may follow the elements that use them, so names are looked up at the end.
                yield value.name
        yield from (each.name for each in element.elements() if each.name not in USED_CHILDREN)


def parse(text: str) -> ReqifFile:
    """Parse a ReqIF file.

    Raises FormatError if the text is no XML or no ReqIF, declares an unsupported encoding, has a
    DOCTYPE, or is nested too deep.
    """
    check_declared_encoding(text)
    handlers = _ExpatHandlers()
    # The text is already decoded, so override the encoding that it declares.
    parser = expat.ParserCreate("utf-8", " ")
    parser.buffer_text = True
    parser.StartElementHandler = handlers.start
    parser.EndElementHandler = handlers.end
    parser.CharacterDataHandler = handlers.data
    # Refusing every DOCTYPE leaves no way to declare entities, internal or external.
    parser.StartDoctypeDeclHandler = handlers.refuse
    try:
        parser.Parse(text.encode(), True)
    except (expat.ExpatError, UnicodeEncodeError) as error:
        raise FormatError(f"this is no XML: {error}") from None
    return handlers.file


class _ExpatHandlers:
    """The handlers of the XML parser: build kept elements, drop all others."""

    def __init__(self) -> None:
        self.file = ReqifFile()
        self._stack: list[Element] = []
        self._namespace = ""
        self._kept_depth = 0
        """The number of open elements, counted from the outermost kept one; 0 outside of kept
        elements."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._stack:
            self._namespace = _namespace(name)
        if len(self._stack) >= MAX_DEPTH:
            raise FormatError(f"elements are nested more than {MAX_DEPTH} times")
        namespace, _, local = name.rpartition(" ")
        is_known = namespace in (self._namespace, XHTML)
        element = Element(local if is_known else name, attributes)
        if self._kept_depth:
            self._stack[-1].children.append(element)
        elif element.name in COUNTED_ELEMENTS:
            self.file.not_kept[element.name] += 1
        if self._kept_depth or element.name in KEPT_ELEMENTS:
            self._kept_depth += 1
        self._stack.append(element)

    def end(self, _name: str) -> None:
        element = self._stack.pop()
        if self._kept_depth:
            self._kept_depth -= 1
            if not self._kept_depth:
                self.file.keep(element)

    def data(self, characters: str) -> None:
        if self._kept_depth:
            self._stack[-1].children.append(characters)

    def refuse(self, *_: object) -> None:
        raise FormatError("a DOCTYPE is not allowed")


def is_unique(identifier: str) -> bool:
    """Return whether an identifier is globally unique: it contains a UUID."""
    return _UUID.search(identifier) is not None


def plain_text(element: Element) -> AttributeValue:
    """Return XHTML as plain text.

    Line breaks are kept, and blocks begin on a new line.
    """
    parts: list[str] = []
    lost: dict[str, None] = {}

    def walk(each: Element) -> None:
        if each.name not in PLAIN_ELEMENTS:
            lost[each.name.rpartition(" ")[2][:40]] = None
        if "style" in each.attributes:  # strike-through and colours carry meaning
            lost[STYLE] = None
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
    return AttributeValue("", "".join(parts), tuple(lost))


def _namespace(root: str) -> str:
    """Return the namespace of the file.

    Raises FormatError for a root that is not of ReqIF.
    """
    namespace, _, name = root.rpartition(" ")
    if name == "REQ-IF" and namespace.startswith(NAMESPACES):
        return namespace
    if name == "RIF":
        raise FormatError("this is RIF, the predecessor of ReqIF: export it as ReqIF 1.0 or newer")
    raise FormatError(
        f"this is no ReqIF: its root is {name[:64]!r} of the namespace {namespace[:100]!r}, not "
        f"'REQ-IF' of {NAMESPACES!r}"
    )


def _values(element: Element) -> Iterator[AttributeValue]:
    """Yield the attribute values of an element, named by their definitions' ids."""
    values = element.find("VALUES")
    for each in values.elements() if values is not None else ():
        found = _value(each)
        if each.find("THE-ORIGINAL-VALUE") is not None:
            found.lost = (*found.lost, "THE-ORIGINAL-VALUE")
        found.name = each.reference("DEFINITION")
        yield found


def _value(value: Element) -> AttributeValue:
    if "THE-VALUE" in value.attributes:
        return AttributeValue("", value.attributes["THE-VALUE"])
    chosen = value.find("VALUES")
    if chosen is not None:
        # Types follow objects in some files, so names are looked up at the end.
        return AttributeValue("", "\0".join(("", *(each.text() for each in chosen.elements()))))
    xhtml = value.find("THE-VALUE")
    return AttributeValue("", "") if xhtml is None else plain_text(xhtml)


def _lost_of_places(element: Element) -> Iterator[str]:
    """Yield names of the parts of an element's hierarchy that are not kept."""
    for below in element.elements("CHILDREN"):
        for place in below.elements("SPEC-HIERARCHY"):
            for name in ("LONG-NAME", "DESC"):
                if place.attributes.get(name, "").strip():
                    yield f"{name} of places"
            if place.attributes.get("IS-TABLE-INTERNAL", "").strip() in ("true", "1"):
                yield "IS-TABLE-INTERNAL of places"
            for each in place.elements():
                if each.name not in USED_CHILDREN:
                    yield f"{each.name} of places"
            yield from _lost_of_places(place)


def _places(element: Element) -> list[HierarchyPlace]:
    below = element.find("CHILDREN")
    if below is None:
        return []
    return [
        HierarchyPlace(each.reference("OBJECT"), _places(each))
        for each in below.elements("SPEC-HIERARCHY")
    ]
