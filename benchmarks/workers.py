"""Two processes that listen on the same port, against one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.framings import Framing, Http, Newline
from benchmarks.harness import Plan, compare, one_core
from benchmarks.load import Load, Served, ask, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_most
from benchmarks.work import echo, padded

TITLE = "Two workers on one port (SO_REUSEPORT), 400 connections"
CONNECTIONS = 400
SIZE = 150

URLS: dict[str, tuple[str, Framing]] = {
    "TCP": ("tcp://127.0.0.1:{port}", Newline()),
    "HTTP": ("http://127.0.0.1:{port}/rpc", Http()),
}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return [row for name in URLS for row in _rows(name, plan)]


def _rows(name: str, plan: Plan) -> list[Row]:
    url, framing = URLS[name]
    alone, port_alone = _start(url, 0)
    first, port = _start(url, 0)
    second, _ = _start(url, port)
    with running(alone, first, second):
        one, _ = _served([alone], port_alone, framing)
        two, share = _served([first, second], port, framing)
        costs = compare({"one": one, "two": two}, plan)
    return [
        Row(
            group="workers",
            what=f"{name}: CPU time per call, `def`",
            ours=costs.cost("two") * 1e6,
            unit="µs",
            against="one worker",
            theirs=costs.cost("one") * 1e6,
            ratio=costs.ratio("two", "one"),
            bound=at_most(1.1),
            proves=("F-22",),
        ),
        Row(
            group="workers",
            what=f"{name}: share of the busier worker",
            ours=share * 100,
            unit="%",
            bound=at_most(60),
            proves=("F-22",),
        ),
    ]


def _start(url: str, port: int) -> tuple[Process, int]:
    process = Process("benchmarks.ours.server", url.format(port=port), "--reuse-port")
    return process, int(process.line())


def _served(processes: Sequence[Process], port: int, framing: Framing) -> tuple[Served, float]:
    """The workers under load, and the share of the busiest in it."""
    wires = [open_socket(port, framing) for _ in range(CONNECTIONS)]
    # Every connection asks equally often, so that a worker's connections are its load.
    counts = Counter(ask(wire, framing, "pid") for wire in wires)
    if len(counts) != len(processes):
        raise AssertionError(f"{len(processes)} workers listen, {len(counts)} answer")
    load = Load(wires, framing, padded(echo, SIZE))
    return Served(processes, load), max(counts.values()) / CONNECTIONS
