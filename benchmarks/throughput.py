"""Messages a second over TCP, by the clock on the wall, with the load made on the same machine."""

from __future__ import annotations

import time
from statistics import median

from benchmarks.framings import Newline
from benchmarks.harness import Plan
from benchmarks.load import Load, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_least
from benchmarks.work import echo, padded

TITLE = "Throughput over TCP, requests of 150 B"
SIZE = 150
SETTINGS = {"one connection, 64 in flight": (1, 64), "64 connections, 4 in flight on each": (64, 4)}
KINDS = {"`def`": (), "`async def`": ("--tasks",)}


def rows(plan: Plan) -> list[Row]:
    found = []
    for kind, flags in KINDS.items():
        process = Process("benchmarks.ours.server", "tcp://127.0.0.1:0", *flags)
        with running(process):
            port = int(process.line())
            for setting, (connections, window) in SETTINGS.items():
                rate = _rate(port, connections, window, plan)
                found.append(
                    Row(
                        group="throughput",
                        what=f"{setting}, {kind}",
                        ours=rate,
                        unit="/s",
                        bound=at_least(10_000),
                        proves=("F-22",),
                    )
                )
    return found


def _rate(port: int, connections: int, window: int, plan: Plan) -> float:
    wires = [open_socket(port, Newline()) for _ in range(connections)]
    load = Load(wires, Newline(), padded(echo, SIZE), window=window)
    load.send(plan.samples // 4)
    rates = []
    for _ in range(plan.rounds):
        started = time.monotonic()
        load.send(plan.samples)
        rates.append(plan.samples / (time.monotonic() - started))
    load.close()
    return median(rates)
