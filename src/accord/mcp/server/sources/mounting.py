"""Mounting: the components of one server inside another, under a prefix.

    main = Server("main")
    main.mount(weather, prefix="weather")

A mounted component uses the lifespan, the middleware and the completion functions of the mounted
server. Results get prefixed URIs for resources of the mounted server, so that clients can read
them. Components that are added or removed later are added or removed in the outer server too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeVar

from msgspec import Raw, UnsetType
from msgspec.structs import replace

from accord.mcp.protocol.content import EmbeddedResource, ResourceContents, ResourceLink
from accord.mcp.protocol.definitions import Resource
from accord.mcp.protocol.messages import (
    CallToolParams,
    CallToolResult,
    CompleteParams,
    GetPromptParams,
    GetPromptResult,
    Profile,
    PromptReference,
    ReadResourceParams,
    ReadResourceResult,
    ResourceReference,
)
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.handler import Completions
from accord.mcp.server.components.prompts import ServedPrompt
from accord.mcp.server.components.registry import Namespace
from accord.mcp.server.components.resources import ResourceIndex, ServedResource
from accord.mcp.server.components.tools import ServedTool
from accord.mcp.server.context import Context
from accord.mcp.server.listeners import ServerChange, updated
from accord.mcp.server.server_state import Request, ServerState, through

T = TypeVar("T")


class Mount:
    """A server mounted in another server."""

    def __init__(self, inner: ServerState, outer: ServerState, namespace: Namespace) -> None:
        self.server = inner
        self.namespace = namespace
        self._outer = outer
        self._index = ResourceIndex(inner.resources)

    def attach(self) -> None:
        """Include the mounted server's components in the outer server, now and later.

        Raises RegistrationError, without changing anything, if a name is taken.
        """
        inner, outer = self.server, self._outer
        inner.tools.check_room(outer.tools, self._place_tool)
        inner.resources.check_room(outer.resources, self._place_resource)
        inner.prompts.check_room(outer.prompts, self._place_prompt)
        inner.tools.include_in(outer.tools, self._place_tool)
        inner.resources.include_in(outer.resources, self._place_resource)
        inner.prompts.include_in(outer.prompts, self._place_prompt)
        inner.listeners.pass_on(self._hear)

    def _place_tool(self, name: str, tool: ServedTool) -> tuple[str, ServedTool]:
        return self.namespace.name(name), MountedTool(tool, self)

    def _place_resource(self, uri: str, resource: ServedResource) -> tuple[str, ServedResource]:
        return self.namespace.uri(uri), MountedResource(resource, self)

    def _place_prompt(self, name: str, prompt: ServedPrompt) -> tuple[str, ServedPrompt]:
        return self.namespace.name(name), MountedPrompt(prompt, self)

    def _hear(self, change: ServerChange) -> None:
        """Forward a change of a resource's contents to the listeners of the outer server.

        Changes of lists are not forwarded: the outer server's own registries announce them.
        """
        if change.uri:
            self._outer.listeners.tell(updated(self.namespace.uri(change.uri)))

    def outer_uri(self, uri: str) -> str:
        """Return the prefixed URI of a mounted resource; other URIs unchanged."""
        return uri if self._index.find(uri) is None else self.namespace.uri(uri)

    def outer_block(self, block: Any) -> Any:
        """Return content with the URIs by which clients can read mounted resources."""
        if isinstance(block, ResourceLink):
            return replace(block, uri=self.outer_uri(block.uri))
        if isinstance(block, EmbeddedResource):
            return replace(block, resource=self.outer_contents(block.resource))
        return block

    def outer_contents(self, contents: ResourceContents) -> ResourceContents:
        return replace(contents, uri=self.outer_uri(contents.uri))

    async def serve(
        self,
        method: str,
        params: Any,
        context: Context,
        run: Callable[[Any], T | Awaitable[T]],
    ) -> T:
        """Call `run` through the mounted server's middleware, and return the result."""

        async def inner(params: Any) -> T:
            result = run(params)
            return await result if isawaitable(result) else result

        home, context.lifespan = context.lifespan, self.server.lifespan_value
        try:
            middleware = tuple(self.server.middlewares)
            result: T = await through(middleware, Request(method, params, context), inner)
            return result
        finally:
            context.lifespan = home


class MountedTool(ServedTool):
    """A tool of a mounted server, in the outer server."""

    __slots__ = ("_mount", "_tool")

    def __init__(self, tool: ServedTool, mount: Mount) -> None:
        super().__init__(
            replace(tool.definition, name=mount.namespace.name(tool.definition.name)),
            scopes=tool.scopes,
            allow=tool.allow,
            enabled=tool.enabled,
            task=tool.task_support,
            starts_task=tool.starts_task,
        )
        self.timeout = tool.timeout
        self.concurrency = tool.concurrency
        self._tool = tool
        self._mount = mount

    def output_schema(self, era: Era) -> dict[str, Any] | None:
        return self._tool.output_schema(era)

    async def call(
        self,
        arguments: Raw | UnsetType,
        context: Context,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult:
        params = CallToolParams(name=self._tool.definition.name, arguments=arguments)
        result = await self._mount.serve(
            "tools/call",
            params,
            context,
            lambda params: self._tool.call(params.arguments, context, era, profile),
        )
        if all(block.__class__ not in _WITH_URIS for block in result.content):
            return result
        return replace(result, content=[self._mount.outer_block(it) for it in result.content])


_WITH_URIS = (ResourceLink, EmbeddedResource)


class MountedResource(ServedResource):
    """A resource or template of a mounted server, in the outer server."""

    __slots__ = ("_mount", "_resource")

    def __init__(self, resource: ServedResource, mount: Mount) -> None:
        names, inner = mount.namespace, resource.definition
        super().__init__(
            replace(inner, uri=names.uri(inner.uri), name=names.name(inner.name))
            if isinstance(inner, Resource)
            else replace(
                inner, uri_template=names.uri(inner.uri_template), name=names.name(inner.name)
            ),
            scopes=resource.scopes,
            allow=resource.allow,
            enabled=resource.enabled,
            timeout=resource.timeout,
            ttl_ms=resource.ttl_ms,
            choices=resource.choices,
        )
        self._resource = resource
        self._mount = mount

    async def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents]:
        params = ReadResourceParams(uri=self._mount.namespace.inner_uri(uri))
        result: ReadResourceResult = await self._mount.serve(
            "resources/read",
            params,
            context,
            lambda params: self._read(params, variables, context),
        )
        return [self._mount.outer_contents(each) for each in result.contents]

    async def _read(
        self, params: ReadResourceParams, variables: dict[str, Any], context: Context
    ) -> ReadResourceResult:
        contents = self._resource.read(params.uri, variables, context)
        return ReadResourceResult(contents=await contents if isawaitable(contents) else contents)

    def watch(self, uri: str) -> None:
        self._resource.watch(self._mount.namespace.inner_uri(uri))

    @property
    def completes(self) -> bool:
        return self._resource.completes or len(self._mount.server.completions) > 0

    def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        reference = ResourceReference(self._resource.address)
        inner = replace(params, ref=reference)
        return self._resource.complete(inner, context, self._mount.server.completions)


class MountedPrompt(ServedPrompt):
    """A prompt of a mounted server, in the outer server."""

    __slots__ = ("_mount", "_prompt")

    def __init__(self, prompt: ServedPrompt, mount: Mount) -> None:
        super().__init__(
            replace(prompt.definition, name=mount.namespace.name(prompt.definition.name)),
            scopes=prompt.scopes,
            allow=prompt.allow,
            enabled=prompt.enabled,
            timeout=prompt.timeout,
            choices=prompt.choices,
        )
        self._prompt = prompt
        self._mount = mount

    async def get(self, arguments: Mapping[str, str], context: Context) -> GetPromptResult:
        params = GetPromptParams(name=self._prompt.definition.name, arguments=dict(arguments))
        result = await self._mount.serve(
            "prompts/get",
            params,
            context,
            lambda params: self._prompt.get(params.arguments, context),
        )
        messages = [
            replace(each, content=self._mount.outer_block(each.content)) for each in result.messages
        ]
        return replace(result, messages=messages)

    @property
    def completes(self) -> bool:
        return self._prompt.completes or len(self._mount.server.completions) > 0

    def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        inner = replace(params, ref=PromptReference(self._prompt.definition.name))
        return self._prompt.complete(inner, context, self._mount.server.completions)
