"""A whole installation that runs in the test's own process, and people with browsers in it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Page

from accord.app.runtime import open_runtime
from accord.app.settings import Settings
from accord.app.system import System, open_system, prepare
from accord.hub.demo_project import demo_operation
from accord.operations.arguments import convert
from accord.operations.auth.credentials import COOKIE
from accord.operations.context import Caller, Role
from accord.store import Store
from tests.browser import Watched

SECONDS = 15_000.0
"""How many milliseconds something may take to appear."""
PASSWORD = "correct horse battery staple"
ADMIN = "admin"


class House:
    """The system, and what operators do on the machine itself."""

    def __init__(self, system: System, settings: Settings, stays: AsyncExitStack) -> None:
        self.system = system
        self.settings = settings
        self.stays = stays
        """What is there as long as the house is, such as agents."""
        self._sessions: dict[str, str] = {}

    @property
    def url(self) -> str:
        return self.system.url

    async def do(self, operation: str, /, by: str = ADMIN, **arguments: Any) -> Any:
        """The result of an operation, as somebody who has signed in."""
        runner = self.system.runtime.runner
        found = runner.registry[operation]
        caller = await self.caller(by)
        return (await runner.run(found, lambda: convert(found, arguments), caller)).result

    async def caller(self, username: str) -> Caller:
        return await caller_of(self.system.runtime.store, username)

    async def add_person(self, username: str, role: Role) -> None:
        """Somebody whose password is `PASSWORD`."""
        await self.do("create_user", username=username, role=role, password=PASSWORD)

    async def session(self, username: str = ADMIN) -> str:
        """The token of a session of somebody whose password is `PASSWORD`."""
        if username not in self._sessions:
            signed_in = await self.system.runtime.accounts.sign_in(username, PASSWORD, face="web")
            self._sessions[username] = signed_in.token
        return self._sessions[username]

    async def enter(self, context: BrowserContext, username: str = ADMIN) -> None:
        """Have a browser be signed in as somebody."""
        await context.add_cookies(
            [{"name": COOKIE, "value": await self.session(username), "url": self.url}]
        )


class Visitor(Watched):
    """Somebody with a page open."""

    def __init__(self, house: House, page: Page) -> None:
        super().__init__(page, house.url, patience=SECONDS)
        self.house = house

    async def open(self, path: str) -> None:
        await self.page.goto(f"{self.house.url}{path}")

    @property
    def path(self) -> str:
        """Where the page is, with its query."""
        parts = urlsplit(self.page.url)
        return parts.path + (f"?{parts.query}" if parts.query else "")


async def caller_of(store: Store, username: str) -> Caller:
    """Somebody who has signed in."""
    [row] = await store.fetch("SELECT id, username, role FROM users WHERE username = $1", username)
    return Caller(
        user_id=row["id"], username=row["username"], role=row["role"], via="session", face="web"
    )


def settings_for(data: Path, **more: Any) -> Settings:
    return Settings(data=str(data), port=0, rate_limit=0, log_level="error", **more)


async def make(data: Path, *, demo: bool) -> None:
    """The data of an installation whose administrator's password is `PASSWORD`; with `demo` it has
    the sample project."""
    settings = settings_for(data)
    first = await prepare(settings)
    assert first is not None
    async with open_runtime(settings) as local:
        await local.runner.run(
            local.runner.registry["change_own_password"],
            {"current_password": first.password, "new_password": PASSWORD},
            await caller_of(local.store, ADMIN),
        )
        if demo:
            await local.runner.run(demo_operation(), {}, await caller_of(local.store, ADMIN))


@asynccontextmanager
async def housed(made: Path, data: Path, **more: Any) -> AsyncIterator[House]:
    """A system that runs on a copy of what was made."""
    shutil.copytree(made, data)
    settings = settings_for(data, **more)
    async with open_system(settings) as system, AsyncExitStack() as stays:
        yield House(system, settings, stays)


@asynccontextmanager
async def visiting(
    browser: Browser, house: House, username: str = ADMIN, **context: Any
) -> AsyncIterator[Visitor]:
    """A browser of somebody's own; with an empty name of nobody's. Fails if anything goes wrong in
    it that the test did not take out of `faults`."""
    opened = await browser.new_context(**context)
    try:
        if username:
            await house.enter(opened, username)
        visitor = Visitor(house, await opened.new_page())
        yield visitor
        assert visitor.faults == []
    finally:
        await opened.close()
