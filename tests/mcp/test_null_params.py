"""`params: null` is as good as none (F-01, decision 0006), over every transport and to clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.client.inbox import Inbox, InputHandlers
from accord.transports.memory import memory_pair
from tests.mcp.server.http.service import modern_headers, request, serving
from tests.mcp.test_request_ids import TRANSPORTS, wired
from tests.transports.recorder import Recorder


@pytest.mark.req("F-01", "M-24")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_request_with_null_for_params_is_served(transport: str, tmp_path: Path) -> None:
    async with wired(transport, tmp_path) as wire:
        for id, method in enumerate(("ping", "tools/list")):
            message = {"jsonrpc": "2.0", "id": id, "method": method, "params": None}
            assert "result" in await wire.ask(message)
            answers = await wire.ask([message, {**message, "id": "again"}])
            assert all("result" in each for each in answers)
        wire.send({"jsonrpc": "2.0", "method": "notifications/initialized", "params": None})
        missing = await wire.ask(
            {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": None}
        )
        assert missing["error"]["code"] == -32602
        assert missing["error"]["message"].endswith(
            "parameter 'params.name': expected str, got nothing"
        )


async def test_the_stateless_era_needs_params_and_says_what_is_missing() -> None:
    async with serving() as site:
        headers = modern_headers("tools/list", {})
        body = {**request("tools/list"), "params": None}
        told = [await site.post(each, **headers) for each in (body, request("tools/list"))]
        assert told[0].json == told[1].json
        assert told[0].error == (400, -32602, 1)
        assert told[0].json["error"]["data"]["reason"] == "invalid_meta"


@pytest.mark.req("F-01", "M-24")
async def test_a_client_is_asked_with_null_for_params() -> None:
    here, there = memory_pair()
    server = Recorder()
    there.start(server)
    heard: list[Any] = []
    inbox = Inbox(InputHandlers(roots=["file:///work"]), logging=heard.append)
    peer = Peer(here, inbox.router())
    for id, method in enumerate(("ping", "roots/list")):
        there.send(msgspec.json.encode({**request(method, id=id), "params": None}))
        answer = msgspec.json.decode(await server.next_message())
        assert "result" in answer, answer
    await peer.close()
