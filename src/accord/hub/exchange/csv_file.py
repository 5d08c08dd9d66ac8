"""Items as a CSV table, with labels and relationships, without comments. Pure.

Spreadsheets run cells that begin with certain signs as formulas. Such a cell gets an apostrophe in
front, which imports remove; a text that begins with apostrophes gets one more, so every text
round-trips.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import UNSET

from accord.hub.domain.rules import KINDS, PRIORITIES, Kind, parse_priority, parse_reference
from accord.hub.domain.text import no_such
from accord.hub.exchange.project import Fault, FormatError, Item, Link, Numbered, Project

_FORMULA: Final = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_SEPARATOR: Final = re.compile(r"(?<!\\)((?:\\\\)*);")
_ESCAPED: Final = re.compile(r"\\(.)")


def escape_formula(text: str) -> str:
    """Return a cell that no spreadsheet interprets as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_formula(cell: str) -> str:
    """Return the text of a cell that `escape_formula` made."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def join_list(values: Iterable[str]) -> str:
    """Join several values in one cell: `safety; payments`."""
    return "; ".join(each.replace("\\", "\\\\").replace(";", "\\;") for each in values)


def split_list(cell: str) -> list[str]:
    """Split a cell that `join_list` made into its values."""
    parts = _SEPARATOR.sub("\\1\0", cell).split("\0")
    stripped = (_ESCAPED.sub(r"\1", part.strip()) for part in parts)
    return [part for part in stripped if part]


COLUMNS: Final = (
    *("kind", "reference_id", "parent", "acceptance_criteria", "title", "description", "status"),
    *("priority", "type", "assignee", "labels", "links", "name", "content", "role", "active"),
    *("epics", "creator", "created_at", "id"),
)
LISTS: Final = frozenset({"labels", "epics"})
NULLABLE: Final = frozenset({"assignee", "acceptance_criteria"})
"""Columns in which an empty cell means that nobody is assigned, or no criteria are linked."""
CLEARABLE: Final = frozenset({"description"})
"""Columns in which an empty cell means an empty text.

Empty cells have a meaning in `NULLABLE` columns and in columns with a list, too. They are ignored
in all other columns."""
_OF_ALL: Final = ("kind", "reference_id", "labels", "creator", "created_at", "id", "description")
_OF_WORK: Final = ("title", "status", "priority", "assignee")
FIELDS: Final[dict[Kind, frozenset[str]]] = {
    "epic": frozenset({*_OF_ALL, *_OF_WORK}),
    "user_story": frozenset({*_OF_ALL, *_OF_WORK, "parent"}),
    "acceptance_criteria": frozenset({*_OF_ALL, "parent"}),
    "requirement": frozenset({*_OF_ALL, *_OF_WORK, "parent", "acceptance_criteria", "type"}),
    "steering_document": frozenset({*_OF_ALL, "title", "epics"}),
    "prompt": frozenset({*_OF_ALL, "title", "name", "content", "role", "active"} - {"labels"}),
}
"""The columns that items of a kind use, by kind. The column `links` is not listed."""


def write(project: Project) -> str:
    """Return the text of a CSV file."""
    links: defaultdict[str, list[str]] = defaultdict(list)
    for link in project.relationships:
        links[link.source].append(f"{link.type} {link.target}")
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for item in project.items:
        of_it = links.get(str(item.reference_id), [])
        writer.writerow([escape_formula(_cell(item, column, of_it)) for column in COLUMNS])
    return out.getvalue()


def read(text: str) -> Iterator[Numbered]:
    """Yield the records of a CSV file.

    Rows are counted as spreadsheets do: the column names are row 1. Raises FormatError if the text
    is no CSV, or if column names are missing, unknown or duplicate.
    """
    text = text.removeprefix("\ufeff")
    head = text[:1000].partition("\n")[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    links: list[Numbered] = []
    try:
        columns = [_column(name) for name in next(reader, [])]
        if not columns or len(set(columns)) < len(columns):
            raise FormatError("the first row has the names of the columns, each once")
        for row, cells in enumerate(reader, 2):
            if any(cells):
                yield from _row(row, columns, cells, links)
    except csv.Error as error:
        raise FormatError(f"this is no CSV: {error}") from None
    yield from links


def _row(
    row: int, columns: list[str], cells: list[str], links: list[Numbered]
) -> Iterator[Numbered]:
    """Yield the item or the error of a row; add the links of the row to `links`.

    The caller yields all links after all items, since both ends of a link must exist.
    """
    try:
        if len(cells) > len(columns):
            raise FormatError(f"{len(cells)} cells for {len(columns)} columns")
        values = {name: unescape_formula(cell) for name, cell in zip(columns, cells, strict=False)}
        item = _item(values)
        links += [Numbered(row, link) for link in _links(values.get("links", ""), item)]
    except FormatError as error:
        yield Numbered(row, Fault(str(error)))
    else:
        yield Numbered(row, item)


def _cell(item: Item, column: str, links: list[str]) -> str:
    if column == "links":
        return join_list(links)
    value = getattr(item, column)
    if value is UNSET or value is None:
        return ""
    if column in LISTS:
        return join_list(value)
    return ("yes" if value else "no") if column == "active" else str(value)


def _column(name: str) -> str:
    found = unescape_formula(name).strip().lower().replace(" ", "_")
    if found not in COLUMNS:
        raise FormatError(no_such("column", name, COLUMNS))
    return found


def _item(cells: dict[str, str]) -> Item:
    kind = _kind(cells)
    for name, cell in cells.items():
        if cell and name not in FIELDS[kind] and name != "links":
            raise FormatError(f"{name}: {KINDS[kind].title} has no such field")
    values: dict[str, Any] = {}
    for name in FIELDS[kind] & cells.keys():
        cell = cells[name]
        if name in LISTS:
            values[name] = split_list(cell)
        elif cell or name in CLEARABLE:
            values[name] = cell
        elif name in NULLABLE:
            values[name] = None
    values["kind"] = kind
    if "active" in values:
        values["active"] = _truth(values["active"])
    if "priority" in values:
        values["priority"] = _priority(values["priority"])
    return Item(**values)


def _kind(cells: dict[str, str]) -> Kind:
    """Return the kind of a row, by its `kind` cell or its reference id."""
    name = cells.get("kind", "").strip().lower().replace(" ", "_").replace("-", "_")
    reference = parse_reference(cells.get("reference_id", ""))
    if not name and reference is not None:
        return reference.kind
    for kind in KINDS:
        if kind == name:
            return kind
    raise FormatError(no_such("kind", name, list(KINDS)))


def _links(cell: str, item: Item) -> Iterator[Link]:
    for each in split_list(cell):
        type, _, target = each.partition(" ")
        source = item.reference_id or item.id
        if not target or source is UNSET:
            raise FormatError(
                "links look like `depends_on REQ-002; verifies REQ-003`, and their row needs a "
                "reference_id"
            )
        yield Link(source=source, type=type, target=target.strip())


def _truth(cell: str) -> bool:
    if cell.lower() not in ("yes", "no", "true", "false", "1", "0"):
        raise FormatError(f"active: {cell[:20]!r} is neither yes nor no")
    return cell.lower() in ("yes", "true", "1")


def _priority(cell: str) -> int:
    found = parse_priority(cell)
    if found is None:
        raise FormatError(f"priority: {no_such('priority', cell, list(PRIORITIES.values()))}")
    return found
