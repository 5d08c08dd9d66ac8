"""What interceptors see of a call: the request, the context and the result."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from msgspec import Raw

from accord import Context, Router, RpcError, connect, serve
from accord.jsonrpc.methods.method import Proceed, raw_method
from accord.jsonrpc.protocol.channel import ChannelInfo


@dataclass
class Point:
    x: int
    y: int = 0


def plain(a: int, b: str = "b") -> None: ...


def two(a: int, b: int) -> None: ...


def nothing() -> None: ...


def typed(point: Point, raw: Raw) -> None: ...


def first(context: Context, a: int, b: int = 2) -> None: ...


def middle(a: int, context: Context, b: int = 2) -> None: ...


def last(a: int, *, context: Context, b: int = 2) -> None: ...


def optional(a: int, *, b: int = 2) -> None: ...


def hidden(context: Context, /, **others: int) -> None: ...


def many(a: int, *others: int) -> None: ...


def labelled(a: int, /, **labels: str) -> None: ...


async def later(a: int, b: int = 2) -> None: ...


def bound(a: int, b: int, c: int = 3) -> None: ...


marked = partial(bound, 1)
marked.__dict__["note"] = "partials with attributes are kept as they are"


@pytest.mark.req("O-10")
@pytest.mark.parametrize(
    ("function", "params", "arguments"),
    [
        (plain, "[1]", {"a": 1, "b": "b"}),
        (plain, '{"b":"c","a":1}', {"a": 1, "b": "c"}),
        (two, "[1,2]", {"a": 1, "b": 2}),
        (two, '{"a":1,"b":2}', {"a": 1, "b": 2}),
        (nothing, "null", {}),
        (nothing, "[]", {}),
        (typed, '[{"x":1},{"deep":[1]}]', {"point": Point(1), "raw": {"deep": [1]}}),
        (first, "[1]", {"a": 1, "b": 2}),
        (first, '{"a":1}', {"a": 1, "b": 2}),
        (middle, "[1,3]", {"a": 1, "b": 3}),
        (middle, '{"a":1}', {"a": 1, "b": 2}),
        (last, '{"a":1}', {"a": 1, "b": 2}),
        (optional, "[1]", {"a": 1, "b": 2}),
        (hidden, '{"context":5,"":6}', {"context": 5, "": 6}),
        (many, "[1,2,3]", {"a": 1, "others": [2, 3]}),
        (many, "[1]", {"a": 1, "others": []}),
        (later, "[1]", {"a": 1, "b": 2}),
        (partial(bound, 1), "[2]", {"b": 2, "c": 3}),
        (marked, "[2]", {"b": 2, "c": 3}),
        (partial(bound, c=9), "[1,2]", {"a": 1, "b": 2, "c": 9}),
    ],
)
async def test_an_interceptor_sees_the_arguments_by_name(
    function: Callable[..., Any], params: str, arguments: dict[str, Any]
) -> None:
    router = Router()
    seen: list[dict[str, Any]] = []

    @router.intercept
    async def look(context: Context, proceed: Proceed) -> Any:
        seen.append(context.arguments)
        return await proceed()

    router.add(function, "it")
    context = Context("it", 1, channel=ChannelInfo(scheme="test"))
    for data in (params.encode(), Raw(params.encode())):
        await router.methods["it"].invoke(data, context)
    assert seen == [arguments, arguments]


@pytest.mark.req("O-10")
async def test_arguments_by_position_only_and_by_any_name_stand_together() -> None:
    router = Router()

    @router.intercept
    async def look(context: Context, proceed: Proceed) -> Any:
        return context.arguments

    router.add(labelled, "it")
    context = Context("it", 1, channel=ChannelInfo(scheme="test"))
    assert await router.methods["it"].invoke(b"[1]", context) == {"a": 1}


@pytest.mark.req("O-10")
@pytest.mark.parametrize(
    ("params", "arguments"), [({"a": [1]}, {"a": [1]}), ([1, 2], {}), (None, {})]
)
async def test_of_a_method_that_reads_its_own_params_the_members_are_seen(
    params: Any, arguments: dict[str, Any]
) -> None:
    router = Router()

    @router.intercept
    async def look(context: Context, proceed: Proceed) -> Any:
        return context.arguments

    router.put(raw_method(lambda params, context: None, "raw"))
    async with serve(router, "memory:raw"), connect("memory:raw") as peer:
        given = () if params is None else (params,)
        assert await peer.call("raw", *given) == arguments


@pytest.mark.req("O-10")
async def test_an_interceptor_decides_by_the_request_the_context_and_the_result() -> None:
    router = Router()
    log: list[Any] = []

    @router.intercept
    async def outer(context: Context, proceed: Proceed) -> Any:
        log.append((context.method, context.id, context.arguments))
        result = await proceed()
        log.append(result)
        return f"{result}!"

    @router.intercept
    async def inner(context: Context, proceed: Proceed) -> Any:
        if context.arguments["user"] != context.state.get("user", "ada"):
            raise RpcError("not yours", code=403)
        return await proceed()

    @router.method
    def read(user: str) -> str:
        return f"the letters of {user}"

    async with serve(router, "memory:letters"), connect("memory:letters") as peer:
        assert await peer.call("read", {"user": "ada"}) == "the letters of ada!"
        with pytest.raises(RpcError, match="not yours"):
            await peer.call("read", ["bob"])
    assert log == [
        ("read", 1, {"user": "ada"}),
        "the letters of ada",
        ("read", 2, {"user": "bob"}),
    ]


@pytest.mark.req("O-10")
async def test_what_an_interceptor_does_to_the_arguments_does_not_change_the_call() -> None:
    router = Router()

    @router.intercept
    async def spoil(context: Context, proceed: Proceed) -> Any:
        context.arguments["items"].append("more")
        context.arguments.clear()
        return await proceed()

    @router.method
    def count(items: list[str]) -> int:
        return len(items)

    context = Context("count", 1, channel=ChannelInfo(scheme="test"))
    assert await router.methods["count"].invoke(b'[["one"]]', context) == 1


def test_without_interceptors_there_are_none_to_see() -> None:
    context = Context("it", 1, channel=ChannelInfo(scheme="test"))
    with pytest.raises(RuntimeError, match="for interceptors"):
        _ = context.arguments


async def test_an_intercepted_call_leaves_no_garbage_behind() -> None:
    router = Router()

    @router.intercept
    async def look(context: Context, proceed: Proceed) -> Any:
        assert context.arguments == {"a": 1}
        return await proceed()

    @router.method
    def it(context: Context, a: int) -> int:
        return a

    async def call() -> None:
        context = Context("it", 1, channel=ChannelInfo(scheme="test"))
        assert await router.methods["it"].invoke(b"[1]", context) == 1

    gc.collect()
    gc.disable()
    try:
        await call()
        assert gc.collect() == 0
    finally:
        gc.enable()
