"""A server as its methods, its tasks and its transports see it.

`Server` has all of it and imports what serves it. Modules below `Server` know this protocol
instead of the class, so that imports point down only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from accord.mcp.protocol.capabilities import Feature, ServerCapabilities
from accord.mcp.protocol.codes import Profile
from accord.mcp.protocol.definitions import Implementation
from accord.mcp.server.closing import Closing
from accord.mcp.server.completions import Completions
from accord.mcp.server.context import Context
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.input_requests.ask import Asker
from accord.mcp.server.limits import McpLimits
from accord.mcp.server.listeners import Listeners
from accord.mcp.server.middleware import Middleware
from accord.mcp.server.prompt import ServedPrompt
from accord.mcp.server.registry import Registry
from accord.mcp.server.resource import ServedResource
from accord.mcp.server.sources import PromptSource, ResourceSource
from accord.mcp.server.tasks.settings import TaskSettings
from accord.mcp.server.tool import ServedTool

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

    tools: Registry[ServedTool]
    resources: Registry[ServedResource]
    prompts: Registry[ServedPrompt]
    completions: Completions
    resource_source: ResourceSource | None
    prompt_source: PromptSource | None

    middlewares: list[Middleware]
    guards: list[Guard]
    auth: Authenticator | Verifier | None
    listeners: Listeners
    closing: Closing
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
