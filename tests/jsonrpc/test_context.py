"""What a handler learns about the call that it serves."""

from __future__ import annotations

import pytest

from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import RpcError


async def test_who_asks_over_a_one_way_transport_cannot_be_called_back() -> None:
    context = Context(method="m", channel=ChannelInfo(scheme="http", duplex=False))
    with pytest.raises(RpcError, match="the caller cannot be called back over http"):
        await context.call("back")
    with pytest.raises(RpcError, match="the caller cannot be called back over http"):
        await context.notify("back")
