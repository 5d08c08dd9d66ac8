"""Ten times what the limits allow, of everything that has a limit."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

from accord import (
    BusyError,
    ConnectionLostError,
    Limits,
    Router,
    ServerLimits,
    TransportError,
    connect,
)
from accord.jsonrpc.runtime.calls import Call
from tests.hostile.attacker import (
    PATIENCE,
    Attacker,
    attack,
    attacking,
    call,
    on_wire,
    open_files,
    until,
)
from tests.hostile.stage import MIB, bounded_memory, every_transport, served

BOTH_LOOPS = True
KIB = 1024
BUSY, TOO_LARGE, INVALID = -32010, -32012, -32600


class Gate:
    """A method that returns when the test says so."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self.router = Router()
        self.router.add(self._wait, "wait")

    async def _wait(self) -> str:
        await self._open.wait()
        return "done"

    def open(self) -> None:
        self._open.set()


@pytest.mark.req("F-28")
@pytest.mark.parametrize("scheme", ["tcp", "ws"])
async def test_calls_beyond_those_that_may_run_at_once_are_refused_as_busy(scheme: str) -> None:
    gate = Gate()
    async with (
        served(scheme, gate.router, limits=Limits(max_in_flight=10)) as server,
        attacking(server.url) as attacker,
    ):
        for id in range(100):
            await attacker.say(call("wait", id=id))
        refused = await attacker.answers(90)
        assert [(answer["id"], answer["error"]["code"]) for answer in refused] == [
            (id, BUSY) for id in range(10, 100)
        ]
        assert server.in_flight == 10
        gate.open()
        answers = await attacker.answers(10)
        assert {(answer["id"], answer["result"]) for answer in answers} == {
            (id, "done") for id in range(10)
        }


@pytest.mark.req("F-28")
async def test_calls_of_a_crowd_over_http_beyond_those_that_may_run_are_refused_as_busy() -> None:
    gate = Gate()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            served("http", gate.router, limits=Limits(max_in_flight=10))
        )
        attackers = [await stack.enter_async_context(attacking(server.url)) for _ in range(100)]
        for attacker in attackers[:10]:
            await attacker.say(call("wait"))
        await until(lambda: server.in_flight == 10)
        for attacker in attackers[10:]:
            await attacker.say(call("wait"))
            (answer,) = await attacker.answers(1)
            assert answer["error"]["code"] == BUSY
        gate.open()
        for attacker in attackers[:10]:
            (answer,) = await attacker.answers(1)
            assert answer["result"] == "done"


@pytest.mark.req("F-28")
@pytest.mark.parametrize("scheme", ["tcp", "ws"])
async def test_notifications_beyond_those_that_may_run_at_once_are_dropped(scheme: str) -> None:
    gate = Gate()
    notification = json.dumps({"jsonrpc": "2.0", "method": "wait"}).encode()
    async with (
        served(scheme, gate.router, limits=Limits(max_in_flight=10)) as server,
        attacking(server.url) as attacker,
    ):
        for _ in range(100):
            await attacker.say(notification)
        await attacker.say(call("plus_one", [1]))
        assert await attacker.answers(1) == [{"jsonrpc": "2.0", "id": 1, "result": 2}]
        assert (server.in_flight, server.statistics.requests_refused) == (10, 90)
        gate.open()


async def _is_let_in(attacker: Attacker) -> bool:
    """Whether the server answers a call over this connection."""
    try:
        if attacker.scheme == "ws":
            await attacker.upgrade()
        await attacker.say(call("plus_one", [1]))
        (answer,) = await attacker.answers(1)
    except (OSError, EOFError, AssertionError):
        return False
    return bool(answer.get("result") == 2)


@pytest.mark.req("F-28")
@every_transport
async def test_connections_beyond_the_limit_are_turned_away_and_places_are_given_again(
    scheme: str,
) -> None:
    limits = ServerLimits(max_connections=10)
    async with served(scheme, most_bytes=4 * MIB, server_limits=limits) as server:
        attackers = [await attack(server.url) for _ in range(100)]
        let_in = await asyncio.gather(*map(_is_let_in, attackers))
        assert sum(let_in) == 9  # the tenth is the well-behaved client
        for attacker in attackers:
            attacker.leave()
        await until(lambda: server.connections == 1)
        newcomer = await attack(server.url)
        assert await _is_let_in(newcomer)
        newcomer.leave()


@pytest.mark.req("F-28", "F-29")
@every_transport
async def test_a_message_of_ten_times_the_limit_is_not_kept_and_the_next_one_is_served(
    scheme: str,
) -> None:
    most, size = 64 * KIB, 640 * KIB
    head, filler, end = _message_of(scheme, size)
    async with (
        served(scheme, most_bytes=8 * most, limits=Limits(max_message_bytes=most)) as server,
        attacking(server.url) as attacker,
    ):
        await attacker.send(head)
        assert await attacker.push(filler, most=size) == size
        await attacker.send(end)
        (answer,) = await attacker.answers(1)
        assert answer["error"]["code"] == TOO_LARGE
        assert answer["error"]["data"] == {
            "reason": "message_too_large",
            "maxSize": most,
            "unit": "bytes",
        }
        await attacker.say(call("plus_one", [1]))
        assert await attacker.answers(1) == [{"jsonrpc": "2.0", "id": 1, "result": 2}]


def _message_of(scheme: str, size: int) -> tuple[bytes, bytes, bytes]:
    """How a message of `size` bytes begins, what it consists of, and how it ends."""
    filler = b"x" * (4 * KIB)
    if scheme == "tcp":
        return b"", filler, b"\n"
    if scheme == "ws":
        # Masked with zeros, which leave it as it is
        return b"\x81\xff" + size.to_bytes(8, "big") + b"\0\0\0\0", filler, b""
    head, _, _ = on_wire("http", b"x" * 10).partition(b"\r\n\r\n")
    return head.replace(b": 10", b": %d" % size) + b"\r\n\r\n", filler, b""


@pytest.mark.req("F-08", "F-28")
@every_transport
async def test_a_batch_of_ten_times_the_limit_is_one_invalid_request(scheme: str) -> None:
    batch = b"[" + b",".join([call("plus_one", [1])] * 100) + b"]"
    async with (
        served(scheme, limits=Limits(max_batch_items=10)) as server,
        attacking(server.url) as attacker,
    ):
        before = server.statistics.requests_received
        await attacker.say(batch)
        (answer,) = await attacker.answers(1)
        assert (answer["id"], answer["error"]["code"]) == (None, INVALID)
        assert server.statistics.requests_received - before < 50  # the other client's
        await attacker.say(call("plus_one", [1]))
        assert await attacker.answers(1) == [{"jsonrpc": "2.0", "id": 1, "result": 2}]


@pytest.mark.req("F-08", "F-28")
@every_transport
async def test_a_batch_whose_answers_are_ten_times_the_limit_gets_some_of_them(
    scheme: str,
) -> None:
    router = Router()
    router.add(lambda: "x" * 10_000, name="blob")
    batch = b"[" + b",".join(call("blob", id=id) for id in range(100)) + b"]"
    limits = Limits(max_batch_response_bytes=100_000)
    async with (
        served(scheme, router, most_bytes=MIB, limits=limits) as server,
        attacking(server.url) as attacker,
    ):
        await attacker.say(batch)
        (answers,) = await attacker.answers(1)
        assert [answer["id"] for answer in answers] == list(range(100))
        codes = [answer.get("error", {}).get("code") for answer in answers]
        assert set(codes) == {None, TOO_LARGE}
        assert 5 <= codes.count(None) <= 10


@pytest.mark.req("F-18", "F-28")
@pytest.mark.parametrize("scheme", ["tcp", "ws"])
async def test_calls_beyond_those_that_may_be_pending_are_refused_before_they_are_sent(
    scheme: str,
) -> None:
    gate = Gate()
    async with served(scheme, gate.router) as server:
        peer = await connect(server.url, limits=Limits(max_pending=10))
        calls = [asyncio.ensure_future(peer.call("wait")) for _ in range(100)]
        done, pending = await asyncio.wait(calls, timeout=0.1)
        assert [type(call.exception()) for call in done] == [BusyError] * 90
        assert (len(pending), peer.pending) == (10, 10)
        peer.abort()
        failures = await asyncio.wait_for(
            asyncio.gather(*pending, return_exceptions=True), PATIENCE / 2
        )
        assert all(isinstance(failure, TransportError) for failure in failures)
        assert peer.pending == 0


@pytest.mark.req("F-18", "F-24", "F-28")
async def test_a_client_does_not_queue_more_than_the_limit_for_a_server_that_does_not_read() -> (
    None
):
    def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        transport: Any = writer.transport
        transport.pause_reading()
        ends.append(writer)

    ends: list[asyncio.StreamWriter] = []
    most = MIB
    async with await asyncio.start_server(deaf, "127.0.0.1", 0, limit=1) as server:
        files = open_files()
        port = server.sockets[0].getsockname()[1]
        peer = await connect(f"tcp://127.0.0.1:{port}", limits=Limits(max_queued_bytes=most))
        # The system's own buffers take a few MiB on the way.
        with bounded_memory(4 * MIB):
            calls: list[Call] = []
            params = ["x" * 50_000]
            while peer.state == "connected" and len(calls) < 1000:
                calls.append(peer.begin("m", params))
                await asyncio.sleep(0)
        failures = await asyncio.gather(*(call.answer() for call in calls), return_exceptions=True)
        assert {type(failure) for failure in failures} == {ConnectionLostError}
        assert "over the limit of 1,048,576" in str(failures[0])
        assert len(failures) < 1000
        for end in ends:
            end.transport.abort()
        await until(lambda: open_files() == files)


GARBAGE = {
    "nothing at all": b" ",
    "no JSON": b"\x01\x02",
    "half a message": b'{"jsonrpc": "2.0", "method": "plus_one", "id": 1',
    "not a number": b'{"jsonrpc": "2.0", "method": "plus_one", "params": [NaN], "id": 1}',
    "half a character": b'{"jsonrpc": "2.0", "method": "\\ud800", "id": 1}',
    "very deep": b"[" * 100_000,
    "very deep and whole": b"[" * 100_000 + b"]" * 100_000,
    "a huge number as a parameter": b'{"jsonrpc":"2.0","method":"plus_one","params":[%b],"id":1}'
    % (b"9" * 100_000),
    "a huge number as an id": b'{"jsonrpc":"2.0","method":"plus_one","id":%b}' % (b"9" * 100_000),
    "a huge exponent": b'{"jsonrpc":"2.0","method":"plus_one","params":[1e999999],"id":1}',
    "a huge name": b'{"jsonrpc":"2.0","method":"%b","id":1}' % (b"x" * 500_000),
    "many members": b'{"jsonrpc":"2.0","method":"plus_one","id":1,%b}'
    % b",".join(b'"%d":0' % number for number in range(50_000)),
    "wrong types": b'{"jsonrpc":2.0,"method":{},"params":7,"id":[]}',
    "an empty batch": b"[]",
    "a batch of nonsense": b"[1,[],{},null]",
}


IGNORING = ("tcp",)
"""Where a message is a line, and lines of blanks are no messages."""


@pytest.mark.req("F-30")
@every_transport
async def test_garbage_is_answered_by_an_error_and_the_connection_goes_on(scheme: str) -> None:
    async with served(scheme, most_bytes=32 * MIB) as server, attacking(server.url) as attacker:
        for what, garbage in GARBAGE.items():
            await attacker.say(garbage)
            if scheme in IGNORING and not garbage.strip():
                continue
            (answer,) = await attacker.answers(1)
            errors = answer if isinstance(answer, list) else [answer]
            assert all(error["error"]["code"] < -32000 for error in errors), what
        await attacker.say(call("plus_one", [1]))
        assert await attacker.answers(1) == [{"jsonrpc": "2.0", "id": 1, "result": 2}]


@pytest.mark.req("F-30")
@pytest.mark.parametrize("scheme", ["tcp", "ws"])
async def test_answers_that_nobody_asked_for_are_dropped(scheme: str) -> None:
    unasked = [
        {"jsonrpc": "2.0", "id": 1, "result": 1},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": "1", "error": {"code": "1", "message": 5}},
        {"jsonrpc": "2.0", "id": 1.0, "result": 1, "error": {}},
    ]
    async with served(scheme) as server, attacking(server.url) as attacker:
        for _ in range(100):
            for answer in unasked:
                await attacker.say(json.dumps(answer).encode())
        await attacker.say(json.dumps(unasked * 100).encode())
        await attacker.say(call("plus_one", [1]))
        assert await attacker.answers(1) == [{"jsonrpc": "2.0", "id": 1, "result": 2}]
