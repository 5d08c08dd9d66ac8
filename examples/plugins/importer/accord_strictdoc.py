"""A format of a plugin: documents of StrictDoc (.sdoc).

A document is an epic, a section of it a user story, and requirements are requirements. What has no
UUID as its MID gets one that follows from its UID or place, so that the same document read again
changes what it made before. Several epics are several documents, one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from uuid import UUID, uuid5

from accord.plugins import Format, FormatError, Item, Numbered, Project

NAMESPACE: Final = UUID("7d2f1c3e-52a5-4f0e-9a0b-6f6d5a6b2c11")

_MARK: Final = re.compile(r"\[{1,2}(/?[A-Z]+)\]{1,2}")
_END: Final = re.compile(r"^<<<$", re.MULTILINE)
_FIELD: Final = re.compile(r"([A-Z_]+):\s*(.*)")


def read(text: str) -> Iterator[Numbered]:
    """The items of documents; rows are lines. Raises FormatError."""
    epic = story = title = ""
    depth = 0
    for row, mark, fields in _blocks(text):
        if mark == "DOCUMENT":
            title, story, depth = fields.get("TITLE", "Untitled"), "", 0
            epic = _id(fields, f"document {title}")
            yield Numbered(row, Item(kind="epic", id=epic, title=title))
        elif not epic:
            raise FormatError(f"line {row}: a StrictDoc document begins with [DOCUMENT]")
        elif mark == "SECTION":
            depth += 1
            if depth == 1:
                heading = fields.get("TITLE", "Untitled")
                story = _id(fields, f"{epic} section {heading}")
                yield Numbered(row, Item(kind="user_story", id=story, parent=epic, title=heading))
        elif mark == "/SECTION":
            depth -= 1
            story = story if depth > 0 else ""
        elif mark == "REQUIREMENT":
            if not story:
                story = _id({}, f"{epic} without a section")
                yield Numbered(row, Item(kind="user_story", id=story, parent=epic, title=title))
            yield Numbered(row, _requirement(fields, story))
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
        id=_id(fields, f"{story} {title}"),
        parent=story,
        title=title[:500],
        description=statement,
    )


def _fields(item: Item) -> list[str]:
    return [f"MID: {item.id}", f"TITLE: {' '.join(str(item.title).split())}"]


def _id(fields: dict[str, str], place: str) -> str:
    try:
        return str(UUID(fields["MID"]))
    except (KeyError, ValueError):
        return str(uuid5(NAMESPACE, fields.get("UID") or place))


strictdoc: Final = Format("strictdoc", "text/plain", (".sdoc",), write, read)
