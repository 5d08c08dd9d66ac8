"""What the client of a request may reach of a server: components it sees, pages of lists,
how long it may take, who may share what it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.errors import RpcError
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.params import ListParams, SubscriptionFilter
from accord.mcp.protocol.results import CacheScope
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.lists import ReadyList
from accord.mcp.server.permission import Restricted, is_permitted
from accord.mcp.server.registry import Component, Registry, T
from accord.mcp.server.resource import ServedResource
from accord.mcp.server.resource_index import ResourceIndex
from accord.mcp.server.sources import Source, SourcedList
from accord.mcp.server.visibility import View, is_visible

if TYPE_CHECKING:
    from accord.mcp.server.core import Core


class Access:
    """The components of one server, by request."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._server = core.server
        self._index = ResourceIndex(core.server.resources)

    # Lists

    def ready_list(self, member: str, define: Callable[[str, Any], Any]) -> ReadyList:
        return ReadyList(
            member,
            page_size=self._server.page_size,
            ttl_ms=self._server.ttl_ms,
            profile=self._server.codes,
            finish=self._core.replies.finish_list,
            define=define,
        )

    def page(
        self,
        ready: ReadyList,
        registry: Registry[T],
        params: ListParams,
        incoming: Incoming,
        *,
        where: Callable[[T], bool] | None = None,
    ) -> Any:
        """A page of what the client sees of a registry, or of the part of it that `where` says.
        Raises RpcError for a cursor that is none."""
        conditional = registry.conditional
        context = self._core.context(incoming) if conditional else None
        view = View(registry, incoming, context)

        def items() -> list[tuple[int, T]]:
            seen = view.numbered()
            return seen if where is None else [each for each in seen if where(each[1])]

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
            finish=self._core.replies.finish_list,
        )

    def sourced_page(
        self,
        sourced: SourcedList,
        source: Source[Any],
        registry: Registry[Any],
        params: ListParams,
        incoming: Incoming,
        *,
        where: Callable[[Any], bool] | None = None,
    ) -> Any:
        """A page of what the client sees of a registry, and behind it of a source, or a coroutine
        of it. Raises RpcError for a cursor that is none."""
        conditional = registry.conditional
        view = View(registry, incoming, self._core.context(incoming) if conditional else None)

        def items() -> list[Any]:
            seen = (each for _, each in view.numbered())
            return [each.definition for each in seen if where is None or where(each)]

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
        """Who may share what was cached: nobody, once anything depends on the caller."""
        return "private" if depends or incoming.link.principal is not None else "public"

    # Components

    def is_enabled(self, component: Component, incoming: Incoming) -> bool:
        """Whether a component is there for this request; who may use it is another
        question."""
        return component.enabled is None or component.enabled(self._core.context(incoming))

    def check_permission(self, component: Restricted, incoming: Incoming) -> None:
        """Raises RpcError if the principal of a request may not use a component."""
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
            # All that are needed, so that a client need ask for more only once; none if more
            # of them would not help.
            **({"scopes": sorted(scopes)} if missing else {}),
        )

    def find_resource(self, uri: str, incoming: Incoming) -> tuple[ServedResource, dict[str, Any]]:
        """The resource at `uri` and the variables of its template. Raises RpcError if there is
        none, or the client may not read it."""
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
        """The part of a subscription that is honoured: lists that there are, and resources that
        the client may read."""
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
        """Whether the client may hear of the resource at `uri`; if so, it is watched."""
        found = self._index.find(uri)
        if found is None or not is_visible(found[0], incoming, self._core.context(incoming)):
            return False
        found[0].watch(uri)
        return True

    # Time

    def seconds_for(self, timeout: float | None | UnsetType) -> float | None:
        """How long a handler may take; None where it keeps its own time."""
        return self._server.limits.call_seconds if timeout is UNSET else None

    def too_late(self, what: str, incoming: Incoming) -> Callable[[float], NoReturn]:
        """What is done about a handler that has taken too long: it raises RpcError."""

        def raise_it(seconds: float) -> NoReturn:
            raise failure(
                "timeout",
                f"{what} took longer than {seconds:g} s",
                era=incoming.era,
                profile=self._server.codes,
            )

        return raise_it
