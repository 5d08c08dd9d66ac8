"""`resources/…`: lists, templates, reading, and the subscriptions of the handshake era."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from accord.jsonrpc.call_plan import Plan
from accord.jsonrpc.errors import RpcError
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.content import ResourceContents
from accord.mcp.protocol.definitions import Resource, ResourceTemplate
from accord.mcp.protocol.params import ListParams, ReadResourceParams, ResourceParams
from accord.mcp.protocol.results import ReadResourceResult, Result
from accord.mcp.protocol.versions import Era
from accord.mcp.server.core import HANDSHAKE, Row
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.resource import ServedResource
from accord.mcp.server.versions_seen import definition_in

if TYPE_CHECKING:
    from accord.mcp.server.core import Core


def methods(core: Core) -> dict[str, Row]:
    resources = _Resources(core)
    return {
        "resources/list": Row(ListParams, resources.list_resources),
        "resources/templates/list": Row(ListParams, resources.list_templates),
        "resources/read": Row(ReadResourceParams, resources.read),
        "resources/subscribe": Row(ResourceParams, resources.subscribe, HANDSHAKE),
        "resources/unsubscribe": Row(ResourceParams, resources.unsubscribe, HANDSHAKE),
    }


def notifications(core: Core) -> dict[str, Plan]:
    return {}


class _Resources:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._server = core.server
        self._resources = core.server.resources
        self._list = core.server.ready_list("resources", core.replies)
        self._templates = core.server.ready_list("resourceTemplates", core.replies)

    def list_resources(self, params: ListParams, incoming: Incoming) -> Any:
        view = self._server.view(self._resources, incoming)
        return self._list.page(
            incoming,
            params.cursor,
            version=self._resources.version,
            seen_as=view.key,
            scope=self._server.cache_scope(),
            items=lambda: [
                definition_in(incoming.version, it.definition)
                for it in view.components()
                if isinstance(it.definition, Resource)
            ],
        )

    def list_templates(self, params: ListParams, incoming: Incoming) -> Any:
        view = self._server.view(self._resources, incoming)
        return self._templates.page(
            incoming,
            params.cursor,
            version=self._resources.version,
            seen_as=view.key,
            scope=self._server.cache_scope(),
            items=lambda: [
                definition_in(incoming.version, it.definition)
                for it in view.components()
                if isinstance(it.definition, ResourceTemplate)
            ],
        )

    def read(self, params: ReadResourceParams, incoming: Incoming) -> Any:
        resource, variables = self._find(params.uri, incoming)
        self._server.check_scopes(resource.scopes, incoming)
        context = self._core.context(incoming, params)
        contents = resource.read(params.uri, variables, context)
        if isawaitable(contents):
            return self._core.answer(
                contents, context, incoming, lambda it: self._result(it, resource, incoming)
            )
        return self._result(contents, resource, incoming)

    def _result(
        self, contents: list[ResourceContents], resource: ServedResource, incoming: Incoming
    ) -> Any:
        stateless = incoming.era is Era.STATELESS
        result = ReadResourceResult(
            contents=contents,
            ttl_ms=resource.ttl_ms if stateless else UNSET,
            cache_scope=self._server.cache_scope() if stateless else UNSET,
        )
        return self._core.replies.finish(result, incoming)

    def _find(self, uri: str, incoming: Incoming) -> tuple[ServedResource, dict[str, Any]]:
        found = self._resources.get(uri)
        if found is not None and found.template is None:
            return found, {}
        for resource in self._resources:
            variables = resource.match(uri)
            if variables is not None:
                return resource, variables
        raise self.not_found(uri, incoming)

    def not_found(self, uri: str, incoming: Incoming) -> RpcError:
        return failure(
            "resource_not_found",
            "Resource not found",
            era=incoming.era,
            profile=self._server.codes,
            uri=uri[:2_000],
        )

    def subscribe(self, params: ResourceParams, incoming: Incoming) -> Result:
        self._find(params.uri, incoming)
        assert incoming.link.session is not None
        incoming.link.session.subscriptions.add(params.uri)
        return Result()

    def unsubscribe(self, params: ResourceParams, incoming: Incoming) -> Result:
        assert incoming.link.session is not None
        incoming.link.session.subscriptions.discard(params.uri)
        return Result()
