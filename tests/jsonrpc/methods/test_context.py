"""The context of a call, and calls back to the caller."""

from __future__ import annotations

import asyncio

import pytest

from accord import Context, InvalidResultError, Router, RpcError, connect, serve
from accord.jsonrpc.methods.context import Caller
from accord.jsonrpc.protocol.channel import ChannelInfo
from tests.patience import PATIENCE


async def test_who_asks_over_a_one_way_transport_cannot_be_called_back() -> None:
    context = Context(method="m", channel=ChannelInfo(scheme="http", duplex=False))
    with pytest.raises(RpcError, match="the caller cannot be called back over http"):
        await context.call("back")
    with pytest.raises(RpcError, match="the caller cannot be called back over http"):
        await context.notify("back")


def client_router(told: list[str]) -> Router:
    router = Router()
    router.add(lambda number: 2 * number, name="double")
    router.add(told.append, name="tell")
    return router


@pytest.mark.req("F-11")
async def test_a_handler_calls_back_and_gets_the_type_it_asks_for() -> None:
    router = Router()

    @router.method
    async def quadruple(number: int, context: Context) -> int:
        doubled: int = await context.call("double", [number], into=int)
        assert context.peer is not None
        again: int = await context.peer.call("double", [doubled], into=int)
        return again

    @router.method
    async def mistaken(context: Context) -> str:
        return await context.call("double", [1], into=str)

    async with (
        serve(router, "memory://calling-back"),
        connect("memory://calling-back", client_router([])) as client,
    ):
        assert await client.call("quadruple", [3]) == 12
        with pytest.raises(RpcError) as failed:
            await client.call("mistaken")
        assert failed.value.code == -32603
    assert issubclass(InvalidResultError, Exception)


@pytest.mark.req("F-11")
async def test_the_other_end_can_be_kept_and_called_after_the_call() -> None:
    router = Router()
    kept: list[Caller] = []

    @router.method
    async def remember(context: Context) -> None:
        assert context.peer is not None
        kept.append(context.peer)

    told: list[str] = []
    async with (
        serve(router, "memory://kept"),
        connect("memory://kept", client_router(told)) as client,
    ):
        await client.call("remember")
        (peer,) = kept
        assert peer.state.value == "connected"
        peer.post("tell", ["by the way"])
        assert await peer.call("double", [4], into=int) == 8
        assert told == ["by the way"]
        assert not peer.cancel_incoming(7)
    async with asyncio.timeout(PATIENCE):
        while peer.state.value != "closed":  # noqa: ASYNC110 - nobody tells a handler
            await asyncio.sleep(0.002)


@pytest.mark.req("F-11")
async def test_over_http_there_is_nobody_to_call_back() -> None:
    router = Router()

    @router.method
    async def look(context: Context) -> bool:
        return context.peer is None

    async with (
        serve(router, "http://127.0.0.1:0/rpc") as server,
        connect(server.url) as client,
    ):
        assert await client.call("look") is True
