"""A router over the WebSocket of an ASGI server."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from fastapi import FastAPI

from accord import ConnectError, ConnectionLostError, Context, Limits, Router, connect
from accord.transports.asgi import AsgiEndpoint
from accord.transports.asgi.endpoint import HIGH_WATER
from accord.transports.asgi.scope import Event
from tests.transports.asgi.service import PATIENCE, Service, uvicorn_serving

CALL = '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}'
THREE = '{"jsonrpc":"2.0","id":1,"result":3}'
HOLD = '{"jsonrpc":"2.0","id":1,"method":"hold"}'
SENT = "websocket.send"


class Socket:
    """A server's side of one WebSocket."""

    def __init__(self, app: Any, *, path: str = "/", **scope: Any) -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self.told: asyncio.Queue[Event] = asyncio.Queue()
        self.taking = asyncio.Event()
        self.taking.set()
        self.gone = False
        self.reading = 0
        """How often the application has waited for the client."""
        self.tell("connect")
        scope = {"type": "websocket", "path": path, "headers": [], **scope}
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> Event:
        self.reading += 1
        return await self._events.get()

    async def _send(self, event: Event) -> None:
        await self.taking.wait()
        if self.gone:
            raise OSError("gone")
        self.told.put_nowait(event)

    def tell(self, what: str, **event: Any) -> None:
        self._events.put_nowait({"type": f"websocket.{what}", **event})

    async def next(self) -> Event:
        async with asyncio.timeout(PATIENCE):
            return await self.told.get()

    async def ended(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.task


async def opened(app: Any, **scope: Any) -> Socket:
    socket = Socket(app, **scope)
    assert await socket.next() == {"type": "websocket.accept"}
    return socket


async def test_both_ends_call_over_a_real_server() -> None:
    router = Router()

    @router.method
    async def greet(name: str, context: Context) -> str:
        return f"{await context.call('greeting')}, {name}"

    client = Router()
    client.add(lambda: "hello", "greeting")
    app = FastAPI()
    endpoint = AsgiEndpoint(router)
    app.mount("/rpc", endpoint)
    async with (
        uvicorn_serving(app) as port,
        connect(f"ws://127.0.0.1:{port}/rpc/", router=client) as peer,
    ):
        assert await peer.call("greet", ["Ada"]) == "hello, Ada"
        assert len(endpoint.peers) == 1


async def test_a_client_that_is_gone_cancels_its_calls_on_a_real_server() -> None:
    service = Service()
    endpoint = AsgiEndpoint(service.router)
    async with uvicorn_serving(endpoint) as port:
        async with connect(f"ws://127.0.0.1:{port}/") as peer:
            call = peer.begin("hold")
            await service.started.wait()
            assert endpoint.in_flight == 1
            peer.abort()
            with pytest.raises(ConnectionLostError):
                await call
        await service.cancelled.wait()


async def test_another_place_is_refused_on_a_real_server() -> None:
    async with uvicorn_serving(AsgiEndpoint(Router(), path="/rpc")) as port:
        with pytest.raises(ConnectError, match="403"):
            await connect(f"ws://127.0.0.1:{port}/elsewhere")


async def test_messages_are_text_or_bytes_and_answered_as_text() -> None:
    socket = await opened(AsgiEndpoint(Service().router))
    for event in ({"text": CALL}, {"bytes": CALL.encode()}, {"text": None, "bytes": b"%b"}):
        socket.tell("receive", **event)
    assert await socket.next() == {"type": SENT, "text": THREE}
    assert await socket.next() == {"type": SENT, "text": THREE}
    assert "-32700" in (await socket.next())["text"]
    socket.tell("disconnect", code=1000)
    await socket.ended()


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/elsewhere", []),
        ("/", [(b"host", b"example.com"), (b"origin", b"https://evil.example")]),
        ("/", [(b"host", b"example.com"), (b"host", b"example.org")]),
    ],
)
async def test_a_connection_is_refused_by_the_rules_of_http(
    path: str, headers: list[tuple[bytes, bytes]]
) -> None:
    socket = Socket(AsgiEndpoint(Router()), path=path, headers=headers)
    assert await socket.next() == {"type": "websocket.close", "code": 1008}
    await socket.ended()


@pytest.mark.req("O-12")
async def test_a_message_over_the_limit_is_skipped() -> None:
    socket = await opened(AsgiEndpoint(Service().router, limits=Limits(max_message_bytes=60)))
    socket.tell("receive", text="x" * 61)
    assert "message of 61 bytes is over the limit of 60" in (await socket.next())["text"]
    socket.tell("receive", text=CALL)
    assert (await socket.next())["text"] == THREE


async def test_handlers_share_the_state_of_the_connection_and_know_its_scope() -> None:
    service = Service()
    socket = await opened(
        AsgiEndpoint(service.router), scheme="wss", client=["::1", 5], headers=[(b"x-a", b"1")]
    )
    for _ in range(2):
        socket.tell("receive", text='{"jsonrpc":"2.0","id":1,"method":"look"}')
        await socket.next()
    first, second = service.contexts
    assert first.state is second.state
    assert first.state["asgi.scope"]["scheme"] == "wss"
    assert (first.channel.scheme, first.channel.address) == ("wss", "[::1]:5")
    assert dict(first.headers) == {"x-a": "1"}


async def test_closing_sends_what_is_queued_first() -> None:
    service = Service()
    endpoint = AsgiEndpoint(service.router)
    socket = await opened(endpoint)
    socket.tell("receive", text=HOLD)
    await service.started.wait()
    (peer,) = endpoint.peers
    peer.close_soon()
    service.release.set()
    answer = '{"jsonrpc":"2.0","id":1,"result":"released"}'
    assert await socket.next() == {"type": SENT, "text": answer}
    assert await socket.next() == {"type": "websocket.close", "code": 1000}
    await socket.ended()
    assert endpoint.peers == set()


async def test_an_end_that_is_not_orderly_is_told() -> None:
    endpoint = AsgiEndpoint(Service().router)
    socket = await opened(endpoint)
    (peer,) = endpoint.peers
    call = peer.begin("anything")
    await socket.next()
    socket.tell("disconnect", code=1006, reason=None)
    with pytest.raises(ConnectionLostError, match="the WebSocket ended with code 1006") as lost:
        await call
    assert lost.value.data == {"code": 1006, "reason": ""}
    await socket.ended()


async def test_a_server_that_cancels_the_application_ends_the_connection() -> None:
    service = Service()
    endpoint = AsgiEndpoint(service.router)
    socket = await opened(endpoint)
    socket.tell("receive", text=HOLD)
    await service.started.wait()
    socket.task.cancel()
    await service.cancelled.wait()
    with pytest.raises(asyncio.CancelledError):
        await socket.task
    assert endpoint.peers == set()


async def test_a_client_that_does_not_read_is_not_read_from() -> None:
    socket = await opened(AsgiEndpoint(Service().router))
    socket.taking.clear()
    text = '{"jsonrpc":"2.0","id":1,"method":"echo","params":["%s"]}' % ("x" * HIGH_WATER)
    for _ in range(4):
        socket.tell("receive", text=text)
    for _ in range(50):
        await asyncio.sleep(0)
    assert socket.reading == 2  # the connection and the first message
    socket.taking.set()
    for _ in range(4):
        assert len((await socket.next())["text"]) > HIGH_WATER
    socket.tell("disconnect", code=1001)
    await socket.ended()
    assert socket.reading == 6


@pytest.mark.req("O-12")
async def test_a_client_that_takes_nothing_is_cut_off() -> None:
    limits = Limits(write_stall_seconds=0.02)
    endpoint = AsgiEndpoint(Service().router, limits=limits)
    socket = await opened(endpoint)
    (peer,) = endpoint.peers
    socket.taking.clear()
    with pytest.raises(ConnectionLostError, match=r"the other end took nothing for 0\.02 s"):
        await peer.call("anything")
    await socket.ended()


@pytest.mark.req("O-12")
async def test_a_queue_that_grows_beyond_the_limit_is_cut_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint = AsgiEndpoint(Service().router, limits=Limits(max_queued_bytes=2 * HIGH_WATER))
    socket = await opened(endpoint)
    (peer,) = endpoint.peers
    socket.taking.clear()
    calls = [peer.begin("anything", ["x" * HIGH_WATER]) for _ in range(5)]
    with pytest.raises(ConnectionLostError, match=r"bytes wait to be written, over the limit"):
        await calls[0]
    await asyncio.gather(*(asyncio.ensure_future(_fails(call)) for call in calls[1:]))
    await socket.ended()
    assert "is cut off: " in caplog.records[0].getMessage()


async def _fails(call: Any) -> None:
    with pytest.raises(ConnectionLostError):
        await call


async def test_a_client_that_is_gone_when_it_is_written_to_is_lost() -> None:
    endpoint = AsgiEndpoint(Service().router)
    socket = await opened(endpoint)
    socket.gone = True
    (peer,) = endpoint.peers
    with pytest.raises(ConnectionLostError, match="the connection was lost: gone"):
        await peer.call("anything")
    await socket.ended()


async def test_what_a_server_raises_is_left_to_it() -> None:
    endpoint = AsgiEndpoint(Service().router)
    socket = await opened(endpoint)
    socket.tell("nonsense")  # has no text and no bytes, but is not of the server's functions
    await socket.ended()

    async def receive() -> Event:
        raise LookupError("of the server")

    scope = {"type": "websocket", "path": "/", "headers": []}
    with pytest.raises(LookupError):
        await endpoint(scope, receive, socket.told.put)
    events: list[Event] = [{"type": "websocket.connect"}]

    async def once() -> Event:
        return events.pop()

    with pytest.raises(IndexError):
        await endpoint(scope, once, socket.told.put)
    assert endpoint.peers == set()


async def test_messages_after_the_close_are_dropped() -> None:
    endpoint = AsgiEndpoint(Service().router)
    socket = await opened(endpoint)
    (peer,) = endpoint.peers
    socket.taking.clear()
    peer.close_soon()
    await asyncio.sleep(0)
    socket.tell("receive", text=CALL)
    await asyncio.sleep(0)
    socket.taking.set()
    assert await socket.next() == {"type": "websocket.close", "code": 1000}
    await socket.ended()
    assert socket.told.empty()


async def test_a_message_that_breaks_the_dispatcher_ends_its_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)

    class Broken(dict[str, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            raise RuntimeError("a router that breaks its promise")

    router = Router()
    router.direct = Broken()
    socket = await opened(AsgiEndpoint(router), client=("203.0.113.7", 5))
    socket.tell("receive", text=CALL)
    await socket.ended()
    assert [line.getMessage() for line in caplog.records] == [
        "a message of 203.0.113.7:5 could not be handled",
        "203.0.113.7:5 is cut off: a message could not be handled",
    ]
