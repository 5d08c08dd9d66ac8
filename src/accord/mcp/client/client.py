"""`Client`: calls a server of any version by URL, by command, or in this process.

    async with Client("https://example.org/mcp") as client:
        result = await client.call_tool("forecast", {"city": "Oslo"})
        print(result.text)

The same calls work in both eras of MCP: stateless (since 2026-07-28) and with a handshake (before).
Other modules of this package handle the differences on the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias, TypeVar, Unpack, overload

from msgspec import UNSET, UnsetType

import accord
from accord.jsonrpc.protocol.errors import ConnectionClosedError
from accord.jsonrpc.runtime.calls import decode_result
from accord.mcp.client.auth_hook import Auth, StaticAuth
from accord.mcp.client.calls import DEFAULT, Cache, Conversation, McpCallOptions, all_items
from accord.mcp.client.connection import ClientTransportOptions, Connector, Target
from accord.mcp.client.inbox import (
    ElicitationHandler,
    ElicitationMode,
    Inbox,
    InputHandlers,
    LogHandler,
    News,
    ProgressHandler,
    RootsHandler,
    SamplingHandler,
)
from accord.mcp.client.subscriptions import Listening, SubscriptionRequest
from accord.mcp.client.tools import RunningTask, ToolResult, Tools
from accord.mcp.client.wire import Agreement, ClientIdentity
from accord.mcp.protocol.content import Meta
from accord.mcp.protocol.definitions import (
    Implementation,
    Prompt,
    Resource,
    ResourceTemplate,
    ServerCapabilities,
    Tool,
)
from accord.mcp.protocol.input_requests import Root
from accord.mcp.protocol.messages import (
    CacheableResult,
    CompleteResult,
    Completion,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    LogLevel,
    ReadResourceResult,
)
from accord.transports.options import check_options

T = TypeVar("T")
R = TypeVar("R", bound=CacheableResult)

Mode: TypeAlias = Literal["auto", "modern", "legacy"]

_LISTS_OF = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}


class Client:
    """A client of one server; use it as `async with Client(…) as client`.

    `target` is a URL (`http://`, `https://`, `ws://`, `wss://`, `tcp://`, `tls://`, `unix://`,
    `stdio:command`), a command as a list of strings, or a `Server` of this process.

    `mode` is the era: "modern" (2026-07-28), "legacy" (up to 2025-11-25), or "auto", which asks
    the server; `protocol_version` fixes the version itself. `auth` provides the credentials of
    HTTP requests; a string is a bearer token. `sampling`, `elicitation` and `roots` answer the
    server's input requests; `logging` and `progress` receive its notifications. A call times out
    after `timeout` seconds without progress, and after `longest` seconds in all. With "auto", a
    server that has not answered after `probe_seconds` is sent `initialize` too, except over HTTP.
    `options` are those of the transport: `tls`, `limits`, `env`, `cwd`, `stderr` and so on.
    """

    def __init__(
        self,
        target: Target,
        *,
        name: str = "accord",
        version: str = accord.__version__,
        title: str = "",
        mode: Mode = "auto",
        protocol_version: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Auth | str | None = None,
        sampling: SamplingHandler | None = None,
        sampling_tools: bool = False,
        elicitation: ElicitationHandler | None = None,
        elicitation_modes: Sequence[ElicitationMode] = ("form", "url"),
        roots: RootsHandler | Sequence[Root | str | Path] | None = None,
        logging: LogHandler | None = None,
        progress: ProgressHandler | None = None,
        timeout: float | None = 30.0,
        longest: float | None = 300.0,
        probe_seconds: float = 5.0,
        cache: bool = True,
        **options: Unpack[ClientTransportOptions],
    ) -> None:
        check_options(type(self), options, ClientTransportOptions.__annotations__)
        handlers = InputHandlers(
            sampling=sampling,
            sampling_tools=sampling_tools,
            elicitation=elicitation,
            elicitation_modes=elicitation_modes,
            roots=roots,
        )
        info = Implementation(name=name, version=version, title=title)
        identity = ClientIdentity(info, handlers.capabilities)
        if logging is not None:
            identity.log_level = "info"
        self._inbox = Inbox(handlers, logging=logging, progress=progress)
        self._inbox.add(self)
        self._cache = Cache() if cache else None
        self._connecting = Connector(
            target,
            identity,
            self._inbox,
            handlers,
            mode=mode,
            version=protocol_version,
            headers=headers or {},
            auth=StaticAuth.bearer(auth) if isinstance(auth, str) else auth,
            timeout=timeout,
            longest=longest,
            probe_seconds=probe_seconds,
            options=options,
            credentials_changed=self._forget_private,
        )
        self._conversation: Conversation | None = None
        self._tools = Tools(lambda: self.conversation, self._list_anew)

    async def __aenter__(self) -> Client:
        self._conversation = await self._connecting.connect()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls in flight fail."""
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            await conversation.close()

    # The connection and the server

    @property
    def conversation(self) -> Conversation:
        """The sender of requests, for requests that have no method in this class."""
        if self._conversation is None:
            raise ConnectionClosedError("the client is not connected: use `async with Client(…)`")
        return self._conversation

    @property
    def agreement(self) -> Agreement:
        return self.conversation.agreement

    @property
    def protocol_version(self) -> str:
        """The negotiated version."""
        return self.agreement.version

    @property
    def server(self) -> Implementation | None:
        """The server's name and version; None if it does not report them."""
        return self.agreement.server

    @property
    def capabilities(self) -> ServerCapabilities:
        """The server's capabilities."""
        return self.agreement.capabilities

    @property
    def instructions(self) -> str:
        """The server's instructions for a model."""
        return self.agreement.instructions

    # Tools

    @overload
    async def list_tools(self) -> list[Tool]: ...
    @overload
    async def list_tools(self, *, cursor: str | None) -> ListToolsResult: ...

    async def list_tools(self, *, cursor: str | None | UnsetType = UNSET) -> Any:
        """Return all tools, or the page that begins at `cursor` (None for the first)."""
        return await self._list("tools", "tools/list", ListToolsResult, "tools", cursor)

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Any = ...,
        *,
        into: type[T],
        timeout: float | None | UnsetType = ...,
        longest: float | None | UnsetType = ...,
        progress: ProgressHandler | None = ...,
        meta: Meta | None = ...,
        task: Literal[False] = ...,
    ) -> ToolResult[T]: ...
    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Any = ...,
        *,
        timeout: float | None | UnsetType = ...,
        longest: float | None | UnsetType = ...,
        progress: ProgressHandler | None = ...,
        meta: Meta | None = ...,
        task: Literal[False] = ...,
    ) -> ToolResult[Any]: ...
    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Any = ...,
        *,
        into: type[T],
        timeout: float | None | UnsetType = ...,
        longest: float | None | UnsetType = ...,
        progress: ProgressHandler | None = ...,
        meta: Meta | None = ...,
        task: Literal[True],
        ttl: float | None = ...,
    ) -> RunningTask[T]: ...
    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Any = ...,
        *,
        timeout: float | None | UnsetType = ...,
        longest: float | None | UnsetType = ...,
        progress: ProgressHandler | None = ...,
        meta: Meta | None = ...,
        task: Literal[True],
        ttl: float | None = ...,
    ) -> RunningTask[Any]: ...

    async def call_tool(
        self,
        name: str,
        arguments: Any = UNSET,
        *,
        into: Any = Any,
        timeout: float | None | UnsetType = UNSET,
        longest: float | None | UnsetType = UNSET,
        progress: ProgressHandler | None = None,
        meta: Meta | None = None,
        task: bool = False,
        ttl: float | None = None,
    ) -> ToolResult[Any] | RunningTask[Any]:
        """Call a tool and return its result, or with `task=True` a running task.

        `arguments` is a dict or an object with fields, `into` the type of the structured content.
        `timeout` and `longest` replace those of the client. A task is kept for `ttl` seconds. If
        the server itself turns the call into a task, this waits for its result. The result of a
        tool that failed has `is_error`. Raises RpcError if the server refuses the call, and
        InvalidResultError if the result violates the tool's definition or `into`.
        """
        self.agreement.need("tools", "tools/call")
        options = _options(timeout, longest, progress, meta)
        if task:
            return await self._tools.start(name, arguments, into, options, ttl)
        return await self._tools.call(name, arguments, into, options)

    @overload
    def task(self, id: str, *, into: type[T]) -> RunningTask[T]: ...
    @overload
    def task(self, id: str) -> RunningTask[Any]: ...

    def task(self, id: str, *, into: Any = Any) -> RunningTask[Any]:
        """Return the task `id`, begun by `call_tool(…, task=True)`.

        Another client of the same user may have begun it.
        """
        return self._tools.resume(id, into)

    # Resources

    @overload
    async def list_resources(self) -> list[Resource]: ...
    @overload
    async def list_resources(self, *, cursor: str | None) -> ListResourcesResult: ...

    async def list_resources(self, *, cursor: str | None | UnsetType = UNSET) -> Any:
        """Return all resources, or the page that begins at `cursor` (None for the first)."""
        return await self._list(
            "resources", "resources/list", ListResourcesResult, "resources", cursor
        )

    @overload
    async def list_resource_templates(self) -> list[ResourceTemplate]: ...
    @overload
    async def list_resource_templates(
        self, *, cursor: str | None
    ) -> ListResourceTemplatesResult: ...

    async def list_resource_templates(self, *, cursor: str | None | UnsetType = UNSET) -> Any:
        """Return all resource templates, or the page at `cursor` (None for the first)."""
        return await self._list(
            "resources",
            "resources/templates/list",
            ListResourceTemplatesResult,
            "resource_templates",
            cursor,
        )

    async def read_resource(
        self,
        uri: str,
        *,
        timeout: float | None | UnsetType = UNSET,
        longest: float | None | UnsetType = UNSET,
        progress: ProgressHandler | None = None,
        meta: Meta | None = None,
    ) -> ReadResourceResult:
        """Return the contents of the resource at `uri`."""
        self.agreement.need("resources", "resources/read")
        cached = self._kept("resources/read", uri)
        if cached is not None:
            return cached  # type: ignore[no-any-return]
        answered = await self.conversation.ask_answering(
            "resources/read", {"uri": uri}, _options(timeout, longest, progress, meta)
        )
        result: ReadResourceResult = decode_result(
            answered.raw, ReadResourceResult, "resources/read"
        )
        if not answered.repeated:
            self._keep("resources/read", uri, result)
        return result

    async def subscribe(self, uri: str) -> None:
        """Subscribe to notifications about new contents of a resource.

        This works in the handshake era only; `listen` works in both eras.
        """
        self.agreement.need_subscribing()
        await self.conversation.ask("resources/subscribe", {"uri": uri})

    async def unsubscribe(self, uri: str) -> None:
        await self.conversation.ask("resources/unsubscribe", {"uri": uri})

    # Prompts and completion

    @overload
    async def list_prompts(self) -> list[Prompt]: ...
    @overload
    async def list_prompts(self, *, cursor: str | None) -> ListPromptsResult: ...

    async def list_prompts(self, *, cursor: str | None | UnsetType = UNSET) -> Any:
        """Return all prompts, or the page that begins at `cursor` (None for the first)."""
        return await self._list("prompts", "prompts/list", ListPromptsResult, "prompts", cursor)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None | UnsetType = UNSET,
        longest: float | None | UnsetType = UNSET,
        progress: ProgressHandler | None = None,
        meta: Meta | None = None,
    ) -> GetPromptResult:
        """Return the messages of a prompt."""
        self.agreement.need("prompts", "prompts/get")
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = dict(arguments)
        answered = await self.conversation.ask_answering(
            "prompts/get", params, _options(timeout, longest, progress, meta)
        )
        return decode_result(answered.raw, GetPromptResult, "prompts/get")  # type: ignore[no-any-return]

    async def complete(
        self,
        *,
        argument: str,
        value: str,
        prompt: str | None = None,
        resource: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Completion:
        """Return completions of `value`, an argument of a prompt or of a URI template.

        `context` has the arguments that are known already.
        """
        self.agreement.need("completions", "completion/complete")
        if (prompt is None) is (resource is None):
            raise TypeError("completion is for a prompt or for a resource")
        reference = (
            {"type": "ref/prompt", "name": prompt}
            if prompt is not None
            else {"type": "ref/resource", "uri": resource}
        )
        params: dict[str, Any] = {"ref": reference, "argument": {"name": argument, "value": value}}
        if context is not None:
            params["context"] = {"arguments": dict(context)}
        raw = await self.conversation.ask("completion/complete", params)
        result: CompleteResult = decode_result(raw, CompleteResult, "completion/complete")
        return result.completion

    # The connection

    async def ping(self, *, timeout: float | None | UnsetType = UNSET) -> None:
        """Check that the server answers."""
        # 2026-07-28 has no ping; every server answers discovery.
        method = "server/discover" if self.conversation.stateless else "ping"
        await self.conversation.ask(method, {}, _options(timeout, UNSET, None, None))

    async def set_log_level(self, level: LogLevel) -> None:
        """Request log messages of this level and above."""
        if self.conversation.stateless:
            self.conversation.set_log_level(level)
        else:
            self.agreement.need("logging", "logging/setLevel")
            await self.conversation.ask("logging/setLevel", {"level": level})
            self._connecting.log_level = level

    async def roots_changed(self) -> None:
        """Notify the server that the roots have changed.

        Does nothing in the stateless era: the server asks when it needs them.
        """
        if not self.conversation.stateless:
            await self.conversation.tell("notifications/roots/list_changed")

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool | Sequence[str] = False,
        tasks: Sequence[str] = (),
    ) -> Listening:
        """Subscribe to changes: `async with client.listen(tools=True) as changes`.

        Iterate over `changes` to get them.
        `resources=True` subscribes to the list of resources, and a list of URIs to the contents of
        these resources. `"*"` in the list of URIs subscribes to the list of resources as well.
        """
        uris = () if isinstance(resources, bool) else tuple(resources)
        request = SubscriptionRequest(
            tools=tools,
            prompts=prompts,
            resources=resources is True or "*" in uris,
            uris=tuple(uri for uri in uris if uri != "*"),
            tasks=tuple(tasks),
        )
        return Listening(self.conversation, request)

    # Lists and the cache

    async def _list(
        self,
        feature: str,
        method: str,
        kind: type[R],
        member: str,
        cursor: str | None | UnsetType,
    ) -> Any:
        self.agreement.need(feature, method)

        async def page(cursor: str | None) -> R:
            return await self._page(method, kind, cursor)

        if cursor is not UNSET:
            return await page(cursor)
        return await all_items(method, page, lambda result: getattr(result, member))

    async def _list_anew(self) -> None:
        if self._cache is not None:
            self._cache.forget("tools/list")
        await self.list_tools()

    async def _page(self, method: str, kind: type[R], cursor: str | None) -> R:
        cached = self._kept(method, cursor or "")
        if cached is not None:
            return cached  # type: ignore[no-any-return]
        params = {} if cursor is None else {"cursor": cursor}
        result: R = decode_result(await self.conversation.ask(method, params), kind, method)
        if isinstance(result, ListToolsResult):
            result = self._tools.learn(result)  # type: ignore[assignment]
        self._keep(method, cursor or "", result)
        return result

    def _kept(self, method: str, key: str) -> Any:
        if self._cache is None:
            return None
        return self._cache.get(method, key, now=asyncio.get_running_loop().time())

    def _keep(self, method: str, key: str, result: CacheableResult) -> None:
        if self._cache is not None:
            self._cache.put(method, key, result, now=asyncio.get_running_loop().time())

    def _forget_private(self) -> None:
        if self._cache is not None:
            self._cache.forget_private()

    def read(self, method: str, news: News) -> None:
        """Drop the cached results that a change notification makes outdated."""
        if self._cache is None:
            return
        if method == "notifications/resources/updated":
            self._cache.forget_one("resources/read", news.uri)
        else:
            self._cache.forget(*_LISTS_OF.get(method, ()))


def _options(
    timeout: float | None | UnsetType,
    longest: float | None | UnsetType,
    progress: Callable[..., Any] | None,
    meta: Meta | None,
) -> McpCallOptions:
    if timeout is UNSET and longest is UNSET and progress is None and meta is None:
        return DEFAULT
    return McpCallOptions(timeout=timeout, longest=longest, progress=progress, meta=meta)
