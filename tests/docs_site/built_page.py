"""A page of the built site as tests look at it: what it holds, links to and loads."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

STRUCTURE = ("h1", "h2", "h3", "h4", "li", "pre", "table", "tr")
"""What has to be the same wherever a page is read."""
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src"}
FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "manifest"}


class BuiltPage(HTMLParser):
    """One page, read."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        """What a browser fetches by itself."""
        self.navigation: list[str] = []
        self.structure: Counter[str] = Counter()
        """Of what was written, without what the site puts around it."""
        self._inside: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("article", "nav"):
            self._inside.append(tag)
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
            if "nav" in self._inside:
                self.navigation.append(given["href"])
        if tag == "link" and given.get("rel") in FETCHED:
            self.loaded.append(given["href"])
        if LOADED.get(tag) in given:
            self.loaded.append(given[LOADED[tag]])
        if tag in STRUCTURE and self._inside == ["article"]:
            self.structure[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in ("article", "nav"):
            self._inside.pop()
