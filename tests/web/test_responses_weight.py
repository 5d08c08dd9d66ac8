"""How much is sent over the wire for a first look, as the browser counts it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser

from accord.web.responses import HTMX, Assets
from tests.web.house import House, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

MOST = 100_000


@pytest.mark.parametrize("path", ["/", "/requirements", "/search", "/items/REQ-012"])
async def test_a_first_page_is_light(browser: Browser, house: House, path: str) -> None:
    """With everything that it needs, and nothing kept from before."""
    received: dict[str, int] = {}
    async with visiting(browser, house) as visitor:
        session = await visitor.page.context.new_cdp_session(visitor.page)

        def count(event: dict[str, Any]) -> None:
            received[event["requestId"]] = int(event["encodedDataLength"])

        session.on("Network.loadingFinished", count)
        await session.send("Network.enable")
        await visitor.open(path)
        await visitor.page.wait_for_load_state("networkidle")
    assert HTMX not in Assets() or len(received) > 5
    assert sum(received.values()) < MOST
