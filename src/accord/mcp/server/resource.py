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
    """Raised by handlers of templates for a URI without a resource."""


class ResourceOptions(TypedDict, total=False):
    """Options of a resource."""

    name: str | None
    """Its name; by default the function's."""
    title: str
    """Its name for people."""
    description: str | None
    """Its description; the docstring by default."""
    mime_type: str
    """Media type of its contents; by default text/plain, application/json or
    application/octet-stream, depending on the return value."""
    size: int | None
    """Size in bytes, if known; not for templates."""
    annotations: Annotations | None
    icons: tuple[Icon, ...]
    meta: Meta | None
    """`_meta` of its definition."""
    inline: bool
    """For quick plain functions: run on the event loop instead of a thread."""
    timeout: float | None
    """Time limit of reading in seconds, None for unlimited; by default the server's limit."""
    scopes: tuple[str, ...]
    """The scopes that a principal needs to see and read it."""
    allow: Allow | None
    """A further condition on principals that see and read it: `lambda principal: …`."""
    enabled: Enabled | None
    """Decides for each request if its client sees it."""
    ttl_ms: int
    """Time for which clients may cache its contents, in milliseconds."""


class ServedResource:
    """A resource at one URI, or a template, read by a subclass."""

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
        """Known values of variables."""

    @property
    def address(self) -> str:
        """The URI, or the template as it was written."""
        return address_of(self.definition)

    def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents] | Awaitable[list[ResourceContents]]:
        """Return the contents, or a coroutine of them.

        Raises the exceptions of the code that reads.
        """
        raise NotImplementedError

    def watch(self, uri: str) -> None:
        """Start watching for new contents at `uri`.

        For resources with contents from elsewhere.
        """

    @property
    def completes(self) -> bool:
        """True if it has suggestions of its own."""
        return bool(self.choices)

    def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        """Return suggestions for a variable of the template, or a coroutine of them."""
        return by.complete(params, context, self.choices)


def address_of(definition: Resource | ResourceTemplate) -> str:
    return definition.uri if isinstance(definition, Resource) else definition.uri_template
