"""pjrpc: from request text to response text, for one message or a batch."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys

from pjrpc.server import Dispatcher, MethodRegistry

from benchmarks.peers.slices import measure, repeat


def subtract(minuend: int, subtrahend: int) -> int:
    return minuend - subtrahend


DATA = sys.argv[1]
registry = MethodRegistry()
registry.add_method(subtract)
dispatcher = Dispatcher()
dispatcher.add_methods(registry)


def operation() -> str:
    answer: str = dispatcher.dispatch(DATA, context=None)[0]
    return answer


expected = operation()
measure(expected, repeat(operation, expected))
