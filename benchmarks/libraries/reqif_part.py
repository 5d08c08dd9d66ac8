"""ReqIF: a file of 2,000 objects, hostile files, what is lost."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Final

from reqif.parser import ReqIFParser

from accord.hub.exchange.reqif_parser import parse
from accord.hub.exchange.reqif_reader import read
from benchmarks.libraries.figures import attempt, import_cost, micro, show, versions

OBJECTS: Final = 2_000
XHTML: Final = "http://www.w3.org/1999/xhtml"
HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
ROOT: Final = (
    f'<REQ-IF xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd" xmlns:xhtml="{XHTML}">'
)
FRONT: Final = (
    '<THE-HEADER><REQ-IF-HEADER IDENTIFIER="h"><CREATION-TIME>2026-11-19T00:00:00Z</CREATION-TIME>'
    "<REPOSITORY-ID>r</REPOSITORY-ID><REQ-IF-TOOL-ID>t</REQ-IF-TOOL-ID>"
    "<REQ-IF-VERSION>1.2</REQ-IF-VERSION><SOURCE-TOOL-ID>s</SOURCE-TOOL-ID><TITLE>Brake</TITLE>"
    "</REQ-IF-HEADER></THE-HEADER><CORE-CONTENT><REQ-IF-CONTENT><DATATYPES>"
    '<DATATYPE-DEFINITION-XHTML IDENTIFIER="d" LAST-CHANGE="2026-11-19T00:00:00Z" LONG-NAME="X"/>'
    '</DATATYPES><SPEC-TYPES><SPEC-OBJECT-TYPE IDENTIFIER="t" LAST-CHANGE="2026-11-19T00:00:00Z" '
    'LONG-NAME="REQUIREMENT"><SPEC-ATTRIBUTES><ATTRIBUTE-DEFINITION-XHTML IDENTIFIER="a" '
    'LAST-CHANGE="2026-11-19T00:00:00Z" LONG-NAME="ReqIF.Text"><TYPE>'
    "<DATATYPE-DEFINITION-XHTML-REF>d</DATATYPE-DEFINITION-XHTML-REF></TYPE>"
    "</ATTRIBUTE-DEFINITION-XHTML></SPEC-ATTRIBUTES></SPEC-OBJECT-TYPE></SPEC-TYPES><SPEC-OBJECTS>"
)
BACK: Final = (
    "</SPEC-OBJECTS><SPEC-RELATIONS></SPEC-RELATIONS><SPECIFICATIONS></SPECIFICATIONS>"
    "</REQ-IF-CONTENT></CORE-CONTENT></REQ-IF>"
)


def spec_object(id: str, text: str) -> str:
    return (
        f'<SPEC-OBJECT IDENTIFIER="{id}" LAST-CHANGE="2026-11-19T00:00:00Z"><TYPE>'
        "<SPEC-OBJECT-TYPE-REF>t</SPEC-OBJECT-TYPE-REF></TYPE><VALUES><ATTRIBUTE-VALUE-XHTML>"
        "<DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>a</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION>"
        f"<THE-VALUE><xhtml:div>{text}</xhtml:div></THE-VALUE></ATTRIBUTE-VALUE-XHTML></VALUES>"
        "</SPEC-OBJECT>"
    )


def document(*objects: str, doctype: str = "") -> str:
    return f"{HEAD}{doctype}{ROOT}{FRONT}{''.join(objects)}{BACK}"


LAUGHS: Final = (
    "<!DOCTYPE REQ-IF [<!ENTITY a0 'ha'>"
    + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 10))
    + "]>"
)
DEEP: Final = "<xhtml:div>" * 100_000 + "x" + "</xhtml:div>" * 100_000
HOSTILE: Final = {
    "a billion laughs": document(spec_object("A", "&a9;"), doctype=LAUGHS),
    "an entity that is /etc/hostname": document(
        spec_object("A", "&host;"),
        doctype="<!DOCTYPE REQ-IF [<!ENTITY host SYSTEM 'file:///etc/hostname'>]>",
    ),
    "elements nested 100,000 times": document(spec_object("A", DEEP)),
    "no namespace": document(spec_object("A", "x")).replace(
        ' xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"', ""
    ),
    "names with a prefix": document(spec_object("A", "x"))
    .replace("<", "<q:")
    .replace("<q:/", "</q:")
    .replace("<q:?", "<?")
    .replace("q:xhtml:", "xhtml:")
    .replace("xmlns=", "xmlns:q="),
    "an attribute without a type": document(spec_object("A", "x")).replace(
        "<TYPE><DATATYPE-DEFINITION-XHTML-REF>d</DATATYPE-DEFINITION-XHTML-REF></TYPE>", ""
    ),
    "not ReqIF": f"{HEAD}<svg/>",
    "cut off": document(spec_object("A", "x"))[:-40],
}
READ: Final = {
    "ours": """
from accord.hub.exchange.reqif_reader import read
rows = list(read(open(FILE, encoding="utf-8").read()))
print(f"read: {[each.record.description for each in rows if hasattr(each.record, 'description')]}")
""",
    "reqif": """
from reqif.parser import ReqIFParser
bundle = ReqIFParser.parse(FILE)
found = bundle.core_content.req_if_content.spec_objects
print(f"read: {[str(value.value)[:60] for each in found for value in each.attributes]}")
""",
}


def peak(operate: Callable[[], object]) -> float:
    tracemalloc.start()
    operate()
    found = tracemalloc.get_traced_memory()[1] / 1024**2
    tracemalloc.stop()
    return found


def main() -> None:
    versions("reqif", "lxml", "xmlschema", "openpyxl")
    text = document(
        *(spec_object(f"o{n}", f"The brake {n} shall<xhtml:br/>hold.") for n in range(OBJECTS))
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file.reqif"
        file.write_text(text, encoding="utf-8")

        def parsed(count: int) -> None:
            for _ in range(count):
                assert len(parse(text).objects) == OBJECTS

        def rows(count: int) -> None:
            for _ in range(count):
                assert len(list(read(text))) >= OBJECTS

        def theirs(count: int) -> None:
            for _ in range(count):
                bundle = ReqIFParser.parse(str(file))
                assert len(bundle.core_content.req_if_content.spec_objects) == OBJECTS

        show(
            f"{OBJECTS:,} objects, {len(text) / 1e6:.1f} MB: ms, and MB of Python objects",
            [
                ("ours, parsed", micro(parsed, 1) / 1e3),
                ("ours, parsed into rows with their losses", micro(rows, 1) / 1e3),
                ("reqif, parsed", micro(theirs, 1) / 1e3),
                ("ours, memory", peak(lambda: parse(text))),
                ("reqif, memory without that of lxml", peak(lambda: theirs(1))),
            ],
        )
        for about, content in HOSTILE.items():
            file.write_text(content, encoding="utf-8")
            found = [
                (name, attempt(f"FILE = {str(file)!r}\n{code}")) for name, code in READ.items()
            ]
            show(about, found)
    show(
        "import",
        [
            (module, import_cost(f"import {module}"))
            for module in ("accord.hub.exchange.reqif_reader", "reqif.parser")
        ],
    )


main()
