"""What the HTTP server makes of a request's head before any body is read.

Who is let in is decided by `Admission`; what follows for the connection is decided here.
Clients repeat themselves: a kept-alive one sends the same head again and again. A head that
was let in once is let in again by one look-up of its bytes; equal bytes mean an equal head.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from accord.transports.http.admission import ENDPOINT, Admission, nothing_here
from accord.transports.http.heads import read_request
from accord.transports.http.replies import CLOSE, EXHAUSTED, KEEP_ALIVE, Reply, text_reply
from accord.transports.http.request import WebRequest
from accord.transports.pages import Pages

MAX_DRAINED_BYTES: Final = 1024 * 1024
"""Most bytes of an unwanted body that are read and dropped to save the connection."""
MAX_KNOWN_HEADS: Final = 1024
MAX_KNOWN_HEAD_BYTES: Final = 1024


class Head(Struct, frozen=True):
    """A request's head and what follows from it."""

    request: WebRequest
    close: bool
    """Whether this is the connection's last request."""
    expects: bool
    """Whether the client waits for `100 Continue` before it sends the body."""
    cors: bytes = b""
    """Header lines for a browser that asks on behalf of another origin."""
    extra: bytes = b""
    """Header lines of the response: `cors` and what is to be said about the connection."""
    reply: Reply | None = None
    """The answer, where no method is called: a refusal or a page. The request's body is still
    to be skipped."""
    max_body: int | None = None
    """Most bytes of the body; None for as many as the server takes anywhere."""
    admits: bool = False
    """Whether the sender is to be admitted before a body is read that has not come yet."""
    anonymous: bool = False
    """Whether nobody knows who sends the body until it is read."""
    judged: Any = None
    """What an application made of the head; see `transports.web`."""


class Rules:
    """The rules of one endpoint."""

    def __init__(
        self,
        *,
        path: str,
        max_body: int | None,
        origins: tuple[str, ...] | None,
        loopback: bool,
        pages: Pages,
    ) -> None:
        self._path = path
        self._below = path.rstrip("/") + "/"
        self._loopback = loopback
        self._admission = Admission(max_body=max_body, origins=origins, pages=pages)
        self.known: dict[bytes, Head] = {}
        """The heads that were let in, by their bytes."""
        self._too_large = self._admission.too_large
        self._nothing_here = nothing_here(path)

    def judge(self, raw: bytes) -> Head:
        """What follows from the head `raw`. Raises MalformedError when it is none."""
        request = read_request(raw, loopback=self._loopback)
        place = self._place(request.target)
        request = replace(request, place=place)
        reply = expectation_failed(request)
        if reply is None:
            reply = self._nothing_here if place is None else self._admission.reply(request, place)
        head = conclude(request, reply, self._admission.origins.lines(request))
        remember(self.known, raw, head)
        return head

    def too_large(self, head: Head) -> Reply:
        """What is answered in place of a body that is too large."""
        return self._too_large.adding(head.cors)

    def exhausted(self, head: Head) -> Reply:
        """Return the answer to a body for which there is no memory."""
        return EXHAUSTED.adding(head.cors)

    def _place(self, path: str) -> str | None:
        """What `path` is relative to the endpoint, None where nothing is."""
        if path == self._path:
            return ENDPOINT
        place = path.removeprefix(self._below)
        is_below = path.startswith(self._below) and place != ENDPOINT
        return place if is_below and self._admission.knows(place) else None


class HeadRules(Protocol):
    """Decides what follows from heads."""

    known: dict[bytes, Head]

    def judge(self, raw: bytes) -> Head: ...

    def too_large(self, head: Head) -> Reply: ...

    def exhausted(self, head: Head) -> Reply: ...


class Judgement(TypedDict, total=False):
    """What an application adds to the head of a request; see `Head`."""

    max_body: int | None
    admits: bool
    anonymous: bool
    judged: Any


def refuse(head: Head, reply: Reply) -> Head:
    """Return `head` as one that is answered by `reply`, its body unread."""
    close = head.close or head.expects or head.request.length > MAX_DRAINED_BYTES
    persistence = b"" if close else head.extra[len(head.cors) :]
    return replace(
        head,
        reply=reply.adding(persistence),
        close=close,
        expects=False,
        extra=head.cors + (CLOSE if close else persistence),
    )


def conclude(
    request: WebRequest, reply: Reply | None, cors: bytes = b"", **more: Unpack[Judgement]
) -> Head:
    """The head of a request that is answered by `reply`, or let in."""
    expects = request.minor == 1 and "expect" in request.fields and request.length != 0
    close = not request.keep_alive or (
        # Nobody can tell whether a client that was refused its body still sends it.
        reply is not None and (expects or request.length > MAX_DRAINED_BYTES)
    )
    persistence = KEEP_ALIVE if request.minor == 0 and request.keep_alive else b""
    if reply is not None:
        reply = replace(
            reply,
            headers=reply.headers + cors + persistence,
            head_only=request.method == "HEAD",
        )
    return Head(
        request,
        close,
        expects and reply is None,
        cors,
        cors + (CLOSE if close else persistence),
        reply,
        **more,
    )


def remember(known: dict[bytes, Head], raw: bytes, head: Head) -> None:
    """Keep what follows from a head that was let in."""
    if head.reply is None and len(raw) <= MAX_KNOWN_HEAD_BYTES:
        if len(known) >= MAX_KNOWN_HEADS:
            known.clear()
        known[raw] = head


def expectation_failed(request: WebRequest) -> Reply | None:
    expectation = request.fields.get("expect", "100-continue").lower()
    if expectation != "100-continue" and request.minor == 1:
        return text_reply(417, "The only expectation met here is 100-continue")
    return None
