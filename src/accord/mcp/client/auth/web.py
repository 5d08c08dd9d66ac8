"""HTTP requests to authorization servers, small and bounded, and the errors of authorization.

All requests use TLS, except those to a server on this machine. Redirects are followed only for GET
requests, and only within the same origin.

    TransportError
    └── AuthorizationError          raised itself for failures that no subclass covers
        ├── DiscoveryError          the authorization server or its metadata is not found
        ├── UntrustedError          a response contradicts the request or earlier metadata
        ├── OAuthError              the authorization server refuses; has `error`
        └── InsufficientScopeError  the token lacks scopes, and a new one would lack them too
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Final, TypeVar
from urllib.parse import urlencode, urljoin

import msgspec
from msgspec import Struct

from accord.jsonrpc.protocol.codec import decode_json
from accord.jsonrpc.protocol.errors import ConnectError, TransportError
from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.urls import WebAddress, is_loopback, parse_web_address, shown

MAX_TEXT: Final = 300
"""Maximum length of a server's text in an error message, in characters."""

_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")


class AuthorizationError(TransportError):
    """The server requires a token, and none could be obtained."""

    code = -32052
    default_message = "Authorization failed"
    recoverable = False
    advice = "Check how the server is to be authorized with, then connect again."


class DiscoveryError(AuthorizationError):
    """The authorization server of an MCP server cannot be found."""


class UntrustedError(AuthorizationError):
    """A response or URL that cannot be trusted; no secret is sent to its server.

    The cause is an attack or a misconfigured server.
    """

    advice = "Do not go on unless whoever runs the server can explain this."


class OAuthError(AuthorizationError):
    """An error of the authorization server: `access_denied`, `invalid_grant`, …"""

    error: str = ""
    description: str = ""


class InsufficientScopeError(AuthorizationError):
    """The call needs scopes that the authorization server did not grant."""

    scopes: tuple[str, ...] = ()


def oauth_error(where: str, error: str, description: str = "") -> OAuthError:
    explained = f": {printable(description)}" if description else ""
    refused = OAuthError(f"{where} says {printable(error)}{explained}")
    refused.error, refused.description = printable(error), printable(description)
    return refused


def insufficient_scope(scopes: tuple[str, ...]) -> InsufficientScopeError:
    listed = printable(" ".join(scopes))
    refused = InsufficientScopeError(f"the server wants scopes that are not to be had: {listed}")
    refused.scopes = scopes
    return refused


def printable(text: str) -> str:
    """Return a server's text fit for printing: ASCII, one line, bounded length."""
    plain = _UNPRINTABLE.sub("?", text)
    return plain if len(plain) <= MAX_TEXT else f"{plain[:MAX_TEXT]}…"


Origin = tuple[str, str, int]

_URL = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]{1,2000}")
"""The pattern of accepted URLs: at most 2,000 characters of RFC 3986, without a fragment."""


def origin_of(address: WebAddress) -> Origin:
    return address.scheme, address.host, address.port


def base_of(address: WebAddress) -> str:
    """Return the URL without path, query and trailing slash."""
    return f"{address.scheme}://{address.authority}"


def is_local(address: WebAddress) -> bool:
    # Names below `localhost` may be resolved by DNS, so they do not count as local.
    return is_loopback(address.host) and not address.host.endswith(".localhost")


def trusted(url: str, what: str, *, local: bool) -> WebAddress:
    """Parse a URL that must be https; http is accepted on this machine if `local`.

    Raises UntrustedError for any other URL, and for a URL on this machine unless `local`; `what`
    names the URL in the message. Accepted URLs may be opened in a browser.
    """
    try:
        address = parse_web_address(url if _URL.fullmatch(url) else "")
    except ConnectError as error:
        raise UntrustedError(f"{what} is not a usable URL: {_short(url)!r}") from error
    # 2026-07-28, security considerations: endpoints of authorization servers use HTTPS.
    if address.scheme == "https" and (local or not is_local(address)):
        return address
    if address.scheme == "http" and local and is_local(address):
        return address
    where = "" if local else ", and not on this machine"
    raise UntrustedError(f"{what} must be an https URL{where}: {_short(url)!r}")


def covers(resource: str, server: str) -> bool:
    """Return whether the URL `resource` is the URL `server`, or a parent of it.

    RFC 9728, section 3.3, requires the two to be identical. In practice the resource is often the
    origin or a parent path, which grants no more than the server could request itself.
    """
    try:
        whole, part = parse_web_address(resource), parse_web_address(server)
    except ConnectError:
        return False
    if origin_of(whole) != origin_of(part):
        return False
    if whole.query:
        return (whole.path, whole.query) == (part.path, part.query)
    folder = whole.path.rstrip("/")
    return part.path == folder or part.path.startswith(f"{folder}/")


def _short(url: str) -> str:
    return shown(url[:200])


REQUEST_SECONDS: Final = 15.0
MAX_BODY: Final = 256 * 1024
MAX_REDIRECTS: Final = 3

T = TypeVar("T")


class Reply(Struct, frozen=True):
    """A complete HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def read(self, kind: type[T]) -> T | None:
        """Return the body decoded as `kind`; None if it is not valid."""
        try:
            found: T = decode_json(self.body, kind)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found


class Web:
    """An HTTP client for authorization servers: `async with Web(tls) as web`.

    Requests have a timeout, and responses a size limit.
    """

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._options = Options(tls=tls, connect_seconds=REQUEST_SECONDS)

    async def __aenter__(self) -> Web:
        self._requester = Requester(self._options)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._requester.close()

    async def get(self, address: WebAddress) -> Reply:
        """Send a GET request, and follow redirects within the same origin.

        Raises AuthorizationError if the request fails.
        """
        reply = await self._send("GET", address, {})
        for _ in range(MAX_REDIRECTS):
            target = _redirect(address, reply)
            if target is None:
                break
            address, reply = target, await self._send("GET", target, {})
        return reply

    async def post_form(
        self, address: WebAddress, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> Reply:
        fields = {"content-type": "application/x-www-form-urlencoded", **headers}
        return await self._send("POST", address, fields, urlencode(form).encode())

    async def post_json(self, address: WebAddress, value: object) -> Reply:
        fields = {"content-type": "application/json"}
        return await self._send("POST", address, fields, msgspec.json.encode(value))

    async def _send(
        self,
        method: str,
        address: WebAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Reply:
        fields = {"accept": "application/json", **headers}
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                response = await self._requester.request(method, address, fields, body)
                try:
                    return Reply(response.status, response.headers, await response.read(MAX_BODY))
                finally:
                    response.close()
        except TimeoutError:
            raise AuthorizationError(
                f"{address} did not answer in time", recoverable=True
            ) from None
        except TransportError as error:
            raise AuthorizationError(f"{address} cannot be asked: {error.message}") from error


def _redirect(address: WebAddress, reply: Reply) -> WebAddress | None:
    location = reply.headers.get("location", "")
    if reply.status not in (301, 302, 303, 307, 308) or not location:
        return None
    try:
        target = parse_web_address(urljoin(f"{base_of(address)}{address.target}", location))
    except (TransportError, ValueError):
        return None
    return target if origin_of(target) == origin_of(address) else None
