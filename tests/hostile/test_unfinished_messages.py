"""Crowds that send large messages and do not finish them: what they hold together is bounded."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from accord import Router, ServerLimits
from accord.jsonrpc.protocol.channel import KIB
from tests.hostile.attacker import Attacker, attacking, call, on_wire, until
from tests.hostile.stage import MIB, every_transport, served

BOTH_LOOPS = True
CROWD = 20
SENT = 600 * KIB
BOUND = MIB
LIMITS = ServerLimits(max_buffered_bytes=BOUND)
MESSAGE = call("plus_one", ["1" * (900 * KIB)])
"""Within the limit of a message; the params are wrong, which is found out once it is whole."""


def framed(server_scheme: str, framing: str, message: bytes) -> bytes:
    if framing == "chunked":
        return (
            b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(message), message)
        )
    return on_wire(server_scheme, message)


async def first_answers(crowd: list[Attacker]) -> dict[int, Any]:
    """Wait until all but one are answered; returns their answers by their places in the crowd."""
    waiting = {asyncio.create_task(each.answers(1)): at for at, each in enumerate(crowd)}
    answers: dict[int, Any] = {}
    while len(waiting) > 1:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            answers[waiting.pop(task)] = task.result()[0]
    for task in waiting:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return answers


@pytest.mark.req("F-40")
@pytest.mark.parametrize(
    ("scheme", "framing"),
    [("tcp", "newline"), ("ws", ""), ("http", ""), ("http", "chunked")],
)
async def test_a_crowd_of_unfinished_messages_is_refused_but_for_what_fits(
    scheme: str, framing: str
) -> None:
    message = framed(scheme, framing, MESSAGE)
    served_at = served(scheme, most_bytes=5 * MIB, server_limits=LIMITS)
    async with served_at as server, AsyncExitStack() as stack:
        crowd = [await stack.enter_async_context(attacking(server.url)) for _ in range(CROWD)]
        for each in crowd:
            await each.send(message[:SENT])
        refused = await first_answers(crowd)

        assert [(told["error"]["code"], told["id"]) for told in refused.values()] == [
            (-32010, None)
        ] * (CROWD - 1)
        assert 0 < server.buffered_bytes <= BOUND
        # Those that were refused go on by the same connection, the one that fitted is answered.
        (left,) = set(range(CROWD)) - set(refused)
        await crowd[left].send(message[SENT:])
        assert (await crowd[left].answers(1))[0]["error"]["code"] == -32602
        await until(lambda: server.buffered_bytes == 0)
        for at in refused:
            await crowd[at].send(message[SENT:] + framed(scheme, framing, call("plus_one", [at])))
            assert (await crowd[at].answers(1))[0]["result"] == at + 1


@pytest.mark.req("F-40")
@every_transport
async def test_what_clients_that_leave_had_sent_is_forgotten(scheme: str) -> None:
    async with served(scheme, most_bytes=5 * MIB, server_limits=LIMITS) as server:
        for _ in range(5):
            async with attacking(server.url) as attacker:
                await attacker.send(on_wire(scheme, MESSAGE)[:SENT])
                await until(lambda: server.buffered_bytes >= SENT - 64 * KIB)
            await until(lambda: server.buffered_bytes == 0)


@pytest.mark.req("F-40")
async def test_requests_over_http_hold_their_memory_until_they_are_answered() -> None:
    released = asyncio.Event()
    router = Router()

    @router.method
    async def keep(text: str) -> int:
        await released.wait()
        return len(text)

    text = "x" * (700 * KIB)
    limits = ServerLimits(max_buffered_bytes=BOUND)
    async with (
        served("http", router, most_bytes=6 * MIB, server_limits=limits) as server,
        attacking(server.url) as first,
        attacking(server.url) as second,
    ):
        await first.say(call("keep", [text]))
        await until(lambda: server.in_flight == 1)
        await second.send(on_wire("http", call("keep", [text])))
        assert (await second.answers(1))[0]["error"]["code"] == -32010
        released.set()
        assert (await first.answers(1))[0]["result"] == len(text)
        await until(lambda: server.buffered_bytes == 0)
        await second.say(call("keep", [text]))
        assert (await second.answers(1))[0]["result"] == len(text)


@pytest.mark.req("F-40")
async def test_small_messages_are_served_however_full_the_memory_is() -> None:
    async with (
        served("http", most_bytes=5 * MIB, server_limits=LIMITS) as server,
        attacking(server.url) as greedy,
        attacking(server.url) as modest,
    ):
        await greedy.send(on_wire("http", MESSAGE)[:-1])
        await until(lambda: server.buffered_bytes > 800 * KIB)
        request = on_wire("http", call("plus_one", [1]).ljust(10 * KIB))
        await modest.send(request[:100])
        await modest.send(request[100:-1])
        await modest.send(request[-1:])
        assert (await modest.answers(1))[0]["result"] == 2
