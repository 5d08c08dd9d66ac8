"""What follows from the head of a request for an application: the application judges it.

As with JSON-RPC, a head that was let in once is let in again by one look-up of its bytes.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from msgspec.structs import asdict

from accord.transports.http.fields import Fields
from accord.transports.http.heads import RequestHead, read_request
from accord.transports.http.replies import Reply
from accord.transports.http.rules import Head, conclude, expectation_failed, remember
from accord.transports.web.app import SMALL_BODY, WebApp, WebRequest


class WebHead(Head, frozen=True, kw_only=True, gc=True):
    """A request's head, and what the application made of it."""

    request: WebRequest
    judged: Any
    chunks: bool
    """Whether the client understands a response in chunks."""


class WebRules:
    """The rules of one application at one path."""

    def __init__(
        self,
        app: WebApp[Any],
        *,
        path: str,
        max_body: int | None,
        loopback: bool,
        bound: str = "",
    ) -> None:
        self._app = app
        self._bound = bound
        self._path = path.rstrip("/")
        self._max_body = max_body
        self._loopback = loopback
        self.known: dict[bytes, Head] = {}

    def judge(self, raw: bytes) -> WebHead:
        """What follows from the head `raw`. Raises MalformedError when it is none."""
        head = read_request(raw)
        request = self._request(head)
        judged = expectation_failed(head) or self._app.judge(request)
        limit, most = SMALL_BODY, None
        if not isinstance(judged, Reply):
            limit = self._app.body_limit(judged)
            most = least(self._max_body, limit.max_bytes)
            if most is not None and request.length > most:
                judged = self._app.too_large(request, most)
        reply = judged if isinstance(judged, Reply) else None
        concluded = {**asdict(conclude(head, reply)), "fields": request.fields}
        concluded |= {"max_body": most, "admits": True, "anonymous": limit.anonymous}
        found = WebHead(**concluded, request=request, judged=judged, chunks=head.minor == 1)
        remember(self.known, raw, found)
        return found

    def too_large(self, head: Head) -> Reply:
        assert isinstance(head, WebHead)
        assert head.max_body is not None
        return self._app.too_large(head.request, head.max_body)

    def exhausted(self, head: Head) -> Reply:
        assert isinstance(head, WebHead)
        return self._app.exhausted(head.request)

    def _request(self, head: RequestHead) -> WebRequest:
        path = unquote(head.path.decode("ascii"))
        return WebRequest(
            head.method.decode("ascii"),
            path,
            place_below(path, self._path),
            head.query.decode("ascii"),
            Fields(head.pairs),
            head.length,
            self._loopback,
            self._bound,
        )


def least(*limits: int | None) -> int | None:
    """Return the smallest of the limits; None where there is none."""
    return min((each for each in limits if each is not None), default=None)


def place_below(path: str, root: str) -> str | None:
    """Where `path` is below `root`, which has no slash at its end."""
    rest = path.removeprefix(root)
    if not path.startswith(root) or (rest and rest[0] != "/"):
        return None
    return rest.removeprefix("/")
