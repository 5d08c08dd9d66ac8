"""Routes of a web application as tools and resources, called in process.

A call passes the application's own middleware, authentication and validation, as over HTTP.
`accord.exposure` decides which routes are used and how they are named.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.exposure.find import find_routes
from accord.exposure.in_process import InProcess, InProcessLimits
from accord.exposure.request_body import described
from accord.exposure.routes import (
    Naming,
    Route,
    RouteParameter,
    Select,
    Selection,
    name_routes,
    select,
)
from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError, RpcError
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
)
from accord.mcp.protocol.definitions import Resource, ResourceTemplate, Tool, ToolAnnotations
from accord.mcp.protocol.messages import CallToolResult, Profile
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.content import BYTES_URI, content_result, error_result, is_object
from accord.mcp.server.components.parameters import checked_input, output_schema
from accord.mcp.server.components.resources import ResourceNotFoundError, ServedResource
from accord.mcp.server.components.tools import (
    ServedTool,
    check_name,
    failed_result,
    refused_arguments,
)
from accord.mcp.server.context import Context
from accord.mcp.server.server_state import ServerState
from accord.mcp.server.sources.from_router import plain_name
from accord.schema.bundle import Bundle

MAX_SHOWN: Final = 2_000
"""The maximum length in characters of the body of an HTTP error in the text for the model."""

_decode_arguments = msgspec.json.Decoder(dict[str, Raw]).decode
_HINTS: Final = {
    "GET": ToolAnnotations(read_only_hint=True),
    "HEAD": ToolAnnotations(read_only_hint=True),
    "PUT": ToolAnnotations(read_only_hint=False, idempotent_hint=True),
    "DELETE": ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True),
}
"""Hints for tools by HTTP method, from the properties of methods (RFC 9110, section 9.2)."""


class RouteTool(ServedTool):
    """A route as a tool.

    Raises RegistrationError for a route that cannot be called by its description.
    """

    __slots__ = ("_in_process", "_output", "_route")

    def __init__(self, in_process: InProcess, route: Route, name: str) -> None:
        in_process.prepare(route)
        super().__init__(
            Tool(
                name=check_name("tool", name),
                title=route.summary,
                description=_description(route),
                input_schema=_input_schema(route),
                annotations=_HINTS.get(route.method),
            )
        )
        self._in_process = in_process
        self._route = route
        success = route.success
        schema = None if success is None else success.schema
        self._output = None if schema is None or schema.value in ({}, True) else schema

    def output_schema(self, era: Era) -> dict[str, Any] | None:
        schema = self._output
        return output_schema(schema, era, is_object=schema is not None and is_object(schema))

    async def call(
        self,
        arguments: Raw | UnsetType,
        context: Context,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult:
        try:
            values = {} if arguments is UNSET else _decode_arguments(arguments)
            value = await call_route(self._in_process, self._route, values, context)
            return self._result(value, era)
        except REFUSALS:
            return error_result("arguments: expected an object")
        except InvalidParamsError as error:
            return refused_arguments(error, era, profile)
        except RpcError as error:
            return error_result(_error_text(error))
        except Exception as error:  # noqa: BLE001 - the application may raise anything
            return failed_result(self.definition.name, error)

    def _result(self, value: Any, era: Era) -> CallToolResult:
        if not isinstance(value, Raw):
            return content_result(_block(value) if _is_file(value) else value)
        data = bytes(value)
        text = content_result(data.decode()).content
        if self._output is None and data[:1] != b"{":
            return CallToolResult(content=text)
        if era is Era.HANDSHAKE and data[:1] != b"{":
            data = b'{"result":%b}' % data
        return CallToolResult(content=text, structured_content=Raw(data))


class RouteResource(ServedResource):
    """A GET route as a resource, or as a template if it has parameters.

    Raises RegistrationError for a route with required parameters outside of the URL.
    """

    __slots__ = ("_in_process", "_route")

    def __init__(self, in_process: InProcess, route: Route, name: str, *, scheme: str) -> None:
        in_process.prepare(route)
        uri, variables = _template(route, scheme)
        kind = "" if route.success is None else route.success.media_type
        title, description = route.summary, _description(route)
        super().__init__(
            ResourceTemplate(
                uri_template=uri, name=name, title=title, description=description, mime_type=kind
            )
            if variables
            else Resource(uri=uri, name=name, title=title, description=description, mime_type=kind)
        )
        self._in_process = in_process
        self._route = route

    async def read(
        self, uri: str, variables: dict[str, Any], context: Context
    ) -> list[ResourceContents]:
        try:
            value = await call_route(self._in_process, self._route, variables, context)
        except RpcError as error:
            if isinstance(error.data, dict) and error.data.get("status") in (404, 410):
                raise ResourceNotFoundError(uri) from None
            raise
        kind = self.definition.mime_type
        if isinstance(value, Raw):
            text = bytes(value).decode()
            return [ResourceContents.of(uri, text, kind or "application/json")]
        if _is_file(value):
            return [ResourceContents(uri=uri, blob=value["data"], mime_type=value["mediaType"])]
        text = "" if value is None else value if isinstance(value, str) else encode(value).decode()
        return [ResourceContents.of(uri, text, kind or "text/plain")]


async def call_route(
    in_process: InProcess, route: Route, arguments: Mapping[str, Any], context: Context
) -> Any:
    """Call a route and return the value in its answer.

    The application can read the principal from `request.state.principal`.
    """
    state = {"principal": context.principal}
    return await in_process.call(
        route, arguments, headers=context.headers, scope={"client": None, "state": state}
    )


def _input_schema(route: Route) -> dict[str, Any]:
    bundle = Bundle(refs="#/$defs/", dialect="2020-12")
    properties: dict[str, Any] = {}
    for each in route.parameters:
        parameter = described(route, each)
        value = bundle.add(parameter.schema)
        properties[parameter.name] = _described(value, parameter)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [each.name for each in route.parameters if each.required]
    if required:
        schema["required"] = required
    if bundle.definitions:
        schema["$defs"] = bundle.definitions
    return checked_input(schema)


def _described(value: Any, parameter: RouteParameter) -> Any:
    if not isinstance(value, dict):
        return value
    described: dict[str, Any] = {}
    if parameter.description:
        described["description"] = parameter.description
    if parameter.default is not UNSET:
        described["default"] = parameter.default
    return {**value, **described} if described else value


def _description(route: Route) -> str:
    description = route.description or route.summary or str(route)
    return f"Deprecated. {description}" if route.deprecated else description


def _template(route: Route, scheme: str) -> tuple[str, list[str]]:
    """Return the URI or URI template of a route, and the names of its variables."""
    path, query = route.path, []
    for parameter in route.parameters:
        if parameter.location == "path":
            sign = "+" if parameter.slashes else ""
            path = path.replace(f"{{{parameter.wire_name}}}", f"{{{sign}{parameter.name}}}")
        elif parameter.location == "query" and not parameter.members:
            query.append(parameter.name)
        elif parameter.required:
            raise RegistrationError(
                f"{route} cannot be a resource: '{parameter.name}' is no part of a URL"
            )
    variables = [each.name for each in route.parameters if each.location == "path"] + query
    return f"{scheme}://{path}{{?{','.join(query)}}}" if query else f"{scheme}://{path}", variables


def _is_file(value: Any) -> bool:
    return isinstance(value, dict) and {"mediaType", "data"} <= value.keys()


def _block(value: dict[str, str]) -> Content:
    kind, data = value["mediaType"], value["data"]
    if kind.startswith("image/"):
        return ImageContent(data=data, mime_type=kind)
    if kind.startswith("audio/"):
        return AudioContent(data=data, mime_type=kind)
    return EmbeddedResource(resource=ResourceContents(uri=BYTES_URI, blob=data, mime_type=kind))


def _error_text(error: RpcError) -> str:
    """Return the message and the details of an application's error, for a model."""
    body = error.data.get("body") if isinstance(error.data, dict) else None
    details = list(body.values()) if isinstance(body, dict) else [body]
    if all(each is None or (isinstance(each, str) and each in error.message) for each in details):
        return error.message
    text = body if isinstance(body, str) else encode(body).decode()
    return f"{error.message}\n{text[:MAX_SHOWN]}"


class Application:
    """The routes of a web application that are selected as tools and resources.

    Raises `RegistrationError` for duplicate names, and for a pattern that selects nothing.
    """

    def __init__(
        self,
        app: Any,
        *,
        include: Selection = (),
        exclude: Selection = (),
        naming: Naming = "operation",
        resources: Selection | None = None,
        scheme: str = "app",
        forward: Iterable[str] = ("authorization",),
        openapi: Mapping[str, Any] | None = None,
        start_app: bool = True,
        limits: InProcessLimits | None = None,
    ) -> None:
        chosen = select(find_routes(app, openapi=openapi), include=include, exclude=exclude)
        self._routes = name_routes(chosen, naming=naming)
        self._resources = _readable(chosen, resources)
        self._in_process = InProcess(app, forward=forward, limits=limits)
        self._scheme = scheme
        self._start_app = start_app
        about = _about(app, openapi)
        self.name = about.get("title") or "app"
        self.version = about.get("version") or "0"

    def fill(self, server: ServerState) -> None:
        """Add a tool or a resource to `server` for each selected route."""
        for name, route in self._routes.items():
            if any(route is each for each in self._resources):
                resource = RouteResource(
                    self._in_process, route, plain_name(name), scheme=self._scheme
                )
                server.resources.add(resource.address, resource)
            else:
                tool = RouteTool(self._in_process, route, plain_name(name))
                server.tools.add(tool.definition.name, tool)

    @asynccontextmanager
    async def lifespan(self, server: ServerState) -> AsyncIterator[None]:
        """Run the application's own lifespan, unless `start_app` is false."""
        if self._start_app:
            async with self._in_process:
                yield
            return
        try:
            yield
        finally:
            await self._in_process.drain()


def _readable(routes: list[Route], chosen: Selection | None) -> list[Route]:
    if chosen is None:
        return []
    return select([each for each in routes if Select(method="GET").matches(each)], include=chosen)


def _about(app: Any, openapi: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the title and version of an application."""
    info = (openapi or {}).get("info")
    if isinstance(info, dict):
        return {key: str(info.get(key, "")) for key in ("title", "version")}
    found = {key: getattr(app, key, "") for key in ("title", "version")}
    return {key: value for key, value in found.items() if isinstance(value, str)}
