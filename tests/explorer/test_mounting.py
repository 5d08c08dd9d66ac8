"""The explorer wherever an endpoint can be: at a path, at the root, mounted, behind a prefix."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser
from starlette.applications import Starlette

from accord import Router, serve
from accord.openrpc.api import Api
from accord.openrpc.expose import expose
from accord.transports.asgi import AsgiEndpoint
from tests.explorer.visit import Visit, visiting
from tests.exposure.shop import make_shop
from tests.transports.asgi.service import uvicorn_serving

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]


def greeter() -> Api:
    router = Router()

    @router.method
    def greet(name: str = "you") -> str:
        """Say hello."""
        return f"Hello {name}"

    return Api(router, title="Greeter", version="1.0")


async def greet(visit: Visit) -> str:
    """Where calls go to, after one went there."""
    await visit.open("greet")
    before = await visit.page.locator("#endpoint").inner_text()
    await visit.control("name").fill("there")
    assert await visit.send() == "Result"
    assert await visit.result() == "Hello there"
    assert await visit.page.locator("#endpoint").inner_text() == before
    return before


@pytest.mark.parametrize("path", ["/rpc", "/a/b/c", "/"])
async def test_it_is_beside_an_endpoint_of_our_own_server(browser: Browser, path: str) -> None:
    api = greeter()
    async with (
        serve(api.router, f"http://127.0.0.1:0{path}", pages=api.pages) as server,
        visiting(browser, server.url.rstrip("/")) as visit,
    ):
        assert await greet(visit) == path


@pytest.mark.parametrize("path", ["/rpc", "/deep/er/rpc"])
async def test_it_is_beside_a_mounted_endpoint(browser: Browser, path: str) -> None:
    app = Starlette()
    app.mount(path, greeter())
    async with (
        uvicorn_serving(app) as port,
        visiting(browser, f"http://127.0.0.1:{port}{path}") as visit,
    ):
        assert await greet(visit) == f"{path}/"


async def test_it_is_at_the_root_where_the_endpoint_is_the_application(browser: Browser) -> None:
    async with (
        uvicorn_serving(greeter()) as port,
        visiting(browser, f"http://127.0.0.1:{port}") as visit,
    ):
        assert await greet(visit) == "/"


async def test_a_slash_at_the_end_makes_no_difference(browser: Browser) -> None:
    app = Starlette()
    app.mount("/rpc", greeter())
    async with (
        uvicorn_serving(app) as port,
        visiting(browser, f"http://127.0.0.1:{port}/rpc") as visit,
    ):
        await visit.page.goto(f"http://127.0.0.1:{port}/rpc/explore/#/method/greet")
        await visit.shows("greet")
        assert visit.page.url == f"http://127.0.0.1:{port}/rpc/explore#/method/greet"


async def test_a_server_that_spells_the_endpoint_otherwise_is_followed(browser: Browser) -> None:
    api = greeter()
    app = Starlette()
    app.mount("/rpc", AsgiEndpoint(api.router, pages=api.pages))
    async with (
        uvicorn_serving(app) as port,
        visiting(browser, f"http://127.0.0.1:{port}/rpc") as visit,
    ):
        await visit.open("greet")
        assert await visit.page.locator("#endpoint").inner_text() == "/rpc"
        assert await visit.send() == "Result"
        assert await visit.page.locator("#endpoint").inner_text() == "/rpc/"


async def test_an_exposed_application_can_be_explored(browser: Browser) -> None:
    app = make_shop()
    app.mount("/rpc", expose(app))
    async with (
        uvicorn_serving(app) as port,
        visiting(browser, f"http://127.0.0.1:{port}/rpc") as visit,
    ):
        await visit.open()
        titles = await visit.page.evaluate(
            """async () => {
                const titles = [];
                for (const link of document.querySelectorAll("#list a")) {
                    const changed = new Promise((done) => addEventListener("hashchange", done, { once: true }));
                    link.click();
                    await changed;
                    titles.push(document.querySelector("#method h1 span").textContent);
                }
                return titles;
            }"""
        )
        assert titles == await visit.methods()
        assert len(titles) > 20
        await visit.open("rpc.discover")
        assert await visit.send() == "Result"
        assert (await visit.result())["openrpc"] == "1.3.2"


async def test_an_api_may_have_no_explorer() -> None:
    api = Api(Router(), title="Plain", version="1.0", explorer=False)
    assert list(api.pages) == ["openrpc.json"]
