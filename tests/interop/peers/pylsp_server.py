"""A server on python-lsp-jsonrpc, over stdio."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.exceptions import JsonRpcException
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

notes: defaultdict[str, list[Any]] = defaultdict(list)


def add(a: float, b: float) -> float:
    return a + b


def echo(value: Any) -> Any:
    return value


def sleep(seconds: float) -> Callable[[], float]:
    def work() -> float:
        time.sleep(seconds)
        return seconds

    return work


def fail(code: int, message: str, data: Any = None) -> None:
    raise JsonRpcException(message, code, data)


def crash() -> None:
    raise RuntimeError("crash() was called")


def note(key: str, text: str) -> None:
    notes[key].append(text)


def call_back(method: str, params: Any) -> Callable[[], Any]:
    return lambda: endpoint.request(method, params).result()


def spread(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """The library hands over params as they came; this makes arguments of them."""

    def handler(params: Any) -> Any:
        return function(**params) if isinstance(params, dict) else function(*params or ())

    return handler


functions = (add, echo, sleep, fail, crash, note, call_back)
methods = {function.__name__: spread(function) for function in functions}
methods["notes"] = spread(notes.__getitem__)
endpoint = Endpoint(
    methods, JsonRpcStreamWriter(sys.stdout.buffer, ensure_ascii=False).write, max_workers=50
)
JsonRpcStreamReader(sys.stdin.buffer).listen(endpoint.consume)
endpoint.shutdown()
