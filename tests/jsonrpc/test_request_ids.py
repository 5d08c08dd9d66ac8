"""`Router(request_errors=…)`: only strings and integers are ids, and each is in flight once."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from accord import Peer, Router, RpcError, serve
from accord.jsonrpc.context import Context
from accord.jsonrpc.ids import RequestFault, id_fault
from accord.jsonrpc.messages import Id
from accord.jsonrpc.observer import Observation
from accord.transports.memory import memory_pair
from tests.patience import PATIENCE
from tests.transports.recorder import Recorder

CODES: dict[RequestFault, int] = {"invalid_id": -40_001, "id_conflict": -40_002}


def request_error(fault: RequestFault, params: Any, context: Context) -> RpcError:
    return RpcError(fault, code=CODES[fault])


class Watching:
    """An observer that keeps the codes of what was refused."""

    def __init__(self) -> None:
        self.refused_codes: list[int] = []

    def called(self, *args: Any, **named: Any) -> Observation | None:
        return None

    def batch(self, items: int) -> None:
        pass

    def refused(self, error: RpcError) -> None:
        self.refused_codes.append(error.code)


class Raw:
    """The other end of a peer, which sends any bytes."""

    def __init__(self, router: Router, **options: Any) -> None:
        near, self._channel = memory_pair()
        self._recorder = Recorder()
        self._channel.start(self._recorder)
        self.peer = Peer(near, router, **options)

    def send(self, *messages: Any) -> None:
        for message in messages:
            self._channel.send(msgspec.json.encode(message))

    async def answer(self) -> Any:
        return msgspec.json.decode(await self._recorder.next_message())

    async def ask(self, message: Any) -> Any:
        self.send(message)
        return await self.answer()


def call(id: Any, method: str = "now") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method}


def code(answer: Any) -> tuple[int, Any]:
    return answer["error"]["code"], answer["id"]


def make_router(gate: asyncio.Event, **options: Any) -> Router:
    router = Router(**options)

    @router.method
    def now() -> str:
        return "now"

    @router.method
    async def later() -> str:
        await gate.wait()
        return "later"

    return router


@pytest.mark.parametrize(
    ("id", "fault"),
    [
        (1, None),
        ("", None),
        (2**70, None),
        (None, "invalid_id"),
        (1.0, "invalid_id"),
        (7, "id_conflict"),
    ],
)
def test_an_id_is_judged(id: Id, fault: RequestFault | None) -> None:
    assert id_fault(id, {7}.__contains__) == fault


@pytest.mark.parametrize("observed", [False, True])
async def test_ids_are_refused_before_a_method_is_looked_for(observed: bool) -> None:
    watching = Watching()
    router = make_router(asyncio.Event(), request_errors=request_error)
    raw = Raw(router, observer=watching if observed else None)
    refused: list[Any] = [None, 1.5, True, [1]]
    for id in refused:
        assert code(await raw.ask(call(id))) == (-40_001, None)
        assert code(await raw.ask(call(id, "nope"))) == (-40_001, None)
    assert (await raw.ask(call(1)))["result"] == "now"
    assert watching.refused_codes == ([-40_001] * 8 if observed else [])
    assert raw.peer.statistics.invalid_received == 8
    await raw.peer.close()


async def test_an_id_may_be_used_again_when_its_request_is_over() -> None:
    gate = asyncio.Event()
    raw = Raw(make_router(gate, request_errors=request_error))
    raw.send(call(1, "later"))
    assert code(await raw.ask(call(1))) == (-40_002, 1)
    assert (await raw.ask(call("1")))["result"] == "now"
    assert raw.peer.cancel_incoming(1)
    assert (await raw.ask(call(1)))["result"] == "now"
    raw.send(call(2, "later"))
    gate.set()
    assert (await raw.answer())["result"] == "later"
    assert (await raw.ask(call(2, "later")))["result"] == "later"
    assert raw.peer.in_flight == 0
    await raw.peer.close()


async def test_connections_have_ids_of_their_own() -> None:
    gate = asyncio.Event()
    router = make_router(gate, request_errors=request_error)
    one, other = Raw(router), Raw(router)
    one.send(call(1, "later"))
    other.send(call(1, "later"))
    gate.set()
    assert (await one.answer())["result"] == (await other.answer())["result"] == "later"
    await one.peer.close()
    await other.peer.close()


@pytest.mark.req("M-12")
async def test_two_clients_over_http_may_use_the_same_id_at_the_same_time() -> None:
    gate, entered = asyncio.Event(), asyncio.Semaphore(0)
    router = Router(request_errors=request_error)

    @router.method
    async def later() -> str:
        entered.release()
        await gate.wait()
        return "later"

    async with serve(router, "http://127.0.0.1:0/rpc") as server:
        asked = [asyncio.create_task(post(server.url, call(1, "later"))) for _ in range(2)]
        async with asyncio.timeout(PATIENCE):
            await entered.acquire()
            await entered.acquire()
        gate.set()
        assert [each["result"] for each in await asyncio.gather(*asked)] == ["later"] * 2
        assert code(await post(server.url, call(None))) == (-40_001, None)
        answers = await post(server.url, [call(1, "later"), call(1, "later")])
        assert [each.get("result") or code(each) for each in answers] == ["later", (-40_002, 1)]


async def post(url: str, message: Any) -> Any:
    """The answer to a message that is sent over a connection of its own."""
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    body = msgspec.json.encode(message)
    head = f"POST {at.path} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = await reader.read()
    writer.close()
    return msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])


async def test_a_batch_has_each_id_once_and_shares_them_with_its_connection() -> None:
    gate = asyncio.Event()
    raw = Raw(make_router(gate, request_errors=request_error))
    answers = await raw.ask([call(1), call(1), call(None), call(1.5), call("1")])
    assert [each.get("result") or code(each) for each in answers] == [
        "now",
        (-40_002, 1),
        (-40_001, None),
        (-40_001, None),
        "now",
    ]
    raw.send([call(1, "later"), call(2)])
    assert code(await raw.ask(call(1))) == (-40_002, 1)
    gate.set()
    assert [each["id"] for each in await raw.answer()] == [1, 2]
    await raw.peer.close()


@pytest.mark.parametrize("options", [{}, {"request_errors": request_error}])
async def test_a_request_of_a_batch_can_be_cancelled(options: dict[str, Any]) -> None:
    raw = Raw(make_router(asyncio.Event(), **options))
    raw.send([call(1, "later"), call(2)])
    assert (await raw.ask(call(3)))["id"] == 3
    assert raw.peer.cancel_incoming(1)
    assert await raw.answer() == [{"jsonrpc": "2.0", "id": 2, "result": "now"}]
    assert not raw.peer.cancel_incoming(1)
    await raw.peer.close()


async def test_without_the_rule_every_id_is_served() -> None:
    raw = Raw(make_router(asyncio.Event()))
    for id in (None, 1.5):
        assert (await raw.ask(call(id)))["id"] == id
    await raw.peer.close()
