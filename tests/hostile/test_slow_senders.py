"""Clients that send one byte at a time, slower than the limits allow: they are cut, in crowds too."""

from __future__ import annotations

import asyncio

import pytest

from accord import ServerLimits
from tests.hostile.attacker import Attacker, attack, attacking, call, on_wire
from tests.hostile.stage import MIB, every_transport, served

BOTH_LOOPS = True
SOON = 0.4
LIMITS = ServerLimits(header_seconds=SOON, body_seconds=SOON, message_seconds=SOON)


async def trickle(attacker: Attacker, data: bytes) -> None:
    """Send `data` so slowly that it would take far longer than the limit."""
    for at in range(len(data)):
        await attacker.send(data[at : at + 1])
        await asyncio.sleep(0.02)


async def until_cut_while_trickling(attacker: Attacker, data: bytes) -> bytes:
    trickling = asyncio.create_task(trickle(attacker, data))
    received = await attacker.until_cut()
    trickling.cancel()
    await asyncio.gather(trickling, return_exceptions=True)
    return received


@pytest.mark.req("F-28", "F-30")
@every_transport
async def test_a_crowd_that_sends_a_message_byte_by_byte_is_cut(scheme: str) -> None:
    message = on_wire(scheme, call("plus_one", ["1" * 10_000]))
    async with served(scheme, most_bytes=4 * MIB, server_limits=LIMITS) as server:

        async def attack_once() -> bytes:
            async with attacking(server.url) as attacker:
                return await until_cut_while_trickling(attacker, message)

        received = await asyncio.gather(*(attack_once() for _ in range(40)))
        told = [data[:12] for data in received]
        assert told == [b"HTTP/1.1 408" if scheme == "http" else b""] * 40
        assert server.statistics.invalid_received == 0


@pytest.mark.req("F-28", "F-30")
async def test_a_crowd_that_opens_websockets_byte_by_byte_is_cut() -> None:
    opening = b"GET /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"y" * 10_000
    async with served("ws", most_bytes=4 * MIB, server_limits=LIMITS) as server:

        async def attack_once() -> bytes:
            attacker = await attack(server.url)
            try:
                return await until_cut_while_trickling(attacker, opening)
            finally:
                attacker.leave()

        received = await asyncio.gather(*(attack_once() for _ in range(40)))
        assert [data[:12] for data in received] == [b"HTTP/1.1 408"] * 40


@pytest.mark.req("F-30")
@every_transport
async def test_messages_that_come_byte_by_byte_within_the_limit_are_served(scheme: str) -> None:
    async with served(scheme) as server, attacking(server.url) as client:
        for byte in on_wire(scheme, call("plus_one", [41])):
            await client.send(bytes([byte]))
            await asyncio.sleep(0)
        assert await client.answers(1) == [{"jsonrpc": "2.0", "id": 1, "result": 42}]
