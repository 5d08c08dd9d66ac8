"""Rendering of Markdown as safe HTML.

HTML tags in a text are shown as text: the renderer supports no raw HTML. Links lead to web pages
and mail addresses only; images become links, so that reading a text loads nothing from elsewhere.
Reference ids such as REQ-012 become links to their items. The Content-Security-Policy of the pages
is the second line of defence.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

MAX_KEPT: Final = 500
"""The most rendered texts in the cache."""
MAX_TEXT: Final = 50_000
"""The most characters of a text that is rendered: the limit of texts in the hub. Longer texts occur
only in previews, and are shown as plain text. Rendering takes up to 10 µs per character."""

_SAFE: Final = re.compile(r"(?:https?://|mailto:|/(?!/)|#)", re.IGNORECASE)
REFERENCE: Final = re.compile(r"\b(?:EP|US|AC|REQ|STD|PROMPT)-[0-9]{1,9}\b", re.IGNORECASE)


class MarkdownHtml:
    """A cache of Markdown texts rendered as HTML. Safe for several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Markup] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, text: str) -> Markup | None:
        """Return the cached HTML of a text, None if the text is not in the cache."""
        with self._lock:
            found = self._kept.get(text)
            if found is not None:
                self._kept.move_to_end(text)
            return found

    def render(self, text: str) -> Markup:
        """Render a text as HTML, and put the HTML into the cache."""
        made = markdown(text)
        with self._lock:
            self._kept[text] = made
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return made


def markdown(text: str) -> Markup:
    """Render a Markdown text as HTML, without a cache.

    A text of more than `MAX_TEXT` characters is shown as plain text.
    """
    if len(text) > MAX_TEXT:
        return Markup("<pre>{}</pre>").format(text)
    return Markup(_parser().render(text))


@lru_cache(1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _is_safe  # type: ignore[method-assign]
    parser.core.ruler.push("references", _link_references)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    return parser


def _is_safe(url: str) -> bool:
    return _SAFE.match(url.strip()) is not None


def _image(
    _renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    _env: EnvType,
) -> str:
    token = tokens[index]
    source = escape(str(token.attrs.get("src", "")))
    return f'<a href="{source}" rel="noreferrer nofollow">{escape(token.content or "picture")}</a>'


def _link_open(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[index].attrSet("rel", "noreferrer nofollow")
    return renderer.renderToken(tokens, index, options, env)


def _link_references(state: StateCore) -> None:
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = _with_references(block.children)


def _with_references(tokens: list[Token]) -> list[Token]:
    made: list[Token] = []
    depth = 0
    for token in tokens:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "text" and depth == 0:
            made += _split(token.content)
        else:
            made.append(token)
    return made


def _split(text: str) -> list[Token]:
    made: list[Token] = []
    end = 0
    for found in REFERENCE.finditer(text):
        made += [_text(text[end : found.start()])] if found.start() > end else []
        href: dict[str, Any] = {"href": f"/items/{found[0].upper()}"}
        made += [
            Token("link_open", "a", 1, attrs=href),
            _text(found[0]),
            Token("link_close", "a", -1),
        ]
        end = found.end()
    return [*made, _text(text[end:])] if end < len(text) or not made else made


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
