"""One site of several applications, each at its own path, with common headers and certificate.

A request goes to the application with the longest path that fits. Each application sees requests as
if it were the only one. Headers that an application sets itself take precedence.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from accord.app.observers import Traffic
from accord.app.settings import Settings
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.transports.http.heads import WebRequest, place_below
from accord.transports.http.replies import EXHAUSTED, Reply, text_reply
from accord.transports.http.web_app import BodyLimit, Exchange, LivingApp, WebApp

YEAR_SECONDS: Final = 365 * 86_400
RESPONSE_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    # Responses that are no pages run nothing, load nothing and are framed nowhere.
    "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
}
HTTPS_HEADERS: Final = {"strict-transport-security": f"max-age={YEAR_SECONDS}; includeSubDomains"}


class CertificateError(Exception):
    """A certificate cannot be used; the message says why."""


def answer_headers(settings: Settings) -> dict[str, str]:
    """Return the security headers of responses that do not set them themselves."""
    if settings.tls_certificate or settings.public_url.lower().startswith("https://"):
        return RESPONSE_HEADERS | HTTPS_HEADERS
    return RESPONSE_HEADERS


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context, or None without https.

    Raises CertificateError if the certificate cannot be used.
    """
    if not settings.tls_certificate:
        if settings.tls_key:
            raise CertificateError("tls_key is of no use without tls_certificate")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # OpenSSL would prompt for the password of an encrypted key at every start.
        context.load_cert_chain(
            settings.tls_certificate, settings.tls_key or None, password=_no_password
        )
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        named = " and ".join(filter(None, (settings.tls_certificate, settings.tls_key)))
        raise CertificateError(f"{named} cannot be used for https: {error}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key has a password")


OTHER_FACE: Final = "other"
"""The face, a label of metrics, of requests to paths without their own face."""


@runtime_checkable
class StartableApp(Protocol):
    """An application with a beginning and an end; see `LivingApp`."""

    async def start(self) -> None: ...

    async def close(self, drain: float) -> None: ...


class RoutedHead(Struct, frozen=True):
    """A judged request head and the application that it goes to."""

    app: WebApp[Any]
    face: str
    request: WebRequest
    judged: Any


class SystemSite(LivingApp[RoutedHead]):
    """Applications, each at its own path; implements `LivingApp`."""

    def __init__(
        self,
        apps: Mapping[str, WebApp[Any]],
        *,
        faces: Mapping[str, str] | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        """Mount applications at paths without a trailing slash; "" takes all other paths.

        `traffic` counts requests under the names in `faces`.
        """
        self._apps = sorted(apps.items(), key=lambda each: -len(each[0]))
        self._faces = faces or {}
        self.traffic = Traffic() if traffic is None else traffic

    def judge(self, request: WebRequest) -> Reply | RoutedHead:
        found = self._find(request)
        if found is None:
            return self._replied(OTHER_FACE, text_reply(404, "there is nothing here"))
        path, app, placed = found
        face = self._faces.get(path, OTHER_FACE)
        judged = app.judge(placed)
        if isinstance(judged, Reply):
            return self._replied(face, judged)
        return RoutedHead(app, face, placed, judged)

    def body_limit(self, judged: RoutedHead) -> BodyLimit:
        return judged.app.body_limit(judged.judged)

    def admit(
        self, judged: RoutedHead, channel: ChannelInfo
    ) -> Reply | RoutedHead | Awaitable[Reply | RoutedHead]:
        found = judged.app.admit(judged.judged, channel)
        return self._wait(judged, found) if isawaitable(found) else self._admitted(judged, found)

    async def _wait(self, judged: RoutedHead, found: Awaitable[Any]) -> Reply | RoutedHead:
        return self._admitted(judged, await found)

    def _admitted(self, judged: RoutedHead, found: Any) -> Reply | RoutedHead:
        if isinstance(found, Reply):
            return self._replied(judged.face, found)
        return replace(judged, judged=found)

    def exhausted(self, request: WebRequest) -> Reply:
        found = self._find(request)
        if found is None:
            return self._replied(OTHER_FACE, EXHAUSTED)
        path, app, placed = found
        return self._replied(self._faces.get(path, OTHER_FACE), app.exhausted(placed))

    def too_large(self, request: WebRequest, most: int) -> Reply:
        found = self._find(request)
        if found is None:
            return self._replied(OTHER_FACE, text_reply(413, f"a request may have {most:,} bytes"))
        path, app, placed = found
        return self._replied(self._faces.get(path, OTHER_FACE), app.too_large(placed, most))

    def handle(self, judged: RoutedHead, body: bytes, exchange: Exchange) -> None:
        self.traffic.handle(judged.face, judged.app, judged.request, judged.judged, body, exchange)

    def _replied(self, face: str, reply: Reply) -> Reply:
        self.traffic.replied(face, reply.status)
        return reply

    async def start(self) -> None:
        for app in self._living:
            await app.start()

    async def close(self, drain: float) -> None:
        """Close all applications at once; each may use the whole time to drain."""
        await asyncio.gather(*(app.close(drain) for app in self._living))

    @property
    def _living(self) -> list[StartableApp]:
        return [app for _, app in self._apps if isinstance(app, StartableApp)]

    def _find(self, request: WebRequest) -> tuple[str, WebApp[Any], WebRequest] | None:
        for path, app in self._apps:
            place = place_below(request.path, path)
            if place is not None:
                return path, app, replace(request, place=place)
        return None
