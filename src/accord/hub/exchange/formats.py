"""All formats of import and export, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.exchange import csv_file, markdown_file, project, reqif_reader, reqif_writer
from accord.hub.exchange.project import Numbered, Project
from accord.operations.operation import Operation

FormatName: TypeAlias = Literal["json", "csv", "markdown", "reqif"]


class Format(Struct, frozen=True):
    """One format of import and export."""

    name: str
    """One of `FormatName`, or the name that a plugin chose."""
    media_type: str
    suffixes: tuple[str, ...]
    """Suffixes of file names, the usual one first."""
    write: Callable[[Project], str]
    read: Callable[[str], Iterator[Numbered]]
    """A function that yields the records of a text. It raises FormatError if the text is invalid,
    also during iteration."""


FORMATS: Final[dict[str, Format]] = {
    each.name: each
    for each in (
        Format("json", "application/json", (".json",), project.write_json, project.read_json),
        Format("csv", "text/csv", (".csv",), csv_file.write, csv_file.read),
        Format(
            "markdown",
            "text/markdown",
            (".md", ".markdown"),
            markdown_file.write,
            markdown_file.read,
        ),
        Format(
            "reqif",
            "application/xml",
            (".reqif", ".reqifz", ".xml"),
            reqif_writer.write,
            reqif_reader.read,
        ),
    )
}


class Formats:
    """The available formats: our own, and those of plugins."""

    def __init__(self, further: Iterable[Format] = ()) -> None:
        self._by_name = {**FORMATS, **{each.name: each for each in further}}

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __getitem__(self, name: str) -> Format:
        return self._by_name[name]

    def of_file(self, name: str) -> str | None:
        """Return the name of the format that a file name's suffix stands for, or None."""
        for each in self._by_name.values():
            if name.lower().endswith(each.suffixes):
                return each.name
        return None

    def offered_by(self, operation: Operation) -> Operation:
        """Return a copy of an operation whose format parameter allows all these formats."""
        choice: Any = Literal[tuple(self)]
        return replace(
            operation,
            parameters=tuple(
                replace(each, annotation=choice) if each.annotation == FormatName else each
                for each in operation.parameters
            ),
        )
