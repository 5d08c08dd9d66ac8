"""The core of a server: the table of its methods, and the path of a request to a method.

    bytes ─▶ dispatcher ─▶ plan: decode params, admit the request
          ─▶ middleware, if any ─▶ method ─▶ component

A method takes typed params and the incoming request; it returns its result, or a coroutine of it.
The core does not know the transport. `Access` determines, for each request, the components that the
client sees, the pages of lists, the cache scope of results, and time limits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, Final, NoReturn, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import Context as RpcContext
from accord.jsonrpc.methods.method import raw_method
from accord.jsonrpc.methods.param_values import REFUSALS, check_members
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.mcp.protocol.definitions import feature_of
from accord.mcp.protocol.messages import (
    AnswerableParams,
    CacheScope,
    ListParams,
    Params,
    Result,
    SubscriptionFilter,
    failure,
)
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.lists import ComponentSource, ReadyList, SourcedList
from accord.mcp.server.components.registry import (
    Component,
    ComponentRegistry,
    RestrictedComponent,
    T,
    View,
    is_permitted,
    is_visible,
)
from accord.mcp.server.components.resources import ResourceIndex, ServedResource
from accord.mcp.server.handler_runner import HandlerRunner
from accord.mcp.server.server_state import Request, ServerState, through
from accord.mcp.server.session import (
    BOTH,
    NO_PARAMS,
    Incoming,
    RequestAdmission,
    check_era,
    check_notification,
)
from accord.mcp.server.task_runner import Tasks


class Access:
    """The components of one server that a request may use, and their time limits."""

    def __init__(self, runner: HandlerRunner) -> None:
        self._runner = runner
        self._server = runner.server
        self._index = ResourceIndex(runner.server.resources)

    # Lists

    def ready_list(self, member: str, define: Callable[[str, Any], Any]) -> ReadyList:
        return ReadyList(
            member,
            page_size=self._server.page_size,
            ttl_ms=self._server.ttl_ms,
            profile=self._server.codes,
            finish=self._runner.replies.finish_list,
            define=define,
        )

    def page(
        self,
        ready: ReadyList,
        registry: ComponentRegistry[T],
        params: ListParams,
        incoming: Incoming,
        *,
        where: Callable[[T], bool] | None = None,
    ) -> Any:
        """Return a page of the components that the client sees.

        With `where`, only the components for which it returns true are listed, such as templates
        among resources. Raises RpcError for an invalid cursor.
        """
        conditional = registry.conditional
        context = self._runner.context(incoming) if conditional else None
        view = View(registry, incoming, context)

        def items() -> list[tuple[int, T]]:
            visible = view.numbered()
            return visible if where is None else [each for each in visible if where(each[1])]

        return ready.page(
            incoming,
            params.cursor,
            version=registry.version,
            last=registry.last_number,
            seen_as=view.key,
            scope=self.cache_scope(incoming, depends=bool(conditional)),
            items=items,
        )

    def sourced_list(self, member: str) -> SourcedList:
        return SourcedList(
            member,
            ttl_ms=self._server.ttl_ms,
            profile=self._server.codes,
            finish=self._runner.replies.finish_list,
        )

    def sourced_page(
        self,
        sourced: SourcedList,
        source: ComponentSource[Any],
        registry: ComponentRegistry[Any],
        params: ListParams,
        incoming: Incoming,
        *,
        where: Callable[[Any], bool] | None = None,
    ) -> Any:
        """Return a page of a list with a source, or a coroutine of the page.

        Only registry components that the client sees are listed. Raises RpcError for an invalid
        cursor.
        """
        conditional = registry.conditional
        view = View(registry, incoming, self._runner.context(incoming) if conditional else None)

        def items() -> list[Any]:
            visible = (each for _, each in view.numbered())
            return [each.definition for each in visible if where is None or where(each)]

        return sourced.page(
            source,
            incoming,
            params.cursor,
            version=registry.version,
            seen_as=view.key,
            scope=self.cache_scope(incoming, depends=bool(conditional)),
            items=items,
        )

    def cache_scope(self, incoming: Incoming, *, depends: bool = False) -> CacheScope:
        """Return the cache scope of a result: private if the result depends on the caller."""
        return "private" if depends or incoming.link.principal is not None else "public"

    # Components

    def is_enabled(self, component: Component, incoming: Incoming) -> bool:
        """Return whether a component is enabled for this request.

        Permissions are checked separately.
        """
        return component.enabled is None or component.enabled(self._runner.context(incoming))

    def check_permission(self, component: RestrictedComponent, incoming: Incoming) -> None:
        """Raise RpcError if the request's principal may not use a component."""
        principal = incoming.link.principal
        if is_permitted(component, principal):
            return
        scopes = component.scopes
        missing = scopes - (principal.scopes if principal is not None else frozenset())
        raise failure(
            "insufficient_permissions",
            "This needs permissions that the caller does not have",
            era=incoming.era,
            profile=self._server.codes,
            # All needed scopes, so that a client can request them at once. Empty if further
            # scopes would not help.
            **({"scopes": sorted(scopes)} if missing else {}),
        )

    def find_resource(self, uri: str, incoming: Incoming) -> tuple[ServedResource, dict[str, Any]]:
        """Return the resource for `uri`, and the values of its template's variables.

        Raises RpcError if there is no such resource, or the client may not read it.
        """
        found = self._index.find(uri)
        if found is None or not self.is_enabled(found[0], incoming):
            raise self.resource_not_found(uri, incoming)
        self.check_permission(found[0], incoming)
        return found

    def resource_not_found(self, uri: str, incoming: Incoming) -> RpcError:
        return failure(
            "resource_not_found",
            "Resource not found",
            era=incoming.era,
            profile=self._server.codes,
            uri=uri[:2_000],
        )

    def supported(self, wanted: SubscriptionFilter, incoming: Incoming) -> SubscriptionFilter:
        """Return the part of a `subscriptions/listen` filter that the server supports.

        These are the changes of lists that the server has, and of resources that the client may
        read.
        """
        server = self._server
        uris = wanted.resource_subscriptions[: server.limits.max_subscriptions]
        return replace(
            wanted,
            tools_list_changed=wanted.tools_list_changed and server.tools.is_used,
            prompts_list_changed=wanted.prompts_list_changed and server.has_prompts,
            resources_list_changed=wanted.resources_list_changed and server.has_resources,
            resource_subscriptions=[uri for uri in uris if self._watched(uri, incoming)],
        )

    def _watched(self, uri: str, incoming: Incoming) -> bool:
        """Start watching the resource at `uri` if the client may see it.

        Return whether the client may see the resource.
        """
        found = self._index.find(uri)
        if found is None or not is_visible(found[0], incoming, self._runner.context(incoming)):
            return False
        found[0].watch(uri)
        return True

    # Time

    def seconds_for(self, timeout: float | None | UnsetType) -> float | None:
        """Return the time limit in seconds that the server applies to a handler.

        Return None for a handler with its own `timeout`, which it applies itself, and for a server
        without a limit.
        """
        return self._server.limits.call_seconds if timeout is UNSET else None

    def too_late(self, what: str, incoming: Incoming) -> Callable[[float], NoReturn]:
        """Return a function to call if a handler times out, which raises RpcError.

        The function takes the time limit in seconds; `what` names the handler in the message.
        """

        def raise_it(seconds: float) -> NoReturn:
            raise failure(
                "timeout",
                f"{what} took longer than {seconds:g} s",
                era=incoming.era,
                profile=self._server.codes,
            )

        return raise_it


HANDSHAKE: Final = (Era.HANDSHAKE,)
STATELESS: Final = (Era.STATELESS,)


class MethodRow(Struct, frozen=True):
    """A method of the protocol: the type of its params, its function and its eras."""

    kind: type[Params]
    serve: Callable[[Any, Incoming], Any]
    eras: tuple[Era, ...] = BOTH
    result: type[Result] = Result
    """The type of the method's results, with which middleware can inspect encoded results."""


class MethodTable(Struct, frozen=True):
    """The methods and notifications of the protocol, by name."""

    methods: Mapping[str, MethodRow]
    notifications: Mapping[str, Plan]


class Core:
    """The methods of one server, as a router that any transport can serve.

    `table` returns the methods; it may use the runner, the access and the tasks of this core.
    """

    def __init__(self, server: ServerState, table: Callable[[Core], MethodTable]) -> None:
        self.server = server
        self.runner = HandlerRunner(server)
        self.access = Access(self.runner)
        self.tasks = Tasks(self.runner)
        self.readers: dict[str, Callable[[Any], Params]] = {}
        """Decoders of raw params, by method, for transports that inspect params before a request is
        served. Call `check_members` before the decoder. A decoder raises `REFUSALS` for invalid
        params (both names are in `accord.jsonrpc.methods.param_values`). The decoded params may be
        served in place of the raw ones."""
        self._admission = RequestAdmission(server.codes)
        self.router = Router(request_errors=self._admission.request_error)
        served = table(self)
        for name, row in served.methods.items():
            self.router.put(raw_method(self._plan(name, row), name))
        for name, handle in served.notifications.items():
            self.router.put(raw_method(_notification_plan(handle), name))

    def _plan(self, name: str, row: MethodRow) -> Plan:
        read_refused, admit = self._admission.read_refused, self._admission.admit
        kind, serve = row.kind, row.serve
        guards, has_middleware = self.server.guards, self.server.middlewares
        decode = self.readers[name] = msgspec.json.Decoder(kind).decode
        gate = _MethodGate(name, row.eras, self.server)

        # One function, not one per step: each step would cost every request a call.
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
                    found = read_refused(kind, data, context, gate.check)
            incoming = admit(found.meta, context)
            if not gate.is_open:
                gate.check(incoming)
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
        """Serve a request after all awaitables of its guards have completed."""
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
            typed = msgspec.json.decode(result, type=row.result)
            ready[id(typed)] = typed, result
            return typed

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


class _MethodGate:
    """The check that a method is served in the request's era and by this server."""

    __slots__ = ("_eras", "_feature", "_is_there", "_name", "_server", "is_open")

    def __init__(self, name: str, eras: tuple[Era, ...], server: ServerState) -> None:
        self._name = name
        self._eras = eras
        self._server = server
        self._feature = feature_of(name)
        self._is_there = self._feature is None
        self.is_open = self._is_there and eras is BOTH
        """True if the method is served for every request, so that `check` need not be called."""

    def check(self, incoming: Incoming) -> None:
        """Raise RpcError unless the method is served in the request's era and by this server."""
        if self._eras is not BOTH:
            check_era(incoming, self._eras)
        if not self._is_there:
            feature = self._feature
            # A feature stays served once it existed: a client may still know its components.
            self._is_there = feature is not None and self._server.has(feature)
            if not self._is_there:
                raise failure(
                    "method_not_supported",
                    f"Method not found: {self._name}: the server does not declare {feature}",
                    era=incoming.era,
                    profile=self._server.codes,
                    method=self._name,
                    capability=feature,
                )
        self.is_open = self._eras is BOTH


class ServableServer(ServerState, Protocol):
    """A server as transports serve it: its state and its methods."""

    @property
    def core(self) -> Core: ...
    @property
    def router(self) -> Router: ...


def _notification_plan(handle: Plan) -> Plan:
    """Return the plan of a notification, which the router calls to serve it.

    A request with the name of the notification gets the error "method not found".
    """

    def plan(params: Any, context: RpcContext | None) -> Any:
        if context is not None and context.id is not UNSET:
            message = f"Method not found: {context.method} is a notification"
            raise own_error("method_not_found", message, method=context.method)
        check_notification(params)
        return handle(params, context)

    return plan
