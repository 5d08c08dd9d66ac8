"""A web application that stands behind a server: which of its routes, and how it lives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from accord.exposure.find import find_routes
from accord.exposure.in_process import InProcess, InProcessLimits
from accord.exposure.routes import Naming, Route, Select, Selection, name_routes, select
from accord.mcp.server.from_app import RouteResource, RouteTool
from accord.mcp.server.from_router import plain_name
from accord.mcp.server.server_state import ServerState


class Application:
    """The selected routes of an application.

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
        """Add a tool, or a resource, for each route."""
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
