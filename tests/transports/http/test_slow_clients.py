"""Clients that are slow, do not read, or come in crowds: each is bounded, others are served."""

from __future__ import annotations

import asyncio
import logging
import resource
from contextlib import AsyncExitStack

import msgspec
import pytest

from accord.jsonrpc.protocol.channel import Limits, ServerLimits
from tests.transports.http.service import PATIENCE, chunked, post, serving

BOTH_LOOPS = True
SOON = 0.1
NEVER = 1000.0


def patience(*, header: float = NEVER, body: float = NEVER, idle: float = NEVER) -> ServerLimits:
    return ServerLimits(header_seconds=header, body_seconds=body, idle_seconds=idle)


@pytest.mark.req("F-30")
@pytest.mark.parametrize("sent", [b"P", post()[:40], post()[:-6], post() + b"POST"])
async def test_a_head_that_takes_too_long_is_answered_408(sent: bytes) -> None:
    async with serving(server_limits=patience(header=SOON)) as site, site.client() as client:
        client.send(sent)
        if sent.startswith(post()):
            assert (await client.answer()).status == 200
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert await client.rest() == b""


@pytest.mark.req("F-30")
async def test_a_head_that_trickles_in_gets_no_more_time() -> None:
    async with serving(server_limits=patience(header=2 * SOON)) as site, site.client() as client:
        answer = asyncio.create_task(client.answer())
        for byte in post(b"x", b"X: " + b"y" * 4000):
            if answer.done():
                break
            client.send(bytes([byte]))
            await asyncio.sleep(0.01)
        assert (await answer).status == 408
        assert site.service.seen == []


@pytest.mark.req("F-30")
@pytest.mark.parametrize("sent", [post()[:-1], chunked(b"x", end=b""), chunked(end=b"5")])
async def test_a_body_that_takes_too_long_is_answered_408(sent: bytes) -> None:
    async with serving(server_limits=patience(body=SOON)) as site, site.client() as client:
        assert (await client.ask(sent)).status == 408
        assert await client.rest() == b""
        assert site.service.seen == []


async def test_an_unwanted_body_that_takes_too_long_ends_the_connection() -> None:
    sent = post(b"x" * 100, target=b"/other")[:-1]
    async with serving(server_limits=patience(body=SOON)) as site, site.client() as client:
        assert (await client.ask(sent)).status == 404
        assert await client.rest() == b""


async def test_a_silent_connection_is_closed_without_a_word() -> None:
    async with serving(server_limits=patience(header=SOON)) as site, site.client() as client:
        assert await client.rest() == b""


async def test_an_idle_connection_is_closed_without_a_word() -> None:
    async with serving(server_limits=patience(idle=SOON)) as site, site.client() as client:
        assert (await client.ask(post())).status == 200
        assert await client.rest() == b""


async def test_a_handler_may_take_longer_than_a_client() -> None:
    limits = ServerLimits(header_seconds=SOON, body_seconds=SOON, idle_seconds=SOON)
    async with serving(server_limits=limits) as site, site.client() as client:
        client.send(post(b"wait:-"))
        held = await site.service.held()
        async with site.client() as other:  # by the time it is closed, sweeps have gone by
            assert await other.rest() == b""
        held.answer(b"done")
        assert (await client.answer()).outcome == (200, b"done")


@pytest.mark.req("F-24", "F-28")
async def test_a_client_that_does_not_read_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    limits = Limits(write_stall_seconds=SOON)
    async with serving(limits=limits) as site, site.client() as client:
        client.send(post(b"expand100000") * 1000)
        await site.until_connections(1)
        await site.until_connections(0)
        # what the sockets' buffers took, and not the hundred megabytes it asked for
        assert len(site.service.seen) < 500
        async with site.client() as other:
            assert (await other.ask(post())).status == 200
    assert [record.message.split(" ", 1)[1] for record in caplog.records] == [
        "is cut off: it does not read its answers"
    ]


@pytest.mark.req("F-24")
async def test_a_client_that_reads_slowly_is_not_cut_off() -> None:
    limits = Limits(write_stall_seconds=3.0, max_queued_bytes=100_000_000)
    async with serving(limits=limits) as site, site.client() as client:
        client.send(post(b"expand30000000", b"Connection: close"))
        for _ in range(8):
            await client.some(1_000_000)
            await asyncio.sleep(0.5)
        assert len(await client.rest()) > 22_000_000


@pytest.mark.req("F-24", "F-28")
async def test_an_answer_over_the_limit_of_what_is_queued_is_replaced_by_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limits = Limits(max_queued_bytes=1_000_000)
    async with serving(limits=limits) as site, site.client() as client:
        assert (await client.ask(post(b"expand1000000"))).status == 200
        answer = await client.ask(post(b"expand1000001"))
        assert (answer.status, msgspec.json.decode(answer.body)) == (
            500,
            {
                "jsonrpc": "2.0",
                "id": None,
                "error": {
                    "code": -32012,
                    "message": "the answer of 1,000,001 bytes is over the limit of 1,000,000",
                    "data": {"reason": "message_too_large", "maxSize": 1_000_000, "unit": "bytes"},
                },
            },
        )
        assert (await client.ask(post(b"next"))).outcome == (200, b"next")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.req("F-28")
async def test_connections_over_the_limit_are_told_that_the_server_is_busy() -> None:
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(
            serving(server_limits=ServerLimits(max_connections=3))
        )
        clients = [await stack.enter_async_context(site.client()) for _ in range(3)]
        for client in clients:
            assert (await client.ask(post())).status == 200
        async with site.client() as late:
            answer = await late.ask(post())
            error = msgspec.json.decode(answer.body)["error"]
            assert (answer.status, error["code"], error["message"]) == (
                503, -32010, "too many connections",
            )  # fmt: skip
            assert answer.headers["retry-after"] == "1"
            assert await late.rest() == b""
        assert site.listener.connections == 3
        for client in clients:
            assert (await client.ask(post())).status == 200
        await clients[0].close()
        await site.until_connections(2)
        async with site.client() as next_one:
            assert (await next_one.ask(post())).status == 200


@pytest.mark.req("F-24", "F-28")
async def test_a_crowd_over_the_limit_is_cut_and_the_rest_is_served() -> None:
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(
            serving(server_limits=ServerLimits(max_connections=1))
        )
        client = await stack.enter_async_context(site.client())
        assert (await client.ask(post())).status == 200
        crowd = [await stack.enter_async_context(site.client()) for _ in range(200)]
        endings = await asyncio.gather(*(one.rest() for one in crowd))
        assert {ending[9:12] for ending in endings} == {b"503", b""}
        assert (await client.ask(post())).status == 200
        assert site.listener.connections == 1


@pytest.mark.req("F-22", "F-24")
async def test_a_thousand_connections_are_kept_alive() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("only on systems that allow 4,096 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(serving())
        clients = [await stack.enter_async_context(site.client()) for _ in range(1000)]
        for turn in (b"one", b"two"):
            answers = await asyncio.gather(*(client.ask(post(turn)) for client in clients))
            assert {answer.outcome for answer in answers} == {(200, turn)}
        assert site.listener.connections == 1000
    assert site.listener.connections == 0


@pytest.mark.req("F-24")
async def test_a_refused_client_that_goes_on_sending_is_cut() -> None:
    async with serving() as site, site.client() as client:
        assert (await client.ask(b"nonsense\n")).status == 400
        with pytest.raises(OSError):  # noqa: PT012
            async with asyncio.timeout(PATIENCE):
                while True:
                    client.send(b"x" * 100_000)
                    await client.drain()
        await site.until_connections(0)


@pytest.mark.req("F-24")
async def test_a_refused_client_that_stays_is_closed() -> None:
    async with serving() as site, site.client() as client:
        assert (await client.ask(b"nonsense\n")).status == 400
        await site.until_connections(0)


@pytest.mark.req("F-24")
async def test_a_server_without_connections_has_no_timer() -> None:
    scheduled = getattr(asyncio.get_running_loop(), "_scheduled", None)
    if scheduled is None:
        pytest.skip("only on asyncio's own loop, where timers can be looked at")
    async with serving() as site:
        async with site.client() as client:
            assert (await client.ask(post())).status == 200
        await site.until_connections(0)
        assert [timer for timer in scheduled if not timer.cancelled()] == []
