"""What follows from the head of a request to an agent: the card, a refusal, or a way in. Pure.

`Authenticate` is the application's own: by the headers alone, the same for the same ones.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from urllib.parse import parse_qs

from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.card import WELL_KNOWN, AgentCard, card_wire, encode_card
from accord.a2a.protocol.versions import VERSION
from accord.transports.http.replies import Reply, page_reply, text_reply
from accord.transports.origins import names_server, origin_allowed
from accord.transports.pages import Page, etag_of
from accord.transports.web.app import WebRequest

Authenticate: TypeAlias = Callable[[Mapping[str, str]], str | None]
"""Who asks, by the headers of a request; None for somebody who may not."""
Cards: TypeAlias = Callable[[str], AgentCard]
"""Make the agent's card, for clients that reach it at this scheme, host and port; they stand at the
start of a URL, and are empty where the card has a URL of its own."""

CARD_SECONDS: Final = 300
MISDIRECTED: Final = text_reply(
    421,
    "this server does not know the host that was asked for: ask by the address that it listens on, "
    "or configure the URL that clients use",
)
"""The answer to a request for the card by a name that anybody could have made up."""
_TYPES: Final = frozenset(("application/json", "application/a2a+json"))
CHALLENGE: Final = b'www-authenticate: Bearer realm="agent"\r\n'


class Entered(Struct, frozen=True):
    """A request that was let in."""

    version: str
    """Of the protocol, as the client says it."""
    caller: str
    correlation_id: str


class Gate:
    """Judges heads."""

    def __init__(
        self, cards: Cards, authenticate: Authenticate | None, *, has_url: bool = False
    ) -> None:
        """`has_url` says that the card has a URL of its own, whatever host clients name."""
        self._cards = cards
        self._has_url = has_url
        self._authenticate = authenticate

    def judge(self, request: WebRequest) -> Reply | Entered:
        host = request.fields.get("host", "")
        origin = request.fields.get("origin")
        if not origin_allowed(origin, host=host, allowed=None, loopback=request.loopback):
            return text_reply(403, "web pages of others may not ask this agent")
        if request.path == WELL_KNOWN or f"/{request.place}" == WELL_KNOWN:
            if not self._has_url and not names_server(host, bound=request.bound):
                return MISDIRECTED
            return self._card(request, "" if self._has_url else request.bound)
        if request.place != "":
            return text_reply(404, f"the agent is not here; its card is at {WELL_KNOWN}")
        return self._enter(request)

    def _card(self, request: WebRequest, bound: str) -> Reply:
        if request.method not in ("GET", "HEAD"):
            return text_reply(405, "the card can be read", b"allow: GET, HEAD\r\n")
        card = self._cards(bound)
        body = encode_card(card, card_wire(card, version_of(request)))
        page = Page(
            body=body,
            media_type="application/json",
            etag=etag_of(body),
            headers=(
                ("cache-control", f"public, max-age={CARD_SECONDS}"),
                ("vary", VERSION.lower()),
            ),
        )
        reply = page_reply(page, request.fields.get("if-none-match"))
        return replace(reply, head_only=request.method == "HEAD")

    def _enter(self, request: WebRequest) -> Reply | Entered:
        if request.method != "POST":
            return text_reply(405, "requests are sent by POST", b"allow: POST\r\n")
        media_type = request.fields.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in _TYPES:
            return text_reply(415, "the body of a request is application/json")
        caller = "" if self._authenticate is None else self._authenticate(request.fields)
        if caller is None:
            return text_reply(401, "credentials are missing or wrong", CHALLENGE)
        return Entered(
            version=version_of(request),
            caller=caller,
            correlation_id=request.fields.get("x-correlation-id", "")[:128],
        )


def version_of(request: WebRequest) -> str:
    """Return the version of the protocol that a request asks for."""
    # 1.0, section 3.6.1: the header, or a parameter of the same name
    asked = request.fields.get(VERSION, "")
    return asked or parse_qs(request.query).get(VERSION, [""])[0]


def by_token(token: str) -> Authenticate:
    """Lets in whoever has this bearer token."""
    expected = f"Bearer {token}".encode()

    def authenticate(headers: Mapping[str, str]) -> str | None:
        given = headers.get("authorization", "").encode("latin-1", "replace")
        return "token" if hmac.compare_digest(given, expected) else None

    return authenticate
