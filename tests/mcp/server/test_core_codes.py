"""The extended profile has a code for each of these failures; the standard keeps its own, with the
same reason. What is unforeseen stays an internal error in the standard."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from accord.jsonrpc.protocol.channel import Limits
from accord.mcp import Server
from tests.mcp.request_ids_program import make_server
from tests.mcp.server.http.service import initialize, request, serving
from tests.mcp.test_request_ids import wired

Codes = Literal["standard", "extended"]
BOTH: tuple[Codes, ...] = ("standard", "extended")


def failing(codes: Codes) -> Server:
    server = Server("fails", codes=codes)

    @server.prompt
    def count(times: int, how: str = "") -> str:
        if how == "broken":
            raise OSError("secret")
        return "hello " * times

    @server.resource("note://{name}")
    def note(name: str) -> str:
        raise OSError("secret")

    @server.resource("note://one")
    def one() -> str:
        raise OSError("secret")

    @server.completion("count", "how")
    def ways(value: str) -> list[str]:
        raise OSError("secret")

    return server


@pytest.mark.req("M-11", "M-27")
@pytest.mark.parametrize("codes", BOTH)
@pytest.mark.parametrize(
    ("method", "params", "standard", "extended", "reason"),
    [
        (
            *("prompts/get", {"name": "count", "arguments": {"times": "many"}}),
            *(-32602, -32045, "invalid_prompt_arguments"),
        ),
        (
            *("prompts/get", {"name": "count", "arguments": {"times": "1", "how": "broken"}}),
            *(-32603, -32044, "prompt_render_failed"),
        ),
        ("resources/read", {"uri": "note://two"}, -32603, -32029, "template_render_failed"),
        ("resources/read", {"uri": "note://one"}, -32603, -32603, "internal_error"),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "count"},
                "argument": {"name": "how", "value": ""},
            },
            *(-32603, -32113, "completion_failed"),
        ),
    ],
)
async def test_a_failure_has_its_code(
    codes: Codes, method: str, params: dict[str, Any], standard: int, extended: int, reason: str
) -> None:
    async with serving(failing(codes)) as site:
        answer = await (await site.session()).request(method, **params)
        error = answer.json["error"]
        assert error["code"] == (extended if codes == "extended" else standard)
        unforeseen = standard == -32603
        plain = codes == "standard" and unforeseen
        assert error["data"]["reason"] == ("internal_error" if plain else reason)
        assert ("correlationId" in error["data"]) is unforeseen
        assert b"secret" not in answer.body
        if codes == "extended":  # 2026-07-28 has no codes of ours
            modern = await site.modern(method, **params)
            assert modern.json["error"]["code"] == standard


@pytest.mark.req("M-11", "M-27")
@pytest.mark.parametrize(("codes", "code"), [("standard", -32600), ("extended", -32058)])
async def test_a_session_that_is_not_there(codes: Codes, code: int) -> None:
    async with serving(make_server(codes), old_sse=True) as site:
        answer = await site.post(request("ping"), mcp_session_id="guess")
        assert answer.error == (404, code, 1)
        assert answer.json["error"]["data"] == {"reason": "session_not_found"}
        url = f"{site.url}/messages/guess"
        lost = await site.send("POST", request("ping"), url=url, content_type="application/json")
        assert (lost.status, lost.json["error"]["code"]) == (404, code)


@pytest.mark.req("M-11", "M-27")
@pytest.mark.parametrize(
    ("headers", "status", "extended", "reason"),
    [
        ({"content_type": "text/plain"}, 415, -32019, "unsupported_media_type"),
        ({"content_encoding": "gzip"}, 415, -32019, "unsupported_media_type"),
        ({"accept": "text/html"}, 406, -32020, "media_type_not_acceptable"),
    ],
)
async def test_media_types_that_do_not_fit(
    headers: dict[str, str], status: int, extended: int, reason: str
) -> None:
    for codes, code in (("standard", -32600), ("extended", extended)):
        async with serving(make_server(codes)) as site:  # type: ignore[arg-type]
            answer = await site.post(initialize(), **headers)
            assert answer.error == (status, code, None)
            assert answer.json["error"]["data"] == {"reason": reason}
            modern = await site.post(
                request("tools/list"), mcp_protocol_version="2026-07-28", **headers
            )
            assert modern.error == (status, -32600, None), "-32020 is another error there"


@pytest.mark.req("M-11", "M-13", "M-27")
@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.parametrize(("codes", "code"), [("standard", -32600), ("extended", -32069)])
async def test_a_batch_that_is_too_large(
    transport: str, codes: Codes, code: int, tmp_path: Path
) -> None:
    limit = Limits().max_batch_items
    async with wired(transport, tmp_path, codes=codes) as wire:
        for batch in ([wire.request("ping", id) for id in range(limit + 1)], [1] * (limit + 1)):
            answer = await wire.ask(batch)
            assert (answer["error"]["code"], answer["id"]) == (code, None)
            data = {"reason": "batch_request_too_large", "limit": limit}
            assert answer["error"]["data"] == data
