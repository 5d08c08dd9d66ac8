"""What lists are made of: the definitions of tools, resources and prompts, and who is who."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from accord.mcp.protocol.content import Annotations, Icon
from accord.mcp.protocol.meta import Meta

TaskSupport: TypeAlias = Literal["forbidden", "optional", "required"]


class Implementation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The name and version of a client or a server."""

    name: str
    version: str
    title: str = ""
    description: str = ""
    website_url: str = ""
    icons: tuple[Icon, ...] = ()


class ToolAnnotations(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Hints about the side effects of a tool.

    Clients trust them only from trusted servers.
    """

    title: str = ""
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolExecution(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """2025-11-25 only: support for calls as tasks."""

    task_support: TaskSupport = "forbidden"


class Tool(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    execution: ToolExecution | None = None
    icons: tuple[Icon, ...] = ()
    meta: Meta | None = field(name="_meta", default=None)


class Resource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    annotations: Annotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: Meta | None = field(name="_meta", default=None)


class ResourceTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    uri_template: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    annotations: Annotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: Meta | None = field(name="_meta", default=None)


class PromptArgument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    title: str = ""
    description: str = ""
    required: bool = False


class Prompt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    icons: tuple[Icon, ...] = ()
    meta: Meta | None = field(name="_meta", default=None)
