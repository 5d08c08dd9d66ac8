"""Write ReqIF (OMG ReqIF 1.2) for other requirements tools. Pure.

Every item is a SPEC-OBJECT with its kind as the type, every relationship a SPEC-RELATION, and one
SPECIFICATION holds the hierarchy. Texts are XHTML with line breaks, so they come back unchanged.
Attributes have the names in the implementation guide (`ReqIF.Name`, `ReqIF.Text`, …), or names of
our own where the guide has none. Comments are not included. `accord.hub.exchange.reqif_reader`
reads the format.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import uuid5
from xml.sax.saxutils import escape, quoteattr

from msgspec import UNSET

from accord.hub.domain.rules import KINDS, Kind
from accord.hub.exchange.csv_file import join_list
from accord.hub.exchange.project import OURS, Item, Project

TOOL: Final = "Accord"
NAMESPACE: Final = "http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"
XHTML: Final = "http://www.w3.org/1999/xhtml"
BEGINNING: Final = "2026-01-01T00:00:00.000000Z"
"""The LAST-CHANGE of elements that never change, such as types."""

ATTRIBUTES: Final[dict[str, str]] = {
    "reference_id": "ReqIF.ForeignID",
    "title": "ReqIF.Name",
    "description": "ReqIF.Text",
    "creator": "ReqIF.ForeignCreatedBy",
    "created_at": "ReqIF.ForeignCreatedOn",
    "status": "Status",
    "priority": "Priority",
    "type": "Type",
    "assignee": "Assignee",
    "acceptance_criteria": "Acceptance criteria",
    "labels": "Labels",
    "epics": "Epics",
    "name": "Prompt name",
    "content": "Prompt content",
    "role": "Prompt role",
    "active": "Prompt active",
}
"""By field of an item: the name of its ReqIF attribute."""
LONG: Final = frozenset({"description", "content"})
"""Fields that are written as XHTML; all other fields are written as strings."""

_FORBIDDEN: Final = re.compile("[\ufffe\uffff]")


def write(project: Project) -> str:
    """Return the text of a ReqIF file."""
    return "".join(_parts(project))


def identifier(*names: str) -> str:
    """Return an identifier derived from names: the same in every export."""
    return f"_{uuid5(OURS, '/'.join(names))}"


def _parts(project: Project) -> Iterator[str]:
    changed = max((str(item.updated_at or BEGINNING) for item in project.items), default=BEGINNING)
    ids = {str(item.reference_id): f"_{item.id}" for item in project.items}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<REQ-IF xmlns="{NAMESPACE}" xmlns:xhtml="{XHTML}">\n'
    yield "<THE-HEADER>\n"
    yield f'<REQ-IF-HEADER IDENTIFIER="{identifier("header", changed)}">\n'
    yield f"<CREATION-TIME>{changed}</CREATION-TIME>\n"
    if project.source:
        yield f"<REPOSITORY-ID>{escape(project.source)}</REPOSITORY-ID>\n"
    yield f"<REQ-IF-TOOL-ID>{TOOL}</REQ-IF-TOOL-ID>\n<REQ-IF-VERSION>1.0</REQ-IF-VERSION>\n"
    yield f"<SOURCE-TOOL-ID>{TOOL}</SOURCE-TOOL-ID>\n<TITLE>Requirements</TITLE>\n"
    yield "</REQ-IF-HEADER>\n</THE-HEADER>\n<CORE-CONTENT>\n<REQ-IF-CONTENT>\n"
    yield "<DATATYPES>\n"
    yield f'<DATATYPE-DEFINITION-STRING {_named("string", "String")} MAX-LENGTH="50000"/>\n'
    yield f"<DATATYPE-DEFINITION-XHTML {_named('xhtml', 'Text')}/>\n"
    yield "</DATATYPES>\n<SPEC-TYPES>\n"
    for kind, of_kind in KINDS.items():
        yield from _object_type(kind, of_kind.title)
    for type in sorted({link.type for link in project.relationships}):
        yield f"<SPEC-RELATION-TYPE {_named(f'relation/{type}', type)}/>\n"
    yield f"<SPECIFICATION-TYPE {_named('specification', 'Specification')}/>\n"
    yield "</SPEC-TYPES>\n<SPEC-OBJECTS>\n"
    for item in project.items:
        yield from _object(item)
    yield "</SPEC-OBJECTS>\n<SPEC-RELATIONS>\n"
    for link in project.relationships:
        when = str(link.created_at or changed)
        yield f'<SPEC-RELATION IDENTIFIER="_{link.id}" LAST-CHANGE="{when}">\n'
        yield f"<SOURCE><SPEC-OBJECT-REF>{ids[link.source]}</SPEC-OBJECT-REF></SOURCE>\n"
        yield f"<TARGET><SPEC-OBJECT-REF>{ids[link.target]}</SPEC-OBJECT-REF></TARGET>\n"
        reference = identifier(f"relation/{link.type}")
        yield f"<TYPE><SPEC-RELATION-TYPE-REF>{reference}</SPEC-RELATION-TYPE-REF></TYPE>\n"
        yield "</SPEC-RELATION>\n"
    yield "</SPEC-RELATIONS>\n<SPECIFICATIONS>\n"
    yield f"<SPECIFICATION {_named('requirements', 'Requirements', changed)}>\n"
    reference = identifier("specification")
    yield f"<TYPE><SPECIFICATION-TYPE-REF>{reference}</SPECIFICATION-TYPE-REF></TYPE>\n"
    yield from _hierarchy(project.items)
    yield "</SPECIFICATION>\n</SPECIFICATIONS>\n"
    yield "</REQ-IF-CONTENT>\n</CORE-CONTENT>\n</REQ-IF>\n"


def _named(name: str, shown: str, changed: str = BEGINNING) -> str:
    """Return IDENTIFIER, LAST-CHANGE and LONG-NAME as XML attributes of an element."""
    return f'IDENTIFIER="{identifier(name)}" LAST-CHANGE="{changed}" LONG-NAME={_quoted(shown)}'


def _object_type(kind: Kind, title: str) -> Iterator[str]:
    yield f"<SPEC-OBJECT-TYPE {_named(kind, title)}>\n<SPEC-ATTRIBUTES>\n"
    for field, shown in ATTRIBUTES.items():
        form = _form(field)
        datatype = identifier("xhtml" if field in LONG else "string")
        yield f"<ATTRIBUTE-DEFINITION-{form} {_named(f'{kind}/{field}', shown)}><TYPE>"
        yield f"<DATATYPE-DEFINITION-{form}-REF>{datatype}</DATATYPE-DEFINITION-{form}-REF>"
        yield f"</TYPE></ATTRIBUTE-DEFINITION-{form}>\n"
    yield "</SPEC-ATTRIBUTES>\n</SPEC-OBJECT-TYPE>\n"


def _object(item: Item) -> Iterator[str]:
    changed = str(item.updated_at or BEGINNING)
    yield f'<SPEC-OBJECT IDENTIFIER="_{item.id}" LAST-CHANGE="{changed}">\n<VALUES>\n'
    for field in ATTRIBUTES:
        value = getattr(item, field)
        if value is not UNSET and value is not None:
            yield from _value(item.kind, field, value)
    reference = identifier(item.kind)
    yield f"</VALUES>\n<TYPE><SPEC-OBJECT-TYPE-REF>{reference}</SPEC-OBJECT-TYPE-REF></TYPE>\n"
    yield "</SPEC-OBJECT>\n"


def _value(kind: Kind, field: str, value: Any) -> Iterator[str]:
    form = _form(field)
    text = join_list(value) if isinstance(value, list) else str(value)
    begin = f"<ATTRIBUTE-VALUE-{form}"
    yield f"{begin}>" if field in LONG else f"{begin} THE-VALUE={_quoted(text)}>"
    reference = identifier(f"{kind}/{field}")
    yield f"<DEFINITION><ATTRIBUTE-DEFINITION-{form}-REF>{reference}"
    yield f"</ATTRIBUTE-DEFINITION-{form}-REF></DEFINITION>"
    if field in LONG:
        yield f"<THE-VALUE><xhtml:div>{_xhtml(text)}</xhtml:div></THE-VALUE>"
    yield f"</ATTRIBUTE-VALUE-{form}>\n"


def _form(field: str) -> str:
    return "XHTML" if field in LONG else "STRING"


def _hierarchy(items: Iterable[Item]) -> Iterator[str]:
    below: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        below[str(item.parent or "")].append(item)

    def children(of: str) -> Iterator[str]:
        if of not in below:
            return
        yield "<CHILDREN>\n"
        for item in below[of]:
            changed = str(item.updated_at or BEGINNING)
            place = identifier("place", str(item.id))
            yield f'<SPEC-HIERARCHY IDENTIFIER="{place}" LAST-CHANGE="{changed}">'
            yield f"<OBJECT><SPEC-OBJECT-REF>_{item.id}</SPEC-OBJECT-REF></OBJECT>\n"
            yield from children(str(item.reference_id))
            yield "</SPEC-HIERARCHY>\n"
        yield "</CHILDREN>\n"

    yield from children("")


def _quoted(text: str) -> str:
    spaces = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
    return quoteattr(_FORBIDDEN.sub("\ufffd", text), spaces)


def _xhtml(text: str) -> str:
    escaped = escape(_FORBIDDEN.sub("\ufffd", text), {"\r": "&#13;"})
    return escaped.replace("\n", "<xhtml:br/>")
