"""Writes docs/errors.md, the error catalogue as a page."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from accord.jsonrpc.catalogue import BUILT_IN, CATALOGUE, Entry

PAGE = Path(__file__).parent.parent / "docs" / "errors.md"

OPENING = """\
# Error codes

<!-- Generated from accord/jsonrpc/catalogue.py by `make docs`. -->

Every code Accord knows. Each error that Accord itself raises carries its name as `data.reason`,
so that programs need not match on the number. Applications add codes of their own, outside the
reserved range of -32768 to -32000, with `CATALOGUE.register`.

| severity | who should care |
|---|---|
| info | nobody: what happened was asked for |
| warning | the caller, who can correct the request or try again later |
| error | both ends: work that was accepted failed |
| critical | whoever runs the system |
"""

COLUMNS = "| code | name | severity | message |\n|---|---|---|---|\n"


def render() -> str:
    """The whole page."""
    sections = groupby(BUILT_IN, key=lambda entry: entry.category)
    return OPENING + "".join(_section(category, list(entries)) for category, entries in sections)


def _section(category: str, entries: list[Entry]) -> str:
    head = f"\n## {category.replace('_', ' ')}\n\n{COLUMNS}"
    return head + "".join(map(_row, entries))


def _row(entry: Entry) -> str:
    names = ", ".join(f"`{name}`" for name in (entry.name, *CATALOGUE.aliases(entry)))
    return f"| {entry.code} | {names} | {entry.severity} | {entry.message} |\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
