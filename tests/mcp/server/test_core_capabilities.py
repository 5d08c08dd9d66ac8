"""Methods of a capability that a server does not declare are not there, in both eras."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from accord.mcp import Server
from accord.mcp.protocol.definitions import Feature
from tests.mcp.server.http.service import modern_headers, request, serving, with_meta

BOTH_ERAS: dict[Feature, dict[str, dict[str, Any]]] = {
    "tools": {"tools/list": {}, "tools/call": {"name": "x", "arguments": {}}},
    "resources": {
        "resources/list": {},
        "resources/templates/list": {},
        "resources/read": {"uri": "note://one"},
    },
    "prompts": {"prompts/list": {}, "prompts/get": {"name": "x"}},
    "completions": {
        "completion/complete": {
            "ref": {"type": "ref/prompt", "name": "x"},
            "argument": {"name": "a", "value": ""},
        }
    },
    "tasks": {"tasks/get": {"taskId": "x"}, "tasks/cancel": {"taskId": "x"}},
}
HANDSHAKE: dict[Feature, dict[str, dict[str, Any]]] = {
    "resources": {
        "resources/subscribe": {"uri": "note://one"},
        "resources/unsubscribe": {"uri": "note://one"},
    },
    "tasks": {"tasks/list": {}, "tasks/result": {"taskId": "x"}},
}
EXTENSION: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
OLD = [
    (feature, method, params)
    for table in (BOTH_ERAS, HANDSHAKE)
    for feature, methods in table.items()
    for method, params in methods.items()
]
MODERN = [
    (feature, method, params)
    for table in (BOTH_ERAS, {"tasks": {"tasks/update": {"taskId": "x", "inputResponses": {}}}})
    for feature, methods in table.items()
    for method, params in methods.items()
]


def without(feature: str | None, codes: Literal["standard", "extended"] = "standard") -> Server:
    """A server that declares everything else."""
    server = Server("declares", codes=codes)
    if feature != "tools":
        server.add_tool(lambda: "", name="one")
        if feature != "tasks":

            @server.tool(task="optional")
            async def long() -> str:
                return ""

    if feature != "resources":
        server.add_resource("note://one", "one")
    if feature != "prompts":
        server.add_prompt(lambda a="": "hello", name="x")
        if feature != "completions":

            @server.completion("x", "a")
            def values(value: str) -> list[str]:
                return []

    return server


def undeclared(method: str, feature: str) -> dict[str, Any]:
    return {"reason": "method_not_supported", "method": method, "capability": feature}


@pytest.mark.req("M-04", "M-24")
@pytest.mark.parametrize(("feature", "method", "params"), OLD)
async def test_in_a_session(feature: str, method: str, params: dict[str, Any]) -> None:
    async with serving(without(feature)) as site:
        shaken = await site.session()
        answer = await shaken.request(method, **params)
        assert answer.error == (200, -32601, 1)
        assert answer.json["error"]["data"] == undeclared(method, feature)
        wrong = await shaken.request(method, cursor=7, name=7, uri=7, taskId=7)
        assert wrong.error == (200, -32601, 1), "whatever the params are"
    async with serving(without(feature, "extended")) as site:
        assert (await (await site.session()).request(method, **params)).error == (200, -32065, 1)
    async with serving(without(None)) as site:
        answer = await (await site.session()).request(method, **params)
        assert answer.json.get("error", {}).get("code") != -32601


@pytest.mark.req("M-04", "M-24")
@pytest.mark.parametrize(("feature", "method", "params"), MODERN)
async def test_without_a_session(feature: str, method: str, params: dict[str, Any]) -> None:
    capabilities = {"io.modelcontextprotocol/clientCapabilities": EXTENSION}
    meta = with_meta({**params, "_meta": capabilities})
    body, headers = request(method, meta), modern_headers(method, params)
    async with serving(without(feature, "extended")) as site:
        answer = await site.post(body, **headers)
        assert answer.error == (404, -32601, 1)
        assert answer.json["error"]["data"] == undeclared(method, feature)
    async with serving(without(None)) as site:
        answer = await site.post(body, **headers)
        assert answer.status == 200
        assert answer.json.get("error", {}).get("code") != -32601


@pytest.mark.req("M-24")
@pytest.mark.parametrize("feature", BOTH_ERAS)
async def test_what_is_declared_is_what_is_served(feature: Feature) -> None:
    async with serving(without(feature)) as site:
        answer = await site.post(
            {
                **request("initialize"),
                "params": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                },
            }
        )
        declared = answer.json["result"]["capabilities"]
        needs = {"completions": "prompts", "tasks": "tools"}
        for each in BOTH_ERAS:
            there = each != feature and needs.get(each) != feature
            assert (each in declared) is there, each
            assert site.endpoint.server.has(each) is there


async def test_what_was_declared_once_stays_served() -> None:
    """A client may still hold a task, or a list, when the last tool is gone."""
    server = without(None)
    async with serving(server) as site:
        shaken = await site.session()
        assert server.has("tasks")
        server.tools.remove("long")
        assert (await shaken.request("tasks/list")).json["result"] == {"tasks": []}
        server.tools.remove("one")
        assert (await shaken.request("tools/list")).json["result"] == {"tools": []}
