"""Definitions of tools, resources and prompts; capabilities of clients and servers.

An absent capability means that the feature is absent; an empty object counts as `true`.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from accord.mcp.protocol.content import Annotations, Icon, Meta

Settings: TypeAlias = dict[str, Any]


class ListFeature(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The capability of a feature whose list may change."""

    list_changed: bool = False


class ResourcesFeature(Struct, frozen=True, omit_defaults=True, rename="camel"):
    subscribe: bool = False
    list_changed: bool = False


Feature: TypeAlias = Literal["tools", "resources", "prompts", "completions", "tasks"]
"""A capability of a server that enables the methods of the same name."""

_FEATURES: Final[dict[str, Feature]] = {
    "tools": "tools",
    "resources": "resources",
    "prompts": "prompts",
    "completion": "completions",
    "tasks": "tasks",
}


def feature_of(method: str) -> Feature | None:
    """Return the capability that a server needs to have a method.

    Return None for methods that every server has.
    """
    return _FEATURES.get(method.partition("/")[0])


class ServerCapabilities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    tools: ListFeature | None = None
    resources: ResourcesFeature | None = None
    prompts: ListFeature | None = None
    completions: Settings | None = None
    logging: Settings | None = None
    tasks: Settings | None = None
    """Support for tasks; in 2025-11-25 only."""
    extensions: dict[str, Settings] | None = None
    """Supported extensions with their settings; from 2026-07-28 on."""
    experimental: dict[str, Settings] | None = None


class Elicitation(Struct, frozen=True, omit_defaults=True):
    form: Settings | None = None
    url: Settings | None = None

    @property
    def takes_form(self) -> bool:
        """True if the client can show forms.

        An empty `elicitation` object means that it shows forms only (2025-11-25, elicitation).
        """
        return self.form is not None or self.url is None


class SamplingCapability(Struct, frozen=True, omit_defaults=True):
    context: Settings | None = None
    tools: Settings | None = None


class ClientCapabilities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    roots: ListFeature | None = None
    sampling: SamplingCapability | None = None
    elicitation: Elicitation | None = None
    tasks: Settings | None = None
    """Support for tasks; in 2025-11-25 only."""
    extensions: dict[str, Settings] | None = None
    """Supported extensions with their settings; from 2026-07-28 on."""
    experimental: dict[str, Settings] | None = None


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
    """Whether calls of a tool can run as tasks; in 2025-11-25 only."""

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
