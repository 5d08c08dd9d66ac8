"""The server's exchanges, over real sockets."""

from __future__ import annotations

import asyncio
import http.client
import logging
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.errors import ConnectError
from accord.jsonrpc.protocol.session import Statistics
from accord.transports.http.server import listen_http
from accord.transports.options import Options
from tests.transports.http.service import (
    PATIENCE,
    Answer,
    RawClient,
    Service,
    chunked,
    post,
    serving,
)
from tests.transports.http.smuggling import MALFORMED_BODIES, MALFORMED_HEADS, MALFORMED_STARTS

BOTH_LOOPS = True
JSON = {"content-type": "application/json"}


@pytest.mark.req("F-19")
async def test_a_message_is_answered() -> None:
    async with serving() as site, site.client() as client:
        assert await client.ask(post(b"hello")) == Answer(
            200, {**JSON, "content-length": "5"}, b"hello"
        )
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/rpc", site.listener.url)


async def test_nothing_to_say_is_answered_204_without_a_body() -> None:
    async with serving() as site, site.client() as client:
        assert await client.ask(post(b"ignore")) == Answer(204, {}, b"")
        assert (await client.ask(post(b"next"))).outcome == (200, b"next")


@pytest.mark.req("F-30")
async def test_a_payload_that_is_no_message_is_answered_400() -> None:
    async with serving() as site, site.client() as client:
        answer = await client.ask(post(b"refuse"))
        assert answer == Answer(400, {**JSON, "content-length": "6"}, b"refuse")
        assert (await client.ask(post(b"next"))).outcome == (200, b"next")


async def test_a_dispatcher_that_raises_is_answered_for(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as site, site.client() as client:
        answer = await client.ask(post(b"crash!"))
        failure = msgspec.json.decode(answer.body)
        assert (answer.status, failure["error"]["code"], failure["id"]) == (500, -32603, None)
        assert (await client.ask(post(b"next"))).outcome == (200, b"next")
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_the_dispatcher_learns_who_asks() -> None:
    async with serving() as site, site.client() as client:
        await client.ask(post(b"x", b"X-Trace: 1", b"x-trace: \xe9"))
        context = site.service.context
        assert (context.method, context.id, context.headers["X-Trace"]) == ("method", 1, "1, é")
        address = context.channel.address
        assert re.fullmatch(r"127\.0\.0\.1:\d+", address)
        assert context.channel == ChannelInfo(scheme="http", address=address, duplex=False)


@pytest.mark.req("F-30")
async def test_responses_that_nobody_asked_for_are_counted() -> None:
    async with serving() as site, site.client() as client:
        assert (await client.ask(post(b"settle"))).status == 204
        assert site.service.statistics == Statistics(answers_unknown=1, answers_broken=1)


# Answers that take their time


async def test_an_answer_that_comes_later() -> None:
    async with serving() as site, site.client() as client:
        client.send(post(b"wait:-1"))
        held = await site.service.held()
        held.answer(b"done")
        assert (await client.answer()).outcome == (200, b"done")
        client.send(post(b"wait:-2"))
        (await site.service.held()).answer(None)
        assert (await client.answer()).outcome == (204, b"")


@pytest.mark.req("F-17")
async def test_requests_of_one_connection_are_served_in_turn() -> None:
    async with serving() as site, site.client() as client:
        client.send(post(b"wait:-1") + post(b"two") + post(b"wait:-3") + post(b"four"))
        first = await site.service.held()
        assert site.service.seen == [b"wait:-1"]
        first.answer(b"one")
        third = await site.service.held()
        assert [(await client.answer()).body for _ in range(2)] == [b"one", b"two"]
        third.answer(b"three")
        assert [(await client.answer()).body for _ in range(2)] == [b"three", b"four"]


@pytest.mark.req("F-24")
async def test_a_client_that_goes_away_cancels_what_runs_for_it() -> None:
    async with serving() as site:
        async with site.client() as client:
            client.send(post(b"wait:-"))
            held = await site.service.held()
            client.cut()
            async with asyncio.timeout(PATIENCE):
                await held.cancelled.wait()
        held.answer(b"too late")
        await site.until_connections(0)


async def test_a_client_that_ends_its_side_cancels_what_runs_for_it() -> None:
    async with serving() as site, site.client() as client:
        client.send(post(b"first") + post(b"wait:-"))
        held = await site.service.held()
        client.end_input()
        async with asyncio.timeout(PATIENCE):
            await held.cancelled.wait()
        assert (await client.rest()).endswith(b"first")


@pytest.mark.req("F-24")
async def test_what_a_client_sends_in_advance_is_bounded() -> None:
    async with serving() as site, site.client() as client:
        client.send(post(b"wait:-"))
        held = await site.service.held()
        flood = post(b"x" * 60_000)
        sent = 0
        try:
            async with asyncio.timeout(0.5):
                while True:
                    client.send(flood)
                    sent += 1
                    await client.drain()
        except TimeoutError:
            pass
        assert site.service.seen == [b"wait:-"]
        assert 0 < sent < 1000  # a few megabytes of socket buffers, not what the client likes
        held.answer(b"done")
        bodies = [(await client.answer()).body for _ in range(sent + 1)]
        assert bodies == [b"done", *[b"x" * 60_000] * sent]


# Connections


@pytest.mark.req("F-17")
async def test_a_hundred_pipelined_requests_are_answered_in_order() -> None:
    bodies = [b"%d" % number for number in range(100)]
    async with serving() as site, site.client() as client:
        client.send(b"".join(map(post, bodies)))
        assert [(await client.answer()).body for _ in bodies] == bodies


@pytest.mark.req("F-17")
async def test_a_request_byte_by_byte() -> None:
    async with serving() as site, site.client() as client:
        for byte in chunked(b"sl", b"ow"):
            client.send(bytes([byte]))
            await asyncio.sleep(0)
        assert (await client.answer()).outcome == (200, b"slow")


@pytest.mark.req("F-17", "F-30")
async def test_a_connection_cut_at_every_byte() -> None:
    whole = post(b"cut", b"X: y")
    async with serving() as site:
        for length in range(len(whole)):
            async with site.client() as client:
                client.send(whole[:length])
                await client.drain()
                client.cut()
        async with site.client() as client:
            assert (await client.ask(whole)).outcome == (200, b"cut")
        await site.until_connections(0)
        assert site.service.seen == [b"cut"]


async def test_the_last_request_closes_the_connection() -> None:
    async with serving() as site, site.client() as client:
        answer = await client.ask(post(b"bye", b"Connection: close"))
        assert (answer.headers["connection"], answer.body) == ("close", b"bye")
        assert await client.rest() == b""


async def test_http_1_0() -> None:
    async with serving() as site:
        async with site.client() as client:
            answer = await client.ask(post(b"old", version=b"1.0"))
            assert (answer.headers["connection"], answer.body) == ("close", b"old")
            assert await client.rest() == b""
        async with site.client() as client:
            for _ in range(2):
                answer = await client.ask(post(b"x", b"Connection: keep-alive", version=b"1.0"))
                assert (answer.headers["connection"], answer.body) == ("keep-alive", b"x")


async def test_a_client_that_waits_for_permission_gets_it() -> None:
    raw = post(b"body", b"Expect: 100-continue")
    async with serving() as site, site.client() as client:
        assert await client.ask(raw[:-4]) == Answer(100, {}, b"")
        assert (await client.ask(b"body")).outcome == (200, b"body")


@pytest.mark.req("F-29")
async def test_a_client_that_waits_for_permission_hears_that_its_body_is_too_large() -> None:
    raw = post(b"x" * 101, b"Expect: 100-continue")
    async with serving(limits=Limits(max_message_bytes=100)) as site, site.client() as client:
        answer = await client.ask(raw[:-101])
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        assert await client.rest() == b""


# Refusals


@pytest.mark.req("F-29")
@pytest.mark.parametrize("raw", [post(b"x" * 101), chunked(b"x" * 50, b"y" * 51)])
async def test_the_connection_survives_a_message_that_is_too_large(raw: bytes) -> None:
    async with serving(limits=Limits(max_message_bytes=100)) as site, site.client() as client:
        answer = await client.ask(raw)
        error = msgspec.json.decode(answer.body)["error"]
        assert (answer.status, error["code"], error["data"]["maxSize"]) == (413, -32012, 100)
        assert (await client.ask(post(b"next"))).outcome == (200, b"next")
        assert site.service.seen == [b"next"]


@pytest.mark.req("F-29")
async def test_a_message_that_is_far_too_large_is_answered_before_it_is_sent() -> None:
    raw = post(b"").replace(b"Content-Length: 0", b"Content-Length: 99999999999")
    async with serving() as site, site.client() as client:
        answer = await client.ask(raw)
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        client.send(b"x" * 200_000)  # the server takes some of it, so that the answer is not lost
        assert await client.rest() == b""


async def test_a_refused_request_is_followed_by_others() -> None:
    async with serving() as site, site.client() as client:
        client.send(post(b"x", target=b"/other") + post(b"", method=b"GET") + post(b"next"))
        answers = [await client.answer() for _ in range(3)]
        assert [answer.status for answer in answers] == [404, 405, 200]
        assert answers[1].headers["allow"] == "POST"


async def test_head_is_answered_without_a_body() -> None:
    async with serving() as site, site.client() as client:
        client.send(post(b"", method=b"HEAD") + post(b"next"))
        assert (await client.answer(head_only=True)).status == 405
        assert (await client.answer()).outcome == (200, b"next")


async def test_a_browser_of_a_listed_origin() -> None:
    origin = b"Origin: https://app.example"
    async with serving(origins=("https://app.example",)) as site, site.client() as client:
        asks = b"Access-Control-Request-Method: POST"
        permission = await client.ask(post(b"", origin, asks, method=b"OPTIONS"))
        assert (permission.status, permission.headers["access-control-allow-methods"]) == (
            204,
            "POST",
        )
        answer = await client.ask(post(b"x", origin))
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        crash = await client.ask(post(b"crash!", origin))
        assert crash.headers["access-control-allow-origin"] == "https://app.example"
        assert (await client.ask(post(b"x", b"Origin: https://other.example"))).status == 403


@pytest.mark.req("F-30")
@pytest.mark.parametrize("case", MALFORMED_HEADS)
async def test_a_malformed_request_is_refused_and_nothing_behind_it_is_served(case: str) -> None:
    status, raw = MALFORMED_HEADS[case]
    async with serving() as site, site.client() as client:
        answer = await client.ask(raw + b"0\r\n\r\n" + post(b"smuggled"))
        assert (answer.status, answer.headers["connection"]) == (status, "close")
        assert await client.rest() == b""
        assert site.service.seen == []


@pytest.mark.req("F-30")
@pytest.mark.parametrize("raw", MALFORMED_STARTS.values(), ids=MALFORMED_STARTS)
async def test_a_head_that_cannot_end_is_refused(raw: bytes) -> None:
    async with serving() as site, site.client() as client:
        assert (await client.ask(raw + b"x")).status == 400
        assert await client.rest() == b""


@pytest.mark.req("F-30")
@pytest.mark.parametrize("raw", MALFORMED_BODIES.values(), ids=MALFORMED_BODIES)
async def test_a_malformed_body_is_refused(raw: bytes) -> None:
    async with serving() as site, site.client() as client:
        assert (await client.ask(chunked(end=raw) + post(b"smuggled"))).status == 400
        assert await client.rest() == b""
        assert site.service.seen == []


# Closing


async def test_closing_lets_what_runs_be_answered() -> None:
    service = Service()
    listener = await listen_http("http://127.0.0.1:0/rpc", service, Options())
    port = int(listener.url.rsplit(":", 1)[1].split("/")[0])
    idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", port)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    slow_reader, slow_writer = await asyncio.open_connection("127.0.0.1", port)
    slow_writer.write(post(b"slow")[:-1])
    writer.write(post(b"wait:-") + post(b"not served"))
    held = await service.held()
    closing = asyncio.create_task(listener.close())
    async with asyncio.timeout(PATIENCE):
        assert await idle_reader.read() == b""
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
        held.answer(b"done")
        assert re.fullmatch(
            rb"HTTP/1\.1 200 OK\r\n.*connection: close\r\n\r\ndone", await reader.read(), re.DOTALL
        )
        slow_writer.write(b"w")
        assert (await slow_reader.read()).endswith(b"connection: close\r\n\r\nslow")
        await closing
    assert (listener.connections, service.seen) == (0, [b"wait:-", b"slow"])
    for end in (idle_writer, writer, slow_writer):
        end.close()
        await end.wait_closed()


async def test_once_the_end_is_announced_each_answer_ends_its_connection() -> None:
    listener = await listen_http("http://127.0.0.1:0/rpc", Service(), Options())
    port = int(listener.url.rsplit(":", 1)[1].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(PATIENCE):
        writer.write(post(b"hello"))
        assert (await reader.readuntil(b"hello")).endswith(b"\r\n\r\nhello")
        listener.announce_end()
        writer.write(post(b"bye"))
        assert (await reader.read()).endswith(b"connection: close\r\n\r\nbye")
        new_reader, new_writer = await asyncio.open_connection("127.0.0.1", port)
        new_writer.write(post(b"late"))
        assert (await new_reader.read()).endswith(b"connection: close\r\n\r\nlate")
        for end in (writer, new_writer):
            end.close()
            await end.wait_closed()
        await listener.close()


@pytest.mark.req("F-24")
async def test_closing_that_is_cancelled_cuts_what_is_left() -> None:
    service = Service()
    listener = await listen_http("http://127.0.0.1:0/rpc", service, Options())
    port = int(listener.url.rsplit(":", 1)[1].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(post(b"wait:-"))
    held = await service.held()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await listener.close()
    async with asyncio.timeout(PATIENCE):
        await held.cancelled.wait()
        assert await RawClient(reader, writer).rest() == b""
        await listener.close()
    assert listener.connections == 0
    writer.close()


@pytest.mark.req("F-27")
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http:///rpc", "it needs a scheme and a host"),
        ("http://127.0.0.1:0/rpc?x", "a query is for clients to send"),
        ("https://127.0.0.1:0/rpc", "TLS needs a certificate"),
        ("http://192.0.2.1:0/rpc", "annot assign requested address"),
    ],
)
async def test_addresses_that_cannot_be_listened_on(url: str, why: str) -> None:
    with pytest.raises(ConnectError, match=why):
        await listen_http(url, Service(), Options())


@pytest.mark.req("F-27")
async def test_an_address_that_is_taken() -> None:
    async with serving() as site:
        with pytest.raises(ConnectError) as caught:
            await listen_http(site.listener.url, Service(), Options())
        assert caught.value.message == (
            f"cannot listen on {site.listener.url}: Address already in use"
        )


@pytest.mark.req("F-22")
async def test_two_listeners_may_share_a_port() -> None:
    async with serving(reuse_port=True) as site:
        url = f"http://127.0.0.1:{site.port}/rpc"
        async with serving(url=url, reuse_port=True) as other:
            assert other.listener.url == url


async def test_ipv6() -> None:
    try:
        async with serving(url="http://[::1]:0/") as site:
            assert re.fullmatch(r"http://\[::1\]:\d+/", site.listener.url)
            port = int(site.listener.url.rsplit(":", 1)[1].strip("/"))
            reader, writer = await asyncio.open_connection("::1", port)
            writer.write(post(b"six", b"Connection: close", target=b"/"))
            assert (await reader.read()).endswith(b"six")
            writer.close()
            assert site.service.context.channel.address.startswith("[::1]:")
    except OSError as error:
        pytest.skip(f"only on machines with IPv6: {error}")


# Clients of others


def with_http_client(port: int) -> list[Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    found: list[Any] = []
    headers = {"Content-Type": "application/json"}
    for body in (b"one", iter([b"two ", b"chunks"]), b"ignore"):
        connection.request("POST", "/rpc", body, headers, encode_chunked=isinstance(body, bytes))
        response = connection.getresponse()
        found.append((response.status, response.read()))
    connection.request("GET", "/rpc")
    response = connection.getresponse()
    found.append((response.status, response.getheader("allow"), len(response.read()) > 0))
    connection.close()
    return found


async def test_http_client_of_the_standard_library() -> None:
    async with serving() as site:
        assert await asyncio.to_thread(with_http_client, site.port) == [
            (200, b"one"),
            (200, b"two chunks"),
            (204, b""),
            (405, "POST", True),
        ]


async def curl(*arguments: str) -> tuple[int, bytes]:
    program = shutil.which("curl")
    if program is None:
        pytest.skip("curl is not installed")
    process = await asyncio.create_subprocess_exec(
        program, "-s", "-w", "\n%{http_code}", *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    body, status = out.rsplit(b"\n", 1)
    return int(status), body


async def test_curl(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * 500_000)
    json = ("-H", "content-type: application/json")
    async with serving() as site:
        url = site.listener.url
        assert await curl(url, *json, "-d", "hi") == (200, b"hi")
        assert await curl(url, *json, "-d", "ignore") == (204, b"")
        assert await curl(url, *json, "-d", "hi", "--http1.0") == (200, b"hi")
        assert await curl(url, *json, "-d", "hi", "--http2") == (200, b"hi")
        # curl asks for permission to send a body of this size
        assert await curl(url, *json, "--data-binary", f"@{large}") == (200, b"x" * 500_000)
        status, body = await curl(url, "-d", "hi")
        assert (status, msgspec.json.decode(body)["error"]["message"]) == (
            415,
            "Invalid Request: the content type is application/x-www-form-urlencoded; "
            "send your call with content-type: application/json",
        )
        assert (await curl(url, "--http2-prior-knowledge", *json, "-d", "hi"))[0] != 200
