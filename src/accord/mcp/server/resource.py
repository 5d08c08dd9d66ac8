"""A resource, or a template for many, as a server has it, whoever reads it."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypedDict

from msgspec import UNSET, UnsetType

from accord.mcp.protocol.content import Annotations, Icon, ResourceContents
from accord.mcp.protocol.definitions import Resource, ResourceTemplate
from accord.mcp.protocol.meta import Meta
from accord.mcp.protocol.params import CompleteParams
from accord.mcp.protocol.uri_template import UriTemplate
from accord.mcp.server.completions import Completions
from accord.mcp.server.context import Context
from accord.mcp.server.permission import Allow, check_allow
from accord.mcp.server.registry import Enabled


class ResourceNotFoundError(Exception):
    """What a handler raises where a template stands for nothing at this URI."""


class ResourceOptions(TypedDict, total=False):
    """What can be said about a resource beside its function."""

    name: str | None
    """Its name; that of the function by default."""
    title: str
    """Its name for people."""
    description: str | None
    """What it is; the docstring by default."""
    mime_type: str
    """What its contents are; else text/plain, application/json or application/octet-stream, by
    what the function returns."""
    size: int | None
    """Bytes, where it is known; not for templates."""
    annotations: Annotations | None
    icons: tuple[Icon, ...]
    meta: Meta | None
    """`_meta` of its definition."""
    inline: bool
    """For plain functions that are quick: run on the loop and not in a thread."""
    timeout: float | None
    """Seconds that reading may take, None for as long as it likes; else the server's limit."""
    scopes: tuple[str, ...]
    """What the principal of a client needs to see and to read it."""
    allow: Allow | None
    """Decides beside the scopes who may see and read it: `lambda principal: …`."""
    enabled: Enabled | None
    """Decides for each request whether its client sees it."""
    ttl_ms: int
    """How long clients may keep what they read."""


class ServedResource:
    """A resource at one URI, or all that a template stands for. Subclasses say how it is read."""

    __slots__ = (
        *("allow", "choices", "definition", "enabled", "scopes", "template", "timeout"),
        "ttl_ms",
    )

    def __init__(
        self,
        definition: Resource | ResourceTemplate,
        *,
        scopes: tuple[str, ...] | frozenset[str] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        timeout: float | None | UnsetType = UNSET,
        ttl_ms: int = 0,
        choices: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.definition = definition
        self.template: UriTemplate | None = None
        if isinstance(definition, ResourceTemplate):
            self.template = UriTemplate(definition.uri_template)
        self.scopes = frozenset(scopes)
        self.allow = check_allow(allow)
        self.enabled = enabled
        self.timeout = timeout
        self.ttl_ms = ttl_ms
        self.choices: Mapping[str, Sequence[str]] = choices or {}
        """What variables can be, where that is known without asking anybody."""

    @property
    def address(self) -> str:
        """Its URI, or its template as it was written."""
        return address_of(self.definition)

    def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents] | Awaitable[list[ResourceContents]]:
        """The contents, or a coroutine that gives them. Raises what whoever reads raises."""
        raise NotImplementedError

    def watch(self, uri: str) -> None:
        """Somebody wants to hear of new contents at `uri`; for those that must ask elsewhere."""

    @property
    def completes(self) -> bool:
        """Whether it knows by itself what completes it."""
        return bool(self.choices)

    def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        """What a variable of the template could be, or a coroutine of it."""
        return by.complete(params, context, self.choices)


def address_of(definition: Resource | ResourceTemplate) -> str:
    return definition.uri if isinstance(definition, Resource) else definition.uri_template
