"""A function of the application as a resource."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import getdoc, isawaitable
from typing import Any

from msgspec import UNSET, UnsetType

from accord.jsonrpc.codec import encode
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.method import where
from accord.jsonrpc.parameters import innermost
from accord.mcp.protocol.content import Annotations, Icon, ResourceContents
from accord.mcp.protocol.definitions import Resource, ResourceTemplate
from accord.mcp.protocol.meta import Meta
from accord.mcp.protocol.uri_template import UriTemplate
from accord.mcp.server.completions import choices_of
from accord.mcp.server.context import Context
from accord.mcp.server.handler import Handler
from accord.mcp.server.media import Media, recognized
from accord.mcp.server.permission import Allow
from accord.mcp.server.registry import Enabled
from accord.mcp.server.resource import ServedResource
from accord.mcp.server.text_arguments import TextArguments


class FunctionResource(ServedResource):
    """A resource with contents from a function.

    The options are those of `ResourceOptions`.
    """

    __slots__ = ("_arguments", "_handler", "_mime_type")

    def __init__(
        self,
        uri: str,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str = "",
        description: str | None = None,
        mime_type: str = "",
        size: int | None = None,
        annotations: Annotations | None = None,
        icons: tuple[Icon, ...] = (),
        meta: Meta | None = None,
        inline: bool = False,
        timeout: float | None | UnsetType = UNSET,
        scopes: tuple[str, ...] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        ttl_ms: int = 0,
    ) -> None:
        name = getattr(function, "__name__", "") if name is None else name
        if description is None:
            description = getdoc(innermost(function)) or ""
        try:
            template = UriTemplate(uri)
            self._handler = Handler(function, inline=inline, timeout=timeout)
            _check(template, self._handler)
        except (RegistrationError, ValueError) as error:
            raise RegistrationError(f"resource '{uri}' ({where(function)}): {error}") from error
        self._arguments = TextArguments(self._handler.parameters)
        self._mime_type = mime_type
        definition: Resource | ResourceTemplate
        if template.variables:
            definition = ResourceTemplate(
                uri_template=uri,
                name=name,
                title=title,
                description=description,
                mime_type=mime_type,
                annotations=annotations,
                icons=icons,
                meta=meta,
            )
        else:
            definition = Resource(
                uri=uri,
                name=name,
                title=title,
                description=description,
                mime_type=mime_type,
                size=size,
                annotations=annotations,
                icons=icons,
                meta=meta,
            )
        super().__init__(
            definition,
            scopes=scopes,
            allow=allow,
            enabled=enabled,
            timeout=timeout,
            ttl_ms=ttl_ms,
            choices=choices_of(self._handler.parameters),
        )

    def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents] | Awaitable[list[ResourceContents]]:
        """Call the function with typed variables.

        Raises the function's exceptions, and `InvalidParamsError` for variables of wrong types.
        """
        bound = self._handler.bind(self._arguments.encode(variables), context)
        value = self._handler.begin(bound, context)
        return self._finish(uri, value) if isawaitable(value) else self._contents(uri, value)

    async def _finish(self, uri: str, value: Awaitable[Any]) -> list[ResourceContents]:
        return self._contents(uri, await value)

    def _contents(self, uri: str, value: Any) -> list[ResourceContents]:
        if isinstance(value, ResourceContents):
            return [value]
        if isinstance(value, list) and value and isinstance(value[0], ResourceContents):
            return value
        if isinstance(value, str):
            return [ResourceContents.of(uri, value, self._mime_type or "text/plain")]
        if isinstance(value, Media):
            return [ResourceContents.of(uri, value.data, self._mime_type or value.type)]
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(value)
            return [ResourceContents.of(uri, data, self._mime_type or recognized(data))]
        text = encode(value).decode()
        return [ResourceContents.of(uri, text, self._mime_type or "application/json")]


def _check(template: UriTemplate, handler: Handler) -> None:
    """Check that variables and required parameters match one another."""
    parameters = handler.parameters
    takes_any = any(each.kind == "var_keyword" for each in parameters)
    names = {each.name for each in parameters if each.kind != "var_keyword"}
    missing = [name for name in template.variables if name not in names and not takes_any]
    if missing:
        raise RegistrationError(f"nothing takes '{missing[0]}' of the template")
    extra = [it.name for it in parameters if it.required and it.name not in template.variables]
    if extra:
        raise RegistrationError(f"the template does not give parameter '{extra[0]}'")
