"""Style sheets, scripts and pictures: read once, named by what is in them, sent compressed.

All of them share one name that changes with any of them, so that browsers keep them for good, and a
script finds those beside it by their plain names. What comes from npm is in `static/vendor`, put
there by `make assets`; without it pages work as well, with whole pages instead of pieces.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from msgspec import Struct

from accord.transports.http.replies import Reply, text_reply
from accord.transports.web.app import WebRequest
from accord.web.responses import SECURITY_HEADERS

PLACE: Final = "static"
HTMX: Final = "vendor/htmx.min.js"
MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_KEPT: Final = b"cache-control: public, max-age=31536000, immutable\r\nvary: accept-encoding\r\n"


class Asset(Struct, frozen=True):
    """One file."""

    media_type: str
    plain: bytes
    compressed: bytes


class Assets:
    """All files of the pages."""

    def __init__(self, folder: Traversable | None = None) -> None:
        self._files = dict(_read(folder or files("accord.web") / "static", ""))
        digest = sha256()
        for name, asset in sorted(self._files.items()):
            digest.update(name.encode() + b"\0" + asset.plain)
        self.version = digest.hexdigest()[:12]

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def size(self, name: str) -> int:
        """How many bytes of it are sent."""
        return len(self._files[name].compressed)

    def url(self, name: str) -> str:
        """Where it is. Raises KeyError for a file that is not there."""
        self._files[name]
        return f"/{PLACE}/{self.version}/{name}"

    def reply(self, request: WebRequest, place: str) -> Reply:
        """The answer to a request for what is at `place` below all assets."""
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
