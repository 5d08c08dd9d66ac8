"""Webhooks: POST requests, called deliveries, that start runs.

The signature of a delivery is verified, and duplicates are recognised. `WebhookApp` is an
application for the HTTP server of Accord. It needs no token, because deliveries are signed.
"""

from __future__ import annotations

import hmac
import logging
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final

from msgspec import DecodeError, Struct

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.codec import decode_json
from accord.operations.adapters.rest_messages import (
    JSON,
    NO_ROUTE,
    PRIVATE,
    TOO_LARGE,
    WRONG_TYPE,
    WRONG_VERB,
    RestResponse,
    correlation_line,
    encode,
    error_response,
    refusal,
)
from accord.operations.arguments import check_once
from accord.operations.audit.record import AuditSink, Record
from accord.operations.auth.authentication import correlation_id_of
from accord.operations.auth.credentials import Addresses
from accord.operations.errors import (
    KINDS,
    InvalidError,
    Kind,
    Limiter,
    MalformedRequestError,
    RateLimitedError,
    ServiceError,
    ServiceUnavailableError,
)
from accord.operations.storage import LANE
from accord.store.store import Store, StoreUnavailableError, Transaction
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import NO_MEMORY, RETRY_AFTER, Reply
from accord.transports.http.web_app import BodyLimit, Exchange, LivingApp, Underway
from accord.workflows.bridge.client_pool import SecretError, Secrets
from accord.workflows.storage.definitions import (
    FIND_DELIVERY,
    INSERT_DELIVERY,
    SWEEP_DELIVERIES,
    WEBHOOK_TRIGGERS,
)
from accord.workflows.triggers.triggers import (
    Cause,
    NotStartedError,
    SavedTrigger,
    read_trigger,
    refusal_record,
    require_active,
    run_id_for,
    start_record,
    start_triggered_run,
    store_unstarted,
)

SIGNATURE_HEADER: Final = "accord-signature"
TOLERANCE_SECONDS: Final = 300.0
"""The maximum difference in seconds between a signature's time and the current time."""

_TIME: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MAX_SIGNATURES: Final = 4


class WebhookSignature(Struct, frozen=True):
    """The parsed signature header of a delivery: the time, and one or more digests."""

    time: int
    digests: tuple[str, ...]


def read_signature(header: str) -> WebhookSignature | None:
    """Parse a signature header; return None if it is invalid."""
    times: list[int] = []
    digests: list[str] = []
    for part in header[:1_000].split(","):
        name, _, value = part.strip().partition("=")
        if name == "t" and _TIME.fullmatch(value):
            times.append(int(value))
        elif name == "v1" and _DIGEST.fullmatch(value):
            digests.append(value)
    if len(times) != 1 or not 1 <= len(digests) <= _MAX_SIGNATURES:
        return None
    return WebhookSignature(times[0], tuple(digests))


def sign(secret: str, time: int, body: bytes) -> str:
    """Return the signature header for a body signed at `time`."""
    return f"t={time},v1={_digest(secret, time, body)}"


def is_genuine(signature: WebhookSignature, secret: str, body: bytes, now: float) -> bool:
    """Return True if a recent signature of this body was made with the secret."""
    expected = _digest(secret, signature.time, body)
    # Compare every digest in full: the time that this takes must not depend on the secret.
    matches = [hmac.compare_digest(expected, digest) for digest in signature.digests]
    return any(matches) and is_recent(signature, now)


def is_recent(signature: WebhookSignature, now: float) -> bool:
    """Return True if the time in the signature is at most `TOLERANCE_SECONDS` from `now`."""
    return abs(now - signature.time) <= TOLERANCE_SECONDS


def _digest(secret: str, time: int, body: bytes) -> str:
    return hmac.new(secret.encode(), b"%d." % time + body, sha256).hexdigest()


log = logging.getLogger("accord.workflows.triggers")

DEDUPLICATION_SECONDS: Final = 7 * 86_400.0
"""How many seconds a delivery is remembered, to recognise a duplicate."""
_DELIVERY_ID: Final = re.compile(r"[A-Za-z0-9._:\-]{1,200}", re.ASCII)


class BadSignatureError(ServiceError):
    """The webhook does not exist or the signature is invalid; the message does not tell which."""

    kind = Kind("bad_signature", "The signature is not right", 403, -32055)

    def __init__(self, webhook: str = "") -> None:
        super().__init__("there is no such webhook, or the signature is missing, old or wrong")
        self.webhook = webhook
        """The name of the webhook for the audit record; empty if it does not exist."""


class Delivery(Struct, frozen=True, kw_only=True):
    """A request that a sender posts to a webhook."""

    webhook: str
    signature: WebhookSignature | None
    id: str
    """The sender's id for the delivery; empty if the request has none."""
    body: bytes
    address: str
    """The IP address of the sender."""
    correlation_id: str


class DeliveryResult(Struct, frozen=True):
    """The run that a delivery started, or that an earlier duplicate of it started."""

    run_id: str
    workflow: str
    duplicate: bool
    """True if the run was started by an earlier delivery of which this one is a duplicate."""


class Deliveries:
    """A receiver of deliveries, which verifies them and starts runs."""

    def __init__(
        self,
        store: Store,
        secrets: Secrets,
        trail: AuditSink,
        *,
        failed: Callable[[Record], None] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._secrets = secrets
        self._trail = trail
        self._failed = trail.enqueue if failed is None else failed
        """The function that stores the audit records of rejected deliveries."""
        self._now = now

    def may_be_genuine(self, signature: WebhookSignature | None) -> bool:
        """Return True unless the signature is missing or old; the body is not checked yet."""
        return signature is not None and is_recent(signature, self._now())

    async def take(self, delivery: Delivery) -> DeliveryResult:
        """Start the run of a delivery, unless an earlier duplicate has; return the run.

        Raise BadSignatureError if the webhook or signature is invalid, MalformedRequestError if the
        body is no JSON or the id is invalid, InvalidError if the run cannot be started.
        """
        await self._verify(delivery)
        if delivery.id and not _DELIVERY_ID.fullmatch(delivery.id):
            raise MalformedRequestError("accord-delivery has up to 200 letters, digits and . _ : -")
        seen = {"body": _json_value(delivery.body), "id": delivery.id}
        done = await self._store.transact(lambda db: self._begin(db, delivery, seen), lane=LANE)
        if isinstance(done, NotStartedError):
            raise InvalidError("", done.message)
        return done

    def refuse(self, webhook: str, reason: str, *, address: str, correlation_id: str) -> None:
        """Record in the audit trail that a delivery was rejected."""
        self._failed(refusal_record(webhook, reason, correlation_id, address=address))

    async def _verify(self, delivery: Delivery) -> None:
        rows = await self._store.fetch(WEBHOOK_TRIGGERS, delivery.webhook)
        if not rows:
            raise BadSignatureError
        if delivery.signature is None:
            raise BadSignatureError(delivery.webhook)
        reference = read_trigger(rows[0]).start.trigger.secret or ""
        try:
            secret = self._secrets.read(reference)
        except SecretError as error:
            log.error("the webhook %s has no secret: %s", delivery.webhook, error)
            raise BadSignatureError(delivery.webhook) from None
        if not is_genuine(delivery.signature, secret, delivery.body, self._now()):
            raise BadSignatureError(delivery.webhook)

    async def _begin(
        self, db: Transaction, delivery: Delivery, seen: dict[str, Any]
    ) -> DeliveryResult | NotStartedError:
        rows = await db.fetch(WEBHOOK_TRIGGERS, delivery.webhook)
        if not rows:
            raise BadSignatureError  # the webhook was removed meanwhile
        saved = read_trigger(rows[0])
        keys = _delivery_keys(delivery)
        known = await db.fetch(FIND_DELIVERY, saved.id, *keys)
        if known:
            return DeliveryResult(known[0]["run_id"], saved.workflow, duplicate=True)
        return await self._start(db, saved, delivery, seen, keys)

    async def _start(
        self,
        db: Transaction,
        saved: SavedTrigger,
        delivery: Delivery,
        seen: dict[str, Any],
        keys: tuple[str, str],
    ) -> DeliveryResult | NotStartedError:
        run_id, now = run_id_for(saved, keys[0]), self._now()
        try:
            await require_active(db, saved.saved_by)
            await start_triggered_run(
                db,
                saved,
                seen,
                run_id=run_id,
                starter=saved.saved_by,
                at=now,
                cause=Cause(correlation_id=delivery.correlation_id),
            )
        except NotStartedError as error:
            log.warning("%s was not started by %s: %s", saved.workflow, saved.name, error)
            await store_unstarted(db, saved, seen, error, run_id=run_id, at=now)
            return error
        record = start_record(saved, run_id, delivery.correlation_id, address=delivery.address)
        await self._trail.write(db, record)
        await db.execute(SWEEP_DELIVERIES, now - DEDUPLICATION_SECONDS)
        await db.execute_many(INSERT_DELIVERY, [(saved.id, key, run_id, now) for key in keys])
        return DeliveryResult(run_id, saved.workflow, duplicate=False)


def _delivery_keys(delivery: Delivery) -> tuple[str, str]:
    """Return two keys by which a duplicate of a delivery is recognised.

    The first is the sender's id for the delivery; without an id, both keys are equal. The second
    consists of the signature's time and the digest of the body, and detects a replayed request.
    """
    assert delivery.signature is not None, "it was verified"
    signed = f"{delivery.signature.time}/{sha256(delivery.body).hexdigest()}"
    return (f"id/{delivery.id}" if delivery.id else signed, signed)


def _json_value(body: bytes) -> Any:
    try:
        value = decode_json(body)
        check_once(body)
    except DecodeError as error:
        raise MalformedRequestError(f"the body is no JSON: {str(error)[:200]}") from error
    return value


DELIVERY_HEADER: Final = "accord-delivery"
"""The name of the header that has the sender's id for the delivery."""
MAX_BODY: Final = 1_048_576
MAX_IN_FLIGHT: Final = 100
"""The maximum number of deliveries handled at once; further ones get status 503."""
FAILED_COST: Final = 10
"""The rate limit tokens that a delivery with a wrong signature costs the sender's address."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_JSON: Final = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json[ \t]*(?:;.*)?", re.IGNORECASE)


class WebhookHead(Struct, frozen=True):
    """The head of a request, with the name of the webhook."""

    request: WebRequest
    webhook: str


class WebhookApp(LivingApp[WebhookHead]):
    """The HTTP application that receives deliveries.

    As a `LivingApp` it is started and closed with the server. `runs` is the path in the REST API
    under which runs are found, for the Location header of responses.
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
        """Reject a delivery without a recent signature before its body is read."""
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
            busy = ServiceUnavailableError("too many deliveries are being taken: try again")
            _send(exchange, _problem(busy, judged, correlation_id), correlation_id)
            return
        self._underway.begin(self._serve(judged, body, exchange, correlation_id))

    async def start(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def close(self, drain: float) -> None:
        """Wait up to `drain` seconds for running requests to finish."""
        await self._underway.close(drain)

    async def _serve(
        self, head: WebhookHead, body: bytes, exchange: Exchange, correlation_id: str
    ) -> None:
        answer = await self._outcome(head, body, exchange.channel.address, correlation_id)
        _send(exchange, answer, correlation_id)

    async def _outcome(
        self, head: WebhookHead, body: bytes, peer: str, correlation_id: str
    ) -> RestResponse:
        """Return the response to a delivery; exceptions become error responses."""
        try:
            return await self._answer(head, body, peer, correlation_id)
        except ServiceError as error:
            return _problem(error, head, correlation_id)
        except StoreUnavailableError as error:
            unavailable = ServiceUnavailableError(error.told)
            return _problem(unavailable, head, correlation_id)
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
            id=head.request.fields.get(DELIVERY_HEADER, ""),
            body=body,
            address=address,
            correlation_id=correlation_id,
        )
        try:
            result = await self._deliveries.take(delivery)
        except BadSignatureError as error:
            await self._pay(address, FAILED_COST, refuse)
            # Do not record unknown names: anybody could fill the audit trail with them.
            refuse(error.webhook, "bad_signature" if error.webhook else "unknown_webhook")
            raise
        location = f"location: {self._runs}/{result.run_id}\r\n".encode("ascii")
        return RestResponse(202, JSON + location, encode(result))

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
    return error_response(error, path=head.request.path, correlation_id=correlation_id)


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
