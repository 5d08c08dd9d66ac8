"""A format of a plugin: documents of StrictDoc (.sdoc).

A document is an epic, a section of it a user story, and requirements are requirements. Items are
known by their MID where that is a UUID. In a document without one they are known by their UID or
place, and the document is the source of these names: UID REQ-1 of another document is another item.
Several epics are several documents, one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from uuid import UUID, uuid5

from accord.plugins import Format, FormatError, Item, NotKept, Numbered, Origin, Project

NAMESPACE: Final = UUID("7d2f1c3e-52a5-4f0e-9a0b-6f6d5a6b2c11")

KEPT: Final = frozenset({"MID", "UID", "TITLE", "STATEMENT"})
"""Fields that have a place in the hub; others are named in the report."""

_MARK: Final = re.compile(r"\[{1,2}(/?[A-Z]+)\]{1,2}")
_END: Final = re.compile(r"^<<<$", re.MULTILINE)
_FIELD: Final = re.compile(r"([A-Z_]+):\s*(.*)")


def read(text: str) -> Iterator[Numbered]:
    """The items of documents; rows are lines. Raises FormatError."""
    epic = story = title = ""
    former_epic = former_story = ""
    depth = 0
    has_origin = False
    for row, mark, fields in _blocks(text):
        if mark == "DOCUMENT":
            title, story, depth = fields.get("TITLE", "Untitled"), "", 0
            if has_origin or "MID" not in fields:
                # Other documents may have the same title: changes need the name of the source.
                has_origin = True
                source = fields.get("MID") or fields.get("UID") or title
                yield Numbered(0, Origin(source, certain="MID" in fields))
            former_epic = _id(fields, f"document {title}")
            epic = _name(fields, f"document {title}", has_origin)
            item = Item(kind="epic", title=title)
            yield _numbered(row, item, fields, epic, former_epic, has_origin)
        elif not epic:
            raise FormatError(f"line {row}: a StrictDoc document begins with [DOCUMENT]")
        elif mark == "SECTION":
            depth += 1
            if depth == 1:
                heading = fields.get("TITLE", "Untitled")
                former_story = _id(fields, f"{former_epic} section {heading}")
                story = _name(fields, f"{epic} section {heading}", has_origin)
                item = Item(kind="user_story", parent=epic, title=heading)
                yield _numbered(row, item, fields, story, former_story, has_origin)
        elif mark == "/SECTION":
            depth -= 1
            story = story if depth > 0 else ""
        elif mark == "REQUIREMENT":
            if not story:
                former_story = _id({}, f"{former_epic} without a section")
                story = _name({}, f"{epic} without a section", has_origin)
                item = Item(kind="user_story", parent=epic, title=title)
                yield _numbered(row, item, {}, story, former_story, has_origin)
            item = _requirement(fields, story)
            name = _name(fields, f"{story} {item.title}", has_origin)
            former = _id(fields, f"{former_story} {item.title}")
            yield _numbered(row, item, fields, name, former, has_origin)
        else:
            yield Numbered(0, NotKept(f"[{mark}]"))
    if not epic:
        raise FormatError("this is no StrictDoc document: it begins with [DOCUMENT]")


def write(project: Project) -> str:
    """Documents of all epics, stories and requirements."""
    lines: list[str] = []
    is_open = False
    for item in project.items:
        if item.kind in ("epic", "user_story") and is_open:
            lines += ["[[/SECTION]]", ""]
            is_open = False
        if item.kind == "epic":
            lines += ["[DOCUMENT]", *_fields(item), ""]
        elif item.kind == "user_story":
            lines += ["[[SECTION]]", *_fields(item), ""]
            is_open = True
        elif item.kind == "requirement":
            said = _END.sub(" <<<", str(item.description or item.title))
            lines += ["[REQUIREMENT]", f"UID: {item.reference_id}", *_fields(item)]
            lines += [f"STATEMENT: >>>\n{said}\n<<<", ""]
    return "\n".join([*lines, "[[/SECTION]]", ""] if is_open else lines)


def _blocks(text: str) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Each mark in brackets with the fields below it, and the line it is in."""
    row, mark, fields = 0, "", dict[str, str]()
    long, lines = "", list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if long and line == "<<<":
            fields[long] = "\n".join(lines)
            long = ""
        elif long:
            lines.append(line)
        elif found := _MARK.fullmatch(line.strip()):
            if mark:
                yield row, mark, fields
            row, mark, fields = number, found[1], {}
        elif (found := _FIELD.fullmatch(line)) and found[2] == ">>>":
            long, lines = found[1], []
        elif found:
            fields[found[1]] = found[2].strip()
    if long:
        raise FormatError(f"{long}: there is no <<< after its >>>")
    if mark:
        yield row, mark, fields


def _requirement(fields: dict[str, str], story: str) -> Item:
    statement = fields.get("STATEMENT", "")
    title = fields.get("TITLE") or statement.partition("\n")[0] or fields.get("UID", "Untitled")
    return Item(
        kind="requirement",
        parent=story,
        title=title[:500],
        description=statement,
    )


def _fields(item: Item) -> list[str]:
    return [f"MID: {item.id}", f"TITLE: {' '.join(str(item.title).split())}"]


def _numbered(
    row: int, item: Item, fields: dict[str, str], name: str, former: str, has_origin: bool
) -> Numbered:
    """Return a row: by its name in the document, or by its id where all documents have ids."""
    if "MID" in fields or not has_origin:
        item.id = _id(fields, name)
    if has_origin:
        item.foreign_id = name
    lost = tuple(name for name in fields if name not in KEPT)
    return Numbered(row, item, not_kept=lost, former_id=former)


def _name(fields: dict[str, str], place: str, has_origin: bool) -> str:
    """Return the name by which other rows name this one."""
    if has_origin:
        return (fields.get("UID") or fields.get("MID") or place)[:400]
    return _id(fields, place)


def _id(fields: dict[str, str], place: str) -> str:
    try:
        return str(UUID(fields["MID"]))
    except (KeyError, ValueError):
        return str(uuid5(NAMESPACE, fields.get("UID") or place))


strictdoc: Final = Format("strictdoc", "text/plain", (".sdoc",), write, read)
