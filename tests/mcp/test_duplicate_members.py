"""No params of MCP with two members of one name are served, at any depth, on any transport."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.client.inbox import Inbox, InputHandlers
from accord.mcp.protocol.input_requests import Root
from accord.transports.memory import memory_pair
from tests.mcp.server.http.service import request
from tests.mcp.test_request_ids import TRANSPORTS, encoded, wired
from tests.transports.recorder import Recorder

TWICE: dict[str, dict[str, Any]] = {
    "params.name": {"name": "release", "again:name": "release", "arguments": {}},
    "params.arguments": {"name": "release", "arguments": {}, "again:arguments": {}},
    "params.arguments.a": {"name": "release", "arguments": {"a": 1, "again:a": 2}},
    "params.arguments.a[1].b": {
        "name": "release",
        "arguments": {"a": [{"b": 1}, {"b": 1, "again:b": 1}]},
    },
    "params._meta.progressToken": {
        "name": "release",
        "arguments": {},
        "_meta": {"progressToken": 1, "again:progressToken": 2},
    },
    "params._meta.x.y": {"name": "release", "_meta": {"x": {"y": 1, "z": 2, "again:y": 3}}},
}


@pytest.mark.req("F-33")
@pytest.mark.parametrize(
    ("transport", "stateless"),
    [
        *((transport, False) for transport in TRANSPORTS),
        *((transport, True) for transport in TRANSPORTS if transport != "sse"),
    ],
)
async def test_params_with_a_member_that_comes_twice_are_refused_and_nothing_runs(
    transport: str, stateless: bool, tmp_path: Path
) -> None:
    async with wired(transport, tmp_path, stateless=stateless) as wire:
        for path, params in TWICE.items():
            answer = await wire.ask(wire.request("tools/call", 1, **params))
            assert answer["error"]["code"] == -32602, (path, answer)
            assert answer["error"]["message"] == f"parameter '{path}': is given twice"
        for method in ("tools/list", *(("server/discover",) if stateless else ("ping",))):
            answer = await wire.ask(wire.request(method, 2, x={"a": 1, "again:a": 1}))
            assert answer["error"]["code"] == -32602, (method, answer)
        whole = wire.request("tools/call", 3, name="release", arguments={})
        assert "result" in await wire.ask(whole)


@pytest.mark.req("F-33")
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_names_in_escapes_and_large_params_hide_nothing(
    transport: str, tmp_path: Path
) -> None:
    async with wired(transport, tmp_path) as wire:
        colon = {"a:b": ":", "again:a:b": '\\u003a"\\'}
        answer = await wire.ask(wire.request("tools/call", 1, name="release", arguments=colon))
        assert answer["error"]["message"] == "parameter 'params.arguments.a:b': is given twice"
        large = {"text": "x" * 100_000, "again:text": ""}
        answer = await wire.ask(wire.request("tools/call", 1, name="release", arguments=large))
        assert answer["error"]["message"] == "parameter 'params': the member is given twice"
        deep = wire.request("tools/call", 1, name="release", arguments={"a": {"a": {"a": {}}}})
        assert "is given twice" not in str(await wire.ask(deep))


@pytest.mark.req("F-33")
async def test_a_client_refuses_what_a_server_asks_with_a_member_twice() -> None:
    here, there = memory_pair()
    server = Recorder()
    there.start(server)
    told: list[Any] = []
    inbox = Inbox(InputHandlers(roots=[Root(uri="file:///a")]), logging=told.append)
    peer = Peer(here, inbox.router())
    there.send(encoded(request("roots/list", {"_meta": {"a": 1, "again:a": 1}})))
    answer = msgspec.json.decode(await server.next_message())
    assert answer["error"]["message"] == "Invalid params: the member 'a' is given twice"
    log = {"level": "info", "data": "x"}
    for params in ({**log, "again:data": "y"}, log):
        there.send(encoded({"jsonrpc": "2.0", "method": "notifications/message", "params": params}))
    there.send(encoded(request("ping")))
    assert "result" in msgspec.json.decode(await server.next_message())
    assert [each.data for each in told] == ["x"]
    await peer.close()
