"""Serves the requests of the protocol for one server: the table of its methods.

    bytes ─▶ dispatcher ─▶ plan: params decoded, request admitted
          ─▶ middleware, where there is any ─▶ method ─▶ component

A method gets typed params and an `Incoming`; it gives its result, or a coroutine of it. Which
transport carries them is not known here.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct

from accord.jsonrpc.call_plan import Plan
from accord.jsonrpc.catalogue import CATALOGUE
from accord.jsonrpc.context import Context as RpcContext
from accord.jsonrpc.duplicates import check_members
from accord.jsonrpc.errors import RpcError, own_error
from accord.jsonrpc.failures import is_foreseen
from accord.jsonrpc.method import raw_method
from accord.jsonrpc.msgspec_types import REFUSALS
from accord.jsonrpc.router import Router
from accord.mcp.protocol.capabilities import feature_of
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.params import AnswerableParams, Params
from accord.mcp.protocol.results import Result
from accord.mcp.protocol.versions import Era
from accord.mcp.server.access import Access
from accord.mcp.server.context import Context
from accord.mcp.server.deadlines import Deadlines
from accord.mcp.server.incoming import (
    BOTH,
    NO_PARAMS,
    Admission,
    Incoming,
    check_era,
    check_heard,
)
from accord.mcp.server.middleware import Request, through
from accord.mcp.server.replies import Replies
from accord.mcp.server.resource import ResourceNotFoundError

if TYPE_CHECKING:
    from accord.mcp.server.server import Server

log = logging.getLogger("accord.mcp")

HANDSHAKE: Final = (Era.HANDSHAKE,)
STATELESS: Final = (Era.STATELESS,)


class Row(Struct, frozen=True):
    """One method: type of its params, implementation, eras."""

    kind: type[Params]
    serve: Callable[[Any, Incoming], Any]
    eras: tuple[Era, ...] = BOTH
    result: type[Result] = Result
    """The type of results that are ready bytes, for middleware that inspects them."""


class Core:
    """The methods of one server, as a router that any transport can serve."""

    def __init__(self, server: Server) -> None:
        from accord.mcp.server.methods import (
            completion,
            lifecycle,
            prompts,
            resources,
            subscriptions,
            tasks,
            tools,
        )
        from accord.mcp.server.tasks.tasks import Tasks

        self.server = server
        self.admission = Admission(server.codes)
        self.replies = Replies(
            server.info, max_bytes=server.limits.max_result_bytes, profile=server.codes
        )
        self.deadlines = Deadlines()
        self.access = Access(self)
        self.asker = server.asker
        self.tasks = Tasks(self, server.task_settings)
        self.readers: dict[str, Callable[[Any], Params]] = {}
        """Decoders of the raw params by method, for code that must inspect params before they are
        served. Call them after `check_members` has passed. They raise `REFUSALS`; the decoded
        params may be served in place of the raw ones."""
        self.router = Router(request_errors=self.admission.request_error)
        for feature in (lifecycle, tools, resources, prompts, completion, subscriptions, tasks):
            for name, row in feature.methods(self).items():
                self.router.put(raw_method(self._plan(name, row), name))
            for name, hear in feature.notifications(self).items():
                self.router.put(raw_method(_only_heard(hear), name))

    def context(self, incoming: Incoming, params: AnswerableParams | None = None) -> Context:
        """Return the context of a handler; with `params`, one that may ask the client.

        Raises RpcError for params with the answers of another request.
        """
        if incoming.shared is not None:
            shared: Context = incoming.shared
            return shared
        context = Context(incoming, self.server.lifespan_value, self.asker, params)
        if params is not None and params.request_state is not UNSET:
            context.prepare_asking()  # state that is not the request's own is refused, used or not
        return context

    async def answer(
        self,
        work: Awaitable[Any],
        context: Context,
        incoming: Incoming,
        make: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return the encoded result of a handler, after `make` if given.

        If the handler asked unanswered questions, return those. Ends the context in any case.
        """
        try:
            result = await work
        except BaseException as error:
            if context.asking is None or _must_leave(error):
                raise
            required = await context.asking.required()
            if required is None:
                raise
            return self.replies.finish(required, incoming)
        else:
            required = None if context.asking is None else await context.asking.required()
            if required is None and make is not None:
                return make(result)
            return self.replies.finish(result if required is None else required, incoming)
        finally:
            context.end()

    def unforeseen(self, error: Exception, case: str, incoming: Incoming) -> RpcError | None:
        """Return the extended profile's error for a function that failed.

        None for errors that are sent as they are, and in the standard profile, which has one
        internal error for all failures.
        """
        extended = self.server.codes == "extended" and incoming.era is Era.HANDSHAKE
        if not extended or is_foreseen(error) or isinstance(error, ResourceNotFoundError):
            return None
        correlation_id = secrets.token_hex(8)
        log.error("%s failed [%s]", incoming.method, correlation_id, exc_info=error)
        message = CATALOGUE.named(case).message
        return failure(
            case,
            message,
            era=incoming.era,
            profile=self.server.codes,
            correlationId=correlation_id,
        )

    def _plan(self, name: str, row: Row) -> Plan:
        read_refused, admit = self.admission.read_refused, self.admission.admit
        kind, serve, eras = row.kind, row.serve, row.eras
        server, feature = self.server, feature_of(name)
        guards, has_middleware = self.server.guards, self.server.middlewares
        decode = self.readers[name] = msgspec.json.Decoder(kind).decode

        is_there = feature is None

        def check(incoming: Incoming) -> None:
            nonlocal is_there
            if eras is not BOTH:
                check_era(incoming, eras)
            # What was there once stays served: a client may still hold something of it.
            is_there = is_there or (feature is not None and server.has(feature))
            if not is_there:
                raise failure(
                    "method_not_supported",
                    f"Method not found: {name}: the server does not declare {feature}",
                    era=incoming.era,
                    profile=server.codes,
                    method=name,
                    capability=feature,
                )

        def plan(params: Any, context: RpcContext | None) -> Any:
            assert context is not None
            if context.id is UNSET:
                # 2026-07-28, Streamable HTTP: headers are compared with requests. A tool must
                # not be called past that, by a message that nobody answers.
                raise own_error("invalid_request", f"{context.method} without an id")
            if type(params) is kind:
                found = params
            else:
                data = NO_PARAMS if params is UNSET else params
                try:
                    check_members(data)  # what a gateway has seen must be what is served
                    found = decode(data)
                except REFUSALS:
                    found = read_refused(kind, data, context, check)
            incoming = admit(found.meta, context)
            if not is_there or eras is not BOTH:
                check(incoming)
            if guards:
                waiting = [wait for guard in guards if (wait := guard(incoming)) is not None]
                if waiting:
                    return self._serve_after(waiting, row, found, incoming)
            if has_middleware:
                return self._serve_through(row, found, incoming)
            return serve(found, incoming)

        return plan

    async def _serve_after(
        self, waiting: list[Awaitable[None]], row: Row, params: Params, incoming: Incoming
    ) -> Any:
        """Serve a request once its guards let it pass."""
        for wait in waiting:
            await wait
        if self.server.middlewares:
            return await self._serve_through(row, params, incoming)
        result = row.serve(params, incoming)
        return await result if isawaitable(result) else result

    async def _serve_through(self, row: Row, params: Params, incoming: Incoming) -> Any:
        """Serve a request through the middleware of the server."""
        answerable = params if isinstance(params, AnswerableParams) else None
        context = incoming.shared = self.context(incoming, answerable)
        incoming.unfinished = True
        ready: dict[int, tuple[Any, Raw]] = {}

        async def serve(params: Params) -> Any:
            result = row.serve(params, incoming)
            if isawaitable(result):
                result = await result
            if not isinstance(result, Raw) or row.result is Result:
                return result
            seen = msgspec.json.decode(result, type=row.result)
            ready[id(seen)] = seen, result
            return seen

        async def proceed() -> Any:
            try:
                request = Request(incoming.method, params, context)
                return await through(tuple(self.server.middlewares), request, serve)
            finally:
                incoming.unfinished = False

        def make(result: Any) -> Any:
            if id(result) in ready:
                return ready[id(result)][1]
            return self.replies.finish(result, incoming) if isinstance(result, Result) else result

        return await self.answer(proceed(), context, incoming, make)


def _only_heard(hear: Plan) -> Plan:
    """Return a plan for a notification.

    A request with the name of a notification asks for a method that does not exist.
    """

    def plan(params: Any, context: RpcContext | None) -> Any:
        if context is not None and context.id is not UNSET:
            message = f"Method not found: {context.method} is a notification"
            raise own_error("method_not_found", message, method=context.method)
        check_heard(params)
        return hear(params, context)

    return plan


def _must_leave(error: BaseException) -> bool:
    """Return whether the caller no longer waits for a result."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit)
