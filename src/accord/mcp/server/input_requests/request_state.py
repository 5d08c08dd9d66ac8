"""The sealed state of a request between its rounds, which the client stores and returns.

2026-07-28, multi round-trip requests: a handler is run again for each round. The questions, answers
and one-time results of earlier rounds come back in `requestState`.

One-time results are stored as JSON. To make the first run of a handler behave like later runs, the
handler always gets a result that was encoded as JSON and decoded into the function's return type.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from inspect import isawaitable
from secrets import token_bytes
from typing import Any, Final, get_type_hints

import msgspec
from msgspec import UNSET, Raw, Struct

from accord.jsonrpc.methods.binding import choose_type
from accord.jsonrpc.methods.param_values import REFUSALS, ValueRefusedError
from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.errors import own_error
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.messages import (
    AnswerableParams,
    CallToolParams,
    GetPromptParams,
    ReadResourceParams,
    failure,
)
from accord.mcp.protocol.opaque_state import MIN_KEY_BYTES, Sealer, SealError, request_digest
from accord.mcp.protocol.versions import Era
from accord.mcp.server.session import Incoming

log = logging.getLogger("accord.mcp")

MAX_STATE: Final = 512 * 1024
"""The maximum length of a sealed state, in characters. Answers may hold images, and the repeated
request must not exceed the size limit of messages."""


class RequestState(Struct, omit_defaults=True):
    """Questions, answers and one-time results of earlier rounds of a request."""

    asked: dict[str, str] = {}
    """The digests of the questions, by the keys of the questions."""
    answers: dict[str, Raw] = {}
    once: dict[str, Raw] = {}


_decode: Final = msgspec.json.Decoder(RequestState).decode


class StateSeal:
    """The sealer of one server's request states.

    Without keys a random key is used; then neither other workers nor this worker after a restart
    can open the states.
    """

    def __init__(self, keys: Sequence[bytes], *, seconds: float) -> None:
        self._sealer = Sealer(list(keys) or [token_bytes(MIN_KEY_BYTES)], max_sealed=MAX_STATE)
        self._seconds = seconds

    def seal(self, state: RequestState, params: AnswerableParams, incoming: Incoming) -> str:
        """Return the sealed state of a request.

        Raises RpcError if the state is too large.
        """
        try:
            return self._sealer.seal(
                encode(state),
                principal=_principal(incoming),
                method=incoming.method,
                digest=_digest(params),
                now=time.time(),
                ttl=self._seconds,
            )
        except ValueError as error:
            log.error("%s: %s", incoming.method, error)
            raise own_error("internal_error", "The answers so far are too large") from None

    def open(self, params: AnswerableParams, incoming: Incoming) -> RequestState:
        """Return the state that a request carries; an empty state for a new request.

        Raises RpcError for an expired state, and for a state that was sealed for another principal,
        method, target or arguments.
        """
        if params.request_state is UNSET:
            return RequestState()
        try:
            payload = self._sealer.open(
                params.request_state,
                principal=_principal(incoming),
                method=incoming.method,
                digest=_digest(params),
                now=time.time(),
            )
            return _decode(payload)
        except SealError as error:
            log.info("%s: %s", incoming.method, error)
        except REFUSALS:  # sealed by us, in a form that another release had
            log.info("%s: request state of another form", incoming.method)
        raise failure(
            "invalid_request_state",
            "Invalid params: requestState is not the one that this request was given, or expired",
            era=Era.STATELESS,
        )


def _principal(incoming: Incoming) -> str | None:
    principal = incoming.link.principal
    return None if principal is None else principal.key


def _digest(params: AnswerableParams) -> bytes:
    """Return a digest of the request's target and arguments, equal in all rounds."""
    match params:
        case CallToolParams(name=name, arguments=arguments):
            return request_digest(name, b"{}" if arguments is UNSET else bytes(arguments))
        case GetPromptParams(name=name, arguments=arguments):
            return request_digest(name, encode({} if arguments is UNSET else arguments))
        case ReadResourceParams(uri=uri):
            return request_digest(uri)
    raise AssertionError(f"{type(params).__name__} cannot be answered")


class Once:
    """The stored results of functions that run only once per request, by key."""

    __slots__ = ("_running", "results")

    def __init__(self, results: dict[str, bytes] | None = None) -> None:
        self.results = {} if results is None else results
        self._running: dict[str, asyncio.Task[bytes]] = {}

    async def do(self, key: str, function: Callable[[], Any]) -> Any:
        """Return the result of `function`, which is called once per key.

        If the function fails, nothing is stored, and the next `do` calls it again.
        """
        found = self.results.get(key)
        if found is None:
            found = await self._share(key, function)
        return _decoded(found, function)

    async def _share(self, key: str, function: Callable[[], Any]) -> bytes:
        """Run `function` and return its encoded result.

        Concurrent calls with the same key share one run. The function runs in a task of its own, so
        that it is not interrupted when the handler ends.
        """
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._run(key, function))
        return await asyncio.shield(task)

    async def _run(self, key: str, function: Callable[[], Any]) -> bytes:
        try:
            value = function()
            found = encode(await value if isawaitable(value) else value)
            self.results[key] = found
            return found
        finally:
            self._running.pop(key, None)

    async def finish(self) -> None:
        """Wait until all running functions are done and their results are stored."""
        while self._running:
            await _settled(*self._running.values())

    def cancel(self) -> None:
        """Cancel the running functions, because their results are not needed any more."""
        for task in self._running.values():
            task.cancel()


async def _settled(*work: Awaitable[Any]) -> None:
    await asyncio.gather(*work, return_exceptions=True)


def _decoded(data: bytes, function: Callable[[], Any]) -> Any:
    kind = choose_type(Parameter("result", _returned(function), "keyword_only", True))
    try:
        return kind.decode(data, "result", "result")
    except ValueRefusedError as refused:
        raise TypeError(f"once: {refused.problems[0].message}") from None


def _returned(function: Callable[[], Any]) -> Any:
    while isinstance(function, partial):
        function = function.func
    try:
        return get_type_hints(function, include_extras=True).get("return", Any)
    except (TypeError, NameError):
        return Any
