"""Two endpoints that share a store, in one process: whose sessions are, how many and how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from accord.mcp import Server
from accord.mcp.server.auth import StaticTokens
from accord.mcp.server.http.endpoint import McpEndpoint
from accord.mcp.server.http.endpoint_state import MemoryEvents
from accord.mcp.server.http.sessions import SessionLimits
from accord.mcp.server.session import Principal
from accord.mcp.server.task_store import MemoryTaskStore, TaskSettings
from accord.store import StoreError, open_store
from tests.mcp.server.http.service import (
    CARRIERS,
    PATIENCE,
    Carrier,
    Gate,
    Shaken,
    Site,
    initialize,
    make_server,
    request,
    serving,
)

TOKENS = StaticTokens({"ada": Principal(subject="ada"), "bob": Principal(subject="bob")})


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/shared.db"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers whose hearts beat fast."""
    monkeypatch.setattr("accord.mcp.server.cluster.worker.BEAT_SECONDS", 0.02)
    monkeypatch.setattr("accord.mcp.server.cluster.worker.SWEEP_BEATS", 1)


@asynccontextmanager
async def both(url: str, carrier: Carrier = "own", **options: Any) -> AsyncIterator[list[Site]]:
    async with AsyncExitStack() as stack:
        sites = [
            await stack.enter_async_context(serving(None, carrier, shared=url, **options))
            for _ in range(2)
        ]
        yield sites


def at(site: Site, shaken: Shaken) -> Shaken:
    """The same session at another endpoint."""
    return replace(shaken, site=site)


@pytest.mark.req("M-18")
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_endpoints_on_every_carrier_share(url: str, carrier: Carrier) -> None:
    async with both(url, carrier) as (first, second):
        shaken = await first.session()
        assert (await at(second, shaken).call("add", a=1, b=2)).json["result"]["content"] == [
            {"type": "text", "text": "3"}
        ]
        assert (await at(second, shaken).end()).status == 204
        assert (await shaken.call("add", a=1, b=2)).status == 404


@pytest.mark.req("M-17", "M-18")
async def test_a_session_is_its_owners_everywhere(url: str) -> None:
    async with both(url, auth=TOKENS) as (first, second):
        shaken = await first.session(authorization="Bearer ada")
        theirs = replace(at(second, shaken), further={"authorization": "Bearer bob"})
        assert (await at(second, shaken).call("add", a=1, b=2)).status == 200
        assert (await theirs.call("add", a=1, b=2)).status == 404
        assert (await theirs.end()).status == 404
        assert (await shaken.call("add", a=1, b=2)).status == 200


async def test_sessions_are_counted_together(url: str) -> None:
    async with both(url, session_limits=SessionLimits(max_sessions=2)) as (first, second):
        shaken = [await site.session() for site in (first, second)]
        await at(second, shaken[0]).request("ping")
        newest = await second.session()
        answers = [await it.request("ping") for it in (*shaken, newest)]
        assert [answer.status for answer in answers] == [200, 404, 200]


async def test_sessions_of_one_principal_are_counted_together(url: str) -> None:
    limits = SessionLimits(max_per_principal=1)
    async with both(url, auth=TOKENS, session_limits=limits) as (first, second):
        shaken = [
            await site.session(authorization=f"Bearer {who}")
            for site, who in ((first, "ada"), (first, "bob"), (second, "ada"))
        ]
        answers = [await it.request("ping") for it in shaken]
        assert [answer.status for answer in answers] == [404, 200, 200]


async def test_a_session_that_is_in_use_does_not_give_way(url: str) -> None:
    async with both(url, session_limits=SessionLimits(max_sessions=1)) as (first, second):
        shaken = await first.session()
        async with shaken.listening() as listening:
            await listening.event()
            assert (await first.post(initialize())).status == 503
            assert (await second.post(initialize())).status == 503
        await first.until(lambda: first.endpoint.pulse.streams == 0)
        assert (await first.post(initialize())).status == 200


@pytest.mark.usefixtures("fast")
async def test_sessions_that_nobody_uses_end_everywhere(url: str) -> None:
    limits = SessionLimits(idle_seconds=0.3, handshake_seconds=0.3)
    async with both(url, session_limits=limits) as (first, second):
        used, unused = [await first.session() for _ in range(2)]
        await at(second, unused).request("ping")
        async with at(second, used).listening() as listening:
            await listening.event()
            await first.until(lambda: len(first.endpoint.sessions) == 1)
            await second.until(lambda: len(second.endpoint.sessions) == 1)
            assert (await unused.request("ping")).status == 404
            assert (await used.request("ping")).status == 200
        await first.until(lambda: len(first.endpoint.sessions) == 0)
        await second.until(lambda: len(second.endpoint.sessions) == 0)


@pytest.mark.usefixtures("fast")
async def test_a_handshake_that_is_not_completed_ends(url: str) -> None:
    limits = SessionLimits(idle_seconds=60, handshake_seconds=0.1)
    async with both(url, session_limits=limits) as (first, _):
        assert (await first.post(initialize())).status == 200
        await first.until(lambda: len(first.endpoint.sessions) == 0)


async def test_nothing_is_left_when_a_session_is_over(url: str) -> None:
    gate = Gate()
    async with (
        serving(make_server(gate), shared=url) as first,
        serving(shared=url) as second,
        open_store(url) as store,
    ):
        shaken = await first.session()
        async with shaken.listening() as announced, shaken.calling("report_and_wait") as call:
            await announced.event()
            assert (await call.message())["params"]["data"] == "begun"
            assert (await at(second, shaken).end()).status == 204
            assert (await announced.rest(), await call.rest()) == ([], [])
            await gate.cancelled.wait()
        assert [len(site.endpoint.sessions) for site in (first, second)] == [0, 0]
        assert first.endpoint.in_flight == 0
        for table in ("mcp_sessions", "mcp_streams", "mcp_events", "mcp_mail"):
            assert await store.fetch(f"SELECT * FROM {table}") == [], table


async def test_other_workers_go_on_with_the_sessions_of_one_that_leaves(url: str) -> None:
    async with serving(shared=url) as second:
        async with serving(shared=url) as first:
            shaken = await first.session()
            async with shaken.listening() as listening:
                last = (await listening.event()).id
        moved = at(second, shaken)
        assert (await moved.request("ping")).status == 200
        async with moved.listening(last or "") as listening:
            assert (await listening.event()).id != last
            second.endpoint.server.tools.remove("add")
            changed = await listening.message()
            assert changed["method"] == "notifications/tools/list_changed"


@pytest.mark.usefixtures("fast")
async def test_a_worker_that_was_taken_for_gone_comes_back(url: str) -> None:
    async with both(url) as (first, second), open_store(url) as store:
        shaken = await first.session()
        await at(second, shaken).request("ping")
        async with shaken.listening() as listening:
            await listening.event()
            await store.execute("UPDATE mcp_workers SET seen = 0")
            await store.execute("UPDATE mcp_sessions SET listener = NULL")
            async with asyncio.timeout(PATIENCE):
                # Nobody tells of it: only the database knows.
                while len(await store.fetch("SELECT id FROM mcp_workers WHERE seen > 0")) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            await shaken.request("ping")
            second.endpoint.server.tools.remove("add")
            changed = await listening.message()
            assert changed["method"] == "notifications/tools/list_changed"


async def test_what_is_over_the_limit_cannot_be_resumed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.mcp.server.cluster.events.MAX_PER_SESSION", 3)
    async with both(url) as (first, second), open_store(url) as store:
        shaken = await first.session()
        params = {"name": "report", "arguments": {"steps": 9}, "_meta": {"progressToken": 1}}
        body = request("tools/call", params)
        async with first.open("POST", body, **shaken.headers) as calling:
            primed = await calling.event()
            events = [await calling.event() for _ in range(10)]
        async with asyncio.timeout(PATIENCE):
            while not await store.fetch("SELECT * FROM mcp_streams WHERE is_over = 1"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        found = []
        for last in (primed, events[5], events[6], events[9]):
            headers = {**shaken.headers, "last-event-id": last.id or ""}
            found.append(await second.send("GET", None, accept="text/event-stream", **headers))
        assert [reply.status for reply in found] == [400, 400, 200, 200]
        assert [event.id for event in found[2].events] == [event.id for event in events[7:]]


@pytest.mark.parametrize(
    "last", ["0-0", "1000000009-0", "7000000001-3", "x", "1-99999999999999999"]
)
async def test_streams_that_are_unknown_cannot_be_resumed(url: str, last: str) -> None:
    async with both(url) as (first, second):
        shaken = await first.session()
        for site in (first, second):
            headers = {**shaken.headers, "last-event-id": last, "accept": "text/event-stream"}
            assert (await site.send("GET", None, **headers)).status == 400


@pytest.mark.parametrize("id", [1, 0, -5, 5_000_000_001, -1_000_000_001, 2**60, "x"])
async def test_answers_to_what_nobody_asked_leave_nothing(url: str, id: Any) -> None:
    async with both(url) as (first, second), open_store(url) as store:
        shaken = at(second, await first.session())
        done = await shaken.post({"jsonrpc": "2.0", "id": id, "result": {}})
        assert done.status == 202
        assert (await shaken.request("ping")).status == 200
        assert await store.fetch("SELECT * FROM mcp_mail WHERE worker > 2") == []


async def test_a_store_that_fails_is_an_error_and_no_end(url: str, tmp_path: Path) -> None:
    async with serving(shared=url) as site, open_store(url) as store:
        shaken = await site.session()
        await store.execute("ALTER TABLE mcp_sessions RENAME TO gone")
        assert (await shaken.request("ping")).status == 500
        await store.execute("ALTER TABLE gone RENAME TO mcp_sessions")
        assert (await shaken.request("ping")).status == 200


async def test_a_store_that_cannot_be_opened_is_said_when_serving_begins(tmp_path: Path) -> None:
    server = make_server()
    with pytest.raises(StoreError, match="cannot open"):
        await server.serve("http://127.0.0.1:0/mcp", shared=f"sqlite://{tmp_path}/nowhere/x.db")


async def test_own_keys_and_an_own_store_of_tasks_stay(url: str) -> None:
    tasks = MemoryTaskStore()
    server = Server("own", state_keys=[b"k" * 32], tasks=TaskSettings(store=tasks))
    async with server.serve("http://127.0.0.1:0/mcp", shared=url):
        assert server.core.tasks.store is tasks


def test_http_sse_and_own_stores_are_not_shared(url: str) -> None:
    for options in ({"old_sse": True}, {"events": MemoryEvents()}):
        with pytest.raises(ValueError, match="`shared` keeps"):
            McpEndpoint(make_server(), shared=url, **options)
