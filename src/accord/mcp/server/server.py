"""`Server`: what an application offers to assistants, written once for every version.

    server = Server("weather", version="1.0")

    @server.tool
    async def forecast(city: str, days: int = 3) -> Forecast: ...

Knows its components and who listens for their changes. Does not know transports.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, overload

from msgspec.structs import replace

from accord.jsonrpc.router import Router
from accord.mcp.protocol.capabilities import (
    ListFeature,
    ResourcesFeature,
    ServerCapabilities,
)
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.content import Icon
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.params import SubscriptionFilter
from accord.mcp.protocol.results import CacheScope
from accord.mcp.protocol.tasks import EXTENSION
from accord.mcp.protocol.versions import V2025_11_25, Era, era
from accord.mcp.server.asker import Asker
from accord.mcp.server.closing import Closing
from accord.mcp.server.completions import Completions
from accord.mcp.server.core import Core
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.listeners import (
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
    Listeners,
    updated,
)
from accord.mcp.server.lists import ReadyList
from accord.mcp.server.prompt import ServedPrompt
from accord.mcp.server.registry import Registry
from accord.mcp.server.replies import Replies
from accord.mcp.server.resource import ServedResource
from accord.mcp.server.tasks.settings import TaskSettings
from accord.mcp.server.tool import ServedTool
from accord.mcp.server.visibility import S, View

if TYPE_CHECKING:
    from accord.mcp.server.serving import serve
    from accord.transports.web.asgi import WebAsgi

TASKS: Final[dict[str, Any]] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
"""What a server of 2025-11-25 whose tools may run as tasks can do with them."""

F = TypeVar("F", bound=Callable[..., Any])

Instructions: TypeAlias = str | Callable[[], str | Awaitable[str]]


class Server:
    """Tools, resources and prompts under one name."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str = "",
        description: str = "",
        website_url: str = "",
        icons: tuple[Icon, ...] = (),
        instructions: Instructions = "",
        page_size: int = 100,
        ttl_ms: int = 0,
        codes: Profile = "standard",
        strict_versions: bool = False,
        ask_timeout: float | None = None,
        state_keys: Sequence[bytes] = (),
        state_seconds: float = 3600.0,
        tasks: TaskSettings | None = None,
    ) -> None:
        self.info = Implementation(
            name=name,
            version=version,
            title=title,
            description=description,
            website_url=website_url,
            icons=icons,
        )
        self.instructions = instructions
        """What a model should know about this server, or what gives it when it is asked for."""
        self.ttl_ms = ttl_ms
        self.codes: Profile = codes
        self.strict_versions = strict_versions
        self.tools: Registry[ServedTool] = Registry("tool")
        self.resources: Registry[ServedResource] = Registry("resource")
        self.prompts: Registry[ServedPrompt] = Registry("prompt")
        self.completions = Completions()
        self.listeners = Listeners()
        self.closing = Closing()
        """Set when the server ends: streams that stay open end with it."""
        self.asker = Asker(
            profile=codes,
            timeout=ask_timeout,
            state_keys=state_keys,
            state_seconds=state_seconds,
        )
        """How handlers ask their clients. `state_keys` seal what a client brings back with its
        answers: all workers that serve the same clients need the same."""
        self.task_settings = TaskSettings() if tasks is None else tasks
        self.lifespan_value: Any = None
        self.page_size = page_size
        self.tools.observers.append(lambda: self.listeners.tell(TOOLS_CHANGED))
        self.resources.observers.append(lambda: self.listeners.tell(RESOURCES_CHANGED))
        self.prompts.observers.append(lambda: self.listeners.tell(PROMPTS_CHANGED))

    # Declaring

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, name: str | None = None, /, **options: Any) -> Callable[[F], F]: ...

    def tool(self, name: Any = None, /, **options: Any) -> Any:
        """Declare a function as a tool; a decorator, bare or with the options of `ServedTool`."""
        if callable(name):
            self.add_tool(name)
            return name

        def decorate(function: F) -> F:
            self.add_tool(function, name=name, **options)
            return function

        return decorate

    def add_tool(self, function: Callable[..., Any], **options: Any) -> ServedTool:
        tool = ServedTool(function, **options)
        self.tools.add(tool.definition.name, tool)
        return tool

    def resource(self, uri: str, /, **options: Any) -> Callable[[F], F]:
        """Declare a function as the resource at `uri`, or at all URIs of a template."""

        def decorate(function: F) -> F:
            self.resources.add(uri, ServedResource(uri, function, **options))
            return function

        return decorate

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, name: str | None = None, /, **options: Any) -> Callable[[F], F]: ...

    def prompt(self, name: Any = None, /, **options: Any) -> Any:
        """Declare a function as a prompt; a decorator, bare or with the options of
        `ServedPrompt`."""
        if callable(name):
            prompt = ServedPrompt(name)
            self.prompts.add(prompt.definition.name, prompt)
            return name

        def decorate(function: F) -> F:
            prompt = ServedPrompt(function, name=name, **options)
            self.prompts.add(prompt.definition.name, prompt)
            return function

        return decorate

    @overload
    def completion(self, function: F, /) -> F: ...
    @overload
    def completion(self, of: str = "", argument: str = "") -> Callable[[F], F]: ...

    def completion(self, of: Any = "", argument: str = "") -> Any:
        """Declare a function that completes arguments: all, or one of a prompt or template."""
        if callable(of):
            self.completions.add(of)
            return of

        def decorate(function: F) -> F:
            self.completions.add(function, of=of, argument=argument)
            return function

        return decorate

    # What clients are told

    def resource_updated(self, uri: str) -> None:
        """Tell everyone who subscribed that the resource at `uri` has new contents."""
        self.listeners.tell(updated(uri))

    def elicitation_completed(self, id: str) -> None:
        """Tell the client that asked its user to open a page (`context.elicit_url(…, id=id)`)
        that the user is done there."""
        self.asker.elicitations.complete(id)

    def capabilities(self, version: str) -> ServerCapabilities:
        """What this server can do, in the words of `version`."""
        return ServerCapabilities(
            tools=ListFeature(list_changed=True) if len(self.tools) else None,
            resources=ResourcesFeature(subscribe=True, list_changed=True)
            if len(self.resources)
            else None,
            prompts=ListFeature(list_changed=True) if len(self.prompts) else None,
            completions={} if len(self.completions) else None,
            logging={},
            tasks=TASKS if self.has_task_tools and version == V2025_11_25 else None,
            extensions={EXTENSION: {}}
            if self.has_task_tools and era(version) is Era.STATELESS
            else None,
        )

    @property
    def has_task_tools(self) -> bool:
        """Whether calls of any tool may be tasks."""
        return any(tool.task_support != "forbidden" for tool in self.tools)

    def supported(self, wanted: SubscriptionFilter) -> SubscriptionFilter:
        """The part of a subscription that this server honours."""
        return replace(
            wanted,
            tools_list_changed=wanted.tools_list_changed and bool(len(self.tools)),
            prompts_list_changed=wanted.prompts_list_changed and bool(len(self.prompts)),
            resources_list_changed=wanted.resources_list_changed and bool(len(self.resources)),
        )

    # Serving

    def serve(self, url: str, **options: Any) -> serve:
        """Serve at `url`: `async with server.serve("http://127.0.0.1:8000/mcp") as serving`."""
        from accord.mcp.server.serving import serve

        return serve(self, url, **options)

    def run(self, url: str = "stdio:", **options: Any) -> None:
        """Serve until a signal or, over stdio, the end of stdin."""
        from accord.mcp.server.serving import run

        run(self, url, **options)

    def asgi(self, path: str = "/", **options: Any) -> WebAsgi:
        """An ASGI application, to be mounted anywhere or served by itself; `options` are
        those of `McpEndpoint`."""
        from accord.mcp.server.http.endpoint import HTTP_LIMITS, McpEndpoint
        from accord.transports.web.asgi import WebAsgi

        limits = options.pop("limits", HTTP_LIMITS)
        return WebAsgi(McpEndpoint(self, limits=limits, **options), path=path, limits=limits)

    # For the methods of the protocol

    @cached_property
    def core(self) -> Core:
        return Core(self)

    @property
    def router(self) -> Router:
        """The methods of the protocol: `accord.serve(server.router, url)` serves them."""
        return self.core.router

    def ready_list(self, member: str, replies: Replies) -> ReadyList:
        return ReadyList(
            member,
            page_size=self.page_size,
            ttl_ms=self.ttl_ms,
            profile=self.codes,
            finish=replies.finish_list,
        )

    def view(self, registry: Registry[S], incoming: Incoming) -> View[S]:
        """The components that the client of a request sees."""
        return View(registry, incoming.link.principal)

    def check_scopes(self, scopes: frozenset[str], incoming: Incoming) -> None:
        """Raises RpcError if the principal of a request lacks one of `scopes`."""
        if not scopes:
            return
        principal = incoming.link.principal
        missing = scopes - (principal.scopes if principal is not None else frozenset())
        if missing:
            raise failure(
                "insufficient_permissions",
                "This needs permissions that the caller does not have",
                era=incoming.era,
                profile=self.codes,
                scopes=sorted(scopes),
            )

    def cache_scope(self) -> CacheScope:
        """Who may share what was cached: nobody, once anything depends on the caller."""
        return "public"
