"""How long one takes from its request to its answer, by the clock on the wall."""

from __future__ import annotations

from benchmarks.framings import Framing, Http, Newline, WebSocket
from benchmarks.harness import Plan, percentile
from benchmarks.load import Load, Pipes, Wire, open_socket
from benchmarks.processes import Process, figures, running
from benchmarks.report import Row, at_most
from benchmarks.work import echo, padded

TITLE = "Latency of messages of 1,000 B, in the calmest of five runs"
RUNS = 5
"""What disturbs a run only ever makes it slower."""
SIZE = 1_000

IN_PROCESS = {"in memory": "memory:benchmark", "TCP": "tcp://127.0.0.1:0"}
ACROSS: dict[str, tuple[str, Framing]] = {
    "stdio": ("stdio:", Newline()),
    "TCP": ("tcp://127.0.0.1:0", Newline()),
    "HTTP": ("http://127.0.0.1:0/rpc", Http()),
    "WebSocket": ("ws://127.0.0.1:0/rpc", WebSocket()),
}


def rows(plan: Plan) -> list[Row]:
    return [*_in_process(plan), *_across(plan)]


def _in_process(plan: Plan) -> list[Row]:
    found = []
    for name, url in IN_PROCESS.items():
        for kind, shown in (("inline", "`def`"), ("tasks", "`async def`")):
            for at_once in (1, 16):
                what = f"both ends in one process, {name}, {at_once} in flight, {shown}"
                found += _percentiles(what, url, kind, at_once, plan)
    return found


def _percentiles(what: str, url: str, kind: str, at_once: int, plan: Plan) -> list[Row]:
    runs = [
        figures("benchmarks.ours.latency", url, kind, str(plan.samples), str(at_once))
        for _ in range(RUNS)
    ]
    calmest = min(runs, key=lambda run: run["p99"])
    return [
        Row(group="latency", what=f"{what}: median", ours=calmest["p50"] * 1e6, unit="µs"),
        Row(
            group="latency",
            what=f"{what}: 99th percentile",
            ours=calmest["p99"] * 1e6,
            unit="µs",
            # With more in flight, a call's time is mostly that of those before it.
            bound=at_most(1_000) if at_once == 1 else None,
            proves=("F-21",) if at_once == 1 else (),
        ),
        Row(group="latency", what=f"{what}: calls a second", ours=calmest["rate"], unit="/s"),
    ]


def _across(plan: Plan) -> list[Row]:
    """A server process, asked by the load generator, one request at a time."""
    found = []
    for name, (url, framing) in ACROSS.items():
        process = Process("benchmarks.ours.server", url)
        with running(process):
            wire: Wire = (
                Pipes(process) if url == "stdio:" else open_socket(int(process.line()), framing)
            )
            load = Load([wire], framing, padded(echo, SIZE))
            load.latencies(1_000)
            runs = [load.latencies(plan.samples // 10) for _ in range(RUNS)]
            taken = min(runs, key=lambda run: percentile(run, 99))
            load.close()
        found += [
            Row(
                group="latency",
                what=f"a server process, {name}, one in flight, `def`: {shown}",
                ours=percentile(taken, percent) * 1e6,
                unit="µs",
            )
            for percent, shown in ((50, "median"), (99, "99th percentile"))
        ]
    return found
