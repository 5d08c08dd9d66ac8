"""What a hub with 50,000 requirements takes by the clock on the wall, and a new one of memory."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from benchmarks.eras import STATELESS, said
from benchmarks.harness import Plan, percentile
from benchmarks.hub.corpus import COUNT
from benchmarks.hub.filled import ENGINES, Engine, Hub, ours
from benchmarks.hub_calls import GET, SEARCH_COMMON, SEARCH_RARE, Call
from benchmarks.load import PATIENCE
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_most
from benchmarks.work import Work

TITLE = f"The hub with {COUNT:,} requirements, in the calmest of five runs; and a new one"
RUNS = 5
"""What disturbs a run only ever makes it slower."""
MILLISECONDS = {GET: 5, SEARCH_RARE: 25, SEARCH_COMMON: 25}
CHARACTERS = 40_000
START_SECONDS = 2
MEMORY_MB = 80


def rows(plan: Plan) -> list[Row]:
    return [
        *(_latency(engine, call, plan) for engine in ENGINES for call in MILLISECONDS),
        _tools(ours("SQLite")),
        *_new(),
    ]


def _latency(engine: Engine, call: Call, plan: Plan) -> Row:
    """One in flight, over MCP."""
    load = ours(engine).load(call.work(), clients=1)
    load.latencies(100)
    runs = [percentile(load.latencies(plan.samples // 40), 99) for _ in range(RUNS)]
    load.close()
    return Row(
        group="hub_figures",
        what=f"{call.label}, {engine}, one in flight: 99th percentile",
        ours=min(runs) * 1e3,
        unit="ms",
        bound=at_most(MILLISECONDS[call]),
    )


def _tools(hub: Hub) -> Row:
    sizes: list[int] = []

    def is_right(result: Any) -> bool:
        sizes.append(len(json.dumps(result["tools"], ensure_ascii=False, separators=(",", ":"))))
        return True

    load = hub.load(Work("tools/list", said(STATELESS, {}), is_right), clients=1)
    load.send(1)
    load.close()
    return Row(
        group="hub_figures",
        what="`tools/list`: characters of all tools",
        ours=sizes[0],
        unit="characters",
        bound=at_most(CHARACTERS),
    )


def _new() -> list[Row]:
    """Servers with nothing in them, from nothing and started again."""
    with tempfile.TemporaryDirectory(prefix="accord-bench-hub-") as folder, _compiled(folder):
        _started(Path(folder) / "compiles")
        first = [_started(Path(folder) / str(number)) for number in range(RUNS)]
        again = [_started(Path(folder) / str(number)) for number in range(RUNS)]
    return [
        Row(
            group="hub_figures",
            what="`accord serve`, from nothing until it answers",
            ours=min(seconds for seconds, _ in first),
            unit="s",
            bound=at_most(START_SECONDS),
        ),
        Row(
            group="hub_figures",
            what="`accord serve` again, until it answers",
            ours=min(seconds for seconds, _ in again),
            unit="s",
            bound=at_most(START_SECONDS),
        ),
        Row(
            group="hub_figures",
            what="memory of a fresh server, with what it shares with others",
            ours=max(memory for _, memory in (*first, *again)) / 2**20,
            unit="MB",
            bound=at_most(MEMORY_MB),
        ),
    ]


@contextmanager
def _compiled(folder: str) -> Iterator[None]:
    """Within this, Python keeps what it compiles, as it does where a package is installed."""
    before = dict(os.environ)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/compiled"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _started(data: Path) -> tuple[float, int]:
    """How many seconds it takes until a new server is ready, and its resident memory then."""
    begun = time.perf_counter()
    process = Process("accord", "serve", "--data", str(data), "--port", "0", "--log-level", "error")
    with running(process):
        found = re.search(r"http://127\.0\.0\.1:[0-9]+", process.line())
        assert found is not None, "the first line names the address"
        with urlopen(f"{found[0]}/readyz", timeout=PATIENCE) as answer:
            assert answer.status == 200
        return time.perf_counter() - begun, process.resident()
