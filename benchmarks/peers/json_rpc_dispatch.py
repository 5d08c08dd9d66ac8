"""json-rpc: from request text to response text, for one message or a batch."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys

from jsonrpc import Dispatcher, JSONRPCResponseManager

from benchmarks.peers.slices import measure, repeat


def subtract(minuend: int, subtrahend: int) -> int:
    return minuend - subtrahend


DATA = sys.argv[1]
dispatcher = Dispatcher()
dispatcher["subtract"] = subtract
handle = JSONRPCResponseManager.handle


def operation() -> str:
    answer: str = handle(DATA, dispatcher).json
    return answer


expected = operation()
measure(expected, repeat(operation, expected))
