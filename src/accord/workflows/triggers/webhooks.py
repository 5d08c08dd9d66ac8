"""`Webhooks`: takes deliveries by POST, as an application of our HTTP server. No token is needed: a
delivery is signed (see `signatures`)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.operations.adapters.responses import (
    JSON,
    NO_ROUTE,
    PRIVATE,
    TOO_LARGE,
    WRONG_TYPE,
    WRONG_VERB,
    RestResponse,
    correlation_line,
    encode,
    error_answer,
    refusal,
)
from accord.operations.auth.authentication import correlation_id_of
from accord.operations.auth.credentials import Addresses
from accord.operations.errors import (
    KINDS,
    Kind,
    Limiter,
    RateLimitedError,
    ServiceError,
    UnavailableError,
)
from accord.store.store import StoreUnavailableError
from accord.transports.http.replies import NO_MEMORY, RETRY_AFTER, Reply
from accord.transports.web.app import BodyLimit, Exchange, LivingApp, Underway, WebRequest
from accord.workflows.triggers.deliveries import (
    SIGNATURE_HEADER,
    BadSignatureError,
    Deliveries,
    Delivery,
    WebhookSignature,
    read_signature,
)

log = logging.getLogger("accord.workflows.triggers")

DELIVERY: Final = "accord-delivery"
"""The header by which a sender names a delivery."""
MAX_BODY: Final = 1_048_576
MAX_IN_FLIGHT: Final = 100
"""Most deliveries that are taken at once; more are answered 503."""
FAILED_COST: Final = 10
"""What a delivery that is not genuine takes from the bucket of its address."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_JSON: Final = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json[ \t]*(?:;.*)?", re.IGNORECASE)


class WebhookHead(Struct, frozen=True):
    """The head of a delivery."""

    request: WebRequest
    webhook: str


class WebhookApp(LivingApp[WebhookHead]):
    """An application that serves webhooks below a path; a `LivingApp`.

    `runs` is the path of runs, where senders with a token can look up theirs.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        *,
        runs: str,
        limiter: Limiter | None = None,
        trusted_proxies: Sequence[str] = (),
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self._deliveries = deliveries
        self._runs = runs
        self._limiter = limiter
        self._addresses = Addresses(trusted_proxies)
        self._max_in_flight = max_in_flight
        self._underway = Underway()

    def judge(self, request: WebRequest) -> Reply | WebhookHead:
        if request.place is None or not _NAME.fullmatch(request.place):
            return _refuse(request, NO_ROUTE, "There is nothing at this path")
        if request.method != "POST":
            return _refuse(request, WRONG_VERB, "This path takes POST", b"allow: POST\r\n")
        if request.fields.get("content-encoding", "identity").lower() != "identity":
            return _refuse(request, WRONG_TYPE, "Send the body without content-encoding")
        if _JSON.fullmatch(request.fields.get("content-type", "")) is None:
            return _refuse(request, WRONG_TYPE, "Send the body as JSON")
        return WebhookHead(request, request.place)

    def body_limit(self, judged: WebhookHead) -> BodyLimit:
        return BodyLimit(MAX_BODY, anonymous=True)

    async def admit(self, judged: WebhookHead, channel: ChannelInfo) -> Reply | WebhookHead:
        """Refuse a delivery that cannot be genuine, before its body is read."""
        if self._deliveries.may_be_genuine(judged.request.once(_signature)):
            return judged
        correlation_id = correlation_id_of(judged.request)
        answer = await self._outcome(judged, b"", channel.address, correlation_id)
        return Reply(answer.status, _lines(answer, correlation_id), answer.body)

    def exhausted(self, request: WebRequest) -> Reply:
        return _refuse(request, KINDS["unavailable"], NO_MEMORY, RETRY_AFTER)

    def too_large(self, request: WebRequest, most: int) -> Reply:
        detail = f"The body of the request is over the limit of {most:,} bytes"
        return _refuse(request, TOO_LARGE, detail)

    def handle(self, judged: WebhookHead, body: bytes, exchange: Exchange) -> None:
        correlation_id = correlation_id_of(judged.request)
        if len(self._underway) >= self._max_in_flight:
            busy = UnavailableError("too many deliveries are being taken: try again")
            _send(exchange, _problem(busy, judged, correlation_id), correlation_id)
            return
        self._underway.begin(self._serve(judged, body, exchange, correlation_id))

    async def start(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def close(self, drain: float) -> None:
        """Let requests under way finish, for so long."""
        await self._underway.close(drain)

    async def _serve(
        self, head: WebhookHead, body: bytes, exchange: Exchange, correlation_id: str
    ) -> None:
        answer = await self._outcome(head, body, exchange.channel.address, correlation_id)
        _send(exchange, answer, correlation_id)

    async def _outcome(
        self, head: WebhookHead, body: bytes, peer: str, correlation_id: str
    ) -> RestResponse:
        """Return the answer to a delivery, whatever becomes of it."""
        try:
            return await self._answer(head, body, peer, correlation_id)
        except ServiceError as error:
            return _problem(error, head, correlation_id)
        except StoreUnavailableError as error:
            gone = UnavailableError(error.told)
            return _problem(gone, head, correlation_id)
        except Exception as error:
            log.exception("a delivery failed", extra={"correlation_id": correlation_id})
            return _problem(error, head, correlation_id)

    async def _answer(
        self, head: WebhookHead, body: bytes, peer: str, correlation_id: str
    ) -> RestResponse:
        address = self._addresses.client(peer, head.request.fields)
        refuse = partial(self._deliveries.refuse, address=address, correlation_id=correlation_id)
        await self._pay(address, 1, refuse)
        delivery = Delivery(
            webhook=head.webhook,
            signature=head.request.once(_signature),
            id=head.request.fields.get(DELIVERY, ""),
            body=body,
            address=address,
            correlation_id=correlation_id,
        )
        try:
            taken = await self._deliveries.take(delivery)
        except BadSignatureError as error:
            await self._pay(address, FAILED_COST, refuse)
            # A name that is no webhook's is not kept: anybody could fill the trail with names.
            refuse(error.webhook, "bad_signature" if error.webhook else "unknown_webhook")
            raise
        location = f"location: {self._runs}/{taken.run_id}\r\n".encode("ascii")
        return RestResponse(202, JSON + location, encode(taken))

    async def _pay(self, address: str, cost: int, refuse: Callable[..., None]) -> None:
        if self._limiter is None or not address:
            return
        try:
            await self._limiter.take((f"webhooks:{address}",), cost)
        except RateLimitedError:
            refuse("", "rate_limited")
            raise


def _signature(request: WebRequest) -> WebhookSignature | None:
    return read_signature(request.fields.get(SIGNATURE_HEADER, ""))


def _problem(error: Exception, head: WebhookHead, correlation_id: str) -> RestResponse:
    return error_answer(error, path=head.request.path, correlation_id=correlation_id)


def _refuse(request: WebRequest, kind: Kind, detail: str, headers: bytes = b"") -> Reply:
    return refusal(
        kind,
        detail,
        path=request.path,
        correlation_id=correlation_id_of(request),
        headers=headers,
    )


def _send(exchange: Exchange, answer: RestResponse, correlation_id: str) -> None:
    exchange.reply(answer.body, status=answer.status, headers=_lines(answer, correlation_id))


def _lines(answer: RestResponse, correlation_id: str) -> bytes:
    return answer.headers + PRIVATE + correlation_line(correlation_id)
