"""One HTTP request to an agent, and all that is to be seen of its answer. Judges nothing."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final

import msgspec
from msgspec import Struct

from accord.a2a.client.guard import AddressRefusedError, Guard
from accord.a2a.protocol.addresses import AddressPolicy
from accord.jsonrpc.errors import ConnectError, RpcError
from accord.jsonrpc.nesting import decode_json
from accord.jsonrpc.sse import SseDecoder
from accord.transports.http.requester import Requester, Response
from accord.transports.options import Options
from accord.transports.web_address import WebAddress

MAX_BYTES: Final = 8 * 1024 * 1024
MAX_EVENTS: Final = 10_000


class Seen(Struct, frozen=True, kw_only=True):
    """An answer, as it came."""

    status: int
    content_type: str
    headers: Mapping[str, str]
    body: bytes
    events: tuple[bytes, ...] = ()
    """Of a stream, which has no body."""
    ended: bool = True
    """Whether a stream came to its end in time."""

    @property
    def json(self) -> Any:
        """The body, decoded; None where it is no JSON."""
        try:
            return decode_json(self.body)
        except msgspec.DecodeError:
            return None


class Unseen(Struct, frozen=True):
    """There was no answer, and why."""

    why: str
    unreachable: bool = False


class Probe:
    """Asks; `async with Probe(…)`. `timeout` is for one answer, `patience` for a whole stream."""

    def __init__(
        self,
        *,
        policy: AddressPolicy,
        timeout: float,
        patience: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._timeout = timeout
        self._patience = patience
        self._tls = tls
        self._requester: Requester

    async def __aenter__(self) -> Probe:
        self._requester = Requester(
            Options(
                tls=self._tls,
                connect_seconds=min(self._timeout, 10.0),
                resolve=Guard(self._policy).resolve,
            )
        )
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._requester.close()

    async def ask(
        self,
        method: str,
        address: WebAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Seen | Unseen:
        """What is answered; raises nothing."""
        since = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._requester.request(method, address, headers, body)
            try:
                if response.content_type == "text/event-stream":
                    return await self._stream(response)
                async with asyncio.timeout(self._timeout):
                    return _seen(response, body=await response.read(MAX_BYTES))
            finally:
                response.close()
        except RpcError as error:
            unreachable = isinstance(error, ConnectError | AddressRefusedError)
            return Unseen(error.message, unreachable=unreachable)
        except TimeoutError:
            return Unseen(f"there was no answer after {time.monotonic() - since:.1f} s")

    async def _stream(self, response: Response) -> Seen:
        decoder, events, ended = SseDecoder(MAX_BYTES), list[bytes](), False
        try:
            async with asyncio.timeout(self._patience):
                while chunk := await response.receive():
                    events += [event.data for event in decoder.feed(chunk) if event.data]
                    if len(events) > MAX_EVENTS:
                        break
                else:
                    ended = True
        except TimeoutError:
            pass
        return _seen(response, body=b"", events=tuple(events), ended=ended)


def _seen(
    response: Response, *, body: bytes, events: tuple[bytes, ...] = (), ended: bool = True
) -> Seen:
    return Seen(
        status=response.status,
        content_type=response.content_type,
        headers=response.headers,
        body=body,
        events=events,
        ended=ended,
    )
