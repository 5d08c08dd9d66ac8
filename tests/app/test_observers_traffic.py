"""Requests are counted by face and status, whatever becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from accord.app.observers import Traffic
from accord.app.site import SystemSite
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.telemetry.metrics import Exposition
from accord.telemetry.tracing import RequestSpans
from accord.transports.http.heads import Fields, WebRequest
from accord.transports.http.replies import Reply, text_reply
from accord.transports.http.web_app import JSON, Exchange, WebApp

CHANNEL = ChannelInfo(scheme="http", address="10.0.0.7:5000", duplex=False)
FACES = {"/a": "rest", "/b": "mcp"}


class Judged:
    """What an application made of a head."""

    route_path = "/things/{id}"


class App(WebApp[Any]):
    """Does what its last word says."""

    def __init__(self) -> None:
        self.kept: list[Exchange] = []

    def judge(self, request: WebRequest) -> Any:
        return text_reply(404, "no") if request.place == "no" else Judged()

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return text_reply(413, "too large")

    def handle(self, judged: Any, body: bytes, exchange: Exchange) -> None:
        match body:
            case b"fail":
                raise LookupError
            case b"later":
                self.kept.append(exchange)
            case b"stream":
                exchange.stream().write(b"x")
                self.kept.append(exchange)
            case _:
                exchange.reply(b"", status=201)


class Answered:
    """An exchange that keeps what it is told, and whose client can go away."""

    channel = CHANNEL
    on_gone: Callable[[], None] | None = None

    def __init__(self) -> None:
        self.said: list[object] = []

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        self.said.append(status)

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> Answered:
        self.said.append(status)
        return self

    def write(self, data: bytes) -> None:
        self.said.append(data)

    def close(self) -> None:
        self.said.append("end")

    def go(self) -> None:
        assert self.on_gone is not None
        self.on_gone()


class Place:
    """A site with two faces, the requests to it, and its spans."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.app = App()
        traffic = Traffic(RequestSpans(provider))
        apps = dict.fromkeys(("/a", "/b"), self.app)
        self.site = SystemSite(apps, faces=FACES, traffic=traffic)

    def ask(self, path: str, body: bytes = b"", **fields: str) -> Answered:
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        request = WebRequest("POST", path, None, "key=1", Fields(pairs), 0, True)
        judged = self.site.judge(request)
        exchange = Answered()
        if isinstance(judged, Reply):
            exchange.reply(b"", status=judged.status)
        else:
            self.site.handle(judged, body, exchange)
        return exchange

    def numbers(self) -> dict[str, float]:
        """All that is not zero, without times."""
        page = Exposition()
        self.site.traffic.write(page)
        found = {}
        for line in page.encode().decode().splitlines():
            name, _, value = line.rpartition(" ")
            if not line.startswith("#") and "_seconds_bucket" not in name and "_sum" not in name:
                found[name.removeprefix("accord_http_")] = float(value)
        return {name: value for name, value in found.items() if value}


@pytest.fixture
def place() -> Place:
    return Place()


def test_requests_are_counted_by_face_and_status(place: Place) -> None:
    place.ask("/a/x")
    place.ask("/a/no")
    place.ask("/b/x")
    place.ask("/nowhere")
    assert place.numbers() == {
        'requests_total{face="other",status="404"}': 1,
        'requests_total{face="mcp",status="201"}': 1,
        'requests_total{face="rest",status="201"}': 1,
        'requests_total{face="rest",status="404"}': 1,
        'request_seconds_count{face="mcp"}': 1,
        'request_seconds_count{face="rest"}': 1,
    }


def test_what_is_under_way_is_counted_until_its_client_has_gone(place: Place) -> None:
    exchange = place.ask("/a/x", b"later")
    told: list[str] = []
    [kept] = place.app.kept
    kept.on_gone = lambda: told.append("gone")
    assert place.numbers() == {'requests_in_flight{face="rest"}': 1}
    exchange.go()
    assert told == ["gone"]
    assert place.numbers() == {'requests_total{face="rest",status="gone"}': 1}


def test_streams_are_open_until_somebody_ends_them(place: Place) -> None:
    ended, left = place.ask("/b/x", b"stream"), place.ask("/b/x", b"stream")
    answered = {
        'requests_total{face="mcp",status="200"}': 2,
        'request_seconds_count{face="mcp"}': 2,
    }
    assert place.numbers() == {**answered, 'streams{face="mcp"}': 2}
    left.go()
    assert place.numbers() == {**answered, 'streams{face="mcp"}': 1}
    stream: Any = place.app.kept[0]
    stream.close()
    assert place.numbers() == answered
    assert ended.said == [200, b"x", "end"]


def test_an_application_that_fails_is_counted_as_what_is_answered_for_it(place: Place) -> None:
    with pytest.raises(LookupError):
        place.ask("/a/x", b"fail")
    assert place.numbers() == {
        'requests_total{face="rest",status="500"}': 1,
        'request_seconds_count{face="rest"}': 1,
    }
    [span] = place.spans.get_finished_spans()
    assert (span.status.is_ok, dict(span.attributes or {})["error.type"]) == (False, "500")


def test_a_request_has_a_span_in_the_trace_of_its_client(place: Place) -> None:
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    place.ask("/a/x/secret", traceparent=f"00-{trace}-{parent}-01")
    [span] = place.spans.get_finished_spans()
    assert span.parent is not None
    assert span.context is not None
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (trace, parent)
    assert (span.name, dict(span.attributes or {})) == (
        "POST /things/{id}",
        {
            "http.request.method": "POST",
            "http.route": "/things/{id}",
            "http.response.status_code": 201,
            "url.path": "/a/x/secret",
            "url.scheme": "http",
            "client.address": "10.0.0.7",
        },
    )


def test_faces_that_make_spans_of_their_calls_have_none_of_requests(place: Place) -> None:
    place.ask("/b/x")
    assert place.spans.get_finished_spans() == ()
