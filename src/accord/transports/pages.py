"""Static pages next to an RPC endpoint: its description, an explorer, metrics, health. Pure.

A function returns the page for each request, so a page can change. The server only sends it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TypeAlias

from msgspec import Struct


class Page(Struct, frozen=True, kw_only=True):
    """A page as it is sent in response to a GET request."""

    body: bytes
    media_type: str
    status: int = 200
    etag: str = ""
    """Entity tag with its quotes, as it is sent; empty for a page that must not be cached."""
    headers: tuple[tuple[str, str], ...] = ()
    """Other header fields of the response, with names in lower case."""


PageSource: TypeAlias = Callable[[], Page]
Pages: TypeAlias = Mapping[str, PageSource]
"""Pages by their path relative to the endpoint: `openrpc.json`, `explore/app.js`."""


def etag_of(body: bytes) -> str:
    """Return a strong entity tag: equal for equal bytes only (RFC 9110, section 8.8.3)."""
    return f'"{sha256(body).hexdigest()[:32]}"'


_TAG = re.compile(r'(?:W/)?("[^"]*")')


def is_unchanged(page: Page, if_none_match: str | None) -> bool:
    """Return whether a client that sent `if_none_match` has this page (RFC 9110, 13.1.2)."""
    if if_none_match is None or not page.etag:
        return False
    return if_none_match.strip() == "*" or page.etag in _TAG.findall(if_none_match)
