"""jsonrpcserver: from request text to response text, with its schema or with no validation."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys

from jsonrpcserver import Result, Success, dispatch

from benchmarks.peers.slices import measure, repeat


def subtract(minuend: int, subtrahend: int) -> Result:
    return Success(minuend - subtrahend)


DATA = sys.argv[1]
METHODS = {"subtract": subtract}
OPTIONS = {} if sys.argv[2] == "schema" else {"validator": lambda _: None}


def operation() -> str:
    answer: str = dispatch(DATA, methods=METHODS, **OPTIONS)
    return answer


expected = operation()
measure(expected, repeat(operation, expected))
