"""Prometheus: counting a call, and writing the page."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from contextlib import suppress
from time import perf_counter
from typing import cast

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from accord.jsonrpc.methods.context import MakeContext
from accord.telemetry.metrics import SECONDS, Metrics
from benchmarks.libraries.figures import import_cost, micro, show, versions

METHODS = 200
NAMES = [f"method_{n}" for n in range(METHODS)]
NO_CONTEXT = cast(MakeContext, None)


def main() -> None:
    versions("prometheus-client")
    metrics = Metrics()

    def ours(count: int) -> None:
        for number in range(count):
            call = metrics.called(NAMES[number % METHODS], 1, known=True, context=NO_CONTEXT)
            call.ended(None, None)

    registry = CollectorRegistry()
    calls = Counter("accord_calls", "Calls.", ["method", "kind"], registry=registry)
    seconds = Histogram(
        "accord_call_seconds", "Seconds.", ["method"], buckets=SECONDS, registry=registry
    )

    def theirs(count: int) -> None:
        for number in range(count):
            name = NAMES[number % METHODS]
            started = perf_counter()
            calls.labels(name, "request").inc()
            seconds.labels(name).observe(perf_counter() - started)

    children = {name: (calls.labels(name, "request"), seconds.labels(name)) for name in NAMES}

    def kept(count: int) -> None:
        for number in range(count):
            counter, histogram = children[NAMES[number % METHODS]]
            started = perf_counter()
            counter.inc()
            histogram.observe(perf_counter() - started)

    show(
        "a call counted and timed, µs",
        [
            ("ours", micro(ours, 20_000)),
            ("prometheus_client, by labels", micro(theirs, 20_000)),
            ("prometheus_client, children kept", micro(kept, 20_000)),
        ],
    )

    def write(count: int) -> None:
        for _ in range(count):
            metrics.text()

    def generate(count: int) -> None:
        for _ in range(count):
            generate_latest(registry)

    show(
        f"the page of {METHODS} methods, ms",
        [
            (f"ours, {len(metrics.text()):,} B", micro(write, 20) / 1e3),
            (
                f"prometheus_client, {len(generate_latest(registry)):,} B",
                micro(generate, 20) / 1e3,
            ),
        ],
    )
    hostile = Metrics()
    hostile.called('a"b\\c\nd\ud800', 1, known=True, context=NO_CONTEXT).ended(None, None)
    families = list(text_string_to_metric_families(hostile.text().decode()))
    show("our page, read by prometheus_client", [("families", len(families))])
    with suppress(UnicodeEncodeError):
        calls.labels('a"b\\c\nd\ud800', "request").inc()
        generate_latest(registry)
        show("half a surrogate pair in a label", [("prometheus_client", "written")])
    show("import", [("prometheus_client", import_cost("import prometheus_client"))])


main()
