"""Code in tables as GitHub reads it: `\\|` is a bar that divides no cells, and is shown as one.

An extension of Python-Markdown, which zensical.toml names; without it the backslash would be shown.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

AFTER_INLINE = 15
"""Code is an element once the inline patterns have run, at 20."""


class TablePipes(Extension):  # type: ignore[misc]  # Markdown has no types
    """Registers the rewriting."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the name that Markdown calls
        md.treeprocessors.register(_Rewriting(md), "table_pipes", AFTER_INLINE)


class _Rewriting(Treeprocessor):  # type: ignore[misc]  # the same
    def run(self, root: Element) -> None:
        for cell in root.iter("td"):
            for code in cell.iter("code"):
                code.text = AtomicString((code.text or "").replace("\\|", "|"))


def makeExtension() -> TablePipes:  # noqa: N802  # the name that Markdown looks for
    """What Markdown calls to have the extension."""
    return TablePipes()
