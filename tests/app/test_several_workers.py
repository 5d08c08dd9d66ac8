"""Several workers on PostgreSQL are one system."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.app.served import accord, serving
from tests.plain_http import NO_TLS
from tests.store.cluster import Cluster

KEY = {"ACCORD_SECRET_KEY": "k" * 64}


@pytest.mark.req("H-02")
async def test_workers_share_everything(tmp_path: Path, cluster: Cluster) -> None:
    url = cluster.database()
    flags = ("--database", url, "--workers", "2")
    async with serving(tmp_path / "data", *flags, env=KEY) as served:
        headers = {"Authorization": f"Bearer {served.token}"}

        async def create(number: int) -> str:
            # A connection for each, so that the kernel shares them among the workers.
            async with httpx.AsyncClient(
                base_url=served.url, headers=headers, verify=NO_TLS
            ) as client:
                made = await client.post("/api/v1/epics", json={"title": f"Epic {number}"})
                assert made.status_code == 201
                reference: str = made.json()["reference_id"]
                return reference

        made = await asyncio.gather(*(create(number) for number in range(40)))
        assert sorted(made) == [f"EP-{number:03d}" for number in range(1, 41)]
        async with served.client() as client:
            assert (await client.get("/api/v1/epics")).json()["total"] == 40
        assert await served.stop() == 0
    environ = {**KEY, "ACCORD_DATABASE": url}
    code, out, err = await accord("audit", "verify", "--data", str(tmp_path / "data"), env=environ)
    assert (code, err) == (0, ""), out


async def test_without_its_key_a_database_is_not_served(tmp_path: Path, cluster: Cluster) -> None:
    url = cluster.database()
    async with serving(tmp_path / "data", "--database", url, env=KEY) as served:
        assert await served.stop() == 0
    other = {"ACCORD_SECRET_KEY": "o" * 64}
    flags = ("--data", str(tmp_path / "data"), "--port", "0", "--database", url)
    code, _, err = await accord("serve", *flags, env=other)
    assert code == 2
    assert "belongs to another server key" in err.strip().splitlines()[-1]
    code, _, err = await accord("serve", *flags, env={"ACCORD_SECRET_KEY": ""})
    assert code == 2
    assert "ACCORD_SECRET_KEY, which is not set" in err.strip().splitlines()[-1]
