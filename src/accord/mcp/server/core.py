"""The core of a server: the table of its methods, and the way of a request through them.

    bytes ─▶ dispatcher ─▶ plan: decode params, admit the request
          ─▶ middleware, if any ─▶ method ─▶ component

A method takes typed params and an `Incoming`; it returns its result, or a coroutine of it.
The core does not know the transport.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct

from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import Context as RpcContext
from accord.jsonrpc.methods.method import raw_method
from accord.jsonrpc.methods.msgspec_types import REFUSALS
from accord.jsonrpc.methods.params_errors import check_members
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.errors import own_error
from accord.mcp.protocol.definitions import feature_of
from accord.mcp.protocol.messages import AnswerableParams, Params, Result, failure
from accord.mcp.protocol.versions import Era
from accord.mcp.server.access import Access
from accord.mcp.server.handler_runner import HandlerRunner
from accord.mcp.server.incoming import (
    BOTH,
    NO_PARAMS,
    Incoming,
    RequestAdmission,
    check_era,
    check_heard,
)
from accord.mcp.server.middleware import Request, through
from accord.mcp.server.server_state import ServerState
from accord.mcp.server.tasks.tasks import Tasks

HANDSHAKE: Final = (Era.HANDSHAKE,)
STATELESS: Final = (Era.STATELESS,)


class MethodRow(Struct, frozen=True):
    """One method: type of its params, implementation, eras."""

    kind: type[Params]
    serve: Callable[[Any, Incoming], Any]
    eras: tuple[Era, ...] = BOTH
    result: type[Result] = Result
    """The type of results that are ready bytes, for middleware that inspects them."""


class MethodTable(Struct, frozen=True):
    """The methods and notifications of the protocol, by name."""

    methods: Mapping[str, MethodRow]
    notifications: Mapping[str, Plan]


class Core:
    """The methods of one server, as a router that any transport can serve.

    `table` gives the methods; it may use the runner, the access and the tasks of this core.
    """

    def __init__(self, server: ServerState, table: Callable[[Core], MethodTable]) -> None:
        self.server = server
        self.runner = HandlerRunner(server)
        self.access = Access(self.runner)
        self.tasks = Tasks(self.runner)
        self.readers: dict[str, Callable[[Any], Params]] = {}
        """Decoders of the raw params by method, for code that must inspect params before they are
        served. Call them after `check_members` has passed. They raise `REFUSALS`; the decoded
        params may be served in place of the raw ones."""
        self._admission = RequestAdmission(server.codes)
        self.router = Router(request_errors=self._admission.request_error)
        served = table(self)
        for name, row in served.methods.items():
            self.router.put(raw_method(self._plan(name, row), name))
        for name, hear in served.notifications.items():
            self.router.put(raw_method(_only_heard(hear), name))

    def _plan(self, name: str, row: MethodRow) -> Plan:
        read_refused, admit = self._admission.read_refused, self._admission.admit
        kind, serve, eras = row.kind, row.serve, row.eras
        server, feature = self.server, feature_of(name)
        guards, has_middleware = self.server.guards, self.server.middlewares
        decode = self.readers[name] = msgspec.json.Decoder(kind).decode

        is_there = feature is None

        def check(incoming: Incoming) -> None:
            nonlocal is_there
            if eras is not BOTH:
                check_era(incoming, eras)
            # A feature stays served once it existed: a client may still know its components.
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
                # 2026-07-28, Streamable HTTP: headers are compared with requests only. A
                # notification must not call a tool without that check.
                raise own_error("invalid_request", f"{context.method} without an id")
            if type(params) is kind:
                found = params
            else:
                data = NO_PARAMS if params is UNSET else params
                try:
                    check_members(data)  # a gateway may read duplicate members differently
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
        self,
        waiting: list[Awaitable[None]],
        row: MethodRow,
        params: Params,
        incoming: Incoming,
    ) -> Any:
        """Serve a request once its guards let it pass."""
        for wait in waiting:
            await wait
        if self.server.middlewares:
            return await self._serve_through(row, params, incoming)
        result = row.serve(params, incoming)
        return await result if isawaitable(result) else result

    async def _serve_through(self, row: MethodRow, params: Params, incoming: Incoming) -> Any:
        """Serve a request through the middleware of the server."""
        answerable = params if isinstance(params, AnswerableParams) else None
        context = incoming.shared = self.runner.context(incoming, answerable)
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
            if isinstance(result, Result):
                return self.runner.replies.finish(result, incoming)
            return result

        return await self.runner.answer(proceed(), context, incoming, make)


class ServableServer(ServerState, Protocol):
    """A server as transports serve it: its state and its methods."""

    @property
    def core(self) -> Core: ...
    @property
    def router(self) -> Router: ...


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
