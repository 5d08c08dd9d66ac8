"""A router on a real ASGI server."""

from __future__ import annotations

import pytest

from accord.transports.asgi import AsgiEndpoint
from tests.transports.asgi.service import Service, client_of, uvicorn_serving
from tests.transports.http.service import post


@pytest.mark.req("O-01")
async def test_requests_notifications_and_batches_are_answered() -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"%b","params":[1,2]}'
    notification = b'{"jsonrpc":"2.0","method":"add","params":[1,2]}'
    answer = b'{"jsonrpc":"2.0","id":1,"result":3}'
    endpoint = AsgiEndpoint(Service().router, path="/rpc")
    async with uvicorn_serving(endpoint) as port, client_of(port) as client:
        for name in (b"add", b"add_in_thread"):
            found = await client.ask(post(call % name))
            assert found.outcome == (200, answer)
        assert (await client.ask(post(notification))).outcome == (204, b"")
        batch = b"[%b,%b,%b]" % (call % b"add", notification, call % b"add_in_thread")
        assert (await client.ask(post(batch))).outcome == (200, b"[%b,%b]" % (answer, answer))
