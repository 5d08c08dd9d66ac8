"""HTTP requests to agents: credentials, address checks, limits, transport errors.

Host names are resolved first, and connections are made only to resolved addresses that the policy
allows. This prevents DNS rebinding, where a name resolves to another address a moment later.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

from msgspec import Struct

from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.calls import (
    MAX_BODY_KEPT,
    is_answer,
)
from accord.a2a.protocol.errors import (
    CallError,
    MalformedAnswerError,
    RefusedError,
    UnknownOutcomeError,
    error_from_status,
)
from accord.jsonrpc.protocol.errors import (
    ConnectError,
    FramingError,
    MessageTooLargeError,
    RpcError,
    TransportError,
)
from accord.transports.http.requester import Requester, Response
from accord.transports.options import Options
from accord.transports.urls import WebAddress


class AddressRefusedError(TransportError):
    """The policy forbids connections to an address of the host."""

    default_message = "Address refused"
    recoverable = False
    advice = "Allow the host or its network where that is meant to be asked; the message says how."


class AddressGuard:
    """A resolver for `Requester` that returns only addresses the policy allows."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy

    async def resolve(self, address: WebAddress) -> list[str]:
        """Return the addresses of a host.

        Raises AddressRefusedError if any of them must not be connected to, and OSError if there are
        none.
        """
        found = await asyncio.get_running_loop().getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM
        )
        hosts = list(dict.fromkeys(str(each[4][0]) for each in found))
        for host in hosts:
            refusal = self._policy.refusal(address.host, host)
            if refusal:
                raise AddressRefusedError(f"{address} is not asked: {refusal}")
        return hosts


MAX_RETRY_AFTER: Final = 86_400.0
CONNECT_SECONDS: Final = 10.0
POOL: Final = 16


class Exchanger:
    """An HTTP client for requests to agents, which raises every failure as CallError.

    It belongs to one event loop.
    """

    def __init__(
        self,
        *,
        policy: AddressPolicy,
        tls: ssl.SSLContext | None,
        timeout: float,
        max_bytes: int,
        pool: int = POOL,
    ) -> None:
        """Keep at most `pool` idle connections."""
        options = Options(
            tls=tls,
            connect_seconds=min(timeout, CONNECT_SECONDS),
            pool_size=pool,
            resolve=AddressGuard(policy).resolve,
        )
        self._requester = Requester(options)
        self._timeout = timeout
        self._max_bytes = max_bytes

    async def ask(
        self,
        method: str,
        address: WebAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        id: str = "",
    ) -> bytes:
        """Send a request, and return the body of the answer.

        Raises CallError for a transport error, a timeout, or an HTTP status other than 2xx. A
        JSON-RPC error that answers the request `id` is returned, whatever the status.
        """
        # Without `_in_time` and `_translate_errors`: context managers cost too much for every call.
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._requester.request(method, address, headers, body)
                try:
                    _check_coding(response)
                    answer = await response.read(self._max_bytes)
                finally:
                    response.close()
        except TimeoutError:
            raise self._late() from None
        except RpcError as error:
            raise call_error(error) from error
        check_status(response, answer, id)
        return answer

    @asynccontextmanager
    async def open(
        self, address: WebAddress, headers: Mapping[str, str], body: bytes
    ) -> AsyncIterator[Response]:
        """Send a POST request, and yield the response, to be read piece by piece.

        Raises CallError for transport errors and timeouts, also while the response is read.
        """
        async with _translate_errors():
            async with self._in_time():
                response = await self._requester.request("POST", address, headers, body)
            try:
                _check_coding(response)
                yield response
            finally:
                response.close()

    async def receive(self, response: Response) -> bytes:
        """Return the next piece of a response, b"" at its end.

        Raises CallError after the timeout.
        """
        async with self._in_time():
            return await response.receive()

    async def read(self, response: Response) -> bytes:
        """Return the rest of a response. Raise CallError after the timeout."""
        async with self._in_time():
            return await response.read(self._max_bytes)

    def close(self) -> None:
        self._requester.close()

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout):
                yield
        except TimeoutError:
            raise self._late() from None

    def _late(self) -> UnknownOutcomeError:
        why = f"the agent did not answer within {self._timeout:g} s"
        return UnknownOutcomeError("timeout", why)


@asynccontextmanager
async def _translate_errors() -> AsyncIterator[None]:
    """Translate transport errors to CallError."""
    try:
        yield
    except RpcError as error:
        raise call_error(error) from error


def call_error(error: RpcError) -> CallError:
    """Return the CallError for a transport error."""
    match error:
        case AddressRefusedError():
            return RefusedError("address_refused", error.message)
        case ConnectError(recoverable=False):
            return RefusedError("unreachable", error.message)
        case ConnectError():
            return UnknownOutcomeError("unreachable", error.message)
        case FramingError() | MessageTooLargeError():
            return MalformedAnswerError(error.message)
        case TransportError(recoverable=False):  # over the limit, or headers that cannot be sent
            return MalformedAnswerError(error.message)
        case _:
            return UnknownOutcomeError("connection_lost", error.message)


def check_status(response: Response, body: bytes, id: str) -> None:
    """Raise CallError unless the status is 2xx or the body answers the request `id`."""
    status = response.status
    if 200 <= status < 300 or (id and is_answer(body, id)):
        return
    if 300 <= status < 400:
        message = (
            f"the agent redirects (HTTP {status}), which is not followed: register where it is"
        )
    else:
        message = f"the agent answered HTTP {status}"
    after = _retry_after(response.headers.get("retry-after", ""))
    raise error_from_status(status, message, body=body[:MAX_BODY_KEPT], retry_after=after)


def _retry_after(text: str) -> float | None:
    """Parse Retry-After in seconds (RFC 9110, 10.2.3); return None for a date.

    A date cannot be used, as the agent's clock may differ.
    """
    return min(float(text), MAX_RETRY_AFTER) if text.isascii() and text.isdigit() else None


def _check_coding(response: Response) -> None:
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise MalformedAnswerError(f"the agent's answer is compressed ({coding[:40]}), unasked")


class Bearer(Struct, frozen=True):
    """A token in the Authorization header."""

    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def __repr__(self) -> str:
        return "Bearer(…)"


class ApiKey(Struct, frozen=True):
    """A key in a header of the agent's choice."""

    key: str
    header: str = "x-api-key"

    @property
    def headers(self) -> dict[str, str]:
        return {self.header.lower(): self.key}

    def __repr__(self) -> str:
        return f"ApiKey(…, header={self.header!r})"


Auth: TypeAlias = Bearer | ApiKey
