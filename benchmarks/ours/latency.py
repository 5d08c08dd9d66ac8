"""How long a call takes from end to end when both ends are peers in one process."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import accord
from benchmarks.harness import percentile
from benchmarks.ours.server import inline, tasks
from benchmarks.work import echo, padded

SIZE = 1_000
TEXT = padded(echo, SIZE).params["text"]


async def measure(url: str, kind: str, samples: int, at_once: int) -> dict[str, float]:
    """Percentiles of the seconds from `peer.call` to its result, with so many at once."""
    taken: list[float] = []
    async with (
        accord.serve(tasks() if kind == "tasks" else inline(), url) as server,
        accord.connect(server.url) as peer,
    ):
        await asyncio.gather(*(_call(peer, 100, []) for _ in range(at_once)))
        started = time.perf_counter()
        await asyncio.gather(*(_call(peer, samples // at_once, taken) for _ in range(at_once)))
        seconds = time.perf_counter() - started
    return {
        "p50": percentile(taken, 50),
        "p99": percentile(taken, 99),
        "rate": len(taken) / seconds,
    }


async def _call(peer: accord.Peer, count: int, taken: list[float]) -> None:
    clock = time.perf_counter
    for _ in range(count):
        started = clock()
        answer = await peer.call("echo", {"text": TEXT})
        taken.append(clock() - started)
        if answer != TEXT:
            raise AssertionError(f"wrong answer: {answer!r}")


url, kind, samples, at_once = sys.argv[1:]
print(json.dumps(asyncio.run(measure(url, kind, int(samples), int(at_once)))), flush=True)
