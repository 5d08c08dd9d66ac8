"""Applications that answer HTTP themselves, on our own server and under ASGI."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.jsonrpc.protocol.channel import Limits, ServerLimits
from accord.transports.asgi.web import WebAsgi
from tests.transports.http.web_service import App, ask, client_of, head_of, serving

CHUNKS = b"4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n"

both = pytest.mark.parametrize("carrier", ["own", "uvicorn"])


@both
@pytest.mark.req("F-17")
async def test_a_request_is_answered_now_or_later(carrier: str) -> None:
    app = App()
    async with serving(app, carrier) as port, client_of(port) as client:
        answer = await client.ask(ask("", b"hello"))
        assert (answer.status, answer.headers["content-type"], answer.body) == (
            200, "text/plain", b"hello",
        )  # fmt: skip
        assert (await client.ask(ask("", b"", method="DELETE"))).outcome == (200, b"")
        assert (await client.ask(ask("empty"))).outcome == (204, b"")
        client.send(ask("later"))
        (await app.held()).reply(b"{}", status=202)
        answer = await client.answer()
        assert (answer.status, answer.headers["content-type"], answer.body) == (
            202, "application/json", b"{}",
        )  # fmt: skip
        assert app.nobody_gone


@both
async def test_a_request_as_the_application_sees_it(carrier: str) -> None:
    app = App()
    async with serving(app, carrier) as port, client_of(port) as client:
        get = ask("about", method="GET").replace(b"about", b"%61bout?key=a%20b")
        assert (await client.ask(get)).body == b"GET /app/about key=a%20b"
        request = app.judged[-1]
        assert (request.place, request.loopback, request.fields["host"]) == (
            "about", True, "127.0.0.1",
        )  # fmt: skip
        assert (await client.ask(ask("").replace(b"/app", b"/app/"))).status == 200
        assert [it.place for it in app.judged] == ["about", ""]
        for elsewhere in (b"/application", b"/", b"/other"):
            assert (await client.ask(ask("").replace(b"/app", elsewhere))).status == 404
            assert (app.judged[-1].place, app.judged[-1].path) == (None, elsewhere.decode())


@both
async def test_head_is_answered_without_a_body(carrier: str) -> None:
    async with serving(App(), carrier) as port, client_of(port) as client:
        client.send(ask("about", method="HEAD"))
        head = await head_of(client)
        assert (head["status"], head["content-length"]) == (200, str(len("HEAD /app/about ")))
        assert (await client.ask(ask("", b"next"))).body == b"next"


async def test_a_stream_comes_in_chunks_and_the_connection_goes_on() -> None:
    app = App()
    async with serving(app) as port, client_of(port) as client:
        client.send(ask("stream", b"three") + ask("", b"next"))
        head = await head_of(client)
        assert head == {"status": 200, "content-type": "text/plain", "transfer-encoding": "chunked"}
        assert await client.some(len(CHUNKS)) == CHUNKS
        assert (await client.answer()).body == b"next"
        assert app.nobody_gone


@both
async def test_pieces_leave_as_they_are_written(carrier: str) -> None:
    app = App()
    async with serving(app, carrier) as port, client_of(port) as client:
        client.send(ask("open"))
        stream = (await app.held()).stream(headers=b"content-type: text/plain\r\n")
        assert (await head_of(client))["status"] == 200
        for piece in (b"first", b"other"):
            stream.write(piece)
            assert await client.some(10) == b"5\r\n%b\r\n" % piece
        stream.write(b"la")
        stream.write(b"st")
        stream.close()
        ending = b"0\r\n\r\n"
        shown = b""
        while not shown.endswith(ending):
            shown += await client.some(1)
        assert shown in (b"2\r\nla\r\n2\r\nst\r\n" + ending, b"4\r\nlast\r\n" + ending)
        assert (await client.ask(ask("", b"next"))).body == b"next"


async def test_http_1_0_reads_a_stream_to_the_end_of_the_connection() -> None:
    async with serving(App()) as port, client_of(port) as client:
        client.send(ask("stream", b"three", "Connection: keep-alive", version="1.0"))
        head, _, body = (await client.rest()).partition(b"\r\n\r\n")
        assert b"chunked" not in head
        assert head.endswith(b"connection: close")
        assert body == b"one two three"


@both
async def test_a_client_that_leaves_is_told_of_once(carrier: str) -> None:
    app = App()
    async with serving(app, carrier) as port:
        async with client_of(port) as client:
            client.send(ask("later"))
            waiting = await app.held()
            client.cut()
        assert await app.gone() == "later"
        waiting.reply(b"to nobody")
        async with client_of(port) as client:
            client.send(ask("open"))
            stream = (await app.held()).stream()
            await head_of(client)
            client.cut()
        assert await app.gone() == "open"
        stream.write(b"to nobody")
        stream.close()
        assert app.nobody_gone


async def test_a_late_answer_cannot_reach_another_request() -> None:
    app = App()
    async with serving(app) as port, client_of(port) as client:
        client.send(ask("later"))
        first = await app.held()
        first.reply(b"first")
        assert (await client.answer()).body == b"first"
        client.send(ask("later"))
        second = await app.held()
        first.reply(b"once more")
        second.reply(b"second")
        assert (await client.answer()).body == b"second"


@both
async def test_an_application_that_fails_is_answered_for(
    carrier: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(App(), carrier) as port:
        async with client_of(port) as client:
            answer = await client.ask(ask("crash"))
            assert answer.status == 500
            assert b"promise" not in answer.body
            assert (await client.ask(ask("", b"next"))).body == b"next"
        async with client_of(port) as client:
            client.send(ask("crash-late"))
            assert not (await client.rest()).endswith(b"0\r\n\r\n")
    assert "could not be handled" in caplog.text


@both
async def test_a_body_that_is_too_large_is_the_applications_to_refuse(carrier: str) -> None:
    async with serving(App(), carrier, limits=Limits(max_message_bytes=10)) as port:
        async with client_of(port) as client:
            assert (await client.ask(ask("", b"x" * 11))).outcome == (413, b"at most 10\n")
        async with client_of(port) as client:
            chunked = ask("", b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
            client.send(chunked + b"b\r\n" + b"x" * 11 + b"\r\n0\r\n\r\n")
            assert (await client.answer()).outcome == (413, b"at most 10\n")
        async with client_of(port) as client:
            assert (await client.ask(ask("", b"x" * 10))).status == 200


async def test_what_is_refused_by_its_head_is_not_waited_for() -> None:
    async with serving(App()) as port, client_of(port) as client:
        head = ask("", b"x" * 100, "Expect: 100-continue").removesuffix(b"x" * 100)
        assert (await client.ask(head.replace(b"/app", b"/elsewhere"))).status == 404
    async with serving(App()) as port, client_of(port) as client:
        assert (await client.ask(head)).status == 100
        assert (await client.ask(b"x" * 100)).body == b"x" * 100
        assert (await client.ask(ask("", b"", "Expect: 200-ok"))).status == 417
        client.send(b"nonsense\r\n\r\n")
        assert (await client.answer()).status == 400


async def test_equal_heads_are_judged_once() -> None:
    app = App()
    async with serving(app) as port, client_of(port) as client:
        for body in (b"one", b"two", b"six"):
            assert (await client.ask(ask("", body))).body == body
        assert len(app.judged) == 1


@both
async def test_a_client_that_lets_too_much_be_queued_is_cut_off(carrier: str) -> None:
    app = App()
    limits = Limits(max_queued_bytes=1_000_000, max_message_bytes=1_000)
    async with serving(app, carrier, limits=limits) as port, client_of(port) as client:
        client.send(ask("open"))
        stream = (await app.held()).stream()
        await head_of(client)
        flooding = asyncio.create_task(app.gone())
        while not flooding.done():
            stream.write(b"x" * 100_000)
            await asyncio.sleep(0)
        assert await flooding == "open"


@both
async def test_a_client_that_takes_nothing_for_too_long_is_cut_off(carrier: str) -> None:
    app = App()
    limits = Limits(write_stall_seconds=0.05, max_queued_bytes=100_000_000)
    async with serving(app, carrier, limits=limits) as port, client_of(port) as client:
        client.send(ask("open"))
        stream = (await app.held()).stream()
        stream.write(b"x" * 50_000_000)
        stalled = asyncio.create_task(app.gone())
        while not stalled.done():
            stream.write(b"y")  # under ASGI only who writes on learns that nobody reads
            await asyncio.sleep(0.01)
        assert await stalled == "open"


async def test_a_stream_is_not_idle() -> None:
    app = App()
    patience = ServerLimits(header_seconds=0.03, idle_seconds=0.03, body_seconds=0.03)
    async with serving(app, server_limits=patience) as port, client_of(port) as client:
        client.send(ask("open"))
        stream = (await app.held()).stream()
        await head_of(client)
        await asyncio.sleep(0.2)
        stream.close()
        assert await client.some(5) == b"0\r\n\r\n"
        assert await client.rest() == b""  # and then it is


async def test_a_listener_that_closes_waits_for_streams() -> None:
    app = App()
    async with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ask("open"))
        stream = (await app.held()).stream()
        asyncio.get_running_loop().call_later(0.05, stream.close)
    assert (await reader.read()).endswith(b"0\r\n\r\n")
    writer.close()


async def test_lifespan_starts_and_ends_the_application() -> None:
    app = App()
    async with serving(app, "uvicorn"):
        assert (app.started, app.closed) == (True, False)
    assert app.closed


async def test_an_application_that_cannot_start_says_so() -> None:
    app = App()
    app.broken = True
    sent = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(event: Any) -> None:
        sent.append(event)

    await WebAsgi(app)({"type": "lifespan"}, receive, send)
    assert sent == [{"type": "lifespan.startup.failed", "message": "it could not start"}]
