"""Clients that do not read: they are not read from, are cut in the end, and cost next to nothing."""

from __future__ import annotations

import asyncio

import pytest

from accord import Limits, Peer, Router, State
from tests.hostile.attacker import attacking, call, on_wire, until
from tests.hostile.stage import MIB, every_transport, served

BOTH_LOOPS = True
ANSWER = 64 * 1024
STALL = 0.6


def large_answers() -> Router:
    router = Router()
    router.add(lambda: "x" * ANSWER, name="blob")
    return router


@pytest.mark.req("F-24", "F-28")
@every_transport
async def test_a_client_that_never_reads_its_answers_is_neither_read_from_nor_kept(
    scheme: str,
) -> None:
    limits = Limits(write_stall_seconds=STALL)
    async with (
        served(scheme, large_answers(), most_bytes=4 * MIB, limits=limits) as server,
        attacking(server.url, small_buffers=True) as attacker,
    ):
        asked = on_wire(scheme, call("blob"))
        taken = await attacker.push(asked, most=64 * MIB, quiet=STALL / 2)
        # What was taken asked for gigabytes: it lies in the system's buffers, unread.
        assert taken < 16 * MIB
        assert await attacker.until_cut() != b""


@pytest.mark.req("F-24", "F-28")
@every_transport
async def test_many_clients_that_do_not_read_leave_the_server_free_for_others(
    scheme: str,
) -> None:
    limits = Limits(write_stall_seconds=STALL)
    async with served(scheme, large_answers(), most_bytes=16 * MIB, limits=limits) as server:

        async def attack_once() -> None:
            async with attacking(server.url, small_buffers=True) as attacker:
                await attacker.push(on_wire(scheme, call("blob")), most=MIB, quiet=STALL / 2)
                await attacker.until_cut()

        await asyncio.gather(*(attack_once() for _ in range(30)))


@pytest.mark.req("F-18", "F-28")
@pytest.mark.parametrize("scheme", ["tcp", "ws"])
async def test_a_subscriber_that_does_not_read_is_cut_and_the_others_hear_everything(
    scheme: str,
) -> None:
    most_queued = MIB
    news = "x" * 20_000
    closed: list[object] = []

    def watch(peer: Peer) -> None:
        peer.observe(lambda state, error: closed.append(error) if state is State.CLOSED else None)

    limits = Limits(max_queued_bytes=most_queued)
    async with (
        served(scheme, most_bytes=8 * MIB, limits=limits, on_connect=watch) as server,
        attacking(server.url, small_buffers=True),
        attacking(server.url) as listener,
    ):
        await until(lambda: server.connections == 3)
        for number in range(10 * most_queued // len(news)):
            for peer in tuple(server.peers):
                peer.begin("news", [number, news]).cancel()  # sent, whether it is taken or not
            (heard,) = await listener.answers(1)
            assert heard["params"] == [number, news]
        assert len(closed) == 1
        assert "over the limit of 1,048,576" in str(closed[0])
