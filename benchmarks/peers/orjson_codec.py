"""orjson, with the checks that Accord's codec makes, read as a value."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

import orjson

from benchmarks.peers.slices import measure


class Request(NamedTuple):
    """The cheapest frozen value that Python has."""

    id: int | str | float | None
    method: str
    params: list[Any] | dict[str, Any] | None


def read(data: bytes) -> Request:
    message = orjson.loads(data)  # which checks UTF-8, and refuses NaN
    if type(message) is not dict or message.get("jsonrpc") != "2.0":
        raise ValueError("Invalid Request")
    method, id, params = message.get("method"), message.get("id"), message.get("params")
    if type(method) is not str or not method:
        raise ValueError("'method' must be a string")
    if id is not None and type(id) not in (int, str, float):
        raise ValueError("'id' must be a string, a number or null")
    if params is not None and type(params) not in (list, dict):
        raise ValueError("'params' must be an array or an object")
    return Request(id, method, params)


def operate(count: int) -> None:
    for _ in range(count):
        read(DATA)


DATA = sys.argv[1].encode()
measure(json.dumps(read(DATA)), operate)
