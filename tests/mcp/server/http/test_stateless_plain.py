"""Plain JSON-RPC at an endpoint of MCP: no session, no version, JSON alone."""

from __future__ import annotations

from typing import Any

import pytest

from accord.mcp import Server
from accord.mcp.protocol.messages import failure
from accord.mcp.protocol.versions import Era
from tests.mcp.server.http.service import (
    Carrier,
    initialize,
    make_server,
    notification,
    request,
    serving,
)

LISTED = ["add", "report", "wait", "report_and_wait", "let_go", "ask_name"]


def call(tool: str, *, id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": arguments}, id=id)


async def test_a_call_needs_no_handshake(carrier: Carrier) -> None:
    async with serving(carrier=carrier, plain=True) as site:
        answer = await site.post(call("add", a=1, b=2), accept="application/json")
        assert answer.status == 200
        assert answer.json["result"]["structuredContent"] == {"result": 3}
        assert "mcp-session-id" not in answer.headers
        listed = await site.post(request("tools/list"), accept="*/*")
        assert [tool["name"] for tool in listed.json["result"]["tools"]] == LISTED


async def test_what_comes_before_an_answer_is_not_told() -> None:
    async with serving(plain=True) as site:
        params = {"name": "report", "arguments": {}, "_meta": {"progressToken": 1}}
        answer = await site.post(request("tools/call", params))
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["result"]["content"] == [{"type": "text", "text": "reported"}]


async def test_a_batch_is_answered_by_an_array() -> None:
    async with serving(plain=True) as site:
        told = notification("notifications/initialized")
        batch = [call("add", id="a", a=1, b=1), told, call("report", id="b"), {"id": 3}]
        answer = await site.post(batch)
        assert [each.get("id") for each in answer.json] == ["a", "b", 3]
        assert answer.json[2]["error"]["code"] == -32600
        alone = await site.post([told])
        assert (alone.status, alone.body) == (202, b"")


@pytest.mark.req("M-12")
async def test_each_id_of_a_batch_is_checked() -> None:
    async with serving(plain=True) as site:
        answer = await site.post([call("add", id=id, a=1, b=1) for id in (1, None, 1, True, "1")])
    reasons = [each.get("error", {}).get("data", {}).get("reason") for each in answer.json]
    invalid, conflict = "request_id_invalid", "request_id_conflict"
    assert reasons == [None, invalid, conflict, invalid, None]
    assert [each["id"] for each in answer.json] == [1, None, 1, None, "1"]


async def test_a_notification_is_accepted() -> None:
    async with serving(plain=True) as site:
        answer = await site.post(notification("notifications/initialized"))
        assert (answer.status, answer.body) == (202, b"")


async def test_what_is_no_message_is_a_bad_request() -> None:
    async with serving(plain=True) as site:
        assert (await site.post(b"{")).error == (400, -32700, None)
        assert (await site.post({"jsonrpc": "2.0", "id": 1})).error == (400, -32600, 1)
        assert (await site.post(request("nope"))).error == (200, -32601, 1)
        assert (await site.post([])).error == (400, -32600, None)


@pytest.mark.parametrize("method", ["resources/subscribe", "logging/setLevel"])
async def test_what_needs_a_session_is_refused_without_one(method: str) -> None:
    async with serving(plain=True) as site:
        assert (await site.post(request(method, {}))).error == (400, -32600, 1)


async def test_sessions_and_versions_are_served_as_ever() -> None:
    async with serving(plain=True) as site:
        shaken = await site.session()
        assert (await shaken.call("add", a=1, b=2)).status == 200
        assert (await site.call_modern("add", a=1, b=2)).json["result"]["resultType"] == "complete"
        began = await site.post(initialize())
        assert "mcp-session-id" in began.headers
        stale = await site.post(call("add", a=1, b=2), mcp_protocol_version="2025-11-25")
        assert stale.error == (400, -32600, 1)


async def test_without_the_option_a_session_is_required() -> None:
    async with serving() as site:
        assert (await site.post(call("add", a=1, b=2))).error == (400, -32600, 1)


async def test_a_client_that_may_come_again_is_told_when() -> None:
    server: Server = make_server()

    @server.tool
    async def busy() -> str:
        raise failure("rate_limited", "too many", era=Era.HANDSHAKE, retryAfter=1.2)

    async with serving(server, plain=True) as site:
        answer = await site.post(call("busy"))
        assert answer.error == (429, -32010, 1)
        assert answer.headers["retry-after"] == "2"
        shaken = await site.session()
        assert (await shaken.call("busy")).headers["retry-after"] == "2"
