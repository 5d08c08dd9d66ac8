"""The stateless era over HTTP: every request for itself (2026-07-28, Streamable HTTP)."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from accord.mcp import Context, Server
from tests.mcp.server.http.service import (
    MODERN,
    Carrier,
    Gate,
    Listening,
    Site,
    make_server,
    modern_headers,
    notification,
    request,
    serving,
    with_meta,
)
from tests.patience import PATIENCE

SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "shop", "version": "1.0"}}


@pytest.mark.req("M-01", "M-09")
async def test_a_tool_is_called_and_answered_by_json(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        answer = await site.call_modern("add", a=1, b=2)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert "mcp-session-id" not in answer.headers
        assert answer.json == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "resultType": "complete",
                "_meta": SERVER,
                "content": [{"type": "text", "text": "3"}],
                "structuredContent": 3,
            },
        }


async def test_what_is_said_before_the_answer_makes_it_a_stream(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        params = with_meta({"name": "report", "arguments": {}}, progressToken="p")
        answer = await site.post(
            request("tools/call", params), **modern_headers("tools/call", params)
        )
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-accel-buffering"] == "no"
        first, second, last = answer.messages
        assert [first["params"], second["params"]] == [
            {"progressToken": "p", "progress": 1, "total": 2},
            {"progressToken": "p", "progress": 2, "total": 2},
        ]
        assert (last["id"], last["result"]["content"][0]["text"]) == (1, "reported")
        assert {event.id for event in answer.events} == {""}  # streams cannot be resumed


async def test_an_endpoint_answers_with_and_without_a_slash_behind_it(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        site.url += "/"
        assert (await site.call_modern("add", a=1, b=2)).status == 200


@pytest.mark.parametrize(
    ("method", "params", "headers", "error"),
    [
        ("nope", with_meta({}), {}, (404, -32601)),
        ("initialize", with_meta({}), {}, (404, -32601)),
        ("ping", with_meta({}), {}, (404, -32601)),
        ("tools/list", {}, {}, (400, -32602)),
        (
            "tools/list",
            {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}},
            {},
            (400, -32602),
        ),
        ("tools/list", with_meta({}), {"mcp_protocol_version": "2025-11-25"}, (400, -32020)),
        ("tools/list", with_meta({}), {"mcp_method": "tools/call"}, (400, -32020)),
        ("tools/call", with_meta({"name": "add"}), {"mcp_name": "sub"}, (400, -32020)),
        ("tools/call", with_meta({"name": "nope"}), {}, (200, -32602)),
        (
            "tools/list",
            with_meta({}, "2030-01-01"),
            {"mcp_protocol_version": "2030-01-01"},
            (400, -32022),
        ),
        ("tools/list", {}, {"mcp_protocol_version": "2030-01-01"}, (400, -32022)),
        ("tools/list", 7, {}, (400, -32600)),
        ("tools/list", with_meta({"cursor": "nope"}), {}, (200, -32602)),
    ],
)
@pytest.mark.req("M-11")
async def test_errors_have_the_status_that_goes_with_them(
    method: str, params: Any, headers: dict[str, str], error: tuple[int, int]
) -> None:
    async with serving() as site:
        given = {**modern_headers(method, params if isinstance(params, dict) else {})}
        given = {name.replace("-", "_"): value for name, value in given.items()}
        answer = await site.post(request(method, params, id="x"), **{**given, **headers})
        assert answer.error == (*error, "x")


@pytest.mark.parametrize("missing", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_a_required_header_that_is_missing(missing: str) -> None:
    params = with_meta({"name": "add", "arguments": {"a": 1, "b": 2}})
    headers = modern_headers("tools/call", params)
    del headers[missing]
    async with serving() as site:
        answer = await site.post(request("tools/call", params), **headers)
        assert answer.error == (400, -32020, 1)
        assert answer.json["error"]["data"] == {"reason": "header_mismatch"}


async def test_a_version_that_is_not_spoken_is_answered_with_those_that_are() -> None:
    async with serving() as site:
        params = with_meta({}, "1999-01-01")
        headers = {"mcp_protocol_version": "1999-01-01", "mcp_method": "tools/list"}
        answer = await site.post(request("tools/list", params), **headers)
        assert answer.status == 400
        assert answer.json["error"]["data"] == {
            "reason": "unsupported_protocol_version",
            "supported": [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "requested": "1999-01-01",
        }


async def test_a_header_that_repeats_an_argument_is_compared_with_it() -> None:
    server = Server("sql")

    async def execute(query: str, region: str = "") -> str:
        return region

    tool = server.add_tool(execute)
    tool.definition.input_schema["properties"]["region"]["x-mcp-header"] = "Region"
    async with serving(server) as site:

        async def call(arguments: dict[str, Any], **headers: str) -> tuple[int, Any]:
            params = with_meta({"name": "execute", "arguments": arguments})
            given = {**modern_headers("tools/call", params), **headers}
            answer = await site.post(request("tools/call", params), **given)
            return answer.status, answer.json.get("error", {}).get("code")

        assert await call({"query": "", "region": "eu"}, mcp_param_region="eu") == (200, None)
        assert await call({"query": "", "region": "eu"}, mcp_param_region="us") == (400, -32020)
        assert await call({"query": "", "region": "eu"}) == (400, -32020)
        assert await call({"query": ""}) == (200, None)


async def test_annotations_that_are_not_allowed_are_not_checked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("sql")

    async def execute(rows: list[str]) -> str:
        return "executed"

    tool = server.add_tool(execute)
    tool.definition.input_schema["properties"]["rows"]["x-mcp-header"] = "Rows"
    async with serving(server) as site:
        answer = await site.call_modern("execute", rows=[])
        assert answer.json["result"]["content"][0]["text"] == "executed"
    assert "are not checked" in caplog.text


async def test_a_name_in_escapes_is_compared_as_what_it_means() -> None:
    body = b"""{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "wait", "na\\u006de": "add", "arguments": {"a": 1, "b": 2},
        "_m\\u0065ta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}}"""
    async with serving() as site:
        headers = modern_headers("tools/call", {"name": "wait"})
        assert (await site.post(body, **headers)).error == (400, -32020, 1)
        # The version in the body decides the era also inside of a session.
        shaken = await site.session()
        assert (await shaken.post(body)).error == (400, -32020, 1)


async def test_a_notification_is_accepted_without_a_word(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        body = notification("notifications/cancelled", with_meta({"requestId": 1}))
        answer = await site.post(body, mcp_protocol_version=MODERN)
        assert (answer.status, answer.body) == (202, b"")
        answer = await site.post(notification("nope"), mcp_protocol_version=MODERN)
        assert (answer.status, answer.body) == (202, b"")


async def test_a_client_that_leaves_cancels_its_request(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier) as site:
        params = with_meta({"name": "wait"})
        call = asyncio.create_task(
            site.post(request("tools/call", params), **modern_headers("tools/call", params))
        )
        await gate.entered.wait()
        call.cancel()
        await asyncio.wait_for(gate.cancelled.wait(), PATIENCE)
        await site.until(lambda: site.endpoint.in_flight == 0)


async def test_a_client_that_leaves_its_stream_cancels_its_request(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier) as site:
        params = with_meta({"name": "report_and_wait"}, **{LOG_LEVEL: "info"})
        headers = modern_headers("tools/call", params)
        async with site.open("POST", request("tools/call", params), **headers) as stream:
            assert (await stream.message())["params"]["data"] == "begun"
        await asyncio.wait_for(gate.cancelled.wait(), PATIENCE)
        await site.until(lambda: site.endpoint.in_flight == site.endpoint.pulse.streams == 0)


LOG_LEVEL = "io.modelcontextprotocol/logLevel"


async def test_a_request_that_takes_long_becomes_a_stream(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier, pulse_seconds=0.02) as site:
        params = with_meta({"name": "wait"})
        headers = modern_headers("tools/call", params)
        async with site.open("POST", request("tools/call", params), **headers) as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            gate.opened.set()
            (answer,) = await stream.rest()
            assert answer["result"]["content"][0]["text"] == "waited"


async def listen(site: Site, **wanted: Any) -> AbstractAsyncContextManager[Listening]:
    params = with_meta({"notifications": wanted})
    headers = modern_headers("subscriptions/listen", params)
    return site.open("POST", request("subscriptions/listen", params, id="s"), **headers)


@pytest.mark.req("M-05", "M-14")
async def test_changes_arrive_on_the_stream_that_listens_for_them(carrier: Carrier) -> None:
    server = make_server()
    tag = {"io.modelcontextprotocol/subscriptionId": "s"}
    async with serving(server, carrier) as site:
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["note://one"]}
        async with await listen(site, **wanted) as stream:
            assert await stream.message() == {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": tag, "notifications": wanted},
            }
            server.add_tool(lambda: "", name="another")
            assert await stream.message() == {
                "jsonrpc": "2.0",
                "method": "notifications/tools/list_changed",
                "params": {"_meta": tag},
            }
            server.resource_updated("note://other")
            server.resource_updated("note://one")
            assert (await stream.message())["params"] == {"_meta": tag, "uri": "note://one"}
        await site.until(lambda: len(server.listeners) == 0)


async def test_a_server_that_closes_ends_what_listens_with_an_answer(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site, await listen(site) as stream:
        await stream.message()
        closing = asyncio.create_task(site.endpoint.close(5))
        (answer,) = await stream.rest()
        assert (answer["id"], answer["result"]["resultType"]) == ("s", "complete")
        await closing


async def test_there_is_neither_get_nor_delete_in_this_version(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        for method in ("GET", "DELETE"):
            answer = await site.send(
                method, mcp_protocol_version=MODERN, accept="text/event-stream"
            )
            assert (answer.status, answer.headers["allow"]) == (405, "POST")


async def test_a_server_without_handshakes(carrier: Carrier) -> None:
    async with serving(carrier=carrier, handshake=False) as site:
        for method in ("GET", "DELETE"):
            answer = await site.send(method, mcp_session_id="x", accept="text/event-stream")
            assert (answer.status, answer.headers["allow"]) == (405, "POST")
        params = with_meta({"name": "add", "arguments": {"a": 1, "b": 2}})
        headers = modern_headers("tools/call", params)
        answer = await site.post(request("tools/call", params), mcp_session_id="x", **headers)
        assert answer.status == 200  # a session id is ignored


async def test_a_tool_in_a_thread_tells_of_progress() -> None:
    server = Server("threads")

    @server.tool
    def count(context: Context) -> str:
        for step in range(3):
            context.progress(step + 1, 3)
        return "counted"

    async with serving(server) as site:
        params = with_meta({"name": "count"}, progressToken=1)
        answer = await site.post(
            request("tools/call", params), **modern_headers("tools/call", params)
        )
        *told, last = answer.messages
        assert [message["params"]["progress"] for message in told] == [1, 2, 3]
        assert last["result"]["content"][0]["text"] == "counted"
