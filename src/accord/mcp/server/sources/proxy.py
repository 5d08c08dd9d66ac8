"""A server with the components of another server, at any address and of any version.

The lists are fetched when the proxy starts, and updated when the upstream server announces changes.
Calls are forwarded with their progress, log messages, questions and cancellation. Only configured
headers of the caller are forwarded, and never the caller's credentials.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar, Unpack

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.protocol.errors import AccordError, InvalidResultError, TransportError
from accord.mcp.client.auth_hook import Auth, StaticAuth
from accord.mcp.client.client import Client
from accord.mcp.client.connection import Target
from accord.mcp.protocol.content import ResourceContents
from accord.mcp.protocol.definitions import Prompt, Resource, ResourceTemplate, Tool
from accord.mcp.protocol.messages import (
    CallToolResult,
    CompleteParams,
    Completion,
    GetPromptResult,
    Profile,
    ProgressParams,
    PromptReference,
    ResourceReference,
)
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.content import error_result
from accord.mcp.server.components.handler import Completions
from accord.mcp.server.components.prompts import ServedPrompt
from accord.mcp.server.components.registry import ComponentRegistry
from accord.mcp.server.components.resources import ServedResource
from accord.mcp.server.components.tools import ServedTool
from accord.mcp.server.context import Context
from accord.mcp.server.listeners import updated
from accord.mcp.server.options import ProxyOptions
from accord.mcp.server.server_state import ServerState
from accord.mcp.server.sources.upstream import ForwardedHeaders, ForwardedInputRequests, Upstream
from accord.transports.options import check_options

log = logging.getLogger("accord.mcp")

T = TypeVar("T", ServedTool, ServedResource, ServedPrompt)

MAX_WATCHED: Final = 1_000
"""The maximum number of upstream resources that are watched for new contents."""


class Proxy:
    """A proxy, which mirrors the components of an upstream server while it runs."""

    def __init__(
        self,
        target: Target | Client,
        *,
        forward: Iterable[str] = (),
        auth: Auth | str | None = None,
        per_session: bool | None = None,
        **options: Unpack[ProxyOptions],
    ) -> None:
        check_options(type(self), options, ProxyOptions.__annotations__)
        self.server: ServerState
        """The server that the upstream components are added to."""
        self._watched: set[str] = set()
        self._watching: set[asyncio.Task[None]] = set()
        if isinstance(target, Client):
            self.upstream = Upstream(lambda _asks: target, per_session=False)
            return
        own = per_session if per_session is not None else not _is_program(target)
        credentials = StaticAuth.bearer(auth) if isinstance(auth, str) else auth
        forwarding = ForwardedHeaders(forward, credentials)
        options.setdefault("timeout", None)

        def make(asks: ForwardedInputRequests) -> Client:
            return Client(
                target,
                name="accord-proxy",
                auth=forwarding,
                elicitation=asks.elicit,
                sampling=asks.sample,
                sampling_tools=True,
                roots=asks.roots,
                logging=asks.log,
                **options,
            )

        self.upstream = Upstream(make, per_session=own)

    @asynccontextmanager
    async def lifespan(self, server: ServerState) -> AsyncIterator[None]:
        """Connect, add the upstream components to `server`, and follow changes."""
        self.server = server
        async with self.upstream.open() as client:
            await self._fill(client)
            following = asyncio.create_task(self._follow(client))
            try:
                yield
            finally:
                tasks = (following, *self._watching)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                self._watched.clear()

    # Lists

    async def _fill(self, client: Client) -> None:
        await self._fill_tools(client)
        await self._fill_prompts(client)
        await self._fill_resources(client)
        if not self.server.instructions:
            self.server.instructions = client.instructions

    async def _fill_tools(self, client: Client) -> None:
        if client.capabilities.tools is not None:
            found = {each.name: each for each in await client.list_tools()}
            _update(self.server.tools, found, lambda each: ProxiedTool(each, self.upstream))

    async def _fill_prompts(self, client: Client) -> None:
        if client.capabilities.prompts is not None:
            found = {each.name: each for each in await client.list_prompts()}
            _update(self.server.prompts, found, lambda each: ProxiedPrompt(each, self.upstream))

    async def _fill_resources(self, client: Client) -> None:
        if client.capabilities.resources is None:
            return
        found: dict[str, Resource | ResourceTemplate] = {}
        for resource in await client.list_resources():
            found[resource.uri] = resource
        for template in await client.list_resource_templates():
            found[template.uri_template] = template
        _update(self.server.resources, found, lambda each: ProxiedResource(each, self))

    async def _follow(self, client: Client) -> None:
        """Fetch lists again whenever the upstream server reports that they have changed."""
        fill = {
            "tools": self._fill_tools,
            "prompts": self._fill_prompts,
            "resources": self._fill_resources,
        }
        try:
            async with client.listen(tools=True, prompts=True, resources=True) as changes:
                async for change in changes:
                    await fill[change.kind](client)
        except AccordError as error:
            log.warning("the proxy does not hear of changes any more: %s", error)

    # New contents

    def watch(self, uri: str) -> None:
        """Subscribe upstream to new contents of a resource, unless already subscribed."""
        if uri in self._watched or len(self._watched) >= MAX_WATCHED:
            return
        self._watched.add(uri)
        task = asyncio.get_running_loop().create_task(self._watch(uri))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def _watch(self, uri: str) -> None:
        try:
            async with self.upstream.main.listen(resources=[uri]) as changes:
                async for change in changes:
                    self.server.listeners.tell(updated(change.uri or uri))
        except AccordError as error:
            log.warning("the proxy does not hear of new contents: %s", error)
        finally:
            self._watched.discard(uri)


class ProxiedTool(ServedTool):
    """A tool of the upstream server, called through the proxy."""

    __slots__ = ("_upstream",)

    def __init__(self, definition: Tool, upstream: Upstream) -> None:
        super().__init__(msgspec.structs.replace(definition, execution=None))
        self._upstream = upstream

    def output_schema(self, era: Era) -> dict[str, Any] | None:
        schema = self.definition.output_schema
        if schema is None or era is Era.STATELESS or schema.get("type") == "object":
            return schema
        # Up to 2025-11-25 structured content is an object.
        return {"type": "object", "properties": {"result": schema}, "required": ["result"]}

    async def call(
        self,
        arguments: Raw | UnsetType,
        context: Context,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult:
        values = {} if arguments is UNSET else msgspec.json.decode(arguments)

        async def ask(client: Client) -> CallToolResult:
            result = await client.call_tool(
                self.definition.name, values, progress=_progress(context)
            )
            return CallToolResult(
                content=result.content,
                structured_content=result.structured if result.has_structured else UNSET,
                is_error=result.is_error,
                meta=result.meta,
            )

        try:
            return await self._upstream.call(context, ask)
        except (TransportError, InvalidResultError) as error:
            return _unreachable(self.definition.name, error)


class ProxiedResource(ServedResource):
    """A resource or template of the upstream server, read through the proxy."""

    __slots__ = ("_proxy",)

    def __init__(self, definition: Resource | ResourceTemplate, proxy: Proxy) -> None:
        super().__init__(definition)
        self._proxy = proxy

    async def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents]:
        async def ask(client: Client) -> list[ResourceContents]:
            result = await client.read_resource(uri, progress=_progress(context))
            return result.contents

        return await self._proxy.upstream.call(context, ask)

    def watch(self, uri: str) -> None:
        self._proxy.watch(uri)

    @property
    def completes(self) -> bool:
        return self._proxy.upstream.completes

    async def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        return await _complete(self._proxy.upstream, params, context)


class ProxiedPrompt(ServedPrompt):
    """A prompt of the upstream server, fetched through the proxy."""

    __slots__ = ("_upstream",)

    def __init__(self, definition: Prompt, upstream: Upstream) -> None:
        super().__init__(definition)
        self._upstream = upstream

    async def get(self, arguments: Mapping[str, str], context: Context) -> GetPromptResult:
        async def ask(client: Client) -> GetPromptResult:
            return await client.get_prompt(
                self.definition.name, arguments, progress=_progress(context)
            )

        return await self._upstream.call(context, ask)

    @property
    def completes(self) -> bool:
        return self._upstream.completes

    async def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        return await _complete(self._upstream, params, context)


async def _complete(upstream: Upstream, params: CompleteParams, context: Context) -> Completion:
    reference = params.ref

    async def ask(client: Client) -> Completion:
        if client.capabilities.completions is None:
            return Completion(values=[])
        return await client.complete(
            argument=params.argument.name,
            value=params.argument.value,
            prompt=reference.name if isinstance(reference, PromptReference) else None,
            resource=reference.uri if isinstance(reference, ResourceReference) else None,
            context=params.context.arguments or None,
        )

    return await upstream.call(context, ask)


def _update(
    registry: ComponentRegistry[T], found: Mapping[str, Any], make: Callable[[Any], T]
) -> None:
    """Make a registry contain exactly `found`, without replacing unchanged components."""
    for name in registry.names():
        if name not in found:
            registry.remove(name)
    for name, definition in found.items():
        known = registry.get(name)
        component = make(definition)
        if known is None or known.definition != component.definition:
            registry.replace(name, component)


def _progress(context: Context) -> Callable[[ProgressParams], Any]:
    return lambda it: context.progress(it.progress, it.total, it.message)


def _unreachable(name: str, error: AccordError) -> CallToolResult:
    log.warning("tool %s of the server behind failed: %s", name, error)
    if isinstance(error, TransportError):
        return error_result("The server behind this tool cannot be reached.")
    return error_result("The server behind this tool gave a result that makes no sense.")


def _is_program(target: Target) -> bool:
    """Return whether the target is a command, which starts a process per connection."""
    if isinstance(target, str):
        return target.startswith("stdio:")
    return isinstance(target, Sequence)
