"""Writes docs/errors.md, the error catalogue as a page."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from accord.jsonrpc.protocol.catalogue import BUILT_IN, SHARED, Entry
from tools.errors_sent import is_sent, names_of, names_sent

PAGE = Path(__file__).parent.parent / "docs" / "errors.md"

OPENING = """\
# Error codes

<!-- Generated from accord/jsonrpc/protocol/catalogue.py by `make docs`. -->

Every code Accord knows. Each error that Accord itself raises carries its name as `data.reason`,
so that programs need not match on the number. Applications add codes of their own, outside the
reserved range of -32768 to -32000, with `CATALOGUE.register`.

| severity | who should care |
|---|---|
| info | nobody: what happened was asked for |
| warning | the caller, who can correct the request or try again later |
| error | both ends: work that was accepted failed |
| critical | whoever runs the system |

The last column says what Accord sends, or raises at its own end; it is read from the source. The
other rows are defined and not sent: names for applications to use, by which errors of other
programs are known. In the standard profile of MCP, and in 2026-07-28 in either profile, most are
sent with a code of the protocol instead, such as -32602 for `tool_not_found`; `data.reason` has
the name all the same, and by it `error.entry` finds the row here.
"""

COLUMNS = "| code | name | severity | message | |\n|---|---|---|---|---|\n"
SHARED_OPENING = """
## codes of the protocol that stand for more

| code | name | severity | message | |
|---|---|---|---|---|
"""


def render() -> str:
    """The whole page."""
    sent = names_sent()
    sections = groupby(BUILT_IN, key=lambda entry: entry.category)
    own = "".join(_section(category, list(entries), sent) for category, entries in sections)
    return OPENING + own + SHARED_OPENING + "".join(_row(entry, sent) for entry in SHARED)


def _section(category: str, entries: list[Entry], sent: frozenset[str]) -> str:
    head = f"\n## {category.replace('_', ' ')}\n\n{COLUMNS}"
    return head + "".join(_row(entry, sent) for entry in entries)


def _row(entry: Entry, sent: frozenset[str]) -> str:
    names = ", ".join(f"`{name}`" for name in names_of(entry))
    told = "sent" if is_sent(entry, sent) else "defined, not sent"
    return f"| {entry.code} | {names} | {entry.severity} | {entry.message} | {told} |\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
