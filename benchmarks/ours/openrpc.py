"""What it takes to describe a thousand methods; prints seconds of CPU as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from msgspec import UnsetType, defstruct

from accord import Context, Limits, Router
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Success
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.openrpc import Api

METHODS = 1_000
REPEATS = 2_000


class Nobody:
    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(method, id, channel=ChannelInfo(scheme="memory"))

    def answer(self, data: bytes | None) -> None:
        raise AssertionError("it is answered at once")

    def settle(self, response: Success | Failure | Invalid) -> None:
        raise AssertionError("nothing was asked")


def router() -> Router:
    """Each two methods share a type of their own."""
    made = Router()
    types = [
        defstruct(f"Thing{number}", [("id", int), ("name", str), ("tags", list[str])])
        for number in range(METHODS // 2)
    ]
    for number in range(METHODS):
        kind = types[number // 2]

        def method(thing: Any, count: int = 1) -> Any:
            """Does something with a thing.

            It does so as often as it is told to.
            """

        method.__annotations__ = {"thing": kind, "count": int, "return": list[kind]}  # type: ignore[valid-type]
        made.add(method, f"things.do{number}")
    return made


def spent(operation: Callable[[], object]) -> float:
    started = time.process_time()
    operation()
    return time.process_time() - started


def make() -> float:
    methods = router()

    def describe() -> None:
        Api(methods, title="Things", version="1").pages["openrpc.json"]()

    return spent(describe)


async def main() -> None:
    rounds = int(sys.argv[1])
    methods = router()
    api = Api(methods, title="Things", version="1", servers=["http://127.0.0.1/rpc"])
    page = api.pages["openrpc.json"]
    again = []
    for number in range(rounds):
        methods.add(lambda: None, f"more{number}")
        again.append(spent(page))
    dispatcher = Dispatcher(methods, limits=Limits())
    request = b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'
    nobody = Nobody()
    figures = {
        "make": median(make() for _ in range(rounds)),
        "again": median(again),
        "bytes": len(page().body),
        "discover": spent(lambda: [dispatcher.handle(request, nobody) for _ in range(REPEATS)])
        / REPEATS,
        "page": spent(lambda: [page() for _ in range(REPEATS)]) / REPEATS,
    }
    print(json.dumps(figures), flush=True)


asyncio.run(main())
