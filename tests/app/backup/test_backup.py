"""A backup that is taken while everybody works is restored elsewhere, and work goes on there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.app.desk import ALLOWED, Desk, Worker, at, working
from tests.app.served import PATIENCE, accord, serving
from tests.store.cluster import Cluster

KEY = {"ACCORD_SECRET_KEY": "k" * 64}
FLAGS = (*ALLOWED, "--lease-seconds", "1", "--rate-limit", "0")
AGENT = {
    "name": "shout",
    "steps": [
        {"name": "nap", "type": "wait", "for": 1},
        {"name": "ask", "type": "agent", "agent": "worker", "input": "${input.text}"},
        {"name": "write", "type": "call", "operation": "create_epic", "input": {"title": "${steps.ask.output}"}},
    ],
    "output": "${steps.write.output.reference_id}",
}  # fmt: skip


class Places:
    """Where the installation is, and where it is to be."""

    def __init__(self, folder: Path, cluster: Cluster | None) -> None:
        self.folder = folder
        self._cluster = cluster
        self.env = KEY if cluster else {"ACCORD_SECRET_KEY": ""}
        self._old, self._new = (cluster.database(), cluster.database()) if cluster else ("", "")

    def old(self) -> tuple[str, ...]:
        return ("--data", str(self.folder / "old"), *_database(self._old))

    def new(self) -> tuple[str, ...]:
        return ("--data", str(self.folder / "new"), *_database(self._new))

    def serving_old(self) -> Any:
        flags = (*_database(self._old), *FLAGS)
        return serving(self.folder / "old", *flags, env=self.env)

    def serving_new(self) -> Any:
        flags = (*_database(self._new), *FLAGS)
        return serving(self.folder / "new", *flags, env=self.env)


def _database(url: str) -> tuple[str, ...]:
    return ("--database", url) if url else ()


@pytest.fixture(params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    shared = request.param == "postgresql"
    return Places(tmp_path, request.getfixturevalue("cluster") if shared else None)


class Writer:
    """Writes one thing after the other, and remembers what was acknowledged."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.titles: list[str] = []
        self.many = asyncio.Event()

    async def write(self) -> None:
        while True:
            title = f"Written as number {len(self.titles)}"
            await self._desk.post("/epics", {"title": title}, expect=201)
            self.titles.append(title)
            if len(self.titles) >= 20:
                self.many.set()


@asynccontextmanager
async def writing(desk: Desk) -> AsyncIterator[Writer]:
    writer = Writer(desk)
    task = asyncio.create_task(writer.write())
    try:
        async with asyncio.timeout(PATIENCE):
            await writer.many.wait()
        yield writer
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_backup_of_a_busy_server_is_an_installation_elsewhere(places: Places) -> None:
    backup = str(places.folder / "backup.tar.gz")
    async with working() as (agent, url):
        async with places.serving_old() as served, at(served) as desk:
            await desk.prepare(url, AGENT)
            held = await desk.start("shout", {"text": "hold the line"})
            async with writing(desk) as writer:
                await asyncio.wait_for(agent.began.wait(), PATIENCE)
                napping = [await desk.start("shout", {"text": f"nap {n}"}) for n in range(5)]
                acknowledged = list(writer.titles)
                code, out, err = await accord(
                    "backup", backup, *places.old(), "--json", env=places.env
                )
                assert (code, err) == (0, ""), out
                assert len(writer.titles) > len(acknowledged)
            token = served.token
            assert await served.stop() == 0
        _says_nothing_secret(out, token)
        code, out, err = await accord("restore", backup, *places.new(), env=places.env)
        assert (code, err) == (0, ""), out
        assert "nothing was changed" in out
        agent.go.set()
        async with places.serving_new() as served, at(served, token) as desk:
            await _all_is_there(desk, acknowledged)
            await _runs_end(desk, agent, held, napping)
            await _search_finds(desk, acknowledged[0])


def _says_nothing_secret(said: str, token: str) -> None:
    manifest = json.loads(said)["manifest"]
    assert manifest["engine"] in ("sqlite", "postgresql")
    assert "k" * 64 not in said
    assert token not in said


async def _all_is_there(desk: Desk, titles: list[str]) -> None:
    found: list[str] = []
    cursor = ""
    while True:
        page = await desk.get(f"/epics?limit=100{cursor}")
        found += [each["title"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert set(titles) <= set(found)


async def _runs_end(desk: Desk, agent: Worker, held: str, napping: list[str]) -> None:
    """Each once; agents may be asked again for what was under way."""
    for id in (held, *napping):
        run = await desk.ended(id)
        assert run["state"] == "completed", run
        assert [each["state"] for each in run["steps"]] == ["completed"] * 3
    assert {"hold the line", *(f"nap {n}" for n in range(5))} == set(agent.texts)


async def _search_finds(desk: Desk, title: str) -> None:
    found = (await desk.get("/search?query=number 0"))["items"]
    assert title in {each["title"] for each in found}
