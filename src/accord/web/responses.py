"""Responses of pages, and the header lines that all of them carry. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from string import ascii_letters, digits
from typing import Final
from urllib.parse import quote

from msgspec import Struct

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Nothing but our own files runs, and nobody puts a page of ours into theirs."""
SECURITY_HEADERS: Final = (
    b"x-content-type-options: nosniff\r\n"
    b"referrer-policy: same-origin\r\n"
    b"cross-origin-opener-policy: same-origin\r\n"
    b"cross-origin-resource-policy: same-origin\r\n"
)


def page_headers(policy: str) -> bytes:
    """Header lines of a page under a policy."""
    framed = "SAMEORIGIN" if "frame-ancestors 'self'" in policy else "DENY"
    return SECURITY_HEADERS + (
        b"x-frame-options: %b\r\ncache-control: no-store\r\nvary: cookie, hx-request\r\n"
        b"content-security-policy: %b\r\n" % (framed.encode("ascii"), policy.encode("ascii"))
    )


PAGE_HEADERS: Final = page_headers(POLICY)
HTML_TYPE: Final = b"content-type: text/html; charset=utf-8\r\n"


class Html(Struct, frozen=True):
    """A page, or a piece of one."""

    body: str
    status: int = 200
    headers: bytes = b""
    policy: str = POLICY
    rest: Callable[[], Awaitable[str]] | None = None
    """Gives the body of a page that takes long to make."""


class Redirect(Struct, frozen=True):
    """Have the browser open another page of ours."""

    path: str
    """Below the root, with its query."""
    headers: bytes = b""


_PLAIN: Final = frozenset(ascii_letters + digits + " .,+-_()@'")
"""What the name of a file may have for clients that know nothing of RFC 6266."""


class FileDownload(Struct, frozen=True):
    """Something to keep."""

    body: bytes
    name: str
    media_type: str

    @property
    def headers(self) -> bytes:
        plain = "".join(each if each in _PLAIN else "_" for each in self.name)
        told = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(self.name)}"
        return f"content-type: {self.media_type}\r\ncontent-disposition: {told}\r\n".encode("ascii")


PageResponse = Html | Redirect | FileDownload


def is_local_path(path: str) -> bool:
    """Whether a path leads nowhere but to a page of this server: who sends people on by a path that
    others may have written asks this first."""
    return (
        path.startswith("/")
        and not path.startswith(("//", "/\\"))
        and path.isprintable()
        and path.isascii()
        and "\\" not in path
    )
