"""Credentials are checked before a body is read: by one hook, on our own server and under ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress

import pytest

from accord.jsonrpc.protocol.channel import KIB, MIB, ChannelInfo, Limits, ServerLimits
from accord.transports.asgi.web import WebAsgi
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply, text_reply
from accord.transports.http.server import listen_web
from accord.transports.http.web_app import BodyLimit
from accord.transports.options import Options
from tests.transports.asgi.service import uvicorn_serving
from tests.transports.http.service import PATIENCE, RawClient
from tests.transports.http.web_service import App, ask, client_of

both = pytest.mark.parametrize("carrier", ["own", "uvicorn"])
LIMITS = Limits(max_message_bytes=10 * MIB)
BUDGET = MIB
WHOLE = 2 * MIB
CHUNKED = "Transfer-Encoding: chunked"


class Guarded(App):
    """Lets in whoever says `Key: right`; asks for a while where the place is `slow`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.handled: list[int] = []
        self.decide = asyncio.Event()

    def body_limit(self, judged: WebRequest) -> BodyLimit:
        return BodyLimit(max_bytes=16 * KIB) if judged.place == "small" else BodyLimit()

    def admit(
        self, judged: WebRequest, channel: ChannelInfo
    ) -> Reply | WebRequest | Awaitable[Reply | WebRequest]:
        self.asked.put_nowait(judged.place or "")
        if judged.place == "crash":
            raise RuntimeError("an application that breaks its promise")
        return self._wait(judged) if judged.place == "slow" else self._verdict(judged)

    async def _wait(self, judged: WebRequest) -> Reply | WebRequest:
        await self.decide.wait()
        return self._verdict(judged)

    def _verdict(self, judged: WebRequest) -> Reply | WebRequest:
        right = judged.fields.get("key") == "right"
        return judged if right else text_reply(401, "who are you?")

    def handle(self, judged: WebRequest, body: bytes, exchange: object) -> None:
        self.handled.append(len(body))
        super().handle(judged, body, exchange)  # type: ignore[arg-type]

    def exhausted(self, request: WebRequest) -> Reply:
        return text_reply(503, "no room", b"retry-after: 1\r\n")


@asynccontextmanager
async def guarded(app: Guarded, carrier: str) -> AsyncIterator[int]:
    if carrier == "uvicorn":
        asgi = WebAsgi(app, path="/app", limits=LIMITS, max_buffered_bytes=BUDGET)
        async with uvicorn_serving(asgi) as port:
            yield port
            assert asgi.budget.all.held == 0
        return
    options = Options(limits=LIMITS, server_limits=ServerLimits(max_buffered_bytes=BUDGET))
    listener = await listen_web("http://127.0.0.1:0/app", app, options)
    try:
        yield int(listener.url.split(":")[2].split("/")[0])
        assert listener.buffered_bytes == 0
    finally:
        async with asyncio.timeout(PATIENCE):
            await listener.close()


def head(place: str, *lines: str, length: int = WHOLE) -> bytes:
    """The head of a request with a large body."""
    request = ask(place, b"", *lines)
    if CHUNKED in lines:
        return request.replace(b"Content-Length: 0\r\n", b"")
    return request.replace(b"Content-Length: 0", b"Content-Length: %d" % length)


async def status(client: RawClient) -> int:
    return (await client.answer()).status


@both
@pytest.mark.req("F-41")
@pytest.mark.parametrize("framing", ["Content-Length", CHUNKED])
async def test_nobody_who_is_refused_has_a_body_read(carrier: str, framing: str) -> None:
    app = Guarded()
    lines = [framing] if framing == CHUNKED else []
    async with guarded(app, carrier) as port, client_of(port) as client:
        client.send(head("", *lines) + (b"10\r\n" if lines else b"") + b"x" * 10)
        assert await status(client) == 401
    assert (app.asked.qsize(), app.handled) == (1, [])


@both
@pytest.mark.req("F-41")
async def test_somebody_who_is_admitted_has_a_body_read(carrier: str) -> None:
    app = Guarded()
    async with guarded(app, carrier) as port, client_of(port) as client:
        client.send(head("empty", "Key: right"))
        for _ in range(WHOLE // MIB):
            client.send(b"x" * MIB)
        assert await status(client) == 204
        client.send(ask("empty", b"y" * 100, "Key: right"))
        assert await status(client) == 204
    assert app.handled == [WHOLE, 100]


@both
@pytest.mark.req("F-41")
async def test_a_decision_may_take_its_time(carrier: str) -> None:
    app = Guarded()
    async with guarded(app, carrier) as port, client_of(port) as right, client_of(port) as wrong:
        right.send(head("slow", "Key: right") + b"x" * (WHOLE - 1))
        wrong.send(head("slow") + b"x" * (WHOLE - 1))
        async with asyncio.timeout(PATIENCE):
            assert [await app.asked.get(), await app.asked.get()] == ["slow"] * 2
        assert app.handled == []
        app.decide.set()
        assert await status(wrong) == 401
        right.send(b"x")
        assert (await right.answer()).body == b"x" * WHOLE
    assert app.handled == [WHOLE]


@pytest.mark.req("F-41")
async def test_a_client_that_leaves_before_the_decision_is_forgotten() -> None:
    app = Guarded()
    async with guarded(app, "own") as port:
        async with client_of(port) as client:
            client.send(head("slow", "Key: right") + b"x" * 1000)
            async with asyncio.timeout(PATIENCE):
                await app.asked.get()
            client.cut()
        app.decide.set()
    assert app.handled == []


@both
@pytest.mark.req("F-41")
async def test_an_application_that_fails_to_decide_reads_nothing(carrier: str) -> None:
    app = Guarded()
    async with guarded(app, carrier) as port, client_of(port) as client:
        client.send(head("crash", "Key: right") + b"x")
        assert await status(client) == 500
    assert app.handled == []


@both
@pytest.mark.req("F-41")
async def test_a_client_that_waits_for_a_word_is_refused_without_one(carrier: str) -> None:
    app = Guarded()
    async with guarded(app, carrier) as port, client_of(port) as client:
        client.send(head("", "Expect: 100-continue"))
        assert await status(client) == 401
    async with guarded(app, carrier) as port, client_of(port) as client:
        client.send(head("", "Expect: 100-continue", "Key: right", length=5))
        assert await status(client) == 100
        client.send(b"hello")
        assert (await client.answer()).body == b"hello"


@both
@pytest.mark.req("F-41")
async def test_a_route_may_take_less_than_others(carrier: str) -> None:
    app = Guarded()
    async with guarded(app, carrier) as port, client_of(port) as client:
        client.send(head("small", "Key: right", length=16 * KIB + 1))
        assert (await client.answer()).outcome == (413, b"at most 16384\n")
    async with guarded(app, carrier) as port, client_of(port) as client:
        client.send(head("small", "Key: right", CHUNKED) + b"5000\r\n" + b"x" * 0x5000)
        assert (await client.answer()).outcome == (413, b"at most 16384\n")
    assert app.handled == []


@both
@pytest.mark.req("F-40")
async def test_bodies_that_do_not_fit_are_answered_503(carrier: str) -> None:
    app = Guarded()
    async with guarded(app, carrier) as port, client_of(port) as first, client_of(port) as second:
        first.send(head("", "Key: right") + b"x" * MIB)
        async with asyncio.timeout(PATIENCE):
            while True:  # until so much of the first has come that the second does not fit
                async with client_of(port) as probe:
                    probe.send(head("", "Key: right", length=300 * KIB) + b"y" * (300 * KIB - 1))
                    await probe.drain()
                    probe.end_input()
                    told = await probe.rest()
                    if b" 503 " in told:
                        break
        assert b"retry-after: 1\r\n" in told
        first.send(b"x" * MIB)
        assert await status(first) == 200
        second.send(head("", "Key: right", length=MIB) + b"z" * MIB)
        assert await status(second) == 200


@pytest.mark.req("F-42")
@pytest.mark.parametrize(("place", "expected"), [("", 401), ("small", 413)])
async def test_a_client_that_sends_everything_first_reads_why_it_was_refused(
    place: str, expected: int
) -> None:
    size = 9 * MIB
    async with guarded(Guarded(), "own") as port, client_of(port) as client:
        client.send(head(place, length=size))
        for _ in range(9):
            client.send(b"x" * MIB)
            await client.drain()
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (expected, "close")


@pytest.mark.req("F-42")
async def test_a_client_that_was_refused_and_sends_on_is_cut_at_a_limit() -> None:
    most = 14 * MIB  # 4 MiB more than a body may have
    async with guarded(Guarded(), "own") as port, client_of(port) as client:
        client.send(head("", length=4 * most))
        assert await status(client) == 413
        sent = 0
        with suppress(ConnectionError):
            while sent < 4 * most:
                client.send(b"x" * MIB)
                await client.drain()
                sent += MIB
        assert most - MIB < sent < 4 * most


@pytest.mark.req("F-42")
async def test_a_connection_survives_a_refusal_whose_body_is_short() -> None:
    app = Guarded()
    async with guarded(app, "own") as port, client_of(port) as client:
        client.send(head("", length=100 * KIB) + b"x" * 100)
        assert await status(client) == 401
        client.send(b"x" * (100 * KIB - 100) + ask("empty", b"1", "Key: right"))
        assert await status(client) == 204
