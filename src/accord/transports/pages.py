"""Pages that stand beside an RPC endpoint: its description, an explorer, metrics, health.

Pure: what a page says comes from a function that is asked at each request, so that a page can
change; whoever serves it decides nothing but how the bytes leave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TypeAlias

from msgspec import Struct


class Page(Struct, frozen=True, kw_only=True):
    """What a GET is answered with."""

    body: bytes
    media_type: str
    status: int = 200
    etag: str = ""
    """With its quotes, as it is sent; empty for a page that is never the same."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers, names in lower case."""


PageSource: TypeAlias = Callable[[], Page]
Pages: TypeAlias = Mapping[str, PageSource]
"""Pages by where they are, relative to the endpoint's path: `openrpc.json`, `explore/app.js`."""


def etag_of(body: bytes) -> str:
    """A strong entity tag: equal for equal bytes only (RFC 9110, section 8.8.3)."""
    return f'"{sha256(body).hexdigest()[:32]}"'


_TAG = re.compile(r'(?:W/)?("[^"]*")')


def is_unchanged(page: Page, if_none_match: str | None) -> bool:
    """Whether a client that sent `if_none_match` has this very page (RFC 9110, 13.1.2)."""
    if if_none_match is None or not page.etag:
        return False
    return if_none_match.strip() == "*" or page.etag in _TAG.findall(if_none_match)
