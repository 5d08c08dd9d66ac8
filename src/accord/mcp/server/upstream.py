"""The server behind a proxy: the connections to it, and whom its questions are for.

What a server asks, and the log messages it sends, do not tell which call they belong to. In
the stateless era a question is part of the answer to a call, and there is no doubt. To a server
of the handshake era each session of ours therefore has a connection of its own, and so has
each request without a session whose client can be asked. Where there is one connection for all,
as to a child process, a question is passed on only while it is certain whom it is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

from msgspec import UNSET

from accord.jsonrpc.errors import own_error
from accord.mcp.client.client import Client
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    Root,
)
from accord.mcp.protocol.params import LogParams
from accord.mcp.protocol.versions import Era
from accord.mcp.server.context import Context
from accord.mcp.server.forwarding import PASSING, Passing
from accord.mcp.server.input_requests.ask import InputRequired
from accord.mcp.server.input_requests.elicitation import Accepted, Answer
from accord.mcp.server.session import Session

T = TypeVar("T")

MAX_CONNECTIONS: Final = 1_000
"""The limit of sessions with a connection of their own; more share one."""


class Asks:
    """The input requests of one connection's server, forwarded to the caller."""

    def __init__(self) -> None:
        self._passing: list[Passing] = []

    @contextmanager
    def during(self, passing: Passing) -> Iterator[None]:
        """Register a request while it is forwarded, as a candidate for questions."""
        self._passing.append(passing)
        token = PASSING.set(passing)
        try:
            yield
        finally:
            PASSING.reset(token)
            self._passing.remove(passing)

    def caller(self) -> Passing | None:
        """Return the request that a question belongs to; None if uncertain."""
        known = PASSING.get()
        if known in self._passing:
            return known
        possible = {id(_session(it.context) or it) for it in self._passing}
        return self._passing[-1] if len(possible) == 1 else None

    async def elicit(self, asked: ElicitForm | ElicitUrl) -> ElicitResult:
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
            # Our own client is asked in the result of its request; the call behind it ends.
            if not passing.stopped.done():
                passing.stopped.set_result(None)
            raise own_error("capability_not_supported", "the user is asked later") from None


class Connection:
    """A client of the upstream server, and the forwarder of its input requests."""

    def __init__(self, make: Callable[[Asks], Client]) -> None:
        self.asks = Asks()
        self.client = make(self.asks)


class Upstream:
    """The connections to the upstream server."""

    def __init__(self, make: Callable[[Asks], Client], *, per_session: bool) -> None:
        self._make = make
        self._per_session = per_session
        self._main: Connection | None = None
        self._own: dict[Session, asyncio.Task[Connection]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def main(self) -> Client:
        """The connection for lists."""
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
        """Return the result of `ask` at the upstream server.

        Raises its exceptions, and InputRequired if our own client must be asked first.
        """
        async with self._connection(context) as connection:
            passing = Passing(context)
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
        except Exception:
            return
        await connection.client.close()


def _session(context: Context) -> Session | None:
    """Return the session that a request's questions belong to.

    In the stateless era they belong to the request alone.
    """
    incoming = context.incoming
    return incoming.link.session if incoming.era is Era.HANDSHAKE else None


def _can_be_asked(context: Context) -> bool:
    known = context.client_capabilities
    return any(it is not None for it in (known.elicitation, known.sampling, known.roots))


async def _unless_stopped(work: Coroutine[Any, Any, T], passing: Passing) -> T:
    """Return the result of `work`, or cancel it when the request is stopped.

    Raises InputRequired then.
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
