"""The fenced code blocks of a Markdown page, with the comments that stand before them."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

from msgspec import Struct

_FENCE = re.compile(r"(?P<indent> *)```(?P<language>\S*)\s*")
_COMMENT = re.compile(r"\s*<!-- (?P<kind>[\w ]+): (?P<text>.+) -->\s*")


class Block(Struct, frozen=True):
    """One code block. A comment `<!-- kind: text -->` right before it says how to treat it."""

    page: str
    line: int
    language: str
    code: str
    kind: str = ""
    text: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def read_blocks(page: str, path: Path) -> list[Block]:
    """The code blocks of the file at `path`, which is called `page`."""
    lines = path.read_text().splitlines()
    blocks: list[Block] = []
    start: int | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        if start is None:
            start = number
        elif not fence["language"]:
            blocks.append(_block(page, lines, start, number))
            start = None
    assert start is None, f"{page}:{start + 1}: the code block has no end"
    return blocks


def _block(page: str, lines: list[str], start: int, end: int) -> Block:
    fence = _FENCE.fullmatch(lines[start])
    assert fence is not None
    before = next((line for line in reversed(lines[:start]) if line.strip()), "")
    comment = _COMMENT.fullmatch(before)
    return Block(
        page,
        start + 1,
        fence["language"],
        dedent("\n".join(lines[start + 1 : end])) + "\n",
        comment["kind"] if comment else "",
        comment["text"] if comment else "",
    )
