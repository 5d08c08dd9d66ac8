"""The check of messages by the official schemas finds what is wrong, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accord import Router, RpcError
from tests.mcp.schemas import Traffic, available, connected, validate

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
needs_schemas = pytest.mark.skipif(
    not available(), reason="only on machines with the official MCP schemas (ACCORD_MCP_SCHEMAS)"
)


def request(method: str, params: Any = None, id: int = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def problems(*messages: tuple[Any, dict[str, Any]]) -> list[str]:
    traffic = Traffic()
    for side, message in messages:
        traffic.pass_on(side, json.dumps(message).encode())
    return traffic.problems


def test_a_definition_holds_for_its_version() -> None:
    tool = {"name": "x", "title": "X", "inputSchema": {"type": "object", "$defs": {}}}
    validate(tool, "2025-06-18", "Tool")
    with pytest.raises(AssertionError) as failed:
        validate(tool, "2025-03-26", "Tool")
    assert str(failed.value).splitlines()[0] == (
        "Tool of 2025-03-26: $: Additional properties are not allowed ('title' was unexpected)"
    )


@needs_schemas
def test_answers_are_checked_by_what_was_asked() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "x"}]}}
    assert problems(("client", request("tools/list")), ("server", answer)) == [
        "ListToolsResult of 2025-11-25: $.tools[0]: 'inputSchema' is a required property"
    ]
    assert "ListRootsResult of 2025-11-25: $: 'roots' is a required property" in problems(
        ("server", request("roots/list")), ("client", answer)
    )


@needs_schemas
def test_a_stateless_request_tells_its_version() -> None:
    assert problems(("client", request("ping", {"_meta": MODERN}))) == [
        "2026-07-28 has no PingRequest: " + json.dumps(request("ping", {"_meta": MODERN}))
    ]
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
    call = request("tools/call", {"name": "x", "_meta": MODERN})
    assert problems(("client", call), ("server", answer)) == [
        "CallToolResult of 2026-07-28: $: 'resultType' is a required property"
    ]


@needs_schemas
@pytest.mark.parametrize(
    ("result", "definition"),
    [
        ({"resultType": "complete", "content": []}, "CallToolResult"),
        ({"resultType": "input_required", "requestState": "x"}, "InputRequiredResult"),
        (
            {"resultType": "task", "taskId": "1", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None},
            "CreateTaskResult",
        ),
    ],
)  # fmt: skip
def test_the_type_of_a_result_decides(result: dict[str, Any], definition: str) -> None:
    traffic = Traffic()
    call = request("tools/call", {"name": "x", "_meta": MODERN})
    traffic.pass_on("client", json.dumps(call).encode())
    traffic.pass_on("server", json.dumps([{"jsonrpc": "2.0", "id": 1, "result": result}]).encode())
    assert (traffic.problems, traffic.checked) == ([], ["CallToolRequest", definition])


@needs_schemas
async def test_what_passes_between_two_peers_is_checked() -> None:
    router = Router()

    @router.method("tools/list")
    def tools() -> dict[str, Any]:
        return {"tools": 1}

    async def talk() -> None:
        async with connected(router) as client:
            assert await client.call("tools/list") == {"tools": 1}
            with pytest.raises(RpcError):
                await client.call("tools/call", {"name": "x"})

    with pytest.raises(AssertionError) as failed:
        await talk()
    assert str(failed.value).splitlines()[0] == (
        "ListToolsResult of 2025-11-25: $.tools: 1 is not of type 'array'"
    )
