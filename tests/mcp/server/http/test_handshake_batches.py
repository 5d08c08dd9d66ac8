"""Batches: taken where the version has them, else where that is configured."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.jsonrpc.protocol.channel import Limits
from tests.mcp.server.http.service import (
    Carrier,
    Gate,
    initialize,
    make_server,
    notification,
    request,
    serving,
    with_meta,
)


@pytest.mark.req("M-13")
@pytest.mark.parametrize(
    ("version", "batches", "status"),
    [
        ("2025-03-26", True, 200),
        ("2025-03-26", False, 200),
        ("2025-06-18", True, 200),
        ("2025-06-18", False, 400),
        ("2025-11-25", True, 200),
        ("2025-11-25", False, 400),
    ],
)
async def test_where_batches_are_taken(version: str, batches: bool, status: int) -> None:
    async with serving(batches=batches) as site:
        shaken = await site.session(version)
        answer = await shaken.post([request("ping", id=1), request("ping", id="b")])
        assert answer.status == status
        if status == 200:
            assert answer.json == [
                {"jsonrpc": "2.0", "id": 1, "result": {}},
                {"jsonrpc": "2.0", "id": "b", "result": {}},
            ]
        else:
            assert answer.error == (400, -32600, None)


@pytest.mark.req("M-13")
async def test_the_stateless_era_has_no_batches() -> None:
    async with serving() as site:
        batch = [request("tools/list", with_meta({}))]
        assert (await site.post(batch)).error == (400, -32600, None)
        assert (
            await site.post([request("tools/list")], mcp_protocol_version="2026-07-28")
        ).error == (400, -32600, None)
        shaken = await site.session("2025-03-26")
        assert (await shaken.post(batch)).error == (400, -32600, None)


async def test_answers_stand_in_the_order_of_their_requests(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier) as site:
        shaken = await site.session("2025-03-26")
        calls = [
            request("tools/call", {"name": "wait"}, id=1),
            notification("notifications/roots/list_changed"),
            request("ping", id=2),
            {"jsonrpc": "2.0", "id": None, "method": "ping"},
            request("ping", id=2),
            {"nonsense": True},
            request("nope", id=3),
        ]
        asked = asyncio.create_task(shaken.post(calls))
        await gate.entered.wait()
        gate.opened.set()
        answer = await asked
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        shown = [(it["id"], it.get("error", {}).get("code")) for it in answer.json]
        assert shown == [(1, None), (2, None), (None, -32600), (2, -32600), (None, -32600),
                         (3, -32601)]  # fmt: skip


async def test_what_is_said_first_makes_a_stream_of_single_answers(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        shaken = await site.session("2025-03-26")
        params = {"name": "report", "_meta": {"progressToken": 1}}
        answer = await shaken.post([request("ping", id=1), request("tools/call", params, id=2)])
        assert answer.headers["content-type"] == "text/event-stream"
        shown = [message.get("id", message.get("method")) for message in answer.messages]
        assert shown == [1, "notifications/progress", "notifications/progress", 2]


async def test_a_batch_that_asks_nothing_is_accepted() -> None:
    async with serving() as site:
        shaken = await site.session("2025-03-26")
        batch: list[Any] = [
            notification("notifications/roots/list_changed"),
            {"jsonrpc": "2.0", "id": 1, "result": {}},
        ]
        answer = await shaken.post(batch)
        assert (answer.status, answer.body) == (202, b"")


async def test_a_batch_needs_a_session_and_a_bounded_size() -> None:
    async with serving(limits=Limits(max_batch_items=2)) as site:
        assert (await site.post([initialize()])).error == (400, -32600, None)
        shaken = await site.session("2025-03-26")
        assert (await shaken.post([request("ping", id=n) for n in range(3)])).error == (
            400, -32600, None,
        )  # fmt: skip
        assert (await shaken.post([])).error == (400, -32600, None)
        again = await shaken.post([initialize()])
        assert again.json[0]["error"]["code"] == -32005
