"""A system whose database cannot be written: it says why, reads on, and is not ready."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from accord.app.settings import Settings
from accord.app.system import open_system, prepare
from tests.store.unwritable import TROUBLES, Trouble, unwritable

EPIC = {"title": "Too much", "description": "x" * 9_000}


def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.req("H-44")
@pytest.mark.parametrize("trouble", TROUBLES)
async def test_what_cannot_be_written_is_answered_503_with_the_reason(
    migrated_url: str, tmp_path: Path, trouble: Trouble
) -> None:
    is_shared = migrated_url.startswith("postgres")
    settings = Settings(
        data=str(tmp_path / "data"),
        database=migrated_url if is_shared else "",
        secret_key="5" * 64 if is_shared else "",
        port=0,
        rate_limit=0,
        log_level="error",
        workflows="elsewhere",
    )
    first = await prepare(settings)
    assert first is not None
    async with (
        open_system(settings) as system,
        httpx.AsyncClient(base_url=system.url, trust_env=False, timeout=30) as client,
    ):
        credentials = {"username": "admin", "password": first.password}
        begun = await client.post("/api/v1/sessions", json=credentials)
        client.cookies.clear()
        client.headers["authorization"] = f"Bearer {begun.json()['token']}"
        why = f"the database cannot be written at the moment: {trouble}"

        async with unwritable(system.runtime.store, trouble, "items"):
            told = await client.post("/api/v1/epics", json=EPIC)
            assert (told.status_code, told.json()["detail"]) == (503, why)
            assert told.headers["retry-after"] == "1"
            told = await client.post("/rpc", json=call("create_epic", EPIC))
            assert (told.status_code, told.json()["error"]["message"]) == (200, why)
            params = {"name": "create_epic", "arguments": EPIC}
            told = await client.post("/api/v1/mcp", json=call("tools/call", params))
            assert told.json()["result"]["structuredContent"]["error"]["message"] == why
            assert told.json()["result"]["content"][0]["text"].startswith(why)
            ready = await client.get("/readyz")
            assert (ready.status_code, ready.json()) == (
                503,
                {"status": "unavailable", "database": f"cannot be written: {trouble}"},
            )
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/api/v1/epics")).status_code == 200

        assert (await client.get("/readyz")).json() == {"status": "ready"}
        assert (await client.post("/api/v1/epics", json=EPIC)).status_code == 201
