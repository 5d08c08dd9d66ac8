"""Methods that read their params themselves, for protocols with rules of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from accord import Context, Peer, RegistrationError, Router, RpcError
from accord.jsonrpc.methods.method import Proceed, raw_method
from accord.transports.memory import memory_pair


@asynccontextmanager
async def joined(router: Router, other: Router | None = None) -> AsyncIterator[tuple[Peer, Peer]]:
    near, far = memory_pair()
    server, client = Peer(near, router), Peer(far, other)
    try:
        yield server, client
    finally:
        await client.close()
        await server.close()


def echo(params: Any, context: Context | None) -> Any:
    """Gives what it got: at once, or later if it is told to."""
    assert context is not None
    value = None if params is UNSET else msgspec.json.decode(params)
    return later(value) if value == ["later"] else value


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


def raw_router() -> Router:
    router = Router()
    router.put(raw_method(echo, "echo"))
    return router


@pytest.mark.parametrize("params", [["now"], ["later"], {"a": 1}])
async def test_a_raw_method_gets_its_params_unread_and_may_take_its_time(params: Any) -> None:
    async with joined(raw_router()) as (_, client):
        assert await client.call("echo", params) == params


async def test_a_raw_method_without_params_is_told_so() -> None:
    async with joined(raw_router()) as (_, client):
        assert await client.call("echo") is None


@pytest.mark.parametrize("params", [["now"], ["later"]])
async def test_interceptors_stand_around_raw_methods_too(params: Any) -> None:
    router = raw_router()

    @router.intercept
    async def twice(context: Context, proceed: Proceed) -> Any:
        return [await proceed(), await proceed()]

    async with joined(router) as (_, client):
        assert await client.call("echo", params) == [params, params]


async def test_a_raw_method_that_raises_is_answered_by_its_error() -> None:
    def refuse(params: Any, context: Context | None) -> Any:
        raise RpcError("no", code=7)

    router = Router()
    router.put(raw_method(refuse, "refuse"))
    async with joined(router) as (_, client):
        with pytest.raises(RpcError, match="no") as caught:
            await client.call("refuse")
    assert caught.value.code == 7


def test_a_name_that_is_taken_is_refused() -> None:
    router = raw_router()
    with pytest.raises(RegistrationError, match="'echo' is"):
        router.put(raw_method(echo, "echo"))


async def test_a_request_that_is_cancelled_by_its_id_is_stopped_and_not_answered() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()
    router = Router()

    @router.method
    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with joined(router) as (server, client):
        call = client.begin("wait", timeout=None)
        await started.wait()
        assert not server.cancel_incoming("1")
        assert server.cancel_incoming(call.id)
        await stopped.wait()
        assert not server.cancel_incoming(call.id)
        assert client.pending == 1
        call.cancel()


async def test_a_posted_notification_arrives_and_is_dropped_once_the_connection_is_over() -> None:
    heard: asyncio.Queue[int] = asyncio.Queue()
    router = Router()
    router.add(heard.put_nowait, "hear")
    async with joined(Router(), router) as (server, _):
        server.post("hear", [1])
        assert await heard.get() == 1
    server.post("hear", [2])
    assert heard.empty()


async def test_a_context_among_keyword_only_parameters_is_passed_by_its_name() -> None:
    router = Router()

    @router.method
    async def where(*, place: str, context: Context) -> str:
        return f"{context.method} {place}"

    async with joined(router) as (_, client):
        assert await client.call("where", {"place": "here"}) == "where here"
