"""How long the codec takes for single messages, and how much memory for a large one."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Callable

from accord.jsonrpc.protocol.codec import read
from accord.jsonrpc.protocol.messages import Success, encode
from benchmarks.harness import percentile
from benchmarks.work import FIRST_ID, echo, padded


def p99(operation: Callable[[], object], samples: int) -> float:
    """Seconds, without those that reading the clock takes."""
    return percentile(_timed(operation, samples), 99) - percentile(_timed(_nothing, samples), 50)


def _timed(operation: Callable[[], object], samples: int) -> list[float]:
    clock = time.perf_counter_ns
    taken = []
    for _ in range(samples):
        started = clock()
        operation()
        taken.append((clock() - started) / 1e9)
    return taken


def _nothing() -> None:
    pass


def allocated_by_reading(data: bytes) -> int:
    """The most bytes that were held at once on the way to the envelope, the message aside."""
    read(data)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    read(data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most - before


data, samples = sys.argv[1].encode(), int(sys.argv[2])
answer = Success(FIRST_ID, {"text": "Berlin", "degrees": 17.5})
print(
    json.dumps(
        {
            "read_p99": p99(lambda: read(data), samples),
            "encode_p99": p99(lambda: encode(answer), samples),
            "allocated": allocated_by_reading(padded(echo, 64 * 1024).request(FIRST_ID)),
        }
    ),
    flush=True,
)
