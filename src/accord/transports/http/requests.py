"""Parsing of requests: from the bytes of a client to whole requests or refusals."""

from __future__ import annotations

import re
from enum import Enum
from math import inf
from typing import Final, Protocol

from accord.jsonrpc.protocol.messages import Failure, Invalid, Success
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.requests import Cancellable, RequestSource
from accord.transports.http.admission import MAX_DRAINED_BYTES, Head, HeadRules, refuse
from accord.transports.http.body import ChunkedBody, FixedBody
from accord.transports.http.heads import CHUNKED, MalformedError
from accord.transports.http.replies import Reply, text_reply
from accord.transports.options import ANONYMOUS_FRACTION, MemoryBudget, Reservation


class Wait(Enum):
    """The event that a connection waits for.

    Each event has its own timeout, and its own reaction to it.
    """

    FIRST_BYTE = "a new connection's first byte"
    NEXT_REQUEST = "a kept-alive connection's next request"
    HEAD = "the rest of a head"
    BODY = "the rest of a body"
    ANSWER = "a handler"
    ROOM = "a client that does not read"
    LAST_WORDS = "a refused client to stop sending"
    END = "the connection to be gone"


class Dispatch(Protocol):
    """The interface of a dispatcher, which answers messages one by one."""

    @property
    def statistics(self) -> Statistics: ...

    def handle(self, data: bytes, source: RequestSource) -> bytes | None | Cancellable:
        """Serve a payload; return its answer, None for no answer, or the running request.

        A running request passes its answer to `source.answer` once, never before this method
        returns. The answer to a payload that is not a valid message is an `InvalidMessageReply`.
        """


def count_unasked(statistics: Statistics, response: Success | Failure | Invalid) -> None:
    """Count a response that a client sends without a call to answer; drop the response.

    Over HTTP, a server makes no calls that a client could answer.
    """
    if isinstance(response, Invalid):
        statistics.answers_broken += 1
    else:
        statistics.answers_unknown += 1


_STRAY = re.compile(rb"\x00|(?<!\r)\n|\r(?!\n|\Z)")
"""Bytes that a valid head never contains. They are refused at once, without waiting for the end of
the head."""


class BodyBudget:
    """The memory budget for the bodies of requests to one listener.

    Anonymous senders share a part of it.
    """

    __slots__ = ("all", "anonymous")

    def __init__(self, limit: int | None) -> None:
        self.all = MemoryBudget(limit)
        self.anonymous = self.all.part(ANONYMOUS_FRACTION)

    def for_senders(self, *, anonymous: bool) -> MemoryBudget:
        return self.anonymous if anonymous else self.all


NO_BUDGET: Final = BodyBudget(None)


class RequestReader:
    """A parser of the bytes of one connection into requests."""

    __slots__ = (
        "_at",
        "_body",
        "_budget",
        "_buffer",
        "_head",
        "_held",
        "_known",
        "_max_body",
        "_max_head",
        "_rules",
        "_scanned",
        "expected",
        "finished",
        "reservation",
    )

    def __init__(
        self,
        rules: HeadRules,
        *,
        max_head: int,
        max_body: int | None,
        budget: BodyBudget | None = None,
    ) -> None:
        self._rules = rules
        self._budget = NO_BUDGET if budget is None else budget
        self._held: Reservation | None = None
        """The memory reserved for the body that is being received."""
        self.reservation: Reservation | None = None
        """The memory reserved for the body that `next` returned last; None if the body came in one
        piece. The user of the body takes over the reservation."""
        self._known = rules.known.get
        self._max_head = max_head
        self._max_body = max_body
        self._buffer = b""
        self._at = 0
        self._scanned = 0
        self._head: Head | None = None
        self._body: FixedBody | ChunkedBody | None = None
        self.expected = False
        """True if the client waits for `100 Continue`. The code that sends this response resets the
        attribute to False."""
        self.finished = False
        """Set when no further request will be returned; further input is dropped."""

    @property
    def buffered(self) -> int:
        """Number of received bytes that are not read yet."""
        return len(self._buffer) - self._at

    @property
    def wait(self) -> Wait:
        """The part of a request that is awaited next: a head, the rest of one, or a body."""
        if self._body is not None:
            return Wait.BODY
        return Wait.NEXT_REQUEST if self._at == len(self._buffer) else Wait.HEAD

    @property
    def skipping(self) -> bool:
        """True while the body of a request that was answered already is being received."""
        return self._body is not None and not self._body.keep

    def feed(self, data: bytes) -> None:
        """Add received bytes to the buffer."""
        if self.finished:
            return
        self._buffer = data if self._at == len(self._buffer) else self._buffer[self._at :] + data
        self._at = 0

    def next(self) -> tuple[Head, bytes] | Head | Reply | None:
        """Return the next request: its head and body.

        Returns a reply instead if the request is refused, and None if it is incomplete. A head is
        returned alone if its sender must be admitted first: then call `admit` or `refuse`.
        """
        if self._body is not None:
            return self._read_body(self._body)
        at = self._at
        if at == len(self._buffer) or self.finished:
            return None
        end = self._buffer.find(b"\r\n\r\n", at + self._scanned) + 4
        if end < 4:
            return self._await_head()
        self._scanned = 0
        head = self._known(self._buffer[at:end])
        if head is None:
            try:
                head = self._read_head(self._buffer[at:end])
            except MalformedError as error:
                return self._finish(text_reply(error.status, error.reason))
        if head.reply is not None:
            return self._skip(head, head.reply, end)
        stop = end + head.request.length
        if end <= stop <= len(self._buffer):
            self._at = stop
            self.finished = head.close
            return head, self._buffer[end:stop]
        self._at = end
        if head.admits:
            return head
        self._begin_body(head, keep=True)
        self.expected = head.expects and not self.buffered
        return self.next()

    def admit(self, head: Head) -> None:
        """Begin to read the body of a head that was returned alone."""
        self._begin_body(head, keep=True)
        self.expected = head.expects and not self.buffered

    def refuse(self, head: Head, reply: Reply) -> Reply | None:
        """Drop the body of a head that was returned alone; return the reply to send."""
        refused = refuse(head, reply)
        assert refused.reply is not None
        return self._skip(refused, refused.reply, self._at)

    def discard(self) -> None:
        """Free all memory; input that arrives later is dropped."""
        self._finish(None)

    def _await_head(self) -> Reply | None:
        if self.buffered > self._max_head:
            return self._finish(_head_too_large(self._max_head))
        # A CR before the head, the last byte of a body, does not make its LF an end of line.
        stray = self._buffer.startswith(b"\n", self._at) or _STRAY.search(
            self._buffer, self._at + self._scanned
        )
        if stray:
            return self._finish(text_reply(400, "lines of a request's head end with CRLF"))
        self._scanned = max(0, self.buffered - 3)
        return None

    def _read_head(self, raw: bytes) -> Head:
        if len(raw) > self._max_head:
            raise MalformedError(_over(self._max_head), status=431)
        if not raw.startswith(b"\r\n"):
            return self._rules.judge(raw)
        # RFC 9112, section 2.2: ignore an empty line before the request line.
        raw = raw[2:]
        return self._known(raw) or self._rules.judge(raw)

    def _begin_body(self, head: Head, *, keep: bool) -> None:
        self._head = head
        if keep:
            self._held = Reservation(self._budget.for_senders(anonymous=head.anonymous))
        if head.request.length == CHUNKED:
            self._body = ChunkedBody(keep=keep)
        else:
            self._body = FixedBody(head.request.length, keep=keep)

    def _read_body(self, body: FixedBody | ChunkedBody) -> tuple[Head, bytes] | Head | Reply | None:
        assert self._head is not None
        try:
            self._at = body.feed(self._buffer, self._at)
        except MalformedError as error:
            return self._finish(text_reply(error.status, error.reason) if body.keep else None)
        if body.size > self._most(self._head, body):
            return self._overflow(self._head, body)
        if self._held is not None and not self._held.resize(body.size):
            return self._drop(self._head, body, self._rules.exhausted(self._head))
        if not body.complete:
            return None
        self._body = None
        self.finished = self._head.close
        if not body.keep:
            return self.next()
        self.reservation, self._held = self._held, None
        return self._head, bytes(body.data)

    def _most(self, head: Head, body: FixedBody | ChunkedBody) -> float:
        if not body.keep:
            return (self._max_body or 0) + MAX_DRAINED_BYTES
        most = self._max_body if head.max_body is None else head.max_body
        return inf if most is None else most

    def _overflow(self, head: Head, body: FixedBody | ChunkedBody) -> Reply | None:
        if not body.keep:  # answered already
            return self._finish(None)
        return self._drop(head, body, self._rules.too_large(head))

    def _drop(self, head: Head, body: FixedBody | ChunkedBody, reply: Reply) -> Reply | None:
        """Refuse the request that is being received: drop its body, and return `reply`."""
        if head.close or head.request.length > MAX_DRAINED_BYTES:
            return self._finish(reply)
        self._release()
        body.keep = False
        body.data = bytearray()
        return reply.adding(head.extra[len(head.cors) :])

    def _release(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    def _skip(self, head: Head, reply: Reply, end: int) -> Reply | None:
        """Refuse a request at its head: return `reply`.

        If the connection is reused, the body that follows is dropped.
        """
        if head.close:
            return self._finish(reply)
        self._at = end
        if head.request.length:
            self._begin_body(head, keep=False)
        return reply

    def _finish(self, reply: Reply | None) -> Reply | None:
        self.finished = True
        self._buffer, self._at, self._scanned = b"", 0, 0
        self._body = None
        self._release()
        return reply


def _head_too_large(most: int) -> Reply:
    return text_reply(431, _over(most))


def _over(most: int) -> str:
    return f"request line and headers are over the limit of {most:,} bytes"
