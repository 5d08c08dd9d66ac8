"""HTTP over TLS."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack

import pytest

from accord.jsonrpc.protocol.channel import ServerLimits
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.http.client import open_http
from accord.transports.http.connection import MAX_TURNED_AWAY
from accord.transports.options import Options
from tests.transports.http.service import PATIENCE, RawClient, post, serving
from tests.transports.http.test_client import answer, channel_to

BOTH_LOOPS = True


@pytest.mark.req("F-19")
async def test_https(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    async with serving(url="https://127.0.0.1:0/rpc", tls=server_tls) as site:
        assert site.listener.url.startswith("https://127.0.0.1:")
        async with channel_to(site.listener.url, tls=client_tls, pool_size=2) as (channel, replies):
            assert channel.info.scheme == "https"
            messages = [answer(number) for number in range(20)]
            for message in messages:
                channel.send(message)
            await replies.received(20)
            assert sorted(replies.messages) == sorted(messages)
            assert site.service.context.channel.scheme == "https"
            assert site.service.context.channel.details["tls"]["version"] == "TLSv1.3"


@pytest.mark.req("F-17", "F-19")
async def test_a_large_message_over_tls(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    large = b'{"jsonrpc":"2.0","id":1,"result":"%b"}' % (b"x" * 1_000_000)
    async with (
        serving(url="https://localhost:0/rpc", tls=server_tls) as site,
        channel_to(site.listener.url, tls=client_tls) as (channel, replies),
    ):
        channel.send(large)
        assert await replies.received(1) == [large]


@pytest.mark.req("F-19", "F-27")
async def test_a_certificate_is_checked_unless_told_otherwise(server_tls: ssl.SSLContext) -> None:
    async with serving(url="https://127.0.0.1:0/rpc", tls=server_tls) as site:
        with pytest.raises(ConnectError) as caught:
            await open_http(site.listener.url, Options())
        assert f"the certificate of {site.listener.url} is not trusted" in caught.value.message
        assert not caught.value.recoverable


@pytest.mark.req("F-19", "F-27")
async def test_plain_http_is_no_tls() -> None:
    async with serving() as site:
        with pytest.raises(ConnectError):
            await open_http(site.listener.url.replace("http:", "https:"), Options())


@pytest.mark.req("F-30")
async def test_a_malformed_request_over_tls(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async with serving(url="https://127.0.0.1:0/rpc", tls=server_tls) as site:
        connection = await asyncio.open_connection("127.0.0.1", site.port, ssl=client_tls)
        client = RawClient(*connection)
        assert (await client.ask(b"nonsense\n")).status == 400
        await client.close()
        await site.until_connections(0)


@pytest.mark.req("F-24")
async def test_a_handshake_that_ends_after_the_server_did(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async with serving(url="https://127.0.0.1:0/rpc", tls=server_tls) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        # by the time this one is served, the first one has been accepted
        async with channel_to(site.listener.url, tls=client_tls) as (channel, replies):
            channel.send(answer(1))
            await replies.received(1)
    client = RawClient(reader, writer)
    try:
        await writer.start_tls(client_tls, server_hostname="127.0.0.1")
        client.send(post())
    except OSError:
        pass  # the end may come first
    assert await client.rest() == b""
    await client.close()
    assert site.service.seen == [answer(1)]


@pytest.mark.req("F-24", "F-28")
async def test_handshakes_that_never_end_are_bounded(server_tls: ssl.SSLContext) -> None:
    limits = ServerLimits(max_connections=1)
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(
            serving(url="https://127.0.0.1:0/rpc", tls=server_tls, server_limits=limits)
        )
        room = limits.max_connections + MAX_TURNED_AWAY
        clients = [await stack.enter_async_context(site.client()) for _ in range(room + 20)]
        ends = [asyncio.create_task(client.rest()) for client in clients]
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*ends[room:])
        assert [end.done() for end in ends] == [*[False] * room, *[True] * 20]
        await site.listener.close()
        assert await asyncio.gather(*ends) == [b""] * len(ends)
