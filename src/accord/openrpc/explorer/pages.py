"""The explorer's files as pages beside an endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import Final
from urllib.parse import urlsplit

from accord.transports.pages import Page, Pages, etag_of

PLACE: Final = "explore"
MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_TYPES = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
"""A comment of types on lines of its own. They are for who changes the page, and a third of it."""
_COMMON: Final = (
    ("cache-control", "no-cache"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
)


def explorer_pages(
    *, document: str = "openrpc.json", endpoint: str = ".", title: str = "API explorer"
) -> Pages:
    """The explorer at `explore`, with its files below that.

    `document` and `endpoint` are URLs relative to the page: by default the document beside it
    and the endpoint that both are below. An endpoint keeps its last slash only if you write
    it. `title` is shown until the document, which has a better one, is loaded.
    """
    words = {"document": escape(document), "endpoint": escape(endpoint), "title": escape(title)}
    html = _read("index.html").decode()
    for name, word in words.items():
        html = html.replace(f"{{{name}}}", word)
    policy = _policy(document, endpoint)
    pages: dict[str, Callable[[], Page]] = {
        PLACE: partial(_page, html.encode(), ".html", (*_COMMON, *policy)),
        f"{PLACE}/": _without_slash,
    }
    for name in _names():
        if name != "index.html":
            suffix = name[name.rindex(".") :]
            pages[f"{PLACE}/{name}"] = partial(_page, _read(name), suffix, _COMMON)
    return pages


def _page(body: bytes, suffix: str, headers: tuple[tuple[str, str], ...]) -> Page:
    return Page(body=body, media_type=MEDIA_TYPES[suffix], etag=etag_of(body), headers=headers)


def _without_slash() -> Page:
    """The page's links are relative: it has to be where they begin from."""
    return Page(
        body=b"", media_type="text/plain", status=307, headers=(("location", f"../{PLACE}"),)
    )


def _policy(document: str, endpoint: str) -> tuple[tuple[str, str], ...]:
    """Nothing but our own files runs or is loaded, and text from outside never becomes HTML."""
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
    return (
        ("content-security-policy", "; ".join(directives)),
        ("cross-origin-opener-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    )


def _origin(url: str) -> str:
    """Of an absolute URL; nothing for a relative one, which is our own."""
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
