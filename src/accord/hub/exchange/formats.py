"""All formats, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.exchange import csv_file, json_file, markdown_file, reqif_file, reqif_reading
from accord.hub.exchange.project import Numbered, Project

FormatName: TypeAlias = Literal["json", "csv", "markdown", "reqif"]


class Format(Struct, frozen=True):
    """One format."""

    name: FormatName
    media_type: str
    suffixes: tuple[str, ...]
    """Of file names, the usual one first."""
    write: Callable[[Project], str]
    read: Callable[[str], Iterator[Numbered]]
    """Raises FormatError, also while rows are taken from it."""


FORMATS: Final[dict[FormatName, Format]] = {
    each.name: each
    for each in (
        Format("json", "application/json", (".json",), json_file.write, json_file.read),
        Format("csv", "text/csv", (".csv",), csv_file.write, csv_file.read),
        Format(
            "markdown",
            "text/markdown",
            (".md", ".markdown"),
            markdown_file.write,
            markdown_file.read,
        ),
        Format(
            "reqif", "application/xml", (".reqif", ".xml"), reqif_file.write, reqif_reading.read
        ),
    )
}


def format_of(file_name: str) -> FormatName | None:
    """The format that a file's name tells; None where it tells none."""
    for each in FORMATS.values():
        if file_name.lower().endswith(each.suffixes):
            return each.name
    return None
