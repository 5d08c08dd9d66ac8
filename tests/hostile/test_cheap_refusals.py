"""Refusing is cheap wherever messages come from, the way to the dispatcher and back included."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from time import thread_time_ns
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from accord import serve
from accord.a2a.protocol.calls import read_answer
from accord.a2a.protocol.errors import MalformedAnswerError
from accord.a2a.protocol.fields import Wire
from accord.a2a.server.agent import Agent
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.errors import TransportError
from accord.jsonrpc.protocol.framing import SseDecoder
from accord.mcp import Server as McpServer
from accord.mcp.client.streamable_http import reply_to
from accord.mcp.server.serving import serve as serve_mcp
from accord.transports.http.requester import Response as Streamed
from accord.transports.http.responses import Response, answer_in
from tests.hostile.attacker import Attacker, attacking, on_wire
from tests.hostile.cost import ATTEMPTS, RUNS, assert_refused_cheaply, bound
from tests.hostile.messages import CALL, CASES, KIB, Case, filled
from tests.hostile.stage import URLS
from tests.jsonrpc.protocol.test_diagnosis import router

SIZE: Final = 256 * KIB
NAMES: Final = (
    "a batch of numbers",
    "a batch of large numbers",
    "a batch of batches",
    "a batch of empty objects",
    "too many calls",
    "an array of arrays, 120 deep",
    "too deep, never closed",
    "too deep at the end of flat arrays",
    "rubbish behind",
    "another version at the end",
    "an unknown method",
    "unknown params",
    "a huge method name",
)
some_cases = pytest.mark.parametrize(
    "case", [case for case in CASES if case.name in NAMES], ids=lambda case: case.name
)


async def assert_cheap(attacker: Attacker, hostile: bytes, valid: bytes) -> None:
    """Assert the bound for what two sequences of bytes cost, each with its answer."""
    refused = served = 1 << 62
    gc.disable()
    try:
        for _ in range(ATTEMPTS):
            for _ in range(RUNS):
                refused = min(refused, await _cost(attacker, hostile))
                served = min(served, await _cost(attacker, valid))
            if refused <= bound(served, len(hostile)):
                return
    finally:
        gc.enable()
    raise AssertionError(
        f"refusing costs {refused / 1000:,.0f} µs, serving {served / 1000:,.0f} µs"
    )


async def _cost(attacker: Attacker, data: bytes) -> int:
    begun = thread_time_ns()
    await attacker.send(data)
    await attacker.answers(1)
    return thread_time_ns() - begun


@pytest.mark.req("F-31")
@pytest.mark.parametrize("scheme", URLS)
@some_cases
async def test_a_transport_refuses_cheaply(scheme: str, case: Case) -> None:
    async with (
        serve(router, URLS[scheme], drain=0) as server,
        attacking(server.url) as attacker,
    ):
        hostile, valid = (on_wire(scheme, make(SIZE)) for make in (case.hostile, case.valid))
        await assert_cheap(attacker, hostile, valid)


def posted(path: str, body: bytes) -> bytes:
    return (
        b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nA2A-Version: 1.0\r\n"
        b"Content-Length: %d\r\n\r\n%b"
    ) % (path.encode(), len(body), body)


@pytest.mark.req("F-31")
@some_cases
async def test_mcp_refuses_cheaply(case: Case) -> None:
    mcp = McpServer("numbers")

    @mcp.tool(inline=True)
    def count(data: Any) -> int:
        return 0

    hostile = case.hostile(SIZE)
    inside = _params(case)
    valid = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"data":%b}}}' % inside  # fmt: skip
    async with (
        serve_mcp(mcp, "http://127.0.0.1:0/mcp", plain=True, limits=Limits()) as serving,
        attacking(serving.url) as attacker,
    ):
        await attacker.send(posted("/mcp", valid))
        (answer,) = await attacker.answers(1)
        assert answer["result"]["structuredContent"] == {"result": 0}
        await assert_cheap(attacker, posted("/mcp", hostile), posted("/mcp", valid))


def tool_call(name: bytes, data: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        b'{"name":"%b","arguments":{"data":%b}}}' % (name, data)
    )


@pytest.mark.req("F-31")
@pytest.mark.parametrize("size", [20 * KIB, 256 * KIB], ids="{:,}".format)
@pytest.mark.parametrize("unit", [b"1.0", b"1.5", b"[]", b'"e"', b'"1.0,"', b'"",1.0', b"1e2"])
async def test_arguments_that_are_no_integers_are_refused_cheaply(unit: bytes, size: int) -> None:
    mcp = McpServer("numbers")

    @mcp.tool(inline=True)
    def add(data: list[int]) -> int:
        return sum(data)

    @mcp.tool(inline=True)
    def count(data: Any) -> int:
        return 0

    hostile = posted("/mcp", tool_call(b"add", filled(size, unit, b"[2.0,", b',"x"]')))
    valid = posted("/mcp", tool_call(b"count", filled(size, unit, b"[2.0,", b',"x"]')))
    async with (
        serve_mcp(mcp, "http://127.0.0.1:0/mcp", plain=True, limits=Limits()) as serving,
        attacking(serving.url) as attacker,
    ):
        await attacker.send(hostile)
        (answer,) = await attacker.answers(1)
        assert answer["result"]["isError"]
        await assert_cheap(attacker, hostile, valid)


@pytest.mark.req("F-31")
@some_cases
async def test_an_agent_refuses_cheaply(case: Case) -> None:
    agent = Agent("quiet", description="says nothing")

    @agent.skill
    async def listen(text: str) -> str:
        return ""

    inside = _params(case)
    valid = (
        b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m",'
        b'"role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"data":%b}}}}' % inside
    )
    async with (
        agent.serve("http://127.0.0.1:0/a2a") as serving,
        attacking(serving.url) as attacker,
    ):
        await attacker.send(posted("/a2a", valid))
        (answer,) = await attacker.answers(1)
        assert "result" in answer
        await assert_cheap(attacker, posted("/a2a", case.hostile(SIZE)), posted("/a2a", valid))


def _params(case: Case) -> bytes:
    """The params of the valid message, or others where it has none that may stand deeper."""
    valid = case.valid(SIZE)
    if b"[" * 100 in valid or not valid.startswith(CALL):
        valid = filled(SIZE, b"1", CALL + b"[", b"]}")
    return valid[len(CALL) : -1]


# What clients read


ANSWER: Final = b'{"jsonrpc":"2.0","id":"1","result":{"data":['


def read_by_http(body: bytes) -> None:
    with suppress(TransportError):
        answer_in(Response(200, body), b'{"jsonrpc":"2.0","id":1,"method":"m"}')


def read_by_mcp(body: bytes) -> None:
    with suppress(TransportError):
        reply_to("1", cast(Streamed, SimpleNamespace(status=200, headers={})), body)


def read_by_a2a(body: bytes) -> None:
    with suppress(MalformedAnswerError):
        read_answer(body, "1", Wire.V10)


@pytest.mark.req("F-31")
@pytest.mark.parametrize("read", [read_by_http, read_by_mcp, read_by_a2a])
@some_cases
def test_a_client_refuses_an_answer_cheaply(read: Callable[[bytes], None], case: Case) -> None:
    if read is read_by_a2a and case.name == "rubbish behind":
        return  # agents' answers are repaired where that can be, which takes Python's `json`
    hostile = case.hostile(SIZE)
    valid = ANSWER + _params(case) + b"]}}"
    if case.name == "too many calls":  # a batch of answers, of which all must be looked at
        valid = filled(SIZE, b'{"jsonrpc":"2.0","id":1,"result":1}', b"[", b"]")
    assert_refused_cheaply(lambda: read(hostile), lambda: read(valid), SIZE)


@pytest.mark.req("F-31")
@pytest.mark.parametrize(
    "line",
    [b"\n", b"\r\n", b"\r", b":\n", b"x\n", b"da\n", b"data\n", b"id\n", b"id:1\n", b"retry:1\n"],
)
def test_a_stream_of_events_without_events_costs_no_more_than_one_with(line: bytes) -> None:
    hostile = line * (SIZE // len(line))
    event = b"data:1\n\n"  # the shortest there is
    valid = event * (SIZE // len(event))
    assert_refused_cheaply(
        lambda: SseDecoder(SIZE * 2).feed(hostile), lambda: SseDecoder().feed(valid), SIZE
    )
