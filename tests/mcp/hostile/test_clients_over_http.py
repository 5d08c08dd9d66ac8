"""Our endpoint and clients that mean harm, on both carriers: every request has its answer, which
tells nothing of our insides, others are served meanwhile, and nothing is left behind."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from accord.jsonrpc.protocol.channel import Limits
from accord.mcp import Context, Server
from accord.mcp.server.http.endpoint_state import MemoryEvents
from tests.hostile.attacker import Attacker, attack, attacking
from tests.hostile.stage import MIB, bounded_memory
from tests.mcp.server.http.service import (
    ACCEPT,
    CARRIERS,
    MODERN,
    Carrier,
    Shaken,
    Site,
    initialize,
    make_server,
    modern_headers,
    notification,
    request,
    serving,
    with_meta,
)
from tests.patience import PATIENCE

LEAKS = re.compile(rb"Traceback|File \"|accord/|msgspec|site-packages|object at 0x")
"""What no client is to see of our insides."""
JSON = {**ACCEPT, "host": "127.0.0.1", "content-type": "application/json"}


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest) -> Carrier:
    chosen: Carrier = request.param
    return chosen


@asynccontextmanager
async def attacked(carrier: Carrier, **options: Any) -> AsyncIterator[tuple[Site, Shaken]]:
    """A server, and a session of somebody who means well: it works after all of it."""
    server = options.pop("server", None)
    async with serving(server, carrier, **options) as site:
        shaken = await site.session()
        with bounded_memory(16 * MIB):
            yield site, shaken
        await site.until(lambda: site.endpoint.in_flight == 0)
        await site.until(lambda: site.endpoint.pulse.streams == 0)
        assert (await shaken.request("ping", id="last")).status == 200
        assert len(site.endpoint.sessions) == 1
        assert (await shaken.end()).status == 204
        assert len(site.endpoint.server.listeners) == 0


def wire(method: str, headers: dict[str, str | list[str]], body: bytes = b"") -> bytes:
    """A request as it is sent; a header with several values stands there as often."""
    lines = [f"{method} /mcp HTTP/1.1"]
    for name, value in {**headers, "content-length": str(len(body))}.items():
        lines += [f"{name}: {each}" for each in ([value] if isinstance(value, str) else value)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


async def exchange(url: str, data: bytes) -> tuple[int, bytes]:
    """What is answered to bytes, at once or when the connection is cut."""
    async with attacking(url) as attacker:
        await attacker.send(data)
        return await answered(attacker)


async def answered(attacker: Attacker) -> tuple[int, bytes]:
    received = b""
    async with asyncio.timeout(PATIENCE):
        while not (found := re.match(rb"HTTP/1\.1 (\d+) .*?\r\n\r\n", received, re.DOTALL)):
            received += await attacker._loop.sock_recv(attacker._socket, 65_536)
        length = re.search(rb"content-length: (\d+)", found[0], re.IGNORECASE)
        while length is not None and len(received) < found.end() + int(length[1]):
            received += await attacker._loop.sock_recv(attacker._socket, 65_536)
    assert LEAKS.search(received) is None, received
    return int(found[1]), received[found.end() :]


# Headers


LIST = msgspec.json.encode(request("tools/list", with_meta({})))
CALL = msgspec.json.encode(
    request("tools/call", with_meta({"name": "add", "arguments": {"a": 1, "b": 2}}))
)
MODERN_LIST: dict[str, Any] = {**JSON, **modern_headers("tools/list", {})}
MODERN_CALL: dict[str, Any] = {**JSON, **modern_headers("tools/call", {"name": "add"})}


@pytest.mark.req("M-09", "M-17")
@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"mcp-method": "tools/list"}, 400),
        ({"mcp-method": ["tools/call", "tools/list"]}, 400),
        ({"mcp-method": ["tools/list", "tools/call"]}, 400),
        ({"mcp-method": "TOOLS/CALL"}, 400),
        ({"mcp-method": "tools/call, tools/call"}, 400),
        ({"mcp-method": "=?base64?dG9vbHMvY2FsbA==?="}, 400),
        ({"mcp-method": ""}, 400),
        ({"mcp-name": "wait"}, 400),
        ({"mcp-name": ["add", "wait"]}, 400),
        ({"mcp-name": "add\u00a0"}, 400),
        ({"mcp-name": "=?base64?YWRk?="}, 200),
        ({"mcp-name": "=?base64?YWRk"}, 400),
        ({"mcp-name": "=?base64?YW Rk?="}, 400),
        ({"mcp-name": "=?base64?////?="}, 400),
        ({"mcp-name": "=?base64??="}, 400),
        ({"mcp-name": "=?utf-8?q?add?="}, 400),
        ({"mcp-protocol-version": "2025-11-25"}, 400),
        ({"mcp-protocol-version": [MODERN, "2025-11-25"]}, 400),
        ({"mcp-protocol-version": [MODERN, MODERN]}, 400),
        ({"mcp-protocol-version": "9" * 4_000}, 400),
        ({"mcp-protocol-version": "\xff"}, 400),
        ({"mcp-session-id": "x" * 4_000}, 200),
        ({"last-event-id": "1-1"}, 200),
        ({"accept": "application/json"}, 406),
        ({"accept": "\xff\xfe"}, 406),
        ({"accept": "application/json;q=0, text/event-stream, */*;q=0"}, 406),
        ({"content-type": "application/json; charset=utf-16"}, 415),
        ({"content-type": "application/jsonx"}, 415),
        ({"content-type": "\xff"}, 415),
        ({"content-encoding": "gzip"}, 415),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1@evil.example"}, None),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "127.0.0.1.nip.io"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "http://127.0.0.1:1@evil.example"}, 403),
        ({"origin": "file://"}, 403),
        ({"origin": ["http://127.0.0.1", "https://evil.example"]}, None),
    ],
)
async def test_headers_that_say_something_else_than_the_body(
    carrier: Carrier, changed: dict[str, Any], status: int | None
) -> None:
    async with attacked(carrier) as (site, _):
        found, _ = await exchange(site.url, wire("POST", {**MODERN_CALL, **changed}, CALL))
        assert found == status if status is not None else found in (400, 403)


@pytest.mark.parametrize(
    "last",
    [
        "",
        "0",
        "1-",
        "-1",
        "1-1-1",
        "9" * 40 + "-1",
        "1-" + "9" * 15,
        "x",
        "\xb2-1",
        "1 - 1",
        "0-99",
    ],
)
async def test_events_that_nobody_sent_cannot_be_resumed_from(carrier: Carrier, last: str) -> None:
    async with attacked(carrier) as (site, shaken):
        headers: Any = {**JSON, **shaken.headers, "last-event-id": last}
        async with attacking(site.url) as attacker:
            await attacker.send(wire("GET", headers))
            status, _ = await answered(attacker)
        assert status == (400 if last else 200)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("id", ["", "x", "x" * 8_000, "../../etc/passwd", "\xff", "%00", "{}"])
async def test_sessions_that_nobody_has_are_not_found(
    carrier: Carrier, method: str, id: str
) -> None:
    body = msgspec.json.encode(request("ping")) if method == "POST" else b""
    async with attacked(carrier) as (site, _):
        status, _ = await exchange(site.url, wire(method, {**JSON, "mcp-session-id": id}, body))
        assert status in (404, 400)


# Bodies


def _members() -> list[Any]:
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    return [
        *(None, True, 7, 1.5, "text", [], [[]], deep, "\0", "\u2028", "x" * 100_000),
        *(-(2**63), 2**64, {"": ""}, {"_meta": {"_meta": {}}}, [None] * 1_000),
    ]


@pytest.mark.req("M-12")
@pytest.mark.parametrize("method", ["tools/call", "resources/read", "prompts/get", "tools/list"])
async def test_members_of_every_wrong_kind_are_refused(carrier: Carrier, method: str) -> None:
    names = ("name", "arguments", "uri", "cursor", "_meta", "requestState", "inputResponses")
    right: dict[str, Any] = {"name": "add", "arguments": {"a": 1, "b": 2}, "uri": "note://one"}
    async with serving(None, carrier) as site:
        shaken = await site.session()
        for name in names:
            for value in _members():
                params = {**right, name: value}
                answer = await shaken.request(method, **params)
                assert answer.status in (200, 400), answer
                modern = params if name == "_meta" else with_meta(params)
                headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
                headers |= {"mcp-name": "add"} if method != "resources/read" else {}
                other = await site.post(request(method, modern), **headers)
                assert other.status in (200, 400), other
                for each in (answer, other):
                    assert LEAKS.search(each.body) is None, each.body
                    assert each.body == b"" or each.json["jsonrpc"] == "2.0"


@pytest.mark.parametrize("method", ["tools/call", "resources/subscribe", "tasks/get", "initialize"])
async def test_a_request_without_an_id_does_nothing(carrier: Carrier, method: str) -> None:
    """Headers are compared with requests only: what a notification does must not need them."""
    called = 0
    server = make_server()

    @server.tool(inline=True)
    def count() -> None:
        nonlocal called
        called += 1

    params = {"name": "count", "uri": "note://one", "taskId": "x"}
    async with attacked(carrier, server=server) as (site, shaken):
        await shaken.post(notification(method, params))
        await site.post(notification(method, with_meta(params)))
        await site.post(notification(method, with_meta(params)), mcp_protocol_version=MODERN)
        assert called == 0
        assert (await shaken.call("count")).status == 200
        assert called == 1


@pytest.mark.parametrize("method", ["initialized", "cancelled", "roots/list_changed"])
async def test_a_notification_with_an_id_is_no_method(carrier: Carrier, method: str) -> None:
    async with attacked(carrier) as (_, shaken):
        answer = await shaken.request(f"notifications/{method}", requestId=1)
        assert answer.error == (200, -32601, 1)


async def test_a_broken_answer_is_refused_without_an_id(carrier: Carrier) -> None:
    async with attacked(carrier) as (_, shaken):
        both: dict[str, Any] = {"result": {}, "error": {}}
        for broken in (both, {"error": 7}):
            answer = await shaken.post({"jsonrpc": "2.0", "id": 1, **broken})
            assert answer.error == (400, -32600, None)


async def test_answers_to_questions_that_nobody_asked_are_taken_and_forgotten(
    carrier: Carrier,
) -> None:
    async with attacked(carrier) as (_, shaken):
        for number in range(50):
            answer = await shaken.post({"jsonrpc": "2.0", "id": number, "result": {"x": number}})
            assert (answer.status, answer.body) == (202, b"")


# Connections


async def test_a_request_that_breaks_off_anywhere_is_no_request(carrier: Carrier) -> None:
    async with attacked(carrier) as (site, shaken):
        old: Any = {**JSON, **shaken.headers}
        for whole in (wire("POST", MODERN_LIST, LIST), wire("POST", old, LIST), wire("GET", old)):
            for end in range(0, len(whole), 7):
                attacker = await attack(site.url)
                await attacker.send(whole[:end])
                attacker.reset() if end % 2 else attacker.leave()


async def test_streams_that_are_opened_again_and_again_take_each_others_place(
    carrier: Carrier,
) -> None:
    async with attacked(carrier) as (site, shaken):
        attackers = [await attack(site.url) for _ in range(100)]
        for attacker in attackers:
            await attacker.send(wire("GET", {**JSON, **shaken.headers}))
            assert (await answered(attacker))[0] == 200
            assert site.endpoint.pulse.streams == 1
        for attacker in attackers:
            attacker.leave()


async def test_what_a_handler_says_to_nobody_is_kept_within_limits(carrier: Carrier) -> None:
    server = Server("flood")
    done = asyncio.Event()

    @server.tool
    async def flood(context: Context) -> str:
        for number in range(3_000):
            context.info("x" * 10_000)
            if number % 100 == 0:
                await asyncio.sleep(0)
        done.set()
        return "done"

    events = MemoryEvents(max_bytes=1_000_000)
    async with attacked(carrier, server=server, events=events) as (site, shaken):
        body = msgspec.json.encode(request("tools/call", {"name": "flood"}))
        attacker = await attack(site.url)
        await attacker.send(wire("POST", {**JSON, **shaken.headers}, body))
        assert (await answered(attacker))[0] == 200
        attacker.reset()
        async with asyncio.timeout(PATIENCE):
            await done.wait()
        assert events.size <= 1_000_000


async def test_calls_beyond_the_limit_are_refused_and_the_others_answered(
    carrier: Carrier,
) -> None:
    opened = asyncio.Event()
    server = Server("slow")

    @server.tool
    async def wait() -> str:
        await opened.wait()
        return "waited"

    async with attacked(carrier, server=server, limits=Limits(max_in_flight=10)) as (site, shaken):
        params = with_meta({"name": "wait"})
        headers = modern_headers("tools/call", params)
        body = request("tools/call", params)
        waiting = [asyncio.create_task(site.post(body, **headers)) for _ in range(10)]
        await site.until(lambda: site.endpoint.in_flight == 10)
        refused = [await site.post(body, **headers) for _ in range(20)]
        assert {each.error for each in refused} == {(429, -32603, 1)}
        assert (await shaken.call("wait")).error == (429, -32010, 1)
        opened.set()
        answers = await asyncio.gather(*waiting)
        assert [each.status for each in answers] == [200] * 10


async def test_handshakes_that_are_never_finished_give_way_to_others(carrier: Carrier) -> None:
    async with serving(None, carrier) as site:
        for _ in range(50):
            assert (await site.post(initialize())).status == 200
        shaken = await site.session()
        site.endpoint.sessions.sweep(site.endpoint.now() + 61)
        assert len(site.endpoint.sessions) == 1
        assert (await shaken.request("ping")).status == 200


async def test_a_request_that_comes_too_late_does_not_begin_everything_again(
    carrier: Carrier,
) -> None:
    begun: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        begun.append("begun")
        yield
        begun.append("ended")

    server = Server("late", lifespan=lifespan)
    server.add_tool(lambda: "", name="nothing")
    async with serving(server, carrier) as site:
        assert (await site.modern("tools/list")).status == 200
        await site.endpoint.close(0)
        assert (await site.modern("tools/list")).error == (503, -32010, None)
        assert begun == ["begun", "ended"]
        await site.endpoint.start()
        assert (await site.modern("tools/list")).status == 200
    assert begun == ["begun", "ended"] * 2
