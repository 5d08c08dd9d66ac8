"""The dispatcher: handlers, batches, deadlines, and rules about request ids."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from accord import Context, Limits, Peer, Router, RpcError, serve
from accord.jsonrpc.methods.context import Observation
from accord.jsonrpc.methods.router import RequestFault, id_fault
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.codec import decode
from accord.jsonrpc.protocol.messages import (
    Failure,
    Id,
    Invalid,
    InvalidMessageReply,
    Message,
    Notification,
    Request,
    Success,
    encode_failure,
)
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.transports.memory import memory_pair
from tests.patience import PATIENCE
from tests.transports.recorder import Recorder

router = Router()


@router.method
def add(a: int, b: int = 0) -> int:
    return a + b


@router.method
def nothing() -> None:
    pass


@router.method
def where(context: Context) -> str:
    return context.channel.scheme


@router.method
def fail() -> None:
    raise RpcError("no", code=7)


class Source:
    def __init__(self) -> None:
        self.settled: list[Success | Failure | Invalid] = []

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(method, id, channel=ChannelInfo(scheme="test"))

    def answer(self, data: bytes | None) -> None:
        raise AssertionError("nothing here takes its time")

    def settle(self, response: Success | Failure | Invalid) -> None:
        self.settled.append(response)


def request(method: Any, params: str | None = None, id: str | None = "1") -> bytes:
    parts = ['"jsonrpc":"2.0"', f'"method":{method}']
    if id is not None:
        parts.append(f'"id":{id}')
    if params is not None:
        parts.append(f'"params":{params}')
    return ("{" + ",".join(parts) + "}").encode()


EVERYTHING = [
    request(method, params, id)
    for method in ('"add"', '"nothing"', '"where"', '"fail"', '"unknown"', '""', "5")
    for params in (None, "null", "[]", "[1]", "[1,2]", "[1,2,3]", '{"a":1}', '{"x":1}', "5", '"x"')
    for id in ("1", '"a"', "1.5", "null", None, "true")
] + [
    b'{"jsonrpc":"2.0","id":1,"result":1}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","result":1}',
    b'{"jsonrpc":"2.0"}',
    b"nonsense",
]


def serve_sorted(dispatcher: Dispatcher, message: Message, source: Source) -> Any:
    match message:
        case Request(id=id, method=method, params=params):
            return dispatcher.serve(id, method, params, source)
        case Notification(method=method, params=params):
            return dispatcher.serve(UNSET, method, params, source)
        case Invalid(id=id, error=error, response=False):
            return encode_failure(id, error)
    source.settle(message)
    return None


@pytest.mark.req("F-01", "F-05", "F-06", "F-07", "RPC-3a", "RPC-4c")
async def test_reading_and_sorting_a_message_first_gives_the_same_answer_as_serving_it_at_once() -> (
    None
):
    dispatcher = Dispatcher(router, limits=Limits())
    for data in EVERYTHING:
        at_once, sorted_first = Source(), Source()
        message = decode(data)
        assert not isinstance(message, list)
        expected = serve_sorted(dispatcher, message, sorted_first)
        assert dispatcher.handle(data, at_once) == expected, data
        assert [type(each) for each in at_once.settled] == [
            type(each) for each in sorted_first.settled
        ]


@pytest.mark.req("RPC-3a")
async def test_method_and_member_names_match_in_the_same_letter_case_only() -> None:
    dispatcher = Dispatcher(router, limits=Limits())
    answer = dispatcher.handle(request('"Add"', "[1]"), Source())
    assert isinstance(answer, bytes)
    assert msgspec.json.decode(answer)["error"]["code"] == -32601
    answer = dispatcher.handle(b'{"jsonrpc":"2.0","ID":1,"Method":"add"}', Source())
    assert isinstance(answer, bytes)
    assert msgspec.json.decode(answer)["error"]["message"] == "Invalid Request: 'method' is missing"


@pytest.mark.req("F-05")
@pytest.mark.parametrize(
    "data", [b"nonsense", b"[]", b"{}", request('"add"', "5"), request('"x"', "5")]
)
async def test_an_answer_to_what_is_no_message_says_so_by_its_type(data: bytes) -> None:
    assert type(Dispatcher(router, limits=Limits()).handle(data, Source())) is InvalidMessageReply


async def test_an_answer_to_a_message_is_plain_bytes_even_if_it_is_an_error() -> None:
    dispatcher = Dispatcher(router, limits=Limits())
    for data in (request('"fail"'), request('"add"', '["x"]'), b"[1]"):
        assert type(dispatcher.handle(data, Source())) is bytes


batch_router = Router()
batch_router.add(lambda n: n, name="echo")
batch_router.add(lambda: object(), name="unencodable")  # noqa: PLW0108


@batch_router.method
def fail_at_once() -> None:
    raise RpcError("no", code=7)


@batch_router.method
async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n


def batch(*requests: bytes) -> bytes:
    return b"[" + b",".join(requests) + b"]"


def outcomes(answer: Any) -> list[Any]:
    assert isinstance(answer, bytes)
    return [
        (each["id"], each["result"] if "result" in each else each["error"]["code"])
        for each in msgspec.json.decode(answer)
    ]


@pytest.mark.req("F-08", "RPC-6b")
@pytest.mark.parametrize("length", [1, 15, 16, 17, 100])
async def test_a_batch_of_direct_calls_of_any_length_is_answered_in_order(length: int) -> None:
    dispatcher = Dispatcher(batch_router, limits=Limits())
    calls = [request('"echo"', f"[{n}]", str(n)) for n in range(length)]
    answer = dispatcher.handle(batch(*calls), Source())
    assert outcomes(answer) == [(n, n) for n in range(length)]
    assert dispatcher.statistics.requests_received == length


@pytest.mark.req("F-08", "RPC-6b", "RPC-6d")
async def test_direct_failing_waiting_and_invalid_messages_keep_their_order_in_a_batch() -> None:
    dispatcher = Dispatcher(batch_router, limits=Limits())
    source = Waiting()
    messages = [
        request('"echo"', "[0]", "0"),
        request('"unencodable"', None, "1"),
        request('"fail_at_once"', None, "2"),
        request('"echo"', "5", "3"),
        request('"echo"', "[4]", "4"),
        request('"later"', "[5]", "5"),
        b"6",
        request('"echo"', "[7]", None),
        request('"echo"', "[8]", "8"),
        request('"later"', "[9]", "9"),
    ]
    dispatcher.handle(batch(*messages), source)
    assert outcomes(await source.answered) == [
        (0, 0),
        (1, -32603),
        (2, 7),
        (3, -32600),
        (4, 4),
        (5, 5),
        (None, -32600),
        (8, 8),
        (9, 9),
    ]


@pytest.mark.req("F-08", "F-28")
async def test_answers_for_which_a_batch_has_no_room_become_errors_wherever_they_stand() -> None:
    dispatcher = Dispatcher(batch_router, limits=Limits(max_batch_response_bytes=3000))
    sizes = [100] * 17 + [5000, 10]
    calls = [request('"echo"', f'["{"x" * size}"]', str(n)) for n, size in enumerate(sizes)]
    answer = outcomes(dispatcher.handle(batch(*calls), Source()))
    assert [len(result) if isinstance(result, str) else result for _, result in answer] == [
        *([100] * 17),
        -32012,
        10,
    ]


@pytest.mark.req("F-11")
async def test_a_threaded_method_with_an_interceptor_runs_in_a_thread() -> None:
    intercepted = Router()
    seen: list[str] = []

    @intercepted.intercept
    async def watch(context: Context, proceed: Callable[[], Awaitable[Any]]) -> Any:
        seen.append(context.method)
        return await proceed()

    intercepted.add(lambda: threading.get_ident(), name="thread", thread=True)  # noqa: PLW0108
    source = Waiting()
    dispatcher = Dispatcher(intercepted, limits=Limits())
    dispatcher.handle(request('"thread"'), source)
    answer = msgspec.json.decode(await source.answered)
    assert answer["result"] != threading.get_ident()
    assert seen == ["thread"]


class Waiting(Source):
    """A source whose answer can be awaited."""

    def __init__(self) -> None:
        super().__init__()
        self.answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def answer(self, data: bytes | None) -> None:
        self.answered.set_result(data)


@pytest.mark.req("F-30")
@pytest.mark.parametrize("method", ["asks", "asks_with_context"])
async def test_an_inline_handler_that_asks_a_cancelled_future_is_answered_for(method: str) -> None:
    cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    cancelled.cancel()
    router = Router()

    @router.method
    def asks() -> None:
        cancelled.result()

    @router.method
    def asks_with_context(context: Context) -> None:
        cancelled.result()

    dispatcher = Dispatcher(router, limits=Limits())
    call = request(f'"{method}"')
    for data, count in ((call, 1), (b"[" + call + b"," + call + b"]", 2)):
        answer = dispatcher.handle(data, Source())
        assert isinstance(answer, bytes)
        assert answer.count(b'"code":-32603') == count


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
