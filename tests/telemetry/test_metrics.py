"""What is counted, and how Prometheus reads it."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET
from prometheus_client.parser import text_string_to_metric_families

from accord import Context, Router, RpcError, connect, serve
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import own_error
from accord.telemetry import metrics as module
from accord.telemetry.metrics import SECONDS, Metrics

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]

router = Router()


@router.method
def add(a: int, b: int) -> int:
    return a + b


@router.method
def fail(code: int) -> None:
    raise RpcError("no", code=code)


@router.method
async def later() -> str:
    await asyncio.sleep(0)
    return "done"


@router.method(thread=True)
def elsewhere() -> str:
    return threading.current_thread().name


def samples(metrics: Metrics) -> Samples:
    """Every sample on the page, by its name and labels, as Prometheus' own parser reads it."""
    found: Samples = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        assert family.documentation
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def plain(metrics: Metrics) -> Samples:
    """The samples beside those that time decides."""
    return {
        key: value
        for key, value in samples(metrics).items()
        if not key[0].endswith(("_bucket", "_sum"))
    }


def context(method: str, id: Any) -> Context:
    return Context(method, id, channel=ChannelInfo(scheme="test"))


def observe(
    metrics: Metrics, method: str, outcome: Any = None, *, id: Any = 1, known: bool = True
) -> None:
    seen = metrics.called(method, id, known=known, context=context)
    seen.ended(outcome, None)
    seen.left()


@pytest.mark.req("O-11")
async def test_calls_errors_notifications_batches_and_refusals_are_counted_per_method() -> None:
    metrics = Metrics()
    async with (
        serve(router, "http://127.0.0.1:0/rpc", observer=metrics) as server,
        connect(server.url) as peer,
    ):
        assert await peer.call("add", [1, 2]) == 3
        await peer.call("later")
        await peer.call("elsewhere")
        for method, params in (("add", ["x"]), ("fail", [7]), ("missing", []), ("gone", [])):
            with pytest.raises(RpcError):
                await peer.call(method, params)
        async with peer.batch() as batch:
            batch.call("add", [1, 1])
            batch.notify("add", [2, 2])
    assert plain(metrics) == {
        ("accord_calls_total", (("kind", "request"), ("method", "add"))): 3,
        ("accord_calls_total", (("kind", "notification"), ("method", "add"))): 1,
        ("accord_calls_total", (("kind", "request"), ("method", "later"))): 1,
        ("accord_calls_total", (("kind", "notification"), ("method", "later"))): 0,
        ("accord_calls_total", (("kind", "request"), ("method", "elsewhere"))): 1,
        ("accord_calls_total", (("kind", "notification"), ("method", "elsewhere"))): 0,
        ("accord_calls_total", (("kind", "request"), ("method", "fail"))): 1,
        ("accord_calls_total", (("kind", "notification"), ("method", "fail"))): 0,
        ("accord_calls_total", (("kind", "request"), ("method", "(unknown)"))): 2,
        ("accord_calls_total", (("kind", "notification"), ("method", "(unknown)"))): 0,
        ("accord_call_errors_total", (("code", "-32602"), ("method", "add"))): 1,
        ("accord_call_errors_total", (("code", "7"), ("method", "fail"))): 1,
        ("accord_call_errors_total", (("code", "-32601"), ("method", "(unknown)"))): 2,
        ("accord_calls_in_flight", (("method", "add"),)): 0,
        ("accord_calls_in_flight", (("method", "later"),)): 0,
        ("accord_calls_in_flight", (("method", "elsewhere"),)): 0,
        ("accord_calls_in_flight", (("method", "fail"),)): 0,
        ("accord_calls_in_flight", (("method", "(unknown)"),)): 0,
        ("accord_call_seconds_count", (("method", "add"),)): 4,
        ("accord_call_seconds_count", (("method", "later"),)): 1,
        ("accord_call_seconds_count", (("method", "elsewhere"),)): 1,
        ("accord_call_seconds_count", (("method", "fail"),)): 1,
        ("accord_call_seconds_count", (("method", "(unknown)"),)): 2,
        ("accord_batch_messages_count", ()): 1,
    }
    assert samples(metrics)["accord_batch_messages_sum", ()] == 2


def test_the_page_is_what_prometheus_documents() -> None:
    metrics = Metrics(buckets=(3600,), namespace="shop")
    observe(metrics, "add")
    observe(metrics, "add", -32602, id=UNSET)
    metrics.batch_received(3)
    metrics.refused(own_error("parse_error"))
    lines = metrics.text().decode().splitlines()
    (spent,) = (line for line in lines if line.startswith("shop_call_seconds_sum"))
    assert lines == [
        "# HELP shop_calls_total Calls that came in, refused ones included.",
        "# TYPE shop_calls_total counter",
        'shop_calls_total{method="add",kind="notification"} 1',
        'shop_calls_total{method="add",kind="request"} 1',
        "# HELP shop_call_errors_total Calls that ended with an error, by its code.",
        "# TYPE shop_call_errors_total counter",
        'shop_call_errors_total{method="add",code="-32602"} 1',
        "# HELP shop_calls_in_flight Calls that have not ended.",
        "# TYPE shop_calls_in_flight gauge",
        'shop_calls_in_flight{method="add"} 0',
        "# HELP shop_call_seconds How long calls took to end.",
        "# TYPE shop_call_seconds histogram",
        'shop_call_seconds_bucket{method="add",le="3600.0"} 2',
        'shop_call_seconds_bucket{method="add",le="+Inf"} 2',
        spent,
        'shop_call_seconds_count{method="add"} 2',
        "# HELP shop_batch_messages How many messages came in one batch.",
        "# TYPE shop_batch_messages histogram",
        *(
            f'shop_batch_messages_bucket{{le="{bound}"}} {count}'
            for bound, count in [
                *[("1.0", 0), ("2.0", 0), ("5.0", 1), ("10.0", 1), ("20.0", 1), ("50.0", 1)],
                *[("100.0", 1), ("200.0", 1), ("500.0", 1), ("1000.0", 1), ("+Inf", 1)],
            ]
        ),
        "shop_batch_messages_sum 3",
        "shop_batch_messages_count 1",
        "# HELP shop_messages_refused_total What came in and was no call, by the code of its refusal.",
        "# TYPE shop_messages_refused_total counter",
        'shop_messages_refused_total{code="-32700"} 1',
    ]  # fmt: skip
    assert float(spent.rpartition(" ")[2]) > 0


def test_a_page_without_calls_is_valid_too() -> None:
    assert plain(Metrics()) == {("accord_batch_messages_count", ()): 0}


@pytest.mark.req("O-11")
async def test_calls_under_way_are_in_flight_until_they_end_or_are_given_up() -> None:
    waiting = Router()
    begun = asyncio.Semaphore(0)
    gate, cancelled = asyncio.Event(), asyncio.Event()

    @waiting.method
    async def wait() -> None:
        begun.release()
        try:
            await gate.wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    metrics = Metrics()
    in_flight = "accord_calls_in_flight", (("method", "wait"),)
    async with (
        serve(waiting, "http://127.0.0.1:0", observer=metrics) as server,
        connect(server.url) as peer,
    ):
        calls = [asyncio.ensure_future(peer.call("wait")) for _ in range(4)]
        for _ in calls:
            await begun.acquire()
        assert samples(metrics)[in_flight] == 4
        calls.pop().cancel()
        await cancelled.wait()
        assert samples(metrics)[in_flight] == 3
        gate.set()
        await asyncio.gather(*calls)
    found = samples(metrics)
    assert found[in_flight] == 0
    assert found["accord_call_errors_total", (("code", "cancelled"), ("method", "wait"))] == 1
    assert found["accord_call_seconds_count", (("method", "wait"),)] == 4


@pytest.mark.req("O-11")
def test_a_value_on_a_bound_belongs_to_it_and_buckets_add_up() -> None:
    metrics = Metrics()
    for size in (1, 2, 2, 3, 5, 2000):
        metrics.batch_received(size)
    found = samples(metrics)
    bounds = ("1.0", "2.0", "5.0", "1000.0", "+Inf")
    counts = [found["accord_batch_messages_bucket", (("le", bound),)] for bound in bounds]
    assert counts == [1, 3, 5, 5, 6]
    assert found["accord_batch_messages_sum", ()] == 2013


@pytest.mark.parametrize("name", ['say "hi"', "back\\slash", "two\nlines", "ünï", "a{b=c},d", " "])
def test_any_name_of_a_method_is_a_label(name: str) -> None:
    metrics = Metrics()
    observe(metrics, name)
    assert plain(metrics)["accord_calls_in_flight", (("method", name),)] == 0


@given(st.lists(st.text(min_size=1), max_size=5, unique=True))
def test_every_name_comes_back_as_it_was(names: list[str]) -> None:
    metrics = Metrics(buckets=(1,))
    for name in names:
        observe(metrics, name)
    found = {labels[0][1] for name, labels in plain(metrics) if name == "accord_calls_in_flight"}
    assert found == set(names)


def test_half_a_surrogate_pair_in_a_name_is_escaped() -> None:
    metrics = Metrics()
    observe(metrics, "a\ud800")
    assert b'accord_calls_in_flight{method="a\\ud800"} 0' in metrics.text()


@pytest.mark.req("O-11")
def test_names_that_callers_invent_share_one_label() -> None:
    metrics = Metrics()
    for number in range(10_000):
        observe(metrics, f"invented{number}", -32601, known=False)
    size = len(metrics.text())
    assert size < 10_000
    labels = ("code", "-32601"), ("method", "(unknown)")
    assert plain(metrics)["accord_call_errors_total", labels] == 10_000


def test_a_router_that_changes_all_the_time_gets_so_many_labels_and_no_more() -> None:
    metrics = Metrics(buckets=(1,))
    for number in range(module.MAX_METHODS + 10):
        observe(metrics, f"method{number}")
    found = plain(metrics)
    assert found["accord_call_seconds_count", (("method", "(other)"),)] == 10
    assert sum(name == "accord_call_seconds_count" for name, _ in found) == module.MAX_METHODS + 1


@pytest.mark.req("O-11")
def test_codes_beyond_a_limit_share_one_label_and_those_of_the_catalogue_do_not() -> None:
    metrics = Metrics()
    for code in range(1_000_000, 1_000_000 + module.MAX_CODES + 10):
        observe(metrics, "fail", code)
        observe(metrics, "fail", code)
    observe(metrics, "fail", -32603)
    metrics.refused(RpcError("no", code=5))
    found = plain(metrics)
    assert found["accord_call_errors_total", (("code", "(other)"), ("method", "fail"))] == 20
    assert found["accord_call_errors_total", (("code", "1000000"), ("method", "fail"))] == 2
    assert found["accord_call_errors_total", (("code", "-32603"), ("method", "fail"))] == 1
    assert found["accord_messages_refused_total", (("code", "(other)"),)] == 1


@pytest.mark.parametrize("buckets", [(), (1, 1), (2, 1), (1, math.inf), (math.nan, 1)])
def test_buckets_that_do_not_rise_are_refused(buckets: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="buckets must be numbers that rise"):
        Metrics(buckets=buckets)


@pytest.mark.parametrize("namespace", ["", "9", "a-b", "a b", "ä"])
def test_a_namespace_that_cannot_begin_a_name_is_refused(namespace: str) -> None:
    with pytest.raises(ValueError, match="must match"):
        Metrics(namespace=namespace)


def test_the_default_buckets_rise_from_a_tenth_of_a_millisecond() -> None:
    assert SECONDS[0] == 0.0001
    assert list(SECONDS) == sorted(set(SECONDS))


@pytest.mark.req("O-11")
def test_threads_count_together_while_the_page_is_read() -> None:
    metrics = Metrics()
    done = threading.Event()
    pages = []

    def read() -> None:
        while not done.is_set():
            pages.append(plain(metrics))

    def count(number: int) -> None:
        for _ in range(2_000):
            observe(metrics, "shared", 7)
            observe(metrics, f"own{number}")
            metrics.batch_received(1)

    reader = threading.Thread(target=read)
    counters = [threading.Thread(target=count, args=[number]) for number in range(8)]
    for thread in (reader, *counters):
        thread.start()
    for thread in counters:
        thread.join()
    done.set()
    reader.join()
    found = plain(metrics)
    assert found["accord_call_seconds_count", (("method", "shared"),)] == 16_000
    assert found["accord_call_errors_total", (("code", "7"), ("method", "shared"))] == 16_000
    assert found["accord_batch_messages_count", ()] == 16_000
    assert all(
        value >= 0 for page in pages for (name, _), value in page.items() if "in_flight" in name
    )


@pytest.mark.req("O-11")
async def test_metrics_are_a_page_beside_the_endpoint() -> None:
    metrics = Metrics()
    pages = {"metrics": metrics.page}
    async with serve(router, "http://127.0.0.1:0/rpc", observer=metrics, pages=pages) as server:
        async with connect(server.url) as peer:
            await peer.call("add", [1, 2])
        head, body = await get(server.url + "/metrics")
    assert b"content-type: text/plain; version=0.0.4; charset=utf-8\r\n" in head.lower()
    assert b"cache-control: no-store\r\n" in head.lower()
    assert body == metrics.text()


async def get(url: str) -> tuple[bytes, bytes]:
    host, _, path = url.removeprefix("http://").partition("/")
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(f"GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return head + b"\r\n", body
