"""`Server`: what an application offers to assistants, written once for every version.

    server = Server("weather", version="1.0")

    @server.tool
    async def forecast(city: str, days: int = 3) -> Forecast: ...

Knows its components and who listens for their changes. Does not know transports.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, TypeVar, Unpack, overload

from accord.jsonrpc.router import Router
from accord.mcp.protocol.capabilities import (
    Feature,
    ListFeature,
    ResourcesFeature,
    ServerCapabilities,
)
from accord.mcp.protocol.codes import Profile
from accord.mcp.protocol.content import Icon
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.protocol.tasks import EXTENSION
from accord.mcp.protocol.versions import V2025_11_25, Era, era
from accord.mcp.server.asker import Asker
from accord.mcp.server.closing import Closing
from accord.mcp.server.completions import Completions
from accord.mcp.server.context import Context
from accord.mcp.server.core import Core
from accord.mcp.server.files import file_resource, fixed_resource, folder_resource
from accord.mcp.server.function_prompt import FunctionPrompt
from accord.mcp.server.function_resource import FunctionResource
from accord.mcp.server.function_tool import FunctionTool
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.lifespan import Lifespan
from accord.mcp.server.limits import McpLimits
from accord.mcp.server.listeners import (
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
    Listeners,
    updated,
)
from accord.mcp.server.middleware import Middleware, check_middleware
from accord.mcp.server.mounting import Mount
from accord.mcp.server.namespace import Namespace
from accord.mcp.server.options import (
    McpAsgiOptions,
    McpRunOptions,
    McpServeOptions,
    ProxyOptions,
)
from accord.mcp.server.prompt import PromptOptions, ServedPrompt
from accord.mcp.server.registry import Registry
from accord.mcp.server.resource import ResourceOptions, ServedResource
from accord.mcp.server.sources import PromptSource, ResourceSource
from accord.mcp.server.tasks.settings import TaskSettings
from accord.mcp.server.tool import ServedTool, ToolOptions
from accord.transports.options import check_options

if TYPE_CHECKING:
    from accord.exposure.in_process import InProcessLimits
    from accord.exposure.naming import Naming
    from accord.exposure.selection import Selection
    from accord.mcp.client.auth_hook import Auth
    from accord.mcp.client.client import Client
    from accord.mcp.client.target import Target
    from accord.mcp.server.auth.authenticator import Authenticator
    from accord.mcp.server.auth.verifier import Verifier
    from accord.mcp.server.serving import serve
    from accord.transports.web.asgi import WebAsgi

TASKS: Final[dict[str, Any]] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
"""What a server of 2025-11-25 whose tools may run as tasks can do with them."""

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=Middleware)

Instructions: TypeAlias = (
    str | Callable[[], str | Awaitable[str]] | Callable[[Context], str | Awaitable[str]]
)
Guard: TypeAlias = Callable[[Incoming], Awaitable[None] | None]
"""Looks at a request before it is served, and may raise RpcError. What it has to wait for is
awaited before anything is served."""


class ServerOptions(TypedDict, total=False):
    """What can be said about a server beside its name and version: see `Server`."""

    title: str
    description: str
    website_url: str
    icons: tuple[Icon, ...]
    instructions: Instructions
    lifespan: Callable[[Server], AbstractAsyncContextManager[Any]] | None
    limits: McpLimits | None
    page_size: int
    ttl_ms: int
    codes: Profile
    strict_versions: bool
    ask_timeout: float | None
    state_keys: Sequence[bytes]
    state_seconds: float
    tasks: TaskSettings | None


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
        lifespan: Callable[[Server], AbstractAsyncContextManager[Any]] | None = None,
        limits: McpLimits | None = None,
        page_size: int = 100,
        ttl_ms: int = 0,
        codes: Profile = "standard",
        strict_versions: bool = False,
        ask_timeout: float | None = None,
        state_keys: Sequence[bytes] = (),
        state_seconds: float = 3600.0,
        tasks: TaskSettings | None = None,
        auth: Authenticator | Verifier | None = None,
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
        """What a model should know about this server, or what gives it when it is asked for, for
        everybody or by the context of who asks."""
        self.ttl_ms = ttl_ms
        self.codes: Profile = codes
        self.strict_versions = strict_versions
        self.introduce: Callable[[Implementation], Implementation] = _as_they_say
        """What is kept of how clients of sessions introduce themselves, which may be anything."""
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
        self.auth = auth
        """Who asks callers for their tokens, wherever they can present one
        (`accord.mcp.server.auth`); None where everybody may call."""
        self.task_settings = TaskSettings() if tasks is None else tasks
        self._has_task_tools, self._task_tools_at = False, 0
        self._had_task_tools = False
        self.limits = McpLimits() if limits is None else limits
        self.page_size = page_size
        self.middlewares: list[Middleware] = []
        """What stands around every request, the outermost first."""
        self.guards: list[Guard] = []
        """Each looks at every request that was let in: quick, and cheaper than middleware."""
        self.resource_source: ResourceSource | None = None
        """Lists resources that are in no registry; not those of servers that are mounted."""
        self.prompt_source: PromptSource | None = None
        """Lists and finds prompts that are in no registry."""
        self.lifespan_value: Any = None
        """What the lifespan gave; handlers have it as `context.lifespan`."""
        self._lifespan = Lifespan(partial(self._live, lifespan))
        self._mounted: list[Server] = []
        self.tools.observers.append(lambda: self.listeners.tell(TOOLS_CHANGED))
        self.resources.observers.append(lambda: self.listeners.tell(RESOURCES_CHANGED))
        self.prompts.observers.append(lambda: self.listeners.tell(PROMPTS_CHANGED))

    # Declaring

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, name: str | None = None, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...

    def tool(self, name: Any = None, **options: Unpack[ToolOptions]) -> Any:
        """Declare a function as a tool; a decorator, bare or with a name and options.

        Types and descriptions of its parameters come from their annotations, its description
        from its docstring. A plain function runs in a thread unless it is `inline`. Raises
        `RegistrationError` for what cannot be served, or when the name is taken.
        """
        check_options(self.tool, options, ToolOptions.__annotations__)
        if callable(name):
            self.add_tool(name)
            return name

        def decorate(function: F) -> F:
            self.add_tool(function, name, **options)
            return function

        return decorate

    def add_tool(
        self,
        function: Callable[..., Any] | ServedTool,
        name: str | None = None,
        **options: Unpack[ToolOptions],
    ) -> ServedTool:
        """Declare a function, or a tool that was made elsewhere. `server.tools.remove(name)`
        takes it away again; clients are told of both."""
        if isinstance(function, ServedTool):
            tool = function
        else:
            tool = FunctionTool(function, name, **options)
        self.tools.add(tool.definition.name, tool)
        return tool

    def resource(self, uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Declare a function as the resource at `uri`, or at all URIs of a template, whose
        variables are its parameters."""
        check_options(self.resource, options, ResourceOptions.__annotations__)

        def decorate(function: F) -> F:
            self.add_resource(uri, function, **options)
            return function

        return decorate

    def add_resource(
        self,
        uri: str,
        contents: Callable[..., Any] | str | bytes,
        /,
        **options: Unpack[ResourceOptions],
    ) -> ServedResource:
        """Declare a resource by the function that gives its contents, or by the contents."""
        if callable(contents):
            resource = FunctionResource(uri, contents, **options)
        else:
            resource = fixed_resource(uri, contents, **options)
        self.resources.add(uri, resource)
        return resource

    def add_file(
        self,
        path: str | PathLike[str],
        /,
        uri: str | None = None,
        **options: Unpack[ResourceOptions],
    ) -> ServedResource:
        """Offer a file, at its `file://` URI unless another is given; it is read each time."""
        resource = file_resource(path, uri, **options)
        self.resources.add(resource.address, resource)
        return resource

    def add_folder(
        self, uri: str, path: str | PathLike[str], /, **options: Unpack[ResourceOptions]
    ) -> ServedResource:
        """Offer all files below a folder, by a template with one variable that takes slashes:
        `server.add_folder("docs:///{+path}", "docs")`. Nothing outside can be reached."""
        resource = folder_resource(uri, path, **options)
        self.resources.add(uri, resource)
        return resource

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(
        self, name: str | None = None, **options: Unpack[PromptOptions]
    ) -> Callable[[F], F]: ...

    def prompt(self, name: Any = None, **options: Unpack[PromptOptions]) -> Any:
        """Declare a function as a prompt; a decorator, bare or with a name and options.

        It returns a text, content, messages (`user_message`, `assistant_message`) or a list of
        them.
        """
        check_options(self.prompt, options, PromptOptions.__annotations__)
        if callable(name):
            self.add_prompt(name)
            return name

        def decorate(function: F) -> F:
            self.add_prompt(function, name, **options)
            return function

        return decorate

    def add_prompt(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        **options: Unpack[PromptOptions],
    ) -> ServedPrompt:
        prompt = FunctionPrompt(function, name, **options)
        self.prompts.add(prompt.definition.name, prompt)
        return prompt

    @overload
    def completion(self, function: F, /) -> F: ...
    @overload
    def completion(self, of: str = "", argument: str = "") -> Callable[[F], F]: ...

    def completion(self, of: Any = "", argument: str = "") -> Any:
        """Declare a function that completes arguments: all, or one of a prompt or template.

        It takes `value`, what is typed so far, and if it likes `arguments`, `of` and `argument`.
        Arguments whose annotations list what they can be need none.
        """
        if callable(of):
            self.completions.add(of)
            return of

        def decorate(function: F) -> F:
            self.completions.add(function, of=of, argument=argument)
            return function

        return decorate

    def mount(self, other: Server, prefix: str = "") -> None:
        """Serve the components of `other` too: tools and prompts as `prefix_name`, resources as
        `scheme://prefix/rest`. What is later added to or removed from `other` is so here as
        well. Raises `RegistrationError` if a name is taken; nothing has changed then."""
        Mount(other, self, Namespace(prefix)).attach()
        self._mounted.append(other)

    @classmethod
    def proxy(
        cls,
        target: Target | Client,
        *,
        name: str = "proxy",
        version: str = "0",
        prefix: str = "",
        forward: Iterable[str] = (),
        auth: Auth | str | None = None,
        per_session: bool | None = None,
        limits: McpLimits | None = None,
        **options: Unpack[ProxyOptions],
    ) -> Server:
        """A server with the components of another one: a URL, a command or a `Server`, with the
        `options` of `Client`.

        It is connected to while the proxy runs. `forward` names the headers of callers that go
        along; their credentials never do, `auth` gives others. With `per_session` each session
        has a connection of its own, which is how it is unless the target is a command. A
        `Client` in place of a target answers itself what it is asked.
        """
        from accord.mcp.server.proxy import Proxy

        proxy = Proxy(target, forward=forward, auth=auth, per_session=per_session, **options)
        server = cls(name, version=version, limits=limits, lifespan=proxy.lifespan)
        if not prefix:
            return server
        outer = cls(name, version=version, limits=limits)
        outer.mount(server, prefix)
        return outer

    @classmethod
    def from_router(
        cls,
        router: Router,
        *,
        name: str = "router",
        version: str = "0",
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        naming: Callable[[str], str] | None = None,
        **options: Unpack[ServerOptions],
    ) -> Server:
        """A server with the methods of a JSON-RPC router as tools: those that it has now, are
        not hidden, and fit `include` and `exclude`, names in which `*` stands for anything."""
        from accord.mcp.server.from_router import plain_name, tools_of

        server = cls(name, version=version, **options)
        for tool in tools_of(router, include=include, exclude=exclude, naming=naming or plain_name):
            server.add_tool(tool)
        return server

    @classmethod
    def from_app(
        cls,
        app: Any,
        *,
        name: str | None = None,
        version: str | None = None,
        include: Selection = (),
        exclude: Selection = (),
        naming: Naming = "operation",
        resources: Selection | None = None,
        scheme: str = "app",
        forward: Iterable[str] = ("authorization",),
        openapi: Mapping[str, Any] | None = None,
        start_app: bool = True,
        route_limits: InProcessLimits | None = None,
        **options: Unpack[ServerOptions],
    ) -> Server:
        """A server with the routes of a web application as tools: of FastAPI or Starlette, or
        of any ASGI application that `openapi` describes.

        `include` and `exclude` choose, `naming` names, as in `accord.exposure`. GET routes that
        `resources` chooses become resources at `scheme://` and their path instead. `forward`
        names the caller's headers that go along with a call. The application's own lifespan
        runs with the server, unless `start_app` is false: for a server that is mounted in it.
        """
        from accord.mcp.server.application import Application

        application = Application(
            app,
            include=include,
            exclude=exclude,
            naming=naming,
            resources=resources,
            scheme=scheme,
            forward=forward,
            openapi=openapi,
            start_app=start_app,
            limits=route_limits,
        )
        options.setdefault("lifespan", application.lifespan)
        server = cls(name or application.name, version=version or application.version, **options)
        application.fill(server)
        return server

    def middleware(self, function: M) -> M:
        """Put `async def function(request, proceed)` around every request; a decorator. The one
        that was put there first is outermost."""
        check_middleware(function)
        self.middlewares.append(function)
        return function

    # What clients are told

    def prompts_changed(self) -> None:
        """Tell everyone who listens that the source of prompts lists others."""
        self.listeners.tell(PROMPTS_CHANGED)

    def resources_changed(self) -> None:
        """Tell everyone who listens that the source of resources lists others."""
        self.listeners.tell(RESOURCES_CHANGED)

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
            tools=ListFeature(list_changed=True) if self.tools.is_used else None,
            resources=ResourcesFeature(subscribe=True, list_changed=True)
            if self.has_resources
            else None,
            prompts=ListFeature(list_changed=True) if self.has_prompts else None,
            completions={} if self._completes else None,
            logging={},
            tasks=TASKS if self.has_task_tools and version == V2025_11_25 else None,
            extensions={EXTENSION: {}}
            if self.has_task_tools and era(version) is Era.STATELESS
            else None,
        )

    def has(self, feature: Feature) -> bool:
        """Return whether the methods of a capability are served: it is declared, or was."""
        match feature:
            case "tools":
                return self.tools.is_used
            case "resources":
                return self.has_resources
            case "prompts":
                return self.has_prompts
            case "completions":
                return self._completes
            case "tasks":
                self._had_task_tools = self._had_task_tools or self.has_task_tools
                return self._had_task_tools

    @property
    def has_resources(self) -> bool:
        """Whether there are resources, or were."""
        return self.resources.is_used or self.resource_source is not None

    @property
    def has_prompts(self) -> bool:
        """Whether there are prompts, or were."""
        return self.prompts.is_used or self.prompt_source is not None

    async def find_prompt(self, name: str) -> ServedPrompt | None:
        """The prompt of that name, wherever it is kept."""
        found = self.prompts.get(name)
        if found is None and self.prompt_source is not None:
            return await self.prompt_source.find(name)
        return found

    @property
    def _completes(self) -> bool:
        return bool(len(self.completions)) or any(
            each.completes for each in (*self.prompts, *self.resources)
        )

    @property
    def has_task_tools(self) -> bool:
        """Whether calls of any tool may be tasks."""
        if self._task_tools_at != self.tools.version:
            self._task_tools_at = self.tools.version
            self._has_task_tools = any(it.task_support != "forbidden" for it in self.tools)
        return self._has_task_tools

    # Serving

    def use_codes(self, codes: Profile) -> None:
        """Send the error codes of another profile from now on; before the server is served."""
        self.codes = self.asker.profile = codes
        vars(self).pop("core", None)  # made with the former ones, if it was made

    def serve(self, url: str, **options: Unpack[McpServeOptions]) -> serve:
        """Serve at `url`: `async with server.serve("http://127.0.0.1:8000/mcp") as serving`."""
        from accord.mcp.server.serving import serve

        return serve(self, url, **options)

    def run(self, url: str = "stdio:", **options: Unpack[McpRunOptions]) -> None:
        """Serve until a signal or, over stdio, the end of stdin."""
        from accord.mcp.server.serving import run

        run(self, url, **options)

    def asgi(self, path: str = "/", **options: Unpack[McpAsgiOptions]) -> WebAsgi:
        """An ASGI application, to be mounted anywhere or served by itself; `options` are
        those of `McpEndpoint`."""
        from accord.mcp.server.http.endpoint import HTTP_LIMITS, McpEndpoint
        from accord.transports.web.asgi import WebAsgi

        check_options(self.asgi, options, McpAsgiOptions.__annotations__)
        options.setdefault("limits", HTTP_LIMITS)
        return WebAsgi(McpEndpoint(self, **options), path=path, limits=options["limits"])

    def running(self) -> AbstractAsyncContextManager[Any]:
        """Keeps the lifespan of this server, and of those mounted in it, while it is used:
        whoever serves the server does so inside. Entered once however often it is used."""
        return self._lifespan.running()

    @asynccontextmanager
    async def _live(
        self, lifespan: Callable[[Server], AbstractAsyncContextManager[Any]] | None
    ) -> AsyncIterator[Any]:
        async with AsyncExitStack() as stack:
            for server in self._mounted:
                await stack.enter_async_context(server.running())
            if lifespan is not None:
                self.lifespan_value = await stack.enter_async_context(lifespan(self))
            try:
                yield self.lifespan_value
            finally:
                self.lifespan_value = None

    # For the methods of the protocol

    @cached_property
    def core(self) -> Core:
        return Core(self)

    @property
    def router(self) -> Router:
        """The methods of the protocol: `accord.serve(server.router, url)` serves them."""
        return self.core.router


def _as_they_say(client: Implementation) -> Implementation:
    return client
