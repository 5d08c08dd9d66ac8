"""Responses of pages, their header lines, and static files.

Style sheets, scripts and pictures are read once and compressed. Their paths contain a version, a
hash of all static files: browsers cache the files forever, and scripts import each other by
relative paths. `make assets` puts the scripts from npm into `static/vendor`; without them pages
reload instead of updating in place.
"""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable, Iterator
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import ascii_letters, digits
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply, text_reply

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
"""The Content-Security-Policy of pages: only our own files are loaded, and no page may be
framed."""
SECURITY_HEADERS: Final = (
    b"x-content-type-options: nosniff\r\n"
    b"referrer-policy: same-origin\r\n"
    b"cross-origin-opener-policy: same-origin\r\n"
    b"cross-origin-resource-policy: same-origin\r\n"
)


def page_headers(policy: str) -> bytes:
    """Return the header lines of a page with the Content-Security-Policy `policy`."""
    framed = "SAMEORIGIN" if "frame-ancestors 'self'" in policy else "DENY"
    return SECURITY_HEADERS + (
        b"x-frame-options: %b\r\ncache-control: no-store\r\nvary: cookie, hx-request\r\n"
        b"content-security-policy: %b\r\n" % (framed.encode("ascii"), policy.encode("ascii"))
    )


PAGE_HEADERS: Final = page_headers(POLICY)
HTML_TYPE: Final = b"content-type: text/html; charset=utf-8\r\n"


class Html(Struct, frozen=True):
    """A response with HTML: a whole page or a partial."""

    body: str
    status: int = 200
    headers: bytes = b""
    policy: str = POLICY
    rest: Callable[[], Awaitable[str]] | None = None
    """A function that renders the body of a slow page, for which `body` is empty; None if `body` is
    complete."""


class Redirect(Struct, frozen=True):
    """A redirect to another page of this server."""

    path: str
    """The path of the page from the root, with its query."""
    headers: bytes = b""


_PLAIN: Final = frozenset(ascii_letters + digits + " .,+-_()@'")
"""The characters that all clients understand in the name of a downloaded file, even clients that
do not support RFC 6266."""


class FileDownload(Struct, frozen=True):
    """A response with a file to download."""

    body: bytes
    name: str
    media_type: str

    @property
    def headers(self) -> bytes:
        plain = "".join(each if each in _PLAIN else "_" for each in self.name)
        disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(self.name)}"
        return f"content-type: {self.media_type}\r\ncontent-disposition: {disposition}\r\n".encode(
            "ascii"
        )


PageResponse = Html | Redirect | FileDownload


def is_local_path(path: str) -> bool:
    """Return true if a path leads to a page of this server only.

    Check this before a redirect to a path that a request contains (open redirect).
    """
    return (
        path.startswith("/")
        and not path.startswith(("//", "/\\"))
        and path.isprintable()
        and path.isascii()
        and "\\" not in path
    )


PLACE: Final = "static"
HTMX: Final = "vendor/htmx.min.js"
MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_KEPT: Final = b"cache-control: public, max-age=31536000, immutable\r\nvary: accept-encoding\r\n"


class Asset(Struct, frozen=True):
    """A static file, in plain and compressed form."""

    media_type: str
    plain: bytes
    compressed: bytes


class Assets:
    """All static files of the pages."""

    def __init__(self, folder: Traversable | None = None) -> None:
        self._files = dict(_read(folder or files("accord.web") / "static", ""))
        digest = sha256()
        for name, asset in sorted(self._files.items()):
            digest.update(name.encode() + b"\0" + asset.plain)
        self.version = digest.hexdigest()[:12]

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def size(self, name: str) -> int:
        """Return the size of a compressed static file in bytes."""
        return len(self._files[name].compressed)

    def url(self, name: str) -> str:
        """Return the path of a static file. Raises KeyError if there is no such file."""
        self._files[name]
        return f"/{PLACE}/{self.version}/{name}"

    def reply(self, request: WebRequest, place: str) -> Reply:
        """Answer a request for a static file.

        `place` is the version of the static files and the name of the file: `version/name`.
        """
        if request.method not in ("GET", "HEAD"):
            return text_reply(405, "only GET", b"allow: GET, HEAD\r\n")
        version, _, name = place.partition("/")
        asset = self._files.get(name)
        if asset is None or version != self.version:
            return text_reply(404, "there is nothing here", SECURITY_HEADERS)
        lines = SECURITY_HEADERS + _KEPT + f"content-type: {asset.media_type}\r\n".encode("ascii")
        if "gzip" in request.fields.get("accept-encoding", ""):
            return Reply(200, lines + b"content-encoding: gzip\r\n", asset.compressed)
        return Reply(200, lines, asset.plain)


def _read(folder: Traversable, place: str) -> Iterator[tuple[str, Asset]]:
    for entry in folder.iterdir():
        name = f"{place}{entry.name}"
        if entry.is_dir():
            yield from _read(entry, f"{name}/")
        elif (suffix := entry.name[entry.name.rfind(".") :]) in MEDIA_TYPES:
            plain = entry.read_bytes()
            yield name, Asset(MEDIA_TYPES[suffix], plain, gzip.compress(plain, 9, mtime=0))
