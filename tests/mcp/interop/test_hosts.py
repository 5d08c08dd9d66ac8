"""What well-known hosts send when they connect, in the order and with the headers of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from accord.jsonrpc.protocol.framing import SseDecoder

MODERN = "2026-07-28"
ACCEPT = {"accept": "application/json, text/event-stream"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PLACES = [
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration/mcp",
    "/.well-known/openid-configuration",
]


@pytest.fixture
def host() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=20.0) as client:
        yield client


def modern(method: str, id: int, **params: Any) -> dict[str, Any]:
    """The parts of a request of the stateless era."""
    headers = {**ACCEPT, "mcp-protocol-version": MODERN, "mcp-method": method}
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}
    return {"headers": headers, "json": body}


def first_event(response: httpx.Response) -> Any:
    """The first message of a stream that stays open."""
    decoder = SseDecoder()
    for chunk in response.iter_bytes():
        for event in decoder.feed(chunk):
            if event.data:
                return msgspec.json.decode(event.data)
    raise AssertionError("the stream has ended")


@pytest.mark.req("M-01")
def test_claude_code_discovers_listens_and_lists(ours: str, host: httpx.Client) -> None:
    found = host.post(ours, **modern("server/discover", 1)).json()["result"]
    assert MODERN in found["supportedVersions"]
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    listen = modern("subscriptions/listen", 2, notifications=wanted)
    with host.stream("POST", ours, **listen) as stream:
        told = first_event(stream)
        assert told["method"] == "notifications/subscriptions/acknowledged"
        tools = host.post(ours, **modern("tools/list", 3)).json()["result"]["tools"]
        assert [tool["name"] for tool in tools][:2] == ["add", "work"]


@pytest.mark.req("M-01", "M-03")
def test_gemini_cli_sends_no_version_after_the_handshake_and_pings(
    ours: str, host: httpx.Client
) -> None:
    info = {"name": "gemini-cli-mcp-client", "version": "1.0"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    begun = request(host, ours, {}, "initialize", 0, params)
    assert begun.json()["result"]["protocolVersion"] == "2025-06-18"
    session = {"mcp-session-id": begun.headers["mcp-session-id"]}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert host.post(ours, headers=ACCEPT | session, json=ready).status_code == 202
    tools = request(host, ours, session, "tools/list", 1, {}).json()["result"]["tools"]
    assert [tool["name"] for tool in tools][:2] == ["add", "work"]
    assert request(host, ours, session, "ping", 2, {}).json()["result"] == {}


def request(
    host: httpx.Client, url: str, session: dict[str, str], method: str, id: int, params: Any
) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return host.post(url, headers=ACCEPT | session, json=body)


@pytest.mark.req("M-09")
@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_found_where_hosts_look_for_authorization(
    ours: str, host: httpx.Client, place: str
) -> None:
    assert host.get(httpx.URL(ours).join(place)).status_code == 404


@pytest.mark.req("M-09")
def test_a_stream_without_a_session_is_refused(ours: str, host: httpx.Client) -> None:
    assert host.get(ours, headers={"accept": "text/event-stream"}).status_code == 400
