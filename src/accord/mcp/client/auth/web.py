"""Requests to those who give out tokens and describe themselves: small, bounded, and in time.

A redirect is followed only for a document, and only on the same host; what carries secrets is
sent once. Which URLs may be asked at all is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Final, TypeVar
from urllib.parse import urlencode, urljoin

import msgspec
from msgspec import Struct

from accord.jsonrpc.errors import TransportError
from accord.jsonrpc.nesting import decode_json
from accord.mcp.client.auth.errors import AuthorizationError
from accord.mcp.client.auth.trust import base_of, origin_of
from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.web_address import WebAddress, parse

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
    """An HTTP client with a timeout and a size limit: `async with Web(tls) as web`."""

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
        """Return a document. Raise AuthorizationError if the request fails."""
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
        target = parse(urljoin(f"{base_of(address)}{address.target}", location))
    except (TransportError, ValueError):
        return None
    return target if origin_of(target) == origin_of(address) else None
