"""Open a WebSocket to a server."""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
from http import HTTPStatus
from typing import Final, cast

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.sockets import describe, tune
from accord.transports.stream.endpoints import connect_error
from accord.transports.urls import WebAddress, parse_web_address
from accord.transports.websocket.channel import WebSocketChannel, WebSocketSettings
from accord.transports.websocket.handshake import (
    HeadBuffer,
    RefusedError,
    Response,
    check_response,
    read_response,
    upgrade_request,
)

EXCERPT_BYTES: Final = 1_000
"""Maximum part of a refusal's body that the error contains."""
_TRY_AGAIN: Final = frozenset((408, 425, 429))


async def open_websocket(url: str, options: Options) -> WebSocketChannel:
    """Open a channel to the server at `url`, such as `wss://example.com/rpc`.

    Raises ConnectError; if the server answered with a status other than 101, its `data` contains
    the `status` and the beginning of the `body`.
    """
    address = parse_web_address(url)
    handshake = ClientHandshake(address, options)
    try:
        async with asyncio.timeout(options.connect_seconds):
            return await handshake.run()
    except (OSError, ValueError) as error:
        raise connect_error(address, error, options) from error


class ClientHandshake(asyncio.Protocol):
    """The client side of a connection before it becomes a WebSocket."""

    def __init__(self, address: WebAddress, options: Options) -> None:
        self._address = address
        self._options = options
        self._key = base64.b64encode(os.urandom(16)).decode()
        self._head = HeadBuffer(options.server_limits.max_header_bytes)
        self._refusal: Response | None = None
        self._body = b""
        self._transport: asyncio.Transport | None = None
        self._opened: asyncio.Future[WebSocketChannel] = asyncio.get_running_loop().create_future()

    async def run(self) -> WebSocketChannel:
        """Connect, shake hands, and return the channel."""
        address, options = self._address, self._options
        request = upgrade_request(
            target=address.target, host=address.authority, key=self._key, headers=options.headers
        )
        context = (options.tls or ssl.create_default_context()) if address.secure else None
        try:
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: self, address.host, address.port, ssl=context
            )
            tune(transport)
            transport.write(request)
            return await self._opened
        except BaseException:
            self._opened.cancel()
            if self._transport is not None:
                self._transport.abort()
            raise

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            self._read_body(self._refusal, data)
            return
        try:
            received = self._head.receive(data)
            if received is not None:
                self._answered(*received)
        except (RefusedError, ValueError) as error:
            self._fail(ConnectError(f"no WebSocket at {self._address}: {error}", recoverable=False))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._refusal is not None:
            self._refused(self._refusal)
        self._fail(ConnectError(f"{self._address} ended the connection during the handshake"))

    def _answered(self, head: bytes, rest: bytes) -> None:
        response = read_response(head)
        if response.status != HTTPStatus.SWITCHING_PROTOCOLS:
            self._refusal = response
            self._read_body(response, rest)
            return
        check_response(response, key=self._key, offered=self._offered())
        transport = cast(asyncio.Transport, self._transport)
        channel = WebSocketChannel(
            describe(transport, self._address.scheme, details={"headers": response.headers}),
            WebSocketSettings.of(self._options, serving=False),
        )
        channel.adopt(transport, rest)
        self._opened.set_result(channel)

    def _offered(self) -> str:
        headers = {name.lower(): value for name, value in self._options.headers.items()}
        return headers.get("sec-websocket-protocol", "")

    def _read_body(self, response: Response, data: bytes) -> None:
        """Keep the part of a refusal's body that goes into the error."""
        length = response.headers.get("content-length", "")
        wanted = min(int(length), EXCERPT_BYTES) if length.isdecimal() else EXCERPT_BYTES
        self._body = (self._body + data)[:wanted]
        if len(self._body) == wanted:
            self._refused(response)

    def _refused(self, response: Response) -> None:
        status = response.status
        body = self._body.decode(errors="replace").strip()
        location = response.headers.get("location")
        self._fail(
            ConnectError(
                f"{self._address} answered with status {status}" + (f": {body}" if body else ""),
                recoverable=status >= 500 or status in _TRY_AGAIN,
                advice=None if location is None else f"Connect to {location[:200]} instead.",
                data={"status": status, "body": body},
            )
        )

    def _fail(self, error: ConnectError) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)
            cast(asyncio.Transport, self._transport).abort()
