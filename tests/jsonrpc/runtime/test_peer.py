"""Two peers joined in memory: each calls and is called."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from accord import (
    BusyError,
    CallTimeoutError,
    ConnectionClosedError,
    ConnectionLostError,
    Context,
    IdsExhaustedError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    InvalidResultError,
    Limits,
    MessageTooLargeError,
    MethodNotFoundError,
    Peer,
    Router,
    RpcError,
    State,
    ThreadPool,
)
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.session import LAST_ID, Counter
from accord.transports.memory import MemoryChannel, memory_pair
from tests.patience import PATIENCE
from tests.transports.recorder import Recorder


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until `condition()`."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - it is the tested code that changes it
            await asyncio.sleep(0)


def make_router() -> Router:
    router = Router()

    @router.method
    def add(a: int, b: int) -> int:
        return a + b

    @router.method
    async def wait(context: Context) -> str:
        await context.state["gate"].wait()
        return "opened"

    @router.method
    def crash() -> None:
        raise ValueError("a secret")

    @router.method
    async def crash_later() -> None:
        await asyncio.sleep(0)
        raise ValueError("a secret")

    @router.method
    def fail(code: int) -> None:
        raise RpcError("on purpose", code=code, data={"why": [1]})

    @router.method
    def unencodable() -> object:
        return object()

    @router.method
    async def call_back(method: str, params: list[Any], context: Context) -> Any:
        return await context.call(method, params)

    return router


@contextlib.asynccontextmanager
async def joined(
    router: Router | None = None,
    client_router: Router | None = None,
    *,
    limits: Limits | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Peer, Peer]]:
    """A client and a server."""
    one, two = memory_pair(limits=limits)
    server = Peer(two, make_router() if router is None else router, limits=limits)
    server.call_state["gate"] = asyncio.Event()
    async with Peer(one, client_router, limits=limits, **options) as client, server:
        yield client, server


@contextlib.asynccontextmanager
async def raw(
    router: Router | None = None, **options: Any
) -> AsyncIterator[tuple[Recorder, MemoryChannel, Peer]]:
    """A peer, and the bare channel at the other end of it."""
    ours, theirs = memory_pair(other_limits=options.get("limits"))
    async with Peer(theirs, make_router() if router is None else router, **options) as peer:
        recorder = Recorder()
        ours.start(recorder)
        yield recorder, ours, peer


@pytest.mark.req("F-10", "F-12", "RPC-3b", "RPC-4.2a", "RPC-4.2b")
async def test_a_call_returns_what_the_other_end_computes_by_position_and_by_name() -> None:
    async with joined() as (client, _):
        assert await client.call("add", [1, 2]) == 3
        assert await client.call("add", (1, 2)) == 3
        assert await client.call("add", {"a": 1, "b": 2}) == 3
        assert client.pending == 0


@pytest.mark.req("F-11", "F-12", "RPC-3b")
async def test_both_ends_call_each_other_at_once_on_one_connection() -> None:
    async with joined(client_router=make_router()) as (client, server):
        results = await asyncio.gather(
            *(client.call("add", [n, 1]) for n in range(100)),
            *(server.call("add", [n, 2]) for n in range(100)),
        )
        assert results == [n + 1 for n in range(100)] + [n + 2 for n in range(100)]


@pytest.mark.req("F-11", "F-12")
async def test_a_handler_calls_its_caller_back() -> None:
    async with joined(client_router=make_router()) as (client, _):
        assert await client.call("call_back", ["add", [20, 22]]) == 42
        with pytest.raises(MethodNotFoundError, match="nope"):
            await client.call("call_back", ["nope", []])


@pytest.mark.req("F-11")
async def test_a_slow_call_does_not_hold_up_the_ones_behind_it() -> None:
    async with joined() as (client, server):
        slow = client.begin("wait")
        assert await client.call("add", [1, 1]) == 2
        assert server.in_flight == 1
        server.call_state["gate"].set()
        assert await slow == "opened"
        assert server.in_flight == 0


@pytest.mark.req("F-03", "RPC-4.1a", "RPC-4.1b")
@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc":"2.0","method":"add","params":[1,2]}',
        b'{"jsonrpc":"2.0","method":"add","params":["x"]}',
        b'{"jsonrpc":"2.0","method":"nope"}',
        b'{"jsonrpc":"2.0","method":"crash"}',
        b'{"jsonrpc":"2.0","method":"crash_later"}',
        b'{"jsonrpc":"2.0","method":"unencodable"}',
        b'[{"jsonrpc":"2.0","method":"add","params":[1,2]},{"jsonrpc":"2.0","method":"crash_later"}]',
    ],
)
async def test_a_notification_is_never_answered_whatever_goes_wrong_in_it(message: bytes) -> None:
    async with raw() as (recorder, channel, peer):
        channel.send(message)
        channel.send(b'{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}')
        assert await recorder.next_message() == b'{"jsonrpc":"2.0","id":1,"result":3}'
        await until(lambda: not peer.in_flight)
        assert recorder.messages == []


@pytest.mark.req("F-03", "F-26")
async def test_a_failing_notification_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with joined() as (client, _):
        await client.notify("add", ["x"])
        await client.notify("crash")
        await client.call("add", [1, 1])
    assert "notification add failed: parameter 'a'" in caplog.text
    assert "ValueError: a secret" in caplog.text


@pytest.mark.req("F-06", "F-07", "RPC-5.1d")
async def test_errors_come_back_as_the_exception_for_their_code() -> None:
    async with joined() as (client, _):
        with pytest.raises(MethodNotFoundError, match="Method not found: nope") as unknown:
            await client.call("nope")
        assert unknown.value.remote
        with pytest.raises(InvalidParamsError) as bad:
            await client.call("add", [1, "x"])
        assert bad.value.data == {
            "reason": "invalid_params",
            "parameter": "b",
            "path": "b",
            "expected": "int",
            "got": "str",
        }


@pytest.mark.req("F-09", "F-26", "RPC-5.1e")
async def test_an_error_raised_by_a_handler_reaches_the_caller_unchanged() -> None:
    async with joined() as (client, _):
        with pytest.raises(RpcError) as failed:
            await client.call("fail", [4711])
        assert (failed.value.code, failed.value.message, failed.value.data) == (
            4711,
            "on purpose",
            {"why": [1]},
        )


@pytest.mark.req("F-26", "F-30")
@pytest.mark.parametrize("method", ["crash", "crash_later", "unencodable"])
async def test_an_unforeseen_failure_tells_the_caller_only_a_correlation_id(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with joined() as (client, server):
        with pytest.raises(InternalError) as failed:
            await client.call(method)
        assert failed.value.message == "Internal error"
        correlation_id = failed.value.data.pop("correlationId")
        assert failed.value.data == {"reason": "internal_error"}
        assert correlation_id in caplog.text
        assert server.statistics.handlers_failed == 1
        assert await client.call("add", [1, 1]) == 2


@pytest.mark.req("F-08", "RPC-6a", "RPC-6b", "RPC-6c", "RPC-6d", "RPC-6e")
@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (
            b'[{"jsonrpc":"2.0","id":2,"method":"crash_fast"},'
            b'{"jsonrpc":"2.0","method":"add","params":[1,2]},1,'
            b'{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}]',
            [(2, -32601), (None, -32600), (1, 3)],
        ),
        (b"[1,2]", [(None, -32600), (None, -32600)]),
        (b"[]", (None, -32600)),
        (b"[1", (None, -32700)),
    ],
)
async def test_a_batch_is_answered_in_one_array_in_the_order_of_its_requests(
    sent: bytes, answer: Any
) -> None:
    def brief(message: dict[str, Any]) -> tuple[Any, Any]:
        return message["id"], message["result"] if "result" in message else message["error"]["code"]

    async with raw() as (recorder, channel, _):
        channel.send(sent)
        got = msgspec.json.decode(await recorder.next_message())
        assert ([brief(each) for each in got] if isinstance(got, list) else brief(got)) == answer


@pytest.mark.req("F-08", "F-11")
async def test_the_requests_of_a_batch_run_at_once_and_are_answered_in_order() -> None:
    router = Router()
    arrived: list[int] = []
    everyone = asyncio.Event()

    @router.method
    async def meet(n: int) -> int:
        arrived.append(n)
        if len(arrived) == 3:
            everyone.set()
        await everyone.wait()
        return n

    async with joined(router) as (client, _):
        async with client.batch() as batch:
            calls = [batch.call("meet", [n]) for n in range(3)]
            batch.notify("meet", [9])
        assert [await call for call in calls] == [0, 1, 2]


async def test_a_failed_call_of_a_batch_raises_where_it_is_awaited() -> None:
    async with joined() as (client, _):
        async with client.batch() as batch:
            good, bad = batch.call("add", [1, 2]), batch.call("nope")
        assert await good == 3
        with pytest.raises(MethodNotFoundError):
            await bad


async def test_a_batch_left_by_an_exception_is_not_sent() -> None:
    async with joined() as (client, server):
        batch = client.batch()
        call = batch.call("add", [1, 2])
        await batch.__aexit__(KeyError, KeyError(), None)
        with pytest.raises(asyncio.CancelledError):
            await call
        assert client.pending == 0
        assert server.statistics.requests_received == 0


async def test_an_empty_batch_sends_nothing() -> None:
    async with joined() as (client, server):
        async with client.batch():
            pass
        assert await client.call("add", [1, 1]) == 2
        assert server.statistics.invalid_received == 0


@pytest.mark.req("F-08", "F-28")
async def test_a_batch_over_the_limit_is_one_invalid_request() -> None:
    async with raw(limits=Limits(max_batch_items=2)) as (recorder, channel, _):
        channel.send(b"[1,2,3]")
        answer = msgspec.json.decode(await recorder.next_message())
        assert answer["error"]["code"] == -32600
        assert "the batch is over the limit of 2 messages" in answer["error"]["message"]
    async with raw(limits=Limits(max_batch_items=0)) as (recorder, channel, _):
        channel.send(b"[1]")
        assert b"batches are turned off" in await recorder.next_message()


@pytest.mark.req("F-05", "F-08")
async def test_a_batch_refused_as_a_whole_fails_its_calls_at_once() -> None:
    async with joined(limits=Limits(max_batch_items=1)) as (client, _):
        async with client.batch() as batch:
            calls = [batch.call("add", [1, 2]) for _ in range(2)]
        for call in calls:
            with pytest.raises(InvalidRequestError, match="over the limit of 1") as refused:
                await call
            assert refused.value.remote
        assert client.pending == 0


@pytest.mark.req("F-08", "F-28")
async def test_answers_over_the_batch_limit_become_errors_of_their_own() -> None:
    router = Router()
    router.add(lambda: "x" * 500, name="big")
    async with joined(router, limits=Limits(max_batch_response_bytes=1200)) as (client, _):
        async with client.batch() as batch:
            calls = [batch.call("big") for _ in range(3)]
        assert [len(await call) for call in calls[:2]] == [500, 500]
        with pytest.raises(MessageTooLargeError) as refused:
            await calls[2]
        assert refused.value.data == {
            "reason": "message_too_large",
            "maxSize": 1200,
            "unit": "bytes",
        }


@pytest.mark.req("F-08", "F-12")
async def test_an_array_that_mixes_answers_and_requests_is_taken_apart() -> None:
    async with raw() as (recorder, channel, peer):
        one = asyncio.create_task(peer.call("first"))
        two = asyncio.create_task(peer.call("second"))
        await recorder.next_message()
        await recorder.next_message()
        channel.send(
            b'[{"jsonrpc":"2.0","id":2,"result":"b"},'
            b'{"jsonrpc":"2.0","id":7,"method":"add","params":[1,2]},'
            b'{"jsonrpc":"2.0","id":1,"result":"a"}]'
        )
        assert [await one, await two] == ["a", "b"]
        assert await recorder.next_message() == b'[{"jsonrpc":"2.0","id":7,"result":3}]'


@pytest.mark.req("F-13")
async def test_a_call_times_out_and_its_late_answer_is_dropped_and_counted() -> None:
    async with joined() as (client, server):
        with pytest.raises(CallTimeoutError, match=r"no answer to wait within 0\.02 s") as expired:
            await client.call("wait", timeout=0.02)
        assert isinstance(expired.value, TimeoutError)
        assert client.pending == 0
        server.call_state["gate"].set()
        assert await client.call("add", [1, 1]) == 2
        assert client.statistics.calls_timed_out == 1
        assert client.statistics.answers_late == 1


@pytest.mark.req("F-13")
async def test_the_timeout_can_be_set_per_peer_and_waived_per_call() -> None:
    async with joined(timeout=0.02) as (client, server):
        patient = asyncio.create_task(client.call("wait", timeout=None))
        await asyncio.sleep(0)
        with pytest.raises(CallTimeoutError):
            await client.call("wait")
        assert not patient.done()
        server.call_state["gate"].set()
        assert await patient == "opened"


@pytest.mark.req("F-13")
async def test_a_call_that_shows_progress_gets_its_full_time_again_up_to_the_longest() -> None:
    async with joined() as (client, server):
        loop = asyncio.get_running_loop()
        started = loop.time()
        call = client.begin("wait", timeout=0.05, longest=0.12)
        for _ in range(3):
            await asyncio.sleep(0.04)
            call.extend()
        with pytest.raises(CallTimeoutError):
            await call
        assert loop.time() - started >= 0.11
        server.call_state["gate"].set()


@pytest.mark.req("F-15")
async def test_a_cancelled_caller_removes_its_call_and_the_protocol_above_is_told() -> None:
    async with joined() as (client, server):
        told: list[tuple[Any, str]] = []
        client.on_abandoned = lambda id, method: told.append((id, method))
        task = asyncio.create_task(client.call("wait"))
        await asyncio.sleep(0)
        assert client.pending == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (client.pending, told) == (0, [(1, "wait")])
        server.call_state["gate"].set()
        assert await client.call("add", [1, 1]) == 2
        assert client.statistics.answers_late == 1


@pytest.mark.req("F-14")
async def test_uuids_are_used_as_ids_when_asked_for() -> None:
    async with joined(ids="uuid") as (client, _):
        call = client.begin("add", [1, 2])
        assert isinstance(call.id, str)
        assert len(call.id) == 36
        assert await call == 3


@pytest.mark.req("F-14")
async def test_a_peer_out_of_ids_says_so_and_still_serves() -> None:
    async with joined(client_router=make_router()) as (client, server):
        client._session._next_id = Counter(first=LAST_ID + 1)
        with pytest.raises(IdsExhaustedError, match="reconnect"):
            await client.call("add", [1, 2])
        assert await server.call("add", [1, 2]) == 3


@pytest.mark.req("F-10")
async def test_calls_can_be_made_from_other_threads() -> None:
    async with joined() as (client, _):
        results: list[int] = []

        def work(start: int) -> None:
            results.extend(client.call_threadsafe("add", [start, n]).result(5) for n in range(20))

        threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        assert sorted(results) == sorted(100 * k + n for k in range(4) for n in range(20))


@pytest.mark.req("F-18", "F-27")
async def test_every_pending_call_fails_at_once_when_the_connection_drops() -> None:
    ours, theirs = memory_pair()
    peer = Peer(theirs)
    ours.start(Recorder())
    calls = [asyncio.create_task(peer.call("m", timeout=None)) for _ in range(10)]
    await asyncio.sleep(0)
    assert peer.pending == 10
    ours.close()
    for call in calls:
        with pytest.raises(ConnectionLostError) as lost:
            await call
        assert lost.value.recoverable
        assert lost.value.advice
    assert (peer.pending, peer.state) == (0, State.CLOSED)
    with pytest.raises(ConnectionClosedError, match="closed"):
        await peer.call("m")
    with pytest.raises(ConnectionClosedError):
        await peer.notify("m")
    await peer.close()


@pytest.mark.req("F-20")
async def test_changes_of_state_are_observed_in_order() -> None:
    async with joined() as (client, _):
        seen: list[State] = []
        client.observe(lambda state, error: seen.append(state))
        stopped = client.observe(lambda state, error: seen.append(state))
        stopped()

        def faulty(state: State, error: object) -> None:
            raise RuntimeError

        client.observe(faulty)
        assert client.state.value == "connected"
        await client.close()
    assert seen == [State.CLOSING, State.CLOSED]
    assert client.state.value == "closed"


@pytest.mark.req("F-18", "F-24")
async def test_a_drop_cancels_the_handlers_that_serve_the_lost_connection() -> None:
    router = Router()
    cancelled = asyncio.Event()

    @router.method
    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with raw(router) as (_, channel, peer):
        channel.send(b'{"jsonrpc":"2.0","id":1,"method":"hang"}')
        await until(lambda: peer.in_flight > 0)
        await asyncio.sleep(0)
        channel.close()
        await asyncio.wait_for(cancelled.wait(), PATIENCE)
        await peer.wait_closed()
    await until(lambda: not peer.in_flight)


async def test_a_request_that_arrives_with_the_end_of_the_connection_leaves_nothing_behind() -> (
    None
):
    async with raw() as (_, channel, peer):
        channel.send(b'{"jsonrpc":"2.0","id":1,"method":"wait"}')
        channel.close()
        await peer.wait_closed()
        assert peer.in_flight == 0
    gc.collect()  # a coroutine that was never awaited would warn here


@pytest.mark.req("F-24")
async def test_close_lets_running_handlers_finish_and_their_answers_leave() -> None:
    async with joined() as (client, server):
        slow = client.begin("wait")
        await client.call("add", [1, 1])
        closing = asyncio.create_task(server.close())
        await asyncio.sleep(0)
        assert server.state is State.CLOSING
        with pytest.raises(BusyError, match="closing"):
            await client.call("wait")
        server.call_state["gate"].set()
        assert await slow == "opened"
        await closing


@pytest.mark.req("F-24")
async def test_close_cancels_handlers_that_outlast_the_drain() -> None:
    async with joined() as (client, server):
        slow = client.begin("wait")
        await client.call("add", [1, 1])
        await server.close(drain=0.02)
        with pytest.raises(BusyError, match="closes before the call has ended"):
            await slow
        assert server.in_flight == 0


@pytest.mark.req("F-28")
async def test_requests_beyond_the_limit_are_refused_as_busy_and_the_rest_is_served() -> None:
    async with joined(limits=Limits(max_in_flight=3)) as (client, server):
        held = [client.begin("wait") for _ in range(3)]
        flood = await asyncio.gather(
            *(client.call("wait") for _ in range(30)), return_exceptions=True
        )
        assert {type(error) for error in flood} == {BusyError}
        assert server.in_flight == 3
        assert await client.call("add", [1, 1]) == 2
        server.call_state["gate"].set()
        assert await asyncio.gather(*held) == ["opened"] * 3


@pytest.mark.req("F-28")
async def test_calls_beyond_the_limit_are_refused_before_they_are_sent() -> None:
    async with joined(limits=Limits(max_pending=2)) as (client, server):
        held = [client.begin("wait") for _ in range(2)]
        with pytest.raises(BusyError):
            await client.call("add", [1, 1])
        server.call_state["gate"].set()
        await asyncio.gather(*held)
        assert await client.call("add", [1, 1]) == 2


@pytest.mark.req("F-29")
async def test_a_message_over_the_size_limit_is_refused_and_the_connection_goes_on() -> None:
    async with raw(limits=Limits(max_message_bytes=100)) as (recorder, channel, _):
        channel.send(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 100 + b'"}')
        answer = msgspec.json.decode(await recorder.next_message())
        assert answer["id"] is None
        assert answer["error"]["code"] == -32012
        assert answer["error"]["data"] == {
            "reason": "message_too_large",
            "maxSize": 100,
            "unit": "bytes",
        }
        channel.send(b'{"jsonrpc":"2.0","id":2,"method":"add","params":[1,2]}')
        assert await recorder.next_message() == b'{"jsonrpc":"2.0","id":2,"result":3}'


@pytest.mark.req("F-29", "F-30")
async def test_two_ends_that_refuse_each_others_refusals_come_to_an_end() -> None:
    tiny = Limits(max_message_bytes=60)
    async with joined(client_router=make_router(), limits=tiny) as (client, server):
        call = client.begin("add", ["x" * 100, 1])
        await until(lambda: client.statistics.messages_refused >= 16)
        for _ in range(100):
            await asyncio.sleep(0)
        assert client.statistics.messages_refused == 16
        assert server.statistics.messages_refused == 17
        assert await client.call("add", [1, 2]) == 3
        call.cancel()


@pytest.mark.req("F-29")
async def test_an_end_that_only_calls_fails_the_call_whose_answer_is_too_large() -> None:
    ours, theirs = memory_pair(other_limits=Limits(max_message_bytes=100))
    recorder = Recorder()
    ours.start(recorder)
    async with Peer(theirs) as peer:
        call = peer.begin("m")
        await recorder.next_message()
        ours.send(b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 100 + b'"}')
        with pytest.raises(MessageTooLargeError, match="over the limit of 100"):
            await call
    assert recorder.messages == []


@pytest.mark.req("F-05", "F-30")
async def test_a_broken_response_fails_the_call_it_names_and_is_not_answered() -> None:
    async with raw() as (recorder, channel, peer):
        call = asyncio.create_task(peer.call("m"))
        await recorder.next_message()
        channel.send(b'{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"x"}}')
        with pytest.raises(RpcError, match="either 'result' or 'error'"):
            await call
        channel.send(b'{"jsonrpc":"2.0","result":1}')
        channel.send(b'{"jsonrpc":"2.0","id":9,"result":1}')
        channel.send(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}')
        channel.send(b'{"jsonrpc":"2.0","id":7,"method":"add","params":[1,2]}')
        assert await recorder.next_message() == b'{"jsonrpc":"2.0","id":7,"result":3}'
        counts = peer.statistics
        assert (counts.answers_broken, counts.answers_unknown) == (2, 3)


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\xff\xfe",
        b"[" * 5000,
        b'{"jsonrpc":"2.0","id":1,"method":"add","params":[1e999,1]}',
        b"null",
        b'{"a":"\\ud800"}',
    ],
)
async def test_garbage_is_answered_by_an_error_and_harms_nothing(garbage: bytes) -> None:
    async with raw() as (recorder, channel, _):
        channel.send(garbage)
        assert b'"error":{"code":-32' in await recorder.next_message()
        channel.send(b'{"jsonrpc":"2.0","id":7,"method":"add","params":[1,2]}')
        assert await recorder.next_message() == b'{"jsonrpc":"2.0","id":7,"result":3}'


@pytest.mark.req("F-01")
async def test_a_null_id_is_answered_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with raw() as (recorder, channel, peer):
        for _ in range(2):
            channel.send(b'{"jsonrpc":"2.0","id":null,"method":"add","params":[1,2]}')
            assert await recorder.next_message() == b'{"jsonrpc":"2.0","id":null,"result":3}'
        assert peer.statistics.null_ids_received == 2
    assert caplog.text.count("null id") == 1


async def test_a_result_of_another_type_than_asked_for_is_refused() -> None:
    async with joined() as (client, _):
        assert await client.call("add", [1, 2], into=float) == 3.0
        with pytest.raises(InvalidResultError, match="the result of add is not what was asked for"):
            await client.call("add", [1, 2], into=str)


@pytest.mark.parametrize("params", ["text", 5, b"x", True, 1.5])
async def test_params_that_are_no_array_or_object_are_refused_before_they_are_sent(
    params: Any,
) -> None:
    async with joined() as (client, _):
        with pytest.raises(TypeError, match="params must be"):
            await client.call("add", params)
        assert client.pending == 0


@pytest.mark.req("F-13", "F-28")
@pytest.mark.parametrize("thread", [False, True])
async def test_a_handler_that_hangs_is_answered_at_its_deadline_and_harms_nobody(
    thread: bool,
) -> None:
    router = make_router()
    release = threading.Event()
    if thread:
        router.add(lambda: release.wait(10), name="hang", thread=True, deadline=0.03)
    else:

        async def hang() -> str:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return "ignored its cancellation"

        router.add(hang, deadline=0.03)
    async with joined(router) as (client, server):
        hanging = client.begin("hang")
        assert await client.call("add", [1, 1]) == 2
        with pytest.raises(CallTimeoutError, match=r"hang took longer than 0\.03 s") as expired:
            await hanging
        assert expired.value.remote
        assert server.statistics.handlers_timed_out == 1
        release.set()
        await until(lambda: not server.in_flight)
        assert await client.call("add", [1, 1]) == 2


@pytest.mark.req("O-12")
@pytest.mark.parametrize("thread", [False, True])
async def test_a_call_has_the_time_of_the_limits_unless_its_method_has_its_own(
    thread: bool,
) -> None:
    release = threading.Event()
    stop = asyncio.Event()
    hang = (lambda: release.wait(10)) if thread else stop.wait
    router = make_router()
    router.add(hang, "limited", thread=thread)
    router.add(hang, "unlimited", thread=thread, deadline=None)
    router.add(hang, "patient", thread=thread, deadline=10.0)
    async with joined(router, limits=Limits(call_seconds=0.03)) as (client, server):
        others = [client.begin(name) for name in ("unlimited", "patient")]
        with pytest.raises(CallTimeoutError, match=r"limited took longer than 0\.03 s"):
            await client.call("limited")
        assert server.statistics.handlers_timed_out == 1
        release.set()
        stop.set()
        assert await asyncio.gather(*others) == [True, True]


async def test_without_a_limit_a_call_has_all_the_time() -> None:
    async with joined(limits=Limits(call_seconds=None)) as (client, server):
        waiting = client.begin("wait")
        await until(lambda: server.in_flight == 1)
        server.call_state["gate"].set()
        assert await waiting == "opened"


async def test_a_full_pool_of_threads_refuses_more_work_and_recovers() -> None:
    router = make_router()
    release = threading.Event()
    router.add(lambda: release.wait(10), name="block", thread=True)
    one, two = memory_pair()
    pool = ThreadPool(threads=2, queued=2)
    async with Peer(two, router, threads=pool), Peer(one) as client:
        held = [client.begin("block") for _ in range(2)]
        await client.call("add", [1, 1])
        await until(lambda: not pool.waiting)
        held += [client.begin("block") for _ in range(2)]
        await client.call("add", [1, 1])
        with pytest.raises(BusyError, match="2 threads are busy and 2 calls wait"):
            await client.call("block")
        release.set()
        assert await asyncio.gather(*held) == [True] * 4


async def test_debug_mode_sends_the_traceback() -> None:
    one, two = memory_pair()
    async with Peer(two, make_router(), debug=True), Peer(one) as client:
        with pytest.raises(InternalError) as failed:
            await client.call("crash")
        assert "ValueError: a secret" in failed.value.data["traceback"][-1]


@pytest.mark.req("F-09")
async def test_strict_codes_hide_codes_that_are_not_in_the_catalogue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, two = memory_pair()
    async with Peer(two, make_router(), strict_codes=True), Peer(one) as client:
        with pytest.raises(InternalError):
            await client.call("fail", [4711])
    assert "on purpose" in caplog.text


async def test_a_call_waits_while_the_other_end_does_not_take_more() -> None:
    async with raw() as (recorder, _, peer):
        peer.writable_changed(False)
        with pytest.raises(CallTimeoutError, match=r"add could not be sent within 0\.02 s"):
            await peer.call("add", timeout=0.02)
        waiting = asyncio.create_task(peer.call("add", timeout=0.5))
        await asyncio.sleep(0)
        assert peer.pending == 0
        peer.writable_changed(True)
        assert b'"method":"add"' in await recorder.next_message()
        waiting.cancel()


@pytest.mark.req("F-13")
async def test_the_time_that_a_call_waited_to_be_sent_is_part_of_its_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    now = float(int(loop.time()) + 1)
    monkeypatch.setattr(loop, "time", lambda: now)  # nothing happens here but at these times
    async with raw() as (recorder, _, peer):
        peer.writable_changed(False)
        waiting = asyncio.create_task(peer.call("add", timeout=10))
        await asyncio.sleep(0)
        now += 7
        peer.writable_changed(True)
        await recorder.next_message()
        now += 100
        with pytest.raises(CallTimeoutError, match=r"no answer to add within 3 s"):
            await waiting


@pytest.mark.req("F-20")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("a.example:7000", "the connection to a.example:7000 is "),
        ("", "the connection to the peer is "),
    ],
)
async def test_a_closed_peer_says_which_connection_is_closed(address: str, said: str) -> None:
    class Placed(MemoryChannel):
        info = ChannelInfo(scheme="memory", address=address)

    peer = Peer(Placed(Limits()))
    await peer.close()
    with pytest.raises(ConnectionClosedError) as refused:
        await peer.call("m")
    assert refused.value.message == f"{said}closed"


async def test_a_handler_cancelled_from_within_is_an_error_for_its_caller() -> None:
    router = Router()

    @router.method
    async def give_up() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async with joined(router) as (client, _):
        with pytest.raises(InternalError, match="the handler was cancelled"):
            await client.call("give_up")


async def test_logs_never_carry_params_or_results(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with joined() as (client, _):
        await client.call("add", [424242, 1])
        with pytest.raises(InvalidParamsError):
            await client.call("add", {"a": "hunter2", "b": 1})
    assert "424242" not in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.req("F-03", "F-12")
async def test_a_handler_knows_whether_it_may_answer_and_can_notify_its_caller() -> None:
    router, client_router = Router(), Router()
    heard: asyncio.Queue[bool] = asyncio.Queue()
    client_router.add(heard.put_nowait, name="heard")

    @router.method
    async def tell(context: Context) -> None:
        await context.notify("heard", [context.is_notification])

    async with joined(router, client_router) as (client, _):
        await client.call("tell")
        await client.notify("tell")
        assert [await heard.get(), await heard.get()] == [False, True]
