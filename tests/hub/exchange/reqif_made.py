"""Small ReqIF files that contain only the parts that a test needs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
REQIF = "http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"


def reqif(
    *objects: str,
    repository: str = "",
    specification: str = "SPEC-1",
    title: str = "Brake",
    places: str | None = None,
    relations: str = "",
    types: str = "",
    more: str = "",
    head: str = HEAD,
    namespace: str = REQIF,
    lead: str = "",
) -> str:
    """Return a file with these objects, all at the top of one specification without `places`."""
    ids = [each.partition('IDENTIFIER="')[2].partition('"')[0] for each in objects]
    if places is None:
        places = "".join(map(place, ids))
    repository = f"<REPOSITORY-ID>{escape(repository)}</REPOSITORY-ID>" if repository else ""
    specifications = (
        f"<SPECIFICATION IDENTIFIER={quoteattr(specification)} LONG-NAME={quoteattr(title)}>"
        f"{lead}<CHILDREN>{places}</CHILDREN></SPECIFICATION>"
        if specification
        else ""
    )
    return (
        f'{head}<REQ-IF xmlns="{namespace}" xmlns:x="http://www.w3.org/1999/xhtml">'
        f'<THE-HEADER><REQ-IF-HEADER IDENTIFIER="h">{repository}<SOURCE-TOOL-ID>Other</SOURCE-TOOL-ID>'
        f"</REQ-IF-HEADER></THE-HEADER><CORE-CONTENT><REQ-IF-CONTENT><SPEC-TYPES>"
        '<SPEC-OBJECT-TYPE IDENTIFIER="t" LONG-NAME="REQUIREMENT"><SPEC-ATTRIBUTES>'
        f"{definition('ReqIF.Name')}{definition('ReqIF.Text')}{definition('ReqIF.ForeignID')}"
        f"{definition('STATUS')}{definition('RATIONALE')}"
        f"</SPEC-ATTRIBUTES></SPEC-OBJECT-TYPE>{types}</SPEC-TYPES>"
        f"<SPEC-OBJECTS>{''.join(objects)}</SPEC-OBJECTS>"
        f"<SPEC-RELATIONS>{relations}</SPEC-RELATIONS>"
        f"<SPECIFICATIONS>{specifications}</SPECIFICATIONS>"
        f"</REQ-IF-CONTENT></CORE-CONTENT>{more}</REQ-IF>"
    )


def definition(name: str) -> str:
    return f'<ATTRIBUTE-DEFINITION-STRING IDENTIFIER="a-{name}" LONG-NAME="{name}"/>'


def spec_object(id: str, text: str, attributes: str = "", inner: str = "", **values: str) -> str:
    """Return an object with a text and further attributes by name (`_` stands for `.`)."""
    given = {"ReqIF.Text": text} if text else {}
    given |= {name.replace("ReqIF_", "ReqIF."): value for name, value in values.items()}
    parts = "".join(
        f"<ATTRIBUTE-VALUE-STRING THE-VALUE={quoteattr(value)}><DEFINITION>"
        f"<ATTRIBUTE-DEFINITION-STRING-REF>a-{name}</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION>"
        "</ATTRIBUTE-VALUE-STRING>"
        for name, value in given.items()
    )
    return (
        f'<SPEC-OBJECT IDENTIFIER="{id}"{attributes}><TYPE><SPEC-OBJECT-TYPE-REF>t</SPEC-OBJECT-TYPE-REF>'
        f"</TYPE><VALUES>{parts}{inner}</VALUES></SPEC-OBJECT>"
    )


def place(id: str, below: str = "") -> str:
    children = f"<CHILDREN>{below}</CHILDREN>" if below else ""
    return (
        f"<SPEC-HIERARCHY><OBJECT><SPEC-OBJECT-REF>{id}</SPEC-OBJECT-REF></OBJECT>{children}"
        "</SPEC-HIERARCHY>"
    )


def relation(source: str, type: str, target: str, id: str = "", attributes: str = "") -> str:
    return (
        f'<SPEC-RELATION IDENTIFIER="{id or f"r-{source}-{type}-{target}"}"{attributes}>'
        f"<SOURCE><SPEC-OBJECT-REF>{source}</SPEC-OBJECT-REF></SOURCE>"
        f"<TARGET><SPEC-OBJECT-REF>{target}</SPEC-OBJECT-REF></TARGET>"
        f"<TYPE><SPEC-RELATION-TYPE-REF>rt-{type}</SPEC-RELATION-TYPE-REF></TYPE></SPEC-RELATION>"
    )


def relation_type(name: str) -> str:
    return f'<SPEC-RELATION-TYPE IDENTIFIER="rt-{name}" LONG-NAME="{name}"/>'


def archive(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a ZIP archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return out.getvalue()
