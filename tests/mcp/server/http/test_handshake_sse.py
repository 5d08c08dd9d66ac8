"""HTTP+SSE of 2024-11-05, for old clients."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.mcp.server.http.service import (
    Carrier,
    Gate,
    Listening,
    Site,
    initialize,
    make_server,
    notification,
    request,
    serving,
    with_meta,
)
from tests.mcp.server.http.test_security import Tokens
from tests.patience import PATIENCE

TYPED = {"content_type": "application/json"}


async def opened(site: Site, stream: Listening) -> str:
    """Where to post, as the first event says."""
    event = await stream.event()
    assert event.event == "endpoint"
    return site.url.removesuffix("/mcp") + event.data.decode()


@pytest.mark.req("M-09")
async def test_messages_are_posted_and_answered_by_events(carrier: Carrier) -> None:
    server = make_server()
    async with serving(server, carrier, old_sse=True) as site:
        async with site.open("GET", url=f"{site.url}/sse") as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            url = await opened(site, stream)

            async def say(message: Any) -> None:
                accepted = await site.send("POST", message, url=url, **TYPED)
                assert (accepted.status, accepted.body) == (202, b"")

            await say(initialize("2024-11-05"))
            assert (await stream.message())["result"]["protocolVersion"] == "2024-11-05"
            await say(notification("notifications/initialized"))
            await say(request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, id=2))
            answer = await stream.message()
            assert (answer["id"], answer["result"]["content"][0]["text"]) == (2, "3")
            server.add_tool(lambda: "", name="another")
            assert (await stream.message())["method"] == "notifications/tools/list_changed"
            await say(b"nonsense")
            assert (await stream.message())["error"]["code"] == -32700
        await site.until(lambda: len(server.listeners) == 0)
        gone = await site.send("POST", request("ping"), url=url, **TYPED)
        assert gone.status == 404


async def test_a_client_that_leaves_ends_what_runs_for_it(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier, old_sse=True) as site:
        async with site.open("GET", url=f"{site.url}/sse") as stream:
            url = await opened(site, stream)
            for message in (
                initialize("2024-11-05"),
                notification("notifications/initialized"),
                request("tools/call", {"name": "wait"}, id=2),
            ):
                await site.send("POST", message, url=url, **TYPED)
            await gate.entered.wait()
        await asyncio.wait_for(gate.cancelled.wait(), PATIENCE)


async def test_the_rules_are_those_of_the_endpoint(carrier: Carrier) -> None:
    async with serving(carrier=carrier, old_sse=True, auth=Tokens()) as site:
        url = f"{site.url}/sse"
        ada = {"authorization": "Bearer ada", "accept": "text/event-stream"}
        evil = {"origin": "https://evil.example"}
        assert (await site.send("GET", url=url, **ada, **evil)).status == 403
        assert (await site.send("GET", url=url, **ada, host="evil.example")).status == 403
        assert (await site.send("GET", url=url, accept="text/event-stream")).status == 401
        assert (await site.send("POST", initialize(), url=url, **ada)).status == 405
        async with site.open("GET", url=url, **ada) as stream:
            messages = await opened(site, stream)
            shown = [
                (await site.send("POST", request("ping"), url=messages, **TYPED, **who)).status
                for who in (ada, {"authorization": "Bearer eve"}, {**ada, **evil})
            ]
            assert shown == [202, 404, 403]
            large = b" " * (10 * 1024 * 1024 + 1)
            assert (await site.send("POST", large, url=messages, **TYPED, **ada)).status == 413


async def test_a_server_that_closes_ends_the_streams(carrier: Carrier) -> None:
    async with (
        serving(carrier=carrier, old_sse=True) as site,
        site.open("GET", url=f"{site.url}/sse") as stream,
    ):
        await stream.event()
        await site.endpoint.close(0)
        assert await stream.rest() == []


async def test_requests_of_a_later_version_have_to_come_with_their_headers(
    carrier: Carrier,
) -> None:
    async with (
        serving(make_server(), carrier, old_sse=True) as site,
        site.open("GET", url=f"{site.url}/sse") as stream,
    ):
        url = await opened(site, stream)
        call = request("tools/call", with_meta({"name": "add", "arguments": {"a": 1, "b": 2}}))
        accepted = await site.send("POST", call, url=url, **TYPED)
        assert accepted.status == 202
        error = (await stream.message())["error"]
        assert (error["code"], error["data"]["requested"]) == (-32022, "2026-07-28")
        assert "2026-07-28" not in error["data"]["supported"]
