"""Spans of calls, in and out."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from msgspec import UNSET
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from accord import Context, Peer, Router, RpcError, connect, serve
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.telemetry.metrics import Metrics
from accord.telemetry.observers import all_of
from accord.telemetry.tracing import Tracing, trace_headers, traced
from accord.transports.asgi import AsgiEndpoint

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


class Spans:
    """The spans that have ended, and where to make them."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str, kind: SpanKind = SpanKind.SERVER) -> ReadableSpan:
        (span,) = (each for each in self.all() if each.name == name and each.kind is kind)
        return span


@pytest.fixture
def spans() -> Spans:
    return Spans()


def current_ids() -> tuple[str, str]:
    found = trace.get_current_span().get_span_context()
    return f"{found.trace_id:032x}", f"{found.span_id:016x}"


def ids(span: ReadableSpan) -> tuple[str, str]:
    found = span.get_span_context()
    assert found is not None
    return f"{found.trace_id:032x}", f"{found.span_id:016x}"


def parent(span: ReadableSpan) -> str | None:
    return None if span.parent is None else f"{span.parent.span_id:016x}"


router = Router()


@router.method
def inline() -> tuple[str, str]:
    return current_ids()


@router.method
async def later() -> tuple[str, str]:
    await asyncio.sleep(0)
    return current_ids()


@router.method(thread=True)
def elsewhere() -> tuple[str, str]:
    return current_ids()


@router.method
def fail() -> None:
    raise RpcError("no such thing", code=7)


@router.method
def crash() -> None:
    raise KeyError("secret")


@pytest.fixture
async def url(spans: Spans) -> AsyncIterator[str]:
    async with serve(router, "http://127.0.0.1:0/rpc", observer=Tracing(spans.provider)) as server:
        yield server.url


@pytest.mark.req("O-11")
@pytest.mark.parametrize("method", ["inline", "later", "elsewhere"])
async def test_a_handler_runs_in_a_span_that_continues_the_callers_trace(
    method: str, url: str, spans: Spans
) -> None:
    async with connect(url, headers={"traceparent": TRACEPARENT, "tracestate": "a=b"}) as peer:
        seen = await peer.call(method)
    span = spans.named(method)
    assert tuple(seen) == ids(span)
    assert ids(span)[0] == TRACE
    assert parent(span) == PARENT
    context = span.get_span_context()
    assert context is not None
    assert context.trace_state.to_header() == "a=b"
    assert current_ids() == ("0" * 32, "0" * 16)


@pytest.mark.req("O-11")
async def test_a_span_says_what_the_conventions_ask_for(url: str, spans: Spans) -> None:
    async with connect(url) as peer:
        await peer.call("inline")
    span = spans.named("inline")
    attributes = dict(span.attributes or {})
    assert isinstance(attributes.pop("client.port"), int)
    assert attributes == {
        "rpc.system.name": "jsonrpc",
        "rpc.method": "inline",
        "jsonrpc.protocol.version": "2.0",
        "jsonrpc.request.id": "1",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "client.address": "127.0.0.1",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert span.parent is None
    assert span.events == ()


@pytest.mark.req("O-11")
async def test_a_call_that_fails_has_its_code_as_status_and_what_is_unforeseen_as_event(
    url: str, spans: Spans
) -> None:
    async with connect(url) as peer:
        for method in ("fail", "crash"):
            with pytest.raises(RpcError):
                await peer.call(method)
    failed, crashed = spans.named("fail"), spans.named("crash")
    assert failed.attributes is not None
    assert failed.attributes["rpc.response.status_code"] == "7"
    assert failed.attributes["error.type"] == "7"
    assert (failed.status.status_code, failed.status.description) == (
        StatusCode.ERROR,
        "no such thing",
    )
    assert failed.events == ()
    assert crashed.attributes is not None
    assert crashed.attributes["error.type"] == "-32603"
    assert crashed.status.description is None
    (event,) = crashed.events
    assert event.attributes is not None
    assert event.attributes["exception.type"] == "KeyError"


@pytest.mark.req("O-11")
async def test_a_method_that_does_not_exist_does_not_name_a_span(url: str, spans: Spans) -> None:
    async with connect(url) as peer:
        with pytest.raises(RpcError):
            await peer.call("x" * 1_000)
    span = spans.named("jsonrpc")
    assert span.attributes is not None
    assert span.attributes["rpc.method"] == "_OTHER"
    assert span.attributes["rpc.method_original"] == "x" * 128
    assert span.attributes["error.type"] == "-32601"


async def test_a_notification_has_no_id_and_no_status(url: str, spans: Spans) -> None:
    async with connect(url) as peer:
        await peer.notify("fail")
        await peer.call("inline")
    span = spans.named("fail")
    assert span.attributes is not None
    assert span.attributes["error.type"] == "7"
    assert "jsonrpc.request.id" not in span.attributes
    assert "rpc.response.status_code" not in span.attributes


@pytest.mark.parametrize(
    "header", ["", "nonsense", "00-0-0-00", f"{TRACEPARENT}, {TRACEPARENT}", "x" * 5_000]
)
async def test_a_trace_header_that_makes_no_sense_begins_a_new_trace(
    header: str, url: str, spans: Spans
) -> None:
    async with connect(url, headers={"traceparent": header}) as peer:
        await peer.call("inline")
    assert spans.named("inline").parent is None


@pytest.mark.req("O-11")
async def test_a_call_that_goes_out_names_the_current_span_to_the_other_end(
    url: str, spans: Spans
) -> None:
    async with connect(url, outgoing_headers=trace_headers) as peer:
        with spans.tracer.start_as_current_span("outside"):
            await peer.call("inline")
        await peer.call("later")
    outside = spans.named("outside", SpanKind.INTERNAL)
    assert parent(spans.named("inline")) == ids(outside)[1]
    assert ids(spans.named("inline"))[0] == ids(outside)[0]
    assert spans.named("later").parent is None


@pytest.mark.req("O-11")
async def test_a_trace_goes_through_a_server_that_calls_another(url: str, spans: Spans) -> None:
    front = Router()
    async with connect(url, outgoing_headers=trace_headers) as behind:

        @front.method
        async def ask() -> Any:
            return await behind.call("later")

        async with (
            serve(front, "http://127.0.0.1:0", observer=Tracing(spans.provider)) as server,
            connect(server.url, outgoing_headers=trace_headers) as peer,
        ):
            with spans.tracer.start_as_current_span("outside"):
                await traced(peer, spans.provider).call("ask")
    outside = spans.named("outside", SpanKind.INTERNAL)
    calling = spans.named("ask", SpanKind.CLIENT)
    asked, answered = spans.named("ask"), spans.named("later")
    assert [parent(each) for each in (calling, asked, answered)] == [
        ids(outside)[1],
        ids(calling)[1],
        ids(asked)[1],
    ]
    assert {ids(each)[0] for each in spans.all()} == {ids(outside)[0]}


@pytest.mark.req("O-11")
async def test_calls_that_wait_for_a_connection_keep_the_trace_of_their_sender(
    url: str, spans: Spans
) -> None:
    async with connect(url, outgoing_headers=trace_headers, pool_size=1) as peer:

        async def call(number: int) -> None:
            with spans.tracer.start_as_current_span(f"outside {number}"):
                await peer.call("later")

        await asyncio.gather(*map(call, range(20)))
    outside = {ids(each)[1] for each in spans.all() if each.name.startswith("outside")}
    assert {parent(each) for each in spans.all() if each.name == "later"} == outside
    assert len(outside) == 20


@pytest.mark.req("O-11")
@pytest.mark.parametrize("scheme", ["http://127.0.0.1:0", "tcp://127.0.0.1:0"])
async def test_many_calls_at_once_keep_their_spans_apart(scheme: str, spans: Spans) -> None:
    crowd = Router()
    inside = asyncio.Semaphore(0)
    together = asyncio.Event()

    @crowd.method
    async def meet(number: int) -> list[Any]:
        first = current_ids()
        trace.get_current_span().set_attribute("number", number)
        inside.release()
        await together.wait()
        with spans.tracer.start_as_current_span(f"child {number}"):
            await asyncio.sleep(0)
        return [number, first, current_ids()]

    async with (
        serve(crowd, scheme, observer=Tracing(spans.provider)) as server,
        connect(server.url, pool_size=500) as peer,
    ):
        calls = [asyncio.ensure_future(peer.call("meet", [number])) for number in range(500)]
        for _ in calls:
            await inside.acquire()
        together.set()
        answers = await asyncio.gather(*calls)
    met = {span.attributes["number"]: span for span in spans.all() if span.attributes}
    children = {span.name: span for span in spans.all() if span.name.startswith("child")}
    for number, first, last in answers:
        assert tuple(first) == tuple(last) == ids(met[number])
        assert parent(children[f"child {number}"]) == ids(met[number])[1]
    assert len({ids(span)[0] for span in met.values()}) == 500


@pytest.mark.req("O-11")
async def test_the_calls_of_a_batch_have_a_span_each_and_one_parent(url: str, spans: Spans) -> None:
    async with (
        connect(url, headers={"traceparent": TRACEPARENT}) as peer,
        peer.batch() as batch,
    ):
        batch.call("later")
        batch.call("inline")
        batch.notify("inline")
    assert sorted(span.name for span in spans.all()) == ["inline", "inline", "later"]
    assert {parent(span) for span in spans.all()} == {PARENT}
    assert len({ids(span)[1] for span in spans.all()}) == 3


@pytest.mark.req("O-11")
async def test_a_call_that_is_given_up_ends_its_span(spans: Spans) -> None:
    waiting = Router()
    begun, cancelled = asyncio.Event(), asyncio.Event()

    @waiting.method
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with (
        serve(waiting, "http://127.0.0.1:0", observer=Tracing(spans.provider)) as server,
        connect(server.url) as peer,
    ):
        call = asyncio.ensure_future(traced(peer, spans.provider).call("wait"))
        await begun.wait()
        call.cancel()
        await cancelled.wait()
        with pytest.raises(asyncio.CancelledError):
            await call
    for kind in (SpanKind.SERVER, SpanKind.CLIENT):
        span = spans.named("wait", kind)
        assert span.attributes is not None
        assert span.attributes["error.type"] == "cancelled"
        assert span.status.status_code is StatusCode.ERROR


async def test_a_websocket_call_is_linked_to_the_trace_of_the_handshake(spans: Spans) -> None:
    async with (
        serve(router, "ws://127.0.0.1:0", observer=Tracing(spans.provider)) as server,
        connect(server.url, headers={"traceparent": TRACEPARENT}) as peer,
        connect(server.url) as other,
    ):
        await peer.call("inline")
        await other.call("later")
    span = spans.named("inline")
    assert span.parent is None
    assert [f"{link.context.span_id:016x}" for link in span.links] == [PARENT]
    assert span.attributes is not None
    assert span.attributes["network.protocol.name"] == "websocket"
    assert spans.named("later").links == ()


async def test_what_was_current_when_a_server_began_is_not_the_parent_of_its_calls(
    spans: Spans,
) -> None:
    with spans.tracer.start_as_current_span("start"):
        async with (
            serve(router, "tcp://127.0.0.1:0", observer=Tracing(spans.provider)) as server,
            connect(server.url) as peer,
        ):
            await peer.call("inline")
    assert spans.named("inline").parent is None


@pytest.mark.req("O-11")
async def test_inside_a_traced_web_application_the_requests_span_is_the_parent(
    spans: Spans,
) -> None:
    endpoint = AsgiEndpoint(router, observer=Tracing(spans.provider))

    async def application(scope: Any, receive: Any, send: Any) -> None:
        with spans.tracer.start_as_current_span("request"):
            await endpoint(scope, receive, send)

    for app in (application, endpoint):
        await post(app, b'{"jsonrpc":"2.0","id":1,"method":"later"}')
    below, alone = [span for span in spans.all() if span.name == "later"]
    assert parent(below) == ids(spans.named("request", SpanKind.INTERNAL))[1]
    assert parent(alone) == PARENT


async def post(app: Callable[[Any, Any, Any], Awaitable[None]], body: bytes) -> None:
    """One request to an ASGI application, with trace headers."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (b"host", b"test"),
            (b"content-type", b"application/json"),
            (b"traceparent", TRACEPARENT.encode()),
        ],
        "client": None,
        "server": ("test", 80),
    }
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    forever = asyncio.Event()
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await forever.wait()
        return messages.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] == 200


@pytest.mark.parametrize(
    ("channel", "attributes"),
    [
        (ChannelInfo(scheme="tcp", address="[::1]:80"), {"client.address": "::1", "client.port": 80, "network.transport": "tcp"}),
        (ChannelInfo(scheme="unix", address="/run/x.sock"), {"client.address": "/run/x.sock", "network.transport": "unix"}),
        (ChannelInfo(scheme="stdio"), {"network.transport": "pipe"}),
        (ChannelInfo(scheme="memory"), {}),
    ],
)  # fmt: skip
def test_what_is_known_of_the_other_end(
    channel: ChannelInfo, attributes: dict[str, Any], spans: Spans
) -> None:
    def context(method: str, id: Any) -> Context:
        return Context(method, id, channel=channel)

    seen = Tracing(spans.provider).called("any", UNSET, known=True, context=context)
    seen.ended(None, None)
    seen.left()
    assert dict(spans.named("any").attributes or {}) == {
        "rpc.system.name": "jsonrpc",
        "rpc.method": "any",
        "jsonrpc.protocol.version": "2.0",
        **attributes,
    }


async def test_calls_of_a_traced_peer_have_spans_with_their_errors(url: str, spans: Spans) -> None:
    async with connect(url) as peer:
        caller = traced(peer, spans.provider)
        assert await caller.call("later", timeout=5)
        await caller.notify("inline")
        with pytest.raises(RpcError):
            await caller.call("fail")
    span = spans.named("fail", SpanKind.CLIENT)
    attributes = dict(span.attributes or {})
    host, _, port = url.removeprefix("http://").removesuffix("/rpc").partition(":")
    assert attributes == {
        "rpc.system.name": "jsonrpc",
        "rpc.method": "fail",
        "jsonrpc.protocol.version": "2.0",
        "rpc.response.status_code": "7",
        "error.type": "7",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "server.address": host,
        "server.port": int(port),
    }
    assert span.status.description == "no such thing"
    assert spans.named("inline", SpanKind.CLIENT).status.status_code is StatusCode.UNSET


@pytest.mark.req("O-11")
async def test_several_observers_see_the_same_calls(spans: Spans) -> None:
    metrics = Metrics()
    observer = all_of(metrics, Tracing(spans.provider))
    async with (
        serve(router, "http://127.0.0.1:0", observer=observer) as server,
        connect(server.url) as peer,
    ):
        for method in ("inline", "later", "elsewhere"):
            assert tuple(await peer.call(method)) == ids(spans.named(method))
        async with peer.batch() as batch:
            batch.call("inline")
    text = metrics.text().decode()
    assert 'accord_calls_total{method="inline",kind="request"} 2\n' in text
    assert "accord_batch_messages_count 1\n" in text


async def test_a_peer_that_is_called_back_traces_too(spans: Spans) -> None:
    peers: list[Peer] = []
    async with (
        serve(Router(), "tcp://127.0.0.1:0", on_connect=peers.append) as server,
        connect(server.url, router, observer=Tracing(spans.provider)) as peer,
    ):
        with pytest.raises(RpcError):
            await peer.call("nothing")
        await peers[0].call("inline")
    assert [span.name for span in spans.all()] == ["inline"]


def test_without_opentelemetry_the_error_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "try:\n"
        "    import accord.telemetry.tracing\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "accord.telemetry.tracing needs OpenTelemetry: pip install 'accord[otel]'\n"
    )
