"""Markdown as safe HTML.

Tags in a text are shown, not meant: the renderer knows no raw HTML. Links lead to web pages and
mail only, and pictures are links, so that reading a text tells nobody anything. Reference ids such
as REQ-012 become links to what they name. The policy of the pages holds if all this were wrong.
"""

from __future__ import annotations

import re
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
"""How many texts are remembered with what they became."""

_SAFE: Final = re.compile(r"(?:https?://|mailto:|/(?!/)|#)", re.IGNORECASE)
REFERENCE: Final = re.compile(r"\b(?:EP|US|AC|REQ|STD|PROMPT)-[0-9]{1,9}\b", re.IGNORECASE)


@lru_cache(MAX_KEPT)
def markdown(text: str) -> Markup:
    """What a text looks like."""
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
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
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
