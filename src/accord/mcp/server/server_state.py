"""The state of a server as its methods, its tasks and its transports see it.

`Server` implements this protocol and imports the modules that serve it. Modules below `Server`
know the protocol instead of the class, so that imports point down only. Limits of handlers are
plain values, on by default; the modules that read them enforce them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct

from accord.jsonrpc.protocol.channel import MIB
from accord.mcp.protocol.definitions import Feature, Implementation, ServerCapabilities
from accord.mcp.protocol.messages import Profile
from accord.mcp.server.components.completions import Completions
from accord.mcp.server.components.lists import PromptSource, ResourceSource
from accord.mcp.server.components.prompts import ServedPrompt
from accord.mcp.server.components.registry import ComponentRegistry
from accord.mcp.server.components.resources import ServedResource
from accord.mcp.server.components.tools import ServedTool
from accord.mcp.server.context import Context
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.input_requests.ask import Asker
from accord.mcp.server.lifespan import ShutdownSignal
from accord.mcp.server.listeners import ChangeListeners
from accord.mcp.server.middleware import Middleware
from accord.mcp.server.tasks.store import TaskSettings

if TYPE_CHECKING:
    from accord.mcp.server.auth.authenticator import Authenticator
    from accord.mcp.server.auth.verifier import Verifier


Instructions: TypeAlias = (
    str | Callable[[], str | Awaitable[str]] | Callable[[Context], str | Awaitable[str]]
)
Guard: TypeAlias = Callable[[Incoming], Awaitable[None] | None]
"""A check of each request before it is served; it may raise RpcError. An awaitable is awaited
before anything is served."""


class ServerState(Protocol):
    """The components and settings of a server; `Server` documents each."""

    info: Implementation
    instructions: Instructions
    introduce: Callable[[Implementation], Implementation]
    lifespan_value: Any
    strict_versions: bool
    codes: Profile
    limits: McpLimits
    page_size: int
    ttl_ms: int

    tools: ComponentRegistry[ServedTool]
    resources: ComponentRegistry[ServedResource]
    prompts: ComponentRegistry[ServedPrompt]
    completions: Completions
    resource_source: ResourceSource | None
    prompt_source: PromptSource | None

    middlewares: list[Middleware]
    guards: list[Guard]
    auth: Authenticator | Verifier | None
    listeners: ChangeListeners
    closing: ShutdownSignal
    asker: Asker
    task_settings: TaskSettings

    @property
    def has_resources(self) -> bool: ...
    @property
    def has_prompts(self) -> bool: ...
    @property
    def has_task_tools(self) -> bool: ...
    def capabilities(self, version: str) -> ServerCapabilities: ...
    def has(self, feature: Feature) -> bool: ...
    async def find_prompt(self, name: str) -> ServedPrompt | None: ...
    def running(self) -> AbstractAsyncContextManager[Any]: ...


class McpLimits(Struct, frozen=True, kw_only=True):
    """The limits of one server; `None` means unlimited where a field allows it."""

    call_seconds: float | None = 300.0
    """Time limit of a tool, a resource or a prompt without `timeout`. It does not apply to calls
    that continue as tasks."""
    max_result_bytes: int | None = 8 * MIB
    """Size limit of an encoded result of a tool, a resource or a prompt."""
    max_calls_per_session: int = 1_000
    """Limit of concurrent tool calls per session; more are refused."""
    max_calls_per_tool: int | None = 10_000
    """Limit of concurrent calls of a tool without `concurrency`."""
    max_subscriptions: int = 10_000
    """Limit of resource subscriptions per session, or per listening request."""
