"""The Model Context Protocol: servers and clients, in both of its eras.

Exports the names that most programs need. Each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord import lazy_names

_HOMES = {
    "Accepted": "accord.mcp.server.input_requests.client_features",
    "Annotations": "accord.mcp.protocol.content",
    "Audio": "accord.mcp.server.components.content",
    "AudioContent": "accord.mcp.protocol.content",
    "CallToolResult": "accord.mcp.protocol.messages",
    "Cancelled": "accord.mcp.server.input_requests.client_features",
    "Client": "accord.mcp.client.client",
    "Completion": "accord.mcp.protocol.messages",
    "Context": "accord.mcp.server.context",
    "Declined": "accord.mcp.server.input_requests.client_features",
    "Depends": "accord.mcp.server.components.handler",
    "Elicit": "accord.mcp.server.input_requests.client_features",
    "ElicitUrl": "accord.mcp.server.input_requests.client_features",
    "EmbeddedResource": "accord.mcp.protocol.content",
    "File": "accord.mcp.server.components.content",
    "GetPromptResult": "accord.mcp.protocol.messages",
    "Icon": "accord.mcp.protocol.content",
    "Image": "accord.mcp.server.components.content",
    "ImageContent": "accord.mcp.protocol.content",
    "McpLimits": "accord.mcp.server.server_state",
    "Principal": "accord.mcp.server.session",
    "PromptMessage": "accord.mcp.protocol.messages",
    "Request": "accord.mcp.server.server_state",
    "ResourceContents": "accord.mcp.protocol.content",
    "ResourceLink": "accord.mcp.protocol.content",
    "ResourceNotFoundError": "accord.mcp.server.components.resources",
    "Roots": "accord.mcp.server.input_requests.client_features",
    "Sample": "accord.mcp.server.input_requests.client_features",
    "Server": "accord.mcp.server.server",
    "TaskSettings": "accord.mcp.server.task_store",
    "TextContent": "accord.mcp.protocol.content",
    "ToolAnnotations": "accord.mcp.protocol.definitions",
    "ToolError": "accord.mcp.server.components.tools",
    "assistant_message": "accord.mcp.server.components.prompts",
    "user_message": "accord.mcp.server.components.prompts",
}

__all__ = list(_HOMES)


__getattr__, __dir__ = lazy_names(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.mcp.client.client import (
        Client as Client,
    )
    from accord.mcp.protocol.content import (
        Annotations as Annotations,
        AudioContent as AudioContent,
        EmbeddedResource as EmbeddedResource,
        Icon as Icon,
        ImageContent as ImageContent,
        ResourceContents as ResourceContents,
        ResourceLink as ResourceLink,
        TextContent as TextContent,
    )
    from accord.mcp.protocol.definitions import (
        ToolAnnotations as ToolAnnotations,
    )
    from accord.mcp.protocol.messages import (
        CallToolResult as CallToolResult,
        Completion as Completion,
        GetPromptResult as GetPromptResult,
        PromptMessage as PromptMessage,
    )
    from accord.mcp.server.components.content import Audio as Audio, File as File, Image as Image
    from accord.mcp.server.components.handler import Depends as Depends
    from accord.mcp.server.components.prompts import (
        assistant_message as assistant_message,
        user_message as user_message,
    )
    from accord.mcp.server.components.resources import (
        ResourceNotFoundError as ResourceNotFoundError,
    )
    from accord.mcp.server.components.tools import ToolError as ToolError
    from accord.mcp.server.context import (
        Context as Context,
    )
    from accord.mcp.server.input_requests.client_features import (
        Accepted as Accepted,
        Cancelled as Cancelled,
        Declined as Declined,
        Elicit as Elicit,
        ElicitUrl as ElicitUrl,
        Roots as Roots,
        Sample as Sample,
    )
    from accord.mcp.server.server import (
        Server as Server,
    )
    from accord.mcp.server.server_state import McpLimits as McpLimits, Request as Request
    from accord.mcp.server.session import Principal as Principal
    from accord.mcp.server.task_store import TaskSettings as TaskSettings
