"""A server that wants tokens, and an authorization server that gives them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord.mcp import Client
from accord.mcp.client.auth import OAuth
from accord.mcp.client.auth_hook import Auth
from tests.mcp.client.auth.authority import Authority
from tests.mcp.client.auth.browser import REDIRECT, Browser
from tests.mcp.client.auth.service import Service
from tests.mcp.client.auth.site import served


class World:
    """Everyone who takes part."""

    def __init__(self) -> None:
        self.authority = Authority()
        self.service = Service(self.authority)
        self.browser = Browser()

    def oauth(self, **options: Any) -> OAuth:
        """A user's tokens, with whom everything goes well."""
        settings = {"redirect": REDIRECT, "redirect_handler": self.browser.redirected, **options}
        return OAuth(**settings)

    def client(self, auth: Auth | None = None, **options: Any) -> Client:
        auth = self.oauth() if auth is None else auth
        return Client(self.service.endpoint, auth=auth, mode="modern", **options)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """All of them running, with metadata where it belongs."""
    world = World()
    async with served(world.authority, world.service):
        world.authority.publish()
        world.service.publish()
        yield world
