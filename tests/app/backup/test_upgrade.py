"""What the first release wrote is read, searched and carried on by this one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accord.app.composition import data_checks
from accord.app.database import MIGRATIONS
from accord.app.runtime import AUDIT_PURPOSE, open_runtime, server_key
from accord.app.settings import Settings
from accord.operations.audit.verify import verify
from accord.store import open_store
from accord.store.catalog import migrations
from tests.app.backup import first
from tests.app.desk import Desk, at
from tests.app.served import accord, serving
from tests.store.cluster import Cluster

EDITS = {
    "UPDATE items SET title = 'x' WHERE reference_id = 'REQ-001'": "requirement REQ-001 title",
    "UPDATE tokens SET scopes = 'read admin' WHERE name = 'laptop'": "token laptop scopes",
    "UPDATE users SET role = 'Administrator' WHERE username = 'nina'": "user nina role",
    "UPDATE labels SET name = 'x'": "label x name",
}
"""What somebody does with SQL, and where it is found."""
ENGINES = ("sqlite", "postgresql")


@pytest.fixture(params=ENGINES)
def database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database of PostgreSQL, or nothing."""
    if request.param == "sqlite":
        return ""
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.database()


def flags(database: str) -> tuple[str, ...]:
    return ("--database", database) if database else ()


def known(database: str) -> dict[str, Any]:
    found: dict[str, Any] = first.KNOWN["postgresql" if database else "sqlite"]
    return found


async def test_an_installation_of_the_first_release_is_served(
    tmp_path: Path, database: str
) -> None:
    data, was = tmp_path / "data", known(database)
    await first.make(data, database)
    settings = Settings(data=str(data), database=database, secret_key=first.KNOWN["key"])
    async with serving(data, *flags(database), "--lease-seconds", "1", env=first.KEY) as served:
        async with open_runtime(settings) as local:
            password = "correct horse battery"
            await local.run("set_password", id="admin", password=password)
            session = (await local.accounts.sign_in("admin", password)).token
        async with at(served, session) as admin, at(served, was["nina"]) as nina:
            await _everything_is_there(nina)
            await _runs_go_on(admin, was)
        async with at(served, was["token"]) as robot:
            await _proposal_is_known_to_be_of_a_token(robot)
        assert await served.stop() == 0
        await _trail_is_intact(settings)


async def _trail_is_intact(settings: Settings) -> None:
    key = server_key(settings).derive(AUDIT_PURPOSE)
    async with open_store(settings.database_url) as store:
        report = await verify(store, key, checks=data_checks())
        assert (report.findings, report.pending, report.sealed > 30) == ((), 0, True)
        assert report.unproven == ("changes of accounts, agents, workflows by older releases",)
        for edit, where in EDITS.items():
            await store.execute(edit)
            report = await verify(store, key, checks=data_checks())
            assert where in {each.where for each in report.findings}, edit


async def _everything_is_there(desk: Desk) -> None:
    titles = {each["reference_id"]: each["title"] for each in (await desk.get("/epics"))["items"]}
    assert titles["EP-001"] == "The till takes money"
    assert "A mistake" not in titles.values()
    charge = await desk.get("/requirements/REQ-001")
    assert (charge["title"], charge["version"]) == ("Charge the card exactly once", 2)
    refund = await desk.get("/requirements/REQ-002")
    assert refund["description"].endswith("– naïvely put: give it back.")
    [comment] = (await desk.get(f"/comments?target_id={charge['id']}"))["items"]
    assert comment["text"] == "What about vouchers?"
    [link] = (await desk.get(f"/relationships?id={charge['id']}"))["items"]
    assert (link["type"], link["target_reference_id"]) == ("blocks", "REQ-002")
    for word, reference in (
        ("vouchers", "REQ-001"),
        ("uberweisung", "REQ-002"),
        ("till", "EP-001"),
    ):
        found = (await desk.get(f"/search?query={word}"))["items"]
        assert reference in {each["reference_id"] for each in found}, word
    [baseline] = (await desk.get("/baselines"))["items"]
    [proposal] = (await desk.get("/proposals"))["items"]
    assert (baseline["name"], proposal["reason"]) == ("First review", "Customers ask for it.")


async def _proposal_is_known_to_be_of_a_token(robot: Desk) -> None:
    [listed] = (await robot.get("/proposals"))["items"]
    assert (listed["token"], listed["client"]) == ("first run", "python-httpx/0.28.1")
    found = await robot.get(f"/proposals/{listed['id']}")
    assert found["cannot_accept"].startswith("you proposed it yourself, and nobody accepts with a")
    answer = await robot.client.post(f"/api/v1/proposals/{listed['id']}/accept", json={})
    assert answer.status_code == 403


async def _runs_go_on(desk: Desk, was: dict[str, Any]) -> None:
    assert (await desk.get(f"/runs/{was['done']}"))["state"] == "completed"
    await desk.post(f"/runs/{was['decide']}/approve", {})
    decided, napped = await desk.ended(was["decide"]), await desk.ended(was["nap"])
    assert (napped["state"], napped["output"]) == ("completed", "slept well")
    epic = await desk.get(f"/epics/{decided['output']}")
    assert (decided["state"], epic["title"]) == ("completed", "Decided by admin")


async def test_two_who_migrate_at_once_leave_one_database(tmp_path: Path, database: str) -> None:
    data = tmp_path / "data"
    await first.make(data, database)
    where = ("--data", str(data), *flags(database))
    done = await asyncio.gather(*(accord("db", "migrate", *where, env=first.KEY) for _ in "12"))
    assert [(code, err) for code, _, err in done] == [(0, "")] * 2
    async with open_store(database or f"sqlite://{data}/accord.db") as store:
        for part, folder in MIGRATIONS.items():
            known = {each.number: each.name for each in migrations(folder, store.engine)}
            assert await store.applied(part) == known
