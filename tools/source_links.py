"""Links of pages to files that are not pages: links in the repository, their paths on the site.

An extension of Python-Markdown, which zensical.toml names. On the site such a link would lead out
of it. Links between pages it leaves as they are.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

DOCS = PurePosixPath("docs")
AFTER_INLINE = 15
"""Links are elements once the inline patterns have run, at 20."""


class SourceLinks(Extension):  # type: ignore[misc]  # Markdown has no types
    """Registers the rewriting."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the name that Markdown calls
        md.treeprocessors.register(_Rewriting(md), "source_links", AFTER_INLINE)


class _Rewriting(Treeprocessor):  # type: ignore[misc]  # the same
    def run(self, root: Element) -> None:
        page = PurePosixPath(self.md.preprocessors["rendering_context"].page.path)
        for link in root.iter("a"):
            source = source_of(link.get("href", ""), page)
            if source is not None:
                _name(link, source)


def source_of(href: str, page: PurePosixPath) -> str | None:
    """The path in the repository that a link on `page` leads to; None if it stays in docs."""
    parts = urlsplit(href)
    if parts.scheme or parts.netloc or not parts.path:
        return None
    target = PurePosixPath(normpath(DOCS / page.parent / parts.path))
    return None if target.is_relative_to(DOCS) else str(target)


def _name(link: Element, source: str) -> None:
    named = "".join(link.itertext())
    link.tag = "span"
    link.attrib.clear()
    if not source.endswith(named):
        SubElement(link, "small").text = f" ({source})"


def makeExtension() -> SourceLinks:  # noqa: N802  # the name that Markdown looks for
    """What Markdown calls to have the extension."""
    return SourceLinks()
