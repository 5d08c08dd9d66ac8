"""The server behind a proxy: connections, forwarded headers, forwarded questions.

The questions and log messages of a server do not state the call that they belong to. In the
stateless era a question is part of the answer to its call. In the handshake era each client session
has its own connection, so every question belongs to the client of that session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from msgspec import UNSET

from accord.jsonrpc.protocol.errors import own_error
from accord.mcp.client.auth_hook import Auth, AuthRequest
from accord.mcp.client.client import Client
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrlParams,
    Root,
)
from accord.mcp.protocol.messages import LogParams
from accord.mcp.protocol.versions import Era
from accord.mcp.server.context import Context
from accord.mcp.server.input_requests.ask import InputRequired
from accord.mcp.server.input_requests.client_features import Accepted, Answer
from accord.mcp.server.session import Session

CREDENTIALS: Final = frozenset(
    ("authorization", "cookie", "dpop", "proxy-authorization", "x-api-key")
)
_OURS: Final = ("mcp-", "content-", "accept")
_OWN: Final = frozenset(
    ("connection", "host", "last-event-id", "origin", "te", "transfer-encoding", "upgrade")
)


class ForwardedRequest:
    """A request of a client that the proxy is forwarding."""

    __slots__ = ("context", "stopped")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """A future that is done when the upstream server asks a question that the caller, a client
        of the proxy, must answer first."""


FORWARDED_REQUEST: ContextVar[ForwardedRequest | None] = ContextVar(
    "accord_mcp_passing", default=None
)
"""The request that the current task forwards."""


class ForwardedHeaders:
    """The headers of a forwarded request: allowed headers of the caller, and `auth`'s.

    Raises ValueError if a header that must not be forwarded is allowed.
    """

    def __init__(self, allowed: Iterable[str], auth: Auth | None) -> None:
        self._allowed = _checked(allowed)
        self._auth = auth

    async def headers(self, request: AuthRequest) -> Mapping[str, str]:
        passing = FORWARDED_REQUEST.get()
        found = {} if passing is None else passing.context.headers
        passed = {name: found[name] for name in self._allowed if name in found}
        return passed if self._auth is None else {**passed, **await self._auth.headers(request)}

    async def challenged(
        self, request: AuthRequest, status: int, headers: Mapping[str, str]
    ) -> bool:
        if self._auth is None:
            return False
        return await self._auth.challenged(request, status, headers)


def _checked(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ValueError(f"forward is a list of headers, not the string {names!r}")
    lowered = tuple(name.lower() for name in names)
    for name in lowered:
        if name in CREDENTIALS:
            raise ValueError(f"the header {name} carries credentials and is never passed on")
        if name in _OWN or name.startswith(_OURS):
            raise ValueError(f"the header {name} belongs to the request itself")
    return lowered


T = TypeVar("T")

MAX_CONNECTIONS: Final = 1_000
"""The maximum number of sessions with their own connection; other sessions connect for each
call."""


class ForwardedInputRequests:
    """A forwarder of the upstream server's input requests to callers of the proxy.

    A caller is a client of the proxy, whose request is forwarded on this connection.
    """

    def __init__(self) -> None:
        self._passing: list[ForwardedRequest] = []

    @contextmanager
    def during(self, passing: ForwardedRequest) -> Iterator[None]:
        """Register a request while it is forwarded; a context manager.

        The upstream server may ask questions because of any registered request.
        """
        self._passing.append(passing)
        token = FORWARDED_REQUEST.set(passing)
        try:
            yield
        finally:
            FORWARDED_REQUEST.reset(token)
            self._passing.remove(passing)

    def caller(self) -> ForwardedRequest | None:
        """Return the forwarded request that a question belongs to; None if uncertain."""
        known = FORWARDED_REQUEST.get()
        if known in self._passing:
            return known
        possible = {id(_session(it.context) or it) for it in self._passing}
        return self._passing[-1] if len(possible) == 1 else None

    async def elicit(self, asked: ElicitForm | ElicitUrlParams) -> ElicitResult:
        answer: Answer[Any]
        if isinstance(asked, ElicitForm):
            answer = await self._ask(
                lambda context: context.elicit(asked.message, asked.requested_schema)
            )
        else:
            id = "" if asked.elicitation_id is UNSET else asked.elicitation_id
            answer = await self._ask(
                lambda context: context.elicit_url(asked.message, asked.url, id=id)
            )
        content = answer.content if isinstance(answer, Accepted) else None
        return ElicitResult(action=answer.action, content=content)

    async def sample(self, asked: CreateMessage) -> CreateMessageResult:
        choice = asked.tool_choice
        result: CreateMessageResult = await self._ask(
            lambda context: context.sample(
                asked.messages,
                max_tokens=asked.max_tokens,
                system_prompt=asked.system_prompt,
                model_preferences=asked.model_preferences,
                temperature=asked.temperature,
                stop_sequences=asked.stop_sequences,
                include_context=asked.include_context,
                metadata=asked.metadata,
                tools=asked.tools,
                tool_choice=UNSET if choice is UNSET else choice.mode,
            )
        )
        return result

    async def roots(self) -> list[Root]:
        roots: list[Root] = await self._ask(lambda context: context.roots())
        return roots

    def log(self, message: LogParams) -> None:
        passing = self.caller()
        if passing is not None:
            passing.context.log(message.level, message.data, logger=message.logger)

    async def _ask(self, ask: Callable[[Context], Any]) -> Any:
        passing = self.caller()
        if passing is None:
            raise own_error(
                "capability_not_supported", "it is not certain whom this question is for"
            )
        try:
            return await ask(passing.context)
        except InputRequired:
            # Our own client gets the question in its result; the upstream call ends.
            if not passing.stopped.done():
                passing.stopped.set_result(None)
            raise own_error("capability_not_supported", "the user is asked later") from None


class Connection:
    """A connection to the upstream server, which forwards its input requests."""

    def __init__(self, make: Callable[[ForwardedInputRequests], Client]) -> None:
        self.asks = ForwardedInputRequests()
        self.client = make(self.asks)


class Upstream:
    """The connections to the upstream server."""

    def __init__(
        self, make: Callable[[ForwardedInputRequests], Client], *, per_session: bool
    ) -> None:
        self._make = make
        self._per_session = per_session
        self._main: Connection | None = None
        self._own: dict[Session, asyncio.Task[Connection]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def main(self) -> Client:
        """The client of the main connection to the upstream server.

        It fetches lists, and serves the sessions that have no connection of their own.
        """
        assert self._main is not None, "the proxy does not run"
        return self._main.client

    @property
    def completes(self) -> bool:
        """True if the upstream server completes arguments."""
        return self._main is not None and self.main.capabilities.completions is not None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Client]:
        self._main = Connection(self._make)
        try:
            async with self._main.client as client:
                yield client
        finally:
            for session in tuple(self._own):
                self._leave(session)
            await asyncio.gather(*self._closing, return_exceptions=True)
            self._main = None

    async def call(self, context: Context, ask: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """Call the upstream server by `ask` and return the result.

        Raises the exceptions of `ask`, and InputRequired if the upstream server asks a question
        that the caller, a client of the proxy, must answer first.
        """
        async with self._connection(context) as connection:
            passing = ForwardedRequest(context)
            with connection.asks.during(passing):
                return await _unless_stopped(ask(connection.client), passing)

    @asynccontextmanager
    async def _connection(self, context: Context) -> AsyncIterator[Connection]:
        session = _session(context)
        main = self._main
        assert main is not None, "the proxy does not run"
        shared = not self._per_session or main.client.conversation.stateless
        if shared or (session is None and not _can_be_asked(context)):
            yield main
        elif session is not None and (session in self._own or len(self._own) < MAX_CONNECTIONS):
            yield await self._connection_of(session, context)
        else:
            connection = Connection(self._make)
            async with connection.client:
                yield connection

    async def _connection_of(self, session: Session, context: Context) -> Connection:
        task = self._own.get(session)
        if task is None:
            task = self._own[session] = asyncio.ensure_future(self._connect())
            context.incoming.link.at_end(lambda: self._leave(session))
        try:
            return await asyncio.shield(task)
        except Exception:
            if self._own.get(session) is task:
                del self._own[session]
            raise

    async def _connect(self) -> Connection:
        connection = Connection(self._make)
        await connection.client.__aenter__()
        return connection

    def _leave(self, session: Session) -> None:
        """Close the connection of a session that has ended."""
        task = self._own.pop(session, None)
        if task is not None:
            closing = asyncio.ensure_future(self._close(task))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _close(self, task: asyncio.Task[Connection]) -> None:
        try:
            connection = await task
        except Exception:  # noqa: BLE001 - a connection that could not be made needs no closing
            return
        await connection.client.close()


def _session(context: Context) -> Session | None:
    """Return the session of a request of the handshake era; None in the stateless era.

    In the stateless era, questions belong to one request.
    """
    incoming = context.incoming
    return incoming.link.session if incoming.era is Era.HANDSHAKE else None


def _can_be_asked(context: Context) -> bool:
    known = context.client_capabilities
    return any(it is not None for it in (known.elicitation, known.sampling, known.roots))


async def _unless_stopped(work: Coroutine[Any, Any, T], passing: ForwardedRequest) -> T:
    """Return the result of `work`, unless the forwarded request is stopped before.

    Then `work` is cancelled, and InputRequired raised.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task, passing.stopped), return_when=asyncio.FIRST_COMPLETED)
        if passing.stopped.done():
            raise InputRequired
        return task.result()
    finally:
        if not task.done():
            task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # whoever needs it has it
