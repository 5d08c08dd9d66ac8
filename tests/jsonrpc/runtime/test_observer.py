"""What an observer is told of the calls that a dispatcher serves."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from accord import Context, Limits, Peer, Router, RpcError, ThreadPool, connect, serve
from accord.jsonrpc.methods.context import MakeContext, Outcome
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.runtime.dispatcher import Dispatcher

current: contextvars.ContextVar[str] = contextvars.ContextVar("current", default="nothing")


class Recorder:
    """Writes down what it is told, and makes the called method's name current."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.errors: list[BaseException | None] = []
        self.headers: list[dict[str, str]] = []
        self.under_way = 0
        self.changed = asyncio.Event()

    def called(
        self, method: str, id: Id | UnsetType, *, known: bool, context: MakeContext
    ) -> Recording:
        self.under_way += 1
        self.headers.append(dict(context(method, id).headers))
        return Recording(self, method if known else "(unknown)", id)

    def batch_received(self, size: int) -> None:
        self.told.append(("batch", size))

    def refused(self, error: RpcError) -> None:
        self.told.append(("refused", error.code))

    async def until(self, count: int) -> list[tuple[Any, ...]]:
        while len(self.told) < count:
            self.changed.clear()
            await self.changed.wait()
        return self.told


class Recording:
    def __init__(self, recorder: Recorder, method: str, id: Id | UnsetType) -> None:
        self.recorder = recorder
        self.method = method
        self.kind = "notification" if id is UNSET else "request"
        self.token = current.set(method)

    def ended(self, outcome: Outcome, error: BaseException | None) -> None:
        self.recorder.under_way -= 1
        self.recorder.told.append((self.kind, self.method, outcome))
        self.recorder.errors.append(error)
        self.recorder.changed.set()

    def left(self) -> None:
        current.reset(self.token)


class Source:
    """Where a test's requests come from."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[bytes | None] = asyncio.Queue()

    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(
            method, id, channel=ChannelInfo(scheme="test"), headers={"traceparent": "from afar"}
        )

    def answer(self, data: bytes | None) -> None:
        self.answers.put_nowait(data)

    def settle(self, response: Success | Failure | Invalid) -> None:
        pass


router = Router()


@router.method
def add(a: int, b: int = 0) -> int:
    return a + b


@router.method
def fail() -> None:
    raise RpcError("no", code=7)


@router.method
def crash() -> None:
    raise KeyError("secret")


@router.method
def unencodable() -> object:
    return object()


@router.method
def seen_inline() -> str:
    return current.get()


@router.method
def seen_with_context(context: Context) -> str:
    return current.get()


@router.method
async def seen_async() -> str:
    await asyncio.sleep(0)
    return current.get()


@router.method(thread=True)
def seen_in_thread() -> str:
    return f"{current.get()} {threading.current_thread().name}"


@router.method
async def fail_later() -> None:
    await asyncio.sleep(0)
    raise RpcError("no", code=8)


@router.method
async def hang() -> None:
    await asyncio.Event().wait()


@router.method(deadline=0.02)
async def late() -> None:
    await asyncio.Event().wait()


@router.method
async def stubborn() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0)
        raise RuntimeError("nobody listens any more") from None


@router.method
async def awaits_cancelled() -> None:
    future = asyncio.get_running_loop().create_future()
    await asyncio.sleep(0)
    future.cancel()
    await future


@router.method
async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


def request(method: str, params: str = "[]", id: str | None = "1") -> bytes:
    named = "" if id is None else f'"id":{id},'
    return f'{{"jsonrpc":"2.0",{named}"method":"{method}","params":{params}}}'.encode()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def dispatcher(recorder: Recorder) -> AsyncIterator[Dispatcher]:
    made = Dispatcher(router, limits=Limits(max_batch_items=5, max_in_flight=2), observer=recorder)
    yield made
    made.cancel_all()


@pytest.mark.req("O-11")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (request("add", "[1]"), ("request", "add", None)),
        (request("add", "[1]", None), ("notification", "add", None)),
        (request("add", "[1]", "null"), ("request", "add", None)),
        (request("add", '["x"]'), ("request", "add", -32602)),
        (request("add", '["x"]', None), ("notification", "add", -32602)),
        (request("add", "5"), ("request", "add", -32600)),
        (request("add", "5", None), ("notification", "add", -32600)),
        (request("fail"), ("request", "fail", 7)),
        (request("fail", id=None), ("notification", "fail", 7)),
        (request("crash"), ("request", "crash", -32603)),
        (request("unencodable"), ("request", "unencodable", -32603)),
        (request("unencodable", id=None), ("notification", "unencodable", None)),
        (request("nowhere"), ("request", "(unknown)", -32601)),
        (request("nowhere", id=None), ("notification", "(unknown)", -32601)),
        (request("nowhere", "5"), ("request", "(unknown)", -32600)),
        (request("hang", '["x"]'), ("request", "hang", -32602)),
        (request("hang", "5"), ("request", "hang", -32600)),
        (b"nonsense", ("refused", -32700)),
        (b"[]", ("refused", -32600)),
        (b"{}", ("refused", -32600)),
        (b"5", ("refused", -32600)),
        (b'{"jsonrpc":"2.0","id":1,"method":""}', ("refused", -32600)),
        (b"[1,2,3,4,5,6]", ("refused", -32600)),
    ],
)
async def test_what_ends_at_once_is_told_once_with_its_outcome(
    data: bytes, told: tuple[Any, ...], dispatcher: Dispatcher, recorder: Recorder
) -> None:
    dispatcher.handle(data, Source())
    assert recorder.told == [told]
    assert recorder.under_way == 0


async def test_a_response_is_no_call(dispatcher: Dispatcher, recorder: Recorder) -> None:
    dispatcher.handle(b'{"jsonrpc":"2.0","id":1,"result":1}', Source())
    assert recorder.told == []


@pytest.mark.req("O-11")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (request("seen_async"), ("request", "seen_async", None)),
        (request("seen_async", id=None), ("notification", "seen_async", None)),
        (request("fail_later"), ("request", "fail_later", 8)),
        (request("late"), ("request", "late", -32009)),
        (request("awaits_cancelled"), ("request", "awaits_cancelled", -32603)),
        (request("cancels_itself"), ("request", "cancels_itself", "cancelled")),
        (request("seen_in_thread"), ("request", "seen_in_thread", None)),
    ],
)
async def test_what_takes_its_time_is_told_once_when_it_ends(
    data: bytes, told: tuple[Any, ...], dispatcher: Dispatcher, recorder: Recorder
) -> None:
    source = Source()
    dispatcher.handle(data, source)
    assert recorder.under_way == 1
    assert await recorder.until(1) == [told]
    await dispatcher.drain(1)
    assert recorder.told == [told]
    assert recorder.under_way == 0


@pytest.mark.req("O-11")
@pytest.mark.parametrize("method", ["hang", "stubborn"])
@pytest.mark.parametrize("begun", [True, False])
async def test_a_call_whose_caller_goes_away_is_told_as_cancelled(
    method: str, begun: bool, dispatcher: Dispatcher, recorder: Recorder
) -> None:
    run: Any = dispatcher.handle(request(method), Source())
    if begun:
        await asyncio.sleep(0)
    run.cancel()
    assert recorder.told == [("request", method, "cancelled")]
    await dispatcher.drain(1)
    assert len(recorder.told) == 1
    assert recorder.errors == [None]


@pytest.mark.req("O-11")
async def test_calls_over_the_limit_and_calls_given_up_at_the_end_are_told_as_busy(
    dispatcher: Dispatcher, recorder: Recorder
) -> None:
    for _ in range(3):
        dispatcher.handle(request("hang"), Source())
    assert recorder.told == [("request", "hang", -32010)]
    await dispatcher.drain(0)
    dispatcher.handle(request("hang"), Source())
    assert recorder.told == [("request", "hang", -32010)] * 4


@pytest.mark.req("O-11")
async def test_a_batch_is_told_with_its_size_and_each_call_in_it_by_itself(
    dispatcher: Dispatcher, recorder: Recorder
) -> None:
    messages = [
        request("add", "[1]"),
        request("nowhere"),
        b"5",
        request("seen_async"),
        request("add", "[2]", None),
    ]
    source = Source()
    dispatcher.handle(b"[" + b",".join(messages) + b"]", source)
    answers = msgspec.json.decode(await source.answers.get() or b"")
    assert [answer.get("result") for answer in answers] == [1, None, None, "seen_async"]
    assert recorder.told == [
        ("batch", 5),
        ("request", "add", None),
        ("request", "(unknown)", -32601),
        ("refused", -32600),
        ("notification", "add", None),
        ("request", "seen_async", None),
    ]


@pytest.mark.req("O-11")
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("seen_inline", "seen_inline"),
        ("seen_with_context", "seen_with_context"),
        ("seen_async", "seen_async"),
        ("seen_in_thread", "seen_in_thread accord-handler"),
    ],
)
async def test_a_handler_sees_what_the_observer_made_current_and_nobody_else_does(
    method: str, expected: str, dispatcher: Dispatcher
) -> None:
    source = Source()
    answer = dispatcher.handle(request(method), source)
    assert current.get() == "nothing"
    data = answer if isinstance(answer, bytes) else await source.answers.get()
    assert msgspec.json.decode(data or b"")["result"] == expected
    assert current.get() == "nothing"


async def test_inline_methods_stay_inline(dispatcher: Dispatcher) -> None:
    assert isinstance(dispatcher.handle(request("add", "[1,2]"), Source()), bytes)


async def test_an_observer_can_read_the_headers_and_the_error(
    dispatcher: Dispatcher, recorder: Recorder
) -> None:
    dispatcher.handle(request("crash"), Source())
    assert recorder.headers == [{"traceparent": "from afar"}]
    (error,) = recorder.errors
    assert isinstance(error, KeyError)


class Broken:
    """An observer that fails wherever it can."""

    def __init__(self, *, late: bool) -> None:
        self.late = late

    def called(self, method: str, id: Id | UnsetType, **about: Any) -> Broken:
        if self.late:
            return self
        raise RuntimeError("called")

    def ended(self, outcome: Outcome, error: BaseException | None) -> None:
        raise RuntimeError("ended")

    def left(self) -> None:
        raise RuntimeError("left")

    def batch_received(self, size: int) -> None:
        raise RuntimeError("batch_received")

    def refused(self, error: RpcError) -> None:
        raise RuntimeError("refused")


@pytest.mark.parametrize("late", [True, False])
async def test_an_observer_that_fails_is_logged_and_changes_no_answer(
    late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    messages = [request("add", "[1]"), request("seen_async"), b"[" + request("fail") + b"]", b"x"]
    answers = []
    for observer in (None, Broken(late=late)):
        dispatcher = Dispatcher(router, limits=Limits(), observer=observer)
        for data in messages:
            source = Source()
            answer = dispatcher.handle(data, source)
            answers.append(answer if isinstance(answer, bytes) else await source.answers.get())
    assert answers[: len(messages)] == answers[len(messages) :]
    logged = {record.message for record in caplog.records if record.levelno == logging.ERROR}
    assert logged == {"an observer of calls failed"}


@pytest.mark.req("O-11")
@pytest.mark.parametrize("url", ["http://127.0.0.1:0/rpc", "tcp://127.0.0.1:0", "memory:observed"])
async def test_a_server_tells_its_observer_of_calls_over_every_transport(
    url: str, recorder: Recorder
) -> None:
    async with serve(router, url, observer=recorder) as server, connect(server.url) as peer:
        assert await peer.call("add", [1, 2]) == 3
        assert await peer.call("seen_async") == "seen_async"
    assert recorder.told == [("request", "add", None), ("request", "seen_async", None)]


async def test_a_client_that_is_called_tells_its_observer(recorder: Recorder) -> None:
    peers: list[Peer] = []
    async with (
        serve(Router(), "memory:callback", on_connect=peers.append),
        connect("memory:callback", router, observer=recorder),
    ):
        assert await peers[0].call("add", [1]) == 1
    assert recorder.told == [("request", "add", None)]


async def test_a_message_that_is_too_large_is_told_as_refused(recorder: Recorder) -> None:
    async with (
        serve(
            router, "tcp://127.0.0.1:0", limits=Limits(max_message_bytes=100), observer=recorder
        ) as server,
        connect(server.url) as peer,
    ):
        with pytest.raises(RpcError):
            await peer.call("add", ["x" * 200])
    assert recorder.told == [("refused", -32012)]


async def test_a_call_that_finds_no_thread_is_told_as_busy(recorder: Recorder) -> None:
    pool = ThreadPool(threads=1, queued=0)
    dispatcher = Dispatcher(router, limits=Limits(), threads=pool, observer=recorder)
    dispatcher.handle(request("seen_in_thread"), Source())
    assert recorder.told == [("request", "seen_in_thread", -32010)]
