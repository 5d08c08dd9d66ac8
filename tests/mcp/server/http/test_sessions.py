"""The handshake era over HTTP: sessions, from `initialize` to their end."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from accord.mcp.server.http.http_session import HttpSession
from accord.mcp.server.http.sessions import MemorySessions, SessionLimits
from tests.mcp.server.http.service import (
    Carrier,
    Gate,
    initialize,
    make_server,
    notification,
    request,
    serving,
)
from tests.patience import PATIENCE

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.mark.req("M-01", "M-09")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_session_in_every_version(version: str) -> None:
    async with serving() as site:
        answer = await site.post(initialize(version))
        assert answer.status == 200
        assert answer.json["result"]["protocolVersion"] == version
        # 2025-11-25, transports: visible ASCII characters, and hard to guess
        assert re.fullmatch(r"[\x21-\x7e]{43}", answer.headers["mcp-session-id"])
        shaken = await site.session(version)
        called = await shaken.call("add", a=1, b=2)
        assert called.headers["content-type"] == "application/json"
        assert called.json["result"]["content"] == [{"type": "text", "text": "3"}]


async def test_a_session_from_its_beginning_to_its_end(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        shaken = await site.session()
        assert len(site.endpoint.sessions) == 1
        assert (await shaken.request("ping")).json["result"] == {}
        ended = await shaken.end()
        assert (ended.status, ended.body) == (204, b"")
        assert (await shaken.request("ping")).error == (404, -32600, 1)
        assert (await shaken.end()).status == 404
        assert len(site.endpoint.sessions) == 0


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_request_needs_a_session_that_exists(method: str) -> None:
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    async with serving() as site:
        body = request("ping") if method == "POST" else None
        missing = await site.send(method, body, **headers)
        assert missing.status == 400
        assert "Mcp-Session-Id is missing" in missing.json["error"]["message"]
        unknown = await site.send(method, body, mcp_session_id="guessed", **headers)
        assert unknown.status == 404


@pytest.mark.req("M-02")
async def test_nothing_is_served_before_the_handshake_is_complete() -> None:
    async with serving() as site:
        id = (await site.post(initialize())).headers["mcp-session-id"]
        early = await site.post(request("tools/list"), mcp_session_id=id)
        assert early.error == (200, -32005, 1)
        assert (await site.post(request("ping"), mcp_session_id=id)).json["result"] == {}
        again = await site.post(initialize(), mcp_session_id=id)
        assert again.error == (200, -32005, 1)


async def test_an_initialize_that_fails_begins_no_session() -> None:
    async with serving() as site:
        answer = await site.post(request("initialize", {"protocolVersion": 7}))
        assert answer.error == (200, -32602, 1)
        assert "mcp-session-id" not in answer.headers
        assert len(site.endpoint.sessions) == 0
        silent = await site.post(notification("initialize", initialize()["params"]))
        assert silent.status == 400


@pytest.mark.req("M-03")
@pytest.mark.parametrize(
    ("header", "status"),
    [
        (None, 200),
        ("2025-11-25", 200),
        ("2025-06-18", 200),  # it should be the negotiated one, and need not
        ("2020-01-01", 400),
        ("2030-01-01", 400),
        ("nonsense", 400),
    ],
)
async def test_the_version_header_in_a_session(header: str | None, status: int) -> None:
    async with serving() as site:
        shaken = await site.session()
        headers = {"mcp_session_id": shaken.id}
        if header is not None:
            headers["mcp_protocol_version"] = header
        answer = await site.post(request("ping"), **headers)
        assert answer.status == status
        if status == 400:
            assert answer.json["error"]["data"]["requested"] == header


async def test_a_version_that_is_not_spoken_is_answered_with_another() -> None:
    async with serving() as site:
        for asked in ("2030-01-01", "2026-07-28", "1.0"):
            answer = await site.post(initialize(asked), mcp_protocol_version="2026-07-28")
            assert answer.json["result"]["protocolVersion"] == "2025-11-25"


async def test_sessions_that_are_not_used_expire() -> None:
    # On a busy machine a handshake may take most of a second.
    limits = SessionLimits(idle_seconds=2, handshake_seconds=2)
    async with serving(session_limits=limits, pulse_seconds=0.01) as site:
        idle = await site.session()
        await site.post(initialize())  # and never heard of again
        listening = await site.session()
        async with listening.listening() as stream:
            await stream.event()
            await site.until(lambda: len(site.endpoint.sessions) == 1)
            assert (await idle.request("ping")).status == 404
            assert (await listening.request("ping")).status == 200
        await site.until(lambda: len(site.endpoint.sessions) == 0)


async def test_a_session_whose_request_is_served_does_not_expire() -> None:
    gate = Gate()
    limits = SessionLimits(idle_seconds=1)
    async with serving(make_server(gate), session_limits=limits, pulse_seconds=0.01) as site:
        shaken = await site.session()
        call = asyncio.create_task(shaken.call("wait"))
        await gate.entered.wait()
        await asyncio.sleep(2)
        gate.opened.set()
        assert (await call).status == 200


async def test_too_many_sessions_make_the_oldest_give_way() -> None:
    async with serving(session_limits=SessionLimits(max_sessions=3)) as site:
        first, second = await site.session(), await site.session()
        await site.post(initialize())  # one that never completes its handshake goes first
        third = await site.session()
        assert [(await it.request("ping")).status for it in (second, first, third)] == [200] * 3
        fourth = await site.session()
        shown = [(await it.request("ping")).status for it in (first, second, third, fourth)]
        assert shown == [200, 404, 200, 200]


async def test_sessions_that_are_in_use_do_not_give_way() -> None:
    async with serving(session_limits=SessionLimits(max_sessions=1)) as site:
        shaken = await site.session()
        async with shaken.listening() as stream:
            await stream.event()
            refused = await site.post(initialize())
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert refused.json["error"]["data"] == {"reason": "busy", "retryAfter": 1}
        await site.until(lambda: site.endpoint.pulse.streams == 0)
        assert (await site.post(initialize())).status == 200


async def test_an_ended_session_takes_everything_with_it(carrier: Carrier) -> None:
    gate = Gate()
    server = make_server(gate)
    async with serving(server, carrier) as site:
        shaken = await site.session()
        async with shaken.listening() as announcements, shaken.calling("report_and_wait") as call:
            await announcements.event()
            assert (await call.message())["params"]["data"] == "begun"
            assert (await shaken.end()).status == 204
            assert await announcements.rest() == []
            assert await call.rest() == []
        await asyncio.wait_for(gate.cancelled.wait(), PATIENCE)
        assert len(server.listeners) == 0
        assert site.endpoint.pulse.streams == 0
        assert vars(site.endpoint.events)["count"] == 0


@pytest.mark.req("M-12")
async def test_an_id_that_is_in_use_is_refused() -> None:
    gate = Gate()
    async with serving(make_server(gate)) as site:
        shaken = await site.session()
        call = asyncio.create_task(shaken.call("wait", id=7))
        await gate.entered.wait()
        assert (await shaken.request("ping", id=7)).error == (400, -32600, 7)
        assert (await shaken.request("ping", id="7")).status == 200
        gate.opened.set()
        await call
        assert (await shaken.request("ping", id=7)).status == 200


async def test_a_request_is_cancelled_by_a_notification_only(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier) as site:
        shaken = await site.session()
        call = asyncio.create_task(shaken.call("wait", id=7))
        await gate.entered.wait()
        cancelled = notification("notifications/cancelled", {"requestId": 7, "reason": "enough"})
        assert (await shaken.post(cancelled)).status == 202
        answer = await call
        assert gate.cancelled.is_set()
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
        assert answer.body == b""


async def test_a_client_that_leaves_cancels_nothing(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier) as site:
        shaken = await site.session()
        call = asyncio.create_task(shaken.call("wait"))
        await gate.entered.wait()
        call.cancel()
        assert (await shaken.request("ping", id=2)).status == 200
        assert site.endpoint.in_flight == 1
        gate.opened.set()
        await site.until(lambda: site.endpoint.in_flight == 0)
        assert not gate.cancelled.is_set()


async def test_a_place_for_sessions_that_takes_its_time() -> None:
    class Slow(MemorySessions):
        def find(self, id: str, principal: Any) -> Any:
            return self._find(id, principal)

        async def _find(self, id: str, principal: Any) -> HttpSession | None:
            await asyncio.sleep(0)
            return super().find(id, principal)

    async with serving(sessions=Slow()) as site:
        shaken = await site.session()
        assert (await shaken.call("add", a=1, b=2)).status == 200
        assert (await shaken.end()).status == 204
        assert (await shaken.end()).status == 404
