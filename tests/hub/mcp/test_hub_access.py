"""Who is let in, and what is answered to what is no message: as `curl` sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.served import Served, accord, serving
from tests.mcp.http.service import initialize, request

PATH = "/api/v1/mcp"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path / "data") as found:
        yield found


async def post(
    served: Served, body: Any, token: str | None = None, **headers: str
) -> httpx.Response:
    async with served.client(token) as client:
        if isinstance(body, bytes):
            return await client.post(PATH, content=body, headers={**JSON, **headers})
        return await client.post(PATH, json=body, headers=headers)


async def token_of(served: Served, name: str, role: str) -> str:
    data = str(served.data)
    await accord("user", "create", name, "--role", role, "--data", data)
    made = await accord("token", "create", "--user", name, "--name", "t", "--data", data)
    return made[1].strip()


@pytest.mark.req("H-03")
async def test_a_token_is_required_and_every_wrong_one_is_answered_alike(served: Served) -> None:
    listing = request("tools/list")
    good = await post(served, listing)
    assert good.status_code == 200
    valid = served.token
    answers = [
        await post(served, listing, wrong)
        for wrong in ("nonsense", valid[:-1] + ("a" if valid[-1] != "a" else "b"), valid[:-6])
    ]
    answers.append(await post(served, listing, await revoked(served)))
    for answer in answers:
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert len({answer.content for answer in answers}) == 1
    nobody = await post(served, listing, "")
    assert nobody.status_code == 401
    assert nobody.headers["www-authenticate"].startswith("Bearer")


async def revoked(served: Served) -> str:
    token = await token_of(served, "gone", "user")
    assert (await post(served, request("tools/list"), token)).status_code == 200
    await accord("token", "revoke", "t", "--user", "gone", "--data", str(served.data))
    return token


@pytest.mark.req("H-03")
async def test_it_speaks_plain_json_rpc_and_mcp_at_one_place(served: Served) -> None:
    plain = await post(
        served, request("tools/call", {"name": "create_epic", "arguments": {"title": "Till"}})
    )
    assert plain.json()["result"]["structuredContent"]["reference_id"] == "EP-001"
    assert "mcp-session-id" not in plain.headers
    begun = await post(served, initialize(), Accept="application/json, text/event-stream")
    assert begun.json()["result"]["serverInfo"]["name"] == "accord-hub"
    assert "mcp-session-id" in begun.headers
    batch = await post(
        served,
        [request("tools/call", {"name": "get_epic", "arguments": {"id": "ep-1"}}, id=7)],
    )
    assert batch.json()[0]["result"]["structuredContent"]["title"] == "Till"


@pytest.mark.req("H-03")
async def test_a_session_belongs_to_its_token(served: Served) -> None:
    both = "application/json, text/event-stream"
    begun = await post(served, initialize(), Accept=both)
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Accept": both}
    other = await token_of(served, "uma", "user")
    assert (await post(served, request("ping"), **session)).status_code == 200
    assert (await post(served, request("ping"), other, **session)).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.0.2.7"])
async def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    assert (await post(served, request("tools/list"))).status_code == 200
    for foreign in ({"Host": host}, {"Host": host, "Origin": f"http://{host}"}):
        answer = await post(served, request("tools/list"), **foreign)
        assert answer.status_code == 403
        assert "host" in answer.json()["error"]["message"]


MALFORMED = (b"", b"{", b'{"a":1}x', b"\xff", b"[1,", b'{"jsonrpc":"2.0"')
INVALID: tuple[Any, ...] = (
    {},
    [],
    "text",
    1,
    {"jsonrpc": "1.0", "id": 1, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1},
    {"jsonrpc": "2.0", "id": [], "method": "ping"},
    {"jsonrpc": "2.0", "id": 1, "method": 1},
    {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 1},
)


@pytest.mark.req("H-04")
async def test_what_is_no_message_is_a_bad_request(served: Served) -> None:
    for body in MALFORMED:
        answer = await post(served, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700), body
        assert answer.json()["id"] is None
    for message in INVALID:
        answer = await post(served, message)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600), message


@pytest.mark.req("H-05")
async def test_a_call_runs_as_the_owner_of_its_token(served: Served) -> None:
    uma = await token_of(served, "uma", "user")
    carl = await token_of(served, "carl", "commenter")
    call = request("tools/call", {"name": "create_epic", "arguments": {"title": "Till"}})
    made = await post(served, call, uma)
    assert made.json()["result"]["structuredContent"]["creator"] == "uma"
    refused = await post(served, call, carl)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, -32055)
    assert refused.json()["error"]["data"]["reason"] == "insufficient_permissions"
    administrative = request(
        "tools/call", {"name": "create_prompt", "arguments": {"name": "x", "content": "y"}}
    )
    prompts = await post(served, administrative, uma)
    assert (prompts.status_code, prompts.json()["error"]["code"]) == (403, -32002)
