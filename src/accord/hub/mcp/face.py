"""`hub_server`: the hub as assistants see it, in every version of the protocol.

Tools come from the operations; resources, prompts and completions are added here. All of it needs
somebody who calls: serve it with an authenticator that gives principals their `Caller`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from accord import __version__
from accord.hub.mcp.completions import add_completions
from accord.hub.mcp.feed import Feed
from accord.hub.mcp.guard import Guard
from accord.hub.mcp.listed import ListedItems
from accord.hub.mcp.prompts import ActivePrompt, StoredPrompts
from accord.hub.mcp.resources import PROMPT_FORBIDDEN, ROWS, HubResource
from accord.mcp.protocol.codes import Profile
from accord.mcp.server.auth.authenticator import Authenticator
from accord.mcp.server.limits import McpLimits
from accord.mcp.server.server import Server
from accord.operations.faces.tools import add_tools
from accord.operations.faces.tools_caller import introduced
from accord.operations.runner import Runner

NAME: Final = "accord-hub"
REST: Final = "Whole items are in their resources, such as requirement://REQ-001."
ONE_PAGE: Final = 10_000
"""Large enough to list all tools, and all templates, in one page."""


class _Version:
    """A counter that grows with every change of the hub known to this process."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self) -> int:
        return self._number

    def move(self) -> None:
        self._number += 1


def hub_server(
    runner: Runner,
    *,
    auth: Authenticator | None = None,
    codes: Profile = "standard",
    limits: McpLimits | None = None,
) -> Server:
    """Return the MCP server of a hub.

    Clients are notified of changes while the server runs; of changes by other processes only if
    `announce_change` is among the recorders.
    """
    version = _Version()

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        async with feed.running():
            yield

    server = Server(
        NAME,
        version=__version__,
        title="Accord requirements hub",
        instructions=ActivePrompt(runner, version).told_to,
        lifespan=lifespan,
        auth=auth,
        codes=codes,
        limits=limits,
        page_size=ONE_PAGE,
    )
    server.introduce = introduced
    feed = Feed(server, runner.store, version.move)
    # Caches must be stale at once after a write of this process, before its notification.
    runner.listen(lambda outcome, caller, operation: feed.wrote(outcome.change_id))
    server.guards.append(Guard(runner))
    add_tools(server, runner, rest=REST, forbidden={"prompts": PROMPT_FORBIDDEN})
    for row in ROWS:
        if runner.registry.get(row.operation) is not None:
            server.resources.add(row.uri, HubResource(row, runner, feed.watch))
    server.resource_source = ListedItems(runner.store, version)
    server.prompt_source = StoredPrompts(runner, version)
    add_completions(server, runner.store)
    return server
