"""Items as a Markdown document for people, which can be imported again. Pure.

    ## EP-001: Boarding

    ### US-001: Scan a ticket
    - Status: In Progress
    - Labels: harbour; scanner

    As a steward I want to scan tickets so that the queue moves.

    #### REQ-001: Scan quickly
    - verifies: US-001

A heading that begins with a reference id begins an item; without a number (`#### REQ: …`) the item
is new. The parent of an item is the nearest suitable heading above it. Directly below the heading
comes a list of fields, then the text, unchanged: a line that looks like such a heading gets a
leading backslash. Comments are not included.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from msgspec import UNSET

from accord.hub.domain.rules import KINDS, PRIORITIES, Kind, parse_priority, parse_reference
from accord.hub.domain.text import no_such
from accord.hub.exchange.csv_file import join_list, split_list
from accord.hub.exchange.project import (
    Fault,
    FormatError,
    Item,
    Link,
    NotKept,
    Numbered,
    Origin,
    Project,
)

LEVELS: Final[dict[Kind, int]] = {
    "epic": 2,
    "user_story": 3,
    "acceptance_criteria": 4,
    "requirement": 4,
    "steering_document": 2,
    "prompt": 2,
}
FIELDS: Final = {
    "Status": "status",
    "Priority": "priority",
    "Type": "type",
    "Assignee": "assignee",
    "Acceptance criteria": "acceptance_criteria",
    "Labels": "labels",
    "Epics": "epics",
    "Name": "name",
    "Role": "role",
    "Active": "active",
}
"""The fields of items, by their names in the list below a heading; all other names are relationship
types."""
LISTS: Final = frozenset({"labels", "epics"})
NOBODY: Final = "none"
TITLE: Final = "# Requirements"
"""The title of an exported document."""

_PREFIXES: Final = {each.prefix: each.kind for each in KINDS.values()}
_NAMES: Final = "|".join(_PREFIXES)
_HEADING: Final = re.compile(
    rf"#{{1,6}} (?P<prefix>{_NAMES})(?P<number>-[0-9]{{1,12}})?(?::[ \t]*(?P<title>.*))?"
)
_MISTAKABLE: Final = re.compile(
    rf"\\*(?:#{{1,6}} (?:{_NAMES})(?:-[0-9]{{1,12}})?(?::|$)|`{{3,}}prompt$)"
)
_FIELD: Final = re.compile(r"- (?P<name>[A-Za-z][A-Za-z _]{0,40}):[ \t]*(?P<value>.*)")
_SOURCE: Final = re.compile(r"<!-- source: (?P<source>[^<>]{1,200}?) -->")
_FENCE: Final = re.compile(r"(?P<fence>`{3,})prompt")


def write(project: Project) -> str:
    """Return the text of a document."""
    links: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for link in project.relationships:
        links[link.source][link.type].append(link.target)
    parts = ("\n".join(_lines(item, links[str(item.reference_id)])) for item in project.items)
    head = [f"{TITLE}\n"]
    if project.source:
        head.append(f"<!-- source: {project.source} -->\n")
    return "\n".join([*head, *parts])


def read(text: str) -> Iterator[Numbered]:
    """Yield the items of a document, then their links.

    An item that cannot be read becomes a `Fault`. Raises FormatError if no item has a heading.
    """
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):  # an editor has changed the line ends
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    origin, lost = _head(lines)
    if origin is not None:
        yield Numbered(0, origin)
    if lost:
        yield Numbered(0, NotKept("line above the first item", lost))
    sections = _sections(lines)
    above: dict[Kind, str] = {}
    links: list[Numbered] = []
    row = 0
    for row, (heading, lines) in enumerate(sections, 1):
        try:
            item, of_it = _item(heading, lines, above, row)
        except FormatError as error:
            yield Numbered(row, Fault(str(error)))
            continue
        links += [Numbered(row, link) for link in of_it]
        yield Numbered(row, item)
    if not row:
        raise FormatError("there is no heading such as `## EP-001: Title` in this text")
    yield from links


def _head(lines: list[str]) -> tuple[Origin | None, int]:
    """Return the origin that a document names, and the number of ignored lines.

    Both are taken from the lines above the first item.
    """
    origin, lost = None, 0
    for line in lines:
        if _HEADING.fullmatch(line.rstrip()):
            break
        if found := _SOURCE.fullmatch(line.strip()):
            origin = Origin(found["source"])
        elif line.strip() and line.strip() != TITLE:
            lost += 1
    return origin, lost


def _lines(item: Item, links: dict[str, list[str]]) -> Iterator[str]:
    title = f": {item.title}" if item.title else ""
    yield f"{'#' * LEVELS[item.kind]} {item.reference_id}{title}"
    for shown, name in FIELDS.items():
        value = getattr(item, name)
        if value is not UNSET and (value or name == "assignee"):
            yield f"- {shown}: {_shown(name, value)}"
    for type, targets in links.items():
        yield f"- {type}: {join_list(targets)}"
    yield ""
    if item.description:
        yield from _written(str(item.description))
        yield ""
    if item.content:
        longest = max(map(len, re.findall("`+", str(item.content))), default=0)
        fence = "`" * max(3, longest + 1)
        yield f"{fence}prompt"
        yield from _written(str(item.content))
        yield fence
        yield ""


def _shown(name: str, value: Any) -> str:
    if name in LISTS:
        return join_list(value)
    if name == "priority":
        return PRIORITIES.get(value, str(value))
    if name == "active":
        return "yes"
    return NOBODY if value is None else str(value)


def _written(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"\\{line}" if _MISTAKABLE.match(line) else line


def _unescape(lines: list[str]) -> str:
    """Join lines to a text, without the backslashes that the export added.

    The export (`_written`) puts a backslash before lines that look like parts of the format.
    """
    return "\n".join(
        line[1:] if line[:1] == "\\" and _MISTAKABLE.match(line) else line for line in lines
    )


def _inner(lines: list[str]) -> list[str]:
    """Remove one empty line at the start and one at the end, where there are any."""
    begin = 1 if lines and not lines[0].strip() else 0
    end = len(lines) - (1 if len(lines) > begin and not lines[-1].strip() else 0)
    return lines[begin:end]


def _sections(lines: list[str]) -> Iterator[tuple[re.Match[str], list[str]]]:
    """Yield each item heading with the lines below it."""
    heading, below = None, list[str]()
    for line in lines:
        found = _HEADING.fullmatch(line.rstrip())
        if found is None:
            below.append(line)
            continue
        if heading is not None:
            yield heading, below
        heading, below = found, []
    if heading is not None:
        yield heading, below


def _item(
    heading: re.Match[str], lines: list[str], above: dict[Kind, str], row: int
) -> tuple[Item, list[Link]]:
    kind = _PREFIXES[heading["prefix"]]
    reference = parse_reference(heading["prefix"] + (heading["number"] or ""))
    values: dict[str, Any] = {"kind": kind, "reference_id": str(reference) if reference else UNSET}
    # A new item gets a name within the document, so items below it can refer to it.
    name = values["reference_id"] or f"row {row}"
    if heading["title"]:
        values["title"] = heading["title"].strip()
    parent = KINDS[kind].parent
    if parent is not None:
        if parent not in above:
            raise FormatError(
                f"{KINDS[kind].title} needs a heading of its {KINDS[parent].title} above"
            )
        values["parent"] = above[parent]
    above[kind] = name
    links: list[Link] = []
    text = _fields(lines, values, links, name)
    if kind == "prompt":
        text, values["content"] = _content(text)
    values["description"] = _unescape(_inner(text))
    return Item(**values), links


def _fields(lines: list[str], values: dict[str, Any], links: list[Link], source: str) -> list[str]:
    """Read the field list below a heading into `values` and `links`.

    Returns the lines after the list. Raises FormatError for an unknown or duplicate field.
    """
    for place, line in enumerate(lines):
        found = _FIELD.fullmatch(line.rstrip())
        if found is None:
            return lines[place:]
        name, value = found["name"], found["value"].strip()
        field = FIELDS.get(name.capitalize())
        if field is not None:
            if field in values:
                raise FormatError(f"the field {name} is there twice")
            values[field] = _value(field, value)
        elif name.lower() == name:
            links += [Link(source=source, type=name, target=each) for each in split_list(value)]
        else:
            raise FormatError(
                no_such("field", name, list(FIELDS)) + "; leave a line empty before the text"
            )
    return []


def _value(field: str, value: str) -> Any:
    if field in LISTS:
        return split_list(value)
    if field == "priority":
        priority = parse_priority(value)
        if priority is None:
            raise FormatError(no_such("priority", value, list(PRIORITIES.values())))
        return priority
    if field == "active":
        if value.lower() not in ("yes", "true", "no", "false"):
            raise FormatError(f"active: {value[:20]!r} is neither yes nor no")
        return value.lower() in ("yes", "true")
    if field in ("assignee", "acceptance_criteria") and value.lower() in (NOBODY, ""):
        return None
    return value


def _content(lines: list[str]) -> tuple[list[str], Any]:
    """Split the lines of a prompt: those before its fenced content, and the content.

    The content is UNSET if there is no fence.
    """
    for place, line in enumerate(lines):
        opened = _FENCE.fullmatch(line.rstrip())
        if opened is not None:
            for end in range(place + 1, len(lines)):
                if lines[end].rstrip() == opened["fence"]:
                    if any(line.strip() for line in lines[end + 1 :]):
                        raise FormatError("there is text below the fence with the prompt")
                    return lines[:place], _unescape(lines[place + 1 : end])
            raise FormatError(f"the fence {opened['fence']}prompt is not closed")
    return lines, UNSET
