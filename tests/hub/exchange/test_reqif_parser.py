"""ReqIF files in all encodings and archives: an import reads or refuses any bytes."""

from __future__ import annotations

import random
import zipfile
from base64 import b64encode
from typing import Any

import pytest

from accord.hub.exchange import decoding
from accord.hub.exchange.decoding import content_of
from accord.hub.exchange.formats import FORMATS
from accord.hub.exchange.project import FormatError, Item, Numbered
from accord.hub.exchange.reqif_reader import read
from accord.operations.errors import InvalidError
from tests.hub.exchange.reqif_made import (
    archive,
    relation,
    relation_type,
    reqif,
    spec_object,
)
from tests.hub.world import World

TEXT = "Bremse für 支持."
FILE = reqif(spec_object("A", TEXT), repository="cars")


def texts(rows: Any) -> list[str]:
    records = [each.record for each in rows]
    return [
        str(record.description)
        for record in records
        if isinstance(record, Item) and record.kind == "requirement"
    ]


NAMESPACE = "http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"


def with_doctype(declared: str) -> str:
    """Return a file that is valid except for its DOCTYPE."""
    found = reqif(spec_object("A", "A."))
    place = found.index("<REQ-IF")
    return f"{found[:place]}<!DOCTYPE REQ-IF {declared}>{found[place:]}"


NOT_REQIF = {
    "<html xmlns='http://www.w3.org/1999/xhtml'><body>Hi</body></html>": "its root is 'html'",
    "<REQ-IF><THE-HEADER/></REQ-IF>": "this is no ReqIF: its root is 'REQ-IF' of the namespace ''",
    "<REQ-IF xmlns='urn:other'/>": "of the namespace 'urn:other'",
    "<RIF xmlns='http://automotive-his.de/schema/rif'/>": "this is RIF, the predecessor",
    "<svg/>": "its root is 'svg'",
    "{}": "this is no XML",
    reqif(spec_object("A", "A."))[:-3]: "this is no XML",
    with_doctype("[<!ENTITY b 'c'>]"): "a DOCTYPE is not allowed",
    with_doctype("SYSTEM 'file:///etc/passwd'"): "a DOCTYPE is not allowed",
    with_doctype(""): "a DOCTYPE is not allowed",
    f"<REQ-IF xmlns='{NAMESPACE}'>{'<a>' * 100}{'</a>' * 100}</REQ-IF>": "elements are nested more than 100 times",
}


@pytest.mark.req("H-25")
async def test_other_xml_is_refused(world: World) -> None:
    for content, reason in NOT_REQIF.items():
        with pytest.raises(InvalidError, match=reason):
            await world.call("import_items", format="reqif", content=content, source="s")
    assert (await world.call("list_epics")).total == 0


@pytest.mark.req("H-25")
def test_versions_with_another_namespace_are_read() -> None:
    for year in ("20101201", "20110401/reqif.xsd", "20110402"):
        content = reqif(spec_object("A", TEXT), namespace=f"http://www.omg.org/spec/ReqIF/{year}")
        assert texts(read(content)) == [TEXT]


ENCODINGS = ("UTF-8", "utf-16", "ISO-8859-1", "windows-1252", "Shift_JIS", "GB18030", "us-ascii")
UNKNOWN = ("utf-7", "x-none", "hex", "rot13", "idna", "punycode", "unicode_escape", "a\tb", "")


@pytest.mark.req("H-25")
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_declared_encoding_is_that_of_the_bytes(encoding: str) -> None:
    text = TEXT.encode(encoding, "xmlcharrefreplace").decode(encoding)
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    made = reqif(head=head, repository="cars").replace(
        "<SPEC-OBJECTS>", "<SPEC-OBJECTS>" + spec_object("A", "@").replace("@", text)
    )
    assert texts(read(content_of(made.encode(encoding)))) == [TEXT]
    # What is a text already has no encoding: what it declares does not matter.
    assert texts(read(made)) == [TEXT]


@pytest.mark.req("H-25")
@pytest.mark.parametrize("encoding", UNKNOWN)
def test_an_encoding_that_nobody_reads_is_refused(encoding: str) -> None:
    made = FILE.replace('encoding="UTF-8"', f'encoding="{encoding}"')
    for attempt in (lambda: content_of(made.encode()), lambda: list(read(made))):
        with pytest.raises(FormatError, match=r"the encoding .* is not supported|no XML"):
            attempt()


@pytest.mark.req("H-25")
def test_bytes_in_no_encoding_are_refused() -> None:
    for raw in (b"\xff\xfe\x00", b"<a>\xff</a>", b"kind\n\xe9", b"<?xml encoding='big5'?>\xff"):
        with pytest.raises(FormatError, match="this is no text"):
            content_of(raw)
    assert content_of("\ufeffkind\n".encode("utf-16-le")) == "kind\n"


@pytest.mark.req("H-25")
async def test_an_archive_is_read(world: World) -> None:
    raw = archive({"a/one.reqif": FILE, "a/b.png": b"\x89PNG", "__MACOSX/._one.reqif": b"\0"})
    report = await world.call("import_items", format="reqif", content=content_of(raw))
    assert report.created == 3
    assert {each.what: each.count for each in report.not_kept} == {
        "attached file": 1,
        "type REQUIREMENT": 1,
    }
    again = await world.call("import_items", format="reqif", content=FILE)
    assert again.unchanged == 3


@pytest.mark.req("H-25")
def test_all_files_of_an_archive_are_read() -> None:
    raw = archive({"1.reqif": FILE, "2.REQIF": reqif(spec_object("B", "More."), repository="x")})
    rows = list(read(content_of(raw)))
    assert texts(rows) == [TEXT, "More."]
    assert [each.row for each in rows if isinstance(each.record, Item)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.req("H-25")
async def test_one_file_of_an_archive_may_hold_the_relations_of_the_others(world: World) -> None:
    objects = reqif(spec_object("A", "One."), spec_object("B", "Two."))
    links = reqif(
        specification="", relations=relation("A", "Parent", "B"), types=relation_type("Parent")
    )
    content = content_of(archive({"0.reqif": links, "1.reqif": objects}))
    for expected in ((5, 0), (0, 5)):
        report = await world.call("import_items", format="reqif", content=content)
        assert (report.created, report.unchanged, report.failed) == (*expected, 0)
        assert report.rows[-1].reference_id == "REQ-001 derives_from REQ-002"
    with pytest.raises(FormatError, match=r"no requirement \(SPEC-OBJECT\) in this archive"):
        list(read(content_of(archive({"0.reqif": links}))))


def encrypted() -> bytes:
    raw = bytearray(archive({"a.reqif": FILE}, zipfile.ZIP_STORED))
    raw[6] |= 1
    place = raw.index(b"PK\x01\x02")
    raw[place + 8] |= 1
    return bytes(raw)


def lying() -> bytes:
    """Return an archive with a directory that declares a size too small."""
    raw = bytearray(archive({"a.reqif": "x" * 5000}))
    place = raw.index(b"PK\x01\x02")
    raw[place + 24 : place + 28] = (10).to_bytes(4, "little")
    return bytes(raw)


REFUSED = {
    "nothing to read": (archive({"a.txt": "x"}), "there is no .reqif file in this archive"),
    "empty": (archive({}), "there is no .reqif file in this archive"),
    "leaves upwards": (archive({"../a.reqif": FILE}), "the archive has a file with the path"),
    "absolute": (archive({"/a.reqif": FILE}), "the archive has a file with the path"),
    "windows": (archive({"c:\\a.reqif": FILE}), "the archive has a file with the path"),
    "many entries": (archive({f"{n}.reqif": "" for n in range(1001)}), "1,001 files"),
    "encrypted": (encrypted(), "cannot be read"),
    "damaged": (archive({"a.reqif": FILE})[:-30], "this is no ZIP archive"),
    "lying": (lying(), "cannot be read|this is no XML"),
    "bomb": (archive({"a.reqif": b" " * 3_000_000}), "is compressed more than 200 times"),
    "not XML": (archive({"a.reqif": b"\x00\x01"}), "this is no XML"),
    "only a beginning": (b"PK\x03\x04", "this is no ZIP archive"),
}


@pytest.mark.req("H-25")
@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_archive_is_refused(name: str) -> None:
    raw, reason = REFUSED[name]
    with pytest.raises(FormatError, match=reason):
        list(read(content_of(raw)))


@pytest.mark.req("H-25")
def test_an_archive_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_BYTES", 2 * len(FILE.encode()) - 1)
    raw = archive({"1.reqif": FILE, "2.reqif": FILE})
    with pytest.raises(FormatError, match="exceed the limit"):
        list(read(content_of(raw)))
    with pytest.raises(FormatError, match="no archive in base64"):
        list(read("UEsDB!"))


def mutated(chance: random.Random, raw: bytes) -> bytes:
    """Return the bytes with some of them changed, moved, repeated or cut."""
    made = bytearray(raw)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(made) or 1)
        match chance.randrange(5):
            case 0:
                made[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del made[at : at + chance.randrange(60)]
            case 2:
                made[at:at] = made[chance.randrange(len(made) or 1) :][: chance.randrange(80)]
            case 3:
                made[at:at] = chance.choice(PIECES)
            case _:
                made = made[: chance.randrange(len(made) or 1)]
    return bytes(made)


PIECES = (
    *(b"\xff", b"\0", b"&#0;", b"<x/>", b"<SPEC-OBJECT/>", b"<CHILDREN>", b"</REQ-IF>", b"PK"),
    *(b"IDENTIFIER=''", b"encoding='x'", b"<!DOCTYPE a>", b"]]>", b"\xed\xa0\x80", b"&amp;"),
    *(b'"items"', b"{", b"]", b"- Status: x\n", b"```prompt\n", b"## EP-1\n", b";,\n", b'"'),
)


@pytest.mark.req("H-25")
@pytest.mark.parametrize("seed", range(4))
async def test_whatever_the_bytes_an_import_answers(world: World, seed: int) -> None:
    """An import reads each mutant or raises InvalidError, and no other error."""
    chance = random.Random(seed)
    await world.call("create_prompt", world.admin, name="helper", content="Help.")
    await world.call("import_items", world.admin, format="reqif", content=FILE)
    seeds = {
        name: (await world.call("export_items", world.admin, format=name)).content.encode()
        for name in FORMATS
    }
    seeds["foreign"] = FILE.encode()
    seeds["archive"] = archive({"a.reqif": FILE})
    seeds["random"] = chance.randbytes(400)
    for number in range(60):
        name = chance.choice(sorted(seeds))
        raw = mutated(chance, seeds[name])
        format = name if name in FORMATS else "reqif"
        try:
            content = content_of(raw)
        except FormatError:
            continue
        try:
            await world.call(
                "import_items",
                world.admin,
                format=format,
                content=content,
                source="s" if number % 2 else None,
                partial=True,
                dry_run=True,
            )
        except InvalidError:
            continue


def test_base64_is_no_xml() -> None:
    assert not decoding.is_archive(FILE)
    assert decoding.is_archive(b64encode(archive({})).decode())
    assert isinstance(next(iter(read(FILE))), Numbered)
