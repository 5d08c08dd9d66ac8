"""Requests of a client to its server, once the version is negotiated.

Adds the request metadata, follows progress, starts a new session if the server forgot the old one,
answers input requests, and caches results as the server allows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.protocol.errors import InvalidResultError, RpcError, TransportError, own_error
from accord.jsonrpc.protocol.messages import encode
from accord.jsonrpc.runtime.calls import Call, decode_result
from accord.mcp.client.inbox import Inbox, InputHandlers, ProgressHandler
from accord.mcp.client.wire import Agreement, ClientIdentity, ClientWire
from accord.mcp.protocol.content import Meta
from accord.mcp.protocol.input_requests import InputRequest
from accord.mcp.protocol.messages import (
    CacheableResult,
    InputRequiredResult,
    LogLevel,
    standard_reason,
)
from accord.mcp.protocol.versions import Era

MAX_KEPT: Final = 1_000
MAX_SECONDS: Final = 24 * 3600.0
"""Maximum lifetime of a cached result, whatever the server allows."""


class _CacheEntry(Struct, frozen=True):
    result: CacheableResult
    until: float


class Cache:
    """A cache of results by method and key, such as a URI or a cursor."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], _CacheEntry] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, method: str, key: str, *, now: float) -> Any:
        """Return the cached result; None if it is missing or has expired."""
        cached = self._kept.get((method, key))
        if cached is None:
            return None
        if now < cached.until:
            return cached.result
        del self._kept[method, key]
        return None

    def put(self, method: str, key: str, result: CacheableResult, *, now: float) -> None:
        """Cache a result for its `ttl_ms`, if that is present and positive."""
        ttl = result.ttl_ms
        if ttl is UNSET or ttl <= 0:
            return
        self._kept.pop((method, key), None)
        if len(self._kept) >= MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[method, key] = _CacheEntry(result, now + min(ttl / 1000, MAX_SECONDS))

    def forget(self, *methods: str) -> None:
        """Drop all cached results of these methods."""
        for each in [each for each in self._kept if each[0] in methods]:
            del self._kept[each]

    def forget_one(self, method: str, key: str) -> None:
        self._kept.pop((method, key), None)

    def forget_private(self) -> None:
        """Drop all cached results whose `cacheScope` is not public."""
        self._kept = {
            each: cached
            for each, cached in self._kept.items()
            if cached.result.cache_scope == "public"
        }


MAX_PAGES: Final = 1_000
MAX_ITEMS: Final = 100_000

T = TypeVar("T")


async def all_items(
    method: str, page: Callable[[str | None], Awaitable[Any]], items: Callable[[Any], Sequence[T]]
) -> list[T]:
    """Return the items of all pages of a list, such as `tools/list`.

    Raises InvalidResultError if a cursor is repeated, or if the list exceeds the limits on pages
    and items.
    """
    found: list[T] = []
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        result = await page(cursor)
        found += items(result)
        if result.next_cursor is UNSET:
            return found
        cursor = result.next_cursor
        if cursor in seen:
            raise InvalidResultError(f"the pages of {method} lead back to one that was there")
        seen.add(result.next_cursor)
        if len(seen) >= MAX_PAGES or len(found) > MAX_ITEMS:
            raise InvalidResultError(
                f"{method} has more than {MAX_PAGES:,} pages or {MAX_ITEMS:,} items, the limits"
            )


MAX_ROUNDS: Final = 16
"""Maximum number of times that one request is repeated with answers to input requests."""
MAX_QUESTIONS: Final = 64
"""Maximum number of questions (input requests) in one result."""


class SessionGoneError(TransportError):
    """The session is unknown to the server, or has ended."""

    default_message = "the session is gone"


class _Kind(msgspec.Struct):
    result_type: str = msgspec.field(name="resultType", default="complete")


_decode_kind = msgspec.json.Decoder(_Kind).decode


class McpCallOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of one request; UNSET means the value of the client."""

    timeout: float | None | UnsetType = UNSET
    longest: float | None | UnsetType = UNSET
    progress: ProgressHandler | None = None
    meta: Meta | None = None


DEFAULT: Final = McpCallOptions()


class CallOutcome(msgspec.Struct, frozen=True):
    """The result of a request that may have been repeated."""

    raw: Any
    kind: str
    """The `resultType` of the result."""
    repeated: bool = False
    """True if the request was repeated, with answers to the server's input requests; the result is
    then not cached (2026-07-28, caching)."""


class Conversation:
    """The sender of all requests from one client to one server.

    It adds `_meta` to requests, answers input requests in results, and begins a new session when
    the server has lost the old one.
    """

    def __init__(
        self,
        wire: ClientWire,
        agreement: Agreement,
        identity: ClientIdentity,
        inbox: Inbox,
        asked: InputHandlers,
        *,
        timeout: float | None,
        longest: float | None,
        renew: Callable[[ClientWire], Awaitable[Agreement]],
    ) -> None:
        self.wire = wire
        self.agreement = agreement
        self.stateless = agreement.era is Era.STATELESS
        self.identity = identity
        self.inbox = inbox
        self._asked = asked
        self._timeout = timeout
        self._longest = longest
        self._renew = renew
        self._follows_progress = inbox.follows_progress
        self._sessions = 0
        self._session_gone = False
        """True if a new session is needed before the next request."""
        self._renewing: asyncio.Task[None] | None = None
        self.renewed: list[Callable[[], Awaitable[None]]] = []
        """Callbacks that run after a new session began, and renew subscriptions."""
        self._set_meta()

    @property
    def longest(self) -> float | None:
        """Maximum duration of a call that reports progress, in seconds."""
        return self._longest

    @property
    def seconds(self) -> float | None:
        return self._timeout

    def set_log_level(self, level: LogLevel) -> None:
        """Request log messages of this level and above from now on."""
        self.identity.log_level = level
        self._set_meta()

    def _set_meta(self) -> None:
        self._meta = self.identity.meta(self.agreement.version) if self.stateless else {}
        self._ready = Raw(encode(self._meta)) if self.stateless else None
        """The `_meta` that most requests share, encoded once; None in the handshake era.

        A request with a progress token has a `_meta` of its own.
        """

    # Requests

    async def ask(
        self,
        method: str,
        params: dict[str, Any],
        options: McpCallOptions = DEFAULT,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request, and return its result as raw JSON.

        `_meta` is added to `params` in place.
        """
        try:
            if self._session_gone:
                await self._new_session(self._sessions)
            sessions = self._sessions
            try:
                if options is not DEFAULT or self._follows_progress:
                    return await self._ask_once(method, params, options, headers)
                # The common case, written out: `_ask_once` would do the same.
                if self._ready is not None:
                    params["_meta"] = self._ready
                call = self.wire.begin(method, params, timeout=self._timeout, headers=headers)
                return await call.answer()
            except SessionGoneError:
                await self._new_session(sessions)
                return await self._ask_once(method, params, options, headers)
        except RpcError as error:
            if error.remote:  # only our own servers send a reason
                error.reason = standard_reason(error.code, self.agreement.era)
            raise

    async def _ask_once(
        self,
        method: str,
        params: dict[str, Any],
        options: McpCallOptions,
        headers: Mapping[str, str] | None,
    ) -> Any:
        timeout = self._timeout if options.timeout is UNSET else options.timeout
        token = self._put_meta(params, options)
        if token is None:
            return await self.wire.begin(method, params, timeout=timeout, headers=headers).answer()
        longest = self._longest if options.longest is UNSET else options.longest
        try:
            call = self.wire.begin(
                method, params, timeout=timeout, longest=longest, headers=headers
            )
            self.inbox.sent(token, call)
            return await call.answer()
        finally:
            self.inbox.untrack(token)

    def _put_meta(self, params: dict[str, Any], options: McpCallOptions) -> Any:
        """Set `_meta` in `params`, and return its progress token, if any."""
        meta: dict[str, Any] = {**(options.meta or {}), **self._meta}
        token = None
        if (
            options.progress is not None
            or isinstance(options.longest, int | float)
            or self._follows_progress
        ):
            token = meta["progressToken"] = self.inbox.track(options.progress)
        if meta:
            params["_meta"] = meta
        return token

    def begin(self, method: str, params: dict[str, Any]) -> Call:
        """Send a request without a timeout, such as `subscriptions/listen`.

        The request stays open until the server answers.
        """
        if self._ready is not None:
            params["_meta"] = self._ready
        return self.wire.begin(method, params, timeout=None)

    async def tell(self, method: str, params: Any = UNSET) -> None:
        await self.wire.tell(method, params)

    # Questions inside results (2026-07-28, multi round-trip requests)

    async def ask_answering(
        self,
        method: str,
        params: dict[str, Any],
        options: McpCallOptions = DEFAULT,
        headers: Mapping[str, str] | None = None,
    ) -> CallOutcome:
        """Send a request, and repeat it with answers while its result asks for input."""
        raw = await self.ask(method, params, options, headers)
        return await self.settle(method, params, raw, options, headers)

    async def settle(
        self,
        method: str,
        params: dict[str, Any],
        raw: Any,
        options: McpCallOptions = DEFAULT,
        headers: Mapping[str, str] | None = None,
    ) -> CallOutcome:
        """Repeat a request until its result is complete, and return that result.

        `raw` is the first result. While the result asks for input, the request is repeated with
        answers to the server's input requests.
        """
        if not self.stateless:
            return CallOutcome(raw, "complete")
        for round in range(MAX_ROUNDS):
            kind = kind_of(raw, method)
            if kind != "input_required":
                return CallOutcome(raw, kind, repeated=round > 0)
            again = await self._repetition(method, params, raw)
            raw = await self.ask(method, again, options, headers)
        raise own_error("busy", f"{method} wants input after {MAX_ROUNDS} rounds, the limit")

    async def _repetition(self, method: str, params: dict[str, Any], raw: Any) -> dict[str, Any]:
        """Return the params with answers to the questions in the result `raw`."""
        required: InputRequiredResult = decode_result(raw, InputRequiredResult, method)
        again = dict(params)
        # The state is echoed unchanged; without one in the result, none is sent.
        if required.request_state is not UNSET:
            again["requestState"] = required.request_state
        if required.input_requests is not UNSET:
            again["inputResponses"] = await self.answers(required.input_requests)
        elif required.request_state is UNSET:
            raise InvalidResultError(f"{method} wants input and does not say what")
        return again

    async def answers(self, questions: Mapping[str, Raw]) -> dict[str, Any]:
        """Return the application's answers to questions, by the keys of the questions."""
        if len(questions) > MAX_QUESTIONS:
            raise InvalidResultError(
                f"{len(questions)} questions in one result are over the limit of {MAX_QUESTIONS}"
            )
        # One at a time: most questions are for the same user.
        return {
            name: await self._asked.answer(_input_request(raw)) for name, raw in questions.items()
        }

    # Sessions (the handshake era over HTTP)

    async def _new_session(self, sessions: int) -> None:
        """Begin a new session, unless another request has already begun one.

        `sessions` is the value of `_sessions` when the caller sent its request. If `_sessions` has
        grown since, another request has begun a new session.
        """
        if self._sessions != sessions:
            return
        self._session_gone = True
        if self._renewing is not None and self._renewing is asyncio.current_task():
            raise SessionGoneError  # raised in the renewal itself: the new session is gone too
        if self._renewing is None:
            self._renewing = asyncio.ensure_future(self._begin_session())
            self._renewing.add_done_callback(self._renewing_done)
        await asyncio.shield(self._renewing)

    def _renewing_done(self, task: asyncio.Task[None]) -> None:
        self._renewing = None
        if not task.cancelled():
            task.exception()  # retrieved here, raised in each waiting request

    async def _begin_session(self) -> None:
        self.agreement = await self._renew(self.wire)
        self._sessions += 1
        self._session_gone = False
        for again in tuple(self.renewed):
            await again()

    async def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        await self.wire.close()


def kind_of(raw: Any, method: str) -> str:
    """Return the `resultType` of a result.

    If it is absent, the type is `complete` (2026-07-28, overview).
    """
    try:
        return _decode_kind(raw).result_type
    except REFUSALS as error:
        raise InvalidResultError(f"the result of {method} is no object: {error}") from error


def _input_request(raw: Raw) -> InputRequest:
    try:
        return msgspec.json.decode(raw, type=InputRequest)
    except REFUSALS as error:
        raise InvalidResultError(f"a question of the server is malformed: {error}") from error
