"""The state of a server for its methods, tasks and transports: settings, lifespan, middleware.

`Server` implements the protocol `ServerState`. Modules that `Server` imports use the protocol
instead of the class, so that no import is circular. Limits of handlers are plain values, on by
default; the modules that read them enforce them.

The lifespan is entered before the first request and left after the last, once, however many
transports serve the server at the same time. It runs in its own task, so that it may use context
managers that must be left by the task that entered them, such as cancel scopes.

Middleware are functions of the application that are called around every request:

    @server.middleware
    async def timed(request, proceed):
        began = monotonic()
        try:
            return await proceed()
        finally:
            log.info("%s took %f s", request.method, monotonic() - began)

The function that is added first is outermost. Each function may proceed, with other params if
needed, may change the result, and may stop the request by raising or by not proceeding.
Notifications bypass middleware.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.methods.method import is_async
from accord.jsonrpc.protocol.channel import MIB
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.mcp.protocol.definitions import Feature, Implementation, ServerCapabilities
from accord.mcp.protocol.messages import Params, Profile
from accord.mcp.server.components.handler import Completions
from accord.mcp.server.components.lists import PromptSource, ResourceSource
from accord.mcp.server.components.prompts import ServedPrompt
from accord.mcp.server.components.registry import ComponentRegistry
from accord.mcp.server.components.resources import ServedResource
from accord.mcp.server.components.tools import ServedTool
from accord.mcp.server.context import Context
from accord.mcp.server.input_requests.ask import Asker
from accord.mcp.server.listeners import ChangeListeners
from accord.mcp.server.session import Incoming
from accord.mcp.server.task_store import TaskSettings

if TYPE_CHECKING:
    from accord.mcp.server.auth.authenticator import Authenticator, Verifier


class ShutdownSignal:
    """A signal that the server closes, for requests that stay open until then.

    The signal is not bound to an event loop and can be set repeatedly, because a server may be
    served again.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def wait(self) -> None:
        """Wait until the server closes."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)

    def set(self) -> None:
        """Wake all tasks in `wait`, because the server closes."""
        for waiting in tuple(self._waiting):
            if not waiting.get_loop().is_closed():
                waiting.get_loop().call_soon_threadsafe(partial(_wake, waiting))


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


MakeLifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


class ServerLifespan:
    """The lifespan of a server: a context manager entered once for all of its users."""

    def __init__(self, make: MakeLifespan) -> None:
        self._make = make
        self._run: _LifespanRun | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Any]:
        """Return a context manager that keeps the lifespan running while it is in use.

        Raises the exceptions that the lifespan raises when it is entered.
        """
        run = self._run
        if run is None or run.is_ending or run.loop is not asyncio.get_running_loop():
            run = self._run = _LifespanRun(self._make)
        run.users += 1
        try:
            await run.ready()
            yield run.value
        finally:
            run.users -= 1
            if not run.users:
                await run.end()
                if self._run is run:
                    self._run = None


class _LifespanRun:
    """One run of a lifespan, from entering to leaving it."""

    def __init__(self, make: MakeLifespan) -> None:
        self.users = 0
        self.value: Any = None
        self.is_ending = False
        self.loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self.loop.create_future()
        self._stop = asyncio.Event()
        self._task = self.loop.create_task(self._live(make))

    async def ready(self) -> None:
        await asyncio.shield(self._ready)

    async def end(self) -> None:
        """Leave the lifespan, and wait until it is left.

        Raises the exceptions that the lifespan raises when it is left.
        """
        self.is_ending = True
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.shield(self._finished())

    async def _finished(self) -> None:
        await asyncio.wait([self._task])
        error = None if self._task.cancelled() else self._task.exception()
        if error is not None and error is not self._ready.exception():
            raise error

    async def _live(self, make: MakeLifespan) -> None:
        try:
            async with make() as value:
                self.value = value
                self._ready.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # waiters have it; asyncio need not log it
            raise
        finally:
            self.value = None


class Request(Struct, frozen=True):
    """An admitted request, as middleware sees it."""

    method: str
    params: Any
    """The typed params, such as `CallToolParams`; the `arguments` of a tool call are raw JSON."""
    context: Context
    """The context, which the handler gets too."""


class NextHandler(Protocol):
    """The next middleware, or the method itself."""

    def __call__(self, params: Params | None = None) -> Awaitable[Any]:
        """Return the result, such as a `CallToolResult`.

        `params` replaces the request's params; make them with `msgspec.structs.replace`. The
        handler may be called again, to retry.
        """


Middleware: TypeAlias = Callable[[Request, NextHandler], Coroutine[Any, Any, Any]]


def check_middleware(function: Middleware) -> None:
    """Raise `RegistrationError` unless `function` is async."""
    if not is_async(function):
        raise RegistrationError(
            f"the middleware {function!r} is no async function: "
            "write async def middleware(request, proceed)"
        )


def through(
    middleware: Sequence[Middleware], request: Request, serve: Callable[[Any], Awaitable[Any]]
) -> Awaitable[Any]:
    """Serve a request by `serve`, wrapped in all functions of `middleware`.

    Return the result. The first function of `middleware` is the outermost.
    """
    if not middleware:
        return serve(request.params)
    first, rest = middleware[0], middleware[1:]

    def proceed(params: Params | None = None) -> Awaitable[Any]:
        going_on = request if params is None else replace(request, params=params)
        return through(rest, going_on, serve)

    return first(request, proceed)


Instructions: TypeAlias = (
    str | Callable[[], str | Awaitable[str]] | Callable[[Context], str | Awaitable[str]]
)
Guard: TypeAlias = Callable[[Incoming], Awaitable[None] | None]
"""A check of each request before it is served, which may raise RpcError. If it returns an
awaitable, the request is served after the awaitable has completed."""


class ServerState(Protocol):
    """The protocol of a server's components and settings, which `Server` implements.

    Each attribute is documented in `Server`.
    """

    info: Implementation
    instructions: Instructions
    introduce: Callable[[Implementation], Implementation]
    lifespan_value: Any
    strict_versions: bool
    codes: Profile
    limits: McpLimits
    page_size: int
    ttl_ms: int

    tools: ComponentRegistry[ServedTool]
    resources: ComponentRegistry[ServedResource]
    prompts: ComponentRegistry[ServedPrompt]
    completions: Completions
    resource_source: ResourceSource | None
    prompt_source: PromptSource | None

    middlewares: list[Middleware]
    guards: list[Guard]
    auth: Authenticator | Verifier | None
    listeners: ChangeListeners
    closing: ShutdownSignal
    asker: Asker
    task_settings: TaskSettings

    @property
    def has_resources(self) -> bool: ...
    @property
    def has_prompts(self) -> bool: ...
    @property
    def has_task_tools(self) -> bool: ...
    def capabilities(self, version: str) -> ServerCapabilities: ...
    def has(self, feature: Feature) -> bool: ...
    async def find_prompt(self, name: str) -> ServedPrompt | None: ...
    def running(self) -> AbstractAsyncContextManager[Any]: ...


class McpLimits(Struct, frozen=True, kw_only=True):
    """The limits of one server; `None` means unlimited, where the type allows it."""

    call_seconds: float | None = 300.0
    """Time limit of a tool, a resource or a prompt without `timeout`. It does not apply to calls
    that continue as tasks."""
    max_result_bytes: int | None = 8 * MIB
    """Size limit of an encoded result of a tool, a resource or a prompt."""
    max_calls_per_session: int = 1_000
    """Limit of concurrent tool calls per session; calls beyond it are refused."""
    max_calls_per_tool: int | None = 10_000
    """Limit of concurrent calls of a tool without `concurrency`."""
    max_subscriptions: int = 10_000
    """Limit of resource subscriptions per session, or per listening request."""
