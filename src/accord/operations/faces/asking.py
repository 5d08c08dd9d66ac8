"""What the head of a request says about who asks: the same for every face over HTTP.

Pure: whether any of it is true is for others to find out. What is read here may be kept and used
again for an equal head, so nothing in it is made up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from accord.operations.accounts.credentials import Credentials, credentials_in
from accord.operations.caller import client_name
from accord.operations.identifiers import random_hex
from accord.operations.logs.redaction import masked
from accord.transports.http.admission import preflight
from accord.transports.http.fields import Fields
from accord.transports.http.replies import Reply
from accord.transports.origins import origin_allowed
from accord.transports.web.app import WebRequest

_CORRELATION: Final = re.compile(r"[A-Za-z0-9._:\-]{1,64}")
# W3C Trace Context, section 3.2: the trace is known by its second part, which is never zero.
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*")
MAX_TRACE: Final = 64
"""Most characters of a traceparent; that of today's version has 55."""
_EXPOSED: Final = (
    b"access-control-expose-headers: ETag, Location, Retry-After, RateLimit, RateLimit-Policy, "
    b"X-Correlation-Id, Accord-Change-Id\r\n"
)


class Asking(Struct, frozen=True):
    """Who asks, as the head of a request says."""

    method: str
    fields: Fields
    credentials: Credentials | None
    """None where they depend on whether the connection is secure, as cookies do."""
    client: str
    """What the program calls itself."""
    correlation_id: str
    """Empty where the client sent none that can be used."""


def read_asking(request: WebRequest) -> Asking:
    fields = request.fields
    by_cookie = "cookie" in fields and "authorization" not in fields
    return Asking(
        request.method,
        fields,
        None if by_cookie else credentials_in(request.method, fields),
        client_name(fields.get("user-agent", "")),
        sent_correlation_id(fields),
    )


def sent_correlation_id(fields: Fields) -> str:
    """What a client calls its request, or the trace that it belongs to; else nothing."""
    header = fields.get("x-correlation-id", "")
    if header and _CORRELATION.fullmatch(header) and masked(header) == header:
        return header
    trace = fields.get("traceparent", "")
    found = _TRACEPARENT.fullmatch(trace) if trace else None
    return "" if found is None else found[1]


def sent_traceparent(fields: Mapping[str, str]) -> str:
    """The span that a client says its request belongs to; nothing where it says none."""
    trace = fields.get("traceparent", "")
    return trace if trace and _TRACEPARENT.fullmatch(trace) and len(trace) <= MAX_TRACE else ""


def new_correlation_id() -> str:
    return random_hex(16)


class Origins:
    """Which web pages may ask: those of the server itself, or those that are `allowed`."""

    def __init__(self, allowed: tuple[str, ...] | None) -> None:
        self._allowed = allowed

    def let_in(self, request: WebRequest) -> bool:
        return origin_allowed(
            request.fields.get("origin"),
            host=request.fields.get("host", ""),
            allowed=self._allowed,
            loopback=request.loopback,
        )

    def lines(self, request: WebRequest) -> bytes:
        """Header lines for a page of another origin that may ask."""
        origin = request.fields.get("origin")
        if self._allowed is None or origin is None:
            return b""
        return b"access-control-allow-origin: %b\r\nvary: origin\r\n%b" % (
            origin.encode("latin-1"),
            _EXPOSED,
        )

    def preflight(self, request: WebRequest, verbs: str) -> Reply | None:
        """The answer to a browser that asks whether a page may ask; None to anything else."""
        if self._allowed is None or request.method != "OPTIONS":
            return None
        reply = preflight(request.fields, verbs)
        return None if reply is None else reply.adding(self.lines(request))
