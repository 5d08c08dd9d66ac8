"""`resources/…`: lists, templates, reading, subscriptions of the handshake era."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

from msgspec import UNSET

from accord.mcp.protocol.content import ResourceContents
from accord.mcp.protocol.messages import (
    ListParams,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceParams,
    ReadResourceResult,
    ResourceParams,
    Result,
    failure,
)
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.lists import definition_in
from accord.mcp.server.components.resources import ResourceNotFoundError, ServedResource
from accord.mcp.server.context import Context
from accord.mcp.server.core import HANDSHAKE, Core, MethodRow
from accord.mcp.server.incoming import Incoming


def resource_methods(core: Core) -> dict[str, MethodRow]:
    resources = _Resources(core)
    return {
        "resources/list": MethodRow(
            ListParams, resources.list_resources, result=ListResourcesResult
        ),
        "resources/templates/list": MethodRow(
            ListParams, resources.list_templates, result=ListResourceTemplatesResult
        ),
        "resources/read": MethodRow(ReadResourceParams, resources.read),
        "resources/subscribe": MethodRow(ResourceParams, resources.subscribe, HANDSHAKE),
        "resources/unsubscribe": MethodRow(ResourceParams, resources.unsubscribe, HANDSHAKE),
    }


class _Resources:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access
        self._resources = core.server.resources
        self._list = core.access.ready_list("resources", definition_in)
        self._sourced = core.access.sourced_list("resources")
        self._templates = core.access.ready_list("resourceTemplates", definition_in)

    def list_resources(self, params: ListParams, incoming: Incoming) -> Any:
        source = self._server.resource_source
        if source is not None:
            return self._access.sourced_page(
                self._sourced, source, self._resources, params, incoming, where=_is_one
            )
        return self._access.page(self._list, self._resources, params, incoming, where=_is_one)

    def list_templates(self, params: ListParams, incoming: Incoming) -> Any:
        return self._access.page(
            self._templates, self._resources, params, incoming, where=_is_template
        )

    async def read(self, params: ReadResourceParams, incoming: Incoming) -> Any:
        resource, variables = self._access.find_resource(params.uri, incoming)
        context = self._runner.context(incoming, params)
        return await self._runner.answer(
            self._contents(resource, params.uri, variables, context, incoming),
            context,
            incoming,
            lambda contents: self._result(contents, resource, incoming),
        )

    async def _contents(
        self,
        resource: ServedResource,
        uri: str,
        variables: dict[str, Any],
        context: Context,
        incoming: Incoming,
    ) -> list[ResourceContents]:
        try:
            contents = resource.read(uri, variables, context)
            if not isawaitable(contents):
                return contents
            late = self._access.too_late("the resource", incoming)
            seconds = self._access.seconds_for(resource.timeout)
            return await self._runner.deadlines.keep(contents, seconds, late, context.is_asking)
        except ResourceNotFoundError:
            raise self._access.resource_not_found(uri, incoming) from None
        except Exception as error:
            named = None
            if resource.template is not None:
                named = self._runner.unforeseen(error, "template_render_failed", incoming)
            if named is None:
                raise
            raise named from error

    def _result(
        self, contents: list[ResourceContents], resource: ServedResource, incoming: Incoming
    ) -> Any:
        stateless = incoming.era is Era.STATELESS
        depends = bool(resource.scopes or resource.allow or resource.enabled)
        result = ReadResourceResult(
            contents=contents,
            ttl_ms=resource.ttl_ms if stateless else UNSET,
            cache_scope=self._access.cache_scope(incoming, depends=depends) if stateless else UNSET,
        )
        return self._runner.replies.finish(result, incoming)

    def subscribe(self, params: ResourceParams, incoming: Incoming) -> Result:
        resource, _ = self._access.find_resource(params.uri, incoming)
        assert incoming.link.session is not None
        subscriptions = incoming.link.session.subscriptions
        most = self._server.limits.max_subscriptions
        if len(subscriptions) >= most and params.uri not in subscriptions:
            raise failure(
                "subscription_failed",
                f"The session has {most:,} subscriptions, the limit",
                era=incoming.era,
                profile=self._server.codes,
                limit=most,
            )
        subscriptions.add(params.uri)
        resource.watch(params.uri)
        return Result()

    def unsubscribe(self, params: ResourceParams, incoming: Incoming) -> Result:
        assert incoming.link.session is not None
        incoming.link.session.subscriptions.discard(params.uri)
        return Result()


def _is_one(resource: ServedResource) -> bool:
    return resource.template is None


def _is_template(resource: ServedResource) -> bool:
    return resource.template is not None
