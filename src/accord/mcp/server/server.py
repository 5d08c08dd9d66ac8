"""`Server`: the components that an application offers to assistants.

    server = Server("weather", version="1.0")

    @server.tool
    async def forecast(city: str, days: int = 3) -> Forecast: ...

One server serves every version of the protocol; it knows its components, not transports.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from accord.jsonrpc.methods.router import Router
from accord.mcp.protocol.content import Icon
from accord.mcp.protocol.definitions import (
    Feature,
    Implementation,
    ListFeature,
    ResourcesFeature,
    ServerCapabilities,
)
from accord.mcp.protocol.messages import Profile
from accord.mcp.protocol.tasks import EXTENSION
from accord.mcp.protocol.versions import V2025_11_25, Era, era
from accord.mcp.server.components.handler import Completions
from accord.mcp.server.components.lists import PromptSource, ResourceSource
from accord.mcp.server.components.prompts import FunctionPrompt, PromptOptions, ServedPrompt
from accord.mcp.server.components.registry import ComponentRegistry, Namespace
from accord.mcp.server.components.resources import (
    FunctionResource,
    ResourceOptions,
    ServedResource,
    file_resource,
    fixed_resource,
    folder_resource,
)
from accord.mcp.server.components.tools import FunctionTool, ServedTool, ToolOptions
from accord.mcp.server.input_requests.ask import Asker
from accord.mcp.server.listeners import (
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
    ChangeListeners,
    updated,
)
from accord.mcp.server.options import McpAsgiOptions, McpRunOptions, McpServeOptions, ProxyOptions
from accord.mcp.server.server_state import (
    Guard,
    Instructions,
    McpLimits,
    Middleware,
    ServerLifespan,
    ShutdownSignal,
    check_middleware,
)
from accord.mcp.server.task_store import LEGACY_TASK_CAPABILITY, TaskSettings
from accord.transports.options import check_options

if TYPE_CHECKING:
    from accord.exposure.in_process import InProcessLimits
    from accord.exposure.routes import Naming, Selection
    from accord.mcp.client.auth_hook import Auth
    from accord.mcp.client.client import Client
    from accord.mcp.client.connection import Target
    from accord.mcp.server.auth.authenticator import Authenticator, Verifier
    from accord.mcp.server.core import Core
    from accord.mcp.server.serving import serve
    from accord.transports.asgi.web import WebAsgi

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=Middleware)


class ServerOptions(TypedDict, total=False):
    """Options of a server besides its name and version: see `Server`."""

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
        """Instructions for models, or a function that returns them, with or without a context."""
        self.ttl_ms = ttl_ms
        self.codes: Profile = codes
        self.strict_versions = strict_versions
        self.introduce: Callable[[Implementation], Implementation] = lambda client: client
        """A function that replaces the name and version that a client reports when it begins a
        session. A client may report any text."""
        self.tools: ComponentRegistry[ServedTool] = ComponentRegistry("tool")
        self.resources: ComponentRegistry[ServedResource] = ComponentRegistry("resource")
        self.prompts: ComponentRegistry[ServedPrompt] = ComponentRegistry("prompt")
        self.completions = Completions()
        self.listeners = ChangeListeners()
        self.closing = ShutdownSignal()
        """A signal that the server closes, which ends its open streams."""
        self.asker = Asker(
            profile=codes, timeout=ask_timeout, state_keys=state_keys, state_seconds=state_seconds
        )
        """Creates the input channels of handlers. `state_keys` seal the state that a client returns
        with its answers: all workers that serve the same clients need the same keys."""
        self.auth = auth
        """Authenticates callers on transports where they can present a token
        (`accord.mcp.server.auth`). None if no authentication is required."""
        self.task_settings = TaskSettings() if tasks is None else tasks
        self._has_task_tools, self._had_task_tools, self._task_tools_at = False, False, 0
        self.limits = McpLimits() if limits is None else limits
        self.page_size = page_size
        self.middlewares: list[Middleware] = []
        """Middleware around every request, the outermost first."""
        self.guards: list[Guard] = []
        """Checks that every admitted request must pass; they must be quick, and cost less than
        middleware."""
        self.resource_source: ResourceSource | None = None
        """A source of resources outside of the registry; sources of mounted servers are not
        used."""
        self.prompt_source: PromptSource | None = None
        """A source of prompts outside of the registry."""
        self.lifespan_value: Any = None
        """The value that the lifespan has yielded; handlers get it as `context.lifespan`."""
        self._lifespan = ServerLifespan(partial(self._live, lifespan))
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

        Types and descriptions of the tool's parameters come from their annotations, its description
        from the docstring. A plain function runs in a thread unless it is `inline`. Raises
        `RegistrationError` if the function cannot be served as a tool, or the name is taken.
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
        """Add a function as a tool, or a `ServedTool`.

        `server.tools.remove(name)` removes the tool again. Clients are notified of both changes.
        """
        if isinstance(function, ServedTool):
            tool = function
        else:
            tool = FunctionTool(function, name, **options)
        self.tools.add(tool.definition.name, tool)
        return tool

    def resource(self, uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Declare a function as the resource at `uri`; a decorator.

        If `uri` is a URI template, the function serves all its URIs and takes the variables as
        parameters.
        """
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
        """Add a resource: its contents, or a function that returns the contents."""
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
        """Add a file as a resource, at its `file://` URI unless another is given.

        The file is read on each request.
        """
        resource = file_resource(path, uri, **options)
        self.resources.add(resource.address, resource)
        return resource

    def add_folder(
        self, uri: str, path: str | PathLike[str], /, **options: Unpack[ResourceOptions]
    ) -> ServedResource:
        """Add all files below a folder as resources, by a template with one variable.

        The variable in `server.add_folder("docs:///{+path}", "docs")` may include slashes. Files
        outside of the folder are unreachable.
        """
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

        The function returns a text, content, messages (`user_message`, `assistant_message`) or a
        list of these.
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
        """Declare a function that completes arguments; a decorator.

        The function completes all arguments, or one argument of a prompt or template. It takes
        `value`, the text typed so far, and optionally `arguments`, `of` and `argument`. Arguments
        with enumerable annotations are completed without such a function.
        """
        if callable(of):
            self.completions.add(of)
            return of

        def decorate(function: F) -> F:
            self.completions.add(function, of=of, argument=argument)
            return function

        return decorate

    def mount(self, other: Server, prefix: str = "") -> None:
        """Serve the components of the server `other` too, under `prefix`.

        Tools and prompts get the name `prefix_name`, resources the URI `scheme://prefix/rest`.
        Later additions to and removals from `other` apply here as well. Raises `RegistrationError`,
        without changing anything, if a name is taken.
        """
        from accord.mcp.server.sources.mounting import Mount

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
        """Return a server with the components of another server.

        The target is a URL, a command or a `Server`; `options` are those of `Client`. The proxy is
        connected while the returned server runs. `forward` names the headers of callers to forward.
        The credentials of callers are never forwarded; `auth` provides the proxy's own. With
        `per_session` each session has its own connection, which is the default unless the target is
        a command. If the target is a `Client`, that client answers input requests itself.
        """
        from accord.mcp.server.sources.proxy import Proxy

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
        """Return a server with the methods of a JSON-RPC router as tools.

        The tools are the methods that the router has now, without hidden methods. `include` and
        `exclude` select methods by name; `*` matches any text.
        """
        from accord.mcp.server.sources.from_router import plain_name, tools_of

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
        """Return a server with the routes of a web application as tools.

        The application uses FastAPI or Starlette, or is any ASGI application that `openapi`
        describes. `include` and `exclude` select routes, and `naming` names the tools, as in
        `accord.exposure`. GET routes that `resources` selects become resources instead, at
        `scheme://` and their path. `forward` lists the caller's headers to send with a call. The
        application's own lifespan runs with the server; set `start_app` to false for a server that
        is mounted in the application.
        """
        from accord.mcp.server.sources.from_app import Application

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
        """Call `async def function(request, proceed)` around every request; a decorator.

        The function that is added first is outermost.
        """
        check_middleware(function)
        self.middlewares.append(function)
        return function

    def prompts_changed(self) -> None:
        """Notify all listeners that the source of prompts has changed."""
        self.listeners.tell(PROMPTS_CHANGED)

    def resources_changed(self) -> None:
        """Notify all listeners that the source of resources has changed."""
        self.listeners.tell(RESOURCES_CHANGED)

    def resource_updated(self, uri: str) -> None:
        """Notify all subscribers that the resource at `uri` has new contents."""
        self.listeners.tell(updated(uri))

    def elicitation_completed(self, id: str) -> None:
        """Notify the client that asked for an elicitation that its user has finished.

        The elicitation is `context.elicit_url(…, id=id)`, which asks the user to open a page.
        """
        self.asker.elicitations.complete(id)

    def capabilities(self, version: str) -> ServerCapabilities:
        """Return the capabilities that this server declares in a protocol version."""
        task_tools = self.has_task_tools
        resources = ResourcesFeature(subscribe=True, list_changed=True)
        return ServerCapabilities(
            tools=ListFeature(list_changed=True) if self.tools.is_used else None,
            resources=resources if self.has_resources else None,
            prompts=ListFeature(list_changed=True) if self.has_prompts else None,
            completions={} if self._completes else None,
            logging={},
            tasks=LEGACY_TASK_CAPABILITY if task_tools and version == V2025_11_25 else None,
            extensions={EXTENSION: {}} if task_tools and era(version) is Era.STATELESS else None,
        )

    def has(self, feature: Feature) -> bool:
        """Return whether a capability's methods are served: if it is or was declared."""
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
        """True if there are resources now, or have been before."""
        return self.resources.is_used or self.resource_source is not None

    @property
    def has_prompts(self) -> bool:
        """True if there are prompts now, or have been before."""
        return self.prompts.is_used or self.prompt_source is not None

    async def find_prompt(self, name: str) -> ServedPrompt | None:
        """Return the prompt of that name, from the registry or the source; None without one."""
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
        """True if there is a tool that may be called as a task."""
        if self._task_tools_at != self.tools.version:
            self._task_tools_at = self.tools.version
            self._has_task_tools = any(it.task_support != "forbidden" for it in self.tools)
        return self._has_task_tools

    # Serving

    def use_codes(self, codes: Profile) -> None:
        """Use standard or extended error codes; call this before the server is served."""
        self.codes = self.asker.profile = codes
        vars(self).pop("core", None)  # made with the former ones, if it was made

    def serve(self, url: str, **options: Unpack[McpServeOptions]) -> serve:
        """Serve at `url`.

        `async with server.serve("http://127.0.0.1:8000/mcp") as serving`
        """
        from accord.mcp.server.serving import serve

        return serve(self, url, **options)

    def run(self, url: str = "stdio:", **options: Unpack[McpRunOptions]) -> None:
        """Serve until a signal or, over stdio, the end of stdin."""
        from accord.mcp.server.serving import run

        run(self, url, **options)

    def asgi(self, path: str = "/", **options: Unpack[McpAsgiOptions]) -> WebAsgi:
        """Return an ASGI application, to be mounted or served on its own.

        `options` are those of `McpEndpoint`.
        """
        from accord.mcp.server.http.endpoint import HTTP_LIMITS, McpEndpoint
        from accord.transports.asgi.web import WebAsgi

        check_options(self.asgi, options, McpAsgiOptions.__annotations__)
        options.setdefault("limits", HTTP_LIMITS)
        return WebAsgi(McpEndpoint(self, **options), path=path, limits=options["limits"])

    def running(self) -> AbstractAsyncContextManager[Any]:
        """Return a context manager that runs the lifespan of this server and mounted ones.

        The server must be served inside of it. If contexts overlap, the lifespan runs only once.
        """
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

    @cached_property
    def core(self) -> Core:
        from accord.mcp.server.core import Core
        from accord.mcp.server.methods import method_table

        return Core(self, method_table)

    @property
    def router(self) -> Router:
        """A router with the methods of the protocol, for `accord.serve(server.router, url)`."""
        return self.core.router
