"""Answers that a browser brings to this machine."""

from __future__ import annotations

import asyncio
import webbrowser

import pytest

from accord.jsonrpc.protocol.errors import ConnectError
from accord.mcp.client.auth import AuthorizationError, MemoryStorage, OAuth
from tests.mcp.client.auth.browser import fetch
from tests.mcp.client.auth.conftest import World
from tests.patience import PATIENCE


async def test_the_answer_comes_to_a_page_of_the_program(world: World) -> None:
    async with world.client(OAuth(open_browser=world.browser.follow)) as client:
        assert (await client.call_tool("anything")).text == "done"
    ((status, page),) = world.browser.shown
    assert status == 200
    assert "You can close this page" in page
    (asked,) = world.authority.to("GET /authorize")
    assert asked.parameters["redirect_uri"].startswith("http://127.0.0.1:")


async def test_nothing_listens_once_the_answer_is_there(world: World) -> None:
    async with world.client(OAuth(open_browser=world.browser.follow)):
        pass
    (asked,) = world.authority.to("GET /authorize")
    with pytest.raises(ConnectError, match=r"127\.0\.0\.1"):
        await fetch(asked.parameters["redirect_uri"])


async def test_strangers_are_turned_away_and_do_not_end_the_wait(world: World) -> None:
    shown: list[tuple[int, bool]] = []

    async def crowded(url: str) -> None:
        answer = await world.browser.redirected(url)
        page = answer.partition("?")[0]
        for stranger in (
            page,
            f"{page}?code=evil&state=guessed",
            f"{answer}&code=twice",
            f"{page}/deeper?{answer.partition('?')[2]}",
            page.replace("/callback", "/favicon.ico"),
        ):
            status, _, body = await fetch(stranger)
            shown.append((status, "evil" in body))
        await fetch(answer)

    async with world.client(OAuth(open_browser=crowded)):
        pass
    assert shown == [(400, False), (400, False), (400, False), (404, False), (404, False)]
    (token,) = world.authority.to("POST /token")
    assert token.form["code"] == "code-1"


async def test_a_registered_port_is_used_again(world: World) -> None:
    storage = MemoryStorage()
    for _ in range(2):
        auth = OAuth(open_browser=world.browser.follow, storage=storage)
        async with world.client(auth):
            pass
        world.authority.granted.clear()
        world.authority.refresh_tokens.clear()
    first, second = (asked.parameters for asked in world.authority.to("GET /authorize"))
    assert first["redirect_uri"] == second["redirect_uri"]
    assert len(world.authority.registered) == 1


async def test_a_registered_port_that_is_taken_is_replaced(world: World) -> None:
    storage = MemoryStorage()
    async with world.client(OAuth(open_browser=world.browser.follow, storage=storage)):
        pass
    world.authority.granted.clear()
    world.authority.refresh_tokens.clear()
    (asked,) = world.authority.to("GET /authorize")
    port = int(asked.parameters["redirect_uri"].rpartition(":")[2].partition("/")[0])
    taken = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", port)
    async with taken, world.client(OAuth(open_browser=world.browser.follow, storage=storage)):
        pass
    assert len(world.authority.registered) == 2


async def test_a_fixed_port_that_is_taken_is_an_error(world: World) -> None:
    taken = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    auth = OAuth(redirect=f"http://127.0.0.1:{port}/callback", open_browser=world.browser.follow)
    async with taken:
        with pytest.raises(ConnectError, match="cannot listen"):
            async with world.client(auth):
                pass


async def test_a_browser_may_be_opened_by_a_plain_function(world: World) -> None:
    visits: list[asyncio.Task[None]] = []

    def show(url: str) -> None:
        visits.append(asyncio.get_running_loop().create_task(world.browser.follow(url)))

    async with world.client(OAuth(open_browser=show)):
        pass
    assert len(visits) == 1
    await asyncio.gather(*visits)


async def test_the_system_has_a_browser_or_the_error_says_what_to_do(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    with pytest.raises(AuthorizationError) as caught:
        async with world.client(OAuth()):
            pass
    assert "open_browser" in caught.value.advice


async def test_a_connection_that_says_nothing_does_not_hold_up_the_program(world: World) -> None:
    held: list[asyncio.StreamWriter] = []

    async def holding(url: str) -> None:
        answer = await world.browser.redirected(url)
        port = int(answer.partition("/callback")[0].rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /callback HT")
        held.append(writer)
        await fetch(answer)

    async with asyncio.timeout(PATIENCE), world.client(OAuth(open_browser=holding)):
        pass
    held[0].close()
