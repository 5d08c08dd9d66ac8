"""The explorer: a web page to find methods, read about them, and call them.

The page consists of a few static files in the folder `page`, served unchanged except that type
comments are removed. The page loads an OpenRPC document and calls an endpoint. Its content security
policy forbids it to load anything else from other origins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from accord.transports.pages import Page, Pages, etag_of

__all__ = ["FramedPage", "explorer_pages", "framed_page"]

PLACE: Final = "explore"
MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_TYPES = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
"""A regular expression that matches type comments on lines of their own. Such comments are for
developers only, and make up a third of the page."""
_COMMON: Final = (
    ("cache-control", "no-cache"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
)


def explorer_pages(
    *, document: str = "openrpc.json", endpoint: str = ".", title: str = "API explorer"
) -> Pages:
    """Return the explorer as a page at `explore`, with its files below that path.

    `document` and `endpoint` are URLs relative to the page. By default the document is
    `openrpc.json` beside the page, and the endpoint is the folder that contains the page. A slash
    at the end of `endpoint` is significant. `title` is shown until the document, which has a title
    too, is loaded.
    """
    html = _html(document=document, endpoint=endpoint, title=title)
    headers = (
        *_COMMON,
        ("content-security-policy", _policy(document, endpoint)),
        ("cross-origin-opener-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    )
    pages: dict[str, Callable[[], Page]] = {
        PLACE: partial(_page, html.encode(), ".html", headers),
        f"{PLACE}/": _without_slash,
    }
    for name in _names():
        if name != "index.html":
            suffix = name[name.rindex(".") :]
            pages[f"{PLACE}/{name}"] = partial(_page, _read(name), suffix, _COMMON)
    return pages


class FramedPage(Struct, frozen=True):
    """The explorer as a page for a frame (iframe) in another page of the same origin."""

    html: str
    policy: str
    """The content security policy to send with the page."""


def framed_page(*, place: str, csrf: str, theme: str = "") -> FramedPage:
    """Return the explorer as a page for a frame.

    `place` is the path of the endpoint in a URL, such as `/rpc`. Calls from the page send `csrf` in
    X-CSRF-Token, so that users with a session cookie can make them. `theme` is light, dark, or
    empty for the theme of the system.
    """
    attributes = f' data-framed data-csrf="{escape(csrf)}"'
    if theme:
        attributes += f' data-theme="{escape(theme)}"'
    document = f"{place}/openrpc.json"
    html = _html(document=document, endpoint=place, files=f"{place}/{PLACE}", attributes=attributes)
    policy = _policy(document, place)
    return FramedPage(html, policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'"))


def _html(
    *,
    document: str,
    endpoint: str,
    title: str = "API explorer",
    files: str = PLACE,
    attributes: str = "",
) -> str:
    words = {"document": document, "endpoint": endpoint, "title": title, "files": files}
    html = _read("index.html").decode().replace("{framed}", attributes)
    for name, word in words.items():
        html = html.replace(f"{{{name}}}", escape(word))
    return html


def _page(body: bytes, suffix: str, headers: tuple[tuple[str, str], ...]) -> Page:
    return Page(body=body, media_type=MEDIA_TYPES[suffix], etag=etag_of(body), headers=headers)


def _without_slash() -> Page:
    """Return a redirect to the path without a slash, on which the page's links depend."""
    return Page(
        body=b"", media_type="text/plain", status=307, headers=(("location", f"../{PLACE}"),)
    )


def _policy(document: str, endpoint: str) -> str:
    """Return the content security policy of the explorer.

    It allows only files of the same origin, and connections to the origins of the document and the
    endpoint. It requires Trusted Types, so that scripts cannot turn text into HTML.
    """
    sources = [
        "'self'",
        *sorted({origin for url in (document, endpoint) if (origin := _origin(url))}),
    ]
    directives = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        f"connect-src {' '.join(sources)}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(directives)


def _origin(url: str) -> str:
    """Return the origin of an absolute URL; empty for a relative URL (same origin)."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


@cache
def _names() -> tuple[str, ...]:
    folder = files(__package__) / "page"
    return tuple(sorted(entry.name for entry in folder.iterdir()))


@cache
def _read(name: str) -> bytes:
    text = (files(__package__) / "page" / name).read_text("utf-8")
    return (_TYPES.sub("", text) if name.endswith(".js") else text).encode()
