"""The standard library's json, with the checks that Accord's codec makes, read as a value."""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple, NoReturn

from benchmarks.peers.slices import measure

MAX_DEPTH = 128


class Request(NamedTuple):
    """The cheapest frozen value that Python has."""

    id: int | str | float | None
    method: str
    params: list[Any] | dict[str, Any] | None


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


loads = json.JSONDecoder(parse_constant=refuse_constant).decode


def read(data: bytes) -> Request:
    if len(data) > 2 * MAX_DEPTH and depth(data) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    message = loads(data.decode())
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


def depth(data: bytes) -> int:
    """How deep it can be at most, which is enough for a message that is not suspicious."""
    return data.count(b"[") + data.count(b"{")


def operate(count: int) -> None:
    for _ in range(count):
        read(DATA)


DATA = sys.argv[1].encode()
measure(json.dumps(read(DATA)), operate)
