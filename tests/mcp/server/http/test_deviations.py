"""What other servers of this protocol answer wrongly, answered as the specification says."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from accord.mcp import Context, Server
from tests.mcp.server.http.service import (
    Reply,
    Site,
    initialize,
    request,
    serving,
    with_meta,
)

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


async def ask(site: Site, version: str, method: str, **params: Any) -> Reply:
    if version == "2026-07-28":
        return await site.modern(method, **params)
    return await (await site.session(version)).request(method, **params)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_unknown_tool_is_an_error_and_no_result(version: str) -> None:
    async with serving() as site:
        answer = await ask(site, version, "tools/call", name="nope")
        assert answer.error == (200, -32602, 1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_unknown_prompt_has_the_code_of_its_version(version: str) -> None:
    async with serving() as site:
        answer = await ask(site, version, "prompts/get", name="nope")
        assert answer.error == (200, -32602, 1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_missing_resource_has_the_code_of_its_version(version: str) -> None:
    async with serving() as site:
        answer = await ask(site, version, "resources/read", uri="note://none")
        code = -32602 if version == "2026-07-28" else -32002
        assert answer.error == (200, code, 1)
        assert answer.json["error"]["data"]["uri"] == "note://none"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_cursor_that_nobody_gave_is_refused(version: str) -> None:
    async with serving() as site:
        for method in ("tools/list", "resources/list", "prompts/list"):
            answer = await ask(site, version, method, cursor="nonsense")
            assert answer.error == (200, -32602, 1)


@pytest.mark.parametrize("id", [None, 1.5])
@pytest.mark.req("M-12")
async def test_ids_that_are_none_are_no_notifications(id: Any) -> None:
    async with serving() as site:
        shaken = await site.session()
        body = {"jsonrpc": "2.0", "id": id, "method": "tools/list"}
        assert (await shaken.post(body)).error == (400, -32600, None)
        body = {**body, "params": with_meta({})}
        headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/list"}
        assert (await site.post(body, **headers)).error == (400, -32600, None)


async def test_a_message_without_its_version_is_no_message() -> None:
    async with serving() as site:
        shaken = await site.session()
        answer = await shaken.post({"id": 1, "method": "tools/list"})
        assert answer.error == (400, -32600, 1)
        assert answer.json["error"]["message"] == (
            "Invalid Request: 'jsonrpc' is missing, must be \"2.0\""
        )


@pytest.mark.req("M-13")
async def test_a_batch_is_taken_in_the_version_that_has_them() -> None:
    async with serving() as site:
        shaken = await site.session("2025-03-26")
        answer = await shaken.post([request("ping", id=1), request("ping", id=2)])
        assert [each["id"] for each in answer.json] == [1, 2]


async def test_a_modern_request_without_its_header_is_not_asked_for_a_session() -> None:
    async with serving() as site:
        answer = await site.post(request("tools/list", with_meta({})))
        assert answer.error == (400, -32020, 1)
        assert answer.json["error"]["message"] == (
            "Header mismatch: MCP-Protocol-Version header is missing"
        )


async def test_a_foreign_origin_is_refused() -> None:
    async with serving() as site:
        assert (await site.post(initialize(), origin="https://evil.example")).status == 403


async def test_the_text_of_exceptions_stays_here() -> None:
    server = Server("secrets")

    @server.tool
    def broken() -> str:
        raise RuntimeError("the password is hunter2")

    async with serving(server) as site:
        answer = await site.call_modern("broken")
        assert answer.json["result"]["isError"] is True
        assert b"hunter2" not in answer.body


async def test_a_foreign_host_is_refused_on_the_loopback_interface() -> None:
    async with serving() as site:
        assert (await site.post(initialize(), host="evil.example")).status == 403


@pytest.mark.parametrize("version", VERSIONS)
async def test_wrong_arguments_are_told_in_a_sentence(version: str) -> None:
    async with serving() as site:
        answer = await ask(site, version, "tools/call", name="add", arguments={"a": "x", "b": 1})
        result = answer.json["result"]
        assert result["isError"] is True
        assert [each["text"] for each in result["content"]] == [
            "parameter 'a': expected int, got str"
        ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_call_looks_at_its_own_tool_only(version: str) -> None:
    looked: list[str] = []
    server = Server("many")

    def seen(name: str, context: Context) -> bool:
        looked.append(name)
        return True

    for name in ("one", "two", "three"):
        server.add_tool(lambda: "done", name, inline=True, enabled=partial(seen, name))
    async with serving(server) as site:
        answer = await ask(site, version, "tools/call", name="two")
        assert answer.json["result"]["content"] == [{"type": "text", "text": "done"}]
    assert looked == ["two"]
