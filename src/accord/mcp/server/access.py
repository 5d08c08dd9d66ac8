"""A client's access to a server: visible components, pages of lists, call limits.

Results get their cache scope here too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp.protocol.messages import CacheScope, ListParams, SubscriptionFilter, failure
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
from accord.mcp.server.incoming import Incoming


class Access:
    """The components of one server, by request."""

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

        `where` selects a part of the registry. Raises RpcError for an invalid cursor.
        """
        conditional = registry.conditional
        context = self._runner.context(incoming) if conditional else None
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
        """Return a page of a registry followed by a source, or its coroutine.

        Only components that the client sees are listed. Raises RpcError for an invalid cursor.
        """
        conditional = registry.conditional
        view = View(registry, incoming, self._runner.context(incoming) if conditional else None)

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
        """Return the cache scope: private if anything depends on the caller."""
        return "private" if depends or incoming.link.principal is not None else "public"

    # Components

    def is_enabled(self, component: Component, incoming: Incoming) -> bool:
        """Return whether a component exists for this request.

        Permissions are checked separately.
        """
        return component.enabled is None or component.enabled(self._runner.context(incoming))

    def check_permission(self, component: RestrictedComponent, incoming: Incoming) -> None:
        """Raise RpcError if the principal may not use a component."""
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
        """Return the resource at `uri` and the variables of its template.

        Raises RpcError if there is none, or the client may not read it.
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
        """Return the part of a subscription that is honoured.

        It has the lists that exist, and the resources that the client may read.
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
        """Watch the resource at `uri` and return True if the client may see it."""
        found = self._index.find(uri)
        if found is None or not is_visible(found[0], incoming, self._runner.context(incoming)):
            return False
        found[0].watch(uri)
        return True

    # Time

    def seconds_for(self, timeout: float | None | UnsetType) -> float | None:
        """Return a handler's time limit; None if it has a timeout of its own."""
        return self._server.limits.call_seconds if timeout is UNSET else None

    def too_late(self, what: str, incoming: Incoming) -> Callable[[float], NoReturn]:
        """Return a function that raises RpcError for a handler that timed out."""

        def raise_it(seconds: float) -> NoReturn:
            raise failure(
                "timeout",
                f"{what} took longer than {seconds:g} s",
                era=incoming.era,
                profile=self._server.codes,
            )

        return raise_it
