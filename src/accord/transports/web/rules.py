"""What follows from the head of a request for an application: the application judges it.

As with JSON-RPC, a head that was let in once is let in again by one look-up of its bytes.
"""

from __future__ import annotations

from typing import Any

from accord.transports.http.heads import read_request
from accord.transports.http.replies import Reply
from accord.transports.http.rules import Head, conclude, expectation_failed, remember
from accord.transports.web.app import SMALL_BODY, WebApp


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
        self._root = path.rstrip("/")
        self._max_body = max_body
        self._loopback = loopback
        self.known: dict[bytes, Head] = {}

    def judge(self, raw: bytes) -> Head:
        """What follows from the head `raw`. Raises MalformedError when it is none."""
        request = read_request(raw, root=self._root, loopback=self._loopback, bound=self._bound)
        judged = expectation_failed(request) or self._app.judge(request)
        limit, most = SMALL_BODY, None
        if not isinstance(judged, Reply):
            limit = self._app.body_limit(judged)
            most = least(self._max_body, limit.max_bytes)
            if most is not None and request.length > most:
                judged = self._app.too_large(request, most)
        reply = judged if isinstance(judged, Reply) else None
        head = conclude(
            request,
            reply,
            judged=judged,
            max_body=most,
            admits=True,
            anonymous=limit.anonymous,
        )
        remember(self.known, raw, head)
        return head

    def too_large(self, head: Head) -> Reply:
        assert head.max_body is not None
        return self._app.too_large(head.request, head.max_body)

    def exhausted(self, head: Head) -> Reply:
        return self._app.exhausted(head.request)


def least(*limits: int | None) -> int | None:
    """Return the smallest of the limits; None where there is none."""
    return min((each for each in limits if each is not None), default=None)
