"""The methods of `accord demo`, called in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import Raw

from accord import InvalidParamsError, Peer, Router, RpcError, connect, serve
from accord.cli.demo import Report, demo_router

pytestmark = pytest.mark.req("F-07", "RPC-4.2a", "RPC-4.2b")


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    ours = Router()
    ours.add(lambda *args: ["called with", *args], name="called")
    async with serve(demo_router(), "memory:demo"), connect("memory:demo", ours) as connected:
        yield connected


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("add", [1, 2], 3),
        ("add", {"a": 1, "b": 2.5}, 3.5),
        ("add", [10**30, 1], 10**30 + 1),
        ("subtract", [42, 23], 19),
        ("subtract", {"subtrahend": 23, "minuend": 42}, 19),
        ("sum", [], 0),
        ("sum", [1, 2, 4.5], 7.5),
        ("sleep", [0], None),
        ("sleep", {"seconds": 0.001}, None),
        ("echo", {"value": None}, None),
        ("call_back", ["called", [1, {"a": 2}]], ["called with", 1, {"a": 2}]),
        ("call_back", {"method": "called", "params": []}, ["called with"]),
        ("call_back", ["called"], ["called with"]),
    ],
)
async def test_methods_answer(peer: Peer, method: str, params: Any, result: object) -> None:
    assert await peer.call(method, params) == result


@pytest.mark.parametrize(
    "text",
    [b"1.10", b"123456789012345678901234567890", b'"\\u0041"', b"-0.0", b"1E5", b'{"b":1,"a":[]}'],
)
async def test_echo_returns_a_value_to_the_last_digit(peer: Peer, text: bytes) -> None:
    assert bytes(await peer.call("echo", [Raw(text)], into=Raw)) == text


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("add", [1]),
        ("add", ["1", 2]),
        ("add", [True, 2]),
        ("add", {"a": 1, "c": 2}),
        ("add", [1e308, 1e308]),
        ("add", [10**400, 1.5]),
        ("sum", {"numbers": [1]}),
        ("sleep", [-1]),
        ("sleep", [100_000]),
        ("fail", ["7", "no"]),
        ("crash", [1]),
        ("call_back", ["called", 1]),
    ],
)
async def test_wrong_params_are_refused(peer: Peer, method: str, params: Any) -> None:
    with pytest.raises(InvalidParamsError):
        await peer.call(method, params)


@pytest.mark.req("F-09")
@pytest.mark.parametrize("data", [None, 0, {"why": [1, 2]}])
async def test_fail_answers_with_the_error_it_is_given(peer: Peer, data: object) -> None:
    with pytest.raises(RpcError) as caught:
        await peer.call("fail", [-1234, "on purpose", data])
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -1234,
        "on purpose",
        data,
    )


@pytest.mark.req("F-26")
async def test_crash_tells_nothing_but_a_correlation_id(peer: Peer) -> None:
    with pytest.raises(RpcError) as caught:
        await peer.call("crash")
    assert (caught.value.code, caught.value.message) == (-32603, "Internal error")
    assert caught.value.data.keys() == {"reason", "correlationId"}


async def test_an_error_of_the_caller_comes_back(peer: Peer) -> None:
    with pytest.raises(RpcError, match="Method not found: nope"):
        await peer.call("call_back", ["nope", []])


async def test_stats_without_a_server_are_empty(peer: Peer) -> None:
    assert await peer.call("stats", into=Report) == Report()
