"""One short question over HTTP, for what answers at a URL: no credentials, no redirects."""

from __future__ import annotations

import ssl
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

import msgspec
from msgspec import Struct

from accord.jsonrpc.nesting import decode_json

SECONDS: Final = 3.0
LARGEST: Final = 256 * 1024


class Answer(Struct, frozen=True):
    """What came back."""

    status: int
    body: Any = None
    """Where it is JSON."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def ask(url: str) -> Answer | str:
    """What answers at `url`, or why nothing does."""
    # Who is there matters here, not whether to trust them: nothing is told to them.
    anybody = ssl.create_default_context()
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    opener = build_opener(_NoRedirects, ProxyHandler({}), HTTPSHandler(context=anybody))
    try:
        request = Request(url, headers={"Accept": "application/json, text/event-stream"})
        with opener.open(request, timeout=SECONDS) as answer:
            return Answer(answer.status, _json(answer.read(LARGEST)))
    except HTTPError as error:
        with error:
            return Answer(error.code)
    except (URLError, OSError, HTTPException, ValueError) as error:
        why = getattr(error, "reason", error)
        return str(getattr(why, "strerror", None) or why)


def _json(body: bytes) -> Any:
    try:
        return decode_json(body)
    except msgspec.DecodeError:
        return None
